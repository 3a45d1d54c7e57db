"""svmx-scale against recorded output of LIBSVM's svm-scale, the program itself if installed, and a plain model."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import sys
import tracemalloc
from math import inf, nan, nextafter
from pathlib import Path

import pytest
from libsvmx.io.textwrite import numbers_text
from support import data

from libsvmx._core import matrix
from libsvmx._core.buffers import filled
from libsvmx.cli.process import guarded
from libsvmx.cli.scale import SHOWN_UNSEEN, USAGE, main
from libsvmx.exceptions import DataError
from libsvmx.io import textwrite

RECORDED = Path(__file__).with_name("expected_scale")
HEART = str(data.DATA / "heart_scale")
CASES = [line.split() for line in (RECORDED / "commands.txt").read_text().splitlines()]
ORACLE = shutil.which("svm-scale")


@pytest.fixture
def scale(tmp_path, monkeypatch, capfdbinary):
    """Runs the command in an empty folder; returns (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> tuple[int, bytes, str]:
        code = guarded("svmx-scale", main, USAGE, list(args))
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return run


def in_process(*args: str, stdout=subprocess.PIPE, **options) -> subprocess.CompletedProcess:
    code = "from libsvmx.cli.scale import entry; entry()"
    return subprocess.run([sys.executable, "-c", code, *args], stdout=stdout, stderr=subprocess.PIPE, **options)


def test_a_file_has_the_same_bytes_as_standard_output(scale):
    for options in ([], ["-l", "0"], ["-y", "0", "1"]):
        expected = scale(*options, "-s", "expected", HEART)
        assert scale(*options, "-s", "ranges", "--output", "scaled", HEART) == (0, b"", "")
        assert (expected[1], Path("expected").read_bytes()) == (
            Path("scaled").read_bytes(),
            Path("ranges").read_bytes(),
        )
    assert scale("-r", "ranges", "--output", "-", HEART)[1] == scale("-r", "ranges", HEART)[1]


def test_a_file_and_its_ranges_are_written_together_or_not_at_all(scale):
    Path("scaled").write_text("as it was")
    Path("data").write_text("1 1:0 2:1e308\n2 1:1 2:-1e308\n")  # the range overflows
    code, out, err = scale("-s", "ranges", "--output", "scaled", "data")
    assert (code, out) == (1, b"") and err.startswith("svmx-scale: error: ")
    assert Path("scaled").read_text() == "as it was" and not Path("ranges").exists()


@pytest.mark.parametrize("option", [["-s", "f"], ["-r", "f"], []])
def test_a_file_that_is_read_or_written_besides_is_refused(scale, option):
    content = "x\n-1 1\n1 0 1\n" if option else "1 1:1\n"
    Path("f").write_text(content)
    Path("d").write_text("1 1:1\n2 1:2\n")
    code, out, err = scale(*option, "--output", "./f", "d" if option else "f")
    causes = ("two files are to be written to ./f", "the output file is the same as f, which would be lost")
    assert (code, out) == (1, b"") and causes["-s" not in option] in err
    assert Path("f").read_text() == content


# ---------------------------------------------------------------- recorded output


@pytest.mark.parametrize("name, args", [(case[0], case[1:]) for case in CASES], ids=[case[0] for case in CASES])
def test_output_is_that_of_libsvm(scale, name, args):
    for file in RECORDED.glob("*.txt"):
        if not ("-s" in args and file.name == args[args.index("-s") + 1]):
            shutil.copy(file, file.name)
    code, out, _ = scale(*args)
    assert (code, out) == (0, (RECORDED / f"{name}.out").read_bytes())
    if "-s" in args:
        saved = args[args.index("-s") + 1]
        assert Path(saved).read_bytes() == (RECORDED / saved).read_bytes()


# ---------------------------------------------------------------- the program itself


def write_random(path: str, seed: int, n_rows: int, n_features: int, density: float) -> None:
    """Data with constant, tiny, huge, integer and repeated values, and rows without entries."""
    rng = random.Random(seed)
    indices = sorted(rng.sample(range(1, 7 * n_features), n_features))
    kinds = [rng.choice(["constant", "integer", "real", "tiny", "huge", "positive"]) for _ in indices]
    draw = {
        "constant": lambda: 3.5,
        "integer": lambda: rng.randint(-4, 4),
        "real": lambda: rng.gauss(0, 1),
        "tiny": lambda: rng.gauss(0, 1) * 1e-7,
        "huge": lambda: rng.gauss(0, 1) * 1e200,
        "positive": lambda: round(rng.uniform(1, 2), 2),
    }
    with open(path, "w") as file:
        for _ in range(n_rows):
            row = [(i, draw[k]()) for i, k in zip(indices, kinds, strict=True) if rng.random() < density]
            label = rng.choice(["+1", "-1", "0", "2.5", f"{rng.gauss(0, 1e3):.17g}", "1e20"])
            file.write(label + "".join(f" {i}:{v!r}" for i, v in row) + "\n")


@pytest.mark.skipif(ORACLE is None, reason="svm-scale is not installed")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limits", [[], ["-l", "0"], ["-l", "-0.5", "-u", "3"], ["-y", "-1.25", "2"], ["-u", "0"]])
def test_same_bytes_as_svm_scale(scale, seed, limits):
    density = [0.05, 0.3, 1.0][seed % 3]
    write_random("train", seed, 40, 30, density)
    write_random("other", seed + 100, 40, 30, density)
    expected = subprocess.run([ORACLE, *limits, "-s", "ranges_1", "train"], capture_output=True, check=True)
    code, out, err = scale(*limits, "-s", "ranges_2", "train")
    assert (code, out) == (0, expected.stdout)
    assert out.count(b":") > 20
    assert Path("ranges_2").read_bytes() == Path("ranges_1").read_bytes()
    assert ("nonzeros" in err) == (b"nonzeros" in expected.stderr)
    expected = subprocess.run([ORACLE, "-r", "ranges_1", "other"], capture_output=True, check=True)
    code, out, err = scale("-r", "ranges_2", "other")
    assert (code, out) == (0, expected.stdout)
    n_unseen = expected.stderr.count(b"not seen")
    assert n_unseen > 0
    assert err.count("and is left out") == min(n_unseen, SHOWN_UNSEEN)
    assert (f"{n_unseen - SHOWN_UNSEEN} more features" in err) == (n_unseen > SHOWN_UNSEEN)


def test_sign_of_a_zero_in_ranges(scale):
    """Of equal values the latest counts, as in svm-scale, and a missing value is a zero."""
    rows = "-0 1:-0 2:0 4:-0\n0 1:1 2:-0 3:-2 4:-1\n-0 2:5 3:-0 4:-1\n-1 1:-0 2:7 3:-0 4:-1\n-0 1:2 2:1 4:-1\n"
    Path("d").write_text(rows)
    assert scale("-y", "0", "1", "-s", "ranges", "d")[0] == 0
    expected = "y\n0 1\n-1 -0\nx\n-1 1\n1 -0 2\n2 -0 7\n3 -2 0\n4 -1 -0\n"
    assert Path("ranges").read_text() == expected
    if ORACLE is not None:
        subprocess.run([ORACLE, "-y", "0", "1", "-s", "theirs", "d"], capture_output=True, check=True)
        assert Path("theirs").read_text() == expected


# ---------------------------------------------------------------- numbers


def numbers() -> list[float]:
    rng = random.Random(7)
    out = [rng.choice((-1, 1)) * 10 ** rng.uniform(-8, 9) for _ in range(20000)]
    out += [round(v, rng.randint(0, 9)) for v in out]
    # ties of the sixth digit, and both neighbours of each decade
    out += [n / 2 for n in range(200001, 200400)]
    out += [(n + 0.5) * 2.0**-k for n in range(65536, 65600) for k in (1, 5, 9)]
    for e in range(-6, 9):
        for v in (10.0**e, 9.999995 * 10.0**e, 9.9999949999 * 10.0**e):
            out += [v, nextafter(v, 0), nextafter(v, inf), -v]
    return [*out, 0.0, -0.0, 5e-324, 1.7976931348623157e308, 999999.5, 999999.4999999999, 0.0001, 0.00009999995]


def texts(values: list[float], precision: int) -> list[str]:
    return numbers_text(filled("d", values), 1, precision).decode().split()


def test_values_are_written_as_printf_writes_them():
    values = numbers()
    wrong = [v for v, text in zip(values, texts(values, 6), strict=True) if text != "%g" % v]  # noqa: UP031
    assert wrong == []


def test_labels_are_written_as_printf_writes_them():
    values = [*numbers(), 1e15, 1e15 - 1, 1e16, 12345678901234567.0, 1e17, -123456789012345.0]
    wrong = [v for v, text in zip(values, texts(values, 17), strict=True) if text != "%.17g" % v]  # noqa: UP031
    assert wrong == []


def test_limits_are_doubles(scale):
    Path("data").write_text("1 1:1\n2 1:2\n")
    code, _, _ = scale("-l", "0.1", "-u", "0.7", "-y", "0.3", "0.9", "-s", "ranges", "data")
    assert code == 0
    assert Path("ranges").read_text() == (
        "y\n0.29999999999999999 0.90000000000000002\n1 2\nx\n0.10000000000000001 0.69999999999999996\n1 1 2\n"
    )


# ---------------------------------------------------------------- sizes


def expected_lines(rows: list[dict[int, float]], lower: float, upper: float) -> list[str]:
    """The definition, dense: rows with labels 0, 1, 2, …"""
    features = sorted({index for row in rows for index in row})
    ranges = []
    for f in features:
        column = [row.get(f, 0.0) for row in rows]
        if min(column) < max(column):
            ranges.append((f, min(column), max(column)))
    lines = []
    for i, row in enumerate(rows):
        line = f"{i} "
        for f, low, high in ranges:
            v = row.get(f, 0.0)
            s = lower if v == low else upper if v == high else lower + (upper - lower) * (v - low) / (high - low)
            line += f"{f}:{s:g} " if s else ""
        lines.append(line)
    return lines


@pytest.mark.parametrize("shape", ["many rows", "a row longer than a block"])
def test_output_of_several_blocks(scale, shape):
    rng = random.Random(3)
    n_rows, n_features = (3000, 60) if shape == "many rows" else (3, 90000)
    rows = [{f: rng.gauss(0, 1) for f in range(1, n_features) if rng.random() < 0.6} for _ in range(n_rows)]
    with open("data", "w") as file:
        for i, row in enumerate(rows):
            file.write(f"{i}" + "".join(f" {f}:{v!r}" for f, v in row.items()) + "\n")
    code, out, _ = scale("-l", "-2", "data")
    assert code == 0
    assert len(out) > 1 << 21
    assert out.decode().splitlines() == expected_lines(rows, -2, 1)


@pytest.mark.parametrize("limits, first", [(["-l", "0"], "1 1:1 "), ([], "1 1:1 5:-1 2147483647:-1 ")])
def test_largest_index_needs_no_array_of_that_size(scale, limits, first):
    Path("data").write_text("1 1:7\n1 2147483647:3\n2 5:1\n")
    tracemalloc.start()
    try:
        code, out, _ = scale(*limits, "-s", "ranges", "data")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert code == 0
    assert out.decode().splitlines()[0] == first
    assert Path("ranges").read_text().splitlines()[2:] == ["1 0 7", "5 0 1", "2147483647 0 3"]
    assert peak_bytes < 10_000_000


def test_many_far_apart_indices(scale):
    rng = random.Random(5)
    pool = rng.sample(range(1, 2**31), 300)
    rows = [{f: rng.uniform(1, 2) for f in sorted(rng.sample(pool, 20))} for _ in range(30)]
    Path("data").write_text(
        "".join(f"{i}" + "".join(f" {f}:{v!r}" for f, v in row.items()) + "\n" for i, row in enumerate(rows))
    )
    code, out, _ = scale("data")
    assert (code, out.decode().splitlines()) == (0, expected_lines(rows, -1, 1))


# ---------------------------------------------------------------- other interfaces


def test_standard_input_and_compressed_files(scale):
    text = (RECORDED / "mixed.txt").read_bytes()
    expected = (RECORDED / "sparse.out").read_bytes()
    Path("data.gz").write_bytes(gzip.compress(text))
    assert scale("-l", "0", "data.gz")[:2] == (0, expected)
    done = in_process("-l", "0", "-", input=text)
    assert (done.returncode, done.stdout) == (0, expected)


def test_index_zero_is_warned_of(scale):
    shutil.copy(RECORDED / "zero_index.txt", "data")
    _, _, err = scale("-s", "ranges", "data")
    assert "data: features should count from 1, but there is an index 0" in err


def test_index_zero_is_not_saved(scale):
    Path("data").write_text("1 0:1 1:2\n2 0:2 1:3\n")
    code, out, err = scale("-s", "ranges", "data")
    assert (code, out) == (0, b"1 0:-1 1:-1 \n2 0:1 1:1 \n")
    assert Path("ranges").read_text() == "x\n-1 1\n1 2 3\n"
    assert "ranges: the range of index 0 is not saved" in err


@pytest.mark.parametrize("args", [["--help"], ["--version"]])
def test_help_and_version(scale, args):
    code, out, err = scale(*args)
    assert (code, err) == (0, "")
    assert b"svmx-scale" in out


def test_no_arguments_print_usage(scale):
    assert scale() == (1, USAGE.encode(), "")


def test_numpy_is_not_imported():
    code = "import sys, libsvmx.cli.scale; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "args, cause",
    [
        (["-l", "1", "data"], "the limits of -l and -u do not fit: 1 is not below 1"),
        (["-l", "2", "data"], "the limits of -l and -u do not fit: 2 is not below 1"),
        (["-l", "-1e308", "-u", "1e308", "data"], "the limits of -l and -u are too far apart"),
        (["-y", "3", "3", "data"], "the limits of -y do not fit: 3 is not below 3"),
        (["-r", "ranges", "-s", "new", "data"], "-s and -r cannot be used together"),
        (["-l", "nan", "data"], "option -l needs a finite number, not 'nan'"),
        (["-u", "1x", "data"], "option -u needs a number, not '1x'"),
        (["-y", "1"], "option -y needs two values"),
        (["-y", "1", "data"], "option -y needs a number, not 'data'"),
        (["-u"], "option -u needs a value"),
        (["-q", "data"], "unknown option -q"),
        (["data", "more"], "one data file is needed"),
        (["-s", "data", "data"], "the range file is the same as data, which would be lost"),
        (["none"], "none: No such file or directory"),
        (["-r", "none", "data"], "none: No such file or directory"),
        (["-s", "none/ranges", "data"], "{here}/none: No such file or directory"),
    ],
)
def test_command_line_is_refused(scale, args, cause):
    Path("data").write_text("1 1:1\n2 1:2\n")
    Path("ranges").write_text("x\n0 1\n1 1 2\n")
    code, out, err = scale(*args)
    first, *more = err.splitlines()
    assert (code, out, first) == (1, b"", f"svmx-scale: error: {cause.format(here=os.path.realpath('.'))}")
    assert more in ([], ["see svmx-scale --help"])
    assert Path("data").read_text() == "1 1:1\n2 1:2\n"
    assert not Path("new").exists()


@pytest.mark.parametrize(
    "text, where",
    [
        ("1 1:1\n1 1:nan\n", "data:2"),
        ("1 1:inf\n", "data:1"),
        ("1 1:1\nnan 1:1\n", "data:2"),
        ("1 -1:1\n", "data:1"),
        ("1 2147483648:1\n", "data:1"),
        ("1 2:1 1:1\n", "data:1"),
        ("", "data"),
        ("1 1:1e308\n1 1:-1e308\n", "data: the range of feature 1 is too wide: -1e+308 to 1e+308"),
    ],
)
def test_data_is_refused(scale, text, where):
    Path("data").write_text(text)
    code, out, err = scale("-s", "ranges", "data")
    assert (code, out) == (1, b"")
    assert err.startswith(f"svmx-scale: error: {where}:" if ": " not in where else f"svmx-scale: error: {where}\n")


@pytest.mark.parametrize(
    "content, cause",
    [
        (b"", "1: not a range file: it is empty, expected a line 'x'"),
        (b"garbage\n", "1: not a range file: expected a line 'x'"),
        (b"1 1:0.5\n", "1: not a range file: expected a line 'x'"),
        (b"x\n", "2: the file ends where 'lower upper' should follow"),
        (b"x\n0\n", "2: expected two numbers, 'lower upper'"),
        (b"x\n1 0\n", "2: 1 is greater than 0"),
        (b"x\n1 1\n", "2: both limits are 1: nothing can be scaled to them"),
        (b"x\n0 1\n1 2\n", "3: expected 'index min max'"),
        (b"x\n0 1\n\n1 0 5\njunk\n", "5: expected 'index min max'"),
        (b"x\n0 1\n1 5 0\n", "3: feature 1: 5 is greater than 0"),
        (b"x\n0 1\n2 0 1\n1 0 1\n", "4: feature 1 follows feature 2: indices must ascend"),
        (b"x\n0 1\n2 0 1\n2 0 1\n", "4: feature 2 follows feature 2: indices must ascend"),
        (b"x\n0 1\n0 0 1\n", "3: '0' is not a feature index, 1 to 2147483647"),
        (b"x\n0 1\n-1 0 1\n", "3: '-1' is not a feature index, 1 to 2147483647"),
        (b"x\n0 1\n2147483648 0 1\n", "3: '2147483648' is not a feature index, 1 to 2147483647"),
        (b"x\n0 1\n1 nan 1\n", "3: 'nan' is not a finite number"),
        (b"x\n0 1\n1 0 1_0\n", "3: '1_0' is not a finite number"),
        (b"x\n0 1\n1 0 1e999\n", "3: '1e999' is not a finite number"),
        (b"y\n0 1\n-1 2\n", "4: the file ends where a line 'x' should follow"),
        (b"y\n1 0\n-1 2\nx\n0 1\n", "2: 1 is greater than 0"),
        (b"x\n-1e308 1e308\n", "2: -1e+308 and 1e+308 are too far apart"),
        (b"y\n0 1\n2 -1\nx\n0 1\n", "3: 2 is greater than -1"),
    ],
)
def test_range_file_is_refused(scale, content, cause):
    Path("data").write_text("1 1:1\n2 1:2\n")
    Path("ranges").write_bytes(content)
    assert scale("-r", "ranges", "data") == (1, b"", f"svmx-scale: error: ranges:{cause}\n")


def test_range_file_of_another_system_is_read(scale):
    Path("data").write_text("1 1:1\n2 1:2\n")
    Path("ranges").write_bytes(b"x\r\n0 1\r\n1 1 3")
    assert scale("-r", "ranges", "data") == (0, b"1 \n2 1:0.5 \n", "")


def test_label_that_cannot_be_scaled_is_refused(scale):
    Path("data").write_text("2 1:1\n3 1:2\n")
    Path("ranges").write_text("y\n0 1\n2 2\nx\n0 1\n1 1 2\n")
    assert scale("-r", "ranges", "data")[::2] == (1, "svmx-scale: error: data:2: the label is scaled to inf\n")


def test_core_refuses_what_is_not_finite():
    # the reader refuses it, too, so the data are built here
    for bad in (nan, inf, -inf):
        data = matrix.CsrMatrix(filled("q", [0, 1, 2]), filled("i", [1, 4]), filled("d", [1.0, bad]))
        with pytest.raises(DataError, match=r"^row 1: the value of feature 4 is not finite"):
            textwrite.feature_ranges(data)
        with pytest.raises(DataError, match=r"^row 2: the label is not finite"):
            textwrite.label_range(filled("d", [1.0, 2.0, bad]))


def test_overflow_while_scaling_is_refused(scale):
    Path("data").write_text("1 1:0\n2 1:1e10\n3 1:2e10\n")
    code, _, err = scale("-l", "0", "-u", "1e300", "data")
    assert (code, err) == (1, "svmx-scale: error: data:2: feature 1 is scaled to inf\n")
    Path("ranges").write_text("x\n0 1e300\n1 1e10 2e10\n")
    Path("data").write_text("1 1:2e10\n2\n")
    code, out, err = scale("-r", "ranges", "data")
    assert (code, out, err) == (1, b"", "svmx-scale: error: data: feature 1: zero is scaled to -inf\n")


def test_old_range_file_stays_when_the_data_is_bad(scale):
    Path("ranges").write_text("old")
    Path("data").write_text("1 1:1e308\n1 1:-1e308\n")
    assert scale("-s", "ranges", "data")[0] == 1
    assert Path("ranges").read_text() == "old"
    assert sorted(os.listdir()) == ["data", "ranges"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_is_an_error(tmp_path):
    data = RECORDED / "mixed.txt"
    with open("/dev/full", "wb") as full:
        done = in_process(str(data), stdout=full)
    assert (done.returncode, done.stderr) == (1, b"svmx-scale: error: standard output: No space left on device\n")
    done = in_process("-s", "/dev/full", str(data))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"svmx-scale: error: /dev/full: No space left on device\n"

"""Commands on wild files and option lines: a result, or one line that says why not; never anything else.

A case is known by its seed: LIBSVMX_FUZZ_SEED and LIBSVMX_FUZZ_CASES take the place of the seeds of this file, for
hours of it. Where LIBSVM takes what we take, the models are compared.
"""

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from support.commands import MODULES
from support.data import DATA
from support.wild import CHOICES, NUMBERS, Wild

from libsvmx.cli.process import guarded
from libsvmx.io.svmlight import read_data

SEED = int(os.environ.get("LIBSVMX_FUZZ_SEED", "1"))
CASES = int(os.environ.get("LIBSVMX_FUZZ_CASES", "0"))
NOT_FINITE = re.compile(rb"(?<![A-Za-z_])-?(nan|inf)(?![A-Za-z_])")
LIBSVMS = {"-s", "-t", "-d", "-b", "-h", "-m", "-e", "-c", "-g", "-n", "-p"}


def seeds(usual, exhaustive):
    """So many cases; twenty times as many in an exhaustive run, which is about a minute of all."""
    return range(SEED, SEED + (CASES or usual * (20 if exhaustive else 1)))


class Place:
    """A folder with the files that cases start from, and commands that run there."""

    def __init__(self):
        self.lines = (DATA / "heart_scale").read_bytes().splitlines(keepends=True)
        iris = (DATA / "iris.scale").read_bytes().splitlines(keepends=True)
        mpg = (DATA / "mpg").read_bytes().splitlines(keepends=True)
        self.models = {}
        sets = {"-b 1": self.lines[:60], "-b 1 -c 2": iris[::4], "-s 3 -b 1": mpg[:50], "-s 2 -b 1": self.lines[:60]}
        for options, lines in {**sets, "-t 1": self.lines[:50], "-s 1": self.lines[:50]}.items():
            self.put("rows", b"".join(lines))
            self.call("svmx-train", *options.split(), "-q", "rows", "model")
            self.models[options] = self.get("model"), b"".join(lines)
        self.put("rows", b"".join(self.lines[:80]))
        self.call("svmx-train", "-q", "rows", "model")
        self.call("svmx-update", "-q", "--save-state", "state", "rows", "model", "other")
        self.state = self.get("state")
        self.call("svmx-scale", "-s", "ranges", "rows")
        self.ranges = self.get("ranges")

    def put(self, name, content):
        Path(name).write_bytes(content)

    def get(self, name):
        return Path(name).read_bytes()

    def call(self, command, *words):
        """(exit code, standard output); fails at a traceback, a refusal without a word, and a file left behind."""
        out, errors = (
            io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace", write_through=True),
            io.StringIO(),
        )
        module = MODULES[command]
        with redirect_stdout(out), redirect_stderr(errors):
            try:
                code = guarded(command, module.main, module.USAGE, list(words))
            except SystemExit as end:
                code = end.code
        said = out.buffer.getvalue()
        assert code in (0, 1)
        assert code == 0 or errors.getvalue().strip() or b"usage" in said or command == "svmx-checkdata"
        assert not list(Path().glob(".*.tmp"))
        return code, said


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    return Place()


def each(usual, exhaustive):
    """Generators of the cases; what fails names the seed."""
    for seed in seeds(usual, exhaustive):
        print(f"seed {seed}")  # shown if the case fails
        yield Wild(seed)


def test_training_and_predicting(place, exhaustive):
    """Own models are finite and can be used on their data; LIBSVM's are the same bytes."""
    accepted, compared = 0, []
    for wild in each(40, exhaustive):
        r = wild.random
        content = wild.data() if r.random() < 0.5 else wild.mutated(b"".join(r.sample(place.lines, 12)))
        options = wild.options()
        place.put("d", content)
        Path("m").unlink(missing_ok=True)
        code, _ = place.call("svmx-train", *options, "d", "m")
        if code or not Path("m").exists():
            continue
        accepted += 1
        assert not NOT_FINITE.search(place.get("m"))
        assert place.call("svmx-predict", "-q", "--lenient", "d", "m", "o")[0] == 0
        plain = options[:-2]
        if set(plain[::2]) <= LIBSVMS and all(
            word in CHOICES[name] for name, word in zip(plain[::2], plain[1::2], strict=True)
        ):
            compared.append((content, plain))
    assert accepted > 3
    for content, plain in compared:
        place.put("d", content)
        place.call("svmx-train", *plain, "d", "m")
        expected = of_libsvm(plain)
        assert expected is None or place.get("m") == expected, plain


def of_libsvm(options):
    """LIBSVM's model of the file d; None if it refuses, crashes, or does not converge. In a process of its own."""
    code = (
        "import sys; from support.oracle import Oracle; from libsvmx.io.svmlight import read_data\n"
        "d = read_data('d'); o = Oracle(d.matrix, d.targets, ' '.join(sys.argv[1:]))\n"
        "if o.complaint() is None: sys.stdout.buffer.write(o.train().model_bytes('.'))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code, *options], capture_output=True, env=environment, check=False)
    usable = done.returncode == 0 and done.stdout and not NOT_FINITE.search(done.stdout)
    return done.stdout if usable and b"reaching max" not in done.stderr else None


def test_models(place, exhaustive):
    """A model that is taken predicts finite values and can be saved again."""
    for wild in each(60, exhaustive):
        r = wild.random
        model, rows = place.models[r.choice(list(place.models))]
        place.put("m", wild.mutated(model))
        place.put("d", rows if r.random() < 0.8 else wild.mutated(rows))
        code, _ = place.call("svmx-predict", *r.choice([[], ["-b", "1"]]), "d", "m", "o")
        if code == 0:
            assert not NOT_FINITE.search(place.get("o"))


def test_ranges_and_scaling(place, exhaustive):
    for wild in each(60, exhaustive):
        place.put("r", wild.mutated(place.ranges))
        place.put("d", wild.data())
        for words in (("-r", "r"), ("-l", wild.number(), "-u", wild.number())):
            if "\0" not in "".join(words):
                code, out = place.call("svmx-scale", *words, "d")
                assert code or not NOT_FINITE.search(out)


def test_archives(place, exhaustive):
    """A damaged archive is refused: no row is ever dropped."""
    for wild in each(40, exhaustive):
        content, whole = wild.archive(b"".join(place.lines[:30]))
        place.put("d.z", content)
        code, _ = place.call("svmx-train", "-q", "d.z", "m")
        assert not (whole and code)
        if code == 0 and content[:3] in (b"\x1f\x8b\x08", b"BZh", b"\xfd7z"):
            assert read_data("d.z").matrix.n_rows == 30


def test_precomputed_kernels(place, exhaustive):
    for wild in each(30, exhaustive):
        place.put("d", wild.mutated(wild.precomputed()) if wild.random.random() < 0.8 else wild.precomputed())
        options = [word for word in wild.options() if word != "--loo"]
        code, _ = place.call("svmx-train", *options, "-t", "4", "d", "m")
        if code == 0 and Path("m").exists():
            place.put("d", wild.mutated(wild.precomputed()))
            place.call("svmx-predict", "d", "m", "o")


def test_states(place, exhaustive):
    """A state that is taken leads to a finite model and to a state that can be read."""
    for wild in each(40, exhaustive):
        place.put("s", wild.state(place.state))
        place.put("a", b"".join(wild.random.sample(place.lines, 3)))
        changes = [[], ["--add", "a"], ["--remove", "1,3"], ["-c", "2"], ["--add", "a", "--remove", "5-9"]]
        words = ["--state", "s", "--save-state", "s2", *wild.random.choice(changes), "m"]
        if place.call("svmx-update", "-q", *words)[0] == 0:
            assert not NOT_FINITE.search(place.get("m"))
            assert place.call("svmx-update", "-q", "--state", "s2", "m2")[0] == 0


def test_results_of_a_grid(place, exhaustive):
    words = ["-log2c", "0,2,1", "-log2g", "0,-1,-1", "-v", "3", "-q"]
    place.put("d", b"".join(place.lines[:30]))
    place.call("svmx-grid", *words, "-out", "first", "d")
    first = place.get("first")
    for wild in each(15, exhaustive):
        place.put("g", wild.mutated(first))
        place.call("svmx-grid", *words, "-out", "second", "-resume", "g", "d")


def test_option_lines(place, exhaustive):
    """Any words at all, of any command that ends soon."""
    words = [
        "-c",
        "-g",
        "-b",
        "-v",
        "-q",
        "--",
        "-",
        "--help",
        "--version",
        "rows",
        "model",
        "nofile",
        "",
        "--lenient=1",
    ]
    words += ["--add", "--window", "--remove", "-s", "-y", "--threads=0", "-w1", "--unlabeled", "/dev/null", *NUMBERS]
    commands = [name for name in MODULES if name not in ("svmx-grid", "svmx-easy")]
    for wild in each(100, exhaustive):
        r = wild.random
        line = [r.choice(words) for _ in range(r.randrange(7))]
        if "-" not in line:  # nobody types here
            place.call(r.choice(commands), *line)

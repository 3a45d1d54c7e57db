"""Texts read in chunks by several threads: wherever they are split, the same rows, remarks and errors."""

import os
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from libsvmx.io.textparse import parse_data, parse_vectors
from support.examples import examples

from libsvmx.exceptions import FormatError
from libsvmx.io.svmlight import read_data


def outcome(parse, *args, **options):
    """The whole result of a parser, comparable; repr tells -0.0 from 0.0."""
    try:
        found = parse(*args, **options)
    except FormatError as error:
        return error.path, error.line, error.column, error.cause
    return [
        repr([x.row(i) for i in range(x.n_rows)])
        if hasattr(x, "n_rows")
        else repr(x if isinstance(x, int) else list(x))
        for x in found
    ]


DATA_LINES = [
    "1 1:0.5 3:2",
    "-1 2:-1.5e-7 9:12345678901",
    "2",
    "1 # a:b, c:d",
    "-1 4: 7 # 5:5",
    "1 1:1 \r",
    " 3  1:1 2:2\t",
]
ODD_LINES = [
    "",
    "  ",
    "\r",
    "# only:this",
    "1 2:1 1:1",
    "x",
    "1 1:nan",
    "1 1:1\r 2:2",
    "1 1:1\0",
    "1 qid:1",
    "\0",
    "# \r x",
    "5:5",
]
VECTOR_LINES = ["1 0.5 1:0.5 2:1 ", "-1e-3 2", "0.25 -1 1:3 3:1 \r", "0.1234567890123456 -7 8:1"]
ODD_VECTORS = ["", " ", "1", "1 1:1", "1 2 3", "1 2 1:1 # x", "1 2 2:1 1:1", "1 x 1:1", "1 2 1:1\0"]


def texts(usual, odd):
    """Mostly usual lines, up to two odd ones, with or without blank lines at the end."""
    lines = st.lists(st.sampled_from(usual), max_size=20)

    def insert(drawn):
        lines, odds, tail, newline = drawn
        for at, line in odds:
            lines = [*lines[: at % (len(lines) + 1)], line, *lines[at % (len(lines) + 1) :]]
        return ("\n".join([*lines, *[" "] * tail]) + "\n" * newline).encode()

    odds = st.lists(st.tuples(st.integers(0, 20), st.sampled_from(odd)), max_size=2)
    return st.tuples(lines, odds, st.integers(0, 3), st.booleans()).map(insert)


@examples(1500)
@given(texts(DATA_LINES, ODD_LINES), st.integers(1, 60), st.integers(2, 4), st.booleans(), st.booleans())
@example(b"1 1:1\n\n\n\n1 1:1\n", 1, 2, False, False)
@example(b"1 1:1\n\n\n\n\0\n", 1, 2, False, False)
@example(b"# 1:1\n\n# 2:2\n1 1:1\n#3:3\n1 2:1\n", 1, 2, True, False)
@example(b"\xef\xbb\xbf1 1:1\n1 1:2\n1 1:3\n", 1, 2, False, False)
@example(b"1 1:1\n1 1:\n1 1:x\n", 1, 3, False, False)
@example(b"", 1, 2, False, False)
def test_data_does_not_depend_on_slices(text, slice_bytes, threads, lenient, unlabeled):
    alone = outcome(parse_data, text, "name", lenient, unlabeled, 1)
    assert outcome(parse_data, text, "name", lenient, unlabeled, threads, slice_bytes) == alone


@examples(1000)
@given(texts(VECTOR_LINES, ODD_VECTORS), st.integers(0, 22), st.integers(1, 60), st.integers(2, 4))
@example(b"1 2 1:1\n1 2 2:1\n\n\n\n", 2, 1, 2)
@example(b"1 2 1:1\n1 2 2:1\n\n\n1 2 3:1\n\n", 2, 1, 2)
def test_vectors_do_not_depend_on_slices(text, n_sv, slice_bytes, threads):
    alone = outcome(parse_vectors, b"head\n" + text, "name", 5, 1, n_sv, 2, 1)
    assert outcome(parse_vectors, b"head\n" + text, "name", 5, 1, n_sv, 2, threads, slice_bytes) == alone


LINES = 300_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of several chunks of the default size."""
    path = tmp_path_factory.mktemp("chunks") / "large"
    path.write_text("".join(f"{i % 3} {i % 5 + 1}:{i} 9:0.{i}\n" for i in range(LINES)))
    assert path.stat().st_size > 4_000_000
    return path


def test_a_large_file_is_the_same_for_any_number_of_threads(large):
    alone = read_data(str(large), threads=1)
    for threads in (2, 3, 16):
        read = read_data(str(large), threads=threads)
        assert all(
            bytes(a) == bytes(b)
            for a, b in [
                (read.matrix.indptr, alone.matrix.indptr),
                (read.matrix.indices, alone.matrix.indices),
                (read.matrix.values, alone.matrix.values),
                (read.targets, alone.targets),
                (read.line_numbers, alone.line_numbers),
            ]
        )
    assert alone.matrix.row(LINES - 1) == [((LINES - 1) % 5 + 1, LINES - 1.0), (9, float(f"0.{LINES - 1}"))]
    assert alone.line_numbers[LINES - 1] == LINES


def test_the_first_of_many_faults_is_reported(large, tmp_path):
    lines = large.read_bytes().split(b"\n")
    for bad in (290_000, 150_000, 70_001):
        lines[bad] += b" 10:x"
        path = tmp_path / "bad"
        path.write_bytes(b"\n".join(lines))
        for threads in (1, 2, 5):
            with pytest.raises(FormatError, match="value is not a number: 'x'") as caught:
                read_data(str(path), threads=threads)
            assert (caught.value.line, caught.value.column) == (bad + 1, len(lines[bad]))


PROGRAM = """
import sys
from libsvmx.io.svmlight import read_data
before = set(sys.modules)
read_data(sys.argv[1], threads=2)
print(*sorted((set(sys.modules) - before) & {"threading", "concurrent"}), "threading" in before)
"""


def test_a_small_file_needs_no_threads(large, tmp_path):
    small = tmp_path / "small"
    small.write_bytes(large.read_bytes()[:100_000].rpartition(b"\n")[0])
    ask = [sys.executable, "-c", PROGRAM]
    said = subprocess.run([*ask, str(small)], capture_output=True, text=True, check=True).stdout.split()
    assert said[:-1] == []
    if said == ["False"]:  # an editable install already has threads
        assert "threading" in subprocess.run([*ask, str(large)], capture_output=True, text=True, check=True).stdout


RESIDENT = """\
import resource
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc of Linux")
@pytest.mark.parametrize("head", [b"", b"1 1:1\n-1 1:2\n"])
def test_blank_lines_take_no_memory(head, tmp_path):
    """Millions of them: arrays are as long as if each were a row, but pages beyond the rows stay untouched."""
    n = 10_000_000
    (tmp_path / "data").write_bytes(head + b"\n" * n)
    code = "from libsvmx.io.textparse import parse_data; text = open('data', 'rb').read()\n" + RESIDENT
    code += "before = resident(); found = parse_data(text, 'data'); print(resident() - before)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) < n

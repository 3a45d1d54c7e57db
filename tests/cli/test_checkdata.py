"""svmx-checkdata: checkdata.py's messages, line by line."""

import bz2
import gzip
import lzma
import os

import pytest
from support import data
from support.commands import process

from libsvmx.cli.checkdata import BLOCK_BYTES, LINES_LOOKED_AT, lines_of

PAIR = "feature '{}' not an <index>:<value> pair, <index> integer, <value> real number "
ORDER = "feature indices must be in an ascending order, previous/current features {} {}"

# line, messages of LIBSVM 3.24's checkdata.py
LINES = [
    (b"1 1:2 2:3\n", []),
    (b"\n", ["missing label, perhaps an empty line?"]),
    (b"   \n", ["missing label, perhaps an empty line?"]),
    (b"1\n", []),
    (b"abc 1:2\n", ["label abc is not a number"]),
    (b"1,2 1:2\n", []),
    (b"1,x 1:2\n", ["label 1,x is not a valid multi-label form"]),
    (b"1, 1:2\n", ["label 1, is not a valid multi-label form"]),
    (b"nan 1:1\n", ["label nan is not a number"]),
    (b"-infinity 1:1\n", ["label -infinity is not a number"]),
    (b"1 1:inf\n", [PAIR.format("1:inf")]),
    (b"1 1:nan 2:2\n", [PAIR.format("1:nan")]),
    (b"1 1:2 1:3\n", [ORDER.format("1:2", "1:3")]),
    (b"1 3:2 2:3 4:5\n", [ORDER.format("3:2", "2:3")]),
    (b"1 3:2 2:3 3:5\n", [ORDER.format("3:2", "2:3")]),  # the wrong index counts as the previous one
    (b"1 -1:2\n", ["feature index must be positive; wrong feature -1:2"]),
    (
        b"1 -3:1 -2:1\n",
        [f"feature index must be positive; wrong feature {feature}" for feature in ("-3:1", "-2:1")],
    ),
    (b"1 0:1 1:2\n", []),
    (b"1 1:2:3\n", [PAIR.format("1:2:3")]),
    (b"1 1: 2:3\n", [PAIR.format("1:")]),
    (b"1 :2\n", [PAIR.format(":2")]),
    (b"1 1.5:2\n", [PAIR.format("1.5:2")]),
    (b"1 1:2 # c\n", [PAIR.format("#"), PAIR.format("c")]),
    (b"+1 +1:+2\r\n", []),
    (b"1 1:.5 2:5. 3:1e-3 4:-1E+2\n", []),
    (b"1 1:0x1p3\n", [PAIR.format("1:0x1p3")]),
    (b"1 3:1 x 3:2\n", [PAIR.format("x"), ORDER.format("x", "3:2")]),
    (b"1 5:1 4:x 4:2\n", [PAIR.format("4:x"), ORDER.format("4:x", "4:2")]),
    (b"1:2 2:3\n", ["label 1:2 is not a number"]),
    ("é 1:1\n".encode(), ["label é is not a number"]),
]
# errors that checkdata.py overlooks, and svmx-train refuses
MORE = [
    (b"1 1:1e400\n", [PAIR.format("1:1e400")]),
    (b"1 1:" + b"9" * 400 + b"\n", [PAIR.format("1:" + "9" * 400)]),
    (b"1 1_0:2\n", [PAIR.format("1_0:2")]),
    (b"1_0 1:2\n", ["label 1_0 is not a number"]),
    (b"1 2147483648:1\n", [PAIR.format("2147483648:1")]),
    (b"1 2147483647:1\n", []),
    (b"1 " + b"1" * 5000 + b":1\n", [PAIR.format("1" * 5000 + ":1")]),
    ("1 \u0661:1\n".encode(), [PAIR.format("\u0661:1")]),
    (b"1 1:\xff\n", [PAIR.format("1:\\xff")]),
    (b"1 1:1\x00\n", [PAIR.format("1:1\x00")]),
    (b"1 1:2\r-1 1:3\n", [PAIR.format("-1"), ORDER.format("-1", "1:3")]),
]


@pytest.mark.parametrize("line, errors", LINES + MORE)
def test_a_line(line, errors, folder):
    folder.put("d", b"1 1:1\n" + line + b"2 1:1\n")
    code, out, err = folder.call("svmx-checkdata", "d")
    expected = [f"line 2: {error}" for error in errors]
    expected.append("Found 1 lines with error." if errors else "No error.")
    assert (code, out, err) == (1 if errors else 0, "\n".join(expected) + "\n", "")


def test_the_last_line(folder):
    folder.put("d", b"1 1:1\nlast 1:1")
    code, out, _ = folder.call("svmx-checkdata", "d")
    assert code == 1
    assert out == (
        "line 2: missing a newline character in the end\nline 2: label last is not a number\n"
        "Found 1 lines with error.\n"
    )
    assert folder.call("svmx-checkdata", folder.put("d", b""))[:2] == (0, "No error.\n")


@pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_lines_across_blocks(block, pack, folder):
    lines = [line for line, _ in LINES]
    for end in (b"", b"1 1:1"):
        folder.put("d", pack(b"".join(lines) + end))
        assert [line.encode() for line in lines_of("d", block)] == [*lines, *([end] if end else [])]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_of_several_blocks(pack, folder):
    """One line is longer than a block."""
    long = b"1 " + b" ".join(b"%d:1" % i for i in range(1, BLOCK_BYTES // 6)) + b"\n"
    assert len(long) > BLOCK_BYTES
    lines = [*LINES, (long, []), *LINES]
    folder.put("d", pack(b"".join(line for line, _ in lines)))
    code, out, _ = folder.call("svmx-checkdata", "d")
    expected = [f"line {n}: {error}" for n, (_, errors) in enumerate(lines, 1) for error in errors]
    wrong = sum(bool(errors) for _, errors in lines)
    assert (code, out.splitlines()) == (1, [*expected, f"Found {wrong} lines with error."])


@pytest.mark.parametrize("options", [[], ["--lenient"]])
def test_a_file_that_is_something_else(options, folder):
    """Without a row among the first lines, the other lines are not reported: there may be millions."""
    path, wrong = folder.put("d", b"\n" * (LINES_LOOKED_AT + 1)), 0 if options else LINES_LOOKED_AT
    code, out, err = folder.call("svmx-checkdata", *options, path)
    said = [f"line {n}: missing label, perhaps an empty line?" for n in range(1, wrong + 1)]
    assert (code, out.splitlines()) == (1, [*said, *[f"Found {n} lines with error." for n in [wrong] if n]])
    assert f"not one of the first {LINES_LOOKED_AT} lines is a row" in err


def test_a_row_that_comes_late(folder):
    head = b"x\n" * (LINES_LOOKED_AT - 1) + b"1 1:1\n"
    out = folder.call("svmx-checkdata", folder.put("d", head + b"y\n"))[1]
    assert out.splitlines()[-2:] == [
        f"line {LINES_LOOKED_AT + 1}: label y is not a number",
        f"Found {LINES_LOOKED_AT} lines with error.",
    ]


def test_the_projects_sets(folder):
    for name in ("heart_scale", "mpg", "mushrooms.xz", "abalone_scale.xz"):
        assert folder.accepts("svmx-checkdata", data.DATA / name) == ("", "No error.\n")


def test_words_that_standard_output_cannot_spell():
    done = process(
        "svmx-checkdata", "-", input="\u00e9 1:1\n".encode(), env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, b"line 1: label \\xe9 is not a number")


def test_standard_input():
    done = process("svmx-checkdata", "-", input=b"1 1:1\nx\n")
    assert (done.returncode, done.stdout) == (1, b"line 2: label x is not a number\nFound 1 lines with error.\n")


@pytest.mark.parametrize(
    "args, cause",
    [
        (["nowhere"], "nowhere: No such file"),
        (["."], "Is a directory"),
        (["a", "b"], "one data set is needed"),
        (["-x"], "unknown option -x"),
        (["damaged"], "damaged compressed file"),
    ],
)
def test_what_it_refuses(args, cause, folder):
    folder.put("damaged", gzip.compress(b"1 1:1\n" * 1000)[:-20])
    assert cause in folder.refuses("svmx-checkdata", *args)[0]


def test_lenient_takes_no_notice_of_blank_lines_and_comment_lines(folder):
    folder.put("data", "# by a library\n1 1:1\n\n  # more\n-1 1:2\n")
    code, out, err = folder.call("svmx-checkdata", "data")
    assert (code, out.splitlines()[-1]) == (1, "Found 3 lines with error.")
    assert (
        err == "warning: line 1 is only a comment: --lenient, here and in svmx-train, takes no notice of such lines\n"
    )
    assert folder.call("svmx-checkdata", "--lenient", "data") == (0, "No error.\n", "")
    folder.put("data", "# by a library\n1 1:1\nx 1:1\n")
    code, out, _ = folder.call("svmx-checkdata", "--lenient", "data")
    assert (code, out) == (1, "line 3: label x is not a number\nFound 1 lines with error.\n")

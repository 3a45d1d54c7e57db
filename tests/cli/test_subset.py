"""svmx-subset: subset.py's semantics, with lines copied unchanged."""

import gzip
import os
from collections import Counter

import pytest
from support import data
from support.commands import process

GLASS = str(data.DATA / "glass.scale")


def lines_of(path):
    with open(path, "rb") as file:
        return file.readlines()


def classes(content):
    return Counter(line.split()[0] for line in content.splitlines())


def numbers(subset, whole):
    """Line numbers, from 1; the lines of ``whole`` are distinct."""
    return [whole.index(line) + 1 for line in subset.splitlines(True)]


@pytest.mark.parametrize(
    "method, name, size, expected",
    [  # LIBSVM 3.24's subset.py after random.seed(0)
        ("0", "iris.scale", 10, [3, 25, 27, 49, 67, 76, 82, 83, 120, 131]),
        ("1", "wine.scale", 6, [11, 67, 99, 108, 125, 131]),
    ],
)
def test_the_draws_equal_those_of_subset_py(method, name, size, expected, folder):
    path = str(data.DATA / name)
    folder.accepts("svmx-subset", "-s", method, "--random-state", "0", path, size, "part", "rest")
    whole = lines_of(path)
    part, rest = folder.get("part").splitlines(True), folder.get("rest").splitlines(True)
    assert [i for i, line in enumerate(whole, 1) if line in part] == expected
    assert sorted(part + rest) == sorted(whole)


@pytest.mark.parametrize("size", [7, 60, 100, 213, 214])
def test_stratified_keeps_proportions(size, folder):
    whole = classes(b"".join(lines_of(GLASS)))
    if size == 7:  # 70 and 76 rows of the most frequent classes, six classes
        err, _ = folder.refuses("svmx-subset", GLASS, size, "part")
        assert "not every class can have a line in the subset" in err
        assert "-s 1" in err
        return
    folder.accepts("svmx-subset", GLASS, size, "part", "rest")
    part = classes(folder.get("part"))
    assert part.total() == size
    assert part + classes(folder.get("rest")) == whole
    commonest = max(whole, key=whole.get)
    for label, n in whole.items():
        share = n * size / 214
        assert part[label] >= 1
        assert label == commonest or share <= part[label] < share + 1
        assert part[label] > share - len(whole)


def test_plain_and_order(folder):
    path = str(data.DATA / "wine.scale")
    folder.accepts("svmx-subset", "-s", "1", path, 50, "part", "rest")
    whole = lines_of(path)
    for name, n in (("part", 50), ("rest", 128)):
        positions = numbers(folder.get(name), whole)
        assert len(positions) == n
        assert positions == sorted(positions)


def test_seeds(folder):
    drawn = [folder.accepts("svmx-subset", "--random-state", seed, GLASS, 40)[1] for seed in (1, 1, 2, -5)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3
    assert len({folder.accepts("svmx-subset", GLASS, 40)[1] for _ in range(3)}) > 1


def test_lines_are_copied_verbatim(folder):
    content = b"+1 1:0.50 # a\r\n1.0 2:\xff\n 1 junk\n2\t1:1   \n2.0 3:1"
    folder.put("d", content)
    folder.accepts("svmx-subset", "d", 5, "all", "none")
    assert (folder.get("all"), folder.get("none")) == (content, b"")
    # two classes: +1, 1.0 and 1 are the same
    folder.accepts("svmx-subset", "d", 2, "two")
    assert len(folder.get("two").splitlines()) == 2
    assert {float(line.split()[0]) for line in folder.get("two").splitlines()} == {1.0, 2.0}


def test_standard_streams_and_compressed(folder):
    folder.put("d.gz", gzip.compress(b"1 1:1\n2 1:2\n"))
    assert folder.accepts("svmx-subset", "d.gz", 2)[1] == "1 1:1\n2 1:2\n"
    done = process("svmx-subset", "-", "2", input=b"1 1:1\n2 1:2\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1 1:1\n2 1:2\n", b"")


def test_no_line_at_all(folder):
    """As subset.py: nothing is drawn, everything is the rest. No class can have a line of none."""
    path = str(data.DATA / "wine.scale")
    folder.accepts("svmx-subset", "-s", "1", path, 0, "part", "rest")
    assert (folder.get("part"), folder.get("rest").splitlines(True)) == (b"", lines_of(path))
    assert "subset_size 0 is not between 1 and 178" in folder.refuses("svmx-subset", path, 0, "other")[0]


def test_labels_that_are_not_finite_numbers_are_classes(folder):
    """subset.py compares texts; nan does not even equal itself."""
    rows = [f"{label} 1:{i}\n" for i in range(20) for label in ("nan", "inf", "cat", "1")]
    folder.put("d", "".join(rows))
    folder.accepts("svmx-subset", "d", 8, "part")
    assert classes(folder.get("part")) == {b"nan": 2, b"inf": 2, b"cat": 2, b"1": 2}


def test_lines_that_end_with_carriage_returns_alone(folder):
    folder.put("d", b"1 1:1\r2 1:2\r")
    err, _ = folder.refuses("svmx-subset", "d", 1)
    assert err == "svmx-subset: error: d:1:6: carriage return inside the line\n"


def test_blank_lines(folder):
    folder.put("d", b"1 1:1\n2 1:2\n\n \n")
    err, out = folder.accepts("svmx-subset", "d", 2)
    assert err == "warning: d:3: blank line at the end of the file is ignored\n"
    assert out == "1 1:1\n2 1:2\n"
    folder.put("d", b"1 1:1\n\n2 1:2\n")
    assert folder.refuses("svmx-subset", "d", 1)[0] == (
        "svmx-subset: error: d:2: blank line (--lenient leaves such lines out)\n"
    )


@pytest.mark.parametrize(
    "args, cause",
    [
        (["d", "0"], "subset_size 0 is not between 1 and 2, the number of lines of d"),
        (["d", "3"], "subset_size 3 is not"),
        (["d", "-1"], "subset_size -1 is not"),
        (["d", "x"], "subset_size needs a number"),
        (["d", "1.5"], "subset_size needs a whole number"),
        (["d"], "a data set and a subset size"),
        (["d", "1", "a", "b", "c"], "at most two output files"),
        (["-s", "2", "d", "1"], "unknown method '2'"),
        (["-x", "2", "d", "1"], "unknown option -x"),
        (["d", "1", "d"], "the output file is the same as d, which would be lost"),
        (["d", "1", "a", "d"], "the output file is the same as d, which would be lost"),
        (["d", "1", "a", "./a"], "two files are to be written to ./a"),
        (["d", "1", "a", "no/where"], "/no: No such file"),
        (["nowhere", "1"], "nowhere: No such file"),
        (["empty", "1"], "the number of lines of empty"),
    ],
)
def test_refusals(args, cause, folder):
    folder.put("d", b"1 1:1\n2 1:2\n")
    folder.put("a", folder.KEPT)
    folder.put("empty", b"")
    assert cause in folder.refuses("svmx-subset", *args)[0]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_full_disks_keep_the_other_output(folder):
    folder.put("part", folder.KEPT)
    err, _ = folder.refuses("svmx-subset", GLASS, 50, "part", "/dev/full")
    assert err == "svmx-subset: error: /dev/full: No space left on device\n"
    with open("/dev/full", "wb") as full:
        done = process("svmx-subset", GLASS, 50, stdout=full)
    assert (done.returncode, done.stderr) == (1, b"svmx-subset: error: standard output: No space left on device\n")


WITH_COMMENTS = b"# by a library\n1 1:1\n\n-1 1:2 # a row\n  # more\n1 1:3\n-1 1:4\n"


def test_comment_lines_are_no_rows(folder):
    folder.put("data", WITH_COMMENTS)
    folder.put("bare", "# by a library\n1 1:1\n1 1:2\n-1 1:3\n")
    err, _ = folder.refuses("svmx-subset", "bare", 2, "part")
    assert "bare:1: line without data, only a comment (--lenient leaves such lines out)" in err
    err, _ = folder.refuses("svmx-subset", "data", 2, "part")
    assert "(--lenient leaves such lines out)" in err
    folder.accepts("svmx-subset", "--lenient", "data", 2, "part", "rest")
    drawn = folder.get("part").splitlines(True) + folder.get("rest").splitlines(True)
    assert sorted(drawn) == sorted([b"1 1:1\n", b"-1 1:2 # a row\n", b"1 1:3\n", b"-1 1:4\n"])
    assert sorted(line.split()[0] for line in folder.get("part").splitlines()) == [b"-1", b"1"]

"""Data files in parts: the same rows, remarks and errors as the whole file, wherever it is split."""

import bz2
import gzip
import lzma
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from support import data

from libsvmx.exceptions import DataError, FormatError
from libsvmx.io.files import read_blocks, read_bytes
from libsvmx.io.svmlight import BatchReader, parts, read_data

INVALID = sorted((Path(__file__).with_name("invalid") / "data").iterdir())
TEXTS = [
    b"",
    b"\n",
    b"\n\n\n",
    b"1 1:1",
    b"1 1:1\n",
    b"1 1:1\n-1 2:5 3:4\n\n\n",
    b"1 1:1\r\n-1 2:5 3:4\r\n\r\n  \t\n\n",
    b"1 1:1\n\n\n2 1:1\n",
    b"1 1:1\n\n\n2 1:x\n",
    b"1 1:1\n\n \n\0\n",
    b"\n\n\n1 1:1\n",
    b"\xef\xbb\xbf1 1:1\n2 1:2\n3 1:3\n",
    b"1 1:1\n\xef\xbb\xbf2 1:2\n3 1:3\n",
    b"1 1:1\n\xff\xfe2 1:2\n",
    b"\xff\xfe1 1:1\n",
    b"1 1:1\n2 2:2 2:3\n",
    b"1 1:1\n# comment\n3 1:1\n\n# end\n\n",
    b"1 1:1 2:2 3:3 4:4 5:5\n" * 3 + b"1 1:1 0:2\n",
    b"\n".join(b"%d %s" % (i, b" ".join(b"%d:%d" % (j, i) for j in range(1, i))) for i in range(1, 20)),
]


def whole(path, **options):
    """Rows, targets, line numbers and remarks, or the error."""
    try:
        file = read_data(str(path), **options)
    except FormatError as error:
        return str(error)
    rows = [file.matrix.row(i) for i in range(file.matrix.n_rows)]
    return rows, list(file.targets), list(file.line_numbers), list(file.remarks)


def in_parts(path, size, **options):
    reader = BatchReader(str(path), part_bytes=size, **options)
    rows, targets, lines = [], [], []
    try:
        for batch in reader:
            rows += [batch.matrix.row(i) for i in range(batch.matrix.n_rows)]
            targets += batch.targets
            lines += [batch.lines_before + line for line in batch.line_numbers]
    except FormatError as error:
        return str(error).partition(" (--unlabeled")[0].partition(" (if it is not known")[0]  # advice for predictions
    return rows, targets, lines, reader.remarks


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("unlabeled", [False, True])
@pytest.mark.parametrize("text", TEXTS)
def test_any_cut_is_as_good_as_none(text, lenient, unlabeled, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(text)
    expected = whole(path, lenient=lenient, unlabeled=unlabeled)
    for size in (1, 2, 3, 5, 7, 11, 16, 40, 1000):
        assert in_parts(path, size, lenient=lenient, unlabeled=unlabeled) == expected, size


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.name)
def test_invalid_files(path):
    expected = whole(path)
    for size in (1, 13, 64, 1 << 20):
        assert in_parts(path, size) == expected, size


@pytest.mark.parametrize("name", ["heart_scale", "a1a.xz", "vowel.scale.xz"])
def test_real_files(name):
    path = data.DATA / name
    assert in_parts(path, 4096) == whole(path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_blocks_join_to_the_content(pack, tmp_path):
    content = b"".join(b"%d 1:%d\n" % (i, i * i) for i in range(3000))
    path = tmp_path / "data"
    path.write_bytes(pack(content))
    for size in (1 << 20, 5000, 100):
        blocks = list(read_blocks(str(path), size))
        assert b"".join(blocks) == content == read_bytes(str(path))
        assert max(map(len, blocks)) <= size + 10
    code = "import sys; from libsvmx.io import files; sys.stdout.buffer.writelines(files.read_blocks('-', 1000))"
    assert subprocess.check_output([sys.executable, "-c", code], input=pack(content)) == content
    path.write_bytes(pack(content)[:-7])
    if pack is not bytes:
        with pytest.raises(FormatError, match="damaged compressed file"):
            list(read_blocks(str(path), 1000))


def test_parts_are_whole_lines():
    text = b"".join(b"%d 1:1\n" % i for i in range(500))
    cut = list(parts(text[i : i + 100] for i in range(0, len(text), 100)))
    assert b"".join(cut) == text
    assert len(cut) > 10
    assert all(part.endswith(b"\n") for part in cut)
    assert list(parts(iter([]))) == [b""]


def test_a_row_at_fault_is_named_by_its_line(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"# c\n" + b"1 1:1\n" * 50)
    for batch in BatchReader(str(path), lenient=True, part_bytes=20):
        first = batch.lines_before + batch.line_numbers[0]
        assert batch.locate(DataError("c", 0)).line == first
        assert batch.locate(DataError("c")).line == 0
        if batch.matrix.n_rows > 1:
            assert batch.locate(DataError("c", 0), 1).line == first + 1


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A file a hundred times as long takes no more memory."""
    line = b"1 " + b" ".join(b"%d:0.5" % j for j in range(1, 40)) + b"\n"
    peaks = []
    for n in (400, 40_000):
        path = tmp_path / "data"
        path.write_bytes(line * n)
        tracemalloc.start()
        count = sum(batch.matrix.n_rows for batch in BatchReader(str(path), part_bytes=50_000))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert count == n
    assert peaks[1] < 1.5 * peaks[0]

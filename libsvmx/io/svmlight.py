"""Data files in LIBSVM's (SVMlight's) text format: whole, or in parts for row-by-row work in bounded memory."""

from __future__ import annotations

from libsvmx._core.contexts import contextmanager
from libsvmx._core.records import record
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.exceptions import DataError, FormatError
from libsvmx.io.files import name_of_input, parting, read_blocks, read_bytes
from libsvmx.io.outputs import atomic_write
from libsvmx.io.textparse import parse_data
from libsvmx.io.textwrite import data_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from libsvmx._core.matrix import CsrMatrix

# Bytes of text of a part; its rows take two to three times as much.
PART_BYTES = 1 << 23
# First bytes of byte order marks, which the reader accepts at the start of every text: no later part may begin with
# one.
MARKS = b"\xef\xff\xfe"


@record(frozen=True, slots=True, eq=False)
class DataFile:
    """The content of a data file, or some consecutive rows of it.

    Attributes
    ----------
    path : str
    matrix : CsrMatrix
    targets : buffer of float64, shape (n_rows,)
    line_numbers : buffer of int32, shape (n_rows,)     line of each row in this part, from 1
    remarks : tuple of str                              oddities that are no errors
    lines_before : int                                  of the file, before this part
    """

    path: str
    matrix: CsrMatrix
    targets: Buffer
    line_numbers: Buffer
    remarks: tuple[str, ...] = ()
    lines_before: int = 0

    def locate(self, error: DataError, first_row: int = 0) -> FormatError:
        """``error``, about rows from ``first_row`` on, with file and line."""
        line = 0 if error.row is None else self.lines_before + self.line_numbers[first_row + error.row]
        return FormatError(self.path, line, 0, error.cause)

    @contextmanager
    def located(self, first_row: int = 0, rows_only: bool = False) -> Iterator[None]:
        """Errors of the block by ``locate``; ``rows_only``: those that name a row."""
        try:
            yield
        except DataError as error:
            if rows_only and error.row is None:
                raise
            raise self.locate(error, first_row) from error


def read_data(
    path: str,
    *,
    lenient: bool = False,
    unlabeled: bool = False,
    threads: int | None = None,
    told: Callable[[int, int], object] | None = None,
) -> DataFile:
    """Read a data file: plain, gzip, xz or bzip2; ``-`` is standard input.

    ``threads``: maximum, by default ``thread_count``; the result does not depend on it. ``told`` is called from time to
    time with bytes read and bytes in all; with 0 of 0 before they are counted.

    Raises OSError, and FormatError, which names line and column, for what are no LIBSVM data.
    """
    text = read_bytes(path, told)
    name = name_of_input(path)
    matrix, targets, line_numbers, blank_from = parse_data(text, name, lenient, unlabeled, threads, told=told)
    remark = parting(path)
    remarks = [] if remark is None else [f"{name}: {remark}"]
    if blank_from and not lenient and matrix.n_rows:
        remarks.append(f"{name}:{blank_from}: blank line at the end of the file is ignored")
    return DataFile(name, matrix, targets, line_numbers, tuple(remarks))


def write_data(path: str, matrix: CsrMatrix, targets: Buffer) -> None:
    """Write a data file atomically, with all digits. Raises OSError."""
    with atomic_write(path) as file:
        file.write(data_text(matrix, targets))


class BatchReader:
    """BatchReader(path, lenient=False, unlabeled=False, part_bytes=PART_BYTES, any_label=False): the rows of
    ``svmlight.read_data``. ``any_label``: labels may be nan and infinite, too.

    Iterating gives at least one DataFile. Files are refused with the same messages, when the part with the error is
    read.

    Attributes
    ----------
    remarks : list of str      oddities that are no errors; complete at the end
    bytes_read : int           of the text so far; of a compressed file, decompressed

    Raises
    ------
    OSError, FormatError
    """

    def __init__(
        self,
        path: str,
        *,
        lenient: bool = False,
        unlabeled: bool = False,
        part_bytes: int = PART_BYTES,
        any_label: bool = False,
    ) -> None:
        self.path: str = path
        self.lenient: bool = lenient
        self.unlabeled: bool = unlabeled
        self.part_bytes: int = part_bytes
        self.any_label: bool = any_label
        self.remarks: list[str] = []
        self.bytes_read = 0

    def __iter__(self) -> Iterator[DataFile]:
        name = name_of_input(self.path)
        before = 0  # lines before the part
        blank_from = 0  # first of the blank lines that end the parts so far
        any_row = False
        for text in parts(read_blocks(self.path, self.part_bytes)):
            self.bytes_read += len(text)
            # blank lines are errors only if a row follows: one of them becomes line 1 of the next part
            ahead = 1 if blank_from and not self.lenient else 0
            try:
                matrix, targets, lines, blank = parse_data(
                    b"\n" * ahead + text, name, self.lenient, self.unlabeled, any_label=self.any_label
                )
            except FormatError as error:
                line = blank_from if ahead and error.line == 1 else before - ahead + error.line
                raise FormatError(error.path, line, error.column, error.cause + label_hint(error.cause)) from None
            if not (ahead and blank == 1):
                blank_from = before - ahead + blank if blank else 0
            any_row = any_row or matrix.n_rows > 0
            yield DataFile(name, matrix, targets, lines, lines_before=before - ahead)
            before += text.count(b"\n")
        remark = parting(self.path)
        if remark is not None:
            self.remarks.append(f"{name}: {remark}")
        if blank_from and not self.lenient and any_row:
            self.remarks.append(f"{name}:{blank_from}: blank line at the end of the file is ignored")


def label_hint(cause: str) -> str:
    """A hint for rows to predict whose label is missing or no number: it may be unknown."""
    if cause.startswith("label is missing"):
        return " (--unlabeled reads rows without labels)"
    if cause.startswith("label is not a number"):
        return " (if it is not known: write 0, which only the accuracy hears of, or leave it out, with --unlabeled)"
    return ""


def parts(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of a text, cut anywhere, as parts of whole lines; at least one part."""
    pieces: list[bytes] = []
    for block in blocks:
        cut = last_line_start(pieces[-1]) if pieces else 0
        if cut:
            rest = pieces[-1][cut:]
            pieces[-1] = pieces[-1][:cut]
            yield b"".join(pieces)
            pieces = [rest]
        pieces.append(block)
    yield b"".join(pieces)


def last_line_start(piece: bytes) -> int:
    """Start of the last line of ``piece`` with which a part may begin; 0 if there is none."""
    end = len(piece) - 1
    while (end := piece.rfind(b"\n", 0, end)) >= 0:
        if piece[end + 1] not in MARKS:
            return end + 1
    return 0

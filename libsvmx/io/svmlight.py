"""Data files in LIBSVM's (SVMlight's) text format."""

from __future__ import annotations

from libsvmx._core.records import record
from libsvmx._typing import TYPE_CHECKING
from libsvmx.exceptions import DataError, FormatError
from libsvmx.io.files import parting, read_bytes
from libsvmx.io.outputs import atomic_write
from libsvmx.io.textparse import parse_data
from libsvmx.io.textwrite import data_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._typing import Buffer


@record(frozen=True, slots=True, eq=False)
class DataFile:
    """The content of a data file.

    Attributes
    ----------
    path : str
    matrix : CsrMatrix
    targets : buffer of float64, shape (n_rows,)
    line_numbers : buffer of int32, shape (n_rows,)     line of each row, from 1
    remarks : tuple of str                              oddities that are no errors
    """

    path: str
    matrix: CsrMatrix
    targets: Buffer
    line_numbers: Buffer
    remarks: tuple[str, ...]

    def locate(self, error: DataError) -> FormatError:
        """``error`` with file and line."""
        line = 0 if error.row is None else self.line_numbers[error.row]
        return FormatError(self.path, line, 0, error.cause)


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

    Raises
    ------
    OSError
    FormatError      not LIBSVM data; names line and column
    """
    text = read_bytes(path, told)
    name = "standard input" if path == "-" else path
    matrix, targets, line_numbers, blank_from = parse_data(text, name, lenient, unlabeled, threads, told=told)
    remark = parting(path)
    remarks = [] if remark is None else [f"{name}: {remark}"]
    if blank_from and not lenient and matrix.n_rows:
        remarks.append(f"{name}:{blank_from}: blank line at the end of the file is ignored")
    return DataFile(name, matrix, targets, line_numbers, tuple(remarks))


def write_data(path: str, matrix: CsrMatrix, targets: Buffer) -> None:
    """Write a data file atomically, with all digits.

    Raises
    ------
    OSError
    """
    with atomic_write(path) as file:
        file.write(data_text(matrix, targets))

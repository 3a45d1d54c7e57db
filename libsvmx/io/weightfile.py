"""Files of row weights, as LIBSVM's tool "weights for data instances" has them: a number in each line, in the order of
the rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from math import isfinite

from libsvmx._typing import Buffer
from libsvmx.exceptions import FormatError
from libsvmx.io.files import name_of_input, read_blocks

BLOCK_BYTES = 1 << 16
NOT_ONE = "a line must be one weight, not {}"


def read_weights(path: str, n_rows: int, *, lenient: bool = False) -> Buffer | None:
    """The weights of n rows, from a file: plain, gzip, xz or bzip2; ``-`` is standard input.

    Parameters
    ----------
    lenient : bool         skip blank lines and comment lines; else only blank lines at the end are

    Returns
    -------
    buffer of float64, shape (n_rows,)      finite and >= 0; None where all are 1

    Raises
    ------
    OSError          it cannot be read
    FormatError      it is not such a file; says the line
    """
    name = name_of_input(path)
    weights = array("d")
    blank = 0  # the first of the blank lines before this one
    for number, line in enumerate(_lines(path, name), 1):
        text = line.strip()
        if not text:
            blank = blank or number
            continue
        if blank and not lenient:
            raise FormatError(name, blank, 0, NOT_ONE.format("''"))
        blank = 0
        if lenient and text.startswith(b"#"):
            continue
        weight = _number(text)
        if weight is None:
            raise FormatError(name, number, 0, NOT_ONE.format(str(text[:40])[1:]))
        if not (isfinite(weight) and weight >= 0):
            raise FormatError(name, number, 0, f"a weight must be finite and >= 0, not {text.decode('ascii')}")
        if len(weights) == n_rows:  # the rest of the file is not read
            raise FormatError(name, number, 0, f"a weight for more than {n_rows} rows")
        weights.append(weight)
    if len(weights) != n_rows:
        raise FormatError(name, 0, 0, f"{len(weights)} weights for {n_rows} rows")
    return memoryview(weights) if any(weight != 1 for weight in weights) else None


def _lines(path: str, name: str) -> Iterator[bytes]:
    """The lines of a file without their ends, of which a block is held at a time."""
    rest, before = b"", 0
    for block in read_blocks(path, BLOCK_BYTES):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
        before += len(lines)
        if len(rest) > BLOCK_BYTES:
            raise FormatError(name, before + 1, 0, NOT_ONE.format(str(rest[:40])[1:]))
    yield rest


def _number(text: bytes) -> float | None:
    """A number in ASCII digits; None for anything else."""
    try:
        return None if b"_" in text else float(text)
    except ValueError:
        return None

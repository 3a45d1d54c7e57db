"""Files of row weights, as LIBSVM's tool "weights for data instances" has them: a number in each line, in the order of
the rows."""

from __future__ import annotations

from array import array
from math import isfinite
from typing import TYPE_CHECKING

from libsvmx.exceptions import FormatError
from libsvmx.io.files import read_bytes

if TYPE_CHECKING:
    from libsvmx._typing import Buffer


def read_weights(path: str, n_rows: int, *, lenient: bool = False) -> Buffer | None:
    """The weights of so many rows: plain, gzip, xz or bzip2; ``-`` is standard input.

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
    name = "standard input" if path == "-" else path
    lines = read_bytes(path).split(b"\n")
    while lines and not lines[-1].strip():
        lines.pop()
    weights = array("d")
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if lenient and (not text or text.startswith(b"#")):
            continue
        weight = _number(text)
        if weight is None:
            raise FormatError(name, number, 0, f"a line must be one weight, not {str(text[:40])[1:]}")
        if not (isfinite(weight) and weight >= 0):
            raise FormatError(name, number, 0, f"a weight must be finite and >= 0, not {text.decode('ascii')}")
        weights.append(weight)
    if len(weights) != n_rows:
        raise FormatError(name, 0, 0, f"{len(weights)} weights for {n_rows} rows")
    return memoryview(weights) if any(weight != 1 for weight in weights) else None


def _number(text: bytes) -> float | None:
    """A number in ASCII digits; None for anything else."""
    try:
        return None if b"_" in text else float(text)
    except ValueError:
        return None

"""Arrays without NumPy: zeroed, typed memoryviews.

Commands start thousands of times in shell loops, and importing NumPy costs more than training heart_scale. So all code
below the Python API works on plain buffers; ``numpy.asarray`` makes an ndarray of them without a copy.
"""

from __future__ import annotations

from array import array
from math import nan

from libsvmx._core import arrays
from libsvmx._typing import TYPE_CHECKING, Buffer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


zeros: Callable[[str, int], Buffer] = arrays.zeros
table: Callable[[str, int, int], Buffer] = arrays.table


def not_done(n: int) -> Buffer:
    """A buffer of float64 of n nan, for values still to be computed."""
    return memoryview(array("d", [nan]) * n)


def filled(kind: str, values: Iterable[float]) -> Buffer:
    """Writable memoryview holding ``values``."""
    if kind == "d" and type(values) in (list, tuple):
        return arrays.doubles(values)
    try:
        return memoryview(array(kind, values))
    except OverflowError as error:
        if kind in "df":
            raise
        raise ValueError(str(error)) from None

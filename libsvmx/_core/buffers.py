"""Arrays without NumPy: zeroed, typed memoryviews over bytearrays.

The commands start thousands of times in shell loops, and importing NumPy costs more
than training heart_scale. Everything below the Python API therefore works on plain
buffers; ``numpy.asarray`` turns each of them into an ndarray without a copy.
"""

from __future__ import annotations

from collections.abc import Iterable


def zeros(kind: str, n: int) -> memoryview:
    """Writable memoryview of ``n`` zeros; ``kind`` is a struct code: 'd' float64, 'i' int32, 'q' int64, 'b' int8."""
    return memoryview(bytearray(n * SIZE_OF[kind])).cast(kind)  # type: ignore[call-overload, no-any-return]


def filled(kind: str, values: Iterable[float]) -> memoryview:
    """Writable memoryview holding ``values``."""
    items = list(values)
    out = zeros(kind, len(items))
    for i, value in enumerate(items):
        out[i] = value
    return out


SIZE_OF = {"d": 8, "q": 8, "i": 4, "f": 4, "b": 1}

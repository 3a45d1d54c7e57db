"""Type aliases shared by the Python layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray: TypeAlias = NDArray[np.float64]
    IntArray: TypeAlias = NDArray[np.int32]
    Ids: TypeAlias = NDArray[np.int64]

# a typed memoryview as libsvmx._core.buffers makes them; numpy.asarray reads it without a copy
Buffer: TypeAlias = Any

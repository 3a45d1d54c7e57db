"""Type aliases shared by the Python layers, and the name that type checkers take for true.

Importing ``typing`` takes a tenth of the start of a command, so what a command needs at its start imports it for type
checkers alone, like all that would load a module, or close a circle, for annotations only. What comes from modules that
are loaded anyway stands with the other imports.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any, TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    FloatArray: TypeAlias = NDArray[np.float64]
    IntArray: TypeAlias = NDArray[np.int32]
    Ids: TypeAlias = NDArray[np.int64]

    FilePath: TypeAlias = str | PathLike[str]

    # a typed memoryview as libsvmx._core.buffers makes them; numpy.asarray reads it without a copy
    Buffer: TypeAlias = Any
else:
    FloatArray = IntArray = Ids = FilePath = Buffer = object

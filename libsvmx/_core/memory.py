"""Work is refused before it begins where it would not find enough memory.

What is free, ``machine`` tells. Where the system does not say, nothing is known and nothing is refused.

OpenBLAS, in NumPy and in SciPy, needs address space that it does not ask for politely: where there is too little, its
loading may fail halfway, and its first product end the process or never return. So a command loads it by ``load_blas``,
or by ``load_numpy`` where it takes nothing of SciPy's.
"""

from __future__ import annotations

import os
import sys

from libsvmx._core.contexts import suppress
from libsvmx._core.machine import machine
from libsvmx.exceptions import TooLittleMemory as TooLittleMemory

MEGABYTE = 1 << 20
# Address space, measured with NumPy 2 and SciPy 1.15: each library, its working memory at the first product, and of
# each further thread of its own; a thread of Python that does products, its stack and its part of the heap included.
LIBRARY, PRODUCT, OWN_THREAD, THREAD = 96, 40, 44, 220


def require(needed: float, what: str, advice: str) -> None:
    """Raise TooLittleMemory unless so many bytes are left. ``what`` needs them; ``advice``: how to need less."""
    left = machine.free_bytes()
    if left is not None and needed > left:
        raise TooLittleMemory(f"{what} needs about {megabytes(needed)} MB, and {megabytes(left)} MB are left{advice}")


def megabytes(size: float) -> int:
    return max(0, round(size / MEGABYTE))


# ---- OpenBLAS --------------------------------------------------------------------------------------


def load_numpy() -> None:
    """Load NumPy, where its products will find their working memory. Raises TooLittleMemory."""
    if "numpy" not in sys.modules:
        each = LIBRARY + OWN_THREAD * (blas_threads() - 1)
        require((each + PRODUCT) * MEGABYTE, "loading NumPy", "")
        import numpy  # noqa: F401


def load_blas() -> None:
    """Load NumPy and SciPy's linear algebra with its working memory, before other memory is taken.

    Raises
    ------
    TooLittleMemory
    """
    missing = [name for name in ("numpy", "scipy.linalg") if name not in sys.modules]
    if not missing:
        return
    each = LIBRARY + OWN_THREAD * (blas_threads() - 1)
    require((len(missing) * each + 2 * PRODUCT) * MEGABYTE, "loading NumPy and SciPy", "; solver smo needs neither")
    import numpy as np
    from scipy.linalg import blas

    some = np.ones((256, 256))
    some @ some
    blas.dgemm(1.0, some, some)


def blas_threads() -> int:
    """Threads that OpenBLAS starts."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        with suppress(ValueError, KeyError):
            return max(1, min(int(os.environ[name]), machine.all_processors()))
    return machine.all_processors()


def threads_that_fit(threads: int) -> int:
    """As many threads of Python as may do products where address space is limited, from 1 to ``threads``."""
    left = machine.free_addresses() if threads > 1 else None
    return threads if left is None else max(1, min(threads, int(left // (2 * THREAD * MEGABYTE))))

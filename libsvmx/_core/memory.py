"""Checks before work that there is enough memory, by ``machine``. Without information from the system, none fails.

OpenBLAS, in NumPy and in SciPy, does not handle a lack of address space: its loading may fail halfway, and its first
product may end the process or hang. So commands load it by ``load_blas``, or ``load_numpy`` if SciPy is not needed.
"""

from __future__ import annotations

import os
import sys

from libsvmx._core.contexts import suppress
from libsvmx._core.machine import machine
from libsvmx.exceptions import TooLittleMemory as TooLittleMemory

MEGABYTE = 1 << 20
# Address space in MB, measured with NumPy 2 and SciPy 1.15: each library, its working memory at the first product, each
# further BLAS thread, and a thread of Python that does products, with its stack and heap.
LIBRARY, PRODUCT, OWN_THREAD, THREAD = 96, 40, 44, 220


def require(needed: float, what: str, advice: str) -> None:
    """Raise TooLittleMemory unless ``needed`` bytes are left for ``what``; ``advice``: how to need less."""
    left = machine.free_bytes()
    if left is not None and needed > left:
        raise TooLittleMemory(f"{what} needs about {megabytes(needed)} MB, and {megabytes(left)} MB are left{advice}")


def megabytes(size: float) -> int:
    return max(0, round(size / MEGABYTE))


# ---- OpenBLAS --------------------------------------------------------------------------------------


def load_numpy() -> None:
    """Load NumPy, if there is room for its working memory. Raises TooLittleMemory."""
    if "numpy" not in sys.modules:
        each = LIBRARY + OWN_THREAD * (blas_threads() - 1)
        require((each + PRODUCT) * MEGABYTE, "loading NumPy", "")
        import numpy  # noqa: F401


def load_blas() -> None:
    """Load NumPy and SciPy's linear algebra with its working memory, before other memory is used.

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
    """Number of Python threads, from 1 to ``threads``, that can do products in limited address space."""
    left = machine.free_addresses() if threads > 1 else None
    return threads if left is None else max(1, min(threads, int(left // (2 * THREAD * MEGABYTE))))

"""How much memory there is, told before work begins that would not find enough.

Looked at are the limits of this process (``ulimit -v`` and ``-d``), those of its control groups, as containers have
them, and what the machine has left. Where the system does not say, nothing is known and nothing is refused.

OpenBLAS, in NumPy and in SciPy, needs address space that it does not ask for politely: where there is too little, its
loading may fail halfway, and its first product end the process or never return. So a command loads it by ``load_blas``,
or by ``load_numpy`` where it takes nothing of SciPy's.
"""

from __future__ import annotations

import os
import sys

from libsvmx._core.contexts import suppress
from libsvmx.exceptions import TooLittleMemory as TooLittleMemory

MEGABYTE = 1 << 20
# Address space, measured with NumPy 2 and SciPy 1.15: each library, its working memory at the first product, and of
# each further thread of its own; a thread of Python that does products, its stack and its part of the heap included.
LIBRARY, PRODUCT, OWN_THREAD, THREAD = 96, 40, 44, 220


def require(needed: float, what: str, advice: str) -> None:
    """Raise TooLittleMemory unless so many bytes are left. ``what`` needs them; ``advice``: how to need less."""
    left = free()
    if left is not None and needed > left:
        raise TooLittleMemory(f"{what} needs about {megabytes(needed)} MB, and {megabytes(left)} MB are left{advice}")


def megabytes(size: float) -> int:
    return max(0, round(size / MEGABYTE))


def free() -> int | None:
    """Bytes that this process may still take, None if nothing is known."""
    known = [amount for amount in (free_addresses(), free_in_groups(), free_in_machine()) if amount is not None]
    return min(known, default=None)


def free_addresses() -> int | None:
    """What RLIMIT_AS and RLIMIT_DATA leave, None for no limit."""
    try:
        import resource

        pages = [int(word) for word in text_of("/proc/self/statm").split()]
        held = {resource.RLIMIT_AS: pages[0], resource.RLIMIT_DATA: pages[5]}
        page = resource.getpagesize()
        limits = {kind: resource.getrlimit(kind)[0] for kind in held}
        left = [limits[kind] - held[kind] * page for kind in held if limits[kind] != resource.RLIM_INFINITY]
    except (ImportError, OSError, ValueError, IndexError):
        return None
    return max(0, min(left)) if left else None


def free_in_machine() -> int | None:
    """What Linux believes to be available, with swap."""
    try:
        lines = dict(line.split(":", 1) for line in text_of("/proc/meminfo").splitlines() if ":" in line)
        return sum(int(lines[name].split()[0]) << 10 for name in ("MemAvailable", "SwapFree"))
    except (OSError, ValueError, KeyError, IndexError):
        return None


def free_in_groups() -> int | None:
    """What the control groups leave, None for no limit. Pages of files that can be dropped count as free."""
    left = []
    for folder, limit, used, dropped in groups():
        with suppress(OSError, ValueError, StopIteration):
            most = int(text_of(os.path.join(folder, limit)))
            statistics = (line.split() for line in text_of(os.path.join(folder, "memory.stat")).splitlines())
            cached = next(int(value) for name, value in statistics if name == dropped)
            left.append(most - int(text_of(os.path.join(folder, used))) + cached)
    return max(0, min(left)) if left else None


def groups() -> list[tuple[str, str, str, str]]:
    """Folders of the control groups of memory that this process is in, with the names of what is asked for."""
    found = []
    with suppress(OSError, ValueError):
        for line in text_of("/proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                root, names = "/sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
            elif "memory" in controllers.split(","):
                root = "/sys/fs/cgroup/memory"
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            else:
                continue
            while True:
                found.append((root + path.rstrip("/"), *names))
                if path in ("/", ""):
                    break
                path = os.path.dirname(path)
    return found


def text_of(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()


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
            return max(1, min(int(os.environ[name]), os.cpu_count() or 1))
    return os.cpu_count() or 1


def threads_that_fit(threads: int) -> int:
    """As many threads of Python as may do products where address space is limited, from 1 to ``threads``."""
    left = free_addresses() if threads > 1 else None
    return threads if left is None else max(1, min(threads, int(left // (2 * THREAD * MEGABYTE))))

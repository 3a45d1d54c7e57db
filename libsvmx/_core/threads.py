"""How many threads to use. Results never depend on the number."""

from __future__ import annotations

import os


def thread_count(requested: int | None = None) -> int:
    """Number of threads for the next job, at least 1.

    ``requested`` if given (0 and less count as not given), else the first number of OMP_NUM_THREADS, else the
    processors this process may run on.
    """
    if requested is not None and requested > 0:
        return requested
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if first.isdecimal() and int(first) > 0:
        return int(first)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1

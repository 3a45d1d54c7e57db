"""How many threads to use. Results never depend on the number."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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


def in_threads(jobs: Sequence[Callable[[], None]]) -> None:
    """Run the jobs, each in a thread of its own, the last one here; returns when all have ended.

    Threads are made for the call and joined, so that none is lost in a fork. The first error of a job is raised.
    """
    if len(jobs) == 1:
        jobs[0]()
        return
    from threading import Thread  # most commands on small files need none

    errors: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # raised again below
            errors.append(error)

    threads = [Thread(target=guarded, args=(job,)) for job in jobs[:-1]]
    for thread in threads:
        thread.start()
    guarded(jobs[-1])
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]

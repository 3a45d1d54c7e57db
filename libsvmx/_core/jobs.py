"""Jobs in Python or in NumPy that threads share, and that can be stopped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from libsvmx._core.stopping import FLOPS, NOBODY, PIECE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from libsvmx._core.stopping import Asking

# Seconds between two questions while others work.
PATIENCE = 0.02


def in_order(
    function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], threads: int, asking: Asking = NOBODY
) -> Iterator[Any]:
    """``function(*job)`` of each job, by several threads if wanted, in the order of the jobs.

    The functions ask between the pieces of their work. While threads work, the caller's own asks now and then; what is
    raised there ends them all.
    """
    if threads == 1:
        for job in jobs:
            yield function(*job)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from awaited([pool.submit(function, *job) for job in jobs], asking)


def awaited(futures: list[Any], asking: Asking) -> Iterator[Any]:
    """Their results in order. What is raised ends them all, before anything else is done."""
    try:
        for future in futures:
            try:
                while not wait([future], PATIENCE).done:
                    asking.ask(FLOPS * PIECE)
                asking.ask(0)  # after what others have told of
            except BaseException:
                asking.abandon()
                raise
            yield future.result()
    finally:
        wait([future for future in futures if not future.cancel()])

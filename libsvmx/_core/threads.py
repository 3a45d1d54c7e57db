"""How many threads to use. Results never depend on the number."""

from __future__ import annotations

import os

from libsvmx._core.machine import machine
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    Item = TypeVar("Item")


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
    return machine.processors()


def for_each(job: Callable[[Item], object], items: Sequence[Item], threads: int) -> None:
    """Call ``job`` once for each item, on up to ``threads`` threads, of which this is one.

    Items are begun in order. After an exception no more are begun, and the first one is raised.
    """
    if threads <= 1 or len(items) <= 1:
        for item in items:
            job(item)
        return
    import threading  # not worth its time at start-up

    todo = list(reversed(items))
    errors: list[BaseException] = []

    def work() -> None:
        while not errors:
            try:
                item = todo.pop()
            except IndexError:
                return
            try:
                job(item)
            except BaseException as error:
                errors.append(error)

    helpers: list[threading.Thread] = []
    try:
        for _ in range(min(threads, len(items)) - 1):
            helper = threading.Thread(target=work)
            try:
                helper.start()
            except RuntimeError:  # the system gives no more: those there are will do
                break
            helpers.append(helper)
        work()
    finally:  # also after Ctrl-C between two jobs
        todo.clear()
        for helper in helpers:
            helper.join()
    if errors:
        raise errors[0]

"""Number of threads, and jobs on threads in Python or NumPy. Results do not depend on the number.

for_each    jobs without results, of which the caller does some
in_order    the caller waits for their results, and checks for a stop
awaited     one call, abandoned at a stop
"""

from __future__ import annotations

import os
import sys

from libsvmx._core.machine import machine
from libsvmx._core.process import HAS_THREADS, end_of, run_behind
from libsvmx._core.stopping import FLOPS, NOBODY, PIECE, Token
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from typing import Any, TypeVar

    Item = TypeVar("Item")

# Seconds between two checks for a stop while waiting.
INTERVAL = 0.02
# Flops up to which a call does not get a thread: some hundredths of a second.
WHOLE = 1 << 29
# Least bytes of a stack: OpenBLAS with own threads crashes with 64 kB, which a program may have set.
MIN_STACK = 1 << 20


def thread_count(requested: int | None = None) -> int:
    """Number of threads for the next job, at least 1.

    ``requested`` if positive, else the first number of OMP_NUM_THREADS, else the processors available to this process.
    """
    if requested is not None and requested > 0:
        return requested
    return number_in("OMP_NUM_THREADS") or machine.processors()


def number_in(variable: str) -> int:
    """The first number of an environment variable; 0 without one."""
    first = os.environ.get(variable, "").split(",")[0].strip()
    return int(first) if first.isdecimal() else 0


def processes_at_work() -> int:
    """Number of processes that divide this machine's memory: 1, or, in a worker process, as many as its share of the
    processors (joblib's are limited by LOKY_MAX_CPU_COUNT) allows, which joblib and Dask tell it by OMP_NUM_THREADS."""
    if not machine.is_worker():
        return 1
    processors = min(machine.processors(), number_in("LOKY_MAX_CPU_COUNT") or sys.maxsize)
    return max(1, processors // (number_in("OMP_NUM_THREADS") or 1))


def for_each(job: Callable[[Item], object], items: Sequence[Item], threads: int) -> None:
    """Call ``job`` once for each item, on up to ``threads`` threads, the caller included.

    Items begin in order. After an exception no more begin, and the first exception is raised.
    """
    if threads <= 1 or len(items) <= 1:
        for item in items:
            job(item)
        return
    import threading  # imported on demand

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

    workers: list[threading.Thread] = []
    try:
        for _ in range(min(threads, len(items)) - 1):
            worker = threading.Thread(target=work)
            try:
                worker.start()
            except RuntimeError:  # the system gives no more threads
                break
            workers.append(worker)
        work()
    finally:  # also after Ctrl-C between two jobs
        todo.clear()
        for worker in workers:
            worker.join()
    if errors:
        raise errors[0]


# Ctrl-C raises KeyboardInterrupt between any two operations of the main thread. Within ``threading`` or
# ``concurrent.futures`` a lock may then stay taken, a deadlock. A SimpleQueue takes and releases its lock within one
# operation, and so does the start of a thread by ``_thread``.


def in_order(
    function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], threads: int, asking: Token = NOBODY, ahead: int = 0
) -> Generator[Any, None, None]:
    """``function(*job)`` of each job, in order, on up to ``threads`` threads.

    The functions check for a stop between pieces of their work, the caller while it waits. After an exception of a job
    no other begins, and those that have begun are awaited. An exception in the caller or the consumer of the results
    stops the running jobs, too. If no thread can be had, the caller does the jobs. ``ahead``: most jobs begun whose
    result has not been taken; 0: no limit.
    """
    from _thread import start_new_thread
    from queue import SimpleQueue

    todo = list(jobs)
    if threads <= 1 or len(todo) <= 1:
        for job in todo:
            yield function(*job)
        return
    ends: dict[int, Any] = {}
    numbers = iter(range(len(todo)))
    results: SimpleQueue[bool] = SimpleQueue()
    room: SimpleQueue[bool] = SimpleQueue()  # an item for each further job that may begin
    rest: list[int] = []  # numbers of jobs that will not begin

    def work() -> None:
        for number in numbers:
            try:
                ends[number] = end_of(function, todo[number])
            except MemoryError as error:
                ends[number] = None, error
            results.put(True)
            while ahead and len(ends) + len(rest) < len(todo) and not heard(room):
                pass

    workers, failed = 0, False
    try:
        for _ in range(min(threads, len(todo), ahead or threads)):
            try:
                start_new_thread(work, ())
            except RuntimeError:
                break
            workers += 1
        for _ in range(ahead - workers):
            room.put(True)
        for number, job in enumerate(todo):
            if not workers:
                yield function(*job)
                continue
            asking.ask(0)  # also if another thread has stopped the work
            while number not in ends:
                if not heard(results):
                    asking.note(PIECE)
                asking.ask(0)
            (result, error), ends[number] = ends[number], None
            if error is not None:
                failed = True
                raise error
            yield result
            if ahead:
                room.put(True)
    except BaseException:
        rest.extend(numbers)  # one operation
        if not failed and len(ends) + len(rest) < len(todo):
            asking.abandon()
        raise
    finally:
        rest.extend(numbers)
        while len(ends) + len(rest) < len(todo):
            heard(results)


def awaited(function: Callable[..., Any], *arguments: Any, flops: int, asking: Token) -> Any:
    """``function(*arguments)``, which must not change objects of the caller, and takes ``flops``.

    A long call runs in a thread, while the caller checks for a stop. After an exception there, the thread is abandoned;
    it does not delay the exit of the process.
    """
    asking.ask(flops // FLOPS)
    if flops <= WHOLE or not HAS_THREADS:
        return function(*arguments)
    from _thread import stack_size, start_new_thread
    from queue import SimpleQueue

    results: SimpleQueue[Any] = SimpleQueue()
    before = stack_size()
    try:
        if 0 < before < MIN_STACK:
            stack_size(MIN_STACK)
        start_new_thread(run_behind, (function, arguments, results))
    except RuntimeError:
        return function(*arguments)
    finally:
        stack_size(before)
    while (end := heard(results)) is None:
        asking.note(PIECE)
        asking.ask(0)
    result, error = end
    if error is not None:
        raise error
    return result


def heard(results: Any) -> Any:
    """The next item of a SimpleQueue; None after INTERVAL."""
    from queue import Empty

    try:
        return results.get(timeout=INTERVAL)
    except Empty:
        return None

"""How many threads to use, and work that they do in Python or NumPy. Results never depend on the number.

for_each    jobs that ask for themselves, and of which the caller does some
in_order    the caller waits for their results, and asks whether to stop
awaited     one call, which the caller leaves behind when it is to stop
"""

from __future__ import annotations

import os

from libsvmx._core.machine import machine
from libsvmx._core.process import HAS_THREADS, end_of, run_behind
from libsvmx._core.stopping import FLOPS, NOBODY, PIECE
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from typing import Any, TypeVar

    from libsvmx._core.stopping import Token

    Item = TypeVar("Item")

# Seconds between two questions while others work.
PATIENCE = 0.02
# Flops of a call that is not worth a thread: some hundredths of a second.
WHOLE = 1 << 29
# Bytes of a stack: OpenBLAS, if it has threads of its own, crashes with 64 kB, which a program may have asked for.
LEAST_STACK = 1 << 20


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


# Ctrl-C raises KeyboardInterrupt between any two operations of the main thread. Where those are a lock's of
# ``threading`` or ``concurrent.futures``, the lock may stay taken, and all wait for ever. A SimpleQueue takes and
# leaves its lock within one operation, and so does the start of a thread without ``threading``.


def in_order(
    function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], threads: int, asking: Token = NOBODY
) -> Generator[Any, None, None]:
    """``function(*job)`` of each job, in the order of the jobs, by several threads if wanted.

    The functions ask between the pieces of their work. While threads work, the caller's own asks now and then. What a
    job raises ends all: no other begins, and those that have begun are waited for. What is raised while the caller
    asks, or by who takes the results, has those that work stop soon, too.

    Where the system gives no more threads, those there are will do; without any, the caller does the jobs.
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
    news: SimpleQueue[bool] = SimpleQueue()
    rest: list[int] = []  # that nobody will do

    def work() -> None:
        for number in numbers:
            ends[number] = end_of(function, todo[number])
            news.put(True)

    helpers, failed = 0, False
    try:
        for _ in range(min(threads, len(todo))):
            try:
                start_new_thread(work, ())
            except RuntimeError:
                break
            helpers += 1
        for number, job in enumerate(todo):
            if not helpers:
                yield function(*job)
                continue
            while number not in ends:
                if not heard(news):
                    asking.note(PIECE)
                asking.ask(0)  # also after what others have told of
            (result, error), ends[number] = ends[number], None
            if error is not None:
                failed = True
                raise error
            yield result
    except BaseException:
        rest.extend(numbers)  # one operation
        if not failed and len(ends) + len(rest) < len(todo):
            asking.abandon()
        raise
    finally:
        rest.extend(numbers)
        while len(ends) + len(rest) < len(todo):
            heard(news)


def awaited(function: Callable[..., Any], *arguments: Any, flops: int, asking: Token) -> Any:
    """``function(*arguments)``, of so many flops, which changes nothing that the caller has.

    A call that takes longer than a question may wait is a thread's of its own, and the caller's asks meanwhile. What is
    raised there leaves that thread behind: nobody waits for its end, not even this process's.
    """
    asking.ask(flops // FLOPS)
    if flops <= WHOLE or not HAS_THREADS:
        return function(*arguments)
    from _thread import stack_size, start_new_thread
    from queue import SimpleQueue

    news: SimpleQueue[Any] = SimpleQueue()
    before = stack_size()
    try:
        if 0 < before < LEAST_STACK:
            stack_size(LEAST_STACK)
        start_new_thread(run_behind, (function, arguments, news))
    except RuntimeError:
        return function(*arguments)
    finally:
        stack_size(before)
    while (end := heard(news)) is None:
        asking.note(PIECE)
        asking.ask(0)
    result, error = end
    if error is not None:
        raise error
    return result


def heard(news: Any) -> Any:
    """What comes from a SimpleQueue; None if that takes long."""
    from queue import Empty

    try:
        return news.get(timeout=PATIENCE)
    except Empty:
        return None

"""Jobs in Python or in NumPy that threads share, and that can be stopped."""

from __future__ import annotations

from _thread import start_new_thread
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from weakref import ref

from libsvmx._core.stopping import FLOPS, NOBODY, PIECE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from types import TracebackType

    from libsvmx._core.stopping import Asking

# Seconds between two questions while others work.
PATIENCE = 0.02


def in_order(
    function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], threads: int, asking: Asking = NOBODY
) -> Generator[Any, None, None]:
    """``function(*job)`` of each job, by several threads if wanted, in the order of the jobs.

    The functions ask between the pieces of their work. While threads work, the caller's own asks now and then; what is
    raised there ends them all, and so does what is raised between two results, unless a name that is still there holds
    this generator.
    """
    if threads == 1:
        for job in jobs:
            yield function(*job)
        return
    with Pool(threads) as pool:
        yield from pool.in_order(function, jobs, asking)


class Pool:
    """Pool(threads): threads that wait for jobs, for one caller at a time. A context manager.

    Where the system gives no more threads, those there are will do; without any, the caller does the jobs.

    Ctrl-C raises KeyboardInterrupt between any two operations of the main thread. Where those are a lock's of
    ``threading`` or ``concurrent.futures``, the lock may stay taken, and all wait for ever. A SimpleQueue takes and
    leaves its lock within one operation, and so does the start of a thread without ``threading``.
    """

    def __init__(self, threads: int):
        self.jobs: SimpleQueue[Any] = SimpleQueue()
        self.closed = False
        self.batch: Batch | None = None  # whose end has not been waited for
        self.threads = 0
        # of a pool that an interrupt has kept from being closed; in a __del__ another one would be lost
        gone = ref(self, self.jobs.put)
        for _ in range(threads):
            try:
                start_new_thread(_work, (self.jobs, gone))
            except RuntimeError:
                break
            self.threads += 1

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None and self.batch is not None:
            self.batch.drop()
        self.close()

    def close(self) -> None:
        """Let the threads end, once what they have begun is done; other jobs are given up."""
        self.closed = True
        self.jobs.put(None)
        self._give_up()

    def _give_up(self) -> None:
        """Begin no more of the last batch and wait for its end; it is forgotten, with all that its function holds."""
        if self.batch is not None:
            self.batch.end()
            self.batch = None

    def in_order(
        self, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], asking: Asking = NOBODY
    ) -> Generator[Any, None, None]:
        """``function(*job)`` of each job, in order. What is raised ends them all, before anything else is done.

        Where who wants the results raises between two of them, they end when this generator is closed, at the latest
        when the pool is closed or has others to do: a traceback may keep the generator.
        """
        if self.closed:
            raise RuntimeError("the pool is closed")
        self._give_up()
        if not self.threads:
            for job in jobs:
                yield function(*job)
            return
        batch = self.batch = Batch(function, asking)
        todo = [(batch, number, job) for number, job in enumerate(jobs)]
        try:
            batch.given.extend(map(self.jobs.put, todo))  # one operation: a signal comes before all of it, or after
            for number in range(len(todo)):
                try:
                    while number not in batch.ends:
                        if not batch.wait():
                            asking.ask(FLOPS * PIECE)
                    asking.ask(0)  # after what others have told of
                except BaseException:
                    asking.abandon()
                    raise
                yield batch.result(number)
        except GeneratorExit:
            batch.drop()
            raise
        finally:
            batch.end()
            if self.batch is batch:
                self.batch = None


class Batch:
    """Batch(function, asking): jobs of one call.

    Attributes
    ----------
    given : list         as long as the number of jobs that the threads were given
    ends : dict          result and exception of each that has ended; then None
    """

    def __init__(self, function: Callable[..., Any], asking: Asking):
        self.function, self.asking = function, asking
        self.given: list[None] = []
        self.ends: dict[int, tuple[Any, BaseException | None] | None] = {}
        self.news: SimpleQueue[None] = SimpleQueue()
        self.given_up = False

    def do(self, number: int, job: tuple[Any, ...]) -> None:
        """Do this job, if its result is still wanted."""
        result = raised = None
        try:
            if not self.given_up:
                result = self.function(*job)
        except BaseException as error:
            raised = error
        self.ends[number] = result, raised
        self.news.put(None)

    def drop(self) -> None:
        """Have those that work stop soon: who wanted their results has raised."""
        if len(self.ends) < len(self.given):
            self.asking.abandon()

    def end(self) -> None:
        """Begin no other, and wait for what has begun."""
        self.given_up = True
        while len(self.ends) < len(self.given):
            self.wait()

    def wait(self) -> bool:
        """Wait for the end of a job, but not for long; whether there was one."""
        try:
            self.news.get(timeout=PATIENCE)
        except Empty:
            return False
        return True

    def result(self, number: int) -> Any:
        """What the job returned, or raise what it raised; nothing of it is kept."""
        end, self.ends[number] = self.ends[number], None
        assert end is not None
        result, error = end
        if error is not None:
            raise error
        return result


def _work(jobs: SimpleQueue[Any], gone: ref[Pool]) -> None:
    """Do jobs until there is something else in place of one, which the other threads are told, too.

    ``gone`` is kept for what it does when the pool is no more.
    """
    while isinstance(given := jobs.get(), tuple):
        batch, number, job = given
        batch.do(number, job)
        del given, batch, job  # not kept until the next job
    jobs.put(None)

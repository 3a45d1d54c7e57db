"""Independent solves of one call, by several threads.

    for result in side_by_side(solve, n, threads, observer): ...      solve(k, observer) for k = 0, 1, … n - 1

Results come in this order, and so do calls of the observer: each solve writes to a Recording, which the caller's thread
replays before it yields the result. Meanwhile that thread only waits: it handles signals, checks the time limit and
asks the observer, for all threads.
"""

from __future__ import annotations

from itertools import count, takewhile

from libsvmx._core.process import HAS_THREADS, Token
from libsvmx._core.records import NamedTuple, replace
from libsvmx._core.stopping import Stopped
from libsvmx._train import limits
from libsvmx._train.observer import Forwarding, Observer, hears
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from libsvmx._train.parameter import Parameter

    Result = TypeVar("Result")

# Seconds between two checks of the waiting thread.
PATIENCE = 0.02
# Methods of an observer that a solve calls, except should_stop.
TOLD = tuple(name for name in Forwarding.passed_on if name not in ("limits", "should_stop"))


def param_of(param: Parameter, k: int, n: int, threads: int) -> Parameter:
    """Parameters of the k-th of n solves: one thread each, more for the last ones if some are idle."""
    if threads == 1:
        return param
    left_over = n % threads
    return replace(param, threads=threads // left_over if left_over and k >= n - left_over else 1)


def side_by_side(
    solve: Callable[[int, Observer], Result], n: int, threads: int, observer: Observer, ahead: int = 0
) -> Iterator[Result]:
    """The results in order. An exception of a solve is raised in the place of its result, and ends the others.

    With ``threads`` 1, or in a build without threads, each solve begins when its result is asked for and calls the
    observer itself. ``ahead``: maximum number of solves begun whose result has not been taken; 0: no limit.
    """
    if threads > 1 and n > 1 and HAS_THREADS:
        yield from Workers(solve, n, limits.limited(observer, 0.0), ahead or n).results(min(threads, n))
        return
    for k in range(n):
        yield solve(k, observer)


class Finished(NamedTuple):
    """A solve: its result or exception, and its recorded calls."""

    result: Any
    error: BaseException | None
    recording: Recording | None


class Workers:
    """Workers(solve, n, observer, ahead): the threads, which take the numbers of solves in order.

    Attributes
    ----------
    end : Token      of all solves; ends with the call, or when nobody waits for results any more
    """

    def __init__(self, solve: Callable[[int, Observer], Any], n: int, observer: Observer, ahead: int) -> None:
        from threading import Semaphore  # imported on use, which saves time at the start

        self.solve, self.n, self.observer = solve, n, observer
        self.numbers = count()
        self.finished: dict[int, Finished] = {}
        self.news, self.room = Semaphore(0), Semaphore(ahead)
        self.end = Token()
        self.over = False
        self.failure: BaseException | None = None
        self.workers: list[Any] = []

    def start(self, threads: int) -> None:
        """Start up to ``threads`` threads."""
        from threading import Thread

        for _ in range(threads):
            worker = Thread(target=self.work)
            try:
                worker.start()
            except RuntimeError:  # the system allows no more: work with those started
                break
            self.workers.append(worker)

    def work(self) -> None:
        try:
            while self.room.acquire() and not self.over and (k := next(self.numbers)) < self.n:
                self.finished[k] = self.solved(k)
                self.news.release()
        except BaseException as error:  # memory was out for the result
            self.failure = error

    def solved(self, k: int) -> Finished:
        """Run solve k."""
        recording, result, error = None, None, None
        try:
            steps = self.observer.limits is None or self.observer.limits.steps
            recording = Recording(self.observer, Token(parent=self.end, steps=steps))
            result = self.solve(k, recording)
        except BaseException as raised:
            error = raised
        return Finished(result, error, recording)

    def results(self, threads: int) -> Iterator[Any]:
        """As ``side_by_side``."""
        try:
            self.start(threads)  # a signal may come at once
            for k in range(self.n):
                if not self.workers:
                    yield self.solve(k, self.observer)
                    continue
                self.look()
                while k not in self.finished:
                    if self.failure is not None:
                        raise self.failure
                    self.news.acquire(timeout=PATIENCE)
                    self.look()
                result, error, recording = self.finished.pop(k)
                if recording is not None:
                    recording.read_out(self.observer)
                if error is not None:
                    raise error
                yield result
                self.room.release()
        finally:
            self.over = True
            self.end.abandon()
            self.room.release(threads)
            for worker in self.workers:
                worker.join()
            self.workers.clear()

    def look(self) -> None:
        """Check once for all threads whether the call must end."""
        status = limits.look(self.observer)
        if status is not None and self.end.stopped is None:
            self.end.stop(status)


class Recording(Observer):
    """Recording(observer, limits): records calls of ``observer``, to replay them later."""

    def __init__(self, observer: Observer, limits: Token) -> None:
        self.limits = limits
        self.notes: list[tuple[str, tuple[Any, ...]]] = []
        for name in TOLD:
            if hears(observer, name):
                setattr(self, name, self.noting(name))

    def should_stop(self) -> bool:
        assert self.limits is not None
        return self.limits.interrupted()

    def noting(self, name: str) -> Callable[..., None]:
        """A method that records its calls."""
        return lambda *what: self.notes.append((name, what))

    def read_out(self, observer: Observer) -> None:
        """Replay all calls."""
        for name, what in self.notes:
            getattr(observer, name)(*what)


class HandedOn:
    """HandedOn(): pieces handed from one solve to a later one, which takes each when it needs it.

    The later solve begins after the other, so it never waits for a solve that has not begun.
    """

    def __init__(self) -> None:
        from threading import Condition

        self.pieces: list[Any] = []
        self.complete = False
        self.news = Condition()
        self.limits: Token | None = None  # of the waiting solve

    def append(self, piece: Any) -> None:
        with self.news:
            self.pieces.append(piece)
            self.news.notify_all()

    def close(self) -> None:
        """Mark the end of the pieces; called at the end of the solve, whatever ends it."""
        with self.news:
            self.complete = True
            self.news.notify_all()

    def has(self, k: int) -> bool:
        """Whether there is a piece k; waits for it, until the call ends."""
        with self.news:
            while k >= len(self.pieces) and not self.complete and not (self.limits and self.limits.look()):
                self.news.wait(PATIENCE)
            return k < len(self.pieces)

    def __bool__(self) -> bool:
        return self.has(0)

    def __getitem__(self, k: int) -> Any:
        """Piece k; waits for it. Raises Stopped if it will not come."""
        if not self.has(k):
            raise Stopped(SolveStatus.INTERRUPTED)
        return self.pieces[k]

    def __iter__(self) -> Iterator[Any]:
        return (self.pieces[k] for k in takewhile(self.has, count()))

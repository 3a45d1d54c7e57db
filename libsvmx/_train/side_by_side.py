"""Solves of one call that need nothing of each other, by several threads.

    for result in side_by_side(solve, n, threads, observer): ...      solve(k, observer) for k = 0, 1, … n - 1

Results come in this order, and so does what the observer is told: each solve tells a Recording, whose notes are read
out by the caller's thread before the result is handed on. That thread only waits meanwhile: it lets signals in, looks
at the clock and asks the observer, all for the others.
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

# Seconds between two questions of the thread that waits.
PATIENCE = 0.02
# What a solve tells: all of an observer but that it is asked whether to stop.
TOLD = tuple(name for name in Forwarding.passed_on if name not in ("limits", "should_stop"))


def param_of(param: Parameter, k: int, n: int, threads: int) -> Parameter:
    """Of the k-th of n solves side by side: each has one thread, but where the last ones leave some idle."""
    if threads == 1:
        return param
    left_over = n % threads
    return replace(param, threads=threads // left_over if left_over and k >= n - left_over else 1)


def side_by_side(
    solve: Callable[[int, Observer], Result], n: int, threads: int, observer: Observer, ahead: int = 0
) -> Iterator[Result]:
    """The results in their order. What a solve raises is raised instead of its result, and ends the others.

    ``threads`` may be 1, or there are none in this build: then each solve begins when it is asked for, and tells the
    observer itself. ``ahead``: how many are begun at most of which no result has been taken; 0 for no limit.
    """
    if threads > 1 and n > 1 and HAS_THREADS:
        yield from Workers(solve, n, limits.limited(observer, 0.0), ahead or n).results(min(threads, n))
        return
    for k in range(n):
        yield solve(k, observer)


class Finished(NamedTuple):
    """A solve: what came of it, or what it raised, and what there is to tell."""

    result: Any
    error: BaseException | None
    recording: Recording | None


class Workers:
    """Workers(solve, n, observer, ahead): the threads. They draw the numbers of solves in their order.

    Attributes
    ----------
    end : Token      of all solves, as the call has come to its own; abandoned when nobody waits for results any more
    """

    def __init__(self, solve: Callable[[int, Observer], Any], n: int, observer: Observer, ahead: int) -> None:
        from threading import Semaphore  # not worth its time at start-up

        self.solve, self.n, self.observer = solve, n, observer
        self.numbers = count()
        self.finished: dict[int, Finished] = {}
        self.news, self.room = Semaphore(0), Semaphore(ahead)
        self.end = Token()
        self.over = False
        self.failure: BaseException | None = None
        self.helpers: list[Any] = []

    def start(self, threads: int) -> None:
        """As many threads as there are to be had."""
        from threading import Thread

        for _ in range(threads):
            helper = Thread(target=self.work)
            try:
                helper.start()
            except RuntimeError:  # the system gives no more: those there are will do
                break
            self.helpers.append(helper)

    def work(self) -> None:
        try:
            while self.room.acquire() and not self.over and (k := next(self.numbers)) < self.n:
                self.finished[k] = self.solved(k)
                self.news.release()
        except BaseException as error:  # no memory to keep a result, for which nobody may wait then
            self.failure = error

    def solved(self, k: int) -> Finished:
        """Solve number k."""
        recording, result, error = None, None, None
        try:
            steps = self.observer.limits is None or self.observer.limits.steps
            recording = Recording(self.observer, Token(parent=self.end, steps=steps))
            result = self.solve(k, recording)
        except BaseException as raised:
            error = raised
        return Finished(result, error, recording)

    def results(self, threads: int) -> Iterator[Any]:
        """As of ``side_by_side``."""
        try:
            self.start(threads)  # a signal may come at once
            for k in range(self.n):
                if not self.helpers:
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
            for helper in self.helpers:
                helper.join()
            self.helpers.clear()

    def look(self) -> None:
        """Ask whether the call has come to its end, for all of them."""
        status = limits.look(self.observer)
        if status is not None and self.end.stopped is None:
            self.end.stop(status)


class Recording(Observer):
    """Recording(observer, limits): notes what ``observer`` would hear, to be told later."""

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
        """What takes the place of a method."""
        return lambda *what: self.notes.append((name, what))

    def read_out(self, observer: Observer) -> None:
        """Tell all of it."""
        for name, what in self.notes:
            getattr(observer, name)(*what)


class HandedOn:
    """HandedOn(): what a solve leaves for a later one, which takes each piece when it needs it.

    The later one is begun after the other, so that it never waits for what nobody works on.
    """

    def __init__(self) -> None:
        from threading import Condition

        self.pieces: list[Any] = []
        self.complete = False
        self.news = Condition()
        self.limits: Token | None = None  # of the one who waits

    def append(self, piece: Any) -> None:
        with self.news:
            self.pieces.append(piece)
            self.news.notify_all()

    def close(self) -> None:
        """There are no more; as the solve comes to its end, however it does."""
        with self.news:
            self.complete = True
            self.news.notify_all()

    def has(self, k: int) -> bool:
        """Whether there is a piece k: waits for it, until the call has come to its end."""
        with self.news:
            while k >= len(self.pieces) and not self.complete and not (self.limits and self.limits.look()):
                self.news.wait(PATIENCE)
            return k < len(self.pieces)

    def __bool__(self) -> bool:
        return self.has(0)

    def __getitem__(self, k: int) -> Any:
        """Piece k: waits for it. Raises Stopped if it will not come."""
        if not self.has(k):
            raise Stopped(SolveStatus.INTERRUPTED)
        return self.pieces[k]

    def __iter__(self) -> Iterator[Any]:
        return (self.pieces[k] for k in takewhile(self.has, count()))

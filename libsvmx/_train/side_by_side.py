"""Independent solves of one call, by several threads.

    for result in side_by_side(solve, n, threads, observer): ...      solve(k, observer) for k = 0, 1, … n - 1

Results come in this order, and so do calls of the observer: each solve writes to a Recording, which the caller's thread
replays before it yields the result. Meanwhile that thread only waits, in ``in_order``: it handles signals, checks the
time limit and asks the observer, for all threads.
"""

from __future__ import annotations

from itertools import count, takewhile

from libsvmx._core.process import HAS_THREADS
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped, Token
from libsvmx._core.threads import heard, in_order
from libsvmx._train import limits
from libsvmx._train.observer import Forwarding, Observer, hears
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from libsvmx._train.parameter import Parameter

    Result = TypeVar("Result")

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
    observer itself. ``ahead``: as of ``in_order``.
    """
    if threads == 1 or n <= 1 or not HAS_THREADS:
        for k in range(n):
            yield solve(k, observer)
        return
    from _thread import get_ident

    observer, caller = limits.limited(observer, 0.0), get_ident()
    end, steps = End(observer), observer.limits is None or observer.limits.steps

    def recorded(k: int) -> tuple[Result | None, BaseException | None, Recording | None]:
        if get_ident() == caller:  # no thread is to be had
            return solve(k, observer), None, None
        recording = None
        try:
            recording = Recording(observer, Token(parent=end, steps=steps))
            return solve(k, recording), None, recording
        except BaseException as error:
            return None, error, recording

    ends = in_order(recorded, ((k,) for k in range(n)), threads, end, ahead)
    try:
        for result, error, recording in ends:
            if recording is not None:
                recording.read_out(observer)
            if error is not None:
                raise error
            yield result
    finally:  # here, not by the garbage collector, which would lose Ctrl-C while the others are awaited
        ends.close()


class End(Token):
    """End(observer): of all solves; asked by the caller's thread, which asks the observer for all of them."""

    def __init__(self, observer: Observer) -> None:
        super().__init__()
        self.observer = observer

    def ask(self, amount: int) -> None:
        status = limits.look(self.observer)
        if status is not None and self.stopped is None:
            self.stop(status)


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
        from queue import SimpleQueue

        self.pieces: list[Any] = []
        self.complete = False
        self.news: SimpleQueue[bool] = SimpleQueue()
        self.limits: Token | None = None  # of the waiting solve

    def append(self, piece: Any) -> None:
        self.pieces.append(piece)
        self.news.put(True)

    def close(self) -> None:
        """Mark the end of the pieces; called at the end of the solve, whatever ends it."""
        self.complete = True
        self.news.put(True)

    def has(self, k: int) -> bool:
        """Whether there is a piece k; waits for it, until the call ends."""
        while k >= len(self.pieces) and not self.complete and not (self.limits and self.limits.look()):
            heard(self.news)
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

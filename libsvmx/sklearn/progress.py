"""Progress of a fit: for a callback, as a progress bar, or as LIBSVM's transcript."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from libsvmx._core.machine import machine
from libsvmx._train.observer import Forwarding, Observer
from libsvmx._train.solve_report import SolveReport
from libsvmx.io.transcript import TrainingReport

# Minimum of seconds between two reports, except the last.
PAUSE = 0.1


class Progress(NamedTuple):
    """Progress of a fit: the argument of a ``callback``, which is called about ten times a second.

    Attributes
    ----------
    done, total : int
        Dual problems solved, and in total: one, or one for each pair of classes, and with ``probability=True`` five
        more for each; rows in leave-one-out.
    iterations : int
        Iterations of those solved.
    marks : int
        Progress of the current one: a mark is 1,000 iterations of solver 'smo', or the number of rows if that is less.
    seconds : float
        Time since the start.
    """

    done: int
    total: int
    iterations: int
    marks: int
    seconds: float


class Watching(Forwarding):
    """Watching(observer, tell, total): forwards events, and calls ``tell(Progress)``, whose truth ends the fit."""

    def __init__(self, observer: Observer, tell: Callable[[Progress], Any], total: int) -> None:
        super().__init__(observer)
        self.tell, self.total = tell, total
        self.done = self.iterations = self.marks = 0
        self.began = machine.monotonic()
        self.told = -PAUSE  # so that the first report is made at once
        self.stopped = False

    def report(self, at_once: bool) -> None:
        """Call ``tell`` if ``at_once``, or PAUSE has passed."""
        now = machine.monotonic() - self.began
        if at_once or now - self.told >= PAUSE:
            self.told = now
            if self.tell(Progress(self.done, self.total, self.iterations, self.marks, now)):
                self.stopped = True

    def mark(self, mark: str) -> None:
        self.marks += mark == "."
        self.observer.mark(mark)

    def solved(self, report: SolveReport) -> None:
        self.observer.solved(report)
        self.done, self.iterations, self.marks = self.done + 1, self.iterations + report.iterations, 0
        self.total = max(self.total, self.done)
        self.report(True)

    def counted(self, what: str, done: int, total: int) -> None:
        self.observer.counted(what, done, total)
        self.done, self.total = done, total
        self.report(done == total)

    def should_stop(self) -> bool:
        self.report(False)
        return self.stopped or self.observer.should_stop()


@contextmanager
def watched(verbose: Any, callback: Callable[[Progress], Any] | None, name: str, total: int) -> Iterator[Observer]:
    """Observer that shows progress if ``verbose``, and reports to ``callback``.

    Parameters
    ----------
    name : str       title of the bar
    total : int      number of dual problems, or an estimate
    """
    bar = bar_of(name, total) if verbose else None
    observer = TrainingReport(sys.stdout.write) if verbose and bar is None else Observer()
    if verbose and bar is None:
        print("[LibSVM]", end="")
    try:
        if bar is not None:
            observer = Watching(observer, bar.show, total)
        if callback is not None:
            observer = Watching(observer, callback, total)
        yield observer
    finally:
        if bar is not None:
            bar.close()


class Bar:
    """Bar(tqdm, name, total): a bar of tqdm on standard error."""

    def __init__(self, tqdm: Any, name: str, total: int) -> None:
        self.bar: Any = tqdm(total=total, desc=name, file=sys.stderr, leave=True)

    def show(self, progress: Progress) -> None:
        """Redraw."""
        self.bar.total, self.bar.n = progress.total, progress.done
        text = f"{progress.iterations} iterations" if progress.iterations else ""
        self.bar.set_postfix_str(text + "." * min(progress.marks, 20), refresh=True)

    def close(self) -> None:
        """Close, leaving the bar on the terminal."""
        self.bar.close()


def bar_of(name: str, total: int) -> Bar | None:
    """A bar, or None without tqdm or outside of a terminal or notebook."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return Bar(tqdm, name, total)

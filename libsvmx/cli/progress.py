"""The progress line of a long command at a terminal, redrawn on standard error.

    reading a9a, 3 s, about 4 s left
    training, 12 s, gap 0.034 (ends at 0.001), about 20 s left
    training, fold 3 of 10, 24 s, about 56 s left

If standard output is the same terminal, the line is drawn below its last line, and the cursor moves back, by relative
movements that survive scrolling. So LIBSVM's dots continue in their own line, and the text after them replaces ours.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from bisect import bisect_left
from math import inf, log

from libsvmx._core.contexts import suppress
from libsvmx._core.machine import machine
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from libsvmx._train.observer import Observer

WAIT = 2.0  # seconds of a phase before the line appears
BETWEEN = 0.5  # seconds between updates
COLUMNS = 80  # if the terminal does not tell

# Estimate of the time left of a training: minimum and maximum number of gaps; maximum, as a multiple of the time
# passed; maximum ratio of the estimates by all gaps and by the later half. A gap that rises by RISE shows shrunk
# variables.
LEAST_GAPS, MOST_GAPS, FORESIGHT, AGREEMENT, RISE = 10, 512, 5.0, 1.6, 5.0


def wanted() -> bool:
    """Whether standard error is a terminal that can erase a line."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "") != "dumb"


def on_one_terminal() -> bool:
    """Whether standard output and standard error are the same terminal."""
    try:
        return sys.stdout.isatty() and os.fstat(1).st_rdev == os.fstat(2).st_rdev
    except (OSError, ValueError, AttributeError):  # closed by the caller
        return False


class Progress:
    """Progress(stream, shared, clock=None): the line.

    Parameters
    ----------
    stream : text stream        the terminal
    shared : bool               whether standard output goes there, too
    clock : callable() -> float seconds, the machine's if None
    """

    def __init__(self, stream: TextIO, shared: bool, clock: Callable[[], float] | None = None) -> None:
        self.stream, self.shared, self.clock = stream, shared, clock or machine.monotonic
        self.shown, self.owner = False, get_ident()
        self.column = 0  # of the cursor, by the text written so far
        self.eps = 0.0
        self.begin("")

    # ---- progress ----------------------------------------------------------------------------------

    def begin(self, name: str) -> None:
        """Begin a phase."""
        self.name = name
        self.began = self.drawn = self.clock()
        self.what, self.done, self.total = "", 0, 0
        self.first: tuple[float, int] | None = None  # time and value of the first count
        self.gaps = Gaps()

    def count(self, what: str, done: int, total: int) -> None:
        """``done`` of ``total`` items are done; ``what``: their name, '' if it is not to be shown, as of bytes."""
        self.what, self.done, self.total = what, done, total
        if self.first is None or done < self.first[1]:
            self.first = self.clock(), done
        self.gaps = Gaps()  # of the next item
        self.tick()

    def bytes(self, done: int, total: int) -> None:
        """``done`` bytes of a file are read."""
        self.count("", done, total)

    def solving(self, gap: float) -> None:
        """The present KKT gap."""
        self.gaps.add(self.clock() - self.began, gap)
        self.tick()

    def follow(self, observer: Observer) -> None:
        """Show the events of an observer, and ``tick`` when it is asked whether to stop."""
        asked = observer.should_stop

        def should_stop() -> bool:
            self.tick()
            return asked()

        for name, told in (("should_stop", should_stop), ("counted", self.count), ("solving", self.solving)):
            setattr(observer, name, told)

    # ---- the line ----------------------------------------------------------------------------------

    def tick(self) -> None:
        """Redraw the line if it is time, in the thread that has made it only."""
        now = self.clock()
        if get_ident() != self.owner:
            return
        if now - self.drawn >= BETWEEN and now - self.began >= WAIT:
            self.drawn = now
            self.draw(self.line(now - self.began))

    def line(self, passed: float) -> str:
        """The text of the line."""
        words = [self.name] if self.name else []
        if self.what:
            words.append(f"{self.what} {self.done} of {self.total}")
        words.append(duration(passed))
        left = self.left(passed)
        if self.gaps.least < inf and not self.what:
            ends = f" (ends at {self.eps:g})" if self.eps else ""
            words.append(f"gap {self.gaps.least:.2g}{ends}")
        if left is not None and left >= 1:
            words.append(f"about {duration(left)} left")
        return ", ".join(words)

    def left(self, passed: float) -> float | None:
        """Estimate of the seconds left; None without one."""
        if not self.total:
            return self.gaps.left(self.eps) if self.eps else None
        if not 0 < self.done <= self.total:
            return None
        began, before = 0.0, 0
        if self.first is not None and self.done - self.first[1] >= LEAST_GAPS:  # without the time before the first
            began, before = self.first[0] - self.began, self.first[1]
        return (passed - began) / (self.done - before) * (self.total - self.done)

    def draw(self, text: str) -> None:
        """Replace the line by ``text``."""
        width = self.width()
        if self.shared and self.column and self.column % width == 0:
            return  # the cursor is behind the last column, to which no movement can return
        text = cut(text, width - 1)
        at = self.column % width
        below = f"\n{text}\x1b[K\x1b[A\r" + (f"\x1b[{at}C" if at else "")
        if self.put(below if self.shared else f"\r{text}\x1b[K"):
            self.shown = True

    @property
    def erasing(self) -> str:
        """Escape sequence that erases the line: all below the cursor, or the cursor's line."""
        return "\x1b[J" if self.shared else "\r\x1b[K"

    def clear(self) -> None:
        """Erase the line, before other text is written and at the end."""
        if self.shown:
            self.shown = False
            self.put(self.erasing)

    def before(self, text: str) -> None:
        """Called before other text is written to the terminal; erases the line if the text reaches it."""
        column = self.column % self.width()
        if "\n" in text or column + len(text) >= self.width():
            self.clear()
        self.column = column + len(text) if "\n" not in text else len(text) - text.rindex("\n") - 1

    def put(self, text: str) -> bool:
        """Write to the terminal; False if it is gone."""
        with suppress(OSError):
            self.stream.write(text)
            self.stream.flush()
            return True
        return False

    def width(self) -> int:
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or COLUMNS
        except (OSError, ValueError):
            return COLUMNS


class Gaps:
    """Gaps(): the least KKT gap of a solve over time, and the extrapolated time to its end.

    The logarithm of the gap falls about linearly towards the end of a solve, less regularly before. The estimate by the
    later half of the time is used only if that by the last quarter is about the same. When shrunk variables return the
    gap rises, and earlier gaps are dropped.
    """

    def __init__(self) -> None:
        self.begin(inf)

    def begin(self, gap: float) -> None:
        """Start again from this gap."""
        self.least = gap
        self.times: list[float] = []
        self.logs: list[float] = []

    def add(self, time: float, gap: float) -> None:
        """Add the gap at a time, in seconds."""
        if gap <= 0:
            return
        if gap > RISE * self.least:
            self.begin(gap)
        self.least = min(self.least, gap)
        if self.times and time - self.times[-1] < self.times[-1] / MOST_GAPS:
            self.logs[-1] = log(self.least)
            return
        self.times.append(time)
        self.logs.append(log(self.least))

    def left(self, eps: float) -> float | None:
        """Estimated seconds until the gap is ``eps``; None without an estimate."""
        first, second = self.left_as_since(1 / 2, eps), self.left_as_since(3 / 4, eps)
        if first is None or second is None or max(first, second) > FORESIGHT * (self.times[-1] - self.times[0]):
            return None
        return second if max(first, second) <= AGREEMENT * min(first, second) + 1.0 else None

    def left_as_since(self, share: float, eps: float) -> float | None:
        """The estimate by the decay of the gap since this share of the time."""
        k = bisect_left(self.times, self.times[0] + (self.times[-1] - self.times[0]) * share) if self.times else 0
        if len(self.times) - k < LEAST_GAPS or self.logs[k] <= self.logs[-1]:
            return None
        pace = (self.logs[k] - self.logs[-1]) / (self.times[-1] - self.times[k])
        return max(0.0, (self.logs[-1] - log(eps)) / pace)


def cut(text: str, width: int) -> str:
    """The beginning of ``text`` that fits into ``width`` columns: some characters take two."""
    from unicodedata import east_asian_width

    for end, character in enumerate(text):
        width -= 2 if east_asian_width(character) in "WF" else 1
        if width < 0:
            return text[:end]
    return text


def duration(seconds: float) -> str:
    """``12 s``, ``3 min 20 s``, ``2 h 5 min``"""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min" if whole % 3600 >= 60 else f"{whole // 3600} h"

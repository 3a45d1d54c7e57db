"""What somebody at a terminal sees of a command that takes long: one line on standard error, written again and again.

    reading a9a, 3 s, about 4 s left
    training, 12 s, gap 0.034 (ends at 0.001), about 20 s left
    training, fold 3 of 10, 24 s, about 56 s left

Where standard output goes to the same terminal, the line stands below the one that standard output has reached, and the
cursor goes back to its column, by movements alone that hold when the terminal scrolls. So LIBSVM's dots go on in their
own line, and what they end in takes the place of ours.
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

WAIT = 2.0  # seconds of a part of the work after which it is told of
BETWEEN = 0.5  # seconds; no more often than a reader follows
COLUMNS = 80  # where the terminal does not say

# Of the time left of a training: as many gaps, as little as it may be told to take, in terms of the time that has
# passed, and how far two estimates may lie apart of which the second knows only the later half of the first's gaps.
# A gap that rises so many times shows variables that were shrunk.
LEAST_GAPS, MOST_GAPS, FORESIGHT, AGREEMENT, RISE = 10, 512, 5.0, 1.6, 5.0


def wanted() -> bool:
    """Whether standard error is a terminal that can take a line back."""
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
        self.column = 0  # of the cursor, as far as what has been written tells
        self.eps = 0.0
        self.begin("")

    # ---- what is done ------------------------------------------------------------------------------

    def begin(self, name: str) -> None:
        """A part of the work."""
        self.name = name
        self.began = self.drawn = self.clock()
        self.what, self.done, self.total = "", 0, 0
        self.first: tuple[float, int] | None = None  # when the first count came, and what it was
        self.gaps = Gaps()

    def count(self, what: str, done: int, total: int) -> None:
        """So many of these are done; ``what`` is '' where they are too small to be named, such as bytes."""
        self.what, self.done, self.total = what, done, total
        if self.first is None or done < self.first[1]:
            self.first = self.clock(), done
        self.gaps = Gaps()  # of one of them
        self.tick()

    def bytes(self, done: int, total: int) -> None:
        """So much of a file is read."""
        self.count("", done, total)

    def solving(self, gap: float) -> None:
        """The KKT gap at this time."""
        self.gaps.add(self.clock() - self.began, gap)
        self.tick()

    def follow(self, observer: Observer) -> None:
        """Have an observer tell of what it hears, and ``tick`` when it is asked whether to stop."""
        asked = observer.should_stop

        def should_stop() -> bool:
            self.tick()
            return asked()

        for name, told in (("should_stop", should_stop), ("counted", self.count), ("solving", self.solving)):
            setattr(observer, name, told)

    # ---- the line ----------------------------------------------------------------------------------

    def tick(self) -> None:
        """Write the line if it is time; other threads than the one that has made this only count."""
        now = self.clock()
        if get_ident() != self.owner:
            return
        if now - self.drawn >= BETWEEN and now - self.began >= WAIT:
            self.drawn = now
            self.draw(self.line(now - self.began))

    def line(self, passed: float) -> str:
        """What there is to tell."""
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
        """Seconds, as far as what is done tells of what is not; None where it does not."""
        if not self.total:
            return self.gaps.left(self.eps) if self.eps else None
        if not 0 < self.done <= self.total:
            return None
        began, before = 0.0, 0
        if self.first is not None and self.done - self.first[1] >= LEAST_GAPS:  # not what came before the first
            began, before = self.first[0] - self.began, self.first[1]
        return (passed - began) / (self.done - before) * (self.total - self.done)

    def draw(self, text: str) -> None:
        """Write ``text`` in the place of the last line."""
        width = self.width()
        if self.shared and self.column and self.column % width == 0:
            return  # the cursor waits behind the last column, where no movement brings it back
        text = cut(text, width - 1)
        at = self.column % width
        below = f"\n{text}\x1b[K\x1b[A\r" + (f"\x1b[{at}C" if at else "")
        if self.put(below if self.shared else f"\r{text}\x1b[K"):
            self.shown = True

    @property
    def erasing(self) -> str:
        """What takes the line away: all below the cursor, or the line that it is in."""
        return "\x1b[J" if self.shared else "\r\x1b[K"

    def clear(self) -> None:
        """Before anything else is written there, and at the end."""
        if self.shown:
            self.shown = False
            self.put(self.erasing)

    def before(self, text: str) -> None:
        """``text`` is to be written to the terminal. What stays in its line leaves ours alone."""
        column = self.column % self.width()
        if "\n" in text or column + len(text) >= self.width():
            self.clear()
        self.column = column + len(text) if "\n" not in text else len(text) - text.rindex("\n") - 1

    def put(self, text: str) -> bool:
        """To the terminal; False where it is gone."""
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
    """Gaps(): the least KKT gaps of a solve by time, and when they come to its end if they fall on as they do.

    The logarithm of the gap of a solve falls about as a line towards its end, less regularly before. Its pace in the
    later half of the time is believed only where that in the last quarter says about the same. Where shrunk variables
    come back the gap rises, and what was before tells nothing any more.
    """

    def __init__(self) -> None:
        self.begin(inf)

    def begin(self, gap: float) -> None:
        """Anew, from this gap."""
        self.least = gap
        self.times: list[float] = []
        self.logs: list[float] = []

    def add(self, time: float, gap: float) -> None:
        """The gap at some time, in seconds."""
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
        """Seconds until the gap is ``eps``; None where they cannot be told."""
        first, second = self.left_as_since(1 / 2, eps), self.left_as_since(3 / 4, eps)
        if first is None or second is None or max(first, second) > FORESIGHT * (self.times[-1] - self.times[0]):
            return None
        return second if max(first, second) <= AGREEMENT * min(first, second) + 1.0 else None

    def left_as_since(self, share: float, eps: float) -> float | None:
        """The same if the gap falls on as it has fallen since this share of the time."""
        k = bisect_left(self.times, self.times[0] + (self.times[-1] - self.times[0]) * share) if self.times else 0
        if len(self.times) - k < LEAST_GAPS or self.logs[k] <= self.logs[-1]:
            return None
        pace = (self.logs[k] - self.logs[-1]) / (self.times[-1] - self.times[k])
        return max(0.0, (self.logs[-1] - log(eps)) / pace)


def cut(text: str, width: int) -> str:
    """What fits into so many columns: some characters take two."""
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

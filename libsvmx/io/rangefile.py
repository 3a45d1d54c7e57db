"""Range files: the scaling factors of one data set, for use on another (``-s`` and ``-r`` of svm-scale).

    y                           these three lines only if labels are scaled
    y_lower y_upper
    y_min y_max
    x
    lower upper
    index min max               one line per feature that is not constant, ascending, index >= 1

Numbers are written by %.17g, which keeps doubles exactly.
"""

from __future__ import annotations

from array import array
from io import BytesIO
from math import isfinite

from libsvmx._core.records import record
from libsvmx._typing import Buffer
from libsvmx.exceptions import FormatError
from libsvmx.io.files import name_of_input, read_bytes

MAX_INDEX = 2**31 - 1


@record(frozen=True, slots=True, eq=False)
class Ranges:
    """The content of a range file.

    Attributes
    ----------
    lower, upper : float                                     limits of scaled values, lower < upper
    indices : buffer of int32, shape (n_features,)           ascending, >= 1
    lows, highs : buffers of float64, shape (n_features,)    minimum and maximum of each, low <= high
    label : None or (y_lower, y_upper, y_min, y_max)         y_lower < y_upper, y_min <= y_max
    """

    lower: float
    upper: float
    indices: Buffer
    lows: Buffer
    highs: Buffer
    label: tuple[float, float, float, float] | None = None


def text_of_ranges(ranges: Ranges) -> bytes:
    """The text of a range file."""
    lines = []
    if ranges.label is not None:
        lines.append("y\n{:.17g} {:.17g}\n{:.17g} {:.17g}\n".format(*ranges.label))
    lines.append(f"x\n{ranges.lower:.17g} {ranges.upper:.17g}\n")
    for index, low, high in zip(ranges.indices, ranges.lows, ranges.highs, strict=True):
        lines.append(f"{index} {low:.17g} {high:.17g}\n")
    return "".join(lines).encode("ascii")


def read_ranges(path: str) -> Ranges:
    """Read a range file; ``-`` is standard input.

    Raises OSError, and FormatError, which names the line, for what is no range file.
    """
    reader = _Reader(name_of_input(path), read_bytes(path))
    label = None
    if reader.peek() == [b"y"]:
        reader.take("")
        label = (*reader.limits("y_lower y_upper"), *reader.interval("y_min y_max"))
    if reader.take("a line 'x'") != [b"x"]:
        raise reader.error("not a range file: expected a line 'x'")
    lower, upper = reader.limits("lower upper")
    indices, lows, highs = array("i"), array("d"), array("d")
    while reader.peek():
        index, low, high = reader.feature()
        if indices and index <= indices[-1]:
            raise reader.error(f"feature {index} follows feature {indices[-1]}: indices must ascend")
        indices.append(index)
        lows.append(low)
        highs.append(high)
    return Ranges(lower, upper, memoryview(indices), memoryview(lows), memoryview(highs), label)


class _Reader:
    """Lines as lists of words, made on demand; blank lines are skipped. Errors name the last line taken."""

    def __init__(self, path: str, content: bytes):
        self.path = path
        self.lines = enumerate(iter(BytesIO(content)), 1)
        self.line = 0
        self.advance()

    def advance(self) -> None:
        """The next line that is not blank, without taking it."""
        self.ahead: list[bytes] = []
        for number, line in self.lines:
            if words := line.split():
                self.number_ahead, self.ahead = number, words
                break

    def error(self, cause: str) -> FormatError:
        return FormatError(self.path, self.line, 0, cause)

    def peek(self) -> list[bytes]:
        return self.ahead

    def take(self, what: str) -> list[bytes]:
        if not self.ahead:
            # the line after the last nonblank one; 1 in an empty file
            self.line += 1
            if self.line == 1:
                raise self.error(f"not a range file: it is empty, expected {what}")
            raise self.error(f"the file ends where {what} should follow")
        self.line, words = self.number_ahead, self.ahead
        self.advance()
        return words

    def number(self, word: bytes) -> float:
        try:
            value = float(word)
        except ValueError:
            value = float("nan")
        if not isfinite(value) or b"_" in word:
            raise self.error(f"'{word.decode('ascii', 'backslashreplace')}' is not a finite number")
        return value

    def interval(self, names: str) -> tuple[float, float]:
        words = self.take(f"'{names}'")
        if len(words) != 2:
            raise self.error(f"expected two numbers, '{names}'")
        low, high = self.number(words[0]), self.number(words[1])
        if low > high:
            raise self.error(f"{low:.17g} is greater than {high:.17g}")
        if not isfinite(high - low):
            raise self.error(f"{low:.17g} and {high:.17g} are too far apart")
        return low, high

    def limits(self, names: str) -> tuple[float, float]:
        low, high = self.interval(names)
        if low == high:
            raise self.error(f"both limits are {low:.17g}: nothing can be scaled to them")
        return low, high

    def feature(self) -> tuple[int, float, float]:
        words = self.take("")
        if len(words) != 3:
            raise self.error("expected 'index min max'")
        if not words[0].isdigit() or not 1 <= int(words[0][:20]) <= MAX_INDEX:
            word = words[0].decode("ascii", "backslashreplace")
            raise self.error(f"'{word}' is not a feature index, 1 to {MAX_INDEX}")
        low, high = self.number(words[1]), self.number(words[2])
        if low > high:
            raise self.error(f"feature {int(words[0])}: {low:.17g} is greater than {high:.17g}")
        return int(words[0]), low, high

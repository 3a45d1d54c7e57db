"""The points of a grid C = 2^c, gamma = 2^g, their order and the best of them, as in LIBSVM's grid.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from math import isnan
from typing import TYPE_CHECKING

from libsvmx._core.records import replace
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from libsvmx._train.observer import Remark
    from libsvmx._train.parameter import Parameter

Key = tuple[float | None, float | None]  # exponents (c, g); None where an axis is not searched

# grid.py's defaults; integers, as printed: log2c=5, but 5.0 for an axis given by the user
C_AXIS = (-5, 15, 2)
G_AXIS = (3, -15, -2)
MAX_POINTS = 1_000_000  # more are a mistake in the step


@dataclass(frozen=True, slots=True)
class Point:
    """One cross-validated point.

    Attributes
    ----------
    log2c, log2g : float    None: the axis is not searched
    rate : float            accuracy in percent, or mean squared error of a regression, rounded as LIBSVM prints it
    scc : float or None     squared correlation coefficient of a regression
    seconds, iterations     None if unknown
    """

    log2c: float | None
    log2g: float | None
    rate: float
    scc: float | None = None
    seconds: float | None = None
    iterations: int | None = None

    @property
    def key(self) -> Key:
        return self.log2c, self.log2g


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one task, sent between processes."""

    key: Key
    point: Point
    warm_start: object
    remarks: tuple[tuple[Remark, str], ...] = ()
    reach: float = 1.0  # largest ``reach`` of its SolveReports


def exponents(begin: float, end: float, step: float) -> tuple[float, ...]:
    """begin, begin + step, … up to and including ``end``, by repeated addition as in grid.py.

    Raises ParameterError for no value, too many, or one whose power of two is no positive double.
    """
    one = begin == end  # for any step
    if not one and (step == 0 or begin + step == begin):
        raise ParameterError(f"a range from {begin:g} by steps of {step:g} never ends")
    values: list[float] = [begin] if one else []
    value = begin
    while not one and (value <= end if step > 0 else value >= end):
        values.append(value)
        value += step
        if len(values) > MAX_POINTS:
            raise ParameterError(f"the range {begin:g},{end:g},{step:g} has more than {MAX_POINTS} values")
    if not values:
        raise ParameterError(f"the range {begin:g},{end:g},{step:g} is empty: the step leads away from its end")
    for extreme in (values[0], values[-1]):
        if not -1074 <= extreme < 1024:
            raise ParameterError(f"2^{extreme:g} is not a positive number of double precision")
    return tuple(values)


def middle_first(values: tuple[float, ...]) -> list[float]:
    """The middle, then alternately from the two halves, each ordered likewise."""
    if not values:
        return []
    middle = len(values) // 2
    halves = zip_longest(middle_first(values[:middle]), middle_first(values[middle + 1 :]))
    return [values[middle], *(value for pair in halves for value in pair if value is not None)]


@dataclass(frozen=True, slots=True)
class Grid:
    """The points of a search; an axis is None if it is not searched."""

    c_values: tuple[float, ...] | None
    g_values: tuple[float, ...] | None

    def __post_init__(self) -> None:
        if self.c_values is None and self.g_values is None:
            raise ParameterError("nothing to search: both axes are null")
        if len(self.c_values or (0,)) * len(self.g_values or (0,)) > MAX_POINTS:
            raise ParameterError(f"the grid has more than {MAX_POINTS} points")

    @property
    def order(self) -> list[Key]:
        """All points in grid.py's order, which decides between equal rates.

        A rectangle grows, each axis from its middle: by a row of gamma unless C lags behind.
        """
        cs: list[float | None] = [*middle_first(self.c_values)] if self.c_values else [None]
        gs: list[float | None] = [*middle_first(self.g_values)] if self.g_values else [None]
        i = j = 0
        points: list[Key] = []
        while i < len(cs) or j < len(gs):
            if i * len(gs) < j * len(cs):
                points += [(cs[i], g) for g in gs[:j]]
                i += 1
            else:
                points += [(c, gs[j]) for c in cs[:i]]
                j += 1
        return points

    @property
    def columns(self) -> list[list[Key]]:
        """Points by gamma, C ascending."""
        cs: list[float | None] = [*sorted(self.c_values)] if self.c_values else [None]
        gs: list[float | None] = [*middle_first(self.g_values)] if self.g_values else [None]
        return [[(c, g) for c in cs] for g in gs]


def param_at(param: Parameter, key: Key) -> Parameter:
    """``param`` with the C and gamma of a point."""
    c, g = key
    values: dict[str, float] = {}
    if c is not None:
        values["C"] = 2.0**c
    if g is not None:
        values["gamma"] = 2.0**g
    return replace(param, **values)  # type: ignore[arg-type]


class Best:
    """The best point so far, by grid.py's rule, which depends on the order of ``add``.

    The larger rate wins, or in regression the smaller error; in a tie the first, or one of the same gamma with smaller
    C.
    """

    def __init__(self, regression: bool) -> None:
        self.sign: float = -1.0 if regression else 1.0
        self.point: Point | None = None

    def add(self, point: Point) -> Point:
        """Add a point; returns the best."""
        best = self.point
        if best is None or isnan(best.rate):
            self.point = point
        elif point.rate == best.rate:
            if point.log2g == best.log2g and (point.log2c or 0.0) < (best.log2c or 0.0):
                self.point = point
        elif self.sign * point.rate > self.sign * best.rate:
            self.point = point
        assert self.point is not None
        return self.point


def best_of(points: Iterable[Point], regression: bool) -> Point:
    """The best of ``points``, in order; at least one."""
    best = Best(regression)
    for point in points:
        best.add(point)
    assert best.point is not None
    return best.point

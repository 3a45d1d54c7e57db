"""Search of C = 2^c and gamma = 2^g by cross-validation: points, their order, the best of them, columns and waves.

Points of one gamma form a column. In a column C goes up, and what the point (C_j, gamma) leaves is the
start of (C_j+1, gamma): alpha of the smaller box is feasible in the larger one. Alone, columns come one
after the other, so that kernel rows of one gamma serve all its C. With workers, the columns' next points
make a wave of independent tasks. Either way the start of a point is the chain of its column below it,
never the schedule, so the table is the same. Without seeding every point starts from zero.

Nothing here prints or knows files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from math import isnan
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from libsvmx._core.rand import Rand
from libsvmx._train.checks import check_problem
from libsvmx._train.metrics import Scores
from libsvmx._train.observer import Observer
from libsvmx._train.training import shared_kernels
from libsvmx._train.validation import cross_validation
from libsvmx._train.validation.pair_folds import check_seedable
from libsvmx._train.validation.scheme import Seeding
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer

Key = tuple[float | None, float | None]  # exponents (c, g); None where an axis is not searched

C_AXIS = (-5.0, 15.0, 2.0)  # grid.py's
G_AXIS = (3.0, -15.0, -2.0)
BORDER = 2
MAX_POINTS = 1_000_000  # beyond it the step is a slip of the pen


@dataclass(frozen=True, slots=True)
class Point:
    """One cross-validated point.

    Attributes
    ----------
    log2c, log2g : float, or None where the axis is not searched
    rate : float            accuracy in percent, or mean squared error of a regression, rounded as LIBSVM prints it
    scc : float or None     squared correlation coefficient of a regression
    seconds, iterations     None where not known
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


def exponents(begin: float, end: float, step: float) -> tuple[float, ...]:
    """begin, begin + step, … up to and with ``end``, by repeated addition as grid.py does it.

    Raises
    ------
    ParameterError      no value, too many, or one whose power of two is no positive double
    """
    if step == 0 or begin + step == begin:
        raise ParameterError(f"a range from {begin:g} by steps of {step:g} never ends")
    values: list[float] = []
    value = begin
    while value <= end if step > 0 else value >= end:
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
    """The middle, then the halves on both sides in turns, each in the same manner."""
    if not values:
        return []
    middle = len(values) // 2
    halves = zip_longest(middle_first(values[:middle]), middle_first(values[middle + 1 :]))
    return [values[middle], *(value for pair in halves for value in pair if value is not None)]


@dataclass(frozen=True, slots=True)
class Grid:
    """The points of a search; an axis is None where only the parameter's own value counts."""

    c_values: tuple[float, ...] | None
    g_values: tuple[float, ...] | None

    def __post_init__(self) -> None:
        if self.c_values is None and self.g_values is None:
            raise ParameterError("nothing to search: both axes are null")
        if len(self.c_values or (0,)) * len(self.g_values or (0,)) > MAX_POINTS:
            raise ParameterError(f"the grid has more than {MAX_POINTS} points")

    @property
    def order(self) -> list[Key]:
        """All points in the order in which grid.py asks for them, which decides between equal rates.

        A rectangle grows, each axis from its middle: by a row of gamma unless C has fallen behind.
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
        """Points by gamma, C ascending in each."""
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

    A larger rate wins, a smaller error in regression; of equals the first, or one of the same gamma
    with a smaller C.
    """

    def __init__(self, regression: bool) -> None:
        self.sign = -1.0 if regression else 1.0
        self.point: Point | None = None

    def add(self, point: Point) -> Point:
        """Take in a point; returns the best."""
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
    """The best of points in their order. ``points`` must not be empty."""
    best = Best(regression)
    for point in points:
        best.add(point)
    assert best.point is not None
    return best.point


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one task returns; it travels between processes."""

    key: Key
    point: Point
    state: object
    remarks: tuple[tuple[str, str], ...] = ()


class _Remarks(Observer):
    """Collects remarks, each once."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], None] = {}

    def remark(self, kind: str, detail: str = "") -> None:
        self.seen[kind, detail] = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an engine makes of one point.

    Attributes
    ----------
    predicted : buffer of float64, shape (n,)
    state : object          picklable; the start of the next larger C of the same gamma
    iterations : int
    """

    predicted: Buffer
    state: object
    iterations: int


def cross_validate(
    problem: Problem,
    param: Parameter,
    n_folds: int,
    rand: Rand,
    observer: Observer,
    seeding: Seeding,
    start: cross_validation.State | None,
    kernels: KernelProvider | None = None,
) -> Evaluation:
    """The engine of all searches but those of tests. ``kernels``: of all points of this gamma."""
    found = cross_validation.cross_validate(
        problem, param, n_folds, rand, observer, seeding, False, kernels, start, seeding.method != "none"
    )
    return Evaluation(found.predicted, found.state, sum(report.iterations for report in found.solves))


Engine = Callable[..., Evaluation]  # those of tests have states of their own


AUTO = Seeding("auto")


def usual_seeding(seeding: Seeding, param: Parameter) -> Seeding:
    """``seeding``, with auto made out: none where seeding cannot be."""
    if seeding.method == "auto":
        try:
            check_seedable(param)
        except ParameterError:
            return Seeding("none")
        return AUTO
    return seeding


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same at all points of a search. ``engine`` is ``cross_validate`` but in tests."""

    param: Parameter
    grid: Grid
    n_folds: int = 5
    seeding: Seeding = field(default_factory=Seeding)
    random_state: int = 1
    engine: Engine | None = None

    def __post_init__(self) -> None:
        if self.n_folds < 2:
            raise ParameterError(f"cross-validation needs at least 2 folds, not {self.n_folds}")
        if self.seeding.method != "none":
            check_seedable(self.param)

    @property
    def chained(self) -> bool:
        """Whether points start from the one below them in their column."""
        return self.seeding.method != "none" and self.grid.c_values is not None


def evaluate(plan: Plan, problem: Problem, key: Key, start: object, kernels: KernelProvider | None = None) -> Outcome:
    """Cross-validate one point, with folds drawn anew as separate runs of svm-train would draw them."""
    remarks = _Remarks()
    param = param_at(plan.param, key)
    begun = perf_counter()
    engine: Engine = plan.engine or cross_validate
    result = engine(problem, param, plan.n_folds, Rand(plan.random_state), remarks, plan.seeding, start, kernels)
    seconds = float(f"{perf_counter() - begun:.6f}")
    scores = Scores()
    scores.add(result.predicted, problem.targets)
    regression = param.svm_type.is_regression
    # compared as printed, to six digits: that is all grid.py sees
    rate = float(f"{scores.mean_squared_error if regression else scores.accuracy:g}")
    scc = float(f"{scores.squared_correlation:g}") if regression else None
    point = Point(*key, rate, scc, seconds, result.iterations)
    return Outcome(key, point, result.state if plan.chained else None, tuple(remarks.seen))


class Done(Protocol):
    """What is known before a search starts."""

    def points(self) -> Mapping[Key, Point]:
        """Points that need no computing."""

    def given(self) -> Collection[Key]:
        """Those of them that another kind of run computed: no part of the chains."""

    def state(self, g: float | None) -> tuple[Key, object] | None:
        """A point of column g and what it left, if kept."""


class NothingDone:
    """A search from scratch."""

    def points(self) -> Mapping[Key, Point]:
        return {}

    def given(self) -> Collection[Key]:
        return ()

    def state(self, g: float | None) -> tuple[Key, object] | None:
        return None


@dataclass(slots=True)
class Column:
    """What is left of a column: points in order, and the start of the first of them."""

    todo: list[Key]
    start: object = None


def remaining(plan: Plan, done: Done) -> list[Column]:
    """Columns with work left.

    A point whose state is lost is computed once more if a point above it needs it as its start.
    """
    known, given = done.points(), set(done.given())
    columns = []
    for column in plan.grid.columns:
        missing = [key for key in column if key not in known]
        if not missing:
            continue
        if not plan.chained:
            columns += [Column([key]) for key in missing]
            continue
        chain = [key for key in column if key not in given]
        first, last = chain.index(missing[0]), chain.index(missing[-1])
        kept = done.state(column[0][1])
        start = None
        if kept is None or kept[0] not in chain[:first]:
            first = 0
        else:
            first, start = chain.index(kept[0]) + 1, kept[1]
        columns.append(Column(chain[first : last + 1], start))
    return columns


class Pool(Protocol):
    """Who computes."""

    def run(self, plan: Plan, problem: Problem, columns: list[Column]) -> Iterator[Outcome]:
        """Outcomes as they come; those of one column in its order."""


class Alone:
    """In this process, column by column."""

    def run(self, plan: Plan, problem: Problem, columns: list[Column]) -> Iterator[Outcome]:
        gamma, kernels = None, None
        for column in columns:
            state = column.start
            for key in column.todo:
                if kernels is None or key[1] != gamma:  # one at a time: they may fill the memory that -m allows
                    gamma, kernels = key[1], None
                    kernels = shared_kernels(problem, param_at(plan.param, key))
                outcome = evaluate(plan, problem, key, state, kernels)
                state = outcome.state
                yield outcome


def search(plan: Plan, problem: Problem, pool: Pool, done: Done, observer: Observer) -> Iterator[Outcome]:
    """Compute what is not ``done``; outcomes come as they are ready. What can be checked is checked at once.

    Raises
    ------
    DataError, ParameterError      before any point: data or parameters that no point can use
    """
    columns = remaining(plan, done)
    if columns:
        check_problem(problem, param_at(plan.param, columns[0].todo[0]))
    return _news(pool.run(plan, problem, columns), done.points(), observer)


def settled(plan: Plan, problem: Problem, points: Collection[Point]) -> Iterator[Outcome]:
    """The points of a search with auto that may be the best, once more along LIBSVM's path.

    Seeded rates are those of another optimum to eps, so a row on the border may count otherwise. Points within
    ``BORDER`` rows of the best rate get svm-train's own, so that the best point is svm-train's, too. Another solver
    has no such path.
    """
    param = plan.param
    if not (param.solver.follows_libsvm and plan.seeding.method == "auto" and points) or param.svm_type.is_regression:
        return
    bar = max(point.rate for point in points) - BORDER * 100.0 / len(problem) - 1e-4  # rates have six digits
    keys = {point.key for point in points if point.rate >= bar}
    columns = [Column([key]) for column in plan.grid.columns for key in column if key in keys]
    exact = replace(plan, seeding=Seeding("none"))
    yield from Alone().run(exact, problem, columns)  # their remarks have been made


def _news(outcomes: Iterator[Outcome], known: Mapping[Key, Point], observer: Observer) -> Iterator[Outcome]:
    """Outcomes that are not ``known``; each remark is passed on once."""
    told: set[tuple[str, str]] = set()
    for outcome in outcomes:
        for remark in outcome.remarks:
            if remark not in told:
                told.add(remark)
                observer.remark(*remark)
        if outcome.key not in known:
            yield outcome

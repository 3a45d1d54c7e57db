"""Search of C and gamma by cross-validation: columns and waves of points, and the search itself.

Points of one gamma form a column of ascending C, in which each point starts from the optima of the one below: beta of
the smaller box is feasible in the larger one. Alone, columns are computed one after the other, so that all C of a gamma
share kernel rows. With workers, the next points of all columns form a wave of independent tasks. Starts depend on the
column only, never on the schedule, so the results are the same. Without seeding every point is a cold start.

    Search -> Pool.run(plan, problem, columns) -> evaluate(point) -> cross_validate, the engine;  then confirm

Nothing here prints or uses files.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from libsvmx._core.machine import machine
from libsvmx._core.records import replace
from libsvmx._core.threads import thread_count
from libsvmx._train.checks import check_problem
from libsvmx._train.folds import Rand
from libsvmx._train.limits import limited
from libsvmx._train.metrics import Scores
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.side_by_side import HandedOn, side_by_side
from libsvmx._train.training import shared_kernels
from libsvmx._train.validation import cross_validation
from libsvmx._train.validation.grid import Grid, Key, Outcome, Point, best_of, param_at
from libsvmx._train.validation.same_steps import SameSteps
from libsvmx._train.validation.scheme import Seeding, check_seedable
from libsvmx.exceptions import ParameterError, StoppedEarly

if TYPE_CHECKING:
    from libsvmx._core.stopping import Token
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.warm_start import KnownOptima
    from libsvmx._typing import Buffer

# Points within this number of rows of the best rate are confirmed.
BORDER = 2


class Remarks(Observer):
    """Remarks(limits=None): collects each remark once; ``limits`` are those of the call."""

    def __init__(self, limits: Token | None = None) -> None:
        self.seen: dict[tuple[Remark, str], None] = {}
        self.limits = limits

    def should_stop(self) -> bool:
        return self.limits is not None and self.limits.interrupted()

    def remark(self, kind: Remark, detail: str = "") -> None:
        self.seen[kind, detail] = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Result of an engine for one point.

    Attributes
    ----------
    predicted : buffer of float64, shape (n,)
    iterations : int
    reach : float           largest ``reach`` of the SolveReports
    """

    predicted: Buffer
    iterations: int
    reach: float = 1.0


def cross_validate(
    problem: Problem,
    param: Parameter,
    n_folds: int,
    rand: Rand,
    observer: Observer,
    seeding: Seeding,
    warm_start: list[KnownOptima] | HandedOn | None,
    kernels: KernelProvider | None,
    leaves: HandedOn | None,
) -> Evaluation:
    """The engine of all searches except in tests. ``kernels``: of all points of this gamma; ``leaves`` takes the warm
    start of each fold, which is picklable, for the next larger C of the same gamma."""
    found = cross_validation.cross_validate(
        problem, param, n_folds, rand, observer, seeding, False, kernels, warm_start, leaves
    )
    iterations, reach = sum(report.iterations for report in found.solves), max(fold.reach for fold in found.folds)
    return Evaluation(found.predicted, iterations, reach)


Engine = Callable[..., Evaluation]  # those of tests have other types of warm starts


def usual_seeding(seeding: Seeding, param: Parameter, targets: Buffer) -> Seeding:
    """``seeding``, with auto resolved: none if seeding is impossible or saves nothing.

    With several classes, or few rows, cold starts are as fast, due to the queue of folds and SameSteps, and give
    LIBSVM's results. For a classifier with probability estimates, confirming many points may cost what inner folds
    save: times fell by a factor of up to 2.0, but also rose by 1.12.
    """
    if seeding.seeder == "auto":
        if param.probability and param.svm_type.is_classification:
            return Seeding("none")
        try:
            check_seedable(param)
        except ParameterError:
            return Seeding("none")
        several = param.svm_type.is_classification and len(set(targets)) > 2
        if param.solver.follows_libsvm and (several or len(targets) <= param.policy.max_cold_start_rows):
            return Seeding("none")
        return Seeding("auto")
    return seeding


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings common to all points of a search. ``engine`` is ``cross_validate`` except in tests."""

    param: Parameter
    grid: Grid
    n_folds: int = 5
    seeding: Seeding = field(default_factory=Seeding)
    random_state: int = 1
    engine: Engine | None = None

    def __post_init__(self) -> None:
        if self.n_folds < 2:
            raise ParameterError(f"cross-validation needs at least 2 folds, not {self.n_folds}")
        if self.seeding.seeder != "none":
            check_seedable(self.param)

    @property
    def is_regression(self) -> bool:
        """Whether rates are errors."""
        return self.param.svm_type.is_regression

    @property
    def chained(self) -> bool:
        """Whether points start from the next smaller C in their column."""
        return self.seeding.seeder != "none" and self.grid.c_values is not None


def evaluate(
    plan: Plan,
    problem: Problem,
    key: Key,
    warm_start: object,
    kernels: KernelProvider | None = None,
    limits: Token | None = None,
    leaves: HandedOn | None = None,
) -> Outcome:
    """Cross-validate one point, with folds as a separate run of svm-train would draw them.

    ``limits``: of the search; ``leaves`` receives the warm starts for the next point. Raises StoppedEarly.
    """
    remarks = Remarks(limits)
    param = param_at(plan.param, key)
    begun = machine.perf_counter()
    engine: Engine = plan.engine or cross_validate
    rand = Rand(plan.random_state)
    if leaves is None and plan.seeding.seeder != "none":
        leaves = HandedOn()
    result = engine(problem, param, plan.n_folds, rand, remarks, plan.seeding, warm_start, kernels, leaves)
    seconds = float(f"{machine.perf_counter() - begun:.6f}")
    scores = Scores(param.quantile)
    scores.add(result.predicted, problem.targets)
    regression = param.svm_type.is_regression
    # rounded to six digits, as grid.py reads them
    error = scores.mean_squared_error if scores.tau is None else scores.pinball_loss
    rate = float(f"{error if regression else scores.accuracy:g}")
    scc = float(f"{scores.squared_correlation:g}") if regression else None
    point = Point(*key, rate, scc, seconds, result.iterations)
    left = leaves.pieces if leaves is not None and plan.chained else None
    return Outcome(key, point, left or None, tuple(remarks.seen), result.reach)


class Done(Protocol):
    """Results known before a search starts."""

    def points(self) -> Mapping[Key, Point]:
        """Known points."""

    def given(self) -> Collection[Key]:
        """Those computed by another kind of run, which are not part of the chains."""

    def warm_start(self, g: float | None) -> tuple[Key, object] | None:
        """A point of column g and its warm start for the next, if kept."""


@dataclass(slots=True)
class Column:
    """The remaining points of a column, in order, and the warm start of the first."""

    todo: list[Key]
    warm_start: object = None


def remaining(plan: Plan, done: Done | None) -> list[Column]:
    """The columns with remaining points.

    If a point needs a warm start that was not kept, the points below it are computed again.
    """
    known, given = (done.points(), set(done.given())) if done else ({}, set())
    columns = []
    for column in plan.grid.columns:
        missing = [key for key in column if key not in known]
        if not missing:
            continue
        if not plan.chained:
            columns += [Column([key]) for key in missing]
            continue
        chain = [key for key in column if key not in given]
        warm_start: object = None
        first = 0
        kept = done.warm_start(column[0][1]) if done else None
        if kept and kept[0] in chain[: chain.index(missing[0])]:
            first, warm_start = chain.index(kept[0]) + 1, kept[1]
        columns.append(Column(chain[first : chain.index(missing[-1]) + 1], warm_start))
    return columns


class Pool(Protocol):
    """Computes the points."""

    def run(self, plan: Plan, problem: Problem, columns: list[Column], limits: Token) -> Iterator[Outcome]:
        """Outcomes as they are finished, those of one column in order. Raises StoppedEarly."""


class Alone:
    """In this process, column by column; by several threads if there is enough work."""

    def run(self, plan: Plan, problem: Problem, columns: list[Column], limits: Token) -> Iterator[Outcome]:
        policy, threads = plan.param.policy, thread_count(plan.param.threads)
        n = sum(len(column.todo) for column in columns)
        work = float(len(problem)) ** 2 * plan.n_folds * n
        at_once = threads if n >= policy.points_per_thread * threads and work > policy.work_for_threads else 1
        if at_once > 1:  # at most this many columns are active
            own = replace(plan.param, threads=1, cache_size=plan.param.cache_size / at_once)
            plan = replace(plan, param=own)
        points = Points(plan, problem, columns)
        yield from side_by_side(points.evaluate, n, at_once, Remarks(limits), policy.points_ahead * at_once)


class Points:
    """Points(plan, problem, columns): the points of a search, each evaluated once, in order or by several threads.

    A point takes the warm starts of the one below it fold by fold, so a thread runs one fold behind another. Points of
    the same gamma share kernel rows.
    """

    def __init__(self, plan: Plan, problem: Problem, columns: list[Column]) -> None:
        # the steps of a training are LIBSVM's, and so equal at several C, only from a cold start
        libsvms = plan.seeding.seeder == "none" and plan.param.solver.follows_libsvm
        self.plan, self.problem, self.lock, self.same = plan, problem, allocate_lock(), SameSteps(libsvms)
        self.todo: list[tuple[Key, object, HandedOn | None] | None] = []
        self.left: dict[float | None, int] = {}  # unfinished points, by gamma
        self.kernels: dict[float | None, KernelProvider] = {}
        for column in columns:
            start = column.warm_start
            for key in column.todo:
                leaves = HandedOn() if plan.chained and key != column.todo[-1] else None
                self.todo.append((key, start, leaves))
                self.left[key[1]] = self.left.get(key[1], 0) + 1
                start = leaves

    def evaluate(self, k: int, observer: Observer) -> Outcome:
        """The k-th point. Raises StoppedEarly."""
        point, self.todo[k] = self.todo[k], None  # starts are dropped with the point that takes them
        assert point is not None
        key, start, leaves = point
        if isinstance(start, HandedOn):
            start.limits = observer.limits
        try:
            with self.lock:
                if key[1] not in self.kernels:
                    self.kernels[key[1]] = shared_kernels(self.problem, param_at(self.plan.param, key))
                outcome = self.same.as_before(key)
            if outcome is None:
                outcome = evaluate(self.plan, self.problem, key, start, self.kernels[key[1]], observer.limits, leaves)
                with self.lock:
                    self.same.add(outcome)
            return outcome
        finally:
            if leaves is not None:
                leaves.close()
            with self.lock:
                self.left[key[1]] -= 1
                if not self.left[key[1]]:
                    self.kernels.pop(key[1], None)


class Search:
    """Search(plan, problem, pool=None, done=None, observer=None): iterate over it once to compute the missing points.

    Yields outcomes as they are finished. Arguments are checked by the constructor. At the end, the points of a search
    with auto that may be the best are confirmed.

    Parameters
    ----------
    pool : Pool            this process by default
    done : Done            known results
    observer : Observer    receives each remark once, and says when to stop

    Attributes
    ----------
    found : dict           finished points by key
    points : list of Point known points off the grid, then those of the grid in grid.py's order
    best : Point           of these

    Raises
    ------
    DataError, ParameterError      by the constructor: data or parameters are invalid at all points
    StoppedEarly                   by the iterator: stopped, or the time limit, which begins here; points found stay
    """

    plan: Plan
    problem: Problem
    pool: Pool
    observer: Observer
    columns: list[Column]

    def __init__(
        self,
        plan: Plan,
        problem: Problem,
        pool: Pool | None = None,
        done: Done | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.plan, self.problem, self.pool = plan, problem, pool or Alone()
        self.observer = limited(observer or Observer(), plan.param.time_limit)
        self.found: dict[Key, Point] = dict(done.points()) if done else {}
        self.columns = remaining(plan, done)
        if self.columns:
            check_problem(problem, param_at(plan.param, self.columns[0].todo[0]))

    def __iter__(self) -> Iterator[Outcome]:
        known, told = set(self.found), set[tuple[Remark, str]]()
        assert self.observer.limits is not None
        try:
            for outcome in self.pool.run(self.plan, self.problem, self.columns, self.observer.limits):
                for remark in outcome.remarks:
                    if remark not in told:
                        told.add(remark)
                        self.observer.remark(*remark)
                if outcome.key not in known:
                    self.found[outcome.key] = outcome.point
                    yield outcome
            self._confirm(self.observer.limits)
        except StoppedEarly as stop:
            order = self.plan.grid.order
            done = sum(key in self.found for key in order)
            what = f"{done} of {len(order)} points are done" if done < len(order) else "the best are not confirmed"
            raise StoppedEarly(stop.status, f"the search is not finished; {what}") from None

    @property
    def points(self) -> list[Point]:
        order = self.plan.grid.order
        on_grid, done = set(order), (key for key in order if key in self.found)
        return [*(p for key, p in self.found.items() if key not in on_grid), *(self.found[key] for key in done)]

    @property
    def best(self) -> Point:
        return best_of(self.points, self.plan.is_regression)

    def _confirm(self, limits: Token) -> None:
        """Recompute, with LIBSVM's steps, the points of a search with auto that may be the best.

        Seeded folds end at another optimum to eps, which may classify a row near the border otherwise. Points within
        ``BORDER`` rows of the best rate get svm-train's own rate, so that the best point is svm-train's, too. Solvers
        that do not follow LIBSVM skip this.
        """
        plan = self.plan
        if not plan.param.solver.follows_libsvm or plan.seeding.seeder != "auto" or plan.is_regression:
            return
        on_grid = [self.found[key] for key in plan.grid.order]
        # rates have six digits
        bar = max(point.rate for point in on_grid) - BORDER * 100.0 / len(self.problem) - 1e-4
        keys = {point.key for point in on_grid if point.rate >= bar}
        columns = [Column([key]) for column in plan.grid.columns for key in column if key in keys]
        exact = replace(plan, seeding=Seeding("none"))
        for outcome in Alone().run(exact, self.problem, columns, limits):  # their remarks are known
            self.found[outcome.key] = outcome.point

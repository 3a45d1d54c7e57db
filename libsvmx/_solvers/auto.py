"""Solver auto: SMO while its KKT gap falls fast enough, then a solver that needs fewer steps.

SMO's steps are cheap: up to some dozens per variable it is the fastest solver. A large C on rows that lie close
together takes thousands per variable, which shows early: the gap grows, or falls too slowly. Then follows

    crsvm                      linear kernel, few features: its time hardly depends on C
    path from a small C        few free variables
    block pivoting             many free variables, and a kernel matrix far from singular
    irwls                      working sets solved by least squares, up to ``max_free`` free variables
    chunked                    working sets solved by pair steps in cache, with more
"""

from __future__ import annotations

from math import inf, log

from libsvmx._core.records import NamedTuple, record
from libsvmx._solvers.linear_work import PER_STEP, LinearWork, linear_work
from libsvmx._solvers.solver import Solver, Unfinished, policy_field
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.enums import KernelType, SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import ClassVar

    from libsvmx._core.stopping import Control
    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._solvers.dual import DualProblem, DualSolution
    from libsvmx._solvers.smo.smo import Smo

    Attempt = Callable[[Control], DualSolution | None]

# Statuses with which another solver goes on.
UNFINISHED = (SolveStatus.ITERATION_LIMIT, SolveStatus.ROUNDING)
# KKT gap of a pair of classes in C-SVC at beta = 0.
INITIAL_GAP = 2.0
# Least number of steps before crsvm: classes far apart take about 10, whatever their number of rows.
LEAST_STEPS = 20.0


@record(frozen=True)
class ChoicePolicy:
    """When SMO's gap is checked, what is too slow, and which solver takes over.

    Steps are per variable where not said otherwise, after the first check per row (in regression a row has two
    variables); gap ratios are to the initial gap.

    Attributes
    ----------
    first_check : (steps, gap ratio)      if the gap is at least ratio x the initial one, try the path from a small C
    max_margin : pairs of (steps, rows)   the path is taken only if SMO at the small C has, after these steps, at most
        rows + ``margin_share`` x variables that are free
    margin_share : float
    max_free_for_path : float             and if at the first check at most this multiple of the first of these is
        free: SMO at the small C would compute its kernel rows for nothing
    checks : pairs of (steps, gap ratio)  SMO is too slow if the gap is at least ratio x the initial one; 0 ends it
    min_variables : int                   steps are counted for at least this many variables (import time of the others)
    late_checks : steps                   SMO is too slow if, at the rate so far, the gap needs more than
        ``max_steps_left`` more steps, and more than ``max_total_steps_left`` over all variables
    max_steps_few_free, max_steps_per_variable : float      SMO ends after this many, the first with up to ``max_free``
        free variables
    trial_steps_per_variable : float      pairs of classes of at most ``trial_rows`` rows are first solved by SMO in a
        queue, checked from these steps on; what SMO is too slow for goes on outside it
    trial_rows : int
    trial_rows_per_step : float           of a linear kernel only if crsvm is as much work as SMO steps for this many
        times the rows: a queue computes all kernel values, and crsvm none
    smo_alone : float                     up to this (largest bound) x (largest kernel value), only the last check
    regression_share : float              in regression this share of ``smo_alone`` and of the steps left: the last of
        SMO's steps take far longer there than the rate of the first lets expect
    linear_smo_alone : float              the same x rows, with a linear kernel and up to ``few_rows`` rows: SMO is
        about as fast as crsvm there, and faster in a queue
    wide_smo_alone : float                the same with more features than rows, which a plane usually separates: SMO's
        steps then hardly depend on C
    few_rows : int
    linear_checks : pairs of (multiple, gap ratio)      as ``checks``, with crsvm as the alternative: after multiples of
        the steps that cost as much as crsvm; at 1 SMO is too slow if, at the rate so far, the rest costs more than it
    max_free : int                        irwls factors matrices over the free variables; with more of them, SMO is too
        slow at ``checks`` only above ``ratio_many_free`` x the initial gap, and chunked follows the last check
    ratio_many_free : float
    min_free_for_pivoting, max_free_for_pivoting : int      block pivoting comes before irwls and chunked between these
        numbers of free variables (of the last the factor takes 0.8 GB), if
    least_pivot : float                   ``typical_pivot`` of the kernel is at least this: below, its sets cycle
    pivoting_work : float                 its work: this x (free variables)^3 values read by an SMO step
    pivoting_checks : steps               where pivoting is possible, SMO is too slow only if at one of these, or later,
        it needs more steps than that work at the rate so far, after a quarter of it; or if at the last its gap has not
        fallen; or if at any it has not, and that work is more than all steps of SMO: then pivoting begins at SMO's
        optimum at the small C of the path
    least_squares, by_pairs : Solver or None      the solvers that take over; None: IRWLS() and Chunked()
    """

    first_check: tuple[float, float] = (0.25, 5.5)
    max_margin: tuple[tuple[float, float], ...] = ((0.25, 350), (2, 260), (8, 100))
    margin_share: float = 1 / 40
    max_free_for_path: float = 2.0
    checks: tuple[tuple[float, float], ...] = ((0.25, 8.0), (0.5, 5.25), (1, 3.0), (2, 1.5))
    min_variables: int = 2500
    late_checks: tuple[float, ...] = (4, 20)
    max_steps_left: float = 24
    max_total_steps_left: float = 30_000
    max_steps_few_free: float = 40
    max_steps_per_variable: float = 200
    trial_steps_per_variable: float = 2.0
    trial_rows: int = 2500
    trial_rows_per_step: float = 4.0
    smo_alone: float = 100.0
    regression_share: float = 0.5
    linear_smo_alone: float = 5e4
    wide_smo_alone: float = 1e8
    few_rows: int = 2500
    linear_checks: tuple[tuple[float, float], ...] = ((0.004, 2.5), (0.02, 2.5), (0.05, 1), (0.2, 1), (1, 1), (2, 0))
    max_free: int = 2500
    ratio_many_free: float = 5.0
    min_free_for_pivoting: int = 1000
    max_free_for_pivoting: int = 10_000
    least_pivot: float = 0.1
    pivoting_work: float = 1 / 8
    pivoting_checks: tuple[float, ...] = (20, 60)
    least_squares: Solver | None = None
    by_pairs: Solver | None = None

    def margin_limits(self, size: int) -> tuple[tuple[float, float], ...]:
        """``max_margin`` of ``size`` variables."""
        return tuple((steps, rows + self.margin_share * size) for steps, rows in self.max_margin)

    def share(self, regression: bool) -> float:
        """``regression_share``, or 1."""
        return self.regression_share if regression else 1.0

    def max_steps(self, size: int) -> int:
        """Steps that SMO has for ``size`` variables."""
        return int(self.max_steps_per_variable * max(size, self.min_variables))


@record(frozen=True)
class Auto(Solver):
    """SMO, and where it is slow a path, block pivoting, IRWLS or Chunked from there, or CRSVM. It has no settings."""

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "smo first, then a path, block pivoting, irwls, chunked or crsvm where smo is slow"
    takes_infinite_cost: ClassVar[bool] = True

    policy: ChoicePolicy = policy_field(ChoicePolicy)

    def queued_up_to(self, kernel_type: KernelType, n_rows: int, n_features: int, regression: bool = False) -> float:
        policy = self.policy
        if kernel_type != KernelType.LINEAR:
            return policy.smo_alone * policy.share(regression)
        if n_rows > policy.few_rows:
            return 0.0
        return (policy.wide_smo_alone if n_features > n_rows else policy.linear_smo_alone) / max(n_rows, 1)

    def trial(self, kernel: Kernel, n_rows: int) -> Trial | None:
        work = linear_work(kernel)
        if n_rows > self.policy.trial_rows:
            return None
        if work.allows(n_rows) and work.in_steps(n_rows, n_rows) < self.policy.trial_rows_per_step * n_rows:
            return None
        return Trial(self.policy, work)

    def solve(
        self, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int
    ) -> DualSolution:
        from libsvmx._solvers.smo.solver import SMO, checked

        work = linear_work(kernel)
        if inf in dual.upper:
            solution = SMO().solve(dual, kernel, budget_bytes, control, threads)
            return checked(solution, dual, kernel, control).changed(chosen=SMO.name)
        rows, regression = kernel.n, dual.is_of_regression()
        limit = self.queued_up_to(KernelType(kernel.kind), rows, work.n_features, regression)
        smo_alone = dual.largest_bound() * max(kernel.diagonal, default=0.0) <= limit
        has_features = not smo_alone and work.allows(rows) and dual.is_of_hinges()
        early = control.part(control.eps, 0, control.tell)
        smo = smo_from(dual, kernel, budget_bytes, early, threads)
        initial = initial_gap(dual)
        may_follow_path = not (smo_alone or has_features or control.max_iter)
        if may_follow_path and grows_at_once(self.policy, smo, initial, dual, kernel):
            exact = solved_by_path(self.policy, dual, kernel, budget_bytes, control, threads)
            if exact:
                early.read_out()
                return exact.changed(chosen="smo, path")
        at_the_end = Checks(((self.policy.max_steps(dual.size), 0.0),), inf)
        checks = at_the_end if smo_alone else all_checks(self.policy, rows, regression)
        if has_features:
            checks = linear_checks(self.policy, work.in_steps(rows, dual.size))
        pivoting = Pivoting(self.policy, dual, kernel, control)
        if not (smo_alone or has_features or control.max_iter):
            checks = checks.or_pivoting(pivoting)
        converged, too_slow = run(smo, checks, initial, early, control.max_iter)
        found = checked(smo.finish(converged), dual, kernel, early).changed(chosen=SMO.name)
        early.read_out()
        left = Unfinished(found, too_slow, too_slow and smo.gap >= initial, by_trial=False)
        del smo  # and its kernel rows
        return self.taken_over(left, pivoting, budget_bytes, threads)

    def go_on(
        self, left: Unfinished, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int
    ) -> DualSolution:
        return self.taken_over(left, Pivoting(self.policy, dual, kernel, control), budget_bytes, threads)

    def taken_over(self, left: Unfinished, pivoting: Pivoting, budget_bytes: float, threads: int) -> DualSolution:
        """By the other solvers. ``pivoting`` has the problem."""
        solution, control = left.solution, pivoting.control
        for name, attempt in attempts(left, pivoting, budget_bytes, threads):
            steps = control.max_iter - solution.iterations if control.max_iter else inf
            if steps <= 0 or solution.status not in UNFINISHED:
                break
            part = control.part(control.eps, int(steps) if steps < inf else 0, control.tell)
            found = attempt(part)
            part.read_out()
            solution = combined(solution, found, name) if found else in_vain(solution, name, part.stopped)
        return solution


class Trial(NamedTuple):
    """How SMO tries, in a queue, a pair of classes of C-SVC: up to its optimum, or to a check that it fails."""

    policy: ChoicePolicy
    work: LinearWork

    def run(self, smo: Smo, n: int, control: Control) -> tuple[bool, bool]:
        """Whether ``smo``, over n rows, has converged, and whether it is too slow."""
        return run(smo, self.checks(n), INITIAL_GAP, control, control.max_iter)

    def checks(self, n: int) -> Checks:
        if self.work.allows(n):
            return linear_checks(self.policy, self.work.in_steps(n, n))
        return all_checks(self.policy, n, first=self.policy.trial_steps_per_variable)

    def first_check(self, n: int) -> int:
        """Steps over n rows before the first check."""
        return int(self.checks(n).at[0][0])

    def left(self, solution: DualSolution, too_slow: bool, seconds: float) -> Unfinished:
        has_grown = too_slow and solution.gap >= INITIAL_GAP
        return Unfinished(solution.changed(chosen="smo"), too_slow, has_grown, by_trial=True, seconds=seconds)


class Checks(NamedTuple):
    """When SMO's gap is checked.

    Attributes
    ----------
    at : tuple of (steps, gap ratio)      steps over all variables; SMO is too slow above ratio x the initial gap; at 1
        its rate counts, too, and 0 ends SMO
    max_left : float                      SMO is too slow if, at the rate so far, it needs more steps than these
    max_free, ratio_many_free : float     as of ChoicePolicy
    pivoting : Pivoting or None           whether that pays counts, too
    """

    at: tuple[tuple[float, float], ...]
    max_left: float
    max_free: float = inf
    ratio_many_free: float = inf
    pivoting: Pivoting | None = None

    def or_pivoting(self, pivoting: Pivoting) -> Checks:
        """With the checks whether block pivoting pays."""
        unit = max(pivoting.dual.size, pivoting.policy.min_variables)
        more = [(steps * unit, inf) for steps in pivoting.policy.pivoting_checks if steps * unit not in dict(self.at)]
        return self._replace(at=tuple(sorted((*self.at, *more))), pivoting=pivoting)


class Pivoting:
    """Pivoting(policy, dual, kernel, control): when block pivoting follows SMO."""

    def __init__(self, policy: ChoicePolicy, dual: DualProblem, kernel: Kernel, control: Control) -> None:
        self.policy, self.dual, self.kernel, self.control = policy, dual, kernel, control
        self.kernel_is_regular: bool | None = None  # not known yet

    def is_possible(self, n_free: int) -> bool:
        """Whether it finds the optimum from ``n_free`` free variables. Not in regression: with both variables of a row
        K is singular, and sets cycle."""
        few = self.policy.min_free_for_pivoting <= n_free <= self.policy.max_free_for_pivoting
        if not few or self.dual.groups > 1 or self.dual.is_of_regression():
            return False
        if self.kernel_is_regular is None:
            self.kernel_is_regular = self.is_regular()
        return self.kernel_is_regular

    def is_regular(self) -> bool:
        """Whether the kernel matrix is far from singular."""
        from libsvmx._core.memory import load_blas
        from libsvmx.exceptions import Stopped

        try:
            load_blas()
            from libsvmx._solvers.decomposition.block_pivoting import typical_pivot

            return typical_pivot(self.kernel, self.control) >= self.policy.least_pivot
        except (Stopped, MemoryError):
            return False

    def pays(self, initial: float, gap: float, steps: int, n_free: int) -> bool:
        """Whether it is less work than SMO's rest, after ``steps`` from the gap ``initial``."""
        unit, checks = max(self.dual.size, self.policy.min_variables), self.policy.pivoting_checks
        first, last = int(checks[0] * unit), int(checks[-1] * unit)
        if gap >= initial:
            return steps >= last or (steps >= first and self.begins_at_small_cost(n_free))
        work = self.work(n_free)
        return steps >= first and 4 * steps >= work and steps * log(gap / self.control.eps) > work * log(initial / gap)

    def work(self, n_free: int) -> float:
        """In SMO steps."""
        return self.policy.pivoting_work * n_free**3 / (self.dual.size + PER_STEP)

    def begins_at_small_cost(self, n_free: int) -> bool:
        """Where SMO's gap has not fallen."""
        return self.work(n_free) > self.policy.max_steps(self.dual.size) and has_path(self.dual, self.kernel)


def all_checks(policy: ChoicePolicy, n: int, regression: bool = False, first: float = 0.0) -> Checks:
    """Those over n rows without crsvm as an alternative, after ``first`` steps per row or more."""
    unit = max(n, policy.min_variables)
    late = ((steps, 1.0) for steps in policy.late_checks)
    early = (*policy.checks, *late, (policy.max_steps_few_free, 1e-300))  # SMO is too slow with any gap
    most = policy.max_steps_per_variable
    at = (*((steps * unit, ratio) for steps, ratio in early if first <= steps < most), (most * unit, 0.0))
    max_left = max(policy.max_total_steps_left, policy.max_steps_left * n) * policy.share(regression)
    return Checks(at, max_left, policy.max_free, policy.ratio_many_free)


def linear_checks(policy: ChoicePolicy, steps: float) -> Checks:
    """``steps``: those that cost as much as crsvm. Where they are few, a gap is known only after some."""
    return Checks(tuple((max(share * steps, LEAST_STEPS), ratio) for share, ratio in policy.linear_checks), steps)


def initial_gap(dual: DualProblem) -> float:
    """KKT gap at a cold start; infinite for other starts (nu formulations, seeds), of which it is not known."""
    from libsvmx._solvers.dual import kkt_gap

    return inf if any(dual.beta) else kkt_gap(dual.beta, dual.linear, dual.lower, dual.upper, dual.group)


def grows_at_once(policy: ChoicePolicy, smo: Smo, initial: float, dual: DualProblem, kernel: Kernel) -> bool:
    """Let SMO go on to the first check; whether its gap has grown. False where no path leads to the optimum, or its
    margin will be too large."""
    if not (initial < inf and has_path(dual, kernel)):
        return False
    steps, ratio = policy.first_check
    if smo.advance(int(steps * dual.size)) or smo.gap < ratio * initial:
        return False
    _, most = policy.margin_limits(dual.size)[0]
    return smo.n_free <= policy.max_free_for_path * most


def has_path(dual: DualProblem, kernel: Kernel) -> bool:
    """Whether a path from a smaller C leads to the optimum."""
    from libsvmx._solvers.path.from_small_cost import growth, leads_there

    return leads_there(dual, kernel) and growth(dual, kernel) > 1.0


def solved_by_path(
    policy: ChoicePolicy, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int
) -> DualSolution | None:
    """The optimum by the path from a small C; None if its margin is too large, or it is lost or stopped."""
    from libsvmx._solvers.dual import kkt_gap
    from libsvmx._solvers.path import from_small_cost
    from libsvmx._solvers.path.path import PathLost
    from libsvmx.exceptions import Stopped

    half = budget_bytes / 2  # the other half holds the rows of SMO, which may go on
    factor_bytes = max(half, from_small_cost.LEAST_FACTOR)
    limits = policy.margin_limits(dual.size)
    try:
        exact = from_small_cost.solve(dual, kernel, half, factor_bytes, control, threads, limits)
    except (PathLost, Stopped):
        return None
    gap = kkt_gap(exact.beta, exact.scores, dual.lower, dual.upper, dual.group)
    return exact if gap <= control.eps else None


def run(smo: Smo, checks: Checks, initial: float, control: Control, max_iter: int) -> tuple[bool, bool]:
    """Run SMO to the optimum or to a check that it fails; returns whether it has converged, and whether it is too slow.

    ``initial``: the initial gap. The checks alter no step.
    """
    converged = False
    for count, ratio in checks.at:
        steps = int(count)
        limit = min(steps, max_iter or steps)
        converged = smo.advance(limit)
        if converged or smo.was_stopped or limit < steps or ratio == 0:
            break
        if initial == inf:
            continue
        limit_ratio = ratio if ratio == 1 or smo.n_free <= checks.max_free else checks.ratio_many_free
        too_slow = not fast_enough(initial, smo.gap, limit, limit_ratio, checks.max_left, control.eps)
        if checks.pivoting:
            pays = checks.pivoting.pays(initial, smo.gap, limit, smo.n_free)
            if pays != too_slow and checks.pivoting.is_possible(smo.n_free):  # loads NumPy
                too_slow = pays
        if too_slow:
            return False, True
    return converged, False


def fast_enough(initial: float, gap: float, steps: int, ratio: float, max_left: float, eps: float) -> bool:
    """Whether the gap after ``steps`` is below ratio x ``initial`` and, at a ratio of 1, will reach eps within
    ``max_left`` more, if it goes on to fall geometrically."""
    if gap >= ratio * initial:
        return False
    return ratio > 1 or steps * log(gap / eps) < max_left * log(initial / gap)


def smo_from(dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int) -> Smo:
    """SMO, warm if ``dual`` has scores."""
    if dual.scores is None:
        from libsvmx._solvers.smo.smo import Smo

        return Smo(dual, kernel, budget_bytes, control, threads)
    from libsvmx._solvers.smo.warm import WarmSmo

    return WarmSmo(dual, kernel, budget_bytes, control, threads)


def attempts(left: Unfinished, pivoting: Pivoting, budget_bytes: float, threads: int) -> Iterator[tuple[str, Attempt]]:
    """Name and call of each solver that takes over from SMO, in turn."""
    solution, policy, dual, kernel = left.solution, pivoting.policy, pivoting.dual, pivoting.kernel
    if solution.status not in UNFINISHED:
        return
    from libsvmx._solvers.decomposition.solver import IRWLS, Chunked

    has_features = linear_work(kernel).allows(kernel.n) and dual.is_of_hinges()
    if left.by_trial and left.has_grown and not has_features and has_path(dual, kernel):
        yield "path", lambda control: solved_by_path(policy, dual, kernel, budget_bytes, control, threads)
    if has_features:
        yield "crsvm", lambda control: solved_by_features(dual, kernel, control, threads)
    n_free = dual.count_free(solution.beta)
    least_squares, by_pairs = policy.least_squares or IRWLS(), policy.by_pairs or Chunked()
    pivots = not (has_features or pivoting.control.max_iter) and pivoting.is_possible(n_free)
    if pivots:
        anew = left.has_grown and pivoting.begins_at_small_cost(n_free)
        beta = None if anew else solution.beta
        yield "pivoting", lambda control: solved_by_pivoting(policy, dual, beta, kernel, budget_bytes, control, threads)
    other = least_squares if n_free <= policy.max_free or (left.too_slow and not pivots) else by_pairs
    start = dual.changed(beta=solution.beta, scores=solution.scores, rounded=True)
    # where the gap has grown, a cold start is better than SMO's end
    starts = [dual, start] if left.has_grown else [start, dual]
    yield other.name, lambda control: other.solve(starts[0], kernel, budget_bytes, control, threads)
    if dual.scores is None:  # rounding that stops a solve from one start may not from the other
        yield other.name, lambda control: other.solve(starts[1], kernel, budget_bytes, control, threads)
        if other is not by_pairs:
            yield by_pairs.name, lambda control: by_pairs.solve(dual, kernel, budget_bytes, control, threads)


def solved_by_pivoting(
    policy: ChoicePolicy,
    dual: DualProblem,
    beta: Buffer | None,
    kernel: Kernel,
    budget_bytes: float,
    control: Control,
    threads: int,
) -> DualSolution | None:
    """The optimum by block pivoting from ``beta``, or from SMO's optimum at a small C; None if it is not found, memory
    ends, or a stop ends it."""
    from libsvmx._solvers.decomposition import block_pivoting
    from libsvmx._solvers.path import from_small_cost
    from libsvmx._solvers.smo.smo import Smo
    from libsvmx.exceptions import Stopped

    steps = rows = 0
    try:
        if beta is None:
            small = from_small_cost.start_of(dual, kernel)
            smo = Smo(small, kernel, budget_bytes, control.part(from_small_cost.START_EPS, 0), threads)
            found = smo.finish(smo.advance(policy.max_steps(dual.size)))
            del smo  # and its kernel rows
            beta, steps, rows = found.beta, found.iterations, found.rows_computed
        exact = block_pivoting.solve(dual, kernel, control, policy.max_free_for_pivoting, beta)
    except (Stopped, MemoryError):
        return None
    return exact and exact.changed(iterations=steps + exact.iterations, rows_computed=rows)


def solved_by_features(dual: DualProblem, kernel: Kernel, control: Control, threads: int) -> DualSolution:
    """The optimum by crsvm."""
    from libsvmx._core.memory import load_blas, threads_that_fit
    from libsvmx._core.stopping import Leeway

    load_blas()
    from libsvmx._kernels.featurerows import feature_rows
    from libsvmx._solvers.interior_point.solver import CRSVM

    rows = feature_rows(kernel.matrix, kernel.row_numbers, Leeway(control))
    return CRSVM().solve_features(dual, rows, control, threads_that_fit(threads), lambda line: None)


def in_vain(solution: DualSolution, name: str, stopped: SolveStatus | None) -> DualSolution:
    """``solution``, after a solver that has found none; ``stopped``: the status if a stop has ended it."""
    return solution.changed(chosen=f"{solution.chosen}, {name}", status=stopped or solution.status)


def combined(first: DualSolution, second: DualSolution, name: str) -> DualSolution:
    """The second solution, or the first if that is better and the second has not converged; the work of both."""
    best, other = second, first
    if second.status != SolveStatus.CONVERGED and first.objective < second.objective:
        best, other = first, second
    return best.with_work_of(other).changed(status=second.status, chosen=f"{first.chosen}, {second.chosen or name}")

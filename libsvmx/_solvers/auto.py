"""Solver auto: LIBSVM's steps while they make progress, and then another solver.

A step of SMO changes two variables and is cheap, so SMO is fastest wherever some dozens of steps for each variable
will do. Large C on rows that lie close together takes thousands for each. That shows early: after a quarter of a step,
one or two the KKT gap is larger than at the start, or after four or twenty it has not fallen fast enough to come to the
end soon. The path of optima from a small C is fastest then, where few variables are free; else working sets that are
solved as a whole, by least squares; or by pair steps in cache, where too many variables are free for a factor. With a
linear kernel of few features an interior point takes about as long whatever C is, so SMO goes on as long as its gap
falls so fast that what is left would take no longer, its kernel rows included.
"""

from __future__ import annotations

from math import inf, log

from libsvmx._core.records import NamedTuple, record
from libsvmx._solvers.solver import Solver, policy_field
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import KernelType, SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import ClassVar

    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._problem.dual import DualProblem, DualSolution
    from libsvmx._solvers.control import Control
    from libsvmx._solvers.smo.smo import Smo

    Attempt = Callable[[Control], DualSolution]

# Where crsvm is taken: so many features at most, and rows for each.
MOST_FEATURES = 1000
ROWS_FOR_FEATURE = 2
# Its work in values read by a step of SMO, about a fifth of a nanosecond each. About so many iterations; in each, for a
# row: for each product of two of its entries, dense and sparse, for each entry, and besides. a9a takes 95, the
# formula says 123, letter 80 and 82, madelon 5,350 and 6,810, mushrooms 170 and 192. Then for each product of three
# features, a factorisation, and besides, most of it Python.
ITERATIONS, OF_DENSE, OF_SPARSE, OF_ENTRY, OF_ROW = 25, 1 / 40, 1 / 4, 1.0, 60.0
OF_FACTOR, OF_ITERATION = 1 / 12, 1e6
# Work of SMO in the same unit: for a step besides the values of the rows that it reads, and for a kernel value of them:
# of rows of 0 and 1, else for each entry, dense and sparse, and besides.
OF_STEP, OF_BINARY, OF_DENSE_ENTRY, OF_SPARSE_ENTRY, OF_VALUE = 250, 2.0, 1 / 9, 1 / 2, 3.0


@record(frozen=True)
class ChoicePolicy:
    """When SMO is looked at, when it is said not to get on, and who goes on then.

    Attributes
    ----------
    glance : two floats         after so many steps for each variable, if the gap is at least so many times that of the
        start, the path from a small C is followed, where there is one, if its margin is small
    most_in_margin : pairs of float      it is small if SMO, at the small C, has so many free variables at most after so
        many steps for each, and of all variables a share of ``of_margin`` besides
    of_margin : float
    looks : pairs of float      after so many steps for each variable; SMO does not get on if its gap is more than so
        many times that of the start; 0: it is over
    fewest : int                steps are counted for so many variables at least, since what the others need takes a
        while to load
    later_looks : floats        then, too; it does not get on if the gap would need more than ``soon`` more steps for
        each variable, and ``soon_in_all``, should it go on falling as it has
    patience : float            after so many steps for each variable another solver goes on in any case
    smo_gets_on : float         up to this product of the largest bound and the largest kernel value there is no look
        but that after ``patience``
    linear_gets_on : float      the same with a linear kernel, of up to ``few_rows`` rows, times these: SMO is about as
        fast as CRSVM there, and faster where it solves many such problems at once
    wide_gets_on : float        instead of it, where there are more features than rows: a plane separates these, unless
        features depend on others, and SMO comes to it in as many steps at any larger C
    few_rows : int
    linear_looks : floats       with a linear kernel of few features, SMO is looked at after as many steps as take such
        shares of the time that CRSVM needs; it does not get on if what is left would take longer than CRSVM, should
        the gap go on falling as it has. After the last one it is over
    most_free : int             IRWLS factors matrices of the free variables. Where more are free, the gap must be
        ``much_worse`` times that of the start for it to be faster than SMO, and Chunked goes on after the last look
    least_squares, by_pairs : Solver or None      who goes on; None: IRWLS and Chunked as they are
    """

    glance: tuple[float, float] = (0.25, 4.0)
    most_in_margin: tuple[tuple[float, float], ...] = ((0.25, 350), (2, 210), (8, 50))
    of_margin: float = 1 / 40
    looks: tuple[tuple[float, float], ...] = ((0.5, 3.0), (1, 3.0), (2, 1.5))
    fewest: int = 2500
    later_looks: tuple[float, ...] = (4, 20)
    soon: float = 24
    soon_in_all: float = 30_000
    patience: float = 200
    smo_gets_on: float = 100.0
    linear_gets_on: float = 5e4
    wide_gets_on: float = 1e8
    few_rows: int = 2500
    linear_looks: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0, 2.0)
    most_free: int = 2500
    much_worse: float = 5.0
    least_squares: Solver | None = None
    by_pairs: Solver | None = None

    def most_steps(self, size: int) -> int:
        """How many steps SMO has over so many variables."""
        return int(self.patience * max(size, self.fewest))


@record(frozen=True)
class Auto(Solver):
    """SMO, and where it is slow a path, IRWLS or Chunked from there, or CRSVM. It has no settings."""

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "smo first, then a path, irwls, chunked or crsvm where smo is slow"
    takes_infinite_cost: ClassVar[bool] = True

    policy: ChoicePolicy = policy_field(ChoicePolicy)

    def queued_up_to(self, kernel_type: KernelType, n_rows: int, n_features: int) -> float:
        policy = self.policy
        if kernel_type != KernelType.LINEAR:
            return policy.smo_gets_on
        if n_rows > policy.few_rows:
            return 0.0
        return (policy.wide_gets_on if n_features > n_rows else policy.linear_gets_on) / max(n_rows, 1)

    def solve(
        self, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int
    ) -> DualSolution:
        from libsvmx._solvers.smo.solver import SMO, checked

        nonzeros, features = nonzeros_of(kernel)
        limit = self.queued_up_to(KernelType(kernel.kind), kernel.n, features)
        if inf in dual.upper:
            solution = SMO().solve(dual, kernel, budget_bytes, control, threads)
            return chosen(checked(solution, dual, kernel, control), SMO.name)
        gets_on_alone = largest_product(dual, kernel) <= limit
        if gets_on_alone or not (are_few(features, kernel.n) and dual.is_of_hinges()):
            features = 0  # crsvm is not taken
        early = control.part(control.eps, 0, control.tell)
        smo = smo_of(dual, kernel, budget_bytes, early, threads)
        first = first_gap(dual)
        if not (gets_on_alone or features or control.max_iter) and looks_hard(self.policy, smo, first, dual, kernel):
            exact = along_path(self.policy, dual, kernel, budget_bytes, control, threads)
            if exact:
                early.read_out()
                return chosen(exact, "smo, path")
        looks = last_look(self.policy, dual) if gets_on_alone else looks_of(self.policy, dual)
        if features:
            density = nonzeros / kernel.matrix.n_rows
            steps = steps_for_features(kernel.n, dual.size, density, features, kernel.binary)
            looks = linear_looks(self.policy, steps)
        found, is_hard = run(smo, looks, first, early, control.max_iter)
        solution = chosen(checked(found, dual, kernel, early), SMO.name)
        early.read_out()
        has_grown = is_hard and smo.gap >= first
        del smo  # and its kernel rows
        for name, attempt in attempts(
            self.policy, dual, solution, is_hard, has_grown, features, kernel, budget_bytes, threads
        ):
            left = control.max_iter - solution.iterations if control.max_iter else inf
            if left <= 0 or solution.status not in (SolveStatus.ITERATION_LIMIT, SolveStatus.ROUNDING):
                break
            part = control.part(control.eps, int(left) if left < inf else 0, control.tell)
            found = attempt(part)
            part.read_out()
            solution = after(solution, found, name)
        return solution


class Looks(NamedTuple):
    """When SMO is looked at.

    Attributes
    ----------
    at : tuple of pairs of float      steps in all, with how many times the first gap its gap may be, 1 where it must
        also fall fast enough, and 0 where it is over
    most_left : float                 it falls fast enough if so many more steps lead to the end
    most_free : float                 where more variables are free, the gap may be ``much_worse`` times the first
    much_worse : float
    """

    at: tuple[tuple[float, float], ...]
    most_left: float
    most_free: float = inf
    much_worse: float = inf


def looks_of(policy: ChoicePolicy, dual: DualProblem) -> Looks:
    """Those at most problems."""
    unit = max(dual.size, policy.fewest)
    early = (*policy.looks, *((count, 1.0) for count in policy.later_looks))
    at = (*((count * unit, most) for count, most in early), (policy.most_steps(dual.size), 0.0))
    most_left = max(policy.soon_in_all, policy.soon * dual.size)
    return Looks(at, most_left, policy.most_free, policy.much_worse)


def last_look(policy: ChoicePolicy, dual: DualProblem) -> Looks:
    """That where SMO is expected to get on."""
    return Looks(((policy.most_steps(dual.size), 0.0),), inf)


def linear_looks(policy: ChoicePolicy, steps: float) -> Looks:
    """Those where so many steps take as long as crsvm."""
    *shares, last = policy.linear_looks
    return Looks((*((share * steps, 1.0) for share in shares), (last * steps, 0.0)), steps)


def first_gap(dual: DualProblem) -> float:
    """The gap that SMO starts from; of another start than nothing, that of the nu formulations or a seed, it is not
    known: infinite."""
    from libsvmx._problem.dual import kkt_gap

    return inf if any(dual.beta) else kkt_gap(dual.beta, dual.linear, dual.lower, dual.upper, dual.group)


def looks_hard(policy: ChoicePolicy, smo: Smo, first: float, dual: DualProblem, kernel: Kernel) -> bool:
    """Whether the gap has grown at once; SMO makes steps up to the glance. False where no path leads to the optimum."""
    from libsvmx._solvers.path.from_small_cost import growth, leads_there

    if not (first < inf and leads_there(dual, kernel) and growth(dual, kernel) > 1.0):
        return False
    steps_each, most = policy.glance
    return not smo.advance(int(steps_each * dual.size)) and smo.gap >= most * first


def along_path(
    policy: ChoicePolicy, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int
) -> DualSolution | None:
    """The optimum by the path from a small C, or None: its margin is not small, it is lost, or it is time to stop."""
    from libsvmx._problem.dual import kkt_gap
    from libsvmx._solvers.path import from_small_cost
    from libsvmx._solvers.path.path import PathLost
    from libsvmx.exceptions import Stopped

    half = budget_bytes / 2  # SMO, which may go on, has its kernel rows
    of_factor = max(half, from_small_cost.LEAST_FACTOR)
    limits = tuple((steps, most + policy.of_margin * dual.size) for steps, most in policy.most_in_margin)
    try:
        exact = from_small_cost.solve(dual, kernel, half, of_factor, control, threads, limits)
    except (PathLost, Stopped):
        return None
    gap = kkt_gap(exact.beta, exact.scores, dual.lower, dual.upper, dual.group)
    return exact if gap <= control.eps else None


def run(smo: Smo, looks: Looks, first: float, control: Control, max_iter: int) -> tuple[DualSolution, bool]:
    """SMO to the optimum, or to where a look says that it does not get on; and whether one has. ``first``: its first
    gap.

    The looks change no step.
    """
    converged = False
    for count, most in looks.at:
        steps = int(count)
        limit = min(steps, max_iter or steps)
        converged = smo.advance(limit)
        if converged or control.stopped or limit < steps or most == 0:
            break
        if first < inf:
            factor = most if smo.n_free <= looks.most_free else looks.much_worse
            if not gets_on(first, smo.gap, limit, factor, looks.most_left, control.eps):
                return smo.finish(converged), True
    return smo.finish(converged), False


def gets_on(first: float, gap: float, steps: int, most: float, most_left: float, eps: float) -> bool:
    """Whether the gap after so many steps is below ``most`` times the first; where that is 1, whether it falls so fast
    that it comes to ``eps`` within ``most_left`` more."""
    if gap >= most * first:
        return False
    return most > 1 or steps * log(gap / eps) < most_left * log(first / gap)


def largest_product(dual: DualProblem, kernel: Kernel) -> float:
    """The largest bound of |beta| times the largest kernel value."""
    return max(max(dual.upper, default=0.0), -min(dual.lower, default=0.0)) * max(kernel.diagonal, default=0.0)


def nonzeros_of(kernel: Kernel) -> tuple[int, int]:
    """Nonzeros and features of all rows, where the kernel is linear; else 0 and 0."""
    if kernel.kind != KernelType.LINEAR:
        return 0, 0
    from libsvmx._core.matrix import count_nonzeros

    nonzeros, n = count_nonzeros(kernel.matrix)
    return nonzeros, n


def are_few(n_features: int, n_rows: int) -> bool:
    """Whether the features are so few that crsvm may be faster than SMO."""
    return n_features <= min(MOST_FEATURES, n_rows // ROWS_FOR_FEATURE)


def steps_for_features(n: int, variables: int, nonzeros: float, n_features: int, binary: bool) -> int:
    """Steps of SMO that take about as long as crsvm, with two new kernel rows each until there are all n of them.

    ``variables``: n, of epsilon-SVR 2 n; ``nonzeros``: of a row, in the mean; ``binary``: they are 1
    """
    dense = is_dense(nonzeros, n_features)  # then zeros are worked on, too
    of_rows = n * work_of_row(nonzeros, n_features) + (variables - n) * OF_ROW
    work = ITERATIONS * (of_rows + OF_FACTOR * n_features**3 + OF_ITERATION)
    of_value = OF_VALUE + (OF_DENSE_ENTRY * n_features if dense else OF_SPARSE_ENTRY * nonzeros)
    of_step, of_rows = variables + OF_STEP, 2 * n * (OF_BINARY if binary else of_value)
    steps = work / (of_step + of_rows)
    return int(steps if 2 * steps <= n else (work - n / 2 * of_rows) / of_step)


def work_of_row(nonzeros: float, n_features: int) -> float:
    """What a row is in an iteration of crsvm."""
    if is_dense(nonzeros, n_features):
        return OF_DENSE * n_features**2 + OF_ENTRY * n_features + OF_ROW
    return OF_SPARSE * nonzeros**2 + OF_ENTRY * nonzeros + OF_ROW


def is_dense(nonzeros: float, n_features: int) -> bool:
    """Whether crsvm takes the rows as dense ones."""
    from libsvmx._core.matrix import DENSE_SHARE

    return nonzeros >= DENSE_SHARE * n_features


def smo_of(dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int) -> Smo:
    """SMO from the scores of ``dual``, or from nothing."""
    if dual.scores is None:
        from libsvmx._solvers.smo.smo import Smo

        return Smo(dual, kernel, budget_bytes, control, threads)
    from libsvmx._solvers.smo.warm import WarmSmo

    return WarmSmo(dual, kernel, budget_bytes, control, threads)


def attempts(
    policy: ChoicePolicy,
    dual: DualProblem,
    solution: DualSolution,
    is_hard: bool,
    has_grown: bool,
    n_features: int,
    kernel: Kernel,
    budget_bytes: float,
    threads: int,
) -> Iterator[tuple[str, Attempt]]:
    """What goes on where SMO has come to a limit, one after the other: the names of solvers, and what solves.

    Where the gap has grown (``has_grown``), nothing is a better start than what SMO has come to.
    """
    from libsvmx._solvers.decomposition.solver import IRWLS, Chunked

    if n_features:
        yield "crsvm", lambda control: by_features(dual, kernel, control, threads)
    n_free = sum(lower < beta < upper for beta, lower, upper in zip(solution.beta, dual.lower, dual.upper, strict=True))
    least_squares, by_pairs = policy.least_squares or IRWLS(), policy.by_pairs or Chunked()
    other = least_squares if is_hard or n_free <= policy.most_free else by_pairs
    start = dual.changed(beta=solution.beta, scores=solution.scores, rounded=True)
    starts = [dual, start] if has_grown else [start, dual]
    yield other.name, lambda control: other.solve(starts[0], kernel, budget_bytes, control, threads)
    if dual.scores is None:  # where rounding leads astray from the one start it may not from the other
        yield other.name, lambda control: other.solve(starts[1], kernel, budget_bytes, control, threads)
        if other is not by_pairs:
            yield by_pairs.name, lambda control: by_pairs.solve(dual, kernel, budget_bytes, control, threads)


def by_features(dual: DualProblem, kernel: Kernel, control: Control, threads: int) -> DualSolution:
    """The solution by crsvm, with the features of the rows."""
    from libsvmx._core.memory import load_blas, threads_that_fit
    from libsvmx._core.stopping import Leeway

    load_blas()
    from libsvmx._kernels.featurerows import feature_rows
    from libsvmx._solvers.interior_point.solver import CRSVM

    rows = feature_rows(kernel.matrix, kernel.row_numbers, Leeway(control))
    return CRSVM().solve_features(dual, rows, control, threads_that_fit(threads), lambda line: None)


def chosen(solution: DualSolution, name: str) -> DualSolution:
    """The solution with the name of its solver."""
    return after(None, solution, name)


def after(first: DualSolution | None, second: DualSolution, name: str) -> DualSolution:
    """The second solution, or the first where that is better and neither has ended well, with the work of both."""
    if first is None:
        return second.changed(chosen=name)
    best = first if second.status != SolveStatus.CONVERGED and first.objective < second.objective else second
    return best.changed(
        status=second.status,
        iterations=first.iterations + second.iterations,
        rows_computed=first.rows_computed + second.rows_computed,
        values_computed=max(first.values_computed, second.values_computed),  # the kernel counts them
        subproblems=first.subproblems + second.subproblems,
        fallbacks=first.fallbacks + second.fallbacks,
        chosen=f"{first.chosen}, {second.chosen or name}",
    )

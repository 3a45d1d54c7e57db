"""The optimum at a large C along the path of optima that begins at a small one, where SMO is soon there.

All that a path takes are its breakpoints, and of these there are about as many for each power of ten of C, whatever C
is. So it comes to the end where steps that lead down the objective come to a stand.
"""

from __future__ import annotations

from math import ceil, log, log10

from libsvmx._core.buffers import filled, zeros
from libsvmx._solvers.solver import NO_BOUND
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._problem.dual import DualProblem, DualSolution
    from libsvmx._solvers.control import Control

# The path begins where the largest bound times the largest kernel value is so much, with SMO to this gap.
START, START_EPS = 100.0, 1e-3
# At so many times C at most rounding is repaired.
GROWTH = 10.0
# A matrix over the margin may take so many bytes in any case.
LEAST_FACTOR = 1 << 25
# Nanoseconds: of a breakpoint, for each row and row of the margin, and for each pair of rows of the margin; and
# breakpoints for each row and power of ten of C. Measured at 3,000 rows, C from 1e4 to 1e8, and 80 to 900 rows in the
# margin: within 1.5 times, but twice as many breakpoints on gauss-m.
OF_ROW, OF_PAIR, BREAKPOINTS = 0.3, 1.2, 1 / 3


def leads_there(dual: DualProblem, kernel: Kernel) -> bool:
    """Whether there is such a path: C-SVC and regressions without nu, with a kernel that is computed."""
    return not kernel.given and dual.is_of_hinges() and max(dual.upper) < NO_BOUND and -min(dual.lower) < NO_BOUND


def decades(dual: DualProblem, kernel: Kernel) -> float:
    """How many powers of ten of C there are on the way, and the start as one."""
    return 1.0 + log10(growth(dual, kernel))


def growth(dual: DualProblem, kernel: Kernel) -> float:
    """How many times as large as at the start of the path the bounds are."""
    largest = max(max(dual.upper), -min(dual.lower)) * max(kernel.diagonal, default=0.0)
    return max(1.0, largest / START)


def expected_ns(n: int, n_free: float, decades: float) -> float:
    """About how long such a path over n rows takes, with so many of them in the margin."""
    return decades * BREAKPOINTS * n * (OF_ROW * n * n_free + OF_PAIR * n_free**2)


def solve(
    dual: DualProblem,
    kernel: Kernel,
    budget_bytes: float,
    most_bytes: float,
    control: Control,
    threads: int,
    most_free: tuple[tuple[float, float], ...] = (),
) -> DualSolution:
    """The exact optimum of ``dual``, for which ``leads_there`` holds; its start is not asked for.

    ``budget_bytes``: for kernel rows that are kept; ``most_bytes``: for a matrix over the margin; ``most_free``: after
    so many steps for each variable, on the way to the start, and at its end, so many variables may be free.

    Raises
    ------
    PathLost; Stopped; KeyboardInterrupt or what else a signal handler raises; MemoryError
    """
    from libsvmx._solvers.path.path import PathLost, path_of, solution_without
    from libsvmx._solvers.smo.smo import Smo

    whole = growth(dual, kernel)
    lower, upper = (filled("d", (bound / whole for bound in bounds)) for bounds in (dual.lower, dual.upper))
    start = dual.changed(lower=lower, upper=upper, beta=zeros("d", dual.size))
    smo, converged = Smo(start, kernel, budget_bytes, control.part(START_EPS, 0), threads), False
    for steps_each, most in most_free:
        converged = converged or smo.advance(int(steps_each * dual.size))
        if smo.n_free > most:
            raise PathLost("the margin is too large")
    found = smo.finish(converged or smo.advance(smo.most_steps))
    del smo  # and its kernel rows
    if found.status not in (SolveStatus.CONVERGED, SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
        raise PathLost("SMO does not come to the start")
    path = path_of(start, kernel, budget_bytes, found.beta, control)
    steps, share = found.iterations, 1 / whole
    n_pieces = ceil(log(whole) / log(GROWTH))
    for k in range(1, n_pieces + 1):
        if 8.0 * path.state.margin_size**2 > most_bytes:
            raise PathLost("the margin has become too large")
        last = whole ** (k / n_pieces - 1) if k < n_pieces else 1.0
        # a path has rows in an order of its own, both variables of one together
        order = [v for row in path.state.tags for v in range(row, dual.size, kernel.n)]
        lower, upper = (filled("d", (last * bounds[v] for v in order)) for bounds in (dual.lower, dual.upper))
        path.rescale(lower, upper, last / share, control)
        steps, share = steps + path.motion.breakpoints, last
    exact = solution_without(path, dual, zeros("i", 0), path.state.totals, control)
    rows = found.rows_computed + exact.rows_computed
    return exact.changed(iterations=steps, rows_computed=rows, values_computed=kernel.values_computed)

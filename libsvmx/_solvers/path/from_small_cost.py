"""The optimum at a large C by the path from a small one, at which SMO is fast.

The number of breakpoints per decade of C hardly depends on C, while descent methods stall at a large one.
"""

from __future__ import annotations

from math import ceil, log, log10

from libsvmx._core.buffers import filled, zeros
from libsvmx._core.stopping import Control
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.dual import DualProblem, DualSolution
from libsvmx._solvers.solver import NO_BOUND
from libsvmx.enums import SolveStatus

# The path begins at this (largest bound) x (largest kernel value), from SMO's optimum to this gap.
START, START_EPS = 100.0, 1e-3
# Rounding is repaired at least each time that C has grown by this factor.
GROWTH = 10.0
# Bytes that a matrix over the margin may always take.
LEAST_FACTOR = 1 << 25
# Nanoseconds of a breakpoint per row and row of the margin, and per pair of rows of the margin; and breakpoints per row
# and decade of C. Measured at 3,000 rows, C from 1e4 to 1e8, 80 to 900 rows in the margin: right within 1.5 x, except
# that gauss-m has twice as many breakpoints.
OF_ROW, OF_PAIR, BREAKPOINTS = 0.3, 1.2, 1 / 3


def leads_there(dual: DualProblem, kernel: Kernel) -> bool:
    """Whether such a path exists: C-SVC and regression without nu, kernel not precomputed."""
    return not kernel.given and dual.is_of_hinges() and dual.largest_bound() < NO_BOUND


def decades(dual: DualProblem, kernel: Kernel) -> float:
    """Decades of C on the path, and one for the start."""
    return 1.0 + log10(growth(dual, kernel))


def growth(dual: DualProblem, kernel: Kernel) -> float:
    """Ratio of the bounds to those at the start of the path, at least 1."""
    return max(1.0, dual.largest_bound() * max(kernel.diagonal, default=0.0) / START)


def start_of(dual: DualProblem, kernel: Kernel) -> DualProblem:
    """``dual`` at the small C."""
    whole = growth(dual, kernel)
    lower, upper = (filled("d", (bound / whole for bound in bounds)) for bounds in (dual.lower, dual.upper))
    return dual.changed(lower=lower, upper=upper, beta=zeros("d", dual.size))


def expected_ns(n: int, n_free: float, decades: float) -> float:
    """Expected time of such a path over n rows, ``n_free`` of them in the margin."""
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
    """The exact optimum of ``dual``, for which ``leads_there`` holds.

    ``budget_bytes``: for kept kernel rows; ``most_bytes``: for a matrix over the margin; ``most_free``: pairs (SMO
    steps per variable at the start, limit of free variables then). Raises PathLost; Stopped; KeyboardInterrupt or what
    else a signal handler raises; MemoryError.
    """
    from libsvmx._solvers.path.path import PathLost, path_of, solution_without
    from libsvmx._solvers.smo.smo import Smo

    whole, start = growth(dual, kernel), start_of(dual, kernel)
    smo, converged = Smo(start, kernel, budget_bytes, control.part(START_EPS, 0), threads), False
    for steps_each, most in most_free:
        converged = converged or smo.advance(int(steps_each * dual.size))
        if smo.n_free > most:
            raise PathLost("the margin is too large")
    found = smo.finish(converged or smo.advance(smo.most_steps))
    del smo  # and its kernel rows
    if found.status not in (SolveStatus.CONVERGED, SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
        raise PathLost("SMO does not reach the start")
    path = path_of(start, kernel, budget_bytes, found.beta, control)
    steps, share = found.iterations, 1 / whole
    n_pieces = ceil(log(whole) / log(GROWTH))
    for k in range(1, n_pieces + 1):
        if 8.0 * path.state.margin_size**2 > most_bytes:
            raise PathLost("the margin has become too large")
        last = whole ** (k / n_pieces - 1) if k < n_pieces else 1.0
        # variables in the order of the path
        order = [v for row in path.state.tags for v in range(row, dual.size, kernel.n)]
        lower, upper = (filled("d", (last * bounds[v] for v in order)) for bounds in (dual.lower, dual.upper))
        path.rescale(lower, upper, last / share, control)
        steps, share = steps + path.motion.breakpoints, last
    exact = solution_without(path, dual, zeros("i", 0), path.state.totals, control)
    rows = found.rows_computed + exact.rows_computed
    return exact.changed(iterations=steps, rows_computed=rows, values_computed=kernel.values_computed)

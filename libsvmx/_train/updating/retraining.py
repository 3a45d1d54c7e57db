"""A change of a state by warm-started training, where a path would take longer.

    the known optimum, or the end of a path given up
        -- start_of -->          a start without the removed rows
        -- warm.solve -->        near the optimum, by SMO with kernel rows in float
        -- Path.near -->         the optimum, in double

A path costs |M| (n + |M|) per breakpoint, and has at least about one for each row whose beta becomes 0 or nonzero. A
training needs the kernel rows of these and of the margin once, and one factor of the margin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._solvers.path.path import PathLost
from libsvmx._solvers.seeding.fold_change import FoldChange
from libsvmx._solvers.seeding.seeders import start_of
from libsvmx._solvers.smo import warm
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._solvers.control import Control
    from libsvmx._solvers.path.path import Path
    from libsvmx._solvers.path.path_state import PathState
    from libsvmx._train.parameter import Parameter

# Gap at which SMO ends, unless -e is smaller: the remaining path has a few breakpoints.
EPS = 1e-3
# Cost of a training, in units of about half a nanosecond: minimum; per kernel value of the margin and of the moving
# rows; per product of the factor; per variable of an iteration of SMO, most being shrunk; per iteration. Measured on
# elec2 and synthetic sets of 2 to 54 features, 1 to 1,000 of 5,000 and 20,000 rows; the last one on 600 to 2,200 rows
# of two features at C from 1e3 to 1e5.
WORK_AT_LEAST = 1e7
WORK_OF_VALUE = 20.0
WORK_OF_PRODUCT = 0.06
WORK_OF_VARIABLE = 0.25
WORK_OF_ITERATION = 900.0
# Cost of a breakpoint of a path in the same units: per row, for kernel rows; per active row, and per value of its row
# in the margin; per element of the factor. ``Motion.work`` counts |M| (active + |M|) for it, as ``Control`` does.
LINE_OF_ROW = 4.0
LINE_OF_ACTIVE = 9.0
LINE_OF_VALUE = 0.26
LINE_OF_PAIR = 4.6
WORK_OF_ROTATION = 0.4  # per element of the factor, of a row that leaves the margin
# Share of the rows that are active where a path shrinks, and n |M| from which it does.
ACTIVE_SHARE = 0.5
MANY_VALUES = 4e5
# Free rows for each row that leaves from which they take over its beta. Fewer reach their bounds, and the rest of beta
# would be spread over all rows: of elec2, 4,900 iterations of SMO instead of 1,700.
FREE_FOR_EACH = 4.0


def work_of_training(state: PathState, n_moving: int, iterations: int) -> float:
    """Expected cost of ``train_near``, with ``n_moving`` rows whose beta becomes 0 or nonzero and as many
    ``iterations`` as the last training."""
    margin = state.margin_size
    work = WORK_AT_LEAST + WORK_OF_VALUE * (margin + n_moving) * state.n + WORK_OF_PRODUCT * margin**3
    return work + work_of_iteration(state) * iterations


def least_work_of_path(state: PathState, n_moving: int, n_members: int) -> float:
    """Low estimate of the cost of the path along which ``n_moving`` rows move from or to 0: a breakpoint for each, 1.06
    to 5 were measured; but for ``n_members`` that leave the margin, which may need none, a rotation of the factor."""
    return (n_moving - n_members) * work_of_line(state) + n_members * WORK_OF_ROTATION * state.margin_size**2


def most_path(state: PathState, work: float) -> float:
    """``Motion.work`` of a path that costs as much as this ``work`` of a training."""
    margin = max(state.margin_size, 1)
    return work * margin * (n_active(state) + margin) / work_of_line(state)


def work_of_line(state: PathState) -> float:
    """Cost of a breakpoint."""
    n, margin = state.n, state.margin_size
    active = LINE_OF_ACTIVE + LINE_OF_VALUE * margin
    return LINE_OF_ROW * n + active * n_active(state) + LINE_OF_PAIR * margin**2


def n_active(state: PathState) -> float:
    """Expected number of active rows on a path."""
    return state.n * (ACTIVE_SHARE if state.margin_size * state.n > MANY_VALUES else 1.0)


def most_iterations(state: PathState, work: float) -> int:
    """Maximum number of iterations of SMO in a training of this expected cost: all of it."""
    return 1 + int(work / work_of_iteration(state))


def work_of_iteration(state: PathState) -> float:
    """Cost of an iteration of SMO."""
    return WORK_OF_ITERATION + WORK_OF_VARIABLE * state.n


def train_near(
    param: Parameter, path: Path, kernel: Kernel, totals: tuple[float, ...], control: Control, max_iter: int
) -> int:
    """Bring a path to the optimum without its LEAVING rows. Returns the iterations of SMO.

    Parameters
    ----------
    kernel : Kernel             of the rows of the path, in their order
    totals : tuple of float     the sum of beta over each group
    max_iter : int              of SMO

    Raises
    ------
    PathLost                    too many iterations, or no path from there to the optimum; ``rollback`` must follow
    Stopped, MemoryError, and what a signal handler raises, such as KeyboardInterrupt
    """
    dual = path.dual()
    lower, beta, upper = (np.asarray(each) for each in (dual.lower, dual.beta, dual.upper))
    n_left, n_free = np.count_nonzero(beta[lower == upper]), np.count_nonzero((lower < beta) & (beta < upper))
    seeder = "near" if n_free >= FREE_FOR_EACH * n_left else "top"
    start = start_of(FoldChange(kernel, dual, totals, dual.beta, dual.scores, dual, control), seeder)
    if start is None:
        raise PathLost("no variable can make up for the sum")
    started, budget_bytes = dual.changed(beta=start[0], scores=start[1]), param.cache_bytes
    solving = control.part(min(param.eps, EPS), max_iter)
    solution = warm.solve(started, kernel, budget_bytes, solving, thread_count(param.threads))
    if solving.stopped:
        raise Stopped(solving.stopped)
    if solution.status != SolveStatus.CONVERGED:
        raise PathLost("SMO needs too many iterations")
    path.near(solution.beta, totals, control)
    return solution.iterations

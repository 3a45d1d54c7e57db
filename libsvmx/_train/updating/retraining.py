"""A change of a state by warm-started training, where a path would take longer.

    the known optimum, or the end of a path given up
        -- start_of -->          a start without the removed rows
        -- warm.solve -->        near the optimum, by SMO with kernel rows in float
        -- Path.near -->         the optimum, in double

A path costs |M| (n + |M|) per breakpoint, and has at least about one for each row whose beta becomes 0 or nonzero. A
training needs the kernel rows of these and of the margin once, and one factor of the margin. Both are counted in half
nanoseconds: ``Path.expected`` before a path begins, ``is_long`` in following.pyx while it is followed.
"""

from __future__ import annotations

import numpy as np

from libsvmx._core.stopping import Control, Stopped
from libsvmx._core.threads import thread_count
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.path.path import Path, PathLost
from libsvmx._solvers.path.path_state import PathState
from libsvmx._solvers.seeding.fold_change import FoldChange
from libsvmx._solvers.seeding.seeders import start_of
from libsvmx._solvers.smo import warm
from libsvmx._train.parameter import Parameter
from libsvmx.enums import SolveStatus

# Gap at which SMO ends, unless -e is smaller: the remaining path has a few breakpoints.
EPS = 1e-3
# Cost of a training in half nanoseconds, as a path counts its own: minimum, more than what was measured, since paths
# over few rows are shorter than expected; per row; kernel rows in double per member of the margin, per row that moves,
# and of others, as a multiple of the root of the number of those; per product of the factor; per variable of an
# iteration of SMO, most being shrunk. Measured on 130 changes of 1 to 1,000 of 5,000 and 20,000 rows of elec2 and
# synthetic sets of 2 to 54 features: .6 to 1.5 times the time that they took.
COST_AT_LEAST = 5e6
COST_OF_ROW = 520.0
ROWS_OF_MEMBER = 0.8
ROWS_OF_MOVING = 1.4
ROWS_OF_OTHERS = 21.0
COST_OF_PRODUCT = 0.15
COST_OF_VARIABLE = 0.13
# Free rows for each row that leaves from which they take over its beta. Fewer reach their bounds, and the rest of beta
# would be spread over all rows: of elec2, 4,900 iterations of SMO instead of 1,700.
FREE_FOR_EACH = 4.0


def cost_of_training(path: Path, iterations: int, n_moving: int = 0, n_members: int = 0) -> tuple[float, float]:
    """Expected cost of ``train_near`` with as many ``iterations`` as the last training and ``n_moving`` rows whose beta
    becomes 0 or nonzero, of which ``n_members`` leave the margin; and how much of it is due to these rows."""
    n, margin = path.state.n, path.state.margin_size - n_members
    moving = path.row_cost * (ROWS_OF_MOVING * n_moving + ROWS_OF_OTHERS * n_moving**0.5)
    others = path.row_cost * ROWS_OF_MEMBER * margin + COST_OF_PRODUCT * margin**3
    return COST_AT_LEAST + COST_OF_ROW * n + COST_OF_VARIABLE * n * iterations + others + moving, moving


def most_iterations(state: PathState, cost: float) -> int:
    """Maximum number of iterations of SMO in a training of this expected cost: all of it."""
    return 1 + int(cost / (COST_OF_VARIABLE * state.n))


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

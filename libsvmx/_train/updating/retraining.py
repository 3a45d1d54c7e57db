"""A change of a state by training, where a path would be longer than that.

    the known optimum, or where a path has come to
        -- start_of -->          a start without the rows that leave
        -- warm.solve -->        near the optimum, by SMO with kernel rows in float
        -- Path.near -->         the optimum, in double

A path costs |M| (n + |M|) a breakpoint, and there are about as many breakpoints as rows come from 0 or go there. A
training needs the kernel rows of the margin and of those rows once, and one factor of the margin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libsvmx._core.buffers import filled
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

# The gap to which SMO goes, if -e asks for no less: what it leaves is a path of a few breakpoints.
EPS = 1e-3
# What a training takes, in the work of a path (``Motion.work``): at least; for each value of the kernel rows of the
# margin and of the rows that move; for each product of the factor; for each variable in an iteration of SMO, most being
# shrunk, and besides. Measured on a9a, w8a, elec2 and made sets of 8 and 20 features, 1 to 1,000 of 5,000 and 20,000
# rows; what an iteration takes besides, on 600 to 2,200 rows of two features at C from 1e3 to 1e5.
WORK_AT_LEAST = 1e7
WORK_OF_VALUE = 20.0
WORK_OF_PRODUCT = 0.1
WORK_OF_VARIABLE = 0.25
WORK_OF_ITERATION = 900.0


def work_of_training(state: PathState, n_moving: int, iterations: int) -> float:
    """What ``train_near`` may be expected to take, in the work of a path, for so many rows that come from or go to 0.

    ``iterations``: of the last training, and of this one.
    """
    margin = state.margin_size
    work = WORK_AT_LEAST + WORK_OF_VALUE * (margin + n_moving) * state.n + WORK_OF_PRODUCT * margin**3
    return work + work_of_iteration(state) * iterations


def most_iterations(state: PathState, work: float) -> int:
    """How many iterations SMO may take where the training is expected to be so much work: no more than all of it."""
    return 1 + int(work / work_of_iteration(state))


def work_of_iteration(state: PathState) -> float:
    """What an iteration of SMO takes."""
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
    PathLost                    too many iterations, or no way to the optimum from there; ``rollback`` must follow
    Stopped; KeyboardInterrupt or what else a signal handler raises; MemoryError
    """
    dual, nobody = path.dual(), filled("i", [])
    leaving = np.flatnonzero((np.asarray(dual.lower) == np.asarray(dual.upper)) & (np.asarray(dual.beta) != 0))
    gone = filled("i", leaving.tolist())
    change = FoldChange(kernel, dual, totals, dual.beta, dual.scores, gone, nobody, control)
    start = start_of(change, "near")
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

"""Problems whose box has no upper end in either class, the hard margin: is there an optimum at all?

There is one if and only if a function of the kernel separates the classes. Where none does, LIBSVM's steps go on for
10^7 iterations without an end in sight. So if they have not ended soon, the nearest points of the two convex hulls are
looked for (Bennett & Bredensteiner 2000):

    min |w|^2 / 2,   w = sum_i beta_i phi(x_i),   beta of one class >= 0 with sum 1, of the other <= 0 with sum -1

which always has an optimum. If w separates the classes, they are separable, and LIBSVM's steps go on. If w is 0 as far
as single precision of kernel values tells, they are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._core.buffers import zeros
from libsvmx._problem.dual import DualProblem
from libsvmx._solvers.smo import smo
from libsvmx._solvers.solver import NO_BOUND
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._problem.dual import DualSolution
    from libsvmx._solvers.control import Control

# Of the largest kernel value: what roundings of kernel values to single precision may hide.
PRECISION = 1e-7


def soon(size: int) -> int:
    """Iterations until the question is asked, and at most for the answer."""
    return max(100_000, 10 * size)


def asked_within(max_iter: int, size: int) -> bool:
    """Whether a limit leaves the time for the question; 0 is LIBSVM's, negative is no step at all."""
    return max_iter == 0 or max_iter > soon(size)


def unbounded(dual: DualProblem) -> bool:
    """Whether variables of both signs, each of a row of its own, have no bound that they could meet."""
    if dual.groups != 1 or not (max(dual.upper) >= NO_BOUND and min(dual.lower) <= -NO_BOUND):
        return False
    return len(set(dual.row)) == dual.size


def solve(
    dual: DualProblem,
    kernel: Kernel,
    budget_bytes: float,
    control: Control,
    threads: int,
    early: int | None = None,
    late: int | None = None,
) -> DualSolution:
    """As ``smo.solve``, with status UNBOUNDED, at a feasible point, if there is no optimum.

    ``early``, ``late``: iterations until the question is asked, and at most for the answer; None: ``soon``.

    Raises
    ------
    KeyboardInterrupt, or what else a signal handler raises; MemoryError
    """
    marks: list[str] = []
    first = control.part(control.eps, early or soon(dual.size), marks.append)
    solution = smo.solve(dual, kernel, budget_bytes, first, threads)
    status = solution.status
    if status == SolveStatus.ITERATION_LIMIT:
        hulls = control.part(PRECISION * max(*kernel.diagonal, 1e-300), late or soon(dual.size))
        nearest = smo.solve(hull_problem(dual), kernel, budget_bytes, hulls, threads)
        status = nearest.status
        if status == SolveStatus.ITERATION_LIMIT or (status == SolveStatus.CONVERGED and separates(dual, nearest)):
            return smo.solve(dual, kernel, budget_bytes, control, threads)
        if status == SolveStatus.CONVERGED:
            status = SolveStatus.UNBOUNDED
    for mark in marks:
        control.tell(mark)
    return solution.changed(status=status)


def hull_problem(dual: DualProblem) -> DualProblem:
    """The problem above, from the first row of each class."""
    n = dual.size
    lower, upper, beta, group = zeros("d", n), zeros("d", n), zeros("d", n), zeros("b", n)
    for v in range(n):
        if dual.upper[v] > 0:
            upper[v] = 1.0
        else:
            lower[v], group[v] = -1.0, 1
    beta[next(v for v in range(n) if not group[v])] = 1.0
    beta[next(v for v in range(n) if group[v])] = -1.0
    return DualProblem(zeros("d", n), lower, upper, group, dual.row, beta)


def separates(dual: DualProblem, nearest: DualSolution) -> bool:
    """Whether w of the nearest points has all rows of one class on one side; a score is -w'phi(x)."""
    scores = nearest.scores
    one = max(scores[v] for v in range(dual.size) if dual.upper[v] > 0)
    other = min(scores[v] for v in range(dual.size) if not dual.upper[v] > 0)
    return bool(one < other)

"""Hard margin (C infinite in both classes): whether the dual has an optimum.

It has one if and only if the classes are separable in feature space. Otherwise SMO would run to LIBSVM's limit of
10^7 iterations; so, if it has not converged early, the nearest points of the two convex hulls are computed (Bennett &
Bredensteiner 2000):

    min |w|^2 / 2,   w = sum_i beta_i phi(x_i),   beta of one class >= 0 with sum 1, of the other <= 0 with sum -1

This problem always has an optimum. If w separates the classes, SMO continues; if w is 0 to within the single precision
of kernel values, the dual is unbounded.
"""

from __future__ import annotations

from libsvmx._core.buffers import zeros
from libsvmx._core.stopping import Control
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.dual import DualProblem, DualSolution
from libsvmx._solvers.smo import smo
from libsvmx._solvers.solver import NO_BOUND
from libsvmx.enums import SolveStatus

# Single precision of kernel values, relative to the largest.
PRECISION = 1e-7


def soon(size: int) -> int:
    """Iterations before the hull problem is tried, and its own limit."""
    return max(100_000, 10 * size)


def asked_within(max_iter: int, size: int) -> bool:
    """Whether ``max_iter`` allows the hull problem; 0: LIBSVM's limit, negative: no step."""
    return max_iter == 0 or max_iter > soon(size)


def unbounded(dual: DualProblem) -> bool:
    """Whether both classes have infinite bounds, with one variable per row."""
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
    """``smo.solve``, with status UNBOUNDED and a feasible point if there is no optimum.

    ``early``, ``late``: iterations before the hull problem, and its limit; None: ``soon``.

    Raises
    ------
    KeyboardInterrupt, or another exception of a signal handler; MemoryError
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
    """The hull problem, started at the first row of each class."""
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
    """Whether w of the nearest points separates the classes; a score is -w'phi(x)."""
    scores = nearest.scores
    one = max(scores[v] for v in range(dual.size) if dual.upper[v] > 0)
    other = min(scores[v] for v in range(dual.size) if not dual.upper[v] > 0)
    return bool(one < other)

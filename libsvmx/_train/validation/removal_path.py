"""The exact path from the optimum over all rows to a fold's, along which the rows held out leave (``seeder="path"``).

``libsvmx._solvers.path.path`` is the path itself; here is when it is taken.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from libsvmx.enums import KernelType

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._problem.dual import DualProblem, DualSolution
    from libsvmx._solvers.control import Control
    from libsvmx._solvers.path.path import Path
    from libsvmx._typing import Buffer

# auto takes the path where a line costs so little, for leave-one-out and alike: SMO takes some dozens of steps of n.
SHORT_LINE = 3e4
FEW_LEAVING = 1


class RemovalPath:
    """RemovalPath(problem, kernel, budget_bytes, beta, control)

    Parameters
    ----------
    problem : DualProblem        over all rows
    kernel : Kernel
    budget_bytes : float         for kernel rows
    beta : buffer of float64     its optimum to eps
    control : callable           makes the Control of one solve
    """

    def __init__(
        self, problem: DualProblem, kernel: Kernel, budget_bytes: float, beta: Buffer, control: Callable[[], Control]
    ) -> None:
        self.problem, self.kernel, self.budget_bytes, self.beta = problem, kernel, budget_bytes, beta
        self.control = control

    def pays(self, n_left_out: int) -> bool:
        """Whether the path of so many rows that leave is expected to take less time than a solve from a seed."""
        return n_left_out <= FEW_LEAVING and self.work_of_line <= SHORT_LINE

    @cached_property
    def work_of_line(self) -> float:
        """Multiplications in a straight line of the path, about; infinite where there is no path."""
        if self.problem.groups == 2 or self.kernel.kind == KernelType.PRECOMPUTED:
            return inf
        bounds = zip(self.problem.lower, self.problem.upper, strict=True)
        free = sum(lower < b < upper for b, (lower, upper) in zip(self.beta, bounds, strict=True))
        return float(free * (self.kernel.n + free))

    @cached_property
    def path(self) -> Path | None:
        """The path that starts at the exact optimum over all rows; None if there is none. Raises Stopped."""
        from libsvmx._solvers.path.path import PathLost, path_of

        if self.problem.groups == 2:
            return None
        try:
            return path_of(self.problem, self.kernel, self.budget_bytes, self.beta, self.control())
        except PathLost:
            return None

    def solution_without(self, left_out: Buffer, totals: tuple[float, ...]) -> DualSolution | None:
        """The optimum without the rows ``left_out``, whose sums of beta are ``totals``; None if the path is lost.

        Raises
        ------
        Stopped
        """
        if self.path is None:
            return None
        from libsvmx._solvers.path.path import PathLost, solution_without

        try:
            return solution_without(self.path, self.problem, left_out, totals, self.control())
        except PathLost:  # the solver goes on
            return None

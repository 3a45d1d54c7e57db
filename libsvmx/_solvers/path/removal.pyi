from libsvmx._kernels.kernel import Kernel
from libsvmx._problem.dual import DualProblem, DualSolution
from libsvmx._solvers.control import Control
from libsvmx._solvers.path.path import Path
from libsvmx._typing import Buffer

def path_of(problem: DualProblem, kernel: Kernel, budget_bytes: float, beta: Buffer, control: Control) -> Path: ...
def solution_without(
    path: Path, problem: DualProblem, rows: Buffer, totals: tuple[float, ...], control: Control
) -> DualSolution: ...

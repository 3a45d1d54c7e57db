from libsvmx._kernels.kernel import Kernel
from libsvmx._problem.dual import DualProblem, DualSolution
from libsvmx._solvers.control import Control

def solve(
    problem: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, n_threads: int = 1
) -> DualSolution: ...

class Smo:
    def __init__(
        self, problem: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, n_threads: int = 1
    ) -> None: ...
    def run(self) -> DualSolution: ...
    def go_on(self, limit: int) -> DualSolution: ...

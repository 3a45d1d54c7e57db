from libsvmx._kernels.kernel import Kernel
from libsvmx._problem.dual import DualProblem, DualSolution
from libsvmx._solvers.control import Control
from libsvmx._solvers.decomposition.settings import Chunking

def solve(
    problem: DualProblem,
    kernel: Kernel,
    budget_bytes: float,
    control: Control,
    n_threads: int = 1,
    chunking: Chunking | None = None,
) -> DualSolution: ...

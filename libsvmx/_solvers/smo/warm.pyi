from libsvmx._kernels.kernel import Kernel
from libsvmx._problem.dual import DualProblem, DualSolution
from libsvmx._solvers.control import Control
from libsvmx._solvers.smo.smo import Smo

def solve(
    problem: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, n_threads: int = 1
) -> DualSolution: ...

class WarmSmo(Smo): ...

from libsvmx._kernels.rowstore import RowStore
from libsvmx._problem.dual import DualProblem, DualSolution
from libsvmx._solvers.control import Control

def solve(problem: DualProblem, store: RowStore, control: Control) -> DualSolution: ...

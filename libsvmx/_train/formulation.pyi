from libsvmx._problem.dual import DualProblem, DualSolution
from libsvmx._train.parameter import Parameter
from libsvmx._typing import Buffer

def pose(param: Parameter, targets: Buffer, Cp: float, Cn: float) -> DualProblem: ...
def read_off(
    param: Parameter, targets: Buffer, problem: DualProblem, solution: DualSolution
) -> tuple[Buffer, float, float, int, int, str | None, float]: ...

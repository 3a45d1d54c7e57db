from collections.abc import Sequence

from libsvmx._kernels.kernel import Kernel
from libsvmx._problem.dual import DualProblem
from libsvmx._solvers.control import Control
from libsvmx._typing import Buffer

def solve(
    problem: DualProblem,
    n_tests: int,
    kernel: Kernel,
    budget_bytes: float,
    control: Control,
    growths: Sequence[float],
    n_threads: int = 1,
) -> list[tuple[Buffer, float, int, float, bool]]: ...
def with_tests(problem: DualProblem, n_rows: int, n_tests: int) -> DualProblem: ...

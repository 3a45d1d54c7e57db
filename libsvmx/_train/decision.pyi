from collections.abc import Sequence

from libsvmx._core.matrix import CsrMatrix
from libsvmx._kernels.cross import CrossKernel
from libsvmx._typing import Buffer

class DecisionFunction:
    k: int
    n_functions: int
    def __init__(self, kernel: CrossKernel, coef: Buffer, rho: Buffer, n_sv: Sequence[int] | None) -> None: ...
    def values(self, tests: CsrMatrix, rows: Buffer) -> Buffer: ...

def votes(decision_values: Buffer, n: int, k: int) -> Buffer: ...

from collections.abc import Callable, Sequence

from libsvmx._core.matrix import CsrMatrix
from libsvmx._kernels.cross import CrossKernel
from libsvmx._typing import Buffer

class Functions:
    n_vectors: int
    k: int
    n_functions: int
    def evaluate(
        self, tests: CsrMatrix, rows: Buffer, values: Buffer, ask: Callable[[], object] | None = None
    ) -> list[int]: ...
    def bounds(self, margin: float, largest: float = 1.0) -> list[float]: ...

class KernelFunctions(Functions):
    def __init__(self, kernel: CrossKernel, coef: Buffer, rho: Buffer, n_sv: Sequence[int] | None) -> None: ...

class LinearFunctions(Functions):
    width: int
    def __init__(self, vectors: CsrMatrix, coef: Buffer, rho: Buffer, n_sv: Sequence[int] | None) -> None: ...
    @staticmethod
    def pays(vectors: CsrMatrix, n_functions: int) -> bool: ...

def votes(decision_values: Buffer, n: int, k: int) -> Buffer: ...

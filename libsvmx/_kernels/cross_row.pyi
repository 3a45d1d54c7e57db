from libsvmx._core.matrix import CsrMatrix
from libsvmx._kernels.cross import CrossKernel
from libsvmx._typing import Buffer

class CrossRow:
    exact: bool
    margin: float
    def __init__(self, kernel: CrossKernel) -> None: ...
    def values(self, tests: CsrMatrix, row: int) -> Buffer: ...

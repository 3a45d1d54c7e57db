from libsvmx._core.matrix import CsrMatrix
from libsvmx._typing import Buffer

class Kernel:
    n: int
    kind: int
    degree: int
    gamma: float
    coef0: float
    diagonal: Buffer
    def __init__(self, matrix: CsrMatrix, rows: Buffer, kind: int, degree: int, gamma: float, coef0: float) -> None: ...
    def row(self, i: int) -> Buffer: ...

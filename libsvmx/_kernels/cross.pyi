from libsvmx._core.matrix import CsrMatrix

PANEL_ROWS: int

class CrossKernel:
    vectors: CsrMatrix
    kind: int
    def __init__(self, vectors: CsrMatrix, kind: int, degree: int, gamma: float, coef0: float) -> None: ...
    def prepare(self, tests: CsrMatrix) -> CsrMatrix: ...

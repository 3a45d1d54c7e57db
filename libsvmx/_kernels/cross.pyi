from libsvmx._core.matrix import CsrMatrix
from libsvmx._typing import Buffer

class CrossKernel:
    vectors: CsrMatrix
    exact: bool
    def __init__(
        self, vectors: CsrMatrix, kind: int, degree: int, gamma: float, coef0: float, approximate: bool = False
    ) -> None: ...
    def prepare(self, tests: CsrMatrix, rows: Buffer) -> None: ...
    def block(self, tests: CsrMatrix, rows: Buffer) -> tuple[Buffer, list[float]]: ...

from libsvmx._core.matrix import CsrMatrix
from libsvmx._typing import Buffer

class RbfShapley:
    def __init__(
        self,
        vectors: CsrMatrix,
        first: int,
        coef: Buffer,
        gamma: float,
        background: Buffer,
        nodes: list[tuple[Buffer, Buffer]],
        n_threads: int,
    ) -> None: ...
    def values_of(self, x: Buffer, out: Buffer) -> None: ...

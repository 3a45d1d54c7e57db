from libsvmx._core.matrix import CsrMatrix
from libsvmx._typing import Buffer

def feature_ranges(matrix: CsrMatrix) -> tuple[Buffer, Buffer, Buffer]: ...
def label_range(targets: Buffer) -> tuple[float, float]: ...

class RowScaler:
    n_written: int
    def __init__(
        self,
        indices: Buffer,
        lows: Buffer,
        highs: Buffer,
        lower: float,
        upper: float,
        label: tuple[float, float, float, float] | None = None,
    ) -> None: ...
    def block(self, matrix: CsrMatrix, targets: Buffer, begin: int) -> tuple[int, bytes]: ...

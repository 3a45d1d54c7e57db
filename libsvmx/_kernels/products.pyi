from libsvmx._core.matrix import CsrMatrix
from libsvmx._typing import Buffer

DENSE_FROM: float

class Products:
    n: int
    tile: int
    blocks: bool
    def __init__(self, matrix: CsrMatrix, rows: Buffer, *args: object) -> None: ...

class PanelProducts(Products):
    def __init__(self, matrix: CsrMatrix, rows: Buffer) -> None: ...

class PostingProducts(Products):
    def __init__(self, matrix: CsrMatrix, rows: Buffer) -> None: ...

class ColumnProducts(Products):
    def __init__(self, matrix: CsrMatrix, rows: Buffer, values: Buffer) -> None: ...

class GivenValues(Products):
    def __init__(self, matrix: CsrMatrix, rows: Buffer, transposed: bool = False) -> None: ...

def products_of(matrix: CsrMatrix, rows: Buffer, distances: bool = False) -> Products: ...

class RbfPanels:
    mostly_zero: bool

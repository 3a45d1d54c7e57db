from collections.abc import Sequence
from typing import Any

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.process import ThreadPool
from libsvmx._kernels.products import RbfPanels
from libsvmx._typing import Buffer

def function_names() -> list[str]: ...

class Kernel:
    n: int
    kind: int
    degree: int
    gamma: float
    coef0: float
    diagonal: Buffer
    given: bool
    binary: bool
    values_computed: int
    matrix: CsrMatrix
    @property
    def row_numbers(self) -> Buffer: ...
    def __init__(self, matrix: CsrMatrix, rows: Buffer, kind: int, degree: int, gamma: float, coef0: float) -> None: ...
    def part(self, members: Buffer) -> Kernel: ...
    def moved(self, matrix: CsrMatrix, rows: Buffer, members: Buffer) -> Kernel: ...
    def targets(self, members: Buffer, transposed: bool = False) -> Targets: ...
    def double_targets(self, members: Buffer | None = None, few: bool = False) -> Targets: ...
    def tabulated(self, asking: Any) -> Kernel: ...
    def row(self, i: int) -> Buffer: ...

def values_of_products(products: Buffer, kind: int, gamma: float) -> Buffer: ...
def check_members(members: Buffer, n: int) -> None: ...

class Targets:
    kernel: Kernel
    n: int
    tile: int
    blocks: bool
    kept: bool
    def rows(self, sources: Sequence[int], pool: ThreadPool | None = None) -> list[Buffer]: ...

class DotTargets(Targets):
    panels: RbfPanels | None
    def __init__(self, kernel: Kernel, members: Buffer, transposed: bool = False) -> None: ...

class BitTargets(Targets):
    def __init__(self, kernel: Kernel, members: Buffer) -> None: ...

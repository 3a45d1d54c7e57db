from libsvmx._kernels.kernel import Kernel
from libsvmx._typing import Buffer

class RowStore:
    kernel: Kernel
    n: int
    capacity: int
    rows_computed: int
    def __init__(self, kernel: Kernel, budget_bytes: float) -> None: ...
    def fetch(self, i: int) -> Buffer: ...

class RowView:
    store: RowStore
    size: int
    def __init__(self, store: RowStore, index: Buffer) -> None: ...

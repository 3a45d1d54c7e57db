from collections.abc import Iterable

from libsvmx._core.thread_pool import ThreadPool
from libsvmx._kernels.kernel import Kernel
from libsvmx._kernels.slots import RowSlots
from libsvmx._typing import Buffer

class RowStore(RowSlots):
    def __init__(
        self,
        kernel: Kernel,
        budget_bytes: float,
        index: Buffer | None = None,
        pool: ThreadPool | None = None,
        active: int | None = None,
    ) -> None: ...
    def fetch(self, position: int) -> Buffer: ...
    def shrink(self, swaps: Iterable[tuple[int, int]], active: int) -> None: ...
    def use_symmetry(self) -> int: ...

from libsvmx._core.stopping import Asking
from libsvmx._core.thread_pool import ThreadPool
from libsvmx._kernels.kernel import Kernel
from libsvmx._kernels.rows import KernelRows

class KernelValues:
    kernel: Kernel
    n: int
    has_groups: bool
    def of_thread(self) -> KernelValues: ...

class Gram(KernelValues):
    def __init__(self, kernel: Kernel, pool: ThreadPool, asking: Asking) -> None: ...

class GramRows(KernelRows):
    def __init__(self, values: KernelValues, most_rows: int, most_positions: int, pool: ThreadPool) -> None: ...

from libsvmx._core.stopping import Asking
from libsvmx._core.thread_pool import ThreadPool
from libsvmx._kernels.kernel import Kernel
from libsvmx._kernels.rows import KernelRows

class Gram:
    kernel: Kernel
    n: int
    def __init__(self, kernel: Kernel, pool: ThreadPool, asking: Asking) -> None: ...

class GramRows(KernelRows):
    def __init__(self, gram: Gram, most_rows: int, most_positions: int, pool: ThreadPool) -> None: ...

from libsvmx._kernels.kernel import Kernel

class DoubleRows:
    kernel: Kernel
    n: int
    rows_computed: int
    def __init__(self, budget_bytes: float) -> None: ...

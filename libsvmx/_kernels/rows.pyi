from libsvmx._kernels.kernel import Kernel

class KernelRows:
    kernel: Kernel
    size: int
    active: int
    rows_computed: int
    rows_found: int
    whole: bool

class RowCosts: ...

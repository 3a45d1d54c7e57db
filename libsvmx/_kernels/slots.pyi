from libsvmx._kernels.rows import KernelRows

class RowSlots(KernelRows):
    capacity: int

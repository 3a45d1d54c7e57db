from libsvmx._core.stopping import Asking
from libsvmx._kernels.kernel import Kernel
from libsvmx._typing import Buffer

class DoubleGram:
    kernel: Kernel
    n: int
    def __init__(self, kernel: Kernel, asking: Asking) -> None: ...
    def part(self, members: Buffer) -> DoubleGramKernel: ...

class DoubleGramKernel(Kernel): ...

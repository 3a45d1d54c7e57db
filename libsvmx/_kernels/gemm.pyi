from libsvmx._kernels.kernel import Kernel, Targets
from libsvmx._typing import Buffer

WIDTH_FROM: int

def error_of(kernel: Kernel) -> float: ...
def pays(kernel: Kernel) -> bool: ...

class GemmTargets(Targets):
    def __init__(self, kernel: Kernel, members: Buffer) -> None: ...

from libsvmx._kernels.kernel import Kernel
from libsvmx._solvers.control import Control

class Terms:
    n: int
    def __init__(self, kernel: Kernel) -> None: ...

class BoundScores:
    terms: Terms
    def __init__(self, kernel: Kernel) -> None: ...
    def settle(self, control: Control) -> None: ...

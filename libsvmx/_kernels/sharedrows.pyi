from libsvmx._kernels.kernel import Kernel, Targets
from libsvmx._typing import Buffer

class SharedRows:
    kernel: Kernel
    across: bool
    blocks: bool
    held_bytes: float
    most_bytes: float
    values_computed: int
    def __init__(
        self, kernel: Kernel, budget_bytes: float, starts: list[int] | None = None, across: bool = True
    ) -> None: ...
    def part(self, members: Buffer) -> SharedKernel: ...
    def value_ns(self) -> float: ...

class SharedKernel(Kernel):
    shared: SharedRows
    def part(self, members: Buffer) -> SharedKernel: ...

class SharedTargets(Targets):
    def __init__(self, kernel: SharedKernel, members: Buffer) -> None: ...

def all_bytes(starts: list[int], across: bool = True) -> float: ...

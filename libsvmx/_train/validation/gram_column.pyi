from collections.abc import Sequence

from libsvmx._kernels.gram import Gram
from libsvmx._solvers.control import Control
from libsvmx._train.parameter import Parameter
from libsvmx._typing import Buffer

class QuietControl(Control): ...

class GramColumn:
    def __init__(
        self,
        gram: Gram,
        targets: Buffer,
        weights: Buffer | None,
        param: Parameter,
        growths: Sequence[float],
        control: QuietControl,
    ) -> None: ...
    def solve(
        self, members: Buffer, start: list[int], tests: Buffer, factors: list[float]
    ) -> tuple[Buffer, list[float], list[float], list[int], list[bool]]: ...

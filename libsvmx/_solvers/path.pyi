from libsvmx._solvers.control import Control
from libsvmx._solvers.walk import PathLost as PathLost
from libsvmx._solvers.walk import Walk
from libsvmx._typing import Buffer

class Path(Walk):
    polished: int
    def start(self, beta: Buffer, total: float, control: Control) -> None: ...
    def update(self, n_fresh: int, gone: Buffer, total: float, control: Control) -> None: ...
    def rescale(self, low: Buffer, high: Buffer, ratio: float, control: Control) -> None: ...
    def by_smo(
        self,
        gone: Buffer,
        total: float,
        eps: float,
        control: Control,
        low: Buffer | None = None,
        high: Buffer | None = None,
    ) -> None: ...
    def check(self, control: Control) -> float: ...
    def copy(self) -> Path: ...

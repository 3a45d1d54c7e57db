from collections.abc import Callable, Iterable, Sequence

from libsvmx._core.matrix import CsrMatrix
from libsvmx._kernels.sharedrows import SharedRows
from libsvmx._solvers.auto import Trial
from libsvmx._train.folds import Rand
from libsvmx._train.parameter import Parameter
from libsvmx._typing import Buffer

class TaskList:
    kernel_values: SharedRows
    param: Parameter
    n_rows: int
    n_tasks: int
    n_sigmoids: int
    n_folds: int
    trial: Trial | None
    def __init__(
        self,
        kernel_values: SharedRows,
        matrix_of: Callable[[], CsrMatrix],
        weights: Buffer | None,
        param: Parameter,
    ) -> None: ...
    def belong_to(self, param: Parameter, weights: Buffer | None) -> None: ...
    def start_from(self, earlier: TaskList) -> None: ...
    def seed_by(self, name: str, models: bool = False) -> None: ...
    def keep_optima(self) -> None: ...
    def try_out(self, trial: Trial) -> None: ...
    def decide_by_floats(self) -> None: ...
    def tabulate(self) -> None: ...
    def add(
        self,
        rows: Buffer,
        n_positive: int,
        Cp: float,
        Cn: float,
        held_out: Buffer | None = None,
        targets: Buffer | None = None,
        parent: int = -1,
        chained: bool = False,
    ) -> int: ...
    def add_larger(self, growths: Iterable[float]) -> None: ...
    def add_left_out(self, parents: Buffer, places: Buffer) -> None: ...
    def add_folds(
        self,
        rows: Buffer,
        n_positive: int,
        Cp: float,
        Cn: float,
        order: Buffer,
        bounds: list[int],
        parent: int = -1,
        chained: bool = False,
    ) -> None: ...
    def add_fold(self, rows: Buffer, start: list[int], solves: Sequence[int], held_out: Buffer) -> None: ...
    def add_pairs(
        self,
        rows: Buffer,
        start: list[int],
        costs: list[float],
        first: int,
        last: int,
        parents: Buffer | None = None,
        chained: bool = False,
        rand: Rand | None = None,
        scheme: str = "",
    ) -> Sequence[int]: ...

from collections.abc import Callable, Iterable

from libsvmx._core.matrix import CsrMatrix
from libsvmx._kernels.gram import KernelValues
from libsvmx._solvers.control import Control
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.queue.tasks import TaskList
from libsvmx._train.solve_report import SolveReport
from libsvmx._typing import Buffer
from libsvmx.enums import SolveStatus

class QueueControl(Control): ...

class Worker:
    def __init__(self, todo: TaskList, should_stop: Callable[[], bool], max_iter: int) -> None: ...

class SolveQueue(TaskList):
    has_run: bool
    stopped: SolveStatus | None
    def __init__(
        self,
        kernel_values: KernelValues,
        matrix_of: Callable[[], CsrMatrix],
        weights: Buffer | None,
        param: Parameter,
        observer: Observer,
        most_workers: int,
    ) -> None: ...
    def another(self) -> SolveQueue: ...
    def run(self, threads: int) -> None: ...
    def work_of(self, unit: Iterable[int]) -> float: ...
    def should_stop(self) -> bool: ...
    def tell(self, t: int, observer: Observer) -> SolveReport: ...
    def summed(self, first: int, last: int) -> SolveReport: ...
    def by_cost(
        self, first: int, n_duals: int, n_costs: int
    ) -> tuple[Buffer, list[float], list[float], list[int], list[bool]]: ...
    def seeding_seconds(self, first: int, last: int) -> float: ...
    def chosen(self) -> str: ...

from libsvmx._core.thread_pool import ThreadPool
from libsvmx._kernels.kernel import Kernel, Targets
from libsvmx._problem.dual import DualProblem
from libsvmx._solvers.control import Control
from libsvmx._typing import Buffer

class FoldChange:
    kernel: Kernel
    control: Control
    size: int
    sums: tuple[float, ...]
    lower: Buffer
    upper: Buffer
    group: Buffer
    row: Buffer
    beta: Buffer
    scores: Buffer
    leaving: Buffer
    entering: Buffer
    most_work: float
    path_work: float
    path_whole: bool
    reached_beta: Buffer
    reached_scores: Buffer
    def __init__(
        self,
        kernel: Kernel,
        problem: DualProblem,
        sums: tuple[float, ...],
        beta: Buffer,
        scores: Buffer,
        leaving: Buffer,
        entering: Buffer,
        control: Control | None = None,
        targets: Targets | None = None,
        most_work: float = ...,
    ) -> None: ...
    @property
    def every_row(self) -> Targets: ...
    def reach(self, beta: Buffer, scores: Buffer, work: float, whole: bool) -> None: ...
    def kept(self) -> Buffer: ...
    def shared(self, free_only: bool) -> Buffer: ...

def moved_scores(change: FoldChange, targets: Targets, start_: Buffer, pool: ThreadPool) -> Buffer: ...

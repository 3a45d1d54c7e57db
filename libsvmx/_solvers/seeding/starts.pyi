from libsvmx._core.thread_pool import ThreadPool
from libsvmx._kernels.kernel import Kernel, Targets
from libsvmx._typing import Buffer

class Round:
    kernel: Kernel
    size: int
    split: bool
    sums: tuple[float, ...]
    y: Buffer
    C: Buffer
    index: Buffer
    alpha: Buffer
    scores: Buffer
    leaving: Buffer
    entering: Buffer
    def __init__(
        self,
        kernel: Kernel,
        y: Buffer,
        C: Buffer,
        index: Buffer,
        split: bool,
        sums: tuple[float, ...],
        alpha: Buffer,
        scores: Buffer,
        leaving: Buffer,
        entering: Buffer,
    ) -> None: ...
    def cut(self) -> Buffer: ...
    def shared(self, free_only: bool) -> Buffer: ...

def seed_sir(round_: Round) -> Buffer: ...
def seed_top(round_: Round) -> Buffer: ...
def seed_near(round_: Round) -> Buffer: ...
def seed_avg(round_: Round) -> Buffer: ...
def adjust(round_: Round, start: Buffer) -> bool: ...
def moved_scores(round_: Round, targets: Targets, start_: Buffer, pool: ThreadPool) -> Buffer: ...

from libsvmx._solvers.seeding.fold_change import FoldChange
from libsvmx._typing import Buffer

class AtoPath:
    eta: float
    lines: int
    work: float
    whole: bool
    def first_line(self, change: FoldChange) -> tuple[list[float], list[float], list[float], float] | None: ...

def start_along_path(change: FoldChange) -> Buffer | None: ...

from libsvmx._solvers.seeding.fold_change import FoldChange
from libsvmx._typing import Buffer

def hand_over(
    change: FoldChange, start: Buffer, candidates: Buffer, *, same_class: bool = False, once: bool = False
) -> None: ...

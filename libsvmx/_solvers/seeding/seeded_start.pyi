from libsvmx._solvers.seeding.fold_change import FoldChange

class ChangeStart:
    def __init__(self, change: FoldChange) -> None: ...

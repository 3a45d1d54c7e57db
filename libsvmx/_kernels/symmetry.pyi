from libsvmx._kernels.kernel import Targets
from libsvmx._typing import Buffer

class Symmetry:
    n_stored: int
    def __init__(self, whole: Targets, rows: Buffer) -> None: ...

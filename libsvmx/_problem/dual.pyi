from libsvmx._typing import Buffer

class DualProblem:
    size: int
    split: bool
    y: Buffer
    linear: Buffer
    C: Buffer
    alpha: Buffer
    index: Buffer
    scores: Buffer | None
    def __init__(
        self,
        y: Buffer,
        linear: Buffer,
        C: Buffer,
        alpha: Buffer,
        index: Buffer,
        split: bool,
        scores: Buffer | None = None,
    ) -> None: ...

class DualSolution:
    alpha: Buffer
    scores: Buffer
    rho: float
    r: float
    objective: float
    iterations: int
    rows_computed: int
    values_computed: int
    chunks: int
    fallbacks: int
    status: str
    def __init__(
        self,
        alpha: Buffer,
        scores: Buffer,
        rho: float,
        r: float,
        objective: float,
        iterations: int,
        rows_computed: int,
        values_computed: int,
        status: str,
    ) -> None: ...

from typing import Any

import numpy as np
from numpy.typing import NDArray

from libsvmx._typing import Buffer, FloatArray
from libsvmx.enums import SolveStatus

class DualProblem:
    size: int
    groups: int
    linear: Buffer
    lower: Buffer
    upper: Buffer
    group: Buffer
    row: Buffer
    beta: Buffer
    scores: Buffer | None
    rounded: bool
    def __init__(
        self,
        linear: Buffer,
        lower: Buffer,
        upper: Buffer,
        group: Buffer,
        row: Buffer,
        beta: Buffer,
        scores: Buffer | None = None,
        rounded: bool = False,
    ) -> None: ...
    def changed(
        self,
        *,
        lower: Buffer | None = None,
        upper: Buffer | None = None,
        beta: Buffer | None = None,
        scores: Buffer | None = None,
        rounded: bool = False,
    ) -> DualProblem: ...
    def is_of_hinges(self) -> bool: ...
    def is_of_regression(self) -> bool: ...
    def largest_bound(self) -> float: ...
    def count_free(self, values: Buffer) -> int: ...

class DualSolution:
    beta: Buffer
    scores: Buffer
    rho: float
    r: float
    objective: float
    iterations: int
    rows_computed: int
    values_computed: int
    subproblems: int
    fallbacks: int
    work: float
    reach: float
    status: SolveStatus
    chosen: str
    gap: float
    def __init__(
        self,
        *,
        beta: Buffer,
        scores: Buffer,
        rho: float,
        r: float = 0.0,
        objective: float,
        iterations: int,
        rows_computed: int = 0,
        values_computed: int = 0,
        subproblems: int = 0,
        fallbacks: int = 0,
        work: float = 0.0,
        reach: float = 1.0,
        status: SolveStatus,
        chosen: str = "",
        gap: float = ...,
    ) -> None: ...
    def changed(self, **fields: Any) -> DualSolution: ...
    def with_work_of(self, other: DualSolution) -> DualSolution: ...

def kkt_gap(beta: Any, scores: Any, lower: Any, upper: Any, group: Any = None) -> float: ...

TOLERATED: float

def gap_in_double(problem: DualProblem, kernel: Any, beta: Buffer, control: Any) -> float | None: ...
def extremes(V: NDArray[Any], can_grow: NDArray[np.bool_], can_fall: NDArray[np.bool_]) -> tuple[float, float]: ...
def array_level(V: NDArray[Any], can_grow: NDArray[np.bool_], can_fall: NDArray[np.bool_]) -> float: ...
def first_bound(
    at: FloatArray, target: FloatArray, lower: FloatArray | float, upper: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]: ...
def project(beta: Buffer, lower: Buffer, upper: Buffer, missing: float, movable: Buffer) -> bool: ...
def growth_factor(problem: DualProblem, kept_beta: Buffer, kept_scores: Buffer, growth: float) -> float: ...

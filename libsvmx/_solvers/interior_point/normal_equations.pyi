from libsvmx._solvers.interior_point.point import Point
from libsvmx._solvers.interior_point.replies import RightHandSide
from libsvmx._solvers.interior_point.row_blocks import RowBlocks
from libsvmx._typing import FloatArray

EXACT_ENOUGH: float
MOST_GRADIENTS: int
MOST_SHIFTS: int

class NormalEquations:
    blocks: RowBlocks
    point: Point
    factor: object
    rows: int
    gradients: int
    poor: bool
    size: float
    def __init__(self, blocks: RowBlocks, point: Point, m: int, refines: bool) -> None: ...
    def factorize(self, thresholds: tuple[float, float] | None) -> bool: ...
    def solve(self, right: RightHandSide) -> tuple[FloatArray, float]: ...
    def solved(self, side: FloatArray) -> FloatArray: ...
    def times(self, v: FloatArray) -> FloatArray: ...
    def is_too_rough(self, residual: FloatArray) -> bool: ...

from typing import Any

from libsvmx._typing import FloatArray

class Losses:
    target_: FloatArray
    lower_: FloatArray
    upper_: FloatArray
    ridge_: FloatArray
    tube: float
    m: int
    is_squared: bool
    def __init__(
        self, target: FloatArray, lower: FloatArray, upper: FloatArray, ridge: FloatArray, tube: float
    ) -> None: ...
    def primal(self, scores: FloatArray) -> float: ...
    def dual(self, beta: FloatArray) -> float: ...
    def settle(
        self,
        scores: FloatArray,
        centre: FloatArray,
        sigma: FloatArray,
        beta: FloatArray,
        curvature: FloatArray,
    ) -> None: ...
    def slope(
        self, a: float, scores: FloatArray, along: FloatArray, centre: FloatArray, sigma: FloatArray
    ) -> tuple[float, float]: ...

class ChosenRows:
    rows_: Any
    chosen_: Any
    constant: float
    m: int
    n: int
    row_work: int
    def __init__(self, rows: Any, chosen: Any, constant: float) -> None: ...
    def scores(self, w: FloatArray, out: FloatArray, begin: int, end: int) -> None: ...
    def gather(self, beta: FloatArray, out: FloatArray, begin: int, end: int) -> None: ...
    def curvature(self, weights: FloatArray, v: FloatArray, out: FloatArray, begin: int, end: int) -> None: ...
    def squares(self, out: FloatArray, begin: int, end: int) -> None: ...

class Descent:
    n_active: int
    gap: float
    def __init__(
        self, rows: ChosenRows, losses: Losses, squares: FloatArray, beta: FloatArray, w: FloatArray
    ) -> None: ...
    def unshrink(self) -> None: ...
    def go_on(self, work: int) -> bool: ...

from collections.abc import Sequence

from libsvmx._solvers.interior_point.replies import DataSums, Residuals, RightHandSide
from libsvmx._typing import FloatArray

class Point:
    w: FloatArray
    rho: float
    mu: float
    gap: float
    objective: float
    r_w: FloatArray
    r_alpha: float
    r_u: float
    r_s: float
    dual: float
    inverse: float
    ybar: FloatArray
    predictor: RightHandSide

def point_of(data: DataSums, w: FloatArray, rho: float, blocks: Sequence[Residuals]) -> Point: ...

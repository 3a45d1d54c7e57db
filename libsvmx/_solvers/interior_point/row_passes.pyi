from libsvmx._typing import FloatArray

class RowsAt:
    def __init__(self, y: FloatArray, alpha: FloatArray, u: FloatArray, xi: FloatArray, s: FloatArray) -> None: ...
    def residuals(
        self, rho: float, z: FloatArray, upper: FloatArray, linear: FloatArray
    ) -> tuple[tuple[FloatArray, FloatArray, FloatArray], FloatArray, FloatArray, tuple[float, float]]: ...
    def right_side(
        self, sides: tuple[FloatArray, FloatArray, FloatArray], correction: tuple[FloatArray, FloatArray] | None
    ) -> FloatArray: ...
    def direction(
        self,
        sides: tuple[FloatArray, FloatArray, FloatArray],
        correction: tuple[FloatArray, FloatArray] | None,
        drho: float,
        d_z: FloatArray,
    ) -> tuple[tuple[FloatArray, FloatArray, FloatArray, FloatArray], float]: ...
    def corrector(self, direction: tuple[FloatArray, ...], sigma_mu: float) -> tuple[FloatArray, FloatArray]: ...

def moved(x: FloatArray, step: float, d: FloatArray) -> FloatArray: ...

"""What a low-rank factor of a kernel matrix is, and which one is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from libsvmx._typing import FloatArray, IntArray

METHODS = ("cholesky", "rpcholesky", "nystrom", "eigen")


@dataclass(frozen=True, slots=True)
class Approximation:
    """Settings of a low-rank factor; with rank and tolerance both, whichever is met first.

    Attributes
    ----------
    method : str           'cholesky', 'rpcholesky', 'nystrom' or 'eigen'
    rank : int             columns of the factor at most; 0: the tolerance decides
    tolerance : float      stop where trace(K - F F') <= tolerance * trace(K); 0: the rank decides. Nystroem doubles
        its landmarks until then, the other methods end with the first column that will do
    seed : int             of random pivots

    Raises
    ------
    ParameterError
    """

    method: str = "cholesky"
    rank: int = 0
    tolerance: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(f"unknown method {self.method!r}: choose one of {', '.join(METHODS)}")
        if not 0 <= self.rank < 2**31:
            raise ParameterError(f"rank must be between 0 and 2^31 - 1, not {self.rank}")
        if not 0.0 <= self.tolerance < 1.0:
            raise ParameterError(f"tolerance must be >= 0 and < 1, not {self.tolerance}")
        if self.rank == 0 and self.tolerance == 0.0:
            raise ParameterError("a low-rank factor needs a rank, or the error that it may have")
        if not 0 <= self.seed < 2**63:
            raise ParameterError(f"seed must be between 0 and 2^63 - 1, not {self.seed}")


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    """A factor F of a kernel matrix K of m rows, K ~ F F'.

    Attributes
    ----------
    factor : ndarray of float64, shape (m, r)       F, C order
    pivots : ndarray of int32, shape (p,)           rows of the problem, from 0, whose kernel values give the features
    transform : ndarray of float64, shape (p, r)    features of any row x: k(x, pivots) @ transform
    trace : float                                   of K
    trace_error : float                             trace of K - F F', >= 0
    method : str
    """

    factor: FloatArray
    pivots: IntArray
    transform: FloatArray
    trace: float
    trace_error: float
    method: str

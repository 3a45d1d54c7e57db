"""Low-rank factors of a kernel matrix, and their settings."""

from __future__ import annotations

from libsvmx._core.records import NamedTuple, record
from libsvmx._typing import FloatArray, IntArray

METHODS = ("cholesky", "rpcholesky", "nystrom", "eigen")


@record(frozen=True)
class FactorPolicy:
    """Sizes of blocks; tests make them small.

    Attributes
    ----------
    row_block : int        rows of a row block; sums depend on it, so it is the same for any number of threads
    pivots : int           pivots whose kernel values with a row block are computed at once
    tall, small : int      rows and columns of a tile of kernel values, which with the vectors fits 8 MB of cache;
        ``tall`` is a multiple of ``small``
    dense : int            rows up to which eigen decomposes all of K
    """

    row_block: int = 8192
    pivots: int = 256
    tall: int = 2048
    small: int = 256
    dense: int = 1000


USUAL = FactorPolicy()


class Approximation(NamedTuple):
    """Settings of a low-rank factor; with both rank and rank_error, whichever is met first. One is not 0.

    Attributes
    ----------
    low_rank : str         'cholesky', 'rpcholesky', 'nystrom' or 'eigen'
    rank : int             largest number of columns; 0: by rank_error
    rank_error : float     stop at trace(K - F F') <= rank_error * trace(K); 0: by rank. Nystroem doubles its landmarks
        until then, the other methods end with the first sufficient column
    random_state : int     seed of random pivots
    policy : FactorPolicy
    """

    low_rank: str = "cholesky"
    rank: int = 0
    rank_error: float = 0.0
    random_state: int = 1
    policy: FactorPolicy = USUAL


@record(frozen=True, slots=True, eq=False)
class LowRank:
    """A factor F of a kernel matrix K of m rows, K ~ F F'.

    Attributes
    ----------
    factor : ndarray of float64, shape (m, r)       F, C order
    pivots : ndarray of int32, shape (p,)           rows of the problem, from 0
    transform : ndarray of float64, shape (p, r)    features of any row x: k(x, pivots) @ transform; or None
    trace : float                                   of K
    trace_error : float                             trace of K - F F', >= 0
    method : str
    """

    factor: FloatArray
    pivots: IntArray
    transform: FloatArray | None
    trace: float
    trace_error: float
    method: str

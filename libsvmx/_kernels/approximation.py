"""What a low-rank factor of a kernel matrix is, and which one is wanted."""

from __future__ import annotations

from libsvmx._core.records import NamedTuple, record
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libsvmx._typing import FloatArray, IntArray

METHODS = ("cholesky", "rpcholesky", "nystrom", "eigen")


@record(frozen=True)
class FactorPolicy:
    """What is worked on at once, and where all of K is decomposed; tests make it small.

    Attributes
    ----------
    row_block : int        rows of a row block: sums depend on it, hence it is the same for any number of threads
    pivots : int           pivots whose kernel values with a row block are formed at once
    tall, small : int      rows and columns of a tile of kernel values, which with the vectors stays in a cache of 8 MB;
        ``tall`` is a multiple of ``small``
    dense : int            up to so many rows eigen decomposes all of K
    """

    row_block: int = 8192
    pivots: int = 256
    tall: int = 2048
    small: int = 256
    dense: int = 1000


USUAL = FactorPolicy()


class Approximation(NamedTuple):
    """What low-rank factor is wanted; with rank and rank_error both, whichever is met first. One of them is not 0.

    Attributes
    ----------
    low_rank : str         'cholesky', 'rpcholesky', 'nystrom' or 'eigen'
    rank : int             columns of the factor at most; 0: rank_error decides
    rank_error : float     stop where trace(K - F F') <= rank_error * trace(K); 0: the rank decides. Nystroem doubles
        its landmarks until then, the other methods end with the first column that will do
    random_state : int     of random pivots
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
    pivots : ndarray of int32, shape (p,)           rows of the problem, from 0, whose kernel values give the features
    transform : ndarray of float64, shape (p, r)    features of any row x: k(x, pivots) @ transform; None if
        it was not asked for
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

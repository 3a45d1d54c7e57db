"""Steps of a pivoted Cholesky factorization K ~ F F', for rows in row blocks.

With pivots P so far, F = K[:, P] L^-T where L L' = K[P, P], and the residual K - F F' is positive semidefinite and zero
in the rows of P. A step takes candidates, rows with a large diagonal of the residual, and eliminates some of them:

    S = K[c, c] - F[c] F[c]'                 residual of the candidates c, a small matrix
    pivots p among c, S[p, p] = N N'         N lower triangular, in the order in which they are chosen
    F <- [F, (K[:, p] - F F[p]') N^-T]       each row block on its own, given the pivots, their F and N
    d <- d - squares of the new columns      diagonal of the residual

Greedy (Fine & Scheinberg 2001): the next pivot has the largest residual of all rows. Residuals never grow, so a
candidate whose current residual is at least the initial maximum over the other rows is that pivot: a step finds many
pivots, the same as one at a time.

Random (Chen, Epperly, Tropp & Webber 2022): row i is the next pivot with probability d_i / sum d. Candidates drawn in
advance are accepted with probability (residual now) / (residual when drawn), which gives the same distribution
(Epperly, Tropp & Webber 2024).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from libsvmx._core.dense import product
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.stopping import NOBODY, Token
from libsvmx._kernels.block_kernel import KernelSpec, kernel_columns
from libsvmx._typing import FloatArray

Places = NDArray[np.intp]


def largest_rows(residual: FloatArray, count: int) -> tuple[Places, float]:
    """The rows with the ``count`` largest residuals; ties: the first ones.

    Returns
    -------
    places : ndarray of intp, shape (at most count,)     ascending
    bound : float                                        largest residual of any other row, 0 if there is none
    """
    if count >= len(residual):
        return np.arange(len(residual)), 0.0
    least, bound = np.partition(residual, [-count - 1, -count])[[-count, -count - 1]]
    above = np.flatnonzero(residual > least)
    level = np.flatnonzero(residual == least)
    return np.sort(np.concatenate([above, level[: count - len(above)]])), float(bound)


def largest_of_blocks(answers: list[tuple[FloatArray, float]], count: int) -> tuple[list[Places], float]:
    """Candidates of the whole problem out of those of its row blocks.

    Parameters
    ----------
    answers : list of (residuals, bound)      for each row block: residuals of its ``largest_rows``, and its bound
    count : int

    Returns
    -------
    chosen : list of ndarray of intp     for each row block, positions in its residuals
    bound : float                        largest residual of any other row of the problem
    """
    sizes = [len(residuals) for residuals, _ in answers]
    places, bound = largest_rows(np.concatenate([residuals for residuals, _ in answers]), count)
    ends = np.cumsum(sizes)
    chosen = [
        places[(places >= end - size) & (places < end)] - (end - size) for size, end in zip(sizes, ends, strict=True)
    ]
    return chosen, max([bound, *(least for _, least in answers)])


def drawn_rows(residual: FloatArray, marks: FloatArray) -> Places:
    """The row in which each mark, 0 <= mark < sum of the residuals above 0, lies when residuals are put end to end."""
    ends = np.cumsum(np.maximum(residual, 0.0))
    return np.minimum(np.searchsorted(ends, marks, side="right"), len(residual) - 1)


def marks_of_blocks(totals: FloatArray, marks: FloatArray) -> list[FloatArray]:
    """Marks, 0 <= mark < 1, dealt to row blocks in proportion to their residuals: the arguments of ``drawn_rows``."""
    ends = np.cumsum(totals)
    scaled = marks * ends[-1]
    block_of = np.minimum(np.searchsorted(ends, scaled, side="right"), len(totals) - 1)
    return [scaled[block_of == c] - (ends[c] - totals[c]) for c in range(len(totals))]


def residual_block(candidates: CsrMatrix, factor: FloatArray, spec: KernelSpec) -> FloatArray:
    """S = K[c, c] - F[c] F[c]', of shape (c, c), for the rows ``candidates`` with F[c] = ``factor``, (c, r)."""
    return np.asarray(kernel_columns(candidates, candidates, spec) - factor @ factor.T)


def choose_largest(block: FloatArray, bound: float, room: int, floor: float) -> tuple[Places, FloatArray]:
    """Pivots among candidates, the largest residual first.

    Parameters
    ----------
    block : ndarray, shape (c, c)       S
    bound : float       stop at residuals below it: the bound of the other rows for the pivots of one at a time; less
        for more pivots per step, of nearly the largest residual
    room : int          largest number of pivots
    floor : float       residuals up to it are rounding

    Returns
    -------
    pivots : ndarray of intp, shape (p,)            positions among the candidates
    lower : ndarray of float64, shape (p, p)        N, lower triangular
    """
    elimination = BlockElimination(block, room)
    while not elimination.full:
        place = int(np.argmax(elimination.residual))
        # the first is known to be the largest, despite rounding
        if not elimination.residual[place] > floor or (elimination.order and elimination.residual[place] < bound):
            break
        elimination.eliminate(place)
    return elimination.result()


def choose_random(block: FloatArray, chances: FloatArray, room: int, floor: float) -> tuple[Places, FloatArray]:
    """Pivots among drawn candidates, by rejection, in the order of drawing.

    ``chances``: (c,) random numbers, 0 <= chance < 1. The rest as in ``choose_largest``.
    """
    elimination = BlockElimination(block, room)
    drawn = block.diagonal()
    for place in range(len(block)):
        if elimination.full:
            break
        now = elimination.residual[place]
        if now > floor and chances[place] * drawn[place] < now:
            elimination.eliminate(place)
    return elimination.result()


class BlockElimination:
    """BlockElimination(block, room): Cholesky factorization of a block, pivot by pivot, of at most ``room`` pivots.

    Attributes
    ----------
    residual : ndarray of float64, shape (n,)        diagonal of the residual of the block; 0 for pivots
    order : list of int                              pivots, in order
    columns : ndarray of float64, shape (n, room)    of the factor, one per pivot
    """

    def __init__(self, block: FloatArray, room: int):
        self.block = block
        self.residual = block.diagonal().copy()
        self.columns = np.zeros((len(block), min(room, len(block))))
        self.order: list[int] = []

    @property
    def full(self) -> bool:
        return len(self.order) == self.columns.shape[1]

    def eliminate(self, place: int) -> FloatArray:
        """Eliminate a pivot with residual > 0; returns its column of the factor, shape (n,)."""
        n = len(self.order)
        column = self.block[:, place] - self.columns[:, :n] @ self.columns[place, :n]
        column /= np.sqrt(self.residual[place])
        column[place] = np.sqrt(self.residual[place])
        column[self.order] = 0.0
        self.columns[:, n] = column
        self.residual -= column * column
        self.order.append(place)
        self.residual[self.order] = 0.0
        return np.asarray(column)

    def result(self) -> tuple[Places, FloatArray]:
        order = np.array(self.order, dtype=np.intp)
        return order, self.columns[order, : len(order)]


def new_columns(
    row_block: CsrMatrix,
    factor: FloatArray,
    pivots: CsrMatrix,
    pivot_factor: FloatArray,
    lower: FloatArray,
    spec: KernelSpec,
    asking: Token = NOBODY,
) -> FloatArray:
    """Columns that pivots add to the factor of a row block: (K[:, p] - F F[p]') N^-T.

    Parameters
    ----------
    row_block : CsrMatrix                  m rows
    factor : ndarray, shape (m, r)     theirs before the step, C order
    pivots : CsrMatrix                 rows of the p new pivots
    pivot_factor : ndarray, shape (p, r)
    lower : ndarray, shape (p, p)      N

    Returns
    -------
    columns : ndarray of float64, shape (m, p), C order
    """
    from scipy.linalg import solve_triangular

    columns = kernel_columns(row_block, pivots, spec, asking)
    columns -= product(factor, pivot_factor.T, asking)
    return np.ascontiguousarray(solve_triangular(lower, columns.T, lower=True, check_finite=False).T)


def remaining(residual: FloatArray, columns: FloatArray) -> FloatArray:
    """Diagonal of the residual after a step, (m,), from the one before it and the columns that were added."""
    return np.asarray(residual - np.einsum("ij,ij->i", columns, columns))

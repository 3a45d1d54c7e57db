"""Dense matrices by BLAS and LAPACK, so that it is asked now and then whether to stop (stopping.py).

A call that takes longer than a question may wait is a thread's of its own (``awaited``), if it is one of NumPy's, which
let other threads of Python go on. SciPy's do not, and what works in place must not be left behind: that is done in
pieces. What one call of LAPACK does in some hundredths of a second is left to it: those bits are LAPACK's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from libsvmx._core.stopping import FLOPS, NOBODY, PIECE, TOUCHED, pieces
from libsvmx._core.threads import WHOLE, awaited

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from libsvmx._core.stopping import Token
    from libsvmx._typing import FloatArray

# Elements that are left to one call.
MOST_MOVED = 1 << 24
# Relative to the largest diagonal element: what lets a singular matrix have a factor; pivots of dependent rows then.
RIDGE = 1e-10
DEPENDENT = 1e-8
# Columns of an inverse, and means of them, that are tried to estimate its norm.
MOST_COLUMNS = 5


class Sizes(NamedTuple):
    """What is left to one call, and how large pieces are; tests make them small.

    Attributes
    ----------
    whole, most_moved : int      flops and elements that are left to one call
    piece : int                  flops of a piece
    rows : int                   that are written at a time where memory may be touched first
    block : int                  columns of a block of a factor
    """

    whole: int = WHOLE
    most_moved: int = MOST_MOVED
    piece: int = PIECE
    rows: int = 128
    block: int = 256


USUAL = Sizes()


def product(A: FloatArray, B: FloatArray, asking: Token = NOBODY) -> FloatArray:
    """A B, of shapes (m, k) and (k, n)."""
    found: FloatArray = awaited(np.matmul, A, B, flops=2 * A.size * B.shape[1], asking=asking)
    return found


def eigenpairs(A: FloatArray, asking: Token = NOBODY, count: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, ascending, and eigenvectors, the columns of shape (n, count), of a matrix that is symmetric up to
    rounding: of (A + A') / 2.

    ``count``: the largest ones, by default all.
    """
    n = len(A)
    flops = FLOPS * n**3  # it takes as long as that, for most of it waits for memory
    values, vectors = awaited(lambda: np.linalg.eigh((A + A.T) / 2), flops=flops, asking=asking)
    return values[n - (count or n) :], vectors[:, n - (count or n) :]


def first_columns(A: FloatArray, count: int, asking: Token = NOBODY, sizes: Sizes = USUAL) -> FloatArray:
    """The first columns of A, which is in C order, as an array in C order: in A's own memory, so A is gone."""
    if count == A.shape[1]:
        return A
    out = A.reshape(-1)[: len(A) * count].reshape(len(A), count)
    size = sizes.rows
    for begin in range(0, len(A), size):  # what is written has been read before
        out[begin : begin + size] = A[begin : begin + size, :count].copy()
        asking.ask(size * count)
    return out


def beside(A: FloatArray, B: FloatArray, asking: Token = NOBODY) -> FloatArray:
    """[A, B], in C order."""
    out = np.empty((len(A), A.shape[1] + B.shape[1]))
    flops = TOUCHED * FLOPS * (A.size + B.size)
    awaited(np.concatenate, (A, B), 1, out, flops=flops, asking=asking)
    return out


def put_columns(out: FloatArray, begin: int, columns: FloatArray, asking: Token = NOBODY, sizes: Sizes = USUAL) -> None:
    """out[:, begin : ...] = columns, some rows at a time: the first ones touch all of the memory of ``out``."""
    size = sizes.rows
    for first in range(0, len(out), size):
        out[first : first + size, begin : begin + columns.shape[1]] = columns[first : first + size]
        asking.ask(TOUCHED * size * out.shape[1])


def row_squares(A: FloatArray, asking: Token = NOBODY) -> FloatArray:
    """|a|^2 of each row."""
    found: FloatArray = awaited(np.einsum, "ij,ij->i", A, A, flops=FLOPS * A.size, asking=asking)
    return found


def cholesky(
    A: FloatArray, lower: int, asking: Token = NOBODY, overwrite: bool = False, sizes: Sizes = USUAL
) -> tuple[FloatArray, int]:
    """LAPACK's dpotrf without ``clean``: factor of one triangle of A, the other is of no use; and 0 if there is one.

    ``overwrite``: A may become the factor.
    """
    n = len(A)
    if n**3 // 3 <= sizes.whole:
        found, info = lapack.dpotrf(A, lower=lower, clean=0, overwrite_a=overwrite)
        asking.ask(n**3 // 3 // FLOPS)
        return found, info
    block = sizes.block
    factor = A if overwrite and A.flags.f_contiguous else np.array(A, order="F")
    L = factor if lower else factor.T  # L L' = A either way
    for begin in range(0, n, block):
        end = min(begin + block, n)
        known = L[begin:end, :begin]
        for first, last in pieces(begin, n, 2 * begin * block, sizes.piece):
            L[first:last, begin:end] -= L[first:last, :begin] @ known.T
            asking.ask((last - first) * begin * block * 2 // FLOPS)
        diagonal, info = lapack.dpotrf(L[begin:end, begin:end], lower=1, clean=0)
        if info:
            return factor, begin + info
        L[begin:end, begin:end] = diagonal
        for first, last in pieces(end, n, block**2, sizes.piece):
            L[first:last, begin:end] = blas.dtrsm(1.0, diagonal, L[first:last, begin:end], side=1, lower=1, trans_a=1)
            asking.ask((last - first) * block**2 // FLOPS)
    return factor, 0


def part(A: FloatArray, rows: NDArray[np.intp] | None = None, asking: Token = NOBODY) -> FloatArray:
    """A copy, in Fortran order, of the rows and columns ``rows`` of A, of all if None."""
    n = len(A) if rows is None else len(rows)
    # along columns, where A lies in memory, too, if it is in Fortran order
    lines = slice(None) if rows is None else np.ix_(rows, rows)
    copied: FloatArray = awaited(
        lambda: np.array(A.T[lines], order="C").T, flops=TOUCHED * FLOPS * n * n, asking=asking
    )
    return copied


def independent_rows(A: FloatArray, asking: Token = NOBODY, sizes: Sizes = USUAL) -> NDArray[np.intp]:
    """The rows of a positive semidefinite matrix that do not nearly depend on those before them: indices, ascending;
    none where the matrix turns out not to be one."""
    largest = A.diagonal().max()
    ridged = part(A, None, asking)
    ridged.flat[:: len(A) + 1] += RIDGE * largest
    factor, info = cholesky(ridged, 1, asking, True, sizes)
    return np.flatnonzero(factor.diagonal() ** 2 > DEPENDENT * largest) if not info else np.arange(0)


def factor_and_inverse_norm(A: FloatArray, asking: Token = NOBODY, sizes: Sizes = USUAL) -> tuple[FloatArray, float]:
    """Lower factor of A, which becomes it if in Fortran order, and an estimate of the 1-norm of A^-1, which but
    for rounding is not above it, or inf if there is no factor; A has a row at least."""
    factor, info = cholesky(A, 1, asking, True, sizes)
    return factor, np.inf if info else inverse_norm(factor, asking, sizes)


def inverse_norm(factor: FloatArray, asking: Token = NOBODY, sizes: Sizes = USUAL) -> float:
    """An estimate from below of the 1-norm of A^-1 by A's lower factor: |A^-1 x| at some x with |x| = 1.

    Hager's way from one x to a better one, and Higham's guard against bad luck: N. J. Higham, FORTRAN codes for
    estimating the one-norm of a real or complex matrix, ACM TOMS 14(4), 1988, algorithm 4.1. LAPACK's own, dpocon,
    asks nobody.
    """
    n = len(factor)
    x, signs, found = np.full(n, 1.0 / n), np.zeros(n), 0.0
    for _ in range(MOST_COLUMNS):
        solved = solve_cholesky(factor, x, 1, asking, sizes)
        norm, before = blas.dasum(solved), signs
        if norm <= found:
            break
        found, signs = norm, np.copysign(1.0, solved)
        if np.array_equal(signs, before):
            break
        slope = solve_cholesky(factor, signs, 1, asking, sizes)
        steepest = np.argmax(np.abs(slope))
        if not np.abs(slope[steepest]) > slope @ x:
            break
        x = np.zeros(n)
        x[steepest] = 1.0
    alternating = np.linspace(1.0, 2.0, n)
    alternating[1::2] *= -1.0
    guess = 2.0 * blas.dasum(solve_cholesky(factor, alternating, 1, asking, sizes)) / (3 * n)
    return max(found, guess) if np.isfinite(found + guess) else np.inf


def solve_cholesky(
    factor: FloatArray, right: FloatArray, lower: int, asking: Token = NOBODY, sizes: Sizes = USUAL
) -> FloatArray:
    """LAPACK's dpotrs: A^-1 ``right``, of shape (n,) or (n, k), by the factor that ``cholesky`` has made of A."""
    n = len(factor)
    if n * n <= sizes.most_moved:
        solved, _ = lapack.dpotrs(factor, right, lower=lower)
        asking.ask(n * n)
        return np.asarray(solved)
    L = factor if lower else factor.T
    x = np.array(right)
    blocks = list(pieces(0, n, FLOPS * n, sizes.piece))
    for begin, end in blocks:
        x[begin:end] -= L[begin:end, :begin] @ x[:begin]
        x[begin:end] = solve_triangular(L[begin:end, begin:end], x[begin:end], lower=True, check_finite=False)
        asking.ask((end - begin) * end)
    for begin, end in reversed(blocks):
        x[begin:end] -= L[end:, begin:end].T @ x[end:]
        x[begin:end] = solve_triangular(L[begin:end, begin:end], x[begin:end], lower=True, trans=1, check_finite=False)
        asking.ask((end - begin) * (n - begin))
    return x


def inverse_transposed(lower: FloatArray, asking: Token = NOBODY, sizes: Sizes = USUAL) -> FloatArray:
    """L^-T of a lower triangular matrix, shape (n, n)."""
    n = len(lower)
    if 0 < n**3 <= sizes.whole:  # SciPy before 1.14 has no inverse of no rows
        return np.asarray(solve_triangular(lower, np.eye(n), lower=True).T)
    found = np.zeros((n, n))
    for begin, end in pieces(0, n, n * n, sizes.piece):
        unit = np.eye(n - begin, end - begin)
        found[begin:end, begin:] = solve_triangular(lower[begin:, begin:], unit, lower=True, check_finite=False).T
        asking.ask((end - begin) * (n - begin) ** 2 // FLOPS)
    return found

"""Dense linear algebra by BLAS and LAPACK, with checks for a stop (stopping.pyx).

A long call of NumPy, which releases the interpreter, runs in a thread (``awaited``). SciPy's do not release it, and
operations in place must not be abandoned: these are done in pieces. A call of some hundredths of a second is not
divided, so its bits are LAPACK's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack, solve_triangular

from libsvmx._core.stopping import FLOPS, NOBODY, PIECE, TOUCHED, Token, pieces
from libsvmx._core.threads import WHOLE, awaited
from libsvmx._typing import FloatArray

# Elements of one call.
MOST_MOVED = 1 << 24
# Relative to the largest diagonal element: a ridge that gives a singular matrix a factor; pivots of dependent rows.
RIDGE = 1e-10
DEPENDENT = 1e-8
# Least columns of a piece of a triangular solve, which reads the whole factor: with 1 to 3 a piece it takes seven times
# as long (9,000 rows). These take 0.1 s with a factor of 10,000 rows.
COLUMNS = 32
# Steps of the estimate of the norm of an inverse.
MAX_COLUMNS = 5


class Sizes(NamedTuple):
    """Sizes of calls and pieces; tests make them small.

    Attributes
    ----------
    whole, most_moved : int      flops and elements of one call
    piece : int                  flops of a piece
    rows : int                   written at a time to memory that may be new
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
    """Eigenvalues, ascending, and eigenvectors, shape (n, count), of (A + A') / 2; ``count`` largest, None: all."""
    n = len(A)
    flops = FLOPS * n**3  # that slow, bound by memory
    values, vectors = awaited(lambda: np.linalg.eigh((A + A.T) / 2), flops=flops, asking=asking)
    return values[n - (count or n) :], vectors[:, n - (count or n) :]


def first_columns(A: FloatArray, count: int, asking: Token = NOBODY, sizes: Sizes = USUAL) -> FloatArray:
    """The first columns of A, both in C order, in A's memory: A must not be used afterwards."""
    if count == A.shape[1]:
        return A
    out = A.reshape(-1)[: len(A) * count].reshape(len(A), count)
    size = sizes.rows
    for begin in range(0, len(A), size):  # rows are read before they are overwritten
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
    """out[:, begin : ...] = columns, some rows at a time, as it may touch new memory of ``out``."""
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
    """LAPACK's dpotrf without ``clean``: factor in one triangle, the other undefined; and info, 0 on success.

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
    """A copy in Fortran order of the rows and columns ``rows`` (None: all) of A."""
    n = len(A) if rows is None else len(rows)
    # along columns, contiguous if A is in Fortran order
    lines = slice(None) if rows is None else np.ix_(rows, rows)
    copied: FloatArray = awaited(
        lambda: np.array(A.T[lines], order="C").T, flops=TOUCHED * FLOPS * n * n, asking=asking
    )
    return copied


def independent_rows(A: FloatArray, asking: Token = NOBODY, sizes: Sizes = USUAL) -> NDArray[np.intp]:
    """Ascending indices of the rows of a positive semidefinite matrix that do not nearly depend on earlier ones; none
    if it is indefinite."""
    largest = A.diagonal().max()
    ridged = part(A, None, asking)
    ridged.flat[:: len(A) + 1] += RIDGE * largest
    factor, info = cholesky(ridged, 1, asking, True, sizes)
    return np.flatnonzero(factor.diagonal() ** 2 > DEPENDENT * largest) if not info else np.arange(0)


def factor_and_inverse_norm(A: FloatArray, asking: Token = NOBODY, sizes: Sizes = USUAL) -> tuple[FloatArray, float]:
    """Lower factor of A, n > 0 (in place if in Fortran order), and a lower estimate of the 1-norm of A^-1; inf without
    a factor."""
    factor, info = cholesky(A, 1, asking, True, sizes)
    return factor, np.inf if info else inverse_norm(factor, asking, sizes)


def inverse_norm(factor: FloatArray, asking: Token = NOBODY, sizes: Sizes = USUAL) -> float:
    """A lower estimate of the 1-norm of A^-1 from A's lower factor: |A^-1 x| at some x with |x| = 1.

    Hager's method with Higham's safeguard: N. J. Higham, FORTRAN codes for estimating the one-norm of a real or complex
    matrix, ACM TOMS 14(4), 1988, algorithm 4.1. LAPACK's dpocon cannot be stopped.
    """
    n = len(factor)
    x, signs, found = np.full(n, 1.0 / n), np.zeros(n), 0.0
    for _ in range(MAX_COLUMNS):
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
    """LAPACK's dpotrs: A^-1 ``right``, shape (n,) or (n, k), with the factor of ``cholesky``."""
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


def solve_lower(L: FloatArray, right: FloatArray, asking: Token = NOBODY) -> FloatArray:
    """L^-1 ``right``, shape (n, k), in Fortran order and in place; L: lower triangular, n > 0."""
    n, count = right.shape
    for begin, end in pieces(0, count, n * n, max(PIECE, COLUMNS * n * n)):
        right[:, begin:end], _ = lapack.dtrtrs(L, right[:, begin:end], lower=1)
        asking.ask((end - begin) * n * n // FLOPS)
    return right


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

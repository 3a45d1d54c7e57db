"""Eigenpairs of a symmetric matrix in pieces, between which it is asked whether to stop.

A small matrix is LAPACK's business. A large one goes through LAPACK's own stages, each made of pieces:

    A = Q T Q'           to tridiagonal form by Householder reflections, some columns at a time (dsytrd, dlatrd)
    T = Z diag(w) Z'     divide and conquer (dstedc): halves, and what joins them has rank 1
    Q Z                  the reflections again, in blocks (dormtr)

Divide and conquer: T is [T1 0; 0 T2] + r u u', so of the halves' D = diag(w1, w2) and z = Q'u the eigenvalues are the
roots of 1 + r sum_j z_j^2 / (D_j - w), one between each two D. Where z_j is nothing, or two D are one, D_j is an
eigenvalue itself (deflation). The eigenvectors Q (D - w)^-1 z are orthogonal if z is that of the roots found.

Cuppen 1981; Gu & Eisenstat 1995; Golub & Van Loan, Matrix Computations, section 8.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import blas, eigh, lapack

from libsvmx._core.dense import USUAL, Sizes, product
from libsvmx._core.stopping import FLOPS, NOBODY, TOUCHED, pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from libsvmx._core.stopping import Asking
    from libsvmx._typing import FloatArray

    Places = NDArray[np.intp]
    Flags = NDArray[np.bool_]

# Deflation, in roundings of the largest number.
TOLERANCE = 8 * float(np.finfo(np.float64).eps)


class Panel(NamedTuple):
    """Reflections I - tau v v' of some columns: of rows from ``begin`` on, v are the columns of V."""

    begin: int
    V: FloatArray
    tau: FloatArray


def eigenpairs(
    A: FloatArray, asking: Asking = NOBODY, count: int | None = None, sizes: Sizes = USUAL
) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, ascending, and eigenvectors, the columns of shape (n, count), of a matrix that is symmetric up to
    rounding: of (A + A') / 2.

    ``count``: the largest ones, by default all.
    """
    n = len(A)
    if n == 0:  # to which SciPy before 1.14 says no
        return np.zeros(0), np.zeros((0, 0))
    if n <= sizes.eigen:
        values, vectors = eigh((A + A.T) / 2, subset_by_index=None if count is None else (n - count, n - 1))
        asking.ask(n**3)
        return values, vectors
    count = n if count is None else count
    even = np.empty((n, n), order="F")
    for begin, end in pieces(0, n, 2 * TOUCHED * FLOPS * n, sizes.piece):  # one of the two is read across its lines
        even[:, begin:end] = (A[:, begin:end] + A[begin:end].T) / 2
        asking.ask(2 * TOUCHED * (end - begin) * n)
    d, e, panels = tridiagonal(even, asking, sizes)
    scale = max(float(np.abs(d).max()), float(np.abs(e).max())) or 1.0
    values, vectors = halves(d / scale, e / scale, asking, sizes)
    return values[n - count :] * scale, reflected(panels, vectors[:, n - count :], asking, sizes)


def tridiagonal(A: FloatArray, asking: Asking, sizes: Sizes = USUAL) -> tuple[FloatArray, FloatArray, list[Panel]]:
    """Diagonal and subdiagonal of Q'A Q, and the reflections that are Q, first to last. The memory of A is used."""
    n = len(A)
    d, e, panels = np.empty(n), np.empty(n - 1), []
    rest, room, other = A, A.reshape(-1, order="F"), np.empty(n * n)
    for begin in range(0, n - 1, sizes.panel):
        width = min(sizes.panel, n - 1 - begin)
        V, W, tau = reduced_columns(rest, width, d[begin:], e[begin:], asking)
        panels.append(Panel(begin, V, tau))
        m, both, turned = len(rest), np.hstack([V, W])[width:], np.hstack([W, V])[width:]
        room, other, k = other, room, m - width
        left = room[: k * k].reshape(k, k, order="F")  # of one piece, as BLAS wants it
        for first, last in pieces(0, k, TOUCHED * FLOPS * k, sizes.piece):
            left[:, first:last] = rest[width:, width + first : width + last]
            asking.ask(TOUCHED * (last - first) * k)
        rest = left
        for first, last in pieces(0, m - width, 4 * width * m, sizes.piece):
            rest[first:, first:last] -= both[first:] @ turned[first:last].T
            asking.ask((last - first) * m * 4 * width // FLOPS)
    d[-1] = rest[-1, -1]
    return d, e, panels


def reduced_columns(
    A: FloatArray, width: int, d: FloatArray, e: FloatArray, asking: Asking
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The first columns of A reduced, of which the lower triangle counts: V, W and tau.

    A - V W' - W V' is what is left of A beside them. ``d`` and ``e`` get their elements.
    """
    m = len(A)
    V, W, tau = np.zeros((m, width)), np.zeros((m, width)), np.empty(width)
    for j in range(width):
        column = A[j:, j] - V[j:, :j] @ W[j, :j] - W[j:, :j] @ V[j, :j]
        d[j] = column[0]
        e[j], V[j + 2 :, j], tau[j] = (
            lapack.dlarfg(m - j - 1, column[1], column[2:]) if m - j > 2 else (column[1], 0, 0)
        )
        V[j + 1, j] = 1.0
        v = V[:, j]
        w = blas.dsymv(1.0, A, v, lower=1)
        w -= V[:, :j] @ (W[:, :j].T @ v) + W[:, :j] @ (V[:, :j].T @ v)
        w *= tau[j]
        w -= tau[j] / 2 * float(w @ v) * v
        W[j + 1 :, j] = w[j + 1 :]
        asking.ask(m * m // 2)
    return V, W, tau


def reflected(panels: list[Panel], Z: FloatArray, asking: Asking, sizes: Sizes = USUAL) -> FloatArray:
    """Q Z."""
    out = np.array(Z)
    for begin, V, tau in reversed(panels):
        # (I - tau_1 v_1 v_1') (I - tau_2 v_2 v_2') ... = I - V T V'
        T = np.diag(tau)
        for j in range(1, len(tau)):
            T[:j, j] = -tau[j] * (T[:j, :j] @ (V[:, :j].T @ V[:, j]))
        VT = V @ T
        for first, last in pieces(0, Z.shape[1], 4 * V.size, sizes.piece):
            part = out[begin:, first:last]
            part -= VT @ (V.T @ part)
            asking.ask((last - first) * 4 * V.size // FLOPS)
    return out


def halves(d: FloatArray, e: FloatArray, asking: Asking, sizes: Sizes = USUAL) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, ascending, and eigenvectors of the tridiagonal matrix with this diagonal and subdiagonal."""
    n = len(d)
    if n <= sizes.eigen:
        values, vectors = eigh(np.diag(d) + np.diag(e, -1), driver="evd")
        asking.ask(n**3)
        return values, vectors
    half, between = n // 2, float(e[n // 2 - 1])
    upper, lower = d[:half].copy(), d[half:].copy()
    upper[-1] -= abs(between)
    lower[0] -= abs(between)
    w1, Q1 = halves(upper, e[: half - 1], asking, sizes)
    w2, Q2 = halves(lower, e[half:], asking, sizes)
    z = np.concatenate([Q1[-1], np.sign(between) * Q2[0]])
    return joined(np.concatenate([w1, w2]), Q1, Q2, z, abs(between), asking, sizes)


def joined(
    D: FloatArray, Q1: FloatArray, Q2: FloatArray, z: FloatArray, weight: float, asking: Asking, sizes: Sizes = USUAL
) -> tuple[FloatArray, FloatArray]:
    """Eigenpairs of Q (diag(D) + weight z z') Q', Q = [Q1 0; 0 Q2]."""
    n, half = len(D), len(Q1)
    Q = np.zeros((n, n))
    Q[:half, :half], Q[half:, half:] = Q1, Q2
    weight, z = weight * float(z @ z), z / (float(np.sqrt(z @ z)) or 1.0)
    D, mixed = D.copy(), np.zeros(n, dtype=bool)
    left = deflated(D, Q, z, weight, mixed)
    asking.ask(n * n)
    if len(left) > 2:
        values, U = rank_one(D[left], z[left], weight, asking)
    else:  # dlasd4 wants three
        values, U = np.linalg.eigh(np.diag(D[left]) + weight * np.outer(z[left], z[left]))
    # columns that no rotation has mixed are zero in one half
    above, below = left[(left < half) | mixed[left]], left[(left >= half) | mixed[left]]
    of_above, of_below = np.isin(left, above), np.isin(left, below)
    new = product(Q[:half, above], U[of_above], asking, sizes), product(Q[half:, below], U[of_below], asking, sizes)
    Q[:half, left], Q[half:, left] = new
    D[left] = values
    order = np.argsort(D, kind="stable")
    asking.ask(n * n)
    return D[order], Q[:, order]


def deflated(D: FloatArray, Q: FloatArray, z: FloatArray, weight: float, mixed: Flags) -> Places:
    """The places, D ascending, at which D is no eigenvalue; of equal D all but one become ones, by rotations of Q."""
    tolerance = TOLERANCE * max(float(np.abs(D).max()), float(np.abs(z).max()))
    left: list[int] = []
    if weight * float(np.abs(z).max()) <= tolerance:
        return np.array(left, dtype=np.intp)
    for place in np.argsort(D, kind="stable"):
        if weight * abs(z[place]) <= tolerance:
            continue
        if left:
            before = left[-1]
            length = float(np.hypot(z[before], z[place]))
            c, s = z[place] / length, -z[before] / length
            if abs((D[place] - D[before]) * c * s) <= tolerance:
                z[place], z[before] = length, 0.0
                Q[:, before], Q[:, place] = c * Q[:, before] + s * Q[:, place], c * Q[:, place] - s * Q[:, before]
                mixed[[before, place]] = True
                D[before], D[place] = D[before] * c * c + D[place] * s * s, D[before] * s * s + D[place] * c * c
                left.pop()
        left.append(int(place))
    return np.array(left, dtype=np.intp)


def rank_one(D: FloatArray, z: FloatArray, weight: float, asking: Asking) -> tuple[FloatArray, FloatArray]:
    """Eigenpairs of diag(D) + weight z z', D ascending, all z and the gaps of D beyond rounding."""
    k = len(D)
    # of squares: dlasd4 is for singular values
    d = np.sqrt(D - D[0])
    z = z / float(np.sqrt(z @ z))
    M, values = np.empty((k, k), order="F"), np.empty(k)
    for i in range(k):
        near, _, far, info = lapack.dlasd4(i, d, z, weight)
        if info:
            raise np.linalg.LinAlgError("no eigenvalue of a rank-one change")
        M[:, i] = near * far  # d_j^2 - w_i
        closest = int(np.argmin(np.abs(M[:, i])))
        values[i] = D[closest] - M[closest, i]
        asking.ask(16 * k)
    shape = np.ones(k)
    for i in range(k):
        gaps = (d - d[i]) * (d + d[i])  # to the last digit, as dlasd4 has them
        gaps[i] = 1.0
        shape *= M[:, i] / gaps
        asking.ask(4 * k)
    shape = np.copysign(np.sqrt(np.abs(shape)), z)
    for i in range(k):
        column = shape / M[:, i]
        M[:, i] = column / np.sqrt(column @ column)
        asking.ask(4 * k)
    return values, M

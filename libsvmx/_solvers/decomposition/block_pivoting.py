"""Block principal pivoting: all variables that are wrong are exchanged at once, until none is.

With F the free variables, and the others at a bound,

    K_F,F dx + b e = V_F,     e'dx = total - sum of beta

moves F to where its scores are one level b. Wrong then are the variables of F beyond a bound, which go to that bound,
and those at a bound whose score is on the wrong side of b, which join F (Judice & Pires, Computers & Operations
Research 21, 1994; Hintermueller, Ito & Kunisch, SIAM J. Optim. 13, 2002, as a semismooth Newton method). Where K_F,F is
not nearly singular, that is where many variables are free, the set of the optimum is found in some ten to twenty rounds
from a rough start, however large C is. Elsewhere it may cycle: a solve is given up (None) after ``PATIENCE`` rounds
without fewer wrong variables than ever, or ``MOST_ROUNDS`` in all.

A round costs a factor of K_F,F, in double, or, where few variables have been exchanged since the last factor, those
columns alone (``Free``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.dense import cholesky, product, solve_lower
from libsvmx._core.stopping import Control, Token
from libsvmx._core.threads import awaited
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.dual import DualProblem, DualSolution, array_level, kkt_gap
from libsvmx._typing import Buffer, FloatArray
from libsvmx.enums import SolveStatus

Places = NDArray[np.intp]

# Rounds without fewer wrong variables than ever before a solve is given up, rounds in all, and rounds that refine the
# solution of one set.
PATIENCE = 6
MOST_ROUNDS = 40
REFINEMENTS = 3
# Rows over which ``typical_pivot`` factors K.
SAMPLE = 500
# Share of eps by which the score of a variable at a bound may be on the wrong side.
SLACK = 0.25
# Columns are exchanged, instead of a new factor, up to this share of the variables of the factor.
EXCHANGED = 0.25
# A ridge relative to the mean diagonal, for the factor of a K_F,F that rounding makes indefinite.
RIDGE = 1e-10


@one_blas_thread()
def typical_pivot(kernel: Kernel, asking: Token) -> float:
    """Median pivot of a Cholesky factor of K over rows at equal distances, relative to the mean diagonal: the share of
    a row's norm outside of the span of others. With few features it is near 0, and sets cycle.

    Raises Stopped; MemoryError.
    """
    rows = np.linspace(0, kernel.n - 1, min(SAMPLE, kernel.n)).astype(np.int32)
    A = np.empty((len(rows),) * 2, order="F")
    kernel.block(rows, rows, A, asking, True)
    kernel.values_computed += len(rows) ** 2 // 2
    mean = float(np.abs(A.diagonal()).mean())
    A.flat[:: len(rows) + 1] += RIDGE * mean
    L, info = cholesky(A, 1, asking, overwrite=True)
    return 0.0 if info or not mean else float(np.median(L.diagonal() ** 2)) / mean


@one_blas_thread()  # sums would depend on the number of threads
def solve(dual: DualProblem, kernel: Kernel, control: Control, most_free: int, beta: Buffer) -> DualSolution | None:
    """The optimum of ``dual``, of one group, from ``beta``; None if it is not found.

    ``most_free``: with more free variables in a round than these it is given up.

    Raises
    ------
    Stopped; KeyboardInterrupt or what else a signal handler raises; MemoryError
    """
    problem = Scored(dual, kernel, control)
    lower, upper = problem.lower, problem.upper
    x = np.clip(np.array(beta), lower, upper)
    total, V = float(np.sum(beta)), problem.scores(x)
    is_free, slack = (x < upper) & (x > lower), SLACK * control.eps
    free, fewest, idle, exchanged, fixed = Free(problem, control), dual.size + 1, 0, 0, 0
    for _ in range(MOST_ROUNDS):
        F = np.flatnonzero(is_free)
        if not 0 < len(F) <= most_free or idle > PATIENCE or fixed > REFINEMENTS:
            return None
        found = free.step(F, V[F], total - float(x.sum()))
        if found is None:
            return None
        way, level = found
        x[F] += way
        V -= problem.times(F, way)
        out = is_free & ((x < lower) | (x > upper))
        excess, join = V - level, ~is_free & (lower < upper)
        join &= ((x <= lower) & (excess > slack)) | ((x >= upper) & (excess < -slack))
        wrong = int(np.count_nonzero(out) + np.count_nonzero(join))
        exchanged += wrong
        clipped = np.clip(x, lower, upper)
        back = np.flatnonzero(clipped != x)
        V += problem.times(back, x[back] - clipped[back])
        x = clipped
        idle = 0 if wrong < fewest else idle + 1
        fewest, fixed = min(fewest, wrong), 0 if wrong else fixed + 1
        is_free = (is_free & ~out) | join
        if not wrong:
            x[F] = np.clip(x[F] + (total - float(x.sum())) / len(F), lower[F], upper[F])  # rounding
            V = problem.scores(x)
            gap = kkt_gap(x, V, lower, upper)
            if gap <= control.eps:
                return DualSolution(
                    beta=x, scores=V, rho=-array_level(V, x < upper, x > lower),
                    objective=float(-(problem.linear + V) @ x / 2), iterations=exchanged,
                    values_computed=kernel.values_computed, status=SolveStatus.CONVERGED)  # fmt: skip
    return None


class Scored:
    """Scored(dual, kernel, asking): a dual problem as arrays, and its scores in double."""

    def __init__(self, dual: DualProblem, kernel: Kernel, asking: Token) -> None:
        self.kernel, self.asking = kernel, asking
        self.linear, self.lower, self.upper = (np.array(of) for of in (dual.linear, dual.lower, dual.upper))
        self.row: NDArray[np.int32] = np.array(dual.row, dtype=np.int32)

    def scores(self, beta: FloatArray) -> FloatArray:
        """V = linear - K beta."""
        return self.linear - self.times(np.flatnonzero(beta), beta[beta != 0])

    def times(self, places: Places, weights: FloatArray) -> FloatArray:
        """K over all variables times ``weights`` of those at ``places``."""
        of_rows = np.zeros(self.kernel.n)
        np.add.at(of_rows, self.row[places], weights)
        self.kernel.values_computed += len(places) * self.kernel.n
        found: FloatArray = np.asarray(self.kernel.times(of_rows, self.asking))[self.row]
        return found

    def block(self, members: Places, sources: Places, out: FloatArray, lower: bool = False) -> FloatArray:
        """``out``, in Fortran order, becomes K[members, sources]; ``lower``: at least its lower triangle."""
        self.kernel.values_computed += len(members) * len(sources) // (1 + lower)
        self.kernel.block(self.row[sources], self.row[members], out, self.asking, lower)
        return out


class Free:
    """Free(problem, asking): Newton steps of the free variables F.

    The factor L of K_S,S + ridge is of the F of an earlier step, S. With J = F - S, and H = S - F, whose steps are held
    at 0 (u: their multipliers), the equations are

        K_S,S y + B z = V_S,     B'y + D z = (V_J, 0, missing)          z = (step of J, u, b)
        B = [K_S,J  E_H  e],     D = [K_J,J  0  e; 0  0  0; e'  0  0]

    and with Z = L^-1 B, z solves (D - Z'Z) z = (V_J, 0, missing) - Z'L^-1 V_S.
    """

    def __init__(self, problem: Scored, asking: Token) -> None:
        self.problem, self.asking = problem, asking
        self.S: Places = np.empty(0, dtype=np.intp)
        self.L: FloatArray = np.empty((0, 0))

    def step(self, F: Places, V: FloatArray, missing: float) -> tuple[FloatArray, float] | None:
        """Steps of F, ascending, with scores ``V``, whose sum is ``missing``, and the level; None without a
        factor."""
        joined, held = np.setdiff1d(F, self.S, True), np.setdiff1d(self.S, F, True)
        if len(joined) + len(held) > EXCHANGED * len(self.S):
            if not self.factor(F):
                return None
            joined = held = F[:0]
        n, k = len(self.S), len(joined)
        B, D = np.zeros((n, k + len(held) + 1), order="F"), np.zeros((k + len(held) + 1,) * 2)
        self.problem.block(self.S, joined, B[:, :k])
        D[:k, :k] = self.problem.block(joined, joined, np.empty((k, k), order="F"))
        B[np.searchsorted(self.S, held), k + np.arange(len(held))] = 1.0
        B[:, -1] = D[-1, :k] = D[:k, -1] = 1.0
        own = np.isin(self.S, F)
        right = np.zeros((n, 1), order="F")
        right[own, 0] = V[np.isin(F, self.S)]
        Z, half = solve_lower(self.L, B, self.asking), solve_lower(self.L, right, self.asking)
        z = np.append(V[np.isin(F, joined)], np.zeros(len(held) + 1))
        z[-1] = missing
        try:
            D -= product(Z.T, Z, self.asking)
            z = awaited(np.linalg.solve, D, z - (Z.T @ half)[:, 0], flops=len(z) ** 3, asking=self.asking)
        except np.linalg.LinAlgError:
            return None
        y, _ = lapack.dtrtrs(self.L, half[:, 0] - Z @ z, lower=1, trans=1)
        self.asking.ask(n * n)
        way = np.empty(len(F))
        way[np.isin(F, self.S)], way[np.isin(F, joined)] = y[own], z[:k]
        return (way, float(z[-1])) if np.isfinite(way).all() else None

    def factor(self, F: Places) -> bool:
        """Make the factor that of F; whether there is one."""
        self.L = np.empty((0, 0))  # not two at once
        A = self.problem.block(F, F, np.empty((len(F),) * 2, order="F"), True)
        A.flat[:: len(F) + 1] += RIDGE * float(np.abs(A.diagonal()).mean())
        self.L, info = cholesky(A, 1, self.asking, overwrite=True)
        self.S = F
        return not info

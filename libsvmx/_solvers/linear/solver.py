"""Linear machines with a penalised intercept, by coordinate descent and Newton steps.

Problem and dual: row_passes.pyx. Newton steps are those of the method of multipliers, on

    min_w  1/2 |w|^2 + sum_k max_beta (r_k beta - tube |beta| - (beta - centre_k)^2 / (2 sigma_k)),   r = target - X w

with beta_k in its box. Its gradient is w - X'beta, its generalised Hessian I + sum of sigma_k x_k x_k', beta_k free.
The next centre is beta, and sigma grows. A squared loss is a single such subproblem, centre 0 and sigma = 1 / ridge.

Yan & Li, An efficient augmented Lagrangian-based method for linear equality-constrained Lasso and support vector
machines, 2020, arXiv:1912.06800, with a line search, and w by Cholesky or conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from libsvmx._core.dense import cholesky, solve_cholesky
from libsvmx._core.stopping import NOBODY, Stopped, Token
from libsvmx._kernels.feature_products import SparseRows
from libsvmx._kernels.featurerows import DenseRows
from libsvmx._solvers.linear.row_passes import ChosenRows, Descent, Losses
from libsvmx._typing import FloatArray
from libsvmx.enums import SolveStatus

# Values of rows between two checks for a stop: some milliseconds.
PIECE = 1 << 22
# Tolerance of a subproblem relative to the gap, and of a line search relative to the initial slope.
INNER, SLOPE = 0.1, 0.1
# sigma grows by STEPS / (Newton steps of the subproblem), between 1 and GROWTH.
STEPS, GROWTH = 30, 10.0
# Tries of a line search; conjugate gradient steps, and their relative residual.
TRIES, GRADIENTS, RESIDUAL = 30, 200, 0.1
# Consecutive subproblems without a smaller gap, or steps of the only one without a smaller objective, that end a solve.
MAX_FAILURES = 5


class LinearPolicy(NamedTuple):
    """Choice of the method.

    Attributes
    ----------
    most_features : int      up to this many, Newton steps with a factorized Hessian only; with more features
    passes : int             of coordinate descent first, then Newton steps by conjugate gradients
    """

    most_features: int = 512
    passes: int = 300


USUAL = LinearPolicy()


class LinearSolution(NamedTuple):
    """The best point found.

    Attributes
    ----------
    w : array of shape (n,)
    beta : array of shape (m,)       feasible in the dual
    objective, gap : float           primal value at w; its difference to the dual value of beta
    iterations : int                 passes of coordinate descent and Newton steps
    status : SolveStatus
    """

    w: FloatArray
    beta: FloatArray
    objective: float
    gap: float
    iterations: int
    status: SolveStatus


class LinearSolver:
    """One solve, and its best point so far."""

    def __init__(
        self,
        rows: ChosenRows,
        losses: Losses,
        tol: float,
        max_iter: int,
        asking: Token = NOBODY,
        policy: LinearPolicy = USUAL,
    ) -> None:
        self.rows, self.losses, self.tol, self.max_iter = rows, losses, tol, max_iter
        self.asking, self.policy = asking, policy
        self.factorizes = rows.n <= policy.most_features
        self.iterations = 0
        self.w, self.beta = np.zeros(rows.n), np.zeros(rows.m)
        self.objective = self.gap = losses.primal(np.zeros(rows.m))

    def solve(self, start: FloatArray | None = None) -> LinearSolution:
        """The optimum to a gap of ``tol`` times the objective, or the best point at a stop; ``start``: a feasible beta,
        shape (m,), None for 0."""
        try:
            if start is not None:
                self.take_dual(start)
            if not self.factorizes:
                self.descend()
            self.step()
            status = SolveStatus.ROUNDING if self.iterations < self.max_iter else SolveStatus.ITERATION_LIMIT
        except Stopped as stop:
            status = stop.status
        if self.is_solved:
            status = SolveStatus.CONVERGED
        return LinearSolution(self.w, self.beta, self.objective, self.gap, self.iterations, status)

    @property
    def is_solved(self) -> bool:
        return self.gap <= self.tol * self.objective < np.inf

    @property
    def goes_on(self) -> bool:
        return not self.is_solved and self.iterations < self.max_iter

    def take(self, w: FloatArray, scores: FloatArray, beta: FloatArray, gathered: FloatArray) -> float:
        """Keep the w, beta of smallest gap; returns the objective. ``scores``: X w, ``gathered``: X'beta."""
        primal = 0.5 * float(w @ w) + self.losses.primal(scores)
        gap = primal - self.losses.dual(beta) + 0.5 * float(gathered @ gathered)
        if gap < self.gap:
            self.w, self.beta, self.objective, self.gap = w.copy(), beta.copy(), primal, max(gap, 0.0)
        return primal

    def take_dual(self, beta: FloatArray) -> FloatArray:
        """``take`` for beta and w = X'beta; returns w."""
        w = self.gathered(beta)
        self.take(w, self.scores(w), beta, w)
        return w

    # ---- Products with all rows ------------------------------------------------------------------

    def pieces(self, m: int | None = None) -> Iterator[tuple[int, int]]:
        """Intervals [begin, end) of all rows, or of m, with checks for a stop between them."""
        size, m = max(1, PIECE // self.rows.row_work), self.rows.m if m is None else m
        for begin in range(0, m, size):
            end = min(begin + size, m)
            yield begin, end
            self.asking.ask((end - begin) * self.rows.row_work)

    def scores(self, w: FloatArray) -> FloatArray:
        """X w."""
        found = np.empty(self.rows.m)
        for begin, end in self.pieces():
            self.rows.scores(w, found, begin, end)
        return found

    def gathered(self, beta: FloatArray) -> FloatArray:
        """X'beta."""
        found = np.zeros(self.rows.n)
        for begin, end in self.pieces():
            self.rows.gather(beta, found, begin, end)
        return found

    # ---- Coordinate descent ----------------------------------------------------------------------

    def descend(self) -> None:
        squares = np.empty(self.rows.m)
        for begin, end in self.pieces():
            self.rows.squares(squares, begin, end)
        beta, w = self.beta.copy(), self.gathered(self.beta)
        descent = Descent(self.rows, self.losses, squares, beta, w)
        try:
            for _ in range(self.policy.passes):
                if not self.goes_on:
                    break
                self.whole_pass(descent)
                self.iterations += 1
                # a gap over active rows, each at its time: a hint when to compute it over all rows
                gap = descent.gap / self.tol
                if gap <= self.objective and gap <= self.losses.dual(beta) - 0.5 * float(w @ w):
                    w[:] = self.take_dual(beta)
                    descent.unshrink()
            if not self.is_solved:
                self.take_dual(beta)
        except Stopped:
            self.keep_at_the_end(beta)
            raise

    def whole_pass(self, descent: Descent) -> None:
        """A pass of coordinate descent, with a check for a stop after each piece."""
        ended = False
        while not ended:
            ended = descent.go_on(PIECE)
            self.asking.ask(min(PIECE, descent.n_active * self.rows.row_work))

    def keep_at_the_end(self, beta: FloatArray) -> None:
        """``take_dual`` after a stop, without further checks."""
        asking, self.asking = self.asking, NOBODY
        self.take_dual(beta)
        self.asking = asking

    # ---- Newton steps ----------------------------------------------------------------------------

    def step(self) -> None:
        """Solve subproblems as long as the gap falls."""
        losses, w = self.losses, self.w
        if losses.is_squared:
            self.subproblem(w, np.zeros(self.rows.m), 1.0 / losses.ridge_)
            return
        # sigma such that boxes are as wide as targets are large
        cost = np.maximum(losses.upper_, -losses.lower_)
        centre, sigma = self.beta, cost * (cost.sum() / max(float(cost @ np.abs(losses.target_)), 1e-300))
        failures = 0
        while self.goes_on and failures < MAX_FAILURES:
            before, gap = self.iterations, self.gap
            w, centre = self.subproblem(w, centre, sigma)
            sigma = sigma * min(GROWTH, max(1.0, STEPS / max(self.iterations - before, 1)))
            failures = failures + 1 if self.gap >= gap else 0

    def subproblem(self, w: FloatArray, centre: FloatArray, sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Approximate minimum: w and beta; to ``tol`` if it is the only subproblem."""
        rows, losses = self.rows, self.losses
        scores, beta, curvature = self.scores(w), np.empty(rows.m), np.empty(rows.m)
        steps, failures, least = 0, 0, np.inf
        while True:
            losses.settle(scores, centre, sigma, beta, curvature)
            gathered = self.gathered(beta)
            objective = self.take(w, scores, beta, gathered)
            self.asking.ask(self.rows.m)
            failures, least = (0, objective) if objective < least else (failures + 1, least)
            gradient = w - gathered
            square = float(gradient @ gradient)
            if not self.goes_on or square == 0:
                break
            if failures >= MAX_FAILURES if losses.is_squared else square <= 2 * INNER * self.gap or steps >= STEPS:
                break
            direction = self.direction(gradient, curvature)
            self.iterations += 1
            steps += 1
            along = self.scores(direction)
            at_start = float(gradient @ direction)
            a = self.length(w, direction, at_start, scores, along, centre, sigma)
            w = w + a * direction
            scores += a * along
        return w, beta

    def direction(self, gradient: FloatArray, curvature: FloatArray) -> FloatArray:
        """-H^-1 gradient, approximately."""
        if self.factorizes:
            factor, info = cholesky(self.hessian(curvature), 1, self.asking, True)
            if not info:  # else not positive definite by rounding, at a large sigma
                return -solve_cholesky(factor, gradient, 1, self.asking)
        return self.conjugate_gradients(-gradient, curvature)

    def hessian(self, curvature: FloatArray) -> FloatArray:
        """Lower triangle of I + sum of curvature_k x_k x_k'."""
        rows, known, constant = self.rows, self.rows.rows_, self.rows.constant
        free = np.flatnonzero(curvature)
        H, p = np.zeros((rows.n, rows.n), order="F"), rows.n - (constant != 0)
        for begin, end in self.pieces(len(free)):
            members, weights = rows.chosen_[free[begin:end]], curvature[free[begin:end]]
            if isinstance(known, SparseRows):
                outer, total = known.gram(members, weights, self.asking)
            elif known.dtype == np.float32:
                outer, total = DenseRows(known[members]).gram(None, weights, self.asking)
            else:
                outer, total = DenseRows(known).gram(members, weights, self.asking)
            H[:p, :p] += outer
            if constant:
                H[p, :p] += constant * total
                H[p, p] += constant**2 * weights.sum()
        H.flat[:: rows.n + 1] += 1.0
        return H

    def conjugate_gradients(self, right: FloatArray, curvature: FloatArray) -> FloatArray:
        """H^-1 right, approximately. (H's diagonal as preconditioner took 2 to 5 times as long on text.)"""
        x, r = np.zeros(self.rows.n), right.copy()
        p, square = r.copy(), float(r @ r)
        goal = RESIDUAL**2 * square
        for _ in range(GRADIENTS):
            if square <= goal:
                break
            Hp = p.copy()
            for begin, end in self.pieces():
                self.rows.curvature(curvature, p, Hp, begin, end)
            a = square / float(p @ Hp)
            x += a * p
            r -= a * Hp
            before, square = square, float(r @ r)
            p = r + square / before * p
        return x

    def length(
        self,
        w: FloatArray,
        direction: FloatArray,
        at_start: float,
        scores: FloatArray,
        along: FloatArray,
        centre: FloatArray,
        sigma: FloatArray,
    ) -> float:
        """Line search: to where the slope of the subproblem, piecewise linear and ``at_start`` at 0, is nearly 0."""
        linear, square = float(w @ direction), float(direction @ direction)
        low, high, a = 0.0, np.inf, 1.0
        for _ in range(TRIES):
            first, second = self.losses.slope(a, scores, along, centre, sigma)
            self.asking.ask(self.rows.m)
            slope = linear + a * square + first
            if abs(slope) <= SLOPE * abs(at_start):
                break
            low, high = (a, high) if slope < 0 else (low, a)
            a -= slope / (square + second)
            if not low < a < high:
                a = 2 * low if high == np.inf else 0.5 * (low + high)
        return a

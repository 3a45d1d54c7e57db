"""Mehrotra's predictor-corrector with constraint reduction (Jung, O'Leary & Tits 2008, Algorithm 1).

The vectors over rows are in block_steps.py; here are w, gamma, and the normal equations (3.11), (3.23)

    M_(Q) dw = -rbar_w - rbar_alpha / (e'Omega^-1 e) ybar,      ybar = X'Omega^-1 e
    M_(Q) = I + sum_Q x x'/omega - ybar_Q ybar_Q' / sum_Q 1/omega
    rbar_w = r_w + X'Y Omega^-1 r_Omega,   rbar_alpha = r_alpha - y'Omega^-1 r_Omega
    dgamma = (-rbar_alpha + ybar'dw) / (e'Omega^-1 e)                                                        (3.12)

whose matrix, n x n for n features, is the cost of an iteration: |Q| n^2 flops.

Beyond the paper:

* The start and the thresholds do not change with the scale of C and of X. rho is (mu/mean tau)^(1/beta), and q_L counts
  |x| / omega >= theta sqrt(mu), |x| being the root of the mean |x|^2: with the paper's data it is about 1.
* A direction of M_(Q) does not reduce r_w by the step as one of M does; what it leaves is the residual of the equations
  of M, at no cost. Where that is large, they are solved by conjugate gradients preconditioned by M_(Q), two products
  with X each. So few patterns take no more iterations than all of them; the paper's algorithm, without, may stall.
* sigma mu is never below what the tolerance asks of mu: where the residuals lag, the complementarity waits for them.
* Where the factor is dear, centrality correctors (Gondzio 1996, section 3) lengthen a step below 0.9.
* Ends: relative duality gap 2 m mu / objective and residuals up to the tolerance. Then crossover (libsvmx._solvers.
  crossover) makes it a corner whose KKT gap is rounding; where that fails, a tighter tolerance is tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from libsvmx._problem.certificate import kkt_gap
from libsvmx._problem.dual import DualSolution
from libsvmx._solvers.interior_point import block_steps
from libsvmx._solvers.interior_point.block_steps import Begun, Measured, Reached
from libsvmx._solvers.interior_point.constraint_reduction import limit_of, quotas
from libsvmx._solvers.interior_point.crossover import SHARP, Crossed, Start, cross_over
from libsvmx._solvers.interior_point.row_blocks import LocalParts
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._kernels.featurerows import FeatureRows
    from libsvmx._problem.dual import DualProblem
    from libsvmx._solvers.control import Control
    from libsvmx._solvers.interior_point.row_blocks import Parts
    from libsvmx._solvers.interior_point.settings import CRSVM
    from libsvmx._typing import FloatArray

    Watch = Callable[["Iteration"], SolveStatus | None]
    Log = Callable[["Iteration"], object]

# Share of the way to the nearest bound.
STEP = 0.995
MOST_ITERATIONS = 200
# sigma mu against the mu that the tolerance asks for.
CENTRE = 0.1
# The residual of M's equations, in the norm of M_(Q)^-1 and relative to the right-hand side, that is good enough, and
# the conjugate gradients of a solve; where they do not suffice, twice as many patterns are taken.
EXACT_ENOUGH = 0.2
MOST_GRADIENTS = 8
# mu / mean tau is 1 at the start, but 4 in the paper, where all patterns are taken until it is below 1.
RHO = 4.0
# Centrality correctors of an iteration, where the factor costs so many times the flops of their two products with X;
# each is to make the step longer by REACH, and has to gain that share of it.
MOST_CORRECTORS = 2
CORRECTOR_PAYS = 8.0
REACH, GAIN = 0.3, 0.1
FAR = 0.9
# Flops of a dense product of matrices cost so many times less.
DENSE_SPEED = 8.0
# Tries to factorize a matrix.
MOST_SHIFTS = 6
# Without a better point for so many iterations, all patterns are taken; after so many more, that is all there is.
PATIENCE = 12
# Where the best point is worse than this, from the start again.
LOST = 1e-2
# Crossover tries again from a point this much nearer.
TIGHTER = 1e-2
TRIES = 3
# Duality gap of a corner with the interior point, if its KKT gap is not sharp.
NEAR = 1e-9


class Iteration(NamedTuple):
    """What an iteration begins with, and what it did before: a line of the log.

    Attributes
    ----------
    number : int
    mu : float               (s'alpha + xi'u) / 2m
    gap : float              2 m mu / objective
    dual, primal : float     residuals: |x| |r_w| and y'alpha / sum tau, |r_u| / tau; and |r_s|, all maxima
    patterns : int           |Q| of the last normal matrix, 0 before the first
    step : float             length of the last step
    """

    number: int
    mu: float
    gap: float
    dual: float
    primal: float
    patterns: int
    step: float


class Interior(NamedTuple):
    """What was found. ``crossed`` is None where ``parts`` are still at an interior point.

    ``status``: CONVERGED, ITERATION_LIMIT, ROUNDING, or what ``watch`` said. ``scale``: mean of |x|^2; ``primal``:
    objective of w and gamma.
    """

    w: FloatArray
    gamma: float
    iterations: int
    status: SolveStatus
    crossed: Crossed | None
    scale: float
    primal: float

    def certified(self, gap: float, alpha: float, n_sv: int, eps: float) -> SolveStatus:
        """``status``, but ROUNDING for a KKT gap that is above ``eps``, or may be but for rounding of the scores.

        Scores are sums of ``n_sv`` terms alpha x'x, whose roundings add up like their root of the sum of squares;
        ``alpha``: sum of alpha.
        """
        hidden = np.finfo(float).eps * self.scale * alpha / float(np.sqrt(max(n_sv, 1)))
        if self.status == SolveStatus.CONVERGED and not gap + hidden <= eps:
            return SolveStatus.ROUNDING
        return self.status


def solve_dual(
    dual: DualProblem, rows: FeatureRows, settings: CRSVM, control: Control, threads: int, log: Log
) -> DualSolution:
    """The optimum of a C-SVC problem whose kernel is X X' of explicit features.

    Parameters
    ----------
    dual : DualProblem       of C-SVC, C > 0
    rows : FeatureRows       X, one row for each variable
    log : callable(Iteration)         is told of each iteration

    Raises
    ------
    KeyboardInterrupt, or what else a signal handler raises; MemoryError
    """
    from threadpoolctl import threadpool_limits

    y = np.where(np.asarray(dual.lower) < 0, -1.0, 1.0)
    tau = np.asarray(dual.upper) - np.asarray(dual.lower)

    def watch(line: Iteration) -> SolveStatus | None:
        log(line)
        return control.look()

    # of more threads of BLAS, sums would depend on how many there are; here, parts are what threads share
    # of the scale of C and X, squares may be out of range: that ends a walk
    with np.errstate(all="ignore"), threadpool_limits(1, "blas"), LocalParts(rows, y, tau, threads) as parts:
        found = solve(parts, settings, watch, control.max_iter)
        if found.crossed:
            alpha = np.concatenate([corner.alpha for corner in parts.states])
        else:
            alpha = feasible(np.concatenate([state.alpha for state in parts.states]), y, tau)
        w = rows.transposed((y * alpha)[None, :])[0]
        if found.status != SolveStatus.CONVERGED:
            # far from the optimum X'Y alpha is not w but far too long; of t alpha, t <= 1, the best is taken
            best = float(alpha.sum()) / max(float(w @ w), 1e-300)
            if best < 1:
                alpha, w = best * alpha, best * w
        scores = y - rows.times(w)
        rho = offset_of(alpha, scores, y, tau)
        objective = float(w @ w) / 2 - float(alpha.sum())
    beta = y * alpha
    gap = kkt_gap(beta, scores, dual.lower, dual.upper)
    status = found.certified(gap, float(alpha.sum()), int(np.count_nonzero(alpha)), control.eps)
    return DualSolution(
        beta=beta, scores=scores, rho=rho, objective=objective, iterations=found.iterations, status=status
    )


def feasible(alpha: FloatArray, y: FloatArray, tau: FloatArray) -> FloatArray:
    """alpha within its bounds and y'alpha = 0: what one class has more than the other is taken away in proportion."""
    alpha = np.clip(alpha, 0.0, tau)
    sums = [float(alpha[y > 0].sum()), float(alpha[y < 0].sum())]
    for sign, own, other in ((1, *sums), (-1, *reversed(sums))):
        if own > other:
            alpha = np.where(y == sign, alpha * (other / own), alpha)
    return alpha


def offset_of(alpha: FloatArray, scores: FloatArray, y: FloatArray, tau: FloatArray) -> float:
    """rho: -(mean of V over free rows), or the middle of what the KKT conditions allow, as LIBSVM has it."""
    free = (alpha > 0) & (alpha < tau)
    if free.any():
        return -float(scores[free].mean())
    up = np.where(y > 0, alpha < tau, alpha > 0)
    top, bottom = scores[up].max(initial=-np.inf), scores[~up].min(initial=np.inf)
    if np.isinf(top) or np.isinf(bottom):
        return -float(top if np.isinf(bottom) else bottom)
    return -float(top + bottom) / 2


def solve(parts: Parts, settings: CRSVM, watch: Watch, max_iter: int = 0) -> Interior:
    """The optimum over ``parts``, which are left at its corner.

    Parameters
    ----------
    watch : callable(Iteration) -> SolveStatus or None      is told of each iteration; a status ends the solve
    max_iter : int                                  0 for 200
    """
    walk = Walk(parts, settings, watch, max_iter or MOST_ITERATIONS)
    tolerance = settings.tolerance
    best: tuple[Crossed, list[object]] | None = None
    before: SolveStatus | None = None  # of the trial before
    for trial in range(TRIES):
        status = walk.run(tolerance)
        last = status != SolveStatus.CONVERGED or trial == TRIES - 1
        interior_states = parts.states
        at_end = status in (SolveStatus.CONVERGED, SolveStatus.ROUNDING)
        crossed = cross_over(parts, Start(walk.w, walk.gamma, walk.scale), at_end)
        if crossed is not None and walk.is_near(crossed) and (best is None or crossed.gap < best[0].gap):
            best = crossed, parts.states
        if last or (crossed is not None and crossed.gap <= SHARP):
            break
        parts.states = interior_states
        before, tolerance = status, tolerance * TIGHTER
    if best is None:
        parts.states = interior_states
        return Interior(walk.w, walk.gamma, walk.number, before or status, None, walk.scale, walk.objective)
    crossed, parts.states = best
    if before == SolveStatus.CONVERGED or crossed.gap <= SHARP:  # then it is optimal, wherever the walk was stopped
        status = SolveStatus.CONVERGED
    return Interior(crossed.w, crossed.gamma, walk.number, status, crossed, walk.scale, -crossed.objective)


class Walk:
    """Walk(parts, settings, watch, max_iter): iterations from the start of ``block_steps.begin``."""

    def __init__(self, parts: Parts, settings: CRSVM, watch: Watch, max_iter: int):
        self.parts, self.settings, self.watch, self.max_iter = parts, settings, watch, max_iter
        begun: list[Begun] = parts.run(block_steps.begin)
        self.members = (sum(reply.members[0] for reply in begun), sum(reply.members[1] for reply in begun))
        self.m = sum(self.members)
        self.tau = sum(reply.tau for reply in begun)
        self.scale = sum(reply.squares for reply in begun) / self.m
        self.entries = sum(reply.entries for reply in begun)
        self.length = float(np.sqrt(self.scale)) or 1.0
        self.number = 0
        self.least = 0
        self.refines, self.poor = True, False
        self.patterns, self.step = 0, 0.0
        self.whole = settings.reduction == "none"
        # rounding of X'Y alpha, seen from a margin
        self.floor = 4 * np.finfo(float).eps * self.scale * self.tau
        self.measure_start()
        self.keep()

    def keep(self) -> None:
        """Put the present point aside, which is the best until now."""
        self.kept = self.parts.states, self.w, self.gamma, self.gap, self.objective

    def measure_start(self) -> None:
        """Residuals and sums where ``block_steps.begin`` has put the rows."""
        self.w, self.gamma = np.zeros(self.parts.n), 0.0
        self.measure(self.parts.run(block_steps.measure, self.gamma))

    def measure(self, replies: list[Measured]) -> None:
        """Residuals and sums at the present point."""
        sums = [sum(column) for column in list(zip(*replies, strict=True))[:6]]
        complementarity, self.balance, slack, hinge, self.inverse, self.weighted = sums
        self.r_u, self.r_s = map(float, np.max([reply.largest for reply in replies], axis=0))
        from_alpha, self.ybar, self.right = np.sum([reply.vectors for reply in replies], axis=0)
        self.r_w = self.w - from_alpha
        norm = float(self.w @ self.w) / 2
        self.mu = complementarity / (2 * self.m)
        self.objective = float(norm + hinge)
        self.gap = complementarity / (norm + slack)
        self.off = self.length * float(abs(self.r_w).max(initial=0.0))

    def run(self, tolerance: float) -> SolveStatus:
        """Iterate until the point is optimal to ``tolerance``, or no longer becomes better; returns the status."""
        best, kept, idle = np.inf, np.inf, 0
        while True:
            dual = max(self.off, abs(self.balance) / self.tau, self.r_u * self.m / self.tau)
            line = Iteration(self.number, self.mu, self.gap, dual, self.r_s, self.patterns, self.step)
            status = self.watch(line)
            worst = float(max(self.gap, min(dual, dual * tolerance / max(self.floor, tolerance)), self.r_s))
            if worst <= tolerance and not status:
                self.keep()
                return SolveStatus.CONVERGED
            if status or not np.isfinite(worst):
                return self.back(status or SolveStatus.ROUNDING)
            if self.number >= self.max_iter:
                return self.back(SolveStatus.ITERATION_LIMIT)
            idle = 0 if worst < 0.9 * best else idle + 1
            best = min(best, worst)
            if worst <= kept:
                kept = worst
                self.keep()
            if idle > PATIENCE:
                if self.whole:
                    return self.back(SolveStatus.ROUNDING)
                self.whole, idle = True, 0
                if best > LOST:
                    self.parts.run(block_steps.begin)
                    self.measure_start()
                    best = np.inf
            if not self.iterate(tolerance):
                return self.back(SolveStatus.ROUNDING)

    def back(self, status: SolveStatus) -> SolveStatus:
        """Return to the best point."""
        self.parts.states, self.w, self.gamma, self.gap, self.objective = self.kept
        return status

    def is_near(self, crossed: Crossed) -> bool:
        """Whether a corner is an optimum, or by its objective hardly worse than the interior point."""
        return crossed.gap <= SHARP or self.objective + crossed.objective <= max(2 * self.gap, NEAR) * self.objective

    def iterate(self, tolerance: float) -> bool:
        """A predictor, a corrector, and a step; False if the normal matrix cannot be factorized."""
        factor = self.normal_factor()
        if factor is None:
            return False
        parts, self.poor, self.gradients = self.parts, False, 0
        dw, dgamma = self.newton(factor, self.weighted, self.right)
        sigma_mu = self.centring(parts.run(block_steps.direct, dw, dgamma), tolerance)
        replies = parts.run(block_steps.correct, sigma_mu)
        dw, dgamma = self.newton(factor, sum(reply[0] for reply in replies), sum(reply[1] for reply in replies))
        step = length_of(parts.run(block_steps.direct, dw, dgamma))
        for _ in range(MOST_CORRECTORS if self.corrects else 0):
            if step > FAR:
                break
            wider, before = min(1.0, step + REACH), parts.states
            replies = parts.run(block_steps.recentre, wider, sigma_mu)
            other = self.newton(factor, sum(reply[0] for reply in replies), sum(reply[1] for reply in replies))
            longer = length_of(parts.run(block_steps.direct, *other))
            if longer < step + GAIN * (wider - step):
                parts.states = before
                break
            step, (dw, dgamma) = longer, other
        self.step = STEP * step if step < 1 else 1.0
        self.w = self.w + self.step * dw
        self.gamma += self.step * dgamma
        self.number += 1
        left = (1 - self.step) * self.r_w
        self.measure(parts.run(block_steps.move, self.step, self.gamma))
        self.adapt(factor, (left - self.r_w) / self.step)
        return True

    def adapt(self, factor: FloatArray, residual: FloatArray) -> None:
        """Have the next directions refined, or made of more patterns, if need be. ``residual``: of the last one."""
        self.least = min(self.m, 2 * self.patterns) if self.poor else self.least // 2
        if self.gradients == 0:
            inside, _ = lapack.dpotrs(factor, residual)
            self.refines = float(residual @ inside) > EXACT_ENOUGH**2 * self.size

    def normal_factor(self) -> FloatArray | None:
        """Cholesky factor of M_(Q)."""
        limits, shift = self.limits(), 0.0
        for _ in range(MOST_SHIFTS):
            replies = self.parts.run(block_steps.normal, limits, merge=block_steps.add_normals)
            matrix, total, inverse, self.patterns = block_steps.add_normals(replies)
            # in the order of columns, which LAPACK takes as it is, and in place; but a reply may be read-only
            scale = -1.0 / inverse if self.patterns else 0.0
            upper = blas.dsyr(scale, total, a=matrix.T, overwrite_a=matrix.flags.writeable)
            diagonal = np.diag_indices_from(upper)
            upper[diagonal] += 1.0 + shift
            largest = float(upper[diagonal].max())
            factor, info = lapack.dpotrf(upper, clean=0, overwrite_a=1)
            if info == 0:
                self.corrects = self.correctors_pay(len(matrix))
                return np.asarray(factor)
            # so ill-conditioned that rounding made it indefinite
            shift = max(100 * shift, 1e-15 * largest)
        return None

    def correctors_pay(self, n: int) -> bool:
        """Whether the factor costs enough for centrality correctors beside it."""
        per_row = self.entries / self.m
        speed = DENSE_SPEED if per_row == n else 1.0
        return self.patterns * per_row**2 / speed + n**3 / (3 * DENSE_SPEED) > CORRECTOR_PAYS * 4 * self.entries

    def limits(self) -> tuple[float, float] | None:
        """Largest keys of the patterns of either class, None for all patterns."""
        s = self.settings
        if self.whole:
            return None
        draw = s.random_state if self.number == 0 and s.most_rows else None
        least = s.theta * float(np.sqrt(self.mu)) / self.length
        near = float(np.sqrt(self.mu * self.m / self.tau))  # s has no unit
        replies = self.parts.run(block_steps.rank, s.reduction_rule, least, near, draw)
        by_class = list(zip(*replies, strict=True))
        needed = [sum(reply[1] for reply in own) if s.reduction == "adaptive" else 0 for own in by_class]
        ladders = [[reply[2] for reply in own] for own in by_class]
        share = float(min(1.0, RHO * self.mu * self.m / self.tau) ** (1 / s.beta))
        if s.balanced:
            quota = quotas(s, share, self.members, (needed[0], needed[1]))
            wanted = [max(quota[c], min(self.least // 2, self.members[c])) for c in range(2)]
            if wanted[0] >= self.members[0] and wanted[1] >= self.members[1]:
                return None
            return limit_of(ladders[0], wanted[0]), limit_of(ladders[1], wanted[1])
        wanted_both = max(sum(quotas(s, share, (self.m, 0), (sum(needed), 0))), self.least)
        if wanted_both >= self.m:
            return None
        limit = limit_of([*ladders[0], *ladders[1]], wanted_both)
        return limit, limit

    def newton(self, factor: FloatArray, weighted: float, right: FloatArray) -> tuple[FloatArray, float]:
        """(dw, dgamma) for y'Omega^-1 r_Omega and X'Y Omega^-1 r_Omega."""
        rbar_alpha = self.balance - weighted
        side = -(self.r_w + right) - rbar_alpha / self.inverse * self.ybar
        dw, _ = lapack.dpotrs(factor, side)
        self.size = float(side @ dw)
        if self.refines and self.patterns < self.m:
            dw = self.refined(factor, side, dw)
        return dw, (float(self.ybar @ dw) - rbar_alpha) / self.inverse

    def refined(self, factor: FloatArray, side: FloatArray, dw: FloatArray) -> FloatArray:
        """dw nearer to the solution of M dw = side, by conjugate gradients."""
        residual = side - self.times(dw)
        direction, before = None, 1.0
        for _ in range(MOST_GRADIENTS):
            inside, _ = lapack.dpotrs(factor, residual)
            now = float(residual @ inside)
            if now <= EXACT_ENOUGH**2 * self.size:
                return dw
            direction = inside if direction is None else inside + now / before * direction
            image = self.times(direction)
            length = now / float(direction @ image)
            dw, residual, before = dw + length * direction, residual - length * image, now
            self.gradients += 1
        self.poor = True
        return dw

    def times(self, v: FloatArray) -> FloatArray:
        """M v, of all patterns."""
        image: FloatArray = sum(self.parts.run(block_steps.curvature, v), start=v)
        image = image - self.ybar * (float(self.ybar @ v) / self.inverse)
        return image

    def centring(self, reached: list[Reached], tolerance: float) -> float:
        """sigma mu with Mehrotra's sigma = (mu_aff / mu)^3."""
        step = length_of(reached)
        after = (
            2 * self.m * self.mu
            + step * sum(reply.linear for reply in reached)
            + step**2 * sum(reply.quadratic for reply in reached)
        ) / (2 * self.m)
        sigma_mu = float(max(after / self.mu, 0.0) ** 3 * self.mu)
        return max(sigma_mu, CENTRE * tolerance * abs(self.objective) / (2 * self.m))


def length_of(reached: list[Reached]) -> float:
    """The step to the nearest bound, at most 1."""
    return min(1.0, 1.0 / max(max(reply.ratio for reply in reached), 1e-300))

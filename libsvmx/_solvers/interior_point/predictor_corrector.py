"""Mehrotra's predictor-corrector with constraint reduction (Jung, O'Leary & Tits 2008, Algorithm 1).

    min 1/2 |w|^2 + upper'xi   s.t.  Y(Xw - rho e - l) + xi - s = 0,  xi, s >= 0   multipliers alpha of s, u of xi

The paper writes gamma for rho, tau for upper, rho for what is ``share`` here, and has l = y only. What an iteration
does with the rows is in block_steps.pyx, its residuals, its duality gap and its normal equations in
normal_equations.pyx, the choice of their rows Q in constraint_reduction.py. Beyond the paper:

* The linear term l is any, so that epsilon-SVR can be solved: each of its rows is there twice, with y = 1 and -1.
* The start and the thresholds do not change with the scale of C and of X. The share of rows is (4 mu/mean
  upper)^(1/beta), at most 1, and q_L counts |x| / omega >= theta sqrt(mu), |x| being the root of the mean |x|^2: with
  the paper's data it is about 1.
* A direction of M_(Q) does not reduce r_w by the step as one of M does; what it leaves is the residual of the equations
  of M, at no cost. Where that is large, they are solved by conjugate gradients preconditioned by M_(Q), two products
  with X each. So few rows take no more iterations than all of them; the paper's algorithm, without, may stall.
* sigma mu is never below what the tolerance asks of mu: where the residuals lag, the complementarity waits for them.
* Where the normal matrix is cheap, because rows are short, all rows enter it: to choose them would take longer.
* Where the factor is expensive, centrality correctors (Gondzio 1996, section 3) lengthen a step below 0.9.
* It ends when the relative duality gap 2 m mu / objective and the residuals are up to the tolerance. Then crossover
  (crossover.py) makes it a vertex whose KKT gap is rounding; where that fails, a tighter tolerance is tried.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from libsvmx._core.stopping import Stopped
from libsvmx._solvers.interior_point import block_steps
from libsvmx._solvers.interior_point.constraint_reduction import thresholds
from libsvmx._solvers.interior_point.crossover import SHARP, VertexSolution, cross_over
from libsvmx._solvers.interior_point.normal_equations import NormalEquations, point_of
from libsvmx._solvers.interior_point.replies import RatioTest, RightHandSide, add_data_sums
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._solvers.interior_point.normal_equations import Point
    from libsvmx._solvers.interior_point.row_blocks import RowBlocks
    from libsvmx._solvers.interior_point.solver import CRSVM
    from libsvmx._typing import FloatArray

    Watch = Callable[["Iteration"], SolveStatus | None]

# A step goes such a share of the way to the nearest bound; a whole one ends before it by more than rounding.
STEP, BEYOND = 0.995, 1 + 1e-10
MOST_ITERATIONS = 200
# sigma mu against the mu that the tolerance asks for.
CENTRE = 0.1
# mu / mean upper is 1 at the start, but 4 in the paper, where all rows are taken until it is below 1.
START_MU = 4.0
# Centrality correctors of an iteration, where they pay; each is to make the step longer by REACH, and has to gain that
# share of it.
MOST_CORRECTORS = 2
REACH, GAIN = 0.3, 0.1
FAR = 0.9
# Without a better point for so many iterations, all rows are taken; after so many more, that is all there is.
PATIENCE = 12
# Where the best point is worse than this, from the start again.
LOST = 1e-2
# Crossover tries again from a point this much nearer.
TIGHTER = 1e-2
TRIES = 3
# Elements that crossover may work on after the end of time: some hundredths of a second.
MOST_AFTER_THE_END = 1 << 24
# Duality gap of a vertex with the interior point, if its KKT gap is not sharp.
NEAR = 1e-9


class Iteration(NamedTuple):
    """State at the start of an iteration of crsvm: a line of the log.

    Attributes
    ----------
    number : int
        Number of the iteration.
    mu : float
        Mean complementarity, (s'alpha + xi'u) / 2m.
    gap : float
        Relative duality gap, 2 m mu / objective.
    dual, primal : float
        Residuals: |x| |r_w| and y'alpha / sum of upper, |r_u| / upper; and |r_s|, all maxima.
    rows : int
        Number of rows |Q| of the last normal matrix, 0 before the first.
    step : float
        Length of the last step.
    """

    number: int
    mu: float
    gap: float
    dual: float
    primal: float
    rows: int
    step: float


class Optimum(NamedTuple):
    """What was found. ``vertex`` is None where the row blocks are still at an interior point.

    ``status``: CONVERGED, ITERATION_LIMIT, ROUNDING, or what ``watch`` said. ``mean_square``: mean of |x|^2;
    ``primal``: objective of w and rho.
    """

    w: FloatArray
    rho: float
    iterations: int
    status: SolveStatus
    vertex: VertexSolution | None
    mean_square: float
    primal: float

    def certified(self, gap: float, alpha: float, n_sv: int, eps: float) -> SolveStatus:
        """``status``, but ROUNDING for a KKT gap that is above ``eps``, or may be but for rounding of the scores.

        Scores are sums of ``n_sv`` terms alpha x'x, whose roundings add up like their root of the sum of squares;
        ``alpha``: sum of alpha.
        """
        hidden = np.finfo(float).eps * self.mean_square * alpha / float(np.sqrt(max(n_sv, 1)))
        if self.status == SolveStatus.CONVERGED and not gap + hidden <= eps:
            return SolveStatus.ROUNDING
        return self.status


def solve(blocks: RowBlocks, settings: CRSVM, watch: Watch, max_iter: int = 0) -> Optimum:
    """The optimum over ``blocks``, which are left at its vertex.

    Parameters
    ----------
    watch : callable(Iteration) -> SolveStatus or None      is told of each iteration; a status ends the solve
    max_iter : int                                  0 for 200

    Where ``blocks.asking`` raises Stopped, the iterations end with the best point there is, and so does crossover.
    """
    method = PredictorCorrector(blocks, settings, watch, max_iter or MOST_ITERATIONS)
    tolerance, mean_square = settings.tolerance, method.data.mean_square
    best: tuple[VertexSolution, list[object]] | None = None
    before: SolveStatus | None = None  # of the trial before
    for trial in range(TRIES):
        status = method.run(tolerance)
        interior = blocks.states
        point = method.point
        vertex, stopped = vertex_near(blocks, point, mean_square, status, settings.policy.crossover_elements)
        if vertex is not None and is_near(vertex, point) and (best is None or vertex.gap < best[0].gap):
            best = vertex, blocks.states
        sharp = vertex is not None and vertex.gap <= SHARP
        if stopped and not sharp:
            status = stopped
        if sharp or status != SolveStatus.CONVERGED or trial == TRIES - 1:
            break
        blocks.states = interior
        before, tolerance = status, tolerance * TIGHTER
    if best is None:
        blocks.states = interior
        return Optimum(point.w, point.rho, method.number, before or status, None, mean_square, point.objective)
    vertex, blocks.states = best
    if (
        before == SolveStatus.CONVERGED or vertex.gap <= SHARP
    ):  # then it is optimal, wherever the iterations were stopped
        status = SolveStatus.CONVERGED
    return Optimum(vertex.w, vertex.rho, method.number, status, vertex, mean_square, -vertex.objective)


def vertex_near(
    blocks: RowBlocks, point: Point, mean_square: float, status: SolveStatus, most_elements: int
) -> tuple[VertexSolution | None, SolveStatus | None]:
    """The vertex that crossover leads to from the end of the iterations; and what has stopped that, if anything has.

    ``status``: of the iterations. If they were stopped, a vertex that costs next to nothing may still be an optimum.
    ``most_elements``: as of ``cross_over``.
    """
    try:
        if status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
            blocks.asking.left = MOST_AFTER_THE_END
        thorough = status in (SolveStatus.CONVERGED, SolveStatus.ROUNDING)
        return cross_over(blocks, point.w, point.rho, mean_square, most_elements, thorough), None
    except Stopped as stop:
        return None, stop.status
    finally:
        blocks.asking.left = None


def is_near(vertex: VertexSolution, point: Point) -> bool:
    """Whether a vertex is an optimum, or by its objective hardly worse than the interior point."""
    return vertex.gap <= SHARP or point.objective + vertex.objective <= max(2 * point.gap, NEAR) * point.objective


class PredictorCorrector:
    """PredictorCorrector(blocks, settings, watch, max_iter): iterations from the start of ``block_steps.begin``.

    Attributes
    ----------
    point : Point           the present one
    data : DataSums
    number : int            iterations until now
    rows, step : int, float      |Q| and length of step of the last iteration
    all_rows : bool         no constraint reduction, or no longer
    least_rows : int        of the next normal matrix
    refines : bool          whether its directions are refined
    """

    def __init__(self, blocks: RowBlocks, settings: CRSVM, watch: Watch, max_iter: int):
        self.blocks, self.settings, self.watch, self.max_iter = blocks, settings, watch, max_iter
        blocks.asking.left = inf  # without a start, there would be nothing to return
        self.data = add_data_sums(blocks.run(block_steps.begin))
        self.point = self.measured_start()
        blocks.asking.left = None
        self.best = self.blocks.states, self.point
        self.number, self.rows, self.step = 0, 0, 0.0
        self.all_rows, self.least_rows, self.refines = not self.reduction_pays(), 0, True
        # rounding of X'Y alpha, seen from a margin
        self.floor = 4 * np.finfo(float).eps * self.data.mean_square * self.data.upper

    def measured_start(self) -> Point:
        """The point where ``block_steps.begin`` has put the rows."""
        return point_of(self.data, np.zeros(self.blocks.n), 0.0, self.blocks.run(block_steps.measure, 0.0))

    def run(self, tolerance: float) -> SolveStatus:
        """Algorithm 1: iterate until the point is optimal to ``tolerance``, or no better one comes; returns the status.

        The method is left at the best point.
        """
        try:
            return self.iterate(tolerance)
        except Stopped as stop:
            return self.back_to_best(stop.status)

    def iterate(self, tolerance: float) -> SolveStatus:
        """``run``, but for Stopped."""
        run = self.blocks.run
        best, kept, idle = np.inf, np.inf, 0
        while True:
            status, error = self.watched(tolerance)
            if error <= tolerance and not status:
                self.best = self.blocks.states, self.point
                return SolveStatus.CONVERGED
            if status or not np.isfinite(error):
                return self.back_to_best(status or SolveStatus.ROUNDING)
            if self.number >= self.max_iter:
                return self.back_to_best(SolveStatus.ITERATION_LIMIT)
            idle = 0 if error < 0.9 * best else idle + 1
            best = min(best, error)
            if error <= kept:
                kept, self.best = error, (self.blocks.states, self.point)
            if idle > PATIENCE:
                if self.all_rows:
                    return self.back_to_best(SolveStatus.ROUNDING)
                self.all_rows, idle = True, 0
                if best > LOST:
                    best = np.inf
                    run(block_steps.begin)
                    self.point = self.measured_start()

            # the reduced normal matrix M_(Q): (3.17) to (3.22)
            equations = NormalEquations(self.blocks, self.point, self.data.m, self.refines)
            if not equations.factorize(self.thresholds()):
                return self.back_to_best(SolveStatus.ROUNDING)
            # predictor, (3.7) and (3.8); sigma mu by how far it leads
            direction = equations.solve(self.point.predictor)
            sigma_mu = self.centring(run(block_steps.direct, *direction), tolerance)
            # corrector, (3.9) and (3.10)
            direction = equations.solve(total(run(block_steps.correct, sigma_mu)))
            length = length_of(run(block_steps.direct, *direction))
            # centrality correctors, which make the step longer
            if self.correctors_pay(equations.rows):
                direction, length = self.lengthened(equations, direction, length, sigma_mu)
            self.advance(equations, direction, 1.0 if length > BEYOND else STEP * length)

    def watched(self, tolerance: float) -> tuple[SolveStatus | None, float]:
        """Tell of the iteration; returns what ``watch`` says, and the largest of gap and residuals."""
        point = self.point
        status = self.watch(
            Iteration(self.number, point.mu, point.gap, point.dual, point.r_s, self.rows, self.step),
        )
        # of the dual residual, what is rounding does not count
        dual = min(point.dual, point.dual * tolerance / max(self.floor, tolerance))
        return status, float(max(point.gap, dual, point.r_s))

    def back_to_best(self, status: SolveStatus) -> SolveStatus:
        """Return to the best point."""
        self.blocks.states, self.point = self.best
        return status

    def reduction_pays(self) -> bool:
        """Whether the normal matrix of all rows costs more than choosing some; most_rows is kept to."""
        settings, policy, m = self.settings, self.settings.policy, self.data.m
        if settings.reduction != "adaptive" or settings.most_rows:
            return settings.reduction != "none"
        per_row = self.data.entries / m
        speed = policy.dense_speed if per_row == self.blocks.n else policy.sparse_speed
        return m * (per_row**2 / speed - policy.choosing_a_row) > policy.choosing

    def thresholds(self) -> tuple[float, float] | None:
        """Up to which keys the rows of +1 and of -1 enter M_(Q); None for all rows."""
        if self.all_rows:
            return None
        settings, data, mu = self.settings, self.data, self.point.mu
        least = settings.theta * float(np.sqrt(mu)) / data.length
        near = float(np.sqrt(mu * data.m / data.upper))  # s has no unit
        draw = settings.random_state if self.number == 0 and settings.most_rows else None
        ranked = self.blocks.run(block_steps.rank_rows, settings.reduction_rule, least, near, draw)
        share = float(min(1.0, START_MU * mu * data.m / data.upper) ** (1 / settings.beta))
        return thresholds(settings, share, data.class_sizes, self.least_rows, ranked)

    def centring(self, predictor: list[RatioTest], tolerance: float) -> float:
        """sigma mu with Mehrotra's sigma = (mu_aff / mu)^3."""
        step, mu, m = min(1.0, length_of(predictor)), self.point.mu, self.data.m
        after = (
            2 * m * mu
            + step * sum(reply.linear for reply in predictor)
            + step**2 * sum(reply.quadratic for reply in predictor)
        ) / (2 * m)
        sigma_mu = float(max(after / mu, 0.0) ** 3 * mu)
        return max(sigma_mu, CENTRE * tolerance * abs(self.point.objective) / (2 * m))

    def correctors_pay(self, rows: int) -> bool:
        """Whether a factor of so many rows costs enough for centrality correctors beside it."""
        n, entries, policy = self.blocks.n, self.data.entries, self.settings.policy
        per_row = entries / self.data.m
        speed = policy.dense_speed if per_row == n else policy.sparse_speed
        factor = rows * per_row**2 / speed + n**3 / (3 * policy.dense_speed)
        return factor > policy.corrector_pays * 4 * (entries + n**2)

    def lengthened(
        self, equations: NormalEquations, direction: tuple[FloatArray, float], length: float, sigma_mu: float
    ) -> tuple[tuple[FloatArray, float], float]:
        """A direction that allows a longer step, as the row blocks have it; and the length."""
        run = self.blocks.run
        for _ in range(MOST_CORRECTORS):
            if length > FAR:
                break
            wider, before = min(1.0, length + REACH), self.blocks.states
            other = equations.solve(total(run(block_steps.recentre, wider, sigma_mu)))
            longer = length_of(run(block_steps.direct, *other))
            if longer < length + GAIN * (wider - length):
                self.blocks.states = before
                break
            direction, length = other, longer
        return direction, length

    def advance(self, equations: NormalEquations, direction: tuple[FloatArray, float], step: float) -> None:
        """Take a step, and have the next directions refined, or made of more rows, if need be."""
        before, (dw, drho) = self.point, direction
        w, rho = before.w + step * dw, before.rho + step * drho
        self.point = point_of(self.data, w, rho, self.blocks.run(block_steps.move, step, rho))
        self.number += 1
        self.rows, self.step = equations.rows, step
        self.adapt(equations, ((1 - step) * before.r_w - self.point.r_w) / step)

    def adapt(self, equations: NormalEquations, residual: FloatArray) -> None:
        """Choose how the next directions are made. ``residual``: of M's equations, of the last direction."""
        self.least_rows = min(self.data.m, 2 * equations.rows) if equations.poor else self.least_rows // 2
        if equations.gradients == 0:
            self.refines = equations.is_too_rough(residual)


def total(replies: list[RightHandSide]) -> RightHandSide:
    """The right-hand side over the rows of all blocks."""
    if len(replies) == 1:
        return replies[0]
    vector = sum((reply.vector for reply in replies), start=np.zeros(len(replies[0].vector)))
    return RightHandSide(sum(reply.r_omega for reply in replies), vector)


def length_of(replies: list[RatioTest]) -> float:
    """The step to the nearest bound."""
    return 1.0 / max([1e-300, *(reply.ratio for reply in replies)])

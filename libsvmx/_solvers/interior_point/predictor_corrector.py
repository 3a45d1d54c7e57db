"""Mehrotra's predictor-corrector with constraint reduction (Jung, O'Leary & Tits 2008, Algorithm 1).

    min 1/2 |w|^2 + upper'xi   s.t.  Y(Xw - rho e - l) + xi - s = 0,  xi, s >= 0   multipliers alpha of s, u of xi

The paper writes gamma for rho, tau for upper, rho for ``share``, and has l = y only. Steps over the rows are in
block_steps.pyx, residuals, duality gap and normal equations in normal_equations.pyx, the choice of their rows Q in
constraint_reduction.py. Beyond the paper:

* Any linear term l: in epsilon-SVR each row occurs twice, with y = 1 and -1.
* Start and thresholds are invariant to the scale of C and of X: the share of rows is (4 mu/mean upper)^(1/beta), at
  most 1, and q_L counts |x| / omega >= theta sqrt(mu), |x| being the root mean square (about 1 in the paper).
* A direction of M_(Q) does not reduce r_w by the step as one of M does; the difference is the residual of M's
  equations, at no cost. If it is large, they are solved by conjugate gradients preconditioned by M_(Q), two products
  with X each. So few rows take no more iterations than all; the paper's algorithm may stall.
* sigma mu is at least what the tolerance requires of mu, so that complementarity does not run ahead of the residuals.
* If the normal matrix is cheap (short rows), all rows enter it.
* At the tolerance (relative duality gap 2 m mu / objective, residuals) crossover (crossover.py) leads to a vertex whose
  KKT gap is rounding; if that fails, a tighter tolerance is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from libsvmx._core.stopping import Stopped
from libsvmx._solvers.interior_point import block_steps
from libsvmx._solvers.interior_point.constraint_reduction import thresholds
from libsvmx._solvers.interior_point.crossover import SHARP, VertexSolution, cross_over
from libsvmx._solvers.interior_point.normal_equations import NormalEquations, Point, point_of
from libsvmx._solvers.interior_point.replies import DataSums, RatioTest, added
from libsvmx._solvers.interior_point.row_blocks import RowBlocks
from libsvmx._typing import FloatArray
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:  # which imports this module
    from libsvmx._solvers.interior_point.solver import CRSVM

Watch = Callable[["Iteration"], SolveStatus | None]

# Share of the way to the nearest bound; a full step (length 1) is taken if the bound is beyond this length.
STEP, BEYOND = 0.995, 1 + 1e-10
MAX_ITERATIONS = 200
# Least sigma mu, relative to the mu that the tolerance requires.
CENTRE = 0.1
# mu / mean upper is 1 at the start, but 4 in the paper, where all rows are taken until it is below 1.
START_MU = 4.0
# After this many iterations without a better point all rows are taken; after as many more, the method ends.
STALL_ITERATIONS = 12
# A best point worse than this leads to a restart.
LOST = 1e-2
# Factor of the tolerance after a crossover that failed, and number of tries.
TIGHTER = 1e-2
TRIES = 3
# Elements that crossover may work on after a stop: some hundredths of a second.
MAX_AFTER_STOP = 1 << 24
# Accepted duality gap of a vertex with the interior point, if its KKT gap is not sharp.
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
    """Result. ``vertex`` is None if the row blocks are at an interior point.

    ``status``: CONVERGED, ITERATION_LIMIT, ROUNDING, or that of ``watch``. ``mean_square``: mean of |x|^2;
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
        """``status``, but ROUNDING if the KKT gap plus rounding of the scores exceeds ``eps``.

        Scores are sums of ``n_sv`` terms alpha x'x, whose roundings add up in squares; ``alpha``: sum of alpha.
        """
        hidden = np.finfo(float).eps * self.mean_square * alpha / float(np.sqrt(max(n_sv, 1)))
        if self.status == SolveStatus.CONVERGED and not gap + hidden <= eps:
            return SolveStatus.ROUNDING
        return self.status


def solve(blocks: RowBlocks, settings: CRSVM, watch: Watch, max_iter: int = 0) -> Optimum:
    """The optimum over ``blocks``, whose states end at its vertex.

    Parameters
    ----------
    watch : callable(Iteration) -> SolveStatus or None      called in each iteration; a status ends the solve
    max_iter : int                                  0: 200

    When ``blocks.asking`` raises Stopped, iterations and crossover end with the best point so far.
    """
    method = PredictorCorrector(blocks, settings, watch, max_iter or MAX_ITERATIONS)
    tolerance, mean_square = settings.tolerance, method.data.mean_square
    best: tuple[VertexSolution, list[object]] | None = None
    before: SolveStatus | None = None  # status of the trial before
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
    if before == SolveStatus.CONVERGED or vertex.gap <= SHARP:  # optimal, even if the iterations were stopped
        status = SolveStatus.CONVERGED
    return Optimum(vertex.w, vertex.rho, method.number, status, vertex, mean_square, -vertex.objective)


def vertex_near(
    blocks: RowBlocks, point: Point, mean_square: float, status: SolveStatus, most_elements: int
) -> tuple[VertexSolution | None, SolveStatus | None]:
    """The vertex of the crossover from the end of the iterations, and the status if it was stopped.

    ``status``: of the iterations; if they were stopped, a cheap crossover may still reach the optimum.
    ``most_elements``: as in ``cross_over``.
    """
    try:
        if status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
            blocks.asking.left = MAX_AFTER_STOP
        thorough = status in (SolveStatus.CONVERGED, SolveStatus.ROUNDING)
        return cross_over(blocks, point.w, point.rho, mean_square, most_elements, thorough), None
    except Stopped as stop:
        return None, stop.status
    finally:
        blocks.asking.left = None


def is_near(vertex: VertexSolution, point: Point) -> bool:
    """Whether a vertex is an optimum, or its objective hardly worse than that of the interior point."""
    return vertex.gap <= SHARP or point.objective + vertex.objective <= max(2 * point.gap, NEAR) * point.objective


class PredictorCorrector:
    """PredictorCorrector(blocks, settings, watch, max_iter): iterations from the start of ``block_steps.begin``.

    Attributes
    ----------
    point : Point           the current one
    data : DataSums
    number : int            iterations so far
    rows, step : int, float      |Q| and length of step of the last iteration
    all_rows : bool         no constraint reduction (any longer)
    least_rows : int        least |Q| of the next normal matrix
    refines : bool          whether directions are refined
    """

    def __init__(self, blocks: RowBlocks, settings: CRSVM, watch: Watch, max_iter: int):
        self.blocks, self.settings, self.watch, self.max_iter = blocks, settings, watch, max_iter
        blocks.asking.left = inf  # the start must be finished
        self.data: DataSums = added(blocks.run(block_steps.begin))
        self.point = self.measured_start()
        blocks.asking.left = None
        self.best = self.blocks.states, self.point
        self.number, self.rows, self.step = 0, 0, 0.0
        self.all_rows, self.least_rows, self.refines = not self.reduction_pays(), 0, True
        # rounding of X'Y alpha, times |x|
        self.floor = 4 * np.finfo(float).eps * self.data.mean_square * self.data.upper

    def measured_start(self) -> Point:
        """The point of ``block_steps.begin``."""
        return point_of(self.data, np.zeros(self.blocks.n), 0.0, self.blocks.run(block_steps.measure, 0.0))

    def run(self, tolerance: float) -> SolveStatus:
        """Algorithm 1: iterate until the point is optimal to ``tolerance`` or does not improve; returns the status.

        Ends at the best point.
        """
        try:
            return self.iterate(tolerance)
        except Stopped as stop:
            return self.back_to_best(stop.status)

    def iterate(self, tolerance: float) -> SolveStatus:
        """``run``; may raise Stopped."""
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
            if idle > STALL_ITERATIONS:
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
            # predictor, (3.7) and (3.8); its step determines sigma mu
            direction = equations.solve(self.point.predictor)
            sigma_mu = self.centring(run(block_steps.direct, *direction), tolerance)
            # corrector, (3.9) and (3.10)
            direction = equations.solve(added(run(block_steps.correct, sigma_mu)))
            length = length_of(run(block_steps.direct, *direction))
            self.advance(equations, direction, 1.0 if length > BEYOND else STEP * length)

    def watched(self, tolerance: float) -> tuple[SolveStatus | None, float]:
        """Call ``watch``; returns its status, and the largest of gap and residuals."""
        point = self.point
        status = self.watch(
            Iteration(self.number, point.mu, point.gap, point.dual, point.r_s, self.rows, self.step),
        )
        # rounding of the dual residual does not count
        dual = min(point.dual, point.dual * tolerance / max(self.floor, tolerance))
        return status, float(max(point.gap, dual, point.r_s))

    def back_to_best(self, status: SolveStatus) -> SolveStatus:
        """Return to the best point."""
        self.blocks.states, self.point = self.best
        return status

    def reduction_pays(self) -> bool:
        """Whether the normal matrix of all rows costs more than choosing some; always with most_rows."""
        settings, policy, m = self.settings, self.settings.policy, self.data.m
        if settings.reduction != "adaptive" or settings.most_rows:
            return settings.reduction != "none"
        per_row = self.data.entries / m
        speed = policy.dense_speed if per_row == self.blocks.n else policy.sparse_speed
        return m * (per_row**2 / speed - policy.choosing_a_row) > policy.choosing

    def thresholds(self) -> tuple[float, float] | None:
        """Largest keys of the rows of +1 and of -1 in M_(Q); None: all rows."""
        if self.all_rows:
            return None
        settings, data, mu = self.settings, self.data, self.point.mu
        least = settings.theta * float(np.sqrt(mu)) / data.length
        near = float(np.sqrt(mu * data.m / data.upper))  # s has no unit
        draw = settings.random_state if self.number == 0 and settings.most_rows else None
        ranked = self.blocks.run(block_steps.rank_rows, settings.reduction_rule, least, near, draw)
        share = float(min(1.0, START_MU * mu * data.m / data.upper) ** (1 / settings.beta))
        return thresholds(settings, share, (data.positive, data.negative), self.least_rows, ranked)

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

    def advance(self, equations: NormalEquations, direction: tuple[FloatArray, float], step: float) -> None:
        """Take a step, and adapt how the next directions are computed."""
        before, (dw, drho) = self.point, direction
        w, rho = before.w + step * dw, before.rho + step * drho
        self.point = point_of(self.data, w, rho, self.blocks.run(block_steps.move, step, rho))
        self.number += 1
        self.rows, self.step = equations.rows, step
        self.adapt(equations, ((1 - step) * before.r_w - self.point.r_w) / step)

    def adapt(self, equations: NormalEquations, residual: FloatArray) -> None:
        """Set ``least_rows`` and ``refines``. ``residual``: of M's equations, of the last direction."""
        self.least_rows = min(self.data.m, 2 * equations.rows) if equations.poor else self.least_rows // 2
        if equations.gradients == 0:
            self.refines = equations.is_too_rough(residual)


def length_of(replies: list[RatioTest]) -> float:
    """The step to the nearest bound."""
    return 1.0 / max([1e-300, *(reply.ratio for reply in replies)])

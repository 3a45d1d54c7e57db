"""ATO, adjusting alpha towards its optimum (Wen et al. 2017, eqs. 4-11, algorithm 1; Karasuyama & Takeuchi 2009).

With eta from 0 to 1 the beta of R fall to 0, those of T that violate optimality move to their bounds, and the variables
on the margin M answer such that their V stays at its level and the sums reach those of the new fold. Per unit of eta,

    d beta_R = -beta_R,   d beta_T = their bound,   W = K_:T d beta_T + K_:R d beta_R                           (7)
    [0   E   ] [d level ]   [what the sums lack - sums of d beta_T and d beta_R]
    [E'  K_MM] [d beta_M] = [-W_M                                              ]                                (8-10)
    dV = -K_:M d beta_M - W                                                                                     (11)

where E has a row for each sum, with 1 for the variables that count in it. A straight line ends at a breakpoint: where a
variable of M meets a bound, where one at its bound or in T meets the level, or at eta = 1, where R is empty. The
inverse of the matrix follows M by terms of rank one.

Departs from the paper:

* The level (the paper's -b) moves, as in Karasuyama & Takeuchi's (7). The paper keeps f on the margin as it is (9), so
  its matrix (10) has one row more than columns, and in general only a pseudo-inverse.
* The paper's path has no limits. Here a line reads the inverse and K_:M, which is what thousands of steps of SMO take:
  so M, its kernel values and the work have limits. Where the path meets one, the rest of R goes at once, M answers as
  if no bound were in its way, and ``adjust`` repairs what is not feasible.
* A ridge on K_MM (as Karasuyama & Takeuchi have it) keeps rows that come twice from making it singular. The paper
  inverts it as it is, or takes a pseudo-inverse.
* A variable of M that meets its bound ends a line, too; the paper takes the step from rows off the margin alone.
* Where no variable of a group is on the margin, which the paper leaves open, the level moves to the first variable that
  can take what the sum lacks.
* The paper's eta is the share of what is left, ours counts from the beginning: the lines are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import blas, lapack, pinvh

from libsvmx._core.arrays import ramp
from libsvmx._core.blas import one_blas_thread
from libsvmx._core.stopping import FLOPS, pieces
from libsvmx._solvers.seeding.margin import Margin, clipped, values_with, weighted_values

if TYPE_CHECKING:
    from libsvmx._solvers.control import Control
    from libsvmx._solvers.seeding.fold_change import FoldChange
    from libsvmx._solvers.seeding.margin import Array
    from libsvmx._typing import Buffer

# Added to the diagonal of K_MM, relative to its mean: rows that come twice leave it regular (Karasuyama & Takeuchi).
RIDGE = 1e-6
# A pivot below this share of RIDGE is not positive but for rounding.
SINGULAR = 1e-3
# Variables on the margin; values K_:M (128 MB); multiplications in all steps (1 to 2 s).
MOST_MARGIN = 2000
MOST_VALUES = 1 << 24
MOST_WORK = 3e9
# Of a singular matrix: its pseudo-inverse takes 0.1 s.
LARGE = 400

# States of variables: of R or held out; at a bound; of M; of T, on the way to C.
OUT, BOUND, MARGIN, MOVING = range(4)


@one_blas_thread()
def seed(change: FoldChange) -> Buffer:
    """The end of the path from the known optimum, or as far as its limits allow. Returns beta, to be adjusted.

    Raises
    ------
    Stopped
    """
    path = AtoPath(change)
    path.follow()
    start = change.kept()
    inside = path.state != OUT
    np.asarray(start)[inside] = clipped(path.beta[inside], path.lower[inside], path.upper[inside])
    return start


class AtoPath:
    """AtoPath(change): beta and V of all variables on the way, by ``follow``.

    Attributes
    ----------
    state : ndarray of int, shape (m,)         OUT, BOUND, MARGIN or MOVING
    velocity, W : ndarray, shape (m,), (n,)    d beta / d eta of T and R, and K times it, by kernel row
    level, sum_residual : ndarray              by group: V on the margin; what M has to give to the sum per unit of eta
    """

    def __init__(self, change: FoldChange) -> None:
        self.at, self.change = at, change = Margin(change), change
        self.kernel = change.kernel
        self.every_row = change.kernel.targets(ramp(change.kernel.n))
        self.lower, self.upper, self.group = at.lower, at.upper, at.group
        self.beta, self.V, self.level, self.eta = at.beta.copy(), at.V.copy(), at.levels.copy(), 0.0
        self.work, self.renewed_at = 0.0, -1.0
        moving, leaving = at.violating(at.entering), at.leaving[at.beta[at.leaving] != 0]
        self.state = np.full(len(at.beta), OUT)
        self.state[at.bounded], self.state[at.entering], self.state[at.free] = BOUND, BOUND, MARGIN
        self.state[moving] = MOVING
        self.velocity = np.zeros(len(at.beta))
        self.velocity[moving] = np.where(self.upper > 0, self.upper, self.lower)[moving]
        self.velocity[leaving] = -self.beta[leaving]
        moved = np.append(moving, leaving)
        self.W = weighted_values(change, self.velocity[moved], at.row[moved], np.arange(self.kernel.n))
        self.sum_residual = at.missing(at.beta) - at.counted(moved) @ self.velocity[moved]

    def rows(self, variables: Array) -> Array:
        """K of these variables with all rows of the kernel, float64."""
        return values_with(self.change, self.every_row, self.at.row[variables])

    def follow(self) -> None:
        """From breakpoint to breakpoint, until R is empty or a limit is met."""
        for g in range(len(self.level)):
            self.fill_margin(g)
        if (self.state == MARGIN).sum() > min(MOST_MARGIN, MOST_VALUES // self.kernel.n):
            return
        self.inverse, going = MarginInverse(self), True
        zero_steps: set[int] = set()  # what ended lines of length 0, since one was longer
        while going and self.eta < 1.0 and self.work < MOST_WORK:
            self.work += self.inverse.work
            self.change.control.ask(int(self.inverse.work))
            d_level, d_beta = self.inverse.direction()
            dV = -self.inverse.times_kernel(d_beta) - self.W
            step, v, bound = self.breakpoint(d_level, d_beta, dV[self.at.row])
            if step == 0 and v in zero_steps:  # in a circle, where the inverse has lost its digits
                zero_steps, going = set(), self.renew()
                continue
            zero_steps = zero_steps | {v} if step == 0 else set()
            self.beta += step * (d_beta + self.velocity)
            self.V += step * dV[self.at.row]
            self.level += step * d_level
            self.eta = self.eta + step if v >= 0 else 1.0
            if v >= 0:
                going = self.leave_margin(v, bound) if self.state[v] == MARGIN else self.join_margin(v)
        moving = np.flatnonzero(self.state == MOVING)
        if self.eta >= 1.0:
            # exactly: a row that is at C but for rounding counts as one that can still grow
            self.beta[moving] = self.velocity[moving]
        else:
            for t in moving.tolist():
                self.stop_moving(t)
            self.beta += (1.0 - self.eta) * self.inverse.direction()[1]

    def breakpoint(self, d_level: Array, d_beta: Array, dV: Array) -> tuple[float, int, float]:
        """(length of the line, the variable that ends it or -1, the bound that this meets, if it is of M)."""
        state = self.state
        # V less the level, such that it is negative until the variable meets the margin
        away = np.where(self.upper > 0, -1.0, 1.0)
        side = np.where(state == MOVING, away, np.where(self.beta < self.upper, 1.0, -1.0))
        distance = -side * (self.V - self.level[self.group])
        speed = side * (dV - d_level[self.group])
        speed[(state == OUT) | (state == MARGIN)] = 0.0
        bound = np.where(d_beta > 0, self.upper, self.lower)
        on_margin = (state == MARGIN) & (d_beta != 0)
        distance[on_margin] = ((bound - self.beta) * np.sign(d_beta))[on_margin]
        speed[on_margin] = np.abs(d_beta[on_margin])
        ends = np.flatnonzero(speed > np.finfo(float).tiny)
        if len(ends):
            steps = np.maximum(distance[ends], 0.0) / speed[ends]
            first = int(steps.argmin())
            if steps[first] < 1.0 - self.eta:
                v = int(ends[first])
                return float(steps[first]), v, float(bound[v])
        return 1.0 - self.eta, -1, 0.0

    def leave_margin(self, v: int, bound: float) -> bool:
        """A variable of M has met its bound. False if nothing can take what its sum lacks."""
        g = self.group[v]
        self.beta[v], self.state[v] = bound, BOUND
        if ((self.state == MARGIN) & (self.group == g)).any():
            return self.inverse.remove(v) or self.renew()
        found = self.fill_margin(g)
        self.inverse = MarginInverse(self)
        return found or self.sum_residual[g] == 0

    def join_margin(self, v: int) -> bool:
        """A variable has met the level. False if there is no room for it, or it depends on the others."""
        if self.state[v] == MOVING:
            self.stop_moving(v)
            if self.beta[v] == 0:
                return True  # at once: it stays at its bound
        if self.inverse.full:
            return False
        alone = not ((self.state == MARGIN) & (self.group == self.group[v])).any()
        self.state[v] = MARGIN
        if alone:
            self.inverse = MarginInverse(self)
            return True
        return self.inverse.add(v) or self.renew()

    def renew(self) -> bool:
        """The inverse has lost its digits: another, from nothing. False if that has been tried here."""
        if self.renewed_at == self.eta:
            return False
        self.inverse, self.renewed_at = MarginInverse(self), self.eta
        self.work += len(self.inverse.member) ** 3 / 4
        return True

    def stop_moving(self, t: int) -> None:
        """A variable of T stays where it is."""
        self.W -= self.velocity[t] * self.rows(np.array([t]))[0]
        self.sum_residual[self.group[t]] += self.velocity[t]
        self.velocity[t], self.state[t] = 0.0, BOUND

    def fill_margin(self, g: int) -> bool:
        """If M has no variable of group g, and its sum lacks something: the level becomes V of the first that can
        give it, which joins M. False if there is none."""
        own = self.group == g
        residual = self.sum_residual[g]
        if residual == 0 or (own & (self.state == MARGIN)).any():
            return True
        # of T those that the level may pass
        backwards = self.lower < 0 if residual > 0 else self.upper > 0
        own &= (self.state == BOUND) | ((self.state == MOVING) & (self.beta != 0) & backwards)
        own &= self.beta < self.upper if residual > 0 else self.beta > self.lower
        able = np.flatnonzero(own)
        if not len(able):
            return False
        v = int(able[np.argmax(np.sign(residual) * self.V[able])])
        if self.state[v] == MOVING:
            self.stop_moving(v)
        self.state[v], self.level[g] = MARGIN, self.V[v]
        return True


class MarginInverse:
    """MarginInverse(path): the matrix of (8-10), inverted.

    Each member of M has a slot; the rows and columns of slots that are free are 0.
    """

    def __init__(self, path: AtoPath) -> None:
        self.path, self.n_sums = path, len(path.level)
        members = np.flatnonzero(path.state == MARGIN)
        m, n = len(members), path.kernel.n
        slots = min(m + max(32, m // 4), max(MOST_MARGIN, m))
        self.member = np.full(slots, -1)
        self.member[:m] = members
        self.K = np.zeros((slots, n))
        self.K[:m] = path.rows(members)
        self.diagonal = np.asarray(path.kernel.diagonal)[path.at.row]
        self.ridge = RIDGE * (float(np.abs(self.diagonal[members]).mean()) if m else 1.0)
        self.work = 3.0 * slots**2 + slots * n
        size = self.n_sums + m
        matrix = np.zeros((size, size))
        matrix[: self.n_sums, self.n_sums :] = path.at.counted(members)
        matrix += matrix.T
        matrix[self.n_sums :, self.n_sums :] = self.K[:m, path.at.row[members]] + self.ridge * np.eye(m)
        self.inverse = np.zeros((self.n_sums + slots, self.n_sums + slots), order="F")
        # a sum without members stays out
        used = np.flatnonzero(matrix.any(axis=0))
        if len(used):
            self.inverse[np.ix_(used, used)] = inverted(matrix[np.ix_(used, used)], path.change.control)

    @property
    def full(self) -> bool:
        return bool((self.member >= 0).all())

    def direction(self) -> tuple[Array, Array]:
        """(d level, d beta of M over all variables), per unit of eta."""
        path, used = self.path, np.flatnonzero(self.member >= 0)
        right = np.zeros(len(self.inverse))
        right[: self.n_sums] = path.sum_residual
        right[self.n_sums + used] = -path.W[path.at.row[self.member[used]]]
        solved = self.inverse @ right
        d_beta = np.zeros(len(path.beta))
        d_beta[self.member[used]] = solved[self.n_sums + used]
        return solved[: self.n_sums], d_beta

    def times_kernel(self, d_beta: Array) -> Array:
        """K_:M d beta_M over the rows of the kernel."""
        return np.where(self.member >= 0, d_beta[self.member], 0.0) @ self.K

    def add(self, v: int) -> bool:
        """A variable joins. False if its pivot is none."""
        path, used = self.path, np.flatnonzero(self.member >= 0)
        slot = int(np.argmin(self.member >= 0))
        row = path.rows(np.array([v]))[0]
        column = np.zeros(len(self.inverse))
        column[path.group[v]] = 1.0
        column[self.n_sums + used] = row[path.at.row[self.member[used]]]
        null = -(self.inverse @ column)
        pivot = self.diagonal[v] + self.ridge + column @ null
        if not pivot > SINGULAR * self.ridge:
            return False
        null[self.n_sums + slot] = 1.0
        self.inverse = blas.dger(1.0 / pivot, null, null, a=self.inverse, overwrite_a=1)
        self.member[slot], self.K[slot] = v, row
        return True

    def remove(self, v: int) -> bool:
        """A variable leaves. False if the rest is singular."""
        slot = int(np.flatnonzero(self.member == v)[0])
        k = self.n_sums + slot
        column = self.inverse[:, k].copy()
        if not column[k] > 0:
            return False
        self.inverse = blas.dger(-1.0 / column[k], column, column, a=self.inverse, overwrite_a=1)
        self.inverse[k, :], self.inverse[:, k] = 0.0, 0.0
        self.member[slot] = -1
        return True


def inverted(matrix: Array, control: Control) -> Array:
    """The inverse of a symmetric matrix; of a singular one the pseudo-inverse, or, if that takes long, 0: the margin
    stays where it is. Raises Stopped."""
    n = len(matrix)
    factor, pivots, info = lapack.dgetrf(matrix)
    control.ask(n**3 // FLOPS)
    if info != 0:
        return np.asarray(pinvh(matrix)) if n <= LARGE else np.zeros((n, n))
    inverse = np.eye(n)
    for begin, end in pieces(0, n, 2 * n * n):
        inverse[:, begin:end] = lapack.dgetrs(factor, pivots, inverse[:, begin:end])[0]
        control.ask(2 * n * n * (end - begin) // FLOPS)
    return inverse

"""ATO, adjusting alpha towards its optimum (Wen et al. 2017, eqs. 4-11, algorithm 1; Karasuyama & Takeuchi 2010).

With eta from 0 to 1 the alpha of R fall to 0, those of T that violate optimality rise to C, and the variables on the
margin M answer such that their V stays at its level and the sums reach those of the new round. In beta = y alpha, per
unit of eta,

    d beta_R = -beta_R,   d beta_T = y C,   W = K_:T d beta_T + K_:R d beta_R                                   (7)
    [0   E   ] [d level ]   [what the sums lack - sums of d beta_T and d beta_R]
    [E'  K_MM] [d beta_M] = [-W_M                                              ]                                (8-10)
    dV = -K_:M d beta_M - W                                                                                     (11)

where E has a row for each sum, with 1 for the variables that count in it. A straight line ends where a variable of M
meets its box, where one at its bound or in T meets the level, or at eta = 1: R is empty, and what T has left is at C.
The inverse of the matrix follows M by terms of rank one.

A step reads this inverse and K_:M, which is what thousands of steps of SMO take. So the path has limits; where it meets
one, the rest of R goes at once, M answers as if nothing were in its way, and ``adjust`` repairs what is not feasible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import blas, lapack, pinvh

from libsvmx._core.arrays import ramp
from libsvmx._solvers.seeding.margin import Margin, boxed

if TYPE_CHECKING:
    from libsvmx._solvers.seeding.margin import Array
    from libsvmx._solvers.seeding.starts import Round
    from libsvmx._typing import Buffer

# Added to the diagonal of K_MM, relative to its mean: rows that come twice leave it regular (Karasuyama & Takeuchi).
RIDGE = 1e-6
# A pivot below this share of RIDGE is not positive but for rounding.
SINGULAR = 1e-3
# Variables on the margin; values K_:M (128 MB); multiplications in all steps (1 to 2 s).
MOST_MARGIN = 2000
MOST_VALUES = 1 << 24
MOST_WORK = 3e9

# States of variables: of R or held out; at a bound; of M; of T, on the way to C.
OUT, BOUND, MARGIN, MOVING = range(4)


def seed_ato(round_: Round) -> Buffer:
    """The end of the path from the old optimum, or how far its limits allow. Returns alpha, float64, to be adjusted."""
    path = Path(round_)
    path.follow()
    start = round_.cut()
    inside = path.state != OUT
    np.asarray(start)[inside] = boxed((path.at.y * path.beta)[inside], path.at.C[inside])
    return start


class Path:
    """Path(round): beta and V of all variables on the way, by ``follow``."""

    def __init__(self, round_: Round) -> None:
        self.at = at = Margin(round_)
        self.kernel = round_.kernel
        self.every_row = round_.kernel.targets(ramp(round_.kernel.n))
        self.beta, self.V, self.level, self.eta = at.y * at.alpha, at.V.copy(), at.levels.copy(), 0.0
        self.work, self.renewed_at = 0.0, -1.0
        self.least, self.most = np.where(at.y > 0, 0.0, -at.C), np.where(at.y > 0, at.C, 0.0)
        self.sum_of = at.counted(np.arange(len(at.y))).argmax(axis=0)
        moving, leaving = at.violating(at.entering), at.leaving[at.alpha[at.leaving] > 0]
        self.state = np.full(len(at.y), OUT)
        self.state[at.bounded], self.state[at.entering], self.state[at.free] = BOUND, BOUND, MARGIN
        self.state[moving] = MOVING
        self.velocity = np.zeros(len(at.y))  # of T and R
        self.velocity[moving] = at.y[moving] * at.C[moving]
        self.velocity[leaving] = -self.beta[leaving]
        driven = np.append(moving, leaving)
        self.W = self.velocity[driven] @ self.rows(driven)
        self.lack = at.missing(at.alpha) - at.counted(driven) @ self.velocity[driven]

    def rows(self, variables: Array) -> Array:
        """K of these variables with all rows of the kernel, float64."""
        self.kernel.values_computed += len(variables) * self.kernel.n
        values = self.every_row.rows(self.at.index[variables].tolist())
        return np.array(values, dtype=np.float64).reshape(len(variables), self.kernel.n)

    def follow(self) -> None:
        """Walk from breakpoint to breakpoint, until R is empty or a limit is met."""
        for g in range(len(self.lack)):
            self.fill_margin(g)
        if (self.state == MARGIN).sum() > min(MOST_MARGIN, MOST_VALUES // self.kernel.n):
            return
        self.system, going = System(self), True
        still: set[int] = set()  # what ended lines of length 0, since one was longer
        while going and self.eta < 1.0 and self.work < MOST_WORK:
            self.work += self.system.work
            d_level, d_beta = self.system.answer(self.lack, self.W)
            dV = -self.system.times_kernel(d_beta) - self.W
            step, v, bound = self.breakpoint(d_level, d_beta, dV[self.at.index])
            if step == 0 and v in still:  # in a circle, where the inverse has lost its digits
                still, going = set(), self.renew()
                continue
            still = still | {v} if step == 0 else set()
            self.beta += step * (d_beta + self.velocity)
            self.V += step * dV[self.at.index]
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
                self.halt(t)
            self.beta += (1.0 - self.eta) * self.system.answer(self.lack, self.W)[1]

    def breakpoint(self, d_level: Array, d_beta: Array, dV: Array) -> tuple[float, int, float]:
        """(length of the line, the variable that ends it or -1, the bound that this meets, if it is of M)."""
        y, state = self.at.y, self.state
        # V less the level, such that it is negative until the variable meets the margin
        side = np.where(state == MOVING, -y, np.where(self.beta < self.most, 1.0, -1.0))
        distance = -side * (self.V - self.level[self.sum_of])
        speed = side * (dV - d_level[self.sum_of])
        speed[(state == OUT) | (state == MARGIN)] = 0.0
        box = np.where(d_beta > 0, self.most, self.least)
        on_margin = (state == MARGIN) & (d_beta != 0)
        distance[on_margin] = ((box - self.beta) * np.sign(d_beta))[on_margin]
        speed[on_margin] = np.abs(d_beta[on_margin])
        ends = np.flatnonzero(speed > np.finfo(float).tiny)
        if len(ends):
            steps = np.maximum(distance[ends], 0.0) / speed[ends]
            first = int(steps.argmin())
            if steps[first] < 1.0 - self.eta:
                v = int(ends[first])
                return float(steps[first]), v, float(box[v])
        return 1.0 - self.eta, -1, 0.0

    def leave_margin(self, v: int, bound: float) -> bool:
        """A variable of M has met its bound. False if nothing can take what its sum lacks."""
        g = self.sum_of[v]
        self.beta[v], self.state[v] = bound, BOUND
        if ((self.state == MARGIN) & (self.sum_of == g)).any():
            return self.system.remove(v) or self.renew()
        found = self.fill_margin(g)
        self.system = System(self)
        return found or self.lack[g] == 0

    def join_margin(self, v: int) -> bool:
        """A variable has met the level. False if there is no room for it, or it depends on the others."""
        if self.state[v] == MOVING:
            self.halt(v)
            if self.beta[v] == 0:
                return True  # at once: it stays at its bound
        if self.system.full:
            return False
        alone = not ((self.state == MARGIN) & (self.sum_of == self.sum_of[v])).any()
        self.state[v] = MARGIN
        if alone:
            self.system = System(self)
            return True
        return self.system.add(v) or self.renew()

    def renew(self) -> bool:
        """The inverse has lost its digits: another, from nothing. False if that has been tried here."""
        if self.renewed_at == self.eta:
            return False
        self.system, self.renewed_at = System(self), self.eta
        self.work += len(self.system.member) ** 3 / 4
        return True

    def halt(self, t: int) -> None:
        """A variable of T stays where it is."""
        self.W -= self.velocity[t] * self.rows(np.array([t]))[0]
        self.lack[self.sum_of[t]] += self.velocity[t]
        self.velocity[t], self.state[t] = 0.0, BOUND

    def fill_margin(self, g: int) -> bool:
        """If M has none that counts in sum g, and this lacks something: the level becomes V of the first that can
        give it, which joins M. False if there is none."""
        own = self.sum_of == g
        lack = self.lack[g]
        if lack == 0 or (own & (self.state == MARGIN)).any():
            return True
        # of T those that the level may pass
        own &= (self.state == BOUND) | ((self.state == MOVING) & (self.beta != 0) & (self.at.y * lack < 0))
        own &= self.beta < self.most if lack > 0 else self.beta > self.least
        able = np.flatnonzero(own)
        if not len(able):
            return False
        v = int(able[np.argmax(np.sign(lack) * self.V[able])])
        if self.state[v] == MOVING:
            self.halt(v)
        self.state[v], self.level[g] = MARGIN, self.V[v]
        return True


class System:
    """System(path): the matrix of M, inverted.

    Each member of M has a slot; the rows and columns of slots that are free are 0.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.n_sums = path, len(path.lack)
        members = np.flatnonzero(path.state == MARGIN)
        m, n = len(members), path.kernel.n
        slots = min(m + max(32, m // 4), max(MOST_MARGIN, m))
        self.member = np.full(slots, -1)
        self.member[:m] = members
        self.K = np.zeros((slots, n))
        self.K[:m] = path.rows(members)
        self.diagonal = np.asarray(path.kernel.diagonal)[path.at.index]
        self.ridge = RIDGE * (float(np.abs(self.diagonal[members]).mean()) if m else 1.0)
        self.work = 3.0 * slots**2 + slots * n
        size = self.n_sums + m
        matrix = np.zeros((size, size))
        matrix[: self.n_sums, self.n_sums :] = path.at.counted(members)
        matrix += matrix.T
        matrix[self.n_sums :, self.n_sums :] = self.K[:m, path.at.index[members]] + self.ridge * np.eye(m)
        self.inverse = np.zeros((self.n_sums + slots, self.n_sums + slots), order="F")
        # a sum without members stays out
        kept = np.flatnonzero(matrix.any(axis=0))
        if len(kept):
            self.inverse[np.ix_(kept, kept)] = inverted(matrix[np.ix_(kept, kept)])

    @property
    def full(self) -> bool:
        return bool((self.member >= 0).all())

    def answer(self, lack: Array, W: Array) -> tuple[Array, Array]:
        """(d level, d beta of M over all variables)."""
        path, used = self.path, np.flatnonzero(self.member >= 0)
        right = np.zeros(len(self.inverse))
        right[: self.n_sums] = lack
        right[self.n_sums + used] = -W[path.at.index[self.member[used]]]
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
        column[path.sum_of[v]] = 1.0
        column[self.n_sums + used] = row[path.at.index[self.member[used]]]
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


def inverted(matrix: Array) -> Array:
    """The inverse of a symmetric matrix, or its pseudo-inverse."""
    factor, pivots, info = lapack.dgetrf(matrix)
    if info == 0:
        inverse, info = lapack.dgetri(factor, pivots)
        if info == 0:
            return np.asarray(inverse)
    return np.asarray(pinvh(matrix))

"""Full conformal prediction: ranks of a new row among all rows, at the optimum that includes it with a candidate label.

Vovk, Gammerman & Shafer, Algorithmic learning in a random world, 2005. With scores R of the n rows and of the new one
at the optimum of all n + 1, p = (1 + #{i: R_i >= R_new}) / (n + 1).

In epsilon-SVR, with score |y - f(x)|, the set of targets t with p > alpha, k = floor(alpha (n + 1)), has three parts
above f(x), and their mirror images below:

    t - f(x) <= epsilon      beta = 0: f does not depend on t, and t is in the set where t - f(x) <= the k-th largest R
    then                     0 < beta < C: the new row is on the tube, R_new = epsilon, and p is the share of rows on it
                             or beyond, which changes where one comes or goes
    t - f(x) >= epsilon      beta = C: f does not depend on t, and t is in the set where t - f(x) <= the k-th largest R

Quantile regression is the same with epsilon = 0 and C tau in the place of C, or C (1 - tau) below f(x).

If the last part is not empty, which needs k rows or more on the tube or beyond, its end is the exact end of the set. It
is, unless epsilon is so large that fewer than about alpha of all rows are support vectors.
"""

from __future__ import annotations

from math import isfinite, nan

import numpy as np

from libsvmx._solvers.path.path import PathLost
from libsvmx._train.conformal import at_least, class_numbers, class_scores, own_scores
from libsvmx._train.model import pair_place
from libsvmx._train.updating.binary_problem import Pair
from libsvmx._train.updating.joined import Joiner
from libsvmx._train.updating.state import State
from libsvmx._typing import FloatArray, Ids

# Candidates in the middle part, if the last part is empty; its end is searched among them from the outside.
CANDIDATES = 16
# Accuracy of the bisection between two candidates, relative to the scale of targets.
SHARP = 1e-13


class ClassTrials:
    """ClassTrials(state): candidate labels of new rows of a C-SVC."""

    def __init__(self, state: State) -> None:
        self.labels = state.model.class_labels or ()
        k, ids = len(self.labels), state.ids
        self.class_of = class_numbers(self.labels, state.targets)
        self.base = np.full((len(state), k * (k - 1) // 2), nan)  # nan: the row is in no class of the pair
        self.places: dict[Pair, tuple[int, float]] = {}
        self.rows: dict[Pair, Ids] = {}
        for pair, binary in state.binaries.items():
            assert pair is not None
            place, sign = self.places[pair] = pair_place(pair, self.labels)
            rows = np.searchsorted(ids, binary.ids)
            self.base[rows, place] = sign * (np.asarray(binary.state.K_beta) - binary.state.rho)
            self.rows[pair] = np.sort(rows)

    def count(self, joiner: Joiner, t: int, label: float) -> int:
        """Number of rows that fit no better than row t of the tests with this label. Raises PathLost, Stopped."""
        values, new, k = self.base.copy(), np.full(self.base.shape[1], nan), len(self.labels)
        for pair, (place, sign) in self.places.items():
            if pair is not None and label in pair:
                found = sign * joiner.join(pair, t, label).values
                values[self.rows[pair], place], new[place] = found[:-1], found[-1]
        score = class_scores(new, k)[self.labels.index(int(label))]
        return int(np.count_nonzero(own_scores(values, k, self.class_of) >= at_least(score)))

    def counts(self, joiner: Joiner, t: int) -> list[int]:
        """``count`` for each class."""
        return [self.count(joiner, t, label) for label in self.labels]


class TargetTrials:
    """TargetTrials(state, k): candidate targets of new rows of a regression; those are in the set for which at least k
    > 0 rows fit no better."""

    def __init__(self, state: State, k: int = 1) -> None:
        self.targets, self.k, param, tau = state.targets, k, state.param, state.param.quantile
        self.epsilon = param.p if tau is None else 0.0
        self.bounds = (param.C, param.C) if tau is None else (param.C * (1 - tau), param.C * tau)
        self.scale = float(np.abs(self.targets).max()) + self.epsilon
        binary = state.binaries[None]
        values = (np.asarray(binary.state.K_beta) - binary.state.rho)[np.argsort(binary.ids)]
        self.residual = self.kth_largest(values)

    def kth_largest(self, values: FloatArray) -> float:
        """The k-th largest |y - f(x)| of the rows, by their decision values."""
        return float(np.partition(np.abs(self.targets - values), -self.k)[-self.k])

    def count(self, joiner: Joiner, t: int, target: float) -> int:
        """Number of rows that fit no better than row t of the tests with this target. Raises PathLost, Stopped."""
        values = joiner.join(None, t, target).values
        own = np.abs(np.append(self.targets, target) - values)
        return int(np.count_nonzero(own[:-1] >= self.at_least(own[-1], target)))

    def at_least(self, score: float, target: float = 0.0) -> float:
        """The smallest value that counts as at least a score; a large target increases the rounding of all scores."""
        return float(at_least(score, max(self.scale, abs(target))))

    def ends(self, joiner: Joiner, t: int, f: float) -> tuple[float, float]:
        """The ends of the set of row t with decision value f. Raises PathLost, Stopped."""
        return self.end(joiner, t, f, -1.0), self.end(joiner, t, f, 1.0)

    def end(self, joiner: Joiner, t: int, f: float, sign: float) -> float:
        """The lower (``sign`` -1) or upper (1) end of the set."""
        epsilon = self.epsilon
        beyond, target = self.beyond(joiner, t, f, sign)
        residual = self.kth_largest(beyond[:-1])
        if residual >= self.at_least(epsilon, target):
            return float(beyond[-1] + sign * max(residual, epsilon))
        inner, outer = f + sign * epsilon, float(beyond[-1] + sign * epsilon)
        for candidate in np.linspace(outer, inner, CANDIDATES + 1)[1:-1].tolist():
            if self.count(joiner, t, candidate) >= self.k:
                inner = candidate
                break
            outer = candidate
        else:
            if self.residual < self.at_least(epsilon):
                return f + sign * self.residual
        while abs(outer - inner) > SHARP * self.scale and inner != (middle := 0.5 * (inner + outer)) != outer:
            if self.count(joiner, t, middle) >= self.k:
                inner = middle
            else:
                outer = middle
        return inner

    def beyond(self, joiner: Joiner, t: int, f: float, sign: float) -> tuple[FloatArray, float]:
        """Decision values with a target so distant that the new row's coefficient is at its bound, and that target."""
        reach = self.epsilon + float(np.ptp(self.targets) or self.scale or 1.0)
        while isfinite(reach):
            values, beta = joiner.join(None, t, f + sign * reach)
            if abs(beta) >= self.bounds[sign > 0]:
                return values, f + sign * reach
            reach *= 2.0
        raise PathLost("no target is beyond what a new row can bear")

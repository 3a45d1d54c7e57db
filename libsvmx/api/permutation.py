"""Permutation test of a cross-validation: do the features predict the labels or targets?"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from libsvmx._solvers.solver import converted
from libsvmx._train.metrics import Scores, balanced_accuracy
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.validation.permutations import Predicted, predicted_permutations
from libsvmx._train.validation.scheme import Seeding
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import folds_of, parameter_of, problem_of, seed_of
from libsvmx.api.kernels import call_on, called
from libsvmx.exceptions import ParameterError, StoppedEarly

# Relative error of a score, due to the order of a sum or of the solvers' steps.
TIE = 1e-10
ACCURACY, BALANCED, ERROR, PINBALL = "accuracy", "balanced_accuracy", "mean_squared_error", "pinball_loss"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PermutationTest:
    """Result of a permutation test.

    Attributes
    ----------
    score : float
        Score of the true labels or targets.
    scores : ndarray of float64, shape (n,)
        Scores of the permutations, in the order in which they were drawn.
    scoring : str
        Name of the score: 'accuracy' or 'balanced_accuracy', in percent, 'mean_squared_error' or 'pinball_loss'.
    n_as_good : int
        b, the number of permutations with a score at least as good; errors within 1e-10, relatively, count as equal.
    p_value : float
        (b + 1) / (n + 1).
    standard_error : float
        sqrt(p (1 - p) / n), the error from drawing n of all permutations.
    """

    score: float
    scores: FloatArray
    scoring: str

    @property
    def n_as_good(self) -> int:
        """Number of scores at least as good, including nan, and errors equal up to rounding."""
        equal = TIE * abs(self.score)
        worse = self.scores > self.score + equal if self.scoring in (ERROR, PINBALL) else self.scores < self.score
        return int(len(self.scores) - np.count_nonzero(worse))

    @property
    def p_value(self) -> float:
        """Phipson & Smyth, *Permutation p-values should never be zero*, SAGMB 9(1), 2010."""
        return (self.n_as_good + 1) / (len(self.scores) + 1)

    @property
    def standard_error(self) -> float:
        """Standard error of ``p_value``."""
        return sqrt(self.p_value * (1 - self.p_value) / len(self.scores))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the share of all permutations that score at least as well.

        Clopper & Pearson, *The use of confidence or fiducial limits illustrated in the case of the binomial*,
        Biometrika 26, 1934: quantiles of beta distributions. Raises ParameterError unless 0 < level < 1.
        """
        from scipy.special import betaincinv

        level = converted("level", level, float)
        if not 0 < level < 1:
            raise ParameterError(f"level must be between 0 and 1, not {level}")
        b, n, tail = self.n_as_good, len(self.scores), (1 - level) / 2
        lowest = float(betaincinv(b, n - b + 1, tail)) if b > 0 else 0.0
        highest = float(betaincinv(b + 1, n - b, 1 - tail)) if b < n else 1.0
        return lowest, highest


def permutation_test(
    X: Any,
    y: Any,
    n: int = 1000,
    n_folds: int | None = None,
    param: Parameter | None = None,
    *,
    scoring: str | None = None,
    sample_weight: Any = None,
    seeder: str | None = None,
    scheme: str = "",
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> PermutationTest:
    """Test whether the features predict the labels better than chance, by cross-validation of permuted labels.

    The null hypothesis is that labels are independent of rows (Ojala & Garriga, *Permutation tests for studying
    classifier performance*, JMLR 11, 2010, test 1). The labels and each of n permutations of them are cross-validated
    as by ``cross_validate``, with folds drawn for these labels from the same random numbers. All trainings share kernel
    values, as in ``fit_many``.

    Parameters
    ----------
    X, y
        As in ``cross_validate``.
    n : int
        Number of permutations, >= 1.
    n_folds : int
        Number of folds, from 2 to the number of rows, by default 5; ``cv`` is a synonym.
    scoring : str or None
        'accuracy' or 'balanced_accuracy' (mean recall of the classes), both in percent; 'mean_squared_error' over all
        rows, and in quantile regression 'pinball_loss'. None: accuracy, mean squared error or pinball loss, by
        formulation.
    random_state : int
        As in ``cross_validate``; permutations are drawn after the folds, from the same generator.
    param, sample_weight, seeder, scheme, observer, **options
        As in ``cross_validate``; weights stay with their rows.

    Returns
    -------
    PermutationTest
        Independent of the number of threads.

    Raises
    ------
    ParameterError
        Also for one-class, or a score that does not fit the formulation.
    DataError
        Also if all labels are equal.
    StoppedEarly
        ``time_limit`` (seconds for the whole call) or the observer ended it; ``partial`` is a PermutationTest of the
        permutations finished, or None.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> found = libsvmx.permutation_test(X, y, n=99, n_folds=5, C=10, gamma=0.5)
    >>> found.score, found.p_value
    (90.0, 0.01)
    """
    X, _, options = called(X, options)
    n_folds = folds_of(n_folds, options, 5)
    param = parameter_of(param, options, random_state, X)
    n = converted("n", n, int)
    if n < 1:
        raise ParameterError(f"n must be at least 1, not {n}")
    usual, *others = (ACCURACY, BALANCED) if param.svm_type.is_classification else (ERROR,)
    if param.quantile is not None:
        usual, others = PINBALL, [ERROR]
    scoring = scoring or usual
    if scoring not in (usual, *others):
        raise ParameterError(f"scoring must be {' or '.join(map(repr, (usual, *others)))}, not {scoring!r}")
    problem, param = problem_of(X, y, param, sample_weight)
    seeding, seed, scores = Seeding(seeder or "none", scheme), seed_of(random_state), []
    try:
        with call_on(problem, param, observer) as told:
            for found in predicted_permutations(problem, param, n, n_folds, seed, told, seeding):
                scores.append(score_of(found, scoring, param.quantile))
                told.counted("permutation", len(scores) - 1, n)
    except StoppedEarly as stop:
        done = max(0, len(scores) - 1)
        partial = PermutationTest(score=scores[0], scores=np.array(scores[1:]), scoring=scoring) if done else None
        raise StoppedEarly(stop.status, f"{done} of {n} permutations are done", partial) from None
    return PermutationTest(score=scores[0], scores=np.array(scores[1:]), scoring=scoring)


def score_of(found: Predicted, scoring: str, tau: float | None) -> float:
    """The score of predictions; ``tau``: for quantile regression."""
    if scoring == BALANCED:
        return balanced_accuracy(found.predictions, found.targets)
    sums = Scores(tau)
    sums.add(found.predictions, found.targets)
    if scoring == PINBALL:
        return sums.pinball_loss
    return sums.mean_squared_error if scoring == ERROR else sums.accuracy

"""Scores the points of a search on given folds.

FoldSearch     data, folds and points of one search
  .run()            whichever of these is possible
  .columns()        one gamma at a time: kernel rows are shared, each C starts from the next smaller one
  .trainings()      each point of each fold trained separately, as in GridSearchCV: for what columns do not support
  .confirm()        retrains the candidates for the best point on folds with rows near the decision boundary
results_of     cv_results_ of the scores
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from inspect import signature
from math import isfinite
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.utils import _safe_indexing, compute_class_weight
from sklearn.utils.metaestimators import _safe_split

from libsvmx._core.machine import machine
from libsvmx._core.records import replace
from libsvmx._core.stopping import Leeway, Token
from libsvmx._core.threads import in_order
from libsvmx._train.gamma import gamma_of
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import MAX_THREADS, Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.validation.given_folds import Column, ColumnFold, GivenFold, predicted_folds
from libsvmx._typing import FloatArray, IntArray
from libsvmx.api.arrays import scaled
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import warn_caller
from libsvmx.sklearn.classifiers import SVC
from libsvmx.sklearn.regressors import SVR
from libsvmx.sklearn.rows import matrix_of, weights_of
from libsvmx.sklearn.tasks import told_of_each

# Newer versions of GridSearchCV pass sample_weight to scorers that accept it.
WEIGHTS_SCORES = hasattr(GridSearchCV, "_check_scorers_accept_sample_weight")
# Two optima to ``tol`` may predict a row differently if its decision value is within BORDER x tol of 0.
BORDER = 1.0


class Over(Token):
    """Ends all trainings of a search where one has failed, or the call is interrupted."""

    def abandon(self) -> None:
        self.stop(SolveStatus.INTERRUPTED)


class _Known:
    """In place of an estimator's FittedModel: known decision values of the rows to score."""

    def __init__(self, table: FloatArray, labels: FloatArray) -> None:
        self.table, self.labels = table, labels

    def values(self, tests: Any, threads: int) -> FloatArray:
        """Decision values, shape (n, n_functions)."""
        return self.table

    def predictions(self, tests: Any, threads: int) -> FloatArray:
        """Class codes, or targets, shape (n,)."""
        return self.labels


class _KnownSVC(SVC):
    """For scorers: answers for the test rows of its fold."""

    def _tests(self, X: Any) -> Any:
        return X


class _KnownSVR(SVR):
    def _tests(self, X: Any) -> Any:
        return X


@dataclass(frozen=True)
class Fold:
    """Rows to train on, and rows to score with their targets and weights.

    Attributes
    ----------
    train, test : array of int          indices >= 0
    rows : array of int32               those of ``train`` with positive weight, sorted by class
    classes : array of int              codes of the classes among ``rows``; empty in regression
    class_weights : dict                factor of C by code
    targets : array                     class codes or targets of ``test``
    weights : array or None             weights of ``test`` in scores
    """

    train: Any
    test: Any
    rows: IntArray
    classes: IntArray
    class_weights: dict[int, float]
    targets: FloatArray
    weights: FloatArray | None

    @property
    def given(self) -> GivenFold:
        """The fold as a Column takes it."""
        return GivenFold(self.rows.data, self.test.astype(np.int32).data, self.class_weights)


@dataclass
class Scores:
    """Scores, their bounds after another training to ``tol``, and seconds; arrays of shape (points, folds)."""

    shape: tuple[int, int]
    score: Any = field(init=False)
    least: Any = field(init=False)
    most: Any = field(init=False)
    fit_time: Any = field(init=False)
    score_time: Any = field(init=False)

    def __post_init__(self) -> None:
        self.score, self.least, self.most, self.fit_time, self.score_time = (np.zeros(self.shape) for _ in range(5))


class FoldSearch:
    """FoldSearch(whole, estimator, X, y, sample_weight, splits, scorer)

    Parameters
    ----------
    whole : BaseSearch              has the points and the number of threads; its callbacks are notified
    estimator : SVC or SVR          with all parameters but C and gamma
    X : array or sparse matrix      validated rows
    y : array                       labels, or targets
    sample_weight : array or None
    splits : list of (train, test)  of ``splits_of``
    scorer : callable or None       None: accuracy, or R^2

    Points are numbered as in ParameterGrid: gamma changes fastest.
    """

    def __init__(
        self, whole: Any, estimator: Any, X: Any, y: Any, sample_weight: Any, splits: list[tuple[Any, Any]], scorer: Any
    ) -> None:
        self.estimator, self.X, self.y, self.sample_weight = estimator, X, y, sample_weight
        self.whole, self.scorer, self.n_jobs = whole, scorer, int(effective_n_jobs(whole.n_jobs))
        self.costs, self.gammas = whole._costs(), whole._gammas()
        self.is_classifier = isinstance(estimator, SVC)
        self.codes = y
        if self.is_classifier:
            self.labels, self.codes = np.unique(y, return_inverse=True)
        self.row_weights, counting = weights_of(sample_weight, X)
        self.counts = None
        if counting is not None:
            self.counts = np.zeros(len(y), dtype=bool)
            self.counts[counting] = True
        self.score_weights = self.row_weights if sample_weight is not None and weights_score(scorer) else None
        self.folds = [self.fold(*split) for split in splits]
        self.scores = Scores((len(self.costs) * len(self.gammas), len(splits)))
        self.over = Over()
        self.unfinished = False

    def fold(self, train: Any, test: Any) -> Fold:
        """Make a Fold.

        Raises ValueError for an unknown class in class_weight, and without a row to score that has a weight.
        """
        rows = train if self.counts is None else train[self.counts[train]]
        classes, weights = np.empty(0, dtype=np.int32), dict[int, float]()
        if self.is_classifier:
            rows = rows[np.argsort(self.codes[rows], kind="stable")]
            classes = np.unique(self.codes[rows]).astype(np.int32)
            if self.estimator.class_weight is not None and len(classes) > 1:
                own = compute_class_weight(self.estimator.class_weight, classes=self.labels[classes], y=self.y[rows])
                weights = dict(zip(classes.tolist(), own.tolist(), strict=True))
        of_test = None if self.score_weights is None else self.score_weights[test]
        if of_test is not None and of_test.sum() == 0:
            raise ValueError("the rows to score in a fold have sample_weight 0")
        return Fold(train, test, rows.astype(np.int32), classes, weights, self.codes[test], of_test)

    def run(self) -> None:
        """Score all points."""
        if self.has_columns:
            self.columns()
            self.confirm()
        else:
            self.trainings()

    @property
    def has_columns(self) -> bool:
        """Whether columns support all trainings."""
        own = self.estimator
        response = getattr(self.scorer, "_response_method", "unknown")
        known = self.scorer is None or (response != "unknown" and response != "predict_proba")
        return (
            known
            # with an indefinite kernel the optimum depends on the start
            and (own.kernel in ("linear", "rbf") or (own.kernel == "poly" and own.coef0 >= 0))
            and all(map(isfinite, self.costs))
            and all(len(fold.classes) > 1 or not self.is_classifier for fold in self.folds)
            and all(len(fold.rows) > 0 and min(fold.class_weights.values(), default=1) > 0 for fold in self.folds)
        )

    # ---- columns ---------------------------------------------------------------------------------------

    def columns(self) -> None:
        """Score all points, gamma by gamma."""
        numbers: dict[Any, list[tuple[int, int]]] = {}
        for g in range(len(self.gammas)):
            for f, fold in enumerate(self.folds):
                numbers.setdefault(self.gamma_of(g, fold), []).append((g, f))
        weights = None if self.row_weights is None else np.maximum(self.row_weights, 0.0).data
        targets = np.ascontiguousarray(self.codes, dtype=np.float64).data
        self.problem = Problem(matrix_of(self.X, False), targets, sample_weight=weights)
        self.param, self.order = self.parameter(), np.argsort(self.costs, kind="stable")
        self.at_once = min(self.n_jobs, len(numbers))  # columns, which divide threads and memory
        self.each(self.column, list(numbers.items()))

    def gamma_of(self, g: int, fold: Fold) -> Any:
        """gamma number ``g``; 'scale' is computed from the training rows of the fold."""
        gamma = self.gammas[g]
        if gamma is None or isinstance(gamma, tuple):
            return gamma or 0.0
        return gamma_of(gamma, self.X[fold.train] if gamma == "scale" else self.X)

    def problem_of(self, param: Parameter) -> Problem:
        """All rows, scaled if there is a gamma for each feature."""
        if not param.gammas:
            return self.problem
        matrix = scaled(self.problem.matrix, self.X, param)
        return Problem(matrix, self.problem.targets, sample_weight=self.problem.sample_weight)

    def column(self, gamma: Any, which: list[tuple[int, int]]) -> None:
        """Score every C at one gamma, for each (index of gamma, fold) of ``which``."""
        threads = min(MAX_THREADS, self.n_jobs // self.at_once)
        own = {"cache_size": self.estimator.cache_size / self.at_once, "threads": threads}
        param = replace(self.param, gamma=gamma, **own)
        costs = [self.costs[c] for c in self.order]
        observer = Observer()
        observer.limits = self.over  # stop once a solve of another thread has failed
        column = Column(self.problem_of(param), param, costs, observer)
        given = [self.folds[f].given for _, f in which]
        for (g, f), found in zip(which, column.solve(given), strict=True):
            fold = self.folds[f]
            self.unfinished = self.unfinished or not all(found.converged)
            begun = machine.perf_counter()
            points = self.order * len(self.gammas) + g
            answers = Answers(found, fold, BORDER * self.estimator.tol)
            if self.scorer is None:
                parts = answers.accuracy() if self.is_classifier else answers.r2()
            else:
                parts = (np.array([self.by_scorer(answers, at, fold) for at in range(len(costs))]),) * 3
            self.scores.score[points, f], self.scores.least[points, f], self.scores.most[points, f] = parts
            self.scores.fit_time[points, f] = found.seconds
            self.scores.score_time[points, f] = (machine.perf_counter() - begun) / len(costs)
            for at in np.flatnonzero(np.array(found.widths) > self.estimator.tol):  # rho is not unique: take SVC's
                self.training(int(points[at]), f)

    def parameter(self) -> Parameter:
        """Parameters of all points, except C and gamma."""
        own = clone(self.estimator).set_params(probability=False) if self.is_classifier else clone(self.estimator)
        own._gamma = 0.0
        own.class_weight_ = np.ones(0)
        return own._parameter()

    def by_scorer(self, answers: Answers, at: int, fold: Fold) -> float:
        """Score of the answers at C number ``at``, by the scorer."""
        known: Any = _KnownSVC if self.is_classifier else _KnownSVR
        estimator = known(**self.estimator.get_params())
        if self.is_classifier:
            estimator.classes_ = self.labels[fold.classes]
        codes = answers.places(at) if self.is_classifier else answers.values[0, at]
        estimator._fitted = _Known(answers.table(at), codes)
        estimator.n_features_in_ = self.X.shape[1]
        return self.score_of(estimator, fold)

    # ---- training by training -----------------------------------------------------------------------------

    def trainings(self) -> None:
        """Score all points, each by one training per fold."""
        n_points, n_folds = self.scores.shape
        self.each(self.training, [(p, f) for p in range(n_points) for f in range(n_folds)])

    def training(self, point: int, f: int) -> None:
        """Train and score one point on fold ``f``."""
        if self.over.stopped:
            return
        fold = self.folds[f]
        c, g = divmod(point, len(self.gammas))
        estimator = clone(self.estimator).set_params(C=self.costs[c], callback=lambda progress: bool(self.over.stopped))
        if self.gammas[g] is not None:
            estimator.set_params(gamma=self.gammas[g])
        X, y = _safe_split(estimator, self.X, self.y, fold.train)
        own = {} if self.sample_weight is None else {"sample_weight": _safe_indexing(self.sample_weight, fold.train)}
        begun = machine.perf_counter()
        estimator.fit(X, y, **own)
        trained = machine.perf_counter()
        score = self.score_of(estimator, fold)
        self.scores.score[point, f] = self.scores.least[point, f] = self.scores.most[point, f] = score
        self.scores.fit_time[point, f] = trained - begun
        self.scores.score_time[point, f] = machine.perf_counter() - trained

    def score_of(self, estimator: Any, fold: Fold) -> float:
        """Score on the test rows of the fold."""
        X, y = _safe_split(estimator, self.X, self.y, fold.test, fold.train)
        scorer: Callable[..., Any] = self.scorer or type(estimator).score
        score = scorer(estimator, X, y) if fold.weights is None else scorer(estimator, X, y, sample_weight=fold.weights)
        return float(score)

    def confirm(self) -> None:
        """Retrain candidates along SVC's path until the best point is certain."""
        scores, settled = self.scores, (self.scores.least == self.scores.most).all(axis=1)
        while True:
            least, most = scores.least.mean(axis=1), scores.most.mean(axis=1)
            first = least.argmax()
            better = (most > least[first]) | ((most == least[first]) & (np.arange(len(most)) < first))
            doubtful = np.flatnonzero(~settled & better)
            if not len(doubtful):
                return
            point = doubtful[np.argmax(most[doubtful])]
            which = np.flatnonzero(scores.least[point] < scores.most[point])
            found = self.accuracies_along_the_path(int(point), [self.folds[f] for f in which])
            scores.score[point, which] = scores.least[point, which] = scores.most[point, which] = found
            settled[point] = True

    def accuracies_along_the_path(self, point: int, folds: list[Fold]) -> list[float]:
        """Accuracies on ``folds`` of the models that SVC trains."""
        c, g = divmod(point, len(self.gammas))
        at = replace(self.param, C=self.costs[c])
        given = [(fold.given, replace(at, gamma=self.gamma_of(g, fold))) for fold in folds]
        problem = self.problem_of(given[0][1])
        predicted = zip(folds, predicted_folds(problem, given, Observer()), strict=True)
        return [float(np.average(np.asarray(p) == fold.targets, weights=fold.weights)) for fold, p in predicted]

    # ---- threads --------------------------------------------------------------------------------------------

    def each(self, work: Callable[..., None], jobs: list[tuple[Any, ...]]) -> None:
        """Do ``work(*job)`` of all jobs, on ``n_jobs`` threads, and warn if a solve has not converged."""

        def done(*job: Any) -> None:
            try:
                work(*job)
            except BaseException:
                self.over.abandon()
                raise

        try:
            self.take_all(in_order(done, jobs, self.n_jobs, Leeway(self.over)), len(jobs))
        finally:
            if self.unfinished:
                warn_caller(
                    "Solver terminated early at some points of the search.  Consider pre-processing your data with "
                    "StandardScaler or MinMaxScaler.",
                    ConvergenceWarning,
                )

    def take_all(self, coming: Iterable[None], total: int) -> None:
        """Wait for all items."""
        for _ in told_of_each(self.whole, "search", coming, total):
            pass


def weights_score(scorer: Any) -> bool:
    """Whether GridSearchCV passes weights to this scorer; None: the estimator's ``score``."""
    if scorer is None or not WEIGHTS_SCORES:
        return WEIGHTS_SCORES
    if hasattr(scorer, "_accept_sample_weight"):
        return bool(scorer._accept_sample_weight())
    return "sample_weight" in signature(scorer).parameters


def splits_of(cv: Any, classifier: bool, X: Any, y: Any, groups: Any) -> list[tuple[IntArray, IntArray]]:
    """Rows to train on and rows to score, indices >= 0, of the folds of ``cv``, which may give masks and negative ones.

    Raises ValueError without folds, or rows to score in one; IndexError for a row index out of range.
    """
    splits = list(check_cv(cv, y, classifier=classifier).split(X, y, groups))
    if not splits:
        raise ValueError(f"cv gives no folds: {cv!r}")
    found = [(numbers_of(train, len(y)), numbers_of(test, len(y))) for train, test in splits]
    if not all(len(test) for _, test in found):
        raise ValueError("a fold of cv has no rows to score")
    return found


def numbers_of(rows: Any, n: int) -> IntArray:
    """Row indices >= 0. Raises IndexError; ValueError unless ``rows`` is an array of one axis."""
    given = np.asarray(rows)
    if given.ndim != 1:
        raise ValueError(f"a fold of cv must have arrays of row indices, or masks, not {rows!r}")
    return np.arange(n)[given if given.size else given.astype(np.intp)]


class Answers:
    """Answers(found, fold, border): decision values and predictions of a fold's test rows, at each C.

    Attributes
    ----------
    values : array, shape (n_functions, n_Cs, n)
    """

    def __init__(self, found: ColumnFold, fold: Fold, border: float) -> None:
        self.fold, self.k = fold, len(fold.classes)
        n_functions = max(1, self.k * (self.k - 1) // 2)
        self.values = np.asarray(found.values).reshape(n_functions, len(found.widths), len(fold.test))
        if self.k:
            self.winners, self.near = self.decide(border)

    def decide(self, border: float) -> tuple[IntArray, IntArray]:
        """Index of the predicted class, the first with most votes, and whether values within ``border`` of 0 could
        change it: arrays of shape (n_Cs, n)."""
        first, near = self.values > 0, np.abs(self.values) <= border
        if self.k == 2:
            return np.where(first[0], 0, 1), near[0]
        positive, negative = np.triu_indices(self.k, 1)  # classes of each function

        def count(won: Any, lost: Any) -> Any:
            by_class = [won[positive == c].sum(axis=0) + lost[negative == c].sum(axis=0) for c in range(self.k)]
            return np.array(by_class)

        votes = sure = most = count(first, ~first)
        if near.any():
            sure, most = count(first & ~near, ~first & ~near), count(first | near, ~first | near)
        winners = votes.argmax(axis=0)
        certain, places = np.take_along_axis(sure, winners[None], axis=0), np.arange(self.k)[:, None, None]
        rivals = (most > certain) | ((most == certain) & (places < winners))
        np.put_along_axis(rivals, winners[None], False, axis=0)
        return winners, rivals.any(axis=0)

    def places(self, at: int) -> FloatArray:
        """Predictions at one C, as indices among the classes of the fold."""
        return self.winners[at].astype(np.float64)

    def table(self, at: int) -> FloatArray:
        """Decision values at one C, shape (n, n_functions)."""
        return np.ascontiguousarray(self.values[:, at].T)

    def accuracy(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Accuracy at each C, and its bounds after another training to ``tol``."""
        right, near = self.fold.classes[self.winners] == self.fold.targets, self.near
        score, least, most = (
            np.average(rows, axis=1, weights=self.fold.weights) for rows in (right, right & ~near, right | near)
        )
        return score, least, most

    def r2(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """R^2 at each C, in place of its bounds, too: small changes of decision values hardly move it."""
        y, predicted = self.fold.targets, self.values[0]
        spread = ((y - y.mean()) ** 2).sum() if len(y) > 1 else 0.0
        if self.fold.weights is None and spread > 0:
            score = 1 - ((y - predicted) ** 2).sum(axis=1) / spread
        else:
            score = np.array([r2_score(y, each, sample_weight=self.fold.weights) for each in predicted])
        return score, score, score


# ---- cv_results_ --------------------------------------------------------------------


def results_of(points: list[dict[str, Any]], scores: Scores) -> dict[str, Any]:
    """``cv_results_``, with the keys of GridSearchCV; ``points``: parameters by name, in the order of the search."""
    results: dict[str, Any] = {}
    for key, seconds in (("fit_time", scores.fit_time), ("score_time", scores.score_time)):
        results[f"mean_{key}"], results[f"std_{key}"] = seconds.mean(axis=1), seconds.std(axis=1)
    for name in points[0]:
        values = [point[name] for point in points]
        plain = not any(isinstance(value, (str, tuple)) for value in values)
        results[f"param_{name}"] = np.ma.MaskedArray(np.array(values) if plain else objects(values), mask=False)
    results["params"] = points
    for f in range(scores.score.shape[1]):
        results[f"split{f}_test_score"] = scores.score[:, f].copy()
    mean = scores.score.mean(axis=1)
    results["mean_test_score"], results["std_test_score"] = mean, scores.score.std(axis=1)
    results["rank_test_score"] = ranks_of(mean)
    return results


def objects(values: list[Any]) -> Any:
    """An array of one object for each value, also of a tuple."""
    found = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        found[i] = value
    return found


def ranks_of(mean: FloatArray) -> Any:
    """Ranks: 1 for the highest score, equal scores share the smallest rank, nan is last."""
    if np.isnan(mean).all():
        return np.ones(len(mean), dtype=np.int32)
    known = np.where(np.isnan(mean), np.nanmin(mean) - 1, mean)
    return rankdata(-known, method="min").astype(np.int32)

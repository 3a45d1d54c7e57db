"""scikit-learn's callbacks, from 1.9 on: their reports of fits, and that they can end a fit."""

from collections import Counter
from importlib.metadata import version

import numpy as np
import pytest
from support.data import load
from support.optional import optional

import libsvmx

callback = optional("sklearn.callback")
exceptions = optional("sklearn.exceptions")
model_selection = optional("sklearn.model_selection")
pytestmark = pytest.mark.skipif(
    tuple(map(int, version("scikit-learn").split(".")[:2])) < (1, 9), reason="scikit-learn has no callbacks"
)

ROWS, SPECIES = load("iris.scale", 150)
X, SPECIES = np.asarray(ROWS.toarray()), np.array(SPECIES, dtype=int)
LENGTHS = X[:, 2:]
WIDTH = X[:, 3]


class Told:
    """A callback that records open and ended tasks, and the estimators that it gets."""

    max_propagation_depth = None  # also for estimators within an estimator

    def __init__(self, stops_after=None):
        self.stops_after = stops_after
        self.open, self.ended, self.fitted, self.scores = [], [], [], []
        self.n_set_up = 0

    def setup(self, estimator, context):
        self.n_set_up += 1

    def teardown(self, estimator, context):
        self.n_set_up -= 1

    def on_fit_task_begin(self, estimator, context):
        self.open.append(path_of(context))

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.open.remove(path_of(context))
        self.ended.append(context.task_name)
        if fitted_estimator is not None:
            self.fitted.append(fitted_estimator)
            self.scores.append(fitted_estimator.score(X, y) if hasattr(fitted_estimator, "score") else None)
        return len(self.ended) == self.stops_after


def path_of(context):
    above = () if context.parent is None else path_of(context.parent)
    return (*above, (context.estimator_name, context.task_name, context.task_id))


def trained_as(name):
    """The task name of a training within a fit."""
    return "training" if name.startswith("Linear") else "dual problem"


FITS = [  # number of trainings in a fit
    ("SVC", {}, SPECIES, 3),
    ("SVC", {"probability": True}, SPECIES, 18),
    ("SVC", {"warm_start": True}, SPECIES, 3),
    ("NuSVC", {"nu": 0.2}, SPECIES, 3),
    ("SVR", {}, WIDTH, 1),
    ("SVR", {"keep_rows": True, "refine": True}, WIDTH, 1),
    ("NuSVR", {}, WIDTH, 1),
    ("OneClassSVM", {}, None, 1),
    ("QuantileSVR", {}, WIDTH, 1),
    ("QuantileSVR", {"tau": [0.1, 0.9]}, WIDTH, 2),
    ("OneVsRestSVC", {}, SPECIES, 3),
    ("MultiOutputSVR", {}, LENGTHS, 2),
    ("LinearSVC", {}, SPECIES, 3),
    ("LinearSVR", {}, WIDTH, 1),
]


@pytest.mark.parametrize(("name", "options", "y", "trainings"), FITS)
def test_a_fit_is_told_of_by_its_trainings(name, options, y, trainings):
    told, kind = Told(), getattr(libsvmx, name)
    found, expected = (made.fit(X, y) for made in (kind(**options).set_callbacks(told), kind(**options)))
    assert told.open == [] and told.n_set_up == 0
    assert Counter(told.ended) == {trained_as(name): trainings, "solve": 1, "fit": 1}
    (given,) = told.fitted
    np.testing.assert_array_equal(given.predict(X), expected.predict(X))
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert told.scores == [None if y is None else expected.score(X, y)]


SEARCHES = [  # the parts of a search
    ("SVCCV", {"Cs": 2, "gammas": [0.1, 1.0], "cv": 3}, SPECIES, 2),
    ("SVCCV", {"Cs": 2, "gammas": [0.1, 1.0], "cv": 3, "n_jobs": 2}, SPECIES, 2),
    ("SVCCV", {"Cs": 2, "gammas": [0.1, 1.0], "cv": 3, "kernel": "sigmoid"}, SPECIES, 12),
    ("SVRCV", {"Cs": 2, "gammas": [0.1, 1.0, 2.0], "cv": 3}, WIDTH, 3),
    ("LinearSVCCV", {"Cs": 2, "cv": 3}, SPECIES, 3),
]


@pytest.mark.parametrize(("name", "options", "y", "parts"), SEARCHES)
def test_a_search_is_told_of_with_its_last_fit(name, options, y, parts):
    told, kind = Told(), getattr(libsvmx, name)
    found, expected = (made.fit(X, y) for made in (kind(**options).set_callbacks(told), kind(**options)))
    assert told.open == [] and told.n_set_up == 0
    names = Counter({"training": parts, "search": 1, "solve": 1, "fit": 2})
    names[trained_as(name)] += 3 if y is SPECIES else 1
    assert Counter(told.ended) == names
    assert [type(each) for each in told.fitted] == [type(found.best_estimator_), kind]
    assert not hasattr(found.best_estimator_, "_skl_callbacks")
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_a_callback_ends_a_fit_with_what_it_has():
    told = Told(stops_after=1)
    found = libsvmx.SVC(tol=1e-6, warm_start=True).set_callbacks(told)  # one pair after the other
    with pytest.warns(exceptions.ConvergenceWarning, match="interrupted"):
        found.fit(X, SPECIES)
    assert found.fit_status_ == 1
    assert list(found.n_iter_ > 0) == [True, False, False]
    assert told.open == []


def test_an_error_takes_callbacks_down_and_leaves_the_estimator_as_it_was():
    told = Told()
    found = libsvmx.SVR().fit(X, WIDTH).set_callbacks(told)
    before = vars(found).copy()
    with pytest.raises(ValueError, match="NaN"):
        found.fit(np.full_like(X, np.nan), WIDTH)
    assert told.n_set_up == 0
    assert vars(found) == before


def test_scores_of_each_fit_of_a_search_of_scikit_learns():
    monitor = callback.ScoringMonitor(scoring="accuracy")
    estimator = libsvmx.SVC().set_callbacks(monitor)
    search = model_selection.GridSearchCV(estimator, {"C": [0.1, 1, 10]}, cv=2).fit(X, SPECIES)
    logged = monitor.get_logs().data
    assert len(logged) == 3 * 2 + 1
    assert {row["estimator_name"] for row in logged} == {"SVC"}
    assert search.score(X, SPECIES) in [row["accuracy"] for row in logged]


def test_weights_are_those_of_the_scores():
    weights = np.where(SPECIES == 1, 10.0, 1.0)
    monitor = callback.ScoringMonitor(scoring="accuracy")
    found = libsvmx.SVC(C=0.01).set_callbacks(monitor).fit(X, SPECIES, sample_weight=weights)
    (row,) = monitor.get_logs().data
    assert row["accuracy"] == found.score(X, SPECIES, sample_weight=weights) != found.score(X, SPECIES)


def test_progress_bars(capsys):
    pytest.importorskip("rich")
    libsvmx.SVCCV(Cs=2, gammas=2).set_callbacks(callback.ProgressBar()).fit(X, SPECIES)
    shown = capsys.readouterr().out
    assert "SVCCV - search" in shown and "SVC - solve" in shown and "100%" in shown

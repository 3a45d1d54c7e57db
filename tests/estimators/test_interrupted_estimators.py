"""Ctrl-C, or an error, at every bytecode of code that changes an estimator, and a thread that predicts meanwhile.

Afterwards the estimator is the old one or the new one, to the last bit, and NumPy has checked both.
"""

import copy
import sys
import threading
from functools import cache

import numpy as np
import pytest
from support.exact import blobs, judge
from support.interrupts import fail, interrupted, points_of, press
from support.optional import optional

import libsvmx
from libsvmx._core.records import replace
from libsvmx.io.modelfile import model_text

base = optional("sklearn.base")

# functions that make or roll back a change
FUNCTIONS = (
    "_make",
    "_settle",
    "keep",
    "commit",
    "is_made",
    "built_apart",
    "_trained",
    "_change",
    "_in_turn",
    "make_state",
)
X, Y = blobs(5, 60, 3)
NAMES = np.array(["", "b", "c", "a"])[Y.astype(int)]
TWO, TWO_NAMES = X[Y < 3], NAMES[Y < 3]
TARGETS = (Y + X[:, 0])[Y < 3]
N, M = 14, 17
OTHERS = ("cv_results_", "refit_time_", "best_estimator_", "scorer_")  # contain times, or are not numbers


class Case:
    """Case(first, change, rows=TWO, names=TWO_NAMES): an estimator and a change of it; ids count in ``rows``."""

    def __init__(self, first, change, rows=TWO, names=TWO_NAMES):
        self.first, self.change, self.rows, self.names = first, change, rows, names

    def made(self):
        made = copy.deepcopy(self.first)
        assert not hasattr(made, "row_ids_") or made._kept.problem  # a copied state is restored
        return made

    @property
    def outcomes(self):
        new = self.made()
        self.change(new)
        return [self.images_of(found) for found in (self.made(), new)]

    def images_of(self, found):
        """The full content of an estimator, and of the estimator after another change."""
        images = [self.image_of(found)]
        if hasattr(found, "row_ids_"):
            images.append(self.image_of(found.unlearn([9])))
        return images

    def image_of(self, found):
        attributes = {name: value for name, value in vars(found).items() if name.endswith("_") and name not in OTHERS}
        best = getattr(found, "best_estimator_", found)
        if hasattr(found, "row_ids_"):
            self.judge(found)
        rows = X[:, : found.n_features_in_]
        values = found.decision_function(rows) if base.is_classifier(found) else found.predict(rows)
        return [bits_of(value) for value in (*attributes.items(), values)], model_text(best._fitted.model)

    def judge(self, found):
        """By NumPy, the model is the optimum of the rows it claims, to the tolerance of the fit."""
        ids = found.row_ids_
        numbers = (np.searchsorted(ids, found.support_) + 1).astype(np.int32)
        model = replace(found._fitted.model, row_numbers=numbers.data)
        targets = TARGETS[ids]
        if base.is_classifier(found):
            targets = np.searchsorted(found.classes_, self.names[ids]).astype(float)
        for part in judge(model, self.rows[ids], targets):
            assert part.gap(part.beta) < 1e-5


def bits_of(value):
    if isinstance(value, tuple):
        return [bits_of(each) for each in value]
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)


def kept(kind="SVC", y=TWO_NAMES, **parameters):
    return getattr(libsvmx, kind)(gamma=0.5, **parameters).partial_fit(TWO[:N], y[:N])


def fitted(**parameters):
    return libsvmx.SVC(gamma=0.5, tol=1e-6, **parameters).fit(TWO[:N], TWO_NAMES[:N])


def come(found):
    found.partial_fit(TWO[N:M], TWO_NAMES[N:M])


def refit(found):
    found.fit(X[5:25, :2], NAMES[5:25])


THIRD, OF_THIRD = (np.concatenate([values[Y < 3][:N], values[Y == 3]]) for values in (X, NAMES))
CASES = {
    "rows come": lambda: Case(kept(C=2.0), come),
    "rows go": lambda: Case(kept(C=2.0), lambda found: found.unlearn([2, 5])),
    "a class comes": lambda: Case(
        kept(), lambda found: found.partial_fit(THIRD[N : N + 2], OF_THIRD[N : N + 2]), THIRD, OF_THIRD
    ),
    "regression": lambda: Case(
        kept("SVR", TARGETS, epsilon=0.05), lambda found: found.partial_fit(TWO[N:M], TARGETS[N:M])
    ),
    "the first rows": lambda: Case(fitted(keep_rows=True), come),
    "refit": lambda: Case(fitted(), refit),
    "refit with rows": lambda: Case(fitted(keep_rows=True), lambda found: found.fit(TWO[:M], TWO_NAMES[:M])),
    "leave-one-out": lambda: Case(kept(C=2.0), lambda found: found.loo_decision_function()),
    "search": lambda: Case(libsvmx.SVCCV(Cs=[1.0], gammas=[0.5], cv=2).fit(TWO[:N], TWO_NAMES[:N]), refit),
}
case_of = cache(lambda name: CASES[name]())


@pytest.mark.parametrize("name", CASES)
def test_at_every_bytecode(name, exhaustive):
    case = case_of(name)
    outcomes, raised = case.outcomes, 0
    for at in points_of(case.made, case.change, exhaustive, FUNCTIONS):
        found = case.made()
        raised += interrupted(lambda found=found: case.change(found), at, press if at % 2 else fail)
        assert case.images_of(found) in outcomes, at
    assert raised > 20


def test_another_cost_is_followed_whole(exhaustive):
    """Old rows, old rows at the new C, or new rows at the new C."""
    case = Case(kept(C=2.0), lambda found: come(found.set_params(C=5.0)))
    between = case.made()
    with pytest.raises(ValueError, match="no row with id 99"):
        between.set_params(C=5.0).unlearn([99])
    outcomes, raised = [*case.outcomes, case.images_of(between)], 0
    assert outcomes[0] != outcomes[2] != outcomes[1]
    for at in points_of(case.made, case.change, exhaustive, FUNCTIONS):
        found = case.made()
        raised += interrupted(lambda found=found: case.change(found), at, press if at % 2 else fail)
        assert case.images_of(found.set_params(C=found._fitted.model.param.C)) in outcomes, at
    assert raised > 20


def test_a_thread_predicts_while_another_fits():
    """It never waits, and never sees half a model or no model; other columns are refused."""
    some = ((X, NAMES), (X[:30, :2], np.where(NAMES[:30] == "a", 1, 2)))
    found, expected = libsvmx.SVC(gamma=0.5), {}
    for rows, labels in some:
        found.fit(rows, labels)
        expected[rows.shape[1]] = [found.decision_function(rows).tolist(), found.predict(rows).tolist()]
    done, wrong, counts = threading.Event(), [], {2: 0, 3: 0}

    def predict():
        while not wrong and not (done.is_set() and all(counts.values())):
            for rows, _ in some:
                for place, ask in enumerate((found.decision_function, found.predict)):
                    try:
                        if ask(rows).tolist() != expected[rows.shape[1]][place]:
                            wrong.append(ask)
                        counts[rows.shape[1]] += 1
                    except ValueError as error:
                        if "is expecting" not in str(error):
                            wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=predict) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(40):
            for rows, labels in some:
                found.fit(rows, labels)
        done.set()
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not wrong

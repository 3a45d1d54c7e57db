"""A model's reports of its solves."""

import pickle
from dataclasses import replace
from itertools import combinations
from time import monotonic

import numpy as np
import pytest
from support.recorder import Recorder

import libsvmx

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((60, 4))
BINARY = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * RANDOM.standard_normal(60) > 0.4, 1.0, -1.0)
THREE = np.digitize(X[:, 0], [-0.5, 0.5]).astype(float)

TRAININGS = {
    "two classes": (BINARY, {}),
    "three classes": (THREE, {}),
    "nu-SVC": (THREE, {"svm_type": 1, "nu": 0.2}),
    "one class": (BINARY, {"svm_type": 2, "nu": 0.3}),
    "regression": (X[:, 2], {"svm_type": 3, "C": 10}),
    "nu-SVR": (X[:, 2], {"svm_type": 4}),
    "chunked": (THREE, {"solver": "chunked", "working_set": 20}),
    "irwls": (BINARY, {"solver": "irwls"}),
    "crsvm": (THREE, {"solver": "crsvm", "kernel_type": 0}),
    "crsvm on a factor": (THREE, {"solver": "crsvm", "rank": 20, "predict_with": "factor"}),
    "a row that does not count": (THREE, {"sample_weight": np.arange(60) > 0}),
}


@pytest.mark.parametrize("name", TRAININGS)
def test_a_model_keeps_what_its_observer_was_told(name):
    y, options = TRAININGS[name]
    recorder, began = Recorder(), monotonic()
    model = libsvmx.train(X, y, observer=recorder, **options)
    elapsed = monotonic() - began
    assert model.reports == tuple(recorder.reports)
    assert all(isinstance(report, libsvmx.SolveReport) for report in model.reports)
    assert len(model.reports) == len(model.rho)
    assert [report.rho for report in model.reports] == list(model.rho)
    assert model.statuses == ("converged",) * len(model.rho)
    assert all(report.iterations > 0 for report in model.reports)
    assert all(report.seconds > 0 for report in model.reports)
    assert sum(report.seconds for report in model.reports) <= elapsed


@pytest.mark.parametrize("y, options", [(THREE, {}), (X[:, 2], {"svm_type": 3}), (BINARY, {"svm_type": 2})])
def test_reports_are_not_those_of_probability_estimates(y, options):
    recorder = Recorder()
    model = libsvmx.train(X, y, probability=True, observer=recorder, **options)
    usual = libsvmx.train(X, y, **options)
    uncounted = {"rows_computed": 0, "values_computed": 0}  # the folds have computed them
    for report, other in zip(model.reports, usual.reports, strict=True):
        assert replace(report, **uncounted) == replace(other, **uncounted)
    assert set(model.reports) <= set(recorder.reports)


def test_reports_are_kept_by_copies_but_not_by_files(tmp_path):
    model = libsvmx.train(X, THREE)
    again = pickle.loads(pickle.dumps(model))
    assert again.reports == model.reports
    assert [report.seconds for report in again.reports] == [report.seconds for report in model.reports]
    libsvmx.save_model(str(tmp_path / "model"), model)
    loaded = libsvmx.load_model(str(tmp_path / "model"))
    assert loaded.reports == loaded.statuses == ()


def test_reports_of_another_number_are_refused():
    model = libsvmx.train(X, THREE)
    for wrong in (model.reports[:2], (1, 2, 3), None):
        with pytest.raises((ValueError, TypeError)):
            replace(model, reports=wrong)
    assert replace(model, reports=()).statuses == ()


@pytest.mark.parametrize("y, options", [(THREE, {}), (X[:, 2], {"svm_type": 3, "C": 10}), (BINARY, {"svm_type": 2})])
def test_the_model_of_a_state(y, options, tmp_path):
    state = libsvmx.train(X[:50], y[:50], keep_state=True, **options)
    state.add(X[50:], y[50:])
    state.remove([3])
    model, usual = state.model, libsvmx.train(np.delete(X, 3, 0), np.delete(y, 3), eps=1e-8, **options)
    assert len(model.reports) == len(usual.reports)
    for report, other in zip(model.reports, usual.reports, strict=True):
        assert report.objective == pytest.approx(other.objective, rel=1e-6)
        assert report.rho == pytest.approx(other.rho, rel=1e-4, abs=1e-4)
        assert (report.n_sv, report.n_bsv) == (other.n_sv, other.n_bsv)
        assert report.gap < 1e-8 and report.status == "converged" and report.seconds > 0
    assert [report.rho for report in model.reports] == list(model.rho)
    path = str(tmp_path / "state")
    state.save(path)
    loaded = libsvmx.State.load(path).model.reports
    objectives = [report.objective for report in model.reports]
    assert [report.objective for report in loaded] == pytest.approx(objectives, rel=1e-12)


def test_pairs_of_a_state_whose_classes_changed_places():
    state = libsvmx.train(X, THREE, keep_state=True)
    first = [i for i, label in enumerate(THREE) if label == THREE[0]]
    state.update(add=(X[first], THREE[first]), remove=first)
    model = state.model
    assert list(model.labels)[-1] == THREE[0]
    assert [report.rho for report in model.reports] == list(model.rho)
    assert len(list(combinations(model.labels, 2))) == len(model.reports)

"""The Python functions on wild arguments: a result with finite numbers, or a documented error."""

import warnings

import numpy as np
import pytest

import libsvmx
from libsvmx import SvmxError

DOCUMENTED = (SvmxError, ValueError, TypeError, MemoryError)
CHOICES = {
    "svm_type": [0, 1, 2, 3, 4],
    "kernel_type": [0, 1, 2, 3, 4],
    "degree": [0, 1, 2, 3, 7],
    "gamma": [0, 1e-3, 1, 1e10, 1e-300],
    "coef0": [0, 1, -1, 1e5],
    "cache_size": [100, 1e-3, 1],
    "eps": [1e-3, 1e-9, 1e3],
    "C": [1, 1e-10, 1e4, 1e-300],
    "weights": [{1: 2}, {1: 0}, {1: 1e-9, 0: 1e9}, [(1, 2)], {}],
    "nu": [0.5, 1e-9, 1.0, 0.1],
    "p": [0, 0.1, 1e9],
    "shrinking": [0, 1],
    "probability": [0, 1],
    "threads": [0, 1, 2],
    "solver": ["smo", "chunked", "irwls", "crsvm", "auto"],
    "working_set": [0, 2, 3, 10, 10**6],
    "precision": ["auto", "float", "double"],
    "low_rank": ["", "cholesky", "rpcholesky", "nystrom", "eigen"],
    "rank": [0, 1, 3, 100],
}


def tried(call):
    """The result, or None after a documented error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except DOCUMENTED:
            return None


def test_training_and_predicting(cases):
    for wild in cases.each(120):
        n, X = wild.rows()
        y, options = wild.targets(n), wild.keywords(CHOICES)
        model = tried(lambda: libsvmx.train(X, y, max_iter=2000, **options))  # noqa: B023  called at once
        if not cases.count(model is not None):
            continue
        assert np.isfinite(np.asarray(model.coef)).all()
        assert np.isfinite(np.asarray(model.offsets)).all()
        _, tests = wild.rows()
        for rows in (X, tests):
            values = tried(lambda: libsvmx.decision_values(model, rows))  # noqa: B023
            assert values is None or values.dtype == np.float64
        tried(lambda: libsvmx.predict(model, X))  # noqa: B023
    cases.check(0.15)


@pytest.mark.parametrize("what", ["cross_validate", "leave_one_out"])
def test_validation(what, cases):
    for wild in cases.each(20):
        n, X = wild.rows()
        options = {**wild.keywords(CHOICES), "max_iter": 500}
        folds = [wild.random.choice([2, 3, 5, 10, 2, 3, 0, 1, -1, None, 1.5, "x"])] if what == "cross_validate" else []
        found = tried(lambda: getattr(libsvmx, what)(X, wild.targets(n), *folds, **options))  # noqa: B023
        cases.count(found is not None)
    cases.check(0.08)


def test_estimates_grids_and_models(cases, tmp_path, monkeypatch):
    """predict_probability, grid_search, save_model and load_model."""
    monkeypatch.chdir(tmp_path)
    for wild in cases.each(15):
        r = wild.random
        n, X = wild.rows()
        y, options = wild.targets(n), {**wild.keywords(CHOICES), "max_iter": 500}
        axes = [None, (0, 1, 1), (1, -1, -2), (0, 0, 1), (1, 0, 1), "x", (0,), (np.nan, 1, 1)]
        lines = {"log2c": r.choice(axes[:4] * 3 + axes), "log2g": r.choice(axes[:4] * 3 + axes)}
        search = tried(lambda: libsvmx.grid_search(X, y, 3, **lines, **options))  # noqa: B023
        assert search is None or np.isfinite(search.best_rate)
        model = tried(lambda: libsvmx.train(X, y, probability=True, max_iter=500))  # noqa: B023
        if not cases.count(model is not None):
            continue
        libsvmx.save_model("m", model)
        again = libsvmx.load_model("m")
        found = tried(lambda: libsvmx.predict_probability(model, X))  # noqa: B023
        if found is not None:
            expected = libsvmx.predict_probability(again, X)[1]  # a model file has 8 digits of a row's values
            assert np.isfinite(found[1]).all()
            assert np.isfinite(expected).all()
    cases.check(0.2)


def test_states(cases):
    """An error leaves a state unchanged."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    tests = [dict(enumerate(row, 1)) for row in X.tolist()]  # added rows may have more columns
    for wild in cases.each(20):
        size = wild.random.choice([3, 10, 30])
        C = wild.random.choice([2, 2, 1e-300, 1e-10, 1e10])
        state = libsvmx.train(X[:size], y[:size], C=C, keep_state=True)
        for _ in range(4):
            n, rows = wild.rows()
            before = len(state), libsvmx.decision_values(state.model, tests)
            odd = wild.random.choice([[0], [0, 0], [-1], [999], [1.5], "x", None, [2**70]])
            calls = [
                lambda: state.add(rows, wild.targets(n)),  # noqa: B023
                lambda: state.remove(odd),  # noqa: B023
                lambda: state.set_cost(wild.random.choice([0.5, 3, 1e10, 1e-300, 1e300, 0, -1, np.nan, "x"])),  # noqa: B023
            ]
            failed = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wild.random.choice(calls)()
                except DOCUMENTED as error:
                    failed.append(error)
            if not cases.count(not failed):
                assert len(state) == before[0]
                np.testing.assert_array_equal(libsvmx.decision_values(state.model, tests), before[1])
    cases.check(0.3)


class Impatient(libsvmx.Observer):
    """Ends a call after that many checks: SMO may go on for 10^7 steps where rounding hides the optimum."""

    def __init__(self, questions):
        self.left = questions

    def should_stop(self):
        self.left -= 1
        return self.left < 0


def scores_of(state, X, is_linear):
    """For each binary problem (K beta as kept, K beta computed, a bound on rounding)."""
    for binary in state.binaries.values():
        rows, beta = X[np.asarray(binary.state.tags)], np.asarray(binary.state.coefficients)
        K = rows @ rows.T if is_linear else np.exp(-0.2 * ((rows[:, None] - rows) ** 2).sum(2))
        expected = K @ beta.reshape(len(rows), -1).sum(axis=1)
        rounding = 1e-13 * np.abs(beta).sum() * np.abs(K).max()
        yield np.asarray(binary.state.K_beta), expected, rounding + 1e-9 * max(1.0, np.abs(expected).max())


def test_states_of_all_scales(cases):
    """The scores kept by a state are those of its coefficients, whatever bounds it has had."""
    for wild in cases.each(20):
        r, n = wild.random, wild.random.choice([10, 30, 60])
        X = wild.array.standard_normal((n + 40, r.choice([1, 2, 3, 13])))
        X = X.round() if r.random() < 0.3 else X
        kind, is_linear = r.choice([0, 0, 2, 3]), r.random() < 0.5
        noisy = X[:, 0] + r.choice([0.1, 0.5, 3]) * wild.array.standard_normal(len(X))
        y = noisy if kind == 3 else np.where(noisy > 0, 1.0, -1.0)
        weights = wild.array.choice([1, 1, 1e-6, 1e6], len(X)) if r.random() < 0.3 else np.ones(len(X))
        options = {"C": r.choice([1, 2, 1e-10, 1e4, 1e10, 1e15]), "nu": 0.3, "gamma": 0.2, "max_iter": 20000}
        options |= {"svm_type": kind, "kernel_type": 0 if is_linear else 2, "observer": Impatient(300)}
        given = {"sample_weight": weights[:n], "keep_state": True}
        state = tried(lambda: libsvmx.train(X[:n], y[:n], **given, **options))  # noqa: B023
        for _ in range(5 if cases.count(state is not None) else 0):
            end = r.choice([1, 3, 8])
            C = r.choice([0.5, 3, 1e10, 1e-10, 1e15, 2.0**70, state.param.C * 2, state.param.C / 2])
            gone, observer = r.sample(state.ids.tolist(), min(len(state) // 3, end)), Impatient(300)
            new = slice(state.next_id, state.next_id + end)
            changes = [
                lambda: state.add(X[new], y[new], sample_weight=weights[new], observer=observer),  # noqa: B023
                lambda: state.remove(gone, observer=observer),  # noqa: B023
                lambda: state.set_cost(C, observer=observer),  # noqa: B023
            ]
            tried(r.choice(changes))
            for kept, expected, rounding in scores_of(state, X, is_linear):
                assert np.abs(kept - expected).max() <= rounding
    cases.check(0.3)

"""The Python functions on wild arguments: a result, or an error that is documented; finite numbers in all of them."""

import warnings

import numpy as np
import pytest
from fuzz.test_files import seeds
from support.wild import Wild

import libsvmx
from libsvmx import SvmxError

DOCUMENTED = (SvmxError, ValueError, TypeError, MemoryError)
CHOICES = {
    "svm_type": [0, 1, 2, 3, 4],
    "kernel_type": [0, 1, 2, 3],
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
    "solver": ["smo", "chunked", "irwls", "crsvm"],
    "working_set": [0, 2, 3, 10, 10**6],
    "precision": ["auto", "float", "double"],
    "low_rank": ["", "cholesky", "rpcholesky", "nystrom", "eigen"],
    "rank": [0, 1, 3, 100],
}


def tried(call):
    """The result, or None after an error that is documented."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except DOCUMENTED:
            return None


def test_training_and_predicting(exhaustive):
    made = 0
    for seed in seeds(120, exhaustive):
        print(f"seed {seed}")
        wild = Wild(seed)
        n, X = wild.rows()
        y, options = wild.targets(n), wild.keywords(CHOICES)
        model = tried(lambda: libsvmx.train(X, y, max_iter=2000, **options))  # noqa: B023  called at once
        if model is None:
            continue
        made += 1
        assert np.isfinite(np.asarray(model.coef)).all()
        assert np.isfinite(np.asarray(model.offsets)).all()
        _, tests = wild.rows()
        for rows in (X, tests):
            values = tried(lambda: libsvmx.decision_values(model, rows))  # noqa: B023
            assert values is None or values.dtype == np.float64
    assert made > 10


@pytest.mark.parametrize("what", ["cross_validate", "leave_one_out"])
def test_validation(what, exhaustive):
    for seed in seeds(20, exhaustive):
        print(f"seed {seed}")
        wild = Wild(seed)
        n, X = wild.rows()
        options = {**wild.keywords(CHOICES), "max_iter": 500}
        folds = [wild.random.choice([2, 3, 10, 0, 1, -1, None, 1.5, "x"])] if what == "cross_validate" else []
        tried(lambda: getattr(libsvmx, what)(X, wild.targets(n), *folds, **options))  # noqa: B023


def test_states(exhaustive):
    """After an error a state is what it was."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    for seed in seeds(20, exhaustive):
        print(f"seed {seed}")
        wild = Wild(seed)
        state = libsvmx.train(X, y, C=2, keep_state=True)
        for _ in range(4):
            n, rows = wild.rows()
            before = len(state), libsvmx.decision_values(state.model, X)
            odd = wild.random.choice([[0], [0, 0], [-1], [999], [1.5], "x", None, [2**70]])
            calls = [
                lambda: state.add(rows, wild.targets(n)),  # noqa: B023
                lambda: state.remove(odd),  # noqa: B023
                lambda: state.set_cost(wild.random.choice([0.5, 3, 0, -1, np.nan, "x"])),  # noqa: B023
            ]
            failed = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wild.random.choice(calls)()
                except DOCUMENTED as error:
                    failed.append(error)
            if failed:
                assert len(state) == before[0]
                np.testing.assert_array_equal(libsvmx.decision_values(state.model, X), before[1])

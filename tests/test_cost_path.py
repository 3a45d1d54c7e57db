"""c_path(): at every C the model and the cross-validated error of trainings at that C."""

import pickle
from dataclasses import FrozenInstanceError
from functools import partial

import numpy as np
import pytest
from support.data import dense_rows, load
from support.interrupts import ctrl_c
from support.machine import too_little_memory

import libsvmx
from libsvmx import DataError, ParameterError, StoppedEarly
from libsvmx._train.updating.cost_curve import Curve, middle

ROWS, LABELS = dense_rows("heart_scale")
FLOWERS, SPECIES = dense_rows("iris.scale")
PANES, KINDS_OF_GLASS = dense_rows("glass.scale")
BALANCED = np.concatenate([np.flatnonzero(LABELS > 0)[:40], np.flatnonzero(LABELS < 0)[:40]])
TWICE = np.concatenate([np.arange(50), np.arange(50), np.arange(50)])
SVR = {"svm_type": "epsilon_svr", "gamma": 0.1}
CASES = {
    "two classes": (ROWS, LABELS, {"gamma": 0.1}, 1e-3, 1e3),
    "regression": (ROWS[:120, :9], ROWS[:120, 9], SVR, 1e-3, 100),
    "linear": (ROWS[:120], LABELS[:120], {"kernel_type": "linear"}, 1e-3, 10),
    "linear classes, empty margins": (FLOWERS, SPECIES, {"kernel_type": "linear"}, 1e-3, 10),
    "balanced": (ROWS[BALANCED], LABELS[BALANCED], {"gamma": 0.1}, 1e-5, 10),
    "a class of weight 0": (FLOWERS, SPECIES, {"gamma": 0.3, "weights": {2: 0.0}}, 1e-2, 10),
    "regression without a tube": (ROWS[:90, :9], ROWS[:90, 9], {**SVR, "p": 0}, 1e-3, 10),
    "rows three times, with both labels": (
        ROWS[TWICE],
        LABELS[TWICE] * np.repeat([1, 1, -1], 50),
        {"gamma": 0.1},
        1e-3,
        100,
    ),
    "many classes, some smaller than the folds": (PANES, KINDS_OF_GLASS, {"gamma": 0.5}, 1e-2, 100),
}
LONG = ("many classes, some smaller than the folds", "regression without a tube")
NAMES = [pytest.param(name, marks=[pytest.mark.exhaustive] if name in LONG else []) for name in CASES]
# Errors of double precision at large C, in decision values and errors.
EXACT = 1e-9


def refitted(X, y, C, options, seed=1):
    """The cross-validated error from exact optima of the rows without each fold."""
    fold_of = libsvmx.cross_validate(X, y, 4, C=C, random_state=seed, **options).fold_of
    missed = 0.0
    for fold in range(4):
        rest, tests = fold_of != fold, fold_of == fold
        state = libsvmx.train(X[rest], y[rest], C=C, keep_state=True, **options)
        found = state.predict(X[tests])
        missed += ((found - y[tests]) ** 2).sum() if "svm_type" in options else 100 * (found != y[tests]).sum()
    return missed / len(y)


def some_costs(path, n, seed=0):
    """Values of C: random, just before and after breakpoints, and both ends."""
    rng = np.random.default_rng(seed)
    drawn = np.exp(rng.uniform(np.log(path.C_min), np.log(path.C_max), n))
    at = rng.choice(path.C[1:-1], min(n, len(path.C) - 2), replace=False)
    return [*drawn, *at, *at * (1 - 1e-9), *at * (1 + 1e-9), path.C_min, path.C_max]


def test_attributes_cannot_be_assigned():
    path, curves = libsvmx.c_path(ROWS[:20], LABELS[:20], 0.1, 1), libsvmx.tau_path([[0.0]] * 9, range(9), 0.1, 0.9)
    for made, name in ((path, "C"), (path, "_costs"), (path, "other"), (curves, "tau"), (curves, "param")):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(made, name, 1)
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'tau'"):
        del curves.tau


@pytest.mark.parametrize("case", NAMES)
def test_models_are_those_of_trainings(case):
    X, y, options, C_min, C_max = CASES[case]
    path = libsvmx.c_path(X, y, C_min, C_max, **options)
    assert path.C_min == C_min and path.C_max == C_max and (np.diff(path.C) > 0).all()
    for C in some_costs(path, 3):
        C = min(max(C, C_min), C_max)
        state = libsvmx.train(X, y, C=C, keep_state=True, **options)
        model, other = path.model(C), state.model
        np.testing.assert_allclose(path.decision_values(X, C), state.decision_values(X), rtol=0, atol=EXACT * 10)
        for own, trained in zip(model.reports, other.reports, strict=True):
            assert own.objective == pytest.approx(trained.objective, rel=1e-9, abs=1e-12)
            if "p" not in options:  # without a tube one or both variables of a row may be nonzero
                assert own.n_bsv == pytest.approx(trained.n_bsv, abs=2)
        assert model.param.C == C and model.class_labels == other.class_labels


@pytest.mark.parametrize("case", NAMES)
def test_errors_are_those_of_refits(case):
    X, y, options, C_min, C_max = CASES[case]
    path = libsvmx.c_path(X, y, C_min, C_max, 4, random_state=1, **options)
    for C in some_costs(path, 1, seed=1):
        C = min(max(C, C_min), C_max)
        assert path.cv_error(C) == pytest.approx(refitted(X, y, C, options), rel=1e-8, abs=1e-10), C


def test_without_shared_kernel_values():
    """With little memory for kernel rows, each path computes its own."""
    X, y = ROWS, LABELS
    shared, own = (libsvmx.c_path(X, y, 0.1, 10, 3, gamma=0.1, cache_size=size) for size in (100, 0.1))
    for C in (0.1, 0.7, 10):
        np.testing.assert_allclose(shared.decision_values(X, C), own.decision_values(X, C), rtol=0, atol=EXACT)
        assert shared.cv_error(C) == own.cv_error(C)


def test_two_classes_step_row_by_row():
    """Between two steps the error is constant, and a step is a whole number of rows."""
    path = libsvmx.c_path(ROWS, LABELS, 0.01, 10, 4, gamma=0.1)
    errors = path.cv_error(path.cv_C[:-1]) * len(LABELS) / 100
    np.testing.assert_allclose(errors, np.rint(errors), atol=1e-9)
    assert (np.diff(errors) != 0).all()


@pytest.mark.parametrize("case", ["two classes", "regression", "linear classes, empty margins"])
def test_a_single_C(case):
    X, y, options, *_ = CASES[case]
    path = libsvmx.c_path(X, y, 1.5, 1.5, 4, random_state=1, **options)
    assert path.C.tolist() == [1.5] and path.best_interval == (1.5, 1.5) and path.best_C == 1.5
    state = libsvmx.train(X, y, C=1.5, keep_state=True, **options)
    np.testing.assert_allclose(path.decision_values(X, 1.5), state.decision_values(X), rtol=0, atol=EXACT)
    assert path.cv_error(1.5) == pytest.approx(refitted(X, y, 1.5, options), rel=1e-9)


def test_models_are_written_as_those_of_trainings(tmp_path):
    path = libsvmx.c_path(ROWS, LABELS, 0.1, 10, gamma=0.1)
    libsvmx.save_model(str(tmp_path / "model"), path.model(3))
    again = libsvmx.load_model(str(tmp_path / "model"))
    np.testing.assert_allclose(libsvmx.decision_values(again, ROWS), path.decision_values(ROWS, 3), rtol=1e-9)
    assert path.n_support(3) == again.n_sv == libsvmx.train(ROWS, LABELS, C=3, gamma=0.1, eps=1e-9).n_sv
    assert repr(path) == f"<CostPath of C_SVC, C from 0.1 to 10, {len(path.C)} breakpoints>"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"C_min": 0}, "C_min must be positive"),
        ({"C_min": -1}, "C_min must be positive"),
        ({"C_min": float("nan")}, "C_min must be finite, not nan"),
        ({"C_max": float("inf")}, "C_max must be finite"),
        ({"C_min": 2, "C_max": 1}, "C_min must be at most C_max, but 2 > 1"),
        ({"C_min": "small"}, "C_min"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": 2.5}, "cv"),
        ({"svm_type": "nu_svc"}, "one of C-SVC, epsilon-SVR or quantile regression, not of NU_SVC"),
        ({"svm_type": "nu_svr"}, "one of C-SVC, epsilon-SVR or quantile"),
        ({"svm_type": "one_class"}, "one of C-SVC, epsilon-SVR or quantile"),
        ({"probability": True}, "no probability estimates"),
        ({"solver": "crsvm"}, "crsvm"),
        ({"gama": 1}, "gama"),
    ],
)
def test_bad_parameters(given, message):
    rows = np.eye(20) if "kernel_type" in given else ROWS[:20]
    with pytest.raises(ParameterError, match=message):
        libsvmx.c_path(rows, LABELS[:20], **given)


def test_bounds_that_overflow():
    """At C_max, where they are largest."""
    with pytest.raises(ParameterError, match="finite"):
        libsvmx.c_path(ROWS[:20], LABELS[:20], 1, 1e308, weights={1: 10})
    with pytest.raises(ParameterError, match="C times a weight is not finite"):
        libsvmx.c_path(ROWS[:20], LABELS[:20], 1, 1e308, sample_weight=np.full(20, 10))


def test_bad_data():
    with pytest.raises(DataError, match="of one class"):
        libsvmx.c_path(ROWS[:5], np.ones(5))
    with pytest.raises(DataError, match="not a single row"):
        libsvmx.c_path(np.zeros((0, 3)), [])
    with pytest.raises(DataError, match="not finite"):
        libsvmx.c_path([[float("nan")], [1]], [1, -1])
    with pytest.raises(DataError, match="weight 0"):
        libsvmx.c_path(ROWS[:5], LABELS[:5], sample_weight=np.zeros(5))


def test_a_C_that_is_not_on_the_path():
    path = libsvmx.c_path(ROWS[:50], LABELS[:50], 0.1, 10, 3)
    for ask in (path.model, path.n_support, path.cv_error, lambda C: path.decision_values(ROWS, C)):
        for C in (0.09, 11, float("nan"), "much"):
            with pytest.raises(ParameterError, match="C"):
                ask(C)
    with pytest.raises(ParameterError, match=r"C = 11 is not on the path, which is from 0\.1 to 10"):
        path.cv_error([1, 11])
    plain = libsvmx.c_path(ROWS[:50], LABELS[:50], 0.1, 10)
    for name in ("best_C", "best_error", "best_interval", "cv_C"):
        with pytest.raises(ParameterError, match="no cross-validation"):
            getattr(plain, name)


def test_what_is_no_kernel_of_a_path_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), np.sign(rng.normal(size=60))
    with pytest.raises(ParameterError, match="cannot be followed"):
        libsvmx.c_path(X, y, 0.01, 1e4, kernel_type="sigmoid", gamma=2.0, coef0=-1.0)


def test_nothing_is_shared_with_the_caller():
    X, y = ROWS.copy(), LABELS.copy()
    path = libsvmx.c_path(X, y, 0.1, 10, 3, gamma=0.1)
    before = path.decision_values(ROWS, 2)
    X[:], y[:] = 0, 0
    path.cv_C[:] = 0
    with pytest.raises(ValueError, match="read-only"):
        path.C[0] = 5
    with pytest.raises(TypeError, match="take its model at the C that is wanted"):
        pickle.dumps(path)
    with pytest.raises(libsvmx.ParameterError, match="C must be one number"):
        path.model([1.0])
    np.testing.assert_array_equal(path.decision_values(ROWS, 2), before)
    assert path.cv_C[0] == 0.1


def test_folds_are_counted():
    seen = []

    class Counting(libsvmx.Observer):
        def counted(self, what, done, total):
            seen.append((what, done, total))

    libsvmx.c_path(ROWS, LABELS, 0.1, 10, 3, gamma=0.1, observer=Counting())
    assert seen == [("fold", 1, 3), ("fold", 2, 3), ("fold", 3, 3)]


def test_a_time_limit_of_the_whole_call():
    X, y = load("splice.xz")
    with pytest.raises(StoppedEarly, match="time"):
        libsvmx.c_path(X, y, cv=10, time_limit=0.05)


class EndingAt(libsvmx.Observer):
    """Ends the call at a question, the first being 1; 0: never. ``asked``: number of questions."""

    def __init__(self, question):
        self.question, self.asked = question, 0

    def should_stop(self):
        self.asked += 1
        return self.asked == self.question


@pytest.mark.parametrize("threads", [1, 2])
def test_an_observer_ends_it(threads):
    X, y = load("splice.xz")
    with pytest.raises(StoppedEarly, match="there is no path"):
        libsvmx.c_path(X, y, cv=10, threads=threads, observer=EndingAt(4))


@pytest.mark.parametrize("follow", [libsvmx.c_path, partial(libsvmx.tau_path, svm_type="quantile_svr", C=1e-3)])
def test_an_observer_ends_it_at_any_question(follow):
    """Also while kernel values are shared by all paths, of more than 1,000 rows."""
    X = np.random.default_rng(0).normal(size=(1100, 2))
    y = np.sign(X[:, 0]) if follow is libsvmx.c_path else X[:, 0]
    ends, never = (0.1, 0.1), EndingAt(0)
    follow(X, y, *ends, threads=1, observer=never)
    for question in range(1, never.asked + 1):
        with pytest.raises(StoppedEarly, match="interrupted: there is no path"):
            follow(X, y, *ends, threads=1, observer=EndingAt(question))


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c(threads):
    X, y = load("splice.xz")
    with ctrl_c():
        while True:
            libsvmx.c_path(X, y, 1e-3, 1e3, 10, threads=threads)


def test_no_more_memory_than_there_is():
    with too_little_memory(1000, r"a path of .* lines so far needs about .* choose C_max nearer to C_min"):
        libsvmx.c_path(ROWS, LABELS, gamma=0.1)


def test_the_picture():
    figure = pytest.importorskip("matplotlib.figure")
    for case in ("two classes", "regression"):
        X, y, options, *_ = CASES[case]
        path = libsvmx.c_path(X, y, 0.1, 10, 3, **options)
        axes = path.plot(figure.Figure().add_subplot())
        chosen = path.best_C if path.param.svm_type.is_regression else middle(*path.near_interval)
        assert axes.get_xscale() == "log" and axes.lines[-1].get_xdata()[0] == chosen


def test_of_several_best_intervals_the_widest():
    def least(C, *pieces):
        return Curve(
            np.array(C, dtype=float), np.array([p if isinstance(p, tuple) else (p, 0, 0) for p in pieces])
        ).least()

    assert least([1, 2, 8, 16, 100], 5, 3, 4, 3) == (3, 16, 100)
    assert least([1, 2, 8, 16, 20], 5, 3, 4, 3) == (3, 2, 8)
    assert least([1, 2, 4, 8], 3, 4, 3) == (3, 1, 2)
    assert least([1, 2, 4], (5, -4, 4), 4.5) == (4, 1.5, 1.5)
    assert least([1, 2, 4, 9], (5, -1, 0), 4, (4, 1, 0)) == (4, 2, 4)


def test_any_C():
    path = libsvmx.c_path(ROWS[:60], LABELS[:60], 1e-300, 1e12, 3, gamma=0.1)
    for C in (1e-300, 1e-9, 1, 1e5, 1e12):
        state = libsvmx.train(ROWS[:60], LABELS[:60], C=C, gamma=0.1, keep_state=True)
        values = state.decision_values(ROWS)
        np.testing.assert_allclose(path.decision_values(ROWS, C), values, rtol=1e-6, atol=EXACT)
        assert path.cv_error(C) == pytest.approx(path.cv_error([C])[0])

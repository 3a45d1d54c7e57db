"""influence(), jackknife_plus(), cv_plus(), full_conformal(), conformal_p_values(): results of refits, row by row."""

import numpy as np
import pytest
from support import optima
from support.conformal import interval, no_less, scores_by
from support.drawn import Rand

import libsvmx
from libsvmx import DataError, LabelSets, ParameterError, SvmType

from .table import Case, each
from .test_training import THREADS

N, M = 24, 6
EXACT = 1e-8
KERNELS = {"kernel": ["linear", "cubic", "rbf", "precomputed"]}


def cut(solver, task, kernel, **options):
    """A case with few rows, as each is left out and the others are trained on."""
    case = Case(solver, task, kernel, **options)
    case.rows, case.new = case.rows[:N], case.new[:M]
    return case


def all_but(case, row):
    return np.delete(case.rows, row)


def refits(case):
    """For each row, the state without it, with decision functions of the new rows and of the row itself."""
    for row in case.rows:
        rest = all_but(case, row)
        yield case.state(rest), case.tests(case.new, rest), case.tests([row], rest)


def size_of(values):
    return max(1.0, np.nanmax(np.abs(values), initial=0.0))


# ---- influence -----------------------------------------------------------------------------------------


def mean_loss(name, values, y, labels, tau=None):
    """The formulas of the docstring, row by row."""
    if name == "squared":
        return np.mean((values[:, 0] - y) ** 2)
    if name == "pinball":
        above = y - values[:, 0]
        return np.mean(np.where(above > 0, tau * above, (tau - 1) * above))
    if not len(labels):
        return np.mean(np.where(values[:, 0] > 0, 1.0, -1.0) != y)
    if name == "error":
        return np.nan if np.isnan(values).any() else np.mean(optima.votes(values, labels) != y)
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[i + 1 :]]
    losses = []
    for row, own in zip(values, y, strict=True):
        signs = [(1 if own == pair[0] else -1, f) for pair, f in zip(pairs, row, strict=True) if own in pair]
        losses.append(np.mean([max(0.0, 1 - s * f) for s, f in signs]))
    return np.mean(losses)


@each("influence", **KERNELS)
def test_influence_is_that_of_trainings_without_the_row(solver, task, kernel, mechanism):
    case = cut(solver, task, kernel, **mechanism)
    state, y = case.state(), case.y(case.new)
    losses = {
        SvmType.EPSILON_SVR: ["squared"],
        SvmType.QUANTILE_SVR: ["pinball", "squared"],
        SvmType.ONE_CLASS: ["error"],
    }.get(case.svm_type, ["hinge", "error"])
    found = {name: libsvmx.influence(state, case.tests(), y, loss=name) for name in losses}
    assert np.array_equal(libsvmx.influence(state, case.tests(), y).loss, found[losses[0]].loss)
    labels = [] if state.model.labels is None else state.model.labels.tolist()
    base = state.decision_values(case.tests())
    one = found[losses[0]]
    changes = np.zeros((N, M, base.shape[1]))
    changes[one.rows] = one.decision_values.reshape(-1, M, base.shape[1])
    assert np.array_equal(one.ids, state.ids)
    for name in losses:
        assert found[name].base_loss == pytest.approx(
            mean_loss(name, base, y, labels, case.options.get("tau")), abs=1e-12
        )
    for row, (refit, new, _) in enumerate(refits(case)):
        values = optima.by_labels(refit.model, refit.decision_values(new), labels)
        np.testing.assert_allclose(base + changes[row], values, rtol=0, atol=EXACT * size_of(base))
        for name in losses:
            expected = mean_loss(name, values, y, labels, case.options.get("tau")) - found[name].base_loss
            assert found[name].loss[row] == pytest.approx(expected, abs=EXACT * size_of(base) ** 2, nan_ok=True)


@each("influence", strength=1, **KERNELS)
def test_neither_threads_nor_the_call_change_anything_of_influence(solver, task, kernel, mechanism):
    case = cut(solver, task, kernel, **mechanism)
    state, given = case.state(), (case.tests(), case.y(case.new))
    before = state.decision_values(case.tests()).tobytes(), state.report, state.ids.tolist()
    one, *others = (libsvmx.influence(state, *given, threads=threads) for threads in THREADS)
    for other in others:
        assert other.decision_values.tobytes() == one.decision_values.tobytes()
        assert other.loss.tobytes() == one.loss.tobytes()
    assert (state.decision_values(case.tests()).tobytes(), state.report, state.ids.tolist()) == before


# ---- jackknife+ ----------------------------------------------------------------------------------------


def labels_of(case, found):
    return found.labels.tolist() if isinstance(found, LabelSets) else []


def check_intervals(found, table, residuals, alpha, atol=EXACT):
    lower, upper = interval(table, residuals, alpha)
    size = size_of(table)
    np.testing.assert_allclose(found.lower, lower, rtol=0, atol=atol * size)
    np.testing.assert_allclose(found.upper, upper, rtol=0, atol=atol * size)


def compared(own, others):
    """Whether the score of a row is at least that of each new row with each label."""
    return np.array([[no_less(own, other) for other in row] for row in others])


@each("jackknife_plus", **KERNELS, alpha=[0.1, 0.4])
def test_jackknife_plus_is_that_of_refits(solver, task, kernel, alpha, mechanism):
    case = cut(solver, task, kernel, **mechanism)
    found = libsvmx.jackknife_plus(case.state(), case.tests(), alpha)
    assert found.alpha == alpha
    if case.svm_type.is_regression:
        table, left_out = np.zeros((N, M)), np.zeros(N)
        for row, (refit, new, own) in enumerate(refits(case)):
            table[row], left_out[row] = refit.predict(new), refit.predict(own)[0]
        check_intervals(found, table, np.abs(case.y() - left_out), alpha)
        return
    labels, expected = labels_of(case, found), np.ones((M, len(found.labels)))
    for row, (refit, new, own) in enumerate(refits(case)):
        score = scores_by(refit.model, own, labels)[0, labels.index(case.y()[row])]
        expected += compared(score, scores_by(refit.model, new, labels))
    np.testing.assert_array_equal(found.p_values, expected / (N + 1))
    np.testing.assert_array_equal(found.contains, found.p_values > alpha)


# ---- CV+ -----------------------------------------------------------------------------------------------


@each("cv_plus", random_state=[None, 5])
def test_cv_plus_is_that_of_the_models_of_folds(solver, task, kernel, random_state, mechanism):
    case = Case(solver, task, kernel, eps=1e-6, **mechanism)
    case.new = case.new[:M]
    n, alpha = len(case.rows), 0.2
    found = libsvmx.cv_plus(case.X(), case.y(), case.tests(), 4, alpha, random_state=random_state, **case.options)
    folds = Rand(random_state or 1).folds(case.y(), 4, case.task.is_classification)
    if case.is_low_rank:
        return  # folds share the factor of all rows
    if case.svm_type.is_regression:
        table, left_out = np.zeros((n, M)), np.zeros(n)
        for own, model, rest in fold_models(case, folds):
            table[own] = libsvmx.predict(model, case.tests(case.new, rest))
            left_out[own] = libsvmx.predict(model, case.tests(own, rest))
        # to the bit on LIBSVM's path, to eps by the other solvers, which share known kernel values
        check_intervals(found, table, np.abs(case.y() - left_out), alpha, atol=0 if solver == "smo" else 1e-4)
        return
    labels, expected = labels_of(case, found), np.ones((M, len(found.labels)))
    for own, model, rest in fold_models(case, folds):
        others = scores_by(model, case.tests(case.new, rest), labels)
        for row, scores in zip(own, scores_by(model, case.tests(own, rest), labels), strict=True):
            expected += compared(scores[labels.index(case.y()[row])], others)
    if solver == "smo":
        np.testing.assert_array_equal(found.p_values, expected / (n + 1))
    else:
        np.testing.assert_allclose(found.p_values, expected / (n + 1), rtol=0, atol=2.01 / (n + 1))


def fold_models(case, folds):
    """(rows of the fold, model of the others, the others), in LIBSVM's order."""
    for k, own in enumerate(folds):
        rest = np.concatenate([fold for j, fold in enumerate(folds) if j != k])
        yield own, case.train(rest), rest


# ---- full conformal prediction -------------------------------------------------------------------------


def conformal_p_value(case, row, target):
    """By a refit of all rows and this one: the share of rows that fit no better."""
    rows = np.append(case.rows, row)
    y = np.append(case.y(), target)
    state = libsvmx.train(case.X(rows), y, keep_state=True, **case.options)
    X = case.tests(rows, rows)
    if case.svm_type.is_regression:
        scores = np.abs(y - state.predict(X))
        scale = np.abs(case.y()).max() + case.options.get("p", 0.0)
        return np.mean(scores >= scores[-1] - 1e-9 * max(scale, scores[-1]))
    labels = state.model.labels.tolist()
    table = scores_by(state.model, X, labels)
    own = [scores[labels.index(label)] for scores, label in zip(table, y, strict=True)]
    return sum(no_less(score, own[-1]) for score in own) / len(rows)


@each("full_conformal", **KERNELS)
def test_full_conformal_prediction_is_that_of_refits(solver, task, kernel, mechanism):
    case = cut(solver, task, kernel, **mechanism)
    case.new, alpha = case.new[:3], 0.2
    state = case.state()
    found = libsvmx.full_conformal(state, case.tests(), alpha)
    if case.svm_type.is_regression:
        for row, lower, upper in zip(case.new, found.lower, found.upper, strict=True):
            assert lower < upper
            for end, out in ((lower, -1), (upper, 1)):
                assert conformal_p_value(case, row, end) > alpha
                assert conformal_p_value(case, row, end + out * 1e-5 * (1 + abs(end))) <= alpha
                assert conformal_p_value(case, row, end + out * 3.0) <= alpha
            assert conformal_p_value(case, row, (lower + upper) / 2) > alpha
        return
    for c, label in enumerate(found.labels):
        expected = [conformal_p_value(case, row, label) for row in case.new]
        assert found.p_values[:, c].tolist() == expected


@each("conformal_p_values", strength=1, **KERNELS)
def test_p_values_are_those_of_refits(solver, task, kernel, mechanism):
    case = cut(solver, task, kernel, **mechanism)
    y = case.y(case.new)
    found = libsvmx.conformal_p_values(case.state(), case.tests(), y)
    assert found.tolist() == [conformal_p_value(case, row, target) for row, target in zip(case.new, y, strict=True)]


# ---- common properties ---------------------------------------------------------------------------------

OF_STATES = {
    "jackknife_plus": lambda state, case, **more: libsvmx.jackknife_plus(state, case.tests(), 0.2, **more),
    "full_conformal": lambda state, case, **more: libsvmx.full_conformal(state, case.tests(), 0.2, **more),
    "conformal_p_values": lambda state, case, **more: libsvmx.conformal_p_values(
        state, case.tests(), case.y(case.new), **more
    ),
}


def bits(found):
    if isinstance(found, LabelSets):
        return found.p_values.tobytes()
    return found.tobytes() if isinstance(found, np.ndarray) else found.lower.tobytes() + found.upper.tobytes()


@each("full_conformal", strength=1, **KERNELS, name=OF_STATES)
def test_neither_threads_nor_the_call_change_anything(solver, task, kernel, name, mechanism):
    case = cut(solver, task, kernel, **mechanism)
    state = case.state()
    before = state.decision_values(case.tests()).tobytes(), state.report, state.ids.tolist()
    one, *others = (bits(OF_STATES[name](state, case, threads=threads)) for threads in THREADS)
    assert all(other == one for other in others)
    assert (state.decision_values(case.tests()).tobytes(), state.report, state.ids.tolist()) == before


@each("cv_plus", strength=1, kernel=["rbf", "precomputed", "quadratic"])
def test_no_number_of_threads_changes_a_bit_of_cv_plus(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    one, *others = (
        bits(libsvmx.cv_plus(case.X(), case.y(), case.tests(), 3, threads=threads, **case.options))
        for threads in THREADS
    )
    assert all(other == one for other in others)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_a_state_with_a_past(kernel):
    """After rows have left and joined, results equal those of a new state of the present rows."""
    case = cut("smo", "two classes", kernel)
    state = case.state(np.arange(20))
    state.remove([3, 4])
    ever = np.arange(26)
    state.add(case.X(ever[20:], ever), case.y(ever[20:]))
    rows = np.delete(ever, [3, 4])
    fresh = case.state(rows)
    tests, of_fresh = case.tests(case.new, ever), case.tests(case.new, rows)
    y = case.y(case.new)
    for function in (libsvmx.jackknife_plus, libsvmx.full_conformal)[: 1 if kernel == "precomputed" else 2]:
        found, expected = function(state, tests), function(fresh, of_fresh)
        np.testing.assert_array_equal(found.p_values, expected.p_values)
    found, expected = libsvmx.influence(state, tests, y), libsvmx.influence(fresh, of_fresh, y)
    np.testing.assert_allclose(found.loss, expected.loss, rtol=0, atol=EXACT)
    assert found.ids.tolist() == [*rows[:18], *range(20, 26)]


def test_refusals():
    case = cut("smo", "two classes", "rbf")
    state, tests, y = case.state(), case.tests(), case.y(case.new)
    calls = {
        "influence": lambda state, X=tests, y=y, **more: libsvmx.influence(state, X, y, **more),
        "conformal_p_values": lambda state, X=tests, y=y, **more: libsvmx.conformal_p_values(state, X, y, **more),
        "jackknife_plus": lambda state, X=tests, y=y, **more: libsvmx.jackknife_plus(state, X, **more),
        "full_conformal": lambda state, X=tests, y=y, **more: libsvmx.full_conformal(state, X, **more),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match="a State is needed"):
            call(case.train())
        with pytest.raises(DataError, match="columns"):
            call(state, np.ones((M, 14)))
        with pytest.raises(ParameterError, match="threads"):
            call(state, threads=-1)
        with pytest.raises(DataError, match="a state of one class"):
            call(libsvmx.train(case.X(), np.ones(N), keep_state=True))
        if name in ("jackknife_plus", "full_conformal"):
            with pytest.raises(ParameterError, match="alpha must be between 0 and 1"):
                call(state, alpha=1.0)
        if name in ("influence", "conformal_p_values"):
            with pytest.raises(DataError, match="label 7 is not one of the state's"):
                call(state, y=[7] * M)
        if name != "influence":
            weighted = libsvmx.train(case.X(), case.y(), keep_state=True, sample_weight=np.arange(N) % 3)
            with pytest.raises(ParameterError, match="rows are exchangeable only if they count alike"):
                call(weighted)
    with pytest.raises(ParameterError, match="loss of C_SVC must be hinge or error, not 'squared'"):
        calls["influence"](state, loss="squared")

"""sample_weight in every function that takes it: weight 2 equals the row twice, weight 0 the row left out."""

import numpy as np
import pytest
from support import optima

import libsvmx
from libsvmx import DataError, ParameterError, SvmType

from .table import Case, each
from .test_cost_path import loss, some_costs
from .test_cross_validation import EPS, near
from .test_grid_search import axes_of
from .test_left_out_rows import EXACT, size_of
from .test_many_trainings import permuted
from .test_states import CHANGED_COSTS, CHANGED_NUS, Followed, posed
from .test_training import file_of

SMALL = {"kernel": ["linear", "cubic", "rbf", "precomputed"]}


def drawn_weights(n, whole=True):
    """0, 1 and 2, or three quarters of these, in a fixed random order."""
    w = np.random.default_rng(11).permutation(np.arange(n) % 3).astype(float)
    return w if whole else 0.75 * w


def weighted(solver, task, kernel, whole=True, **options):
    """A case, and the weights of its rows; nu is feasible for any two classes."""
    case = Case(solver, task, kernel, **options)
    if case.svm_type == SvmType.NU_SVC:
        case.options["nu"] = 0.213
    return case, drawn_weights(len(case.targets), whole)


# ---- train ---------------------------------------------------------------------------------------------


@each("train", whole=[True, False])
def test_the_optimum_has_bounds_by_weight(solver, task, kernel, whole, mechanism):
    case, w = weighted(solver, task, kernel, whole, eps=EPS, **mechanism)
    w = w[case.rows]
    model = case.train(sample_weight=w)
    assert (w[model.sv_indices - 1] > 0).all()
    if case.is_low_rank:  # the factor is that of the rows with weight
        rest = case.rows[w > 0]
        same = libsvmx.decision_values(case.train(rest, sample_weight=w[w > 0]), case.tests(case.new, rest))
        np.testing.assert_allclose(libsvmx.decision_values(model, case.tests()), same, rtol=0, atol=1e-9)
        return
    for one in optima.judged(model, case.K(), case.y(), w):
        one.check_to(EPS)


@each("train", solver=["smo", "irwls", "crsvm"])
def test_integer_weights_equal_repeated_rows(solver, task, kernel, mechanism):
    case, w = weighted(solver, task, kernel, eps=EPS, **mechanism)
    if kernel == "sigmoid":
        return  # not an inner product: there may be several optima
    w = w[case.rows].astype(int)
    often = np.repeat(case.rows, w)
    model, repeats = case.train(sample_weight=w), case.train(often)
    values = libsvmx.decision_values(model, case.tests())
    expected = libsvmx.decision_values(repeats, case.tests(case.new, often))
    np.testing.assert_allclose(
        values, optima.by_labels(repeats, expected, [] if model.labels is None else model.labels.tolist()),
        rtol=0, atol=2 * near(case),
    )  # fmt: skip
    for one, other in zip(model.reports, repeats.reports, strict=True):
        assert one.quantity == other.quantity
        assert one.objective == pytest.approx(other.objective, rel=1e-4)
        assert one.value == pytest.approx(other.value, rel=1e-3, abs=1e-5)


@each("train", strength=1)
def test_rows_of_weight_0_and_weights_of_1_change_no_byte(solver, task, kernel, mechanism, tmp_path):
    case, w = weighted(solver, task, kernel, **mechanism)
    counts = w[case.rows] > 0
    rest, n = case.rows[counts], len(case.rows)
    model, without = case.train(sample_weight=counts.astype(float)), case.train(rest)
    assert np.array_equal(model.sv_indices, rest[without.sv_indices - 1] + 1)
    assert np.array_equal(model.sv_coef, without.sv_coef) and np.array_equal(model.rho, without.rho)
    assert file_of(case.train(sample_weight=np.ones(n)), tmp_path) == file_of(case.train(), tmp_path)


@each("train", strength=1, solver=["smo"], kernel=["rbf", "precomputed"], probability=[True, "cv"])
def test_estimates_are_fitted_to_rows_that_count(solver, task, kernel, probability, mechanism):
    case, w = weighted(solver, task, kernel, **mechanism)
    if probability == "cv" and not case.task.is_classification:
        return
    n, counts = len(case.rows), w[case.rows] > 0
    plain = case.train(probability=probability)
    ones = case.train(probability=probability, sample_weight=np.ones(n))
    if plain.has_probability and case.svm_type != SvmType.ONE_CLASS:
        assert ones.sigmoid_a.tobytes() == plain.sigmoid_a.tobytes()
        weighed = case.train(probability=probability, sample_weight=w[case.rows])
        assert np.isfinite(weighed.sigmoid_a).all()
        assert weighed.sigmoid_a.tobytes() != plain.sigmoid_a.tobytes()
    if probability is True:  # with "cv", folds are drawn over all rows
        left, without = (
            case.train(probability=True, sample_weight=counts * 1.0),
            case.train(case.rows[counts], probability=True),
        )
        for name in ("sigmoid_a", "sigmoid_b", "marks"):
            found, expected = getattr(left, name), getattr(without, name)
            assert (found is None) == (expected is None)
            assert found is None or found.tobytes() == expected.tobytes()


@each("start", strength=1, solver=["smo", "irwls"], kernel=["rbf", "precomputed"])
def test_starts_with_weights(solver, task, kernel, mechanism):
    case, w = weighted(solver, task, kernel, whole=False, eps=EPS, **mechanism)
    w = w[case.rows]
    found = case.train(sample_weight=w, start=case.train())
    for one in optima.judged(found, case.K(), case.y(), w):
        one.check_to(EPS)


@each("fit_many", strength=1, kernel=["rbf", "precomputed", "quadratic"])
def test_many_trainings(solver, task, kernel, mechanism, tmp_path):
    case, w = weighted(solver, task, kernel, **mechanism)
    Y, w = np.stack([case.y(), case.y()[::-1]], axis=1), w[case.rows]
    expected = [libsvmx.train(case.X(), y, sample_weight=w, **case.options) for y in Y.T]
    found = libsvmx.fit_many(case.X(), Y, sample_weight=w, **case.options)
    if solver == "smo":
        assert [file_of(model, tmp_path) for model in found] == [file_of(model, tmp_path) for model in expected]
    if case.is_low_rank:
        return  # trainings share the factor of all rows
    for one, other in zip(found, expected, strict=True):
        values = libsvmx.decision_values(other, case.tests())
        np.testing.assert_allclose(libsvmx.decision_values(one, case.tests()), values, rtol=0, atol=1e-6)


# ---- validation ----------------------------------------------------------------------------------------


def left_out(case, w, fold_of, labels):
    """Decision values from weighted trainings on the rows of the other folds."""
    found = []
    for row in case.rows:
        rest = case.rows[fold_of != fold_of[row]]
        model = case.train(rest, sample_weight=w[rest])
        values = libsvmx.decision_values(model, case.tests([row], rest))
        found.append(optima.by_labels(model, values, labels)[0])
    return np.array(found)


@each("cross_validate", strength=1, solver=["smo", "irwls", "crsvm"], **SMALL)
def test_folds_are_trained_with_the_weights_of_their_rows(solver, task, kernel, mechanism):
    case, w = weighted(solver, task, kernel, whole=False, eps=EPS, **mechanism)
    case.rows = case.rows[:30]
    found = libsvmx.cross_validate(case.X(), case.y(), 3, sample_weight=w[case.rows], **case.options)
    expected = left_out(case, w, found.fold_of, found.labels)
    np.testing.assert_allclose(found.decision_values, expected, rtol=0, atol=2 * near(case))
    if not case.svm_type.is_regression:  # each row counts once, whatever its weight
        assert found.accuracy == pytest.approx(100 * np.mean(found.predictions == case.y()), rel=1e-14)


@each("seeded", strength=1, solver=["smo", "irwls"], **SMALL, seeder=["auto", "path", *libsvmx.SEEDERS])
def test_seeded_folds(solver, task, kernel, seeder, mechanism):
    case, w = weighted(solver, task, kernel, whole=False, eps=EPS, **mechanism)
    given = {"sample_weight": w[case.rows], **case.options}
    plain = libsvmx.cross_validate(case.X(), case.y(), 5, **given)
    found = libsvmx.cross_validate(case.X(), case.y(), 5, seeder=seeder, **given)
    np.testing.assert_allclose(found.decision_values, plain.decision_values, rtol=0, atol=2 * near(case))


@each("leave_one_out", strength=1, solver=["smo", "irwls"], **SMALL, seeder=["auto", "near", "ato", "path"])
def test_leave_one_out(solver, task, kernel, seeder, mechanism):
    case, w = weighted(solver, task, kernel, whole=False, eps=EPS, **mechanism)
    case.rows = case.rows[:24]
    own = w[case.rows]
    found = libsvmx.leave_one_out(case.X(), case.y(), sample_weight=own, seeder=seeder, **case.options)
    assert (own[found.retrained] > 0).all()
    expected = left_out(case, w, np.arange(24), found.labels)
    np.testing.assert_allclose(found.decision_values, expected, rtol=0, atol=2 * near(case))


@each("grid_search", strength=1, solver=["smo", "irwls", "crsvm"], **SMALL)
def test_grids(solver, task, kernel, mechanism):
    case, w = weighted(solver, task, kernel, **mechanism)
    if axes_of(case) is None:
        return
    w = w[case.rows]
    found = libsvmx.grid_search(
        case.X(), case.y(), n_folds=3, seeder=None, sample_weight=w, **{**axes_of(case), **case.options}
    )
    for C, gamma, rate in zip(found.C, found.gamma, found.rate, strict=True):
        options = {**case.options, "C": C, "gamma": gamma}
        one = libsvmx.cross_validate(case.X(), case.y(), 3, sample_weight=w, **options)
        assert rate == float(f"{case.rate(one):g}")


@pytest.mark.parametrize("task", ["two classes", "three classes", "epsilon-SVR", "nu-SVR"])
@pytest.mark.parametrize("how", ["rows", "a class"])
def test_seeded_grids(task, how, mechanism):
    """Points start from the next smaller C, as without weights."""
    case, w = weighted("smo", task, "rbf", whole=False, eps=EPS, **mechanism)
    given = {**axes_of(case), **case.options, "n_folds": 3}
    if how == "rows":
        given["sample_weight"] = w[case.rows]
    elif task == "three classes":
        given["weights"] = {1: 0.0}
    plain, found = (libsvmx.grid_search(case.X(), case.y(), seeder=seeder, **given) for seeder in (None, "near"))
    if case.svm_type.is_regression:
        np.testing.assert_allclose(found.rate, plain.rate, rtol=1e-3)
    else:
        np.testing.assert_allclose(found.rate, plain.rate, rtol=0, atol=100 / len(case.rows) + 1e-3)


@pytest.mark.parametrize("seeder", ["none", "near"])
def test_weights_of_1_change_no_figure(seeder, mechanism):
    case = Case("smo", "three classes", "rbf", **mechanism)
    case.rows, ones = case.rows[:30], np.ones(30)
    for call in (
        lambda w: libsvmx.cross_validate(case.X(), case.y(), 3, seeder=seeder, sample_weight=w, **case.options),
        lambda w: libsvmx.leave_one_out(case.X(), case.y(), sample_weight=w, **case.options),
        lambda w: libsvmx.grid_search(
            case.X(), case.y(), n_folds=3, seeder=seeder, sample_weight=w, **{**axes_of(case), **case.options}
        ),
    ):
        one, other = call(None), call(ones)
        for name in ("decision_values", "predictions", "rate", "iterations"):
            if hasattr(one, name):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.exhaustive
def test_workers_of_a_grid_have_the_weights():
    pytest.importorskip("joblib")
    case, w = weighted("smo", "two classes", "rbf")
    given = {"sample_weight": w[case.rows], **axes_of(case), **case.options, "n_folds": 3}
    alone, shared = (libsvmx.grid_search(case.X(), case.y(), workers=workers, **given) for workers in (1, 2))
    np.testing.assert_array_equal(shared.rate, alone.rate)
    np.testing.assert_array_equal(shared.iterations, alone.iterations)


@pytest.mark.parametrize("seeder", ["none", "sir"])
def test_a_fold_that_holds_all_weight_is_refused(seeder):
    case, w = Case("smo", "two classes", "rbf"), np.zeros(60)
    w[7] = 1.0
    with pytest.raises(DataError, match=r"^every row has weight 0$"):
        libsvmx.cross_validate(case.X(), case.y(), 5, sample_weight=w, seeder=seeder, **case.options)
    with pytest.raises(DataError, match="needs at least 2 rows whose weight is not 0"):
        libsvmx.leave_one_out(case.X(), case.y(), sample_weight=w, **case.options)


@each("permutation_test", strength=1, solver=["smo", "crsvm"], **SMALL)
def test_permutations(solver, task, kernel, mechanism):
    """Weights stay with the rows."""
    case, w = weighted(solver, task, kernel, **mechanism)
    given = {"sample_weight": w[case.rows], **case.options}
    found = libsvmx.permutation_test(case.X(), case.y(), 2, 3, **given)
    validated = [libsvmx.cross_validate(case.X(), y, 3, **given) for y in permuted(case, 2, 3)]
    measure = "mean_squared_error" if case.svm_type.is_regression else "accuracy"
    measure = "pinball_loss" if case.svm_type == SvmType.QUANTILE_SVR else measure
    expected = [getattr(v, measure) for v in validated]
    assert [found.score, *found.scores] == expected


# ---- states and paths ----------------------------------------------------------------------------------


@each("state", **SMALL, whole=[True, False])
def test_rows_join_and_leave_with_their_weights(solver, task, kernel, whole, mechanism, tmp_path):
    case, drawn = posed(solver, task, kernel, **mechanism), np.random.default_rng(5)
    if case.svm_type == SvmType.NU_SVC:
        case.options["nu"] = 0.213
    followed = Followed(case, weight=drawn_weights(len(case.targets), whole))
    followed.check()
    for n_joining, n_leaving in ((1, 0), (7, 3), (5, 12)):
        add = case.new[:n_joining] + drawn.integers(0, 8)
        followed.update(add, drawn.choice(followed.ids, n_leaving, replace=False))
        followed.check()
    name, factors = ("C", CHANGED_COSTS) if case.svm_type.has_cost else ("nu", CHANGED_NUS)
    for factor in factors[1:]:
        followed.set(name, factor * case.options[name])
        followed.check()
    followed.check_against_fresh()
    followed.state.save(tmp_path / "state")
    followed.state = libsvmx.State.load(tmp_path / "state")
    followed.check()
    followed.update(case.new[-4:], followed.ids[:3])
    followed.check()


@pytest.mark.parametrize("task", ["two classes", "one-class", "epsilon-SVR"])
@pytest.mark.parametrize("first", [True, False])
def test_weights_that_come_later_or_end(task, first):
    case = posed("smo", task, "rbf")
    w = drawn_weights(len(case.targets))
    w[case.new if first else case.rows] = 1.0
    followed = Followed(case)
    if first:
        followed = Followed(case, weight=w)
    followed.weight = w
    followed.update(case.new[:8], [0, 5])
    followed.check()


@each("c_path", strength=1, solver=["smo"], kernel=["linear", "rbf"])
def test_paths(solver, task, kernel, mechanism):
    case, w = weighted(solver, task, kernel, whole=False, **mechanism)
    w = w[case.rows]
    given = {name: value for name, value in case.options.items() if name != "C"}
    path = libsvmx.c_path(case.X(), case.y(), 0.05, 20.0, 3, sample_weight=w, **given)
    for C in some_costs(path, 1):
        for one in optima.judged(path.model(C), case.K(), case.y(), w):
            one.check(1e-8)
    fold_of, C, missed = libsvmx.cross_validate(case.X(), case.y(), 3, **case.options).fold_of, 1.3, 0.0
    for fold in range(3):
        rest, own = case.rows[fold_of != fold], case.rows[fold_of == fold]
        found, y = case.state(rest, C=C, sample_weight=w[rest]).predict(case.tests(own, rest)), case.y(own)
        missed += loss(case, y - found) if case.svm_type.is_regression else 100 * (found != y).sum()
    assert path.cv_error(C) == pytest.approx(missed / len(w), rel=1e-7, abs=1e-9)


@each("influence", strength=1, solver=["smo"], kernel=["linear", "rbf", "precomputed"])
def test_influence(solver, task, kernel, mechanism):
    """A row leaves entirely, whatever its weight."""
    case, w = weighted(solver, task, kernel, **mechanism)
    case.rows, case.new = case.rows[:24], case.new[:5]
    w = w[case.rows]
    state = case.state(sample_weight=w)
    found = libsvmx.influence(state, case.tests(), case.y(case.new))
    if case.svm_type != SvmType.ONE_CLASS:
        assert (w[found.rows] > 0).all()
    base = state.decision_values(case.tests())
    labels = [] if state.model.labels is None else state.model.labels.tolist()
    for row, change in zip(found.rows, found.decision_values.reshape(len(found.rows), 5, -1), strict=True):
        rest = np.delete(case.rows, row)
        fresh = case.state(rest, sample_weight=w[rest])
        values = optima.by_labels(fresh.model, fresh.decision_values(case.tests(case.new, rest)), labels)
        np.testing.assert_allclose(base + change, values, rtol=0, atol=EXACT * size_of(base))


# ---- classes, and refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize("seeder", ["none", "sir", "near", "path"])
@pytest.mark.parametrize("how", ["weights", "sample_weight"])
def test_a_class_that_does_not_count(seeder, how, mechanism):
    """Its pairs have no values, and it is never predicted."""
    case = Case("smo", "three classes", "rbf", eps=EPS, **mechanism)
    y = case.y()
    gone = int(y[0])
    if how == "weights":
        given = {**case.options, "weights": {gone: 0.0}}
    else:
        given = {**case.options, "weights": {}, "sample_weight": np.where(y == gone, 0.0, 1.0)}
    found = libsvmx.cross_validate(case.X(), y, 4, seeder=seeder, **given)
    assert len(found.labels) == 3 and gone not in found.predictions
    assert np.isnan(found.decision_values).any(axis=0).sum() == 2
    model, rest = libsvmx.train(case.X(), y, **given), np.flatnonzero(y != gone)
    assert gone not in model.labels
    without = libsvmx.train(case.X(rest), y[rest], **{**case.options, "weights": {}})
    assert np.array_equal(model.sv_coef, without.sv_coef)
    if seeder != "none":
        left = libsvmx.leave_one_out(case.X(), y, seeder=seeder, **given)
        assert gone not in left.predictions


def test_weights_of_classes_and_rows_multiply(mechanism, tmp_path):
    case, w = weighted("smo", "three classes", "rbf", **mechanism)
    y, w = case.y(), w[case.rows]
    both = case.train(sample_weight=w, weights={2: 2.0})
    rows = case.train(sample_weight=np.where(y == 2, 2 * w, w), weights={})
    assert file_of(both, tmp_path) == file_of(rows, tmp_path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1.0] * 59, r"X has 60 rows, but sample_weight has shape \(59,\)"),
        (1.0, r"X has 60 rows, but sample_weight has shape \(\)"),
        ([1.0] * 7 + [-2 / 3] + [1.0] * 52, f"row 7: sample_weight must be finite and >= 0, not {-2 / 3}"),
        ([1.0] * 7 + [np.nan] + [1.0] * 52, "row 7: sample_weight must be finite and >= 0, not nan"),
        (["1"] * 60, "sample_weight must hold real numbers, not <U1"),
        ([0.0] * 60, "every row has weight 0"),
    ],
)
def test_refusals(given, words):
    case = Case("smo", "two classes", "rbf")
    X, y = case.X(), case.y()
    for call in (
        lambda: libsvmx.train(X, y, sample_weight=given),
        lambda: libsvmx.train(X, y, sample_weight=given, keep_state=True),
        lambda: libsvmx.cross_validate(X, y, 3, sample_weight=given),
        lambda: libsvmx.fit_many(X, y[:, None], sample_weight=given),
        lambda: libsvmx.permutation_test(X, y, 2, 3, sample_weight=given),
        lambda: libsvmx.c_path(X, y, sample_weight=given),
        lambda: libsvmx.grid_search(X, y, (0, 0, 1), None, 3, sample_weight=given),
    ):
        with pytest.raises((DataError, ParameterError), match=words):
            call()

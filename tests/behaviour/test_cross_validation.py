"""cross_validate(): LIBSVM's predictions, models that have not seen their fold, the same optima with every seeder."""

import json
import subprocess
import sys

import numpy as np
import pytest
from support import optima
from support.oracle import Oracle
from support.policies import IN_TURN, KernelPolicy
from support.recorder import Recorder

import libsvmx
from libsvmx import ParameterError, StoppedEarly, SvmType

from .table import IN_LIBSVM, LIBSVMS, WEIGHTS_OF_CLASSES_GONE, Case, each
from .test_training import THREADS

SEEDINGS = [
    (seeder, scheme)
    for seeder in ("auto", "path", *libsvmx.SEEDERS)
    for scheme in ("chain", "star")
    if (seeder, scheme) != ("path", "chain")
]
EPS = 1e-6
# Decision values of two optima to eps differ by a few eps; nu-SVC divides them by r < 1.
NEAR = {SvmType.NU_SVC: 500}
USUALLY_NEAR = 100


def validated(case, n_folds=4, **options):
    return libsvmx.cross_validate(case.X(), case.y(), n_folds, **{**case.options, **options})


def near(case):
    scale = 5.0 if case.svm_type.is_regression else 1.0
    return scale * NEAR.get(case.svm_type, USUALLY_NEAR) * EPS


def left_out(case, fold_of, labels, **options):
    """Decision values of each row from a training on the rows of all other folds.

    All folds share the low-rank factor of all rows, which is a linear kernel of its features.
    """
    found, factor = None, case.factor() if case.is_low_rank else None
    for fold in range(fold_of.max() + 1):
        rest, own = case.rows[fold_of != fold], case.rows[fold_of == fold]
        if factor is None:
            model = case.train(rest, **options)
            values = libsvmx.decision_values(model, case.tests(own, rest))
        else:
            features = {"kernel_type": "linear", "solver": "crsvm"}
            model = libsvmx.train(factor[rest], case.y(rest), **{**case.options, **features, **options})
            values = optima.decision_values(model, case.K(own, rest))
        values = optima.by_labels(model, values, labels)
        found = np.full((len(fold_of), values.shape[1]), np.nan) if found is None else found
        found[fold_of == fold] = values
    return found


# ---- folds by cold starts ------------------------------------------------------------------------------


@each("cross_validate", solver=["smo"], task=IN_LIBSVM, kernel=LIBSVMS, probability=[False, True], n_folds=[2, 5, 60])
def test_predictions_are_libsvms(solver, task, kernel, probability, n_folds, mechanism):
    case = Case(solver, task, kernel, probability=probability)
    oracle = Oracle(case.matrix(), case.y(), case.libsvm_options())
    found = validated(case, min(n_folds, len(case.rows)), **mechanism)
    assert found.predictions.tolist() == oracle.cross_validate(min(n_folds, len(case.rows)))
    assert (found.seeder, found.scheme, found.full) == ("none", "", None)


@each("cross_validate")
def test_a_fold_is_predicted_by_a_training_on_the_others(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, eps=EPS, **mechanism)
    found = validated(case)
    expected = left_out(case, found.fold_of, found.labels)
    np.testing.assert_allclose(found.decision_values, expected, rtol=0, atol=near(case))
    values, sure = found.decision_values, np.ones(len(expected), dtype=bool)
    if case.task.is_classification:
        # a tie goes to LIBSVM's first class, which depends on the fold
        won = np.sort(optima.wins(values, found.labels), axis=1)
        sure = won[:, -1] > won[:, -2]
        expected = optima.votes(values, found.labels)
    else:
        expected = values[:, 0] if case.svm_type.is_regression else np.where(values[:, 0] > 0, 1, -1)
    assert np.array_equal(found.predictions[sure], expected[sure])
    assert sure.mean() > 0.9


@each("cross_validate", strength=1)
def test_figures_are_those_of_the_predictions(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    y, found = case.y(), validated(case)
    if not case.svm_type.is_regression:
        assert found.accuracy == pytest.approx(100 * np.mean(found.predictions == y), rel=1e-14)
    assert found.mean_squared_error == pytest.approx(np.mean((found.predictions - y) ** 2), rel=1e-12)
    if len(set(found.predictions)) > 1:
        correlation = np.corrcoef(found.predictions, y)[0, 1] ** 2
        assert found.squared_correlation == pytest.approx(correlation, rel=1e-9)
    assert sorted(found.labels) == sorted(set(y) if case.task.is_classification else ())
    pairs = len(found.labels) * (len(found.labels) - 1) // 2
    assert found.decision_values.shape == (len(y), max(pairs, 1))
    assert sorted(set(found.fold_of)) == list(range(4))
    if case.task.is_classification:  # stratified: the counts of a class in two folds differ by at most one
        for label in set(y):
            counts = np.bincount(found.fold_of[y == label], minlength=4)
            assert counts.max() - counts.min() <= 1
    assert len(found.folds) == 4
    assert found.iterations == sum(one.iterations for one in (found.full, *found.folds) if one)
    assert all(one.status == "converged" and one.gap <= 1e-3 * (1 + 1e-6) for one in found.folds)


@each("cross_validate", strength=1)
def test_no_number_of_threads_changes_a_bit(solver, task, kernel, mechanism):
    threads_change_nothing(Case(solver, task, kernel, **mechanism), "none")


@each("seeded", strength=1, kernel=["linear", "rbf", "precomputed"], seeder=["auto", "sir", "near", "path"])
def test_no_number_of_threads_changes_a_bit_of_seeded_folds(solver, task, kernel, seeder, mechanism):
    threads_change_nothing(Case(solver, task, kernel, **mechanism), seeder)


def threads_change_nothing(case, seeder):
    one, *others = (validated(case, seeder=seeder, threads=threads) for threads in THREADS)
    for other in others:
        assert other.decision_values.tobytes() == one.decision_values.tobytes()
        assert other.predictions.tobytes() == one.predictions.tobytes()
        assert [fold.iterations for fold in other.folds] == [fold.iterations for fold in one.folds]


def test_random_states_draw_other_folds():
    case = Case("smo", "three classes", "rbf")
    first, again, other = (validated(case, random_state=seed) for seed in (None, 1, 2))
    assert np.array_equal(first.fold_of, again.fold_of)
    assert not np.array_equal(first.fold_of, other.fold_of)
    np.testing.assert_allclose(other.decision_values, left_out(case, other.fold_of, other.labels), rtol=0, atol=0.05)


# ---- seeded folds --------------------------------------------------------------------------------------


@each("seeded", solver=["smo", "irwls"], kernel=["linear", "cubic", "rbf", "sigmoid", "precomputed"], seeding=SEEDINGS)
def test_every_seeder_ends_at_the_optima_of_cold_starts(solver, task, kernel, seeding, mechanism):
    seeder, scheme = seeding
    case = Case(solver, task, kernel, eps=EPS, **mechanism)
    plain, found = validated(case, 6), validated(case, 6, seeder=seeder, scheme=scheme)
    assert np.array_equal(found.fold_of, plain.fold_of)
    assert found.labels == plain.labels
    assert all(one.status == "converged" and one.gap <= EPS * (1 + 1e-6) for one in found.folds)
    if kernel == "sigmoid":
        return  # not an inner product: there may be several optima
    np.testing.assert_allclose(found.decision_values, plain.decision_values, rtol=0, atol=near(case))
    for one, other in zip(found.folds, plain.folds, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-4, abs=1e-6)
    turned = ((found.decision_values > 0) != (plain.decision_values > 0)).any(axis=1)
    if not case.svm_type.is_regression:
        assert not np.any((found.predictions != plain.predictions) & ~turned)
    assert (found.seeder, found.scheme) == seeding
    if seeder in libsvmx.SEEDERS:  # the nu formulations have no path
        instead = {"sir", "near", "avg"} if seeder == "ato" else set()  # where its path is not followed
        assert {fold.seeder for fold in found.folds} <= {"none", seeder} | instead


@each("seeded", strength=1, solver=["smo"], kernel=["rbf", "precomputed"], seeding=SEEDINGS)
def test_seeded_folds_with_probability_estimates(solver, task, kernel, seeding, mechanism):
    """Sigmoids may differ by as much as eps allows, and labels if two estimates are nearly equal."""
    seeder, scheme = seeding
    case = Case(solver, task, kernel, eps=EPS, probability=True, **mechanism)
    plain, found = validated(case), validated(case, seeder=seeder, scheme=scheme)
    np.testing.assert_allclose(found.decision_values, plain.decision_values, rtol=0, atol=near(case))
    if case.svm_type.is_regression:
        np.testing.assert_allclose(found.predictions, plain.predictions, rtol=0, atol=near(case))
    elif case.task.is_classification:
        assert np.mean(found.predictions != plain.predictions) <= 0.04


@pytest.mark.parametrize(
    ("seeder", "scheme"), [("sir", "chain"), ("mir", "chain"), ("ato", "chain"), ("avg", "star"), ("near", "star")]
)
@pytest.mark.parametrize("n_folds", [5, 10])
def test_the_usual_scheme(seeder, scheme, n_folds):
    """With few folds the training over all rows, the start of a star, would cost more than it saves."""
    scheme = scheme if n_folds >= 10 else "chain"
    found = validated(Case("smo", "two classes", "rbf"), n_folds, seeder=seeder)
    assert (found.seeder, found.scheme) == (seeder, scheme)
    assert (found.full is not None) == (scheme == "star")


@pytest.mark.parametrize("task", ["two classes", "three classes", "epsilon-SVR"])
@pytest.mark.parametrize("seeder", ["path", *libsvmx.SEEDERS])
def test_seeds_save_iterations(task, seeder):
    """Over all folds, where much is known: one fold per row. A seeder that saves nothing would pass all other tests."""
    case = Case("smo", task, "rbf", C=50.0)
    plain, found = (validated(case, len(case.rows), seeder=name) for name in ("none", seeder))
    assert sum(fold.iterations for fold in found.folds) < 0.8 * sum(fold.iterations for fold in plain.folds)


@each("seeded", strength=1, solver=["smo", "irwls"], seeding=[("none", ""), *SEEDINGS])
def test_reports_of_folds_are_sums_over_their_pairs(solver, task, kernel, seeding, mechanism):
    case, recorder = Case(solver, task, kernel, **mechanism), Recorder()
    seeder, scheme = seeding
    found = validated(case, seeder=seeder, scheme=scheme, observer=recorder)
    told = [found.full, *found.folds] if found.full else list(found.folds)
    pairs = max(1, case.task.n_classes * (case.task.n_classes - 1) // 2)
    if seeder != "auto":
        assert (found.full is not None) == (scheme == "star")
    assert len(recorder.reports) == pairs * len(told)
    for at, report in enumerate(told):
        own = recorder.reports[at * pairs : (at + 1) * pairs]
        for what in ("iterations", "n_sv", "rows_computed", "values_computed"):
            assert getattr(report, what) == sum(getattr(one, what) for one in own)
        assert report.objective == pytest.approx(sum(one.objective for one in own), rel=1e-12)
        assert report.gap == max(one.gap for one in own)
        assert np.isnan(report.rho) if pairs > 1 else report.rho == own[0].rho
        assert report.solving_seconds > 0


def test_rows_without_anything_in_common(mechanism):
    """All coefficients at C and all values exactly 0: ties go to LIBSVM's first class."""
    case = Case("smo", "three classes", "rbf", gamma=1e6, weights={}, C=0.5)
    expected = Oracle(case.matrix(), case.y(), case.libsvm_options()).cross_validate(4)
    for seeder, scheme in [("none", ""), *SEEDINGS]:
        found = validated(case, seeder=seeder, scheme=scheme, **mechanism)
        assert found.predictions.tolist() == expected


def test_nu_svc_knows_no_weights_of_classes():
    case = Case("smo", "nu-SVC, three classes", "rbf")
    plain, found = (validated(case, seeder="sir", weights=weights) for weights in ({}, {1: 0.0}))
    assert np.array_equal(found.decision_values, plain.decision_values)


# ---- folds that lack classes ---------------------------------------------------------------------------

LONELY = {
    "one row of a third class": lambda y: np.where(np.arange(len(y)) == 7, 3.0, y),
    "one row of two": lambda y: np.where(np.arange(len(y)) == 7, 1.0, -1.0),
    "one row of the second of two": lambda y: np.where(np.arange(len(y)) == 7, -1.0, 1.0),
    "one row of two with other names": lambda y: np.where(np.arange(len(y)) == 7, 6.0, 5.0),
    "a rare class first": lambda y: np.where(np.arange(len(y)) < 2, 9.0, y),
}


@WEIGHTS_OF_CLASSES_GONE
@pytest.mark.parametrize("solver", ["smo", "irwls"])
@pytest.mark.parametrize("seeder", ["none", "auto", "path", *libsvmx.SEEDERS])
@pytest.mark.parametrize("name", LONELY)
def test_a_class_that_a_fold_lacks(solver, name, seeder, mechanism):
    """Its pairs have no values there, and it is never predicted."""
    case = Case(solver, "two classes", "rbf", eps=EPS, weights={1: 1.137, -1: 0.913}, **mechanism)
    X, y = case.X(), LONELY[name](case.y())
    found = libsvmx.cross_validate(X, y, 4, seeder=seeder, **case.options)
    for fold in range(4):
        rest, own = found.fold_of != fold, found.fold_of == fold
        model = libsvmx.train(X[rest], y[rest], **case.options)
        assert set(found.predictions[own]) <= set(y[rest])
        expected = optima.by_labels(model, libsvmx.decision_values(model, X[own]), found.labels)
        values = found.decision_values[own]
        assert np.array_equal(np.isnan(values), np.isnan(expected))
        np.testing.assert_allclose(values, expected, rtol=0, atol=near(case))
    if solver == "smo" and seeder == "none":
        oracle = Oracle(case.matrix(), y, case.libsvm_options())
        assert found.predictions.tolist() == oracle.cross_validate(4)
    assert np.isnan(found.decision_values).any() == (name != "a rare class first")


# ---- folds drawn several times -------------------------------------------------------------------------


@each("cross_validate", solver=["smo"], task=IN_LIBSVM, kernel=LIBSVMS, probability=[False, True], n_folds=[3, 10])
def test_repeats_continue_libsvms_random_numbers(solver, task, kernel, probability, n_folds, mechanism):
    case = Case(solver, task, kernel, probability=probability)
    oracle = Oracle(case.matrix(), case.y(), case.libsvm_options())
    found = validated(case, n_folds, repeats=3, **mechanism)
    assert found.predictions.tolist() == oracle.cross_validate_repeatedly(n_folds, 3)
    assert (found.seeder, found.scheme, found.full, len(found.folds)) == ("none", "", None, 3 * n_folds)


@each("cross_validate", strength=1)
def test_each_repeat_is_a_cross_validation_with_its_folds(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, eps=EPS, **mechanism)
    once, found = validated(case), validated(case, repeats=3)
    assert found.predictions[0].tobytes() == once.predictions.tobytes()
    assert found.decision_values[0].tobytes() == once.decision_values.tobytes()
    assert np.array_equal(found.fold_of[0], once.fold_of)
    for repeat in range(3):
        fold_of = found.fold_of[repeat] - 4 * repeat
        assert sorted(set(fold_of)) == list(range(4))
        expected = left_out(case, fold_of, found.labels)
        np.testing.assert_allclose(found.decision_values[repeat], expected, rtol=0, atol=near(case))
    assert len({tuple(fold_of % 4) for fold_of in found.fold_of}) == 3


@each("seeded", strength=1, solver=["smo", "irwls"], kernel=["linear", "rbf", "precomputed"], seeding=SEEDINGS)
def test_repeats_by_every_seeder(solver, task, kernel, seeding, mechanism):
    """A star over all repeats has one training over all rows."""
    seeder, scheme = seeding
    case, recorder = Case(solver, task, kernel, eps=EPS, **mechanism), Recorder()
    plain = validated(case, 5, repeats=2)
    found = validated(case, 5, repeats=2, seeder=seeder, scheme=scheme, observer=recorder)
    assert np.array_equal(found.fold_of, plain.fold_of)
    assert all(one.status == "converged" and one.gap <= EPS * (1 + 1e-6) for one in found.folds)
    np.testing.assert_allclose(found.decision_values, plain.decision_values, rtol=0, atol=near(case))
    pairs = max(1, case.task.n_classes * (case.task.n_classes - 1) // 2)
    assert len(recorder.reports) == pairs * (10 + (scheme == "star"))
    assert (found.full is not None) == (scheme == "star")


def test_a_chain_continues_through_all_repeats(mechanism):
    """So do the statistics of its starts: with so few rows they do not pay, and more and more folds start cold."""
    found = validated(Case("smo", "two classes", "rbf", **mechanism), 5, repeats=3, seeder="sir", scheme="chain")
    names = [fold.seeder for fold in found.folds]
    assert names[:2] == ["none", "sir"]
    assert names != 3 * names[:5]  # as if each repeat began afresh


@each("seeded", strength=1, solver=["smo"], kernel=["rbf"], seeding=SEEDINGS)
def test_seeded_repeats_with_probability_estimates(solver, task, kernel, seeding, mechanism):
    seeder, scheme = seeding
    case = Case(solver, task, kernel, eps=EPS, probability=True, **mechanism)
    plain, found = validated(case, repeats=2), validated(case, repeats=2, seeder=seeder, scheme=scheme)
    assert np.array_equal(found.fold_of, plain.fold_of)
    np.testing.assert_allclose(found.decision_values, plain.decision_values, rtol=0, atol=near(case))
    if case.task.is_classification:
        assert np.mean(found.predictions != plain.predictions) <= 0.04


def test_inner_folds_of_repeats_are_drawn_of_rows_that_count():
    """Rows of weight 0 are in the folds, but in no training, so no inner fold is drawn for them."""
    case = Case("smo", "two classes", "rbf", eps=EPS, probability=True)
    weights = np.where(np.arange(len(case.rows)) % 3 == 1, 0.0, 1.0)
    script = (  # in its own process, whose random numbers continue from call to call
        "import sys, json; from libsvmx.svmutil import svm_train; W, y, X = json.load(sys.stdin); "
        "print(json.dumps([svm_train(W, y, X, '-q -c 2 -g 0.1 -e 1e-6 -b 1 -v 4') for _ in range(4)]))"
    )
    given = json.dumps([weights.tolist(), case.y().tolist(), case.X().tolist()])
    printed = subprocess.run([sys.executable, "-c", script], input=given, capture_output=True, text=True, check=True)
    expected = json.loads(printed.stdout.splitlines()[-1])
    assert len(set(expected)) > 1
    for options in ({}, {"policy": IN_TURN}, {"seeder": "near"}, {"seeder": "near", "policy": IN_TURN}):
        found = validated(case, repeats=4, sample_weight=weights, **options)
        assert found.accuracies.tolist() == pytest.approx(expected)


@each("cross_validate", strength=1)
def test_figures_of_repeats(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    y, found = case.y(), validated(case, repeats=3)
    assert found.predictions.shape == found.fold_of.shape == (3, len(y))
    assert found.decision_values.shape[:2] == (3, len(y))
    np.testing.assert_allclose(found.mean_squared_errors, ((found.predictions - y) ** 2).mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.accuracies, 100 * (found.predictions == y).mean(axis=1), rtol=1e-14)
    assert found.accuracy == pytest.approx(found.accuracies.mean(), rel=1e-14)
    assert found.mean_squared_error == pytest.approx(found.mean_squared_errors.mean(), rel=1e-14)
    assert found.squared_correlation == pytest.approx(found.squared_correlations.mean(), rel=1e-14, nan_ok=True)
    assert repr(found).startswith(f"<CrossValidation of {len(y)} rows, 12 folds, ")
    once = validated(case)
    assert once.accuracies.tolist() == [once.accuracy] and once.predictions.shape == (len(y),)


@pytest.mark.parametrize("seeder", ["none", "near", "sir", "path"])
def test_threads_change_no_bit_of_repeats(seeder, mechanism):
    case = Case("smo", "three classes", "rbf", **mechanism)
    one, *others = (validated(case, 10, repeats=2, seeder=seeder, threads=threads) for threads in THREADS)
    for other in others:
        assert other.decision_values.tobytes() == one.decision_values.tobytes()
        assert [fold.iterations for fold in other.folds] == [fold.iterations for fold in one.folds]


def test_repeats_in_many_batches():
    """The queue is emptied several times: the training over all rows is kept, and the folds are the same."""
    case = Case("smo", "two classes", "rbf")
    for seeder in ("none", "near"):
        usual, found = (
            validated(case, 10, repeats=3, seeder=seeder, policy=KernelPolicy(rows_in_queue=rows))
            for rows in (1 << 30, 60)
        )
        assert found.decision_values.tobytes() == usual.decision_values.tobytes()


def test_repeats_finished_before_a_stop():
    class Ends(libsvmx.Observer):
        def should_stop(self):
            return self.done >= 5

        def counted(self, what, done, total):
            self.done, self.total = done, total

    for seeder in ("none", "sir"):
        case, observer = Case("smo", "two classes", "rbf", C=20.0, policy=IN_TURN), Ends()
        observer.done = 0
        with pytest.raises(StoppedEarly, match="5 of 12 folds are done") as stopped:
            validated(case, repeats=3, observer=observer, seeder=seeder)
        found, whole = stopped.value.partial, validated(case, repeats=3, seeder=seeder)
        done = ~np.isnan(found.predictions)
        assert observer.total == 12
        assert done.sum(axis=1).tolist() == [60, (whole.fold_of[1] == 4).sum(), 0]
        assert np.array_equal(found.predictions[done], whole.predictions[done])
        assert np.isnan(found.accuracies).tolist() == [False, True, True] and np.isnan(found.accuracy)


# ---- reports and refusals ------------------------------------------------------------------------------


def test_more_folds_than_rows():
    case, recorder = Case("smo", "two classes", "rbf"), Recorder()
    found = validated(case, 100, observer=recorder)
    assert recorder.remarks == ["more folds than rows"]
    assert sorted(found.fold_of) == list(range(60))


def test_unknown_names_are_refused():
    case = Case("smo", "two classes", "rbf")
    for options, words in (
        ({"seeder": "guess"}, "unknown seeding method 'guess': choose one of none, auto, sir"),
        ({"seeder": "sir", "scheme": "ring"}, "unknown seeding scheme 'ring': choose chain or star"),
        ({"seeder": "path", "scheme": "chain"}, "path starts from the training over all rows"),
        ({"n_folds": 1}, "at least 2 folds, not 1"),
        ({"repeats": 0}, "repeats must be at least 1, not 0"),
        ({"repeats": 2, "n_folds": 60}, "60 folds of 60 rows are leave-one-out"),
        ({"random_state": -1}, "random_state must be between"),
    ):
        with pytest.raises(ParameterError, match=words):
            validated(case, **options)

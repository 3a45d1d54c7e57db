"""leave_one_out(): each row predicted as by LIBSVM's n folds, and the values of a training without it."""

import numpy as np
import pytest
from support import optima
from support.oracle import Oracle
from support.policies import KernelPolicy

import libsvmx
from libsvmx import DataError, ParameterError, StoppedEarly

from .table import IN_LIBSVM, LIBSVMS, WEIGHTS_OF_CLASSES_GONE, Case, each
from .test_cross_validation import EPS, LONELY, left_out, near
from .test_training import THREADS

SEEDERS = ["auto", "path", *libsvmx.SEEDERS]
N = 20


def cut(solver, task, kernel, **options):
    """A case with fewer rows."""
    case = Case(solver, task, kernel, **options)
    case.rows = case.rows[:N]
    return case


def left_one_out(case, **options):
    return libsvmx.leave_one_out(case.X(), case.y(), **{**case.options, **options})


@each(
    "leave_one_out",
    solver=["smo"],
    task=IN_LIBSVM,
    kernel=LIBSVMS,
    values=[True, False],
    seeder=["auto", "path", "sir"],
)
def test_predictions_are_libsvms(solver, task, kernel, values, seeder, mechanism):
    """To eps: for a row with a value near 0 either label is right."""
    case = cut(solver, task, kernel, eps=EPS)
    expected = np.array(Oracle(case.matrix(), case.y(), case.libsvm_options()).cross_validate(N))
    found = left_one_out(case, values=values, seeder=seeder, **mechanism)
    if case.svm_type.is_regression:
        np.testing.assert_allclose(found.predictions, expected, rtol=0, atol=near(case))
    else:
        sure = (np.abs(left_one_out(case).decision_values) > near(case)).all(axis=1)
        assert np.array_equal(found.predictions[sure], expected[sure])
        assert sure.mean() > 0.9
    assert len(found.folds) == len(found.retrained) == len(set(found.retrained))
    assert found.full.seeder == "none"


@each(
    "leave_one_out",
    solver=["smo", "irwls"],
    kernel=["linear", "cubic", "rbf", "sigmoid", "precomputed"],
    seeder=SEEDERS,
)
def test_values_are_those_of_trainings_without_the_row(solver, task, kernel, seeder, mechanism):
    """Also for rows that need no retraining, as they have no coefficient."""
    case = cut(solver, task, kernel, eps=EPS, **mechanism)
    found = left_one_out(case, seeder=seeder)
    assert all(one.status == "converged" for one in found.folds)
    if kernel == "sigmoid":
        return  # not an inner product: there may be several optima
    expected = left_out(case, np.arange(N), found.labels)
    np.testing.assert_allclose(found.decision_values, expected, rtol=0, atol=near(case))
    if not case.svm_type.is_regression:
        assert found.accuracy == pytest.approx(100 * np.mean(found.predictions == case.y()), rel=1e-14)
    assert found.mean_squared_error == pytest.approx(np.mean((found.predictions - case.y()) ** 2), rel=1e-12)


@each("leave_one_out", strength=1, kernel=["rbf", "precomputed"], seeder=["auto", "path", "near"])
def test_no_number_of_threads_changes_a_bit(solver, task, kernel, seeder, mechanism):
    case = cut(solver, task, kernel, **mechanism)
    one, *others = (left_one_out(case, seeder=seeder, threads=threads) for threads in THREADS)
    for other in others:
        assert other.decision_values.tobytes() == one.decision_values.tobytes()
        assert other.predictions.tobytes() == one.predictions.tobytes()
        assert [fold.iterations for fold in other.folds] == [fold.iterations for fold in one.folds]


@each("leave_one_out", solver=["smo", "irwls"], kernel=["rbf", "precomputed"], seeder=SEEDERS, weighted=[False, True])
def test_a_cross_validation_with_a_fold_per_row_is_leave_one_out(solver, task, kernel, seeder, weighted, mechanism):
    case = cut(solver, task, kernel, **mechanism)
    options = {"seeder": seeder, **({"sample_weight": np.arange(N) % 7} if weighted else {}), **case.options}
    found = libsvmx.leave_one_out(case.X(), case.y(), **options)
    other = libsvmx.cross_validate(case.X(), case.y(), N, scheme="star", **options)
    assert other.decision_values.tobytes() == found.decision_values.tobytes()
    assert other.predictions.tobytes() == found.predictions.tobytes()
    assert sorted(other.fold_of) == list(range(N)) == list(range(len(other.folds)))
    own = dict(zip(found.retrained, found.folds, strict=True))
    for row, fold in enumerate(other.fold_of):
        assert other.folds[fold].iterations == (own[row].iterations if row in own else 0)
    assert (other.seeder, other.scheme, other.full.iterations) == (seeder, "star", found.full.iterations)


@pytest.mark.parametrize("task", ["two classes", "three classes", "epsilon-SVR"])
@pytest.mark.parametrize("queue", [True, False])
def test_folds_of_one_row_report_all_their_pairs(task, queue):
    case = cut("smo", task, "rbf", eps=EPS)
    plain, found = (
        libsvmx.cross_validate(case.X(), case.y(), N, seeder=seeder, policy=KernelPolicy(queue=queue), **case.options)
        for seeder in ("none", "auto")
    )
    for one, other in zip(found.folds, plain.folds, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-4, abs=1e-6)
        assert one.n_sv == pytest.approx(other.n_sv, abs=2)


@pytest.mark.parametrize("weights", [None, np.arange(N) % 3 * 1.0], ids=["", "some of 0"])
def test_an_interrupted_cross_validation_keeps_its_leading_folds(weights):
    class Stopping(libsvmx.Observer):
        def counted(self, what, done, total):
            assert (what, total) == ("fold", N)
            self.done, self.stops = done, done >= 9

        stops = False

        def should_stop(self):
            return self.stops

    case = cut("smo", "two classes", "rbf")
    options = {"seeder": "auto", "policy": KernelPolicy(queue=False), "sample_weight": weights, **case.options}
    stopping = Stopping()
    with pytest.raises(StoppedEarly, match=r"\d+ of 20 folds are done") as stop:
        libsvmx.cross_validate(case.X(), case.y(), N, observer=stopping, **options)
    found = stop.value.partial
    assert 9 <= len(found.folds) == stopping.done < N
    assert f"{stopping.done} of 20 folds" in str(stop.value)
    assert np.array_equal(np.isnan(found.predictions), found.fold_of >= stopping.done)


@pytest.mark.parametrize("queue", [True, False])
def test_repeated_folds_as_many_as_rows(queue):
    case = cut("smo", "two classes", "rbf", eps=EPS)
    plain, found = (
        libsvmx.cross_validate(
            case.X(), case.y(), 10, repeats=2, seeder=seeder, policy=KernelPolicy(queue=queue), **case.options
        )
        for seeder in ("none", "auto")
    )
    assert len(found.folds) == N
    assert np.allclose(found.decision_values, plain.decision_values, atol=20 * EPS)


@pytest.mark.parametrize("queue", [True, False])
def test_coefficients_that_are_small_beside_a_huge_C_stay(queue):
    """They are the whole model where the classes can be separated."""
    rng = np.random.default_rng(0)
    X = 8 * rng.normal(size=(60, 2))
    y = np.where(X.sum(1) > 0, 1.0, -1.0)
    options = {"C": 1e12, "gamma": 0.01, "eps": 1e-5, "policy": KernelPolicy(queue=queue)}
    plain, found = (
        libsvmx.cross_validate(X, y, 10, seeder=seeder, scheme=scheme, **options)
        for seeder, scheme in (("none", ""), ("near", "star"))
    )
    assert min(fold.n_sv for fold in plain.folds) > 0
    assert np.allclose(found.decision_values, plain.decision_values, atol=1e-3)


def test_only_rows_that_matter_are_trained_without():
    case = cut("smo", "two classes", "rbf", eps=EPS)
    used = set(case.train().sv_indices - 1)
    every = left_one_out(case)
    assert set(every.retrained) == used < set(range(N))
    fewer = left_one_out(case, values=False)
    assert set(fewer.retrained) < used
    known_wrong = sorted(used - set(fewer.retrained))  # and stay wrong
    assert np.all(every.predictions[known_wrong] != case.y()[known_wrong])
    assert np.array_equal(fewer.predictions, every.predictions)
    with_nu = cut("smo", "nu-SVC", "rbf")
    assert len(left_one_out(with_nu).retrained) == N  # the sums of nu-SVC depend on the number of rows


@pytest.mark.filterwarnings("ignore:a solution degenerates")
@pytest.mark.parametrize("seeder", ["sir", "auto"])
def test_nu_svc_with_an_infinite_r(seeder):
    """Two classes of one and three rows with nu = 0.5: the margin of the training on all rows has width zero."""
    rows, labels = [[-0.376, -1.491], [-0.311, 0.0], [0.0, 0.464], [-0.515, 0.0]], [2, 2, 0, 2]
    found = libsvmx.leave_one_out(rows, labels, svm_type="nu_svc", nu=0.5, seeder=seeder)
    assert found.predictions.shape == (4,)


@WEIGHTS_OF_CLASSES_GONE
@pytest.mark.parametrize("seeder", SEEDERS)
@pytest.mark.parametrize("name", LONELY)
def test_a_class_of_one_row(name, seeder):
    case = cut("smo", "two classes", "rbf", eps=EPS, weights={1: 1.137, -1: 0.913})
    X, y = case.X(), LONELY[name](case.y())
    found = libsvmx.leave_one_out(X, y, seeder=seeder, **case.options)
    for row in range(N):
        rest = np.delete(np.arange(N), row)
        model = libsvmx.train(X[rest], y[rest], **case.options)
        expected = optima.by_labels(model, libsvmx.decision_values(model, X[[row]]), found.labels)[0]
        np.testing.assert_allclose(found.decision_values[row], expected, rtol=0, atol=near(case))
    oracle = Oracle(case.matrix(), y, case.libsvm_options())
    assert found.predictions.tolist() == oracle.cross_validate(N)


def test_refusals():
    case = cut("smo", "two classes", "rbf")
    for options, error, words in (
        ({"seeder": "none"}, ParameterError, "choose a seeding method"),
        ({"seeder": "guess"}, ParameterError, "unknown seeding method 'guess'"),
        ({"probability": True}, ParameterError, "leave out -b 1"),
        ({"weights": {1: 0.0, -1: 0.0}}, DataError, "every class has weight 0"),
    ):
        with pytest.raises(error, match=words):
            left_one_out(case, **options)
    with pytest.raises(ParameterError, match="at least 2"):
        libsvmx.leave_one_out([[1.0]], [1.0])

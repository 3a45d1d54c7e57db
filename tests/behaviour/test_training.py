"""train(): the optimum of every formulation and kernel with every solver, from the data; LIBSVM's bytes by smo."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from support import optima
from support.oracle import Oracle, load, predict

import libsvmx
from libsvmx import SvmType

from .table import IN_LIBSVM, LIBSVMS, Case, combinations_of, each

THREADS = (1, 2, 3, 8)


def file_of(model, folder):
    """The bytes of a model's file."""
    libsvmx.save_model(folder / "own.model", model)
    return (folder / "own.model").read_bytes()


# ---- one optimum ---------------------------------------------------------------------------------------


@each("train", eps=[1e-3, 1e-6], shrinking=[True, False])
def test_the_optimum(solver, task, kernel, eps, shrinking, mechanism):
    """Feasible, and optimal to eps by NumPy in double from the rows; the report agrees."""
    case = Case(solver, task, kernel, eps=eps, shrinking=shrinking, **mechanism)
    model = case.train()
    judged = optima.judged(model, case.K_solved(), case.y())
    assert model.statuses == ("converged",) * len(judged)
    for one, report in zip(judged, model.reports, strict=True):
        one.check_to(eps)
        # LIBSVM divides nu-SVC's objective by r^2, and reports 1 / r
        factor = report.value**2 if case.svm_type == SvmType.NU_SVC else 1.0
        objective, rounding = factor * one.reached, 1e-6 * factor * np.abs(one.beta).sum()
        assert report.objective == pytest.approx(objective, rel=1e-5, abs=rounding)
        assert report.gap <= eps * (1 + 1e-6)
        assert report.n_sv == np.count_nonzero(one.beta)
        box = np.maximum(np.abs(one.lower), np.abs(one.upper))
        assert report.n_bsv == np.count_nonzero(np.abs(one.beta) >= box * (1 - 1e-12))


def test_the_problems_are_not_trivial():
    """By LIBSVM's path each has free variables, and variables at both bounds, for every kernel."""
    for _, task, kernel in combinations_of("train", solver=["smo"]):
        case = Case("smo", task, kernel, eps=1e-6)
        for one in optima.judged(case.train(), case.K(), case.y()):
            at_bound = np.abs(one.beta) >= (one.upper - one.lower) * (1 - 1e-9)
            assert one.free(one.beta).any() and at_bound.any() and (one.beta == 0).any(), (task, kernel)


@each("train", strength=1)
def test_properties_of_a_model(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    model = case.train()
    k = case.task.n_classes
    pairs = k * (k - 1) // 2 if k else 1
    assert model.nr_class == max(k, 2)
    assert model.sv_coef.shape == (model.nr_class - 1, model.n_sv)
    assert model.rho.shape == (pairs,)
    assert len(model.reports) == pairs
    assert model.support_vectors.shape == (model.n_sv, 1 if case.is_precomputed else case.features.shape[1])
    assert model.n_features == case.X().shape[1]
    assert (model.labels is None) == (not k)
    assert len(set(model.sv_indices)) == model.n_sv
    vectors = np.asarray(model.support_vectors.toarray())
    if case.is_precomputed:
        assert np.array_equal(vectors[:, 0], model.sv_indices)
    else:
        assert np.array_equal(vectors, case.X()[model.sv_indices - 1])
    if kernel == "linear":
        np.testing.assert_allclose(
            case.X() @ model.w.T - model.rho, libsvmx.decision_values(model, case.X()), rtol=0, atol=1e-9
        )
    else:
        assert not hasattr(model, "w")
    with pytest.raises(AttributeError):
        model.nr_class = 3
    with pytest.raises(ValueError, match="read-only"):
        model.rho[0] = 1.0


@each("train", strength=1)
def test_neither_threads_nor_a_second_training_change_a_byte(solver, task, kernel, mechanism, tmp_path):
    case = Case(solver, task, kernel, **mechanism)
    first = file_of(case.train(threads=1), tmp_path)
    for threads in THREADS:
        assert file_of(case.train(threads=threads), tmp_path) == first


@each("train", strength=1, solver=["smo", "irwls"], kernel=["rbf", "precomputed"])
def test_labels_by_other_names_and_targets_that_move(solver, task, kernel, mechanism):
    """Names of classes are only names; a constant added to the targets changes only the level."""
    case = Case(solver, task, kernel, **mechanism)
    model = case.train()
    options = dict(case.options)
    if case.task.is_classification:
        renamed = {label: 10 + 3 * label for label in set(case.targets)}
        options["weights"] = {int(renamed[label]): w for label, w in options.get("weights", {}).items()}
        y = np.array([renamed[label] for label in case.y()])
        other = libsvmx.train(case.X(), y, **options)
        values, expected = (libsvmx.decision_values(m, case.tests()) for m in (other, model))
        if {1, -1} != set(model.labels.tolist()):  # otherwise LIBSVM puts +1 first
            assert other.labels.tolist() == [renamed[label] for label in model.labels]
            assert np.array_equal(values, expected)
        else:
            np.testing.assert_allclose(np.abs(values), np.abs(expected), rtol=0, atol=0.02)
    else:
        other = libsvmx.train(case.X(), case.y() + 64.0, **options)
        lift = 64.0 if case.svm_type.is_regression else 0.0
        values, expected = (libsvmx.decision_values(m, case.tests()) for m in (other, model))
        np.testing.assert_allclose(values, expected + lift, rtol=0, atol=0.02)


# ---- LIBSVM's own path ---------------------------------------------------------------------------------


@each(
    "train",
    solver=["smo"],
    task=IN_LIBSVM,
    kernel=LIBSVMS,
    shrinking=[True, False],
    probability=[True, False],
    cache_size=[100.0, 0.02],
)
def test_smo_writes_libsvms_file(solver, task, kernel, shrinking, probability, cache_size, mechanism, tmp_path):
    case = Case(solver, task, kernel, shrinking=shrinking, probability=probability, cache_size=cache_size)
    oracle = Oracle(case.matrix(), case.y(), case.libsvm_options()).train()
    model = case.train(**mechanism)
    assert file_of(model, tmp_path) == oracle.model_bytes(tmp_path)
    assert model.sv_indices.tolist() == oracle.model.get_sv_indices()


@each("train", strength=1, task=IN_LIBSVM, kernel=LIBSVMS, solver=["smo", "irwls", "crsvm, low rank"])
def test_model_files_go_both_ways(solver, task, kernel, tmp_path):
    """LIBSVM reads ours and predicts the same, we read LIBSVM's, and a second save changes no byte."""
    case = Case(solver, task, kernel)
    path, content = tmp_path / "own.model", file_of(case.train(), tmp_path)
    loaded, tests = libsvmx.load_model(path), case.matrix(case.new, case.rows)
    assert file_of(loaded, tmp_path) == content
    labels, values = predict(load(path), tests)
    assert libsvmx.predict(loaded, tests).tolist() == labels
    if not case.svm_type.is_regression:
        assert libsvmx.decision_values(loaded, tests).tolist() == values
    assert loaded.statuses == () and loaded.sv_indices is None


# ---- forms of rows and models --------------------------------------------------------------------------


def forms(X):
    """The same rows in every accepted form."""
    yield "columns first", np.asfortranarray(X)
    yield "lists", X.tolist()
    yield "mappings", [{j + 1: v for j, v in enumerate(row) if v} for row in X.tolist()]
    yield "csr", sparse.csr_array(X)
    yield "csc", sparse.csc_matrix(X)
    coo = sparse.coo_array(X)
    twice = np.tile(coo.row, 2), np.tile(coo.col, 2)
    yield "entries that add up", sparse.coo_array((np.tile(coo.data / 2, 2), twice), shape=X.shape)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield "int64 indices", wide
    if np.array_equal(X, X.astype(np.float32)):
        yield "float32", X.astype(np.float32)


@pytest.mark.parametrize("solver", ["smo", "irwls", "crsvm"])
@pytest.mark.parametrize("task", ["two classes", "binary features", "epsilon-SVR"])
@pytest.mark.parametrize("kernel", ["linear", "quadratic"])
def test_every_form_of_rows_gives_the_same_model(solver, task, kernel, mechanism, tmp_path):
    case = Case(solver, task, kernel, **mechanism)
    expected = file_of(case.train(), tmp_path)
    assert file_of(libsvmx.train(case.matrix(), case.y().tolist(), **case.options), tmp_path) == expected
    for name, form in forms(case.X()):
        assert file_of(libsvmx.train(form, case.y(), **case.options), tmp_path) == expected, name


@each("train", strength=1, kernel=["linear", "rbf", "precomputed"])
def test_nothing_is_shared_with_the_caller(solver, task, kernel, mechanism):
    """The caller may overwrite the arguments later, and the call does not."""
    case = Case(solver, task, kernel, **mechanism)
    X, y = np.array(case.X()), np.array(case.y())
    model = libsvmx.train(X, y, **case.options)
    assert np.array_equal(X, case.X()) and np.array_equal(y, case.y())
    before = libsvmx.decision_values(model, case.tests())
    X[:], y[:] = 7.0, 7.0
    assert np.array_equal(libsvmx.decision_values(model, case.tests()), before)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(libsvmx.decision_values(again, case.tests()), before)
    assert again.param == model.param and again.reports == model.reports


# ---- starts --------------------------------------------------------------------------------------------


@each(
    "start",
    strength=1,
    kernel=["linear", "rbf", "precomputed"],
    form=["model", "coefficients", "file"],
    change=[None, "parameter"],
)
def test_a_start_leads_to_the_same_optimum(solver, task, kernel, form, change, mechanism, tmp_path):
    eps = 1e-6
    case = Case(solver, task, kernel, eps=eps, **mechanism)
    start = case.train()
    iterations = sum(report.iterations for report in start.reports)
    if form == "coefficients":
        table = np.zeros((start.nr_class - 1, len(case.rows)))
        table[:, start.sv_indices - 1] = start.sv_coef
        start = table if len(table) > 1 else table[0]
    elif form == "file":
        libsvmx.save_model(tmp_path / "start", start)
        start = libsvmx.load_model(tmp_path / "start")
    name = "C" if case.svm_type.has_cost else "nu"
    options = {name: 0.8 * case.options[name]} if change else {}
    found = case.train(start=start, **options)
    for one in optima.judged(found, case.K(), case.y()):
        one.check_to(eps)
    if not change:
        assert sum(report.iterations for report in found.reports) <= 0.25 * iterations + 20

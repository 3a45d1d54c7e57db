"""Functions over arrays: kept data, refusals and warnings; results are tested in tests/behaviour."""

import copy
import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from support import data
from support.policies import KernelPolicy

import libsvmx
from libsvmx.io.modelfile import model_text

HEART = str(data.DATA / "heart_scale")


@pytest.fixture(scope="module")
def heart():
    X, y = libsvmx.read_problem(HEART)
    return X, X.toarray(), y


def test_explicit_zeros_are_left_out(heart):
    _, dense, y = heart
    csr = scipy.sparse.csr_array(dense)
    csr.data[:3] = 0.0
    assert model_text(libsvmx.train(csr, y)) == model_text(libsvmx.train(csr.toarray(), y))


def test_files_are_named_by_paths_too(heart, tmp_path):
    X, y = libsvmx.read_problem(Path(HEART))
    assert y.tolist() == heart[2].tolist()
    state = libsvmx.train(X, y, C=4, keep_state=True)
    libsvmx.save_model(tmp_path / "model", state.model)
    state.save(tmp_path / "state")
    libsvmx.export(state.model, tmp_path / "model.c")
    read = libsvmx.load_model(tmp_path / "model"), libsvmx.State.load(tmp_path / "state").model
    for model in read:
        assert np.asarray(model.rho) == pytest.approx(np.asarray(state.model.rho), rel=1e-5)
    assert (tmp_path / "model.c").stat().st_size > 0


def test_models_are_immutable_and_copied(heart, tmp_path):
    X, _, y = heart
    model = libsvmx.train(X, y, probability=True)
    with pytest.raises(AttributeError):
        model.nr_class = 3
    with pytest.raises(ValueError, match="read-only"):
        model.rho[0] = 1.0
    for buffer in (model.coef, model.offsets, model.vectors.values, model.vectors.indices, X.values):
        with pytest.raises(TypeError, match="read-only"):
            buffer[0] = 1
    with pytest.raises(ValueError, match="class_sv"):
        dataclasses.replace(model, class_sv=(10**6, 10**6))
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert model_text(other) == model_text(model)
        assert other.param == model.param
    path = str(tmp_path / "heart.model")
    libsvmx.save_model(path, model)
    assert model_text(libsvmx.load_model(path)) == model_text(model)


def test_pickles_of_another_version_are_refused(heart):
    X, _, y = heart
    model = libsvmx.train(X, y)
    restore, (version, state) = model.__reduce__()
    assert model_text(restore(version, state)) == model_text(model)
    with pytest.raises(ValueError, match="version"):
        restore(version + 1, state)
    with pytest.raises(ValueError, match="class_sv"):
        restore(version, state | {"class_sv": (10**6, 1)})
    with pytest.raises(ValueError, match="offsets"):
        restore(version, state | {"offsets": ("d", bytes(16))})


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], [1, -1], {}, "row 0: the value of column 1 is not finite"),
        (scipy.sparse.csr_array([[0.0, 1.0], [np.inf, 0.0]]), [1, -1], {}, "row 1: the value of column 0 is not fin"),
        ([{1: 1.0}, {-1: 2.0}], [1, -1], {}, "row 1: index -1"),
        ([{1: 1.0}, {2**32 + 5: 2.0}], [1, -1], {}, "row 1: index 4294967301"),
        ([[1.0], [2.0]], [1, -1, 1], {}, "X has 2 rows, but y has shape"),
        ([[1.0], [2.0]], [1, 1.5], {}, "row 1: class label 1.5"),
        ([[1.0], [2.0]], [1, np.nan], {"svm_type": 3}, "row 1: target nan"),
        ([[1.0], [2.0]], [1, 1e10], {}, "row 1: class label"),
        (np.zeros((0, 3)), [], {}, "no data"),
        ([], [], {}, "rows and columns"),
        ([1.0, 2.0], [1, 2], {}, "rows and columns"),
        ([["a"], ["b"]], [1, 2], {}, "X must hold real numbers"),
        ([[1.0], [2.0]], [1, -1], {"C": -1.0}, "C must be > 0"),
        ([[1.0], [2.0]], [1, -1], {"C": np.nan}, "C must be finite"),
        ([[1.0], [2.0]], [1, -1], {"svm_type": 9}, "unknown svm_type"),
        ([[1.0], [2.0], [3.0]], [1, 1, -1], {"svm_type": 1, "nu": 0.9}, "infeasible.*at most 0.66666"),
    ],
)
def test_bad_input(X, y, options, message):
    with pytest.raises(libsvmx.SvmxError, match=message):
        libsvmx.train(X, y, **options)


def test_commands_import_no_numpy():
    """Start-up time counts: grid searches start the commands thousands of times."""
    code = (
        "import sys, libsvmx.cli.train, libsvmx.cli.predict, libsvmx.cli.scale\n"
        "sys.exit(bool({'numpy', 'scipy', 'argparse'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_training_does_not_load_masked_arrays():
    """Loading them takes longer than many a training; test_models_and_buffers.py tests that they are refused."""
    code = (
        "import sys, numpy, libsvmx\nlibsvmx.train(numpy.eye(4), [1, -1, 1, -1])\nsys.exit('numpy.ma' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names():
    for name in libsvmx.__all__:
        assert getattr(libsvmx, name) is not None
    assert callable(libsvmx.train)
    with pytest.raises(AttributeError):
        _ = libsvmx.nonsense


def test_sparse_rows_keep_no_view_of_the_arrays_they_are_made_of():
    indptr, indices, values = np.array([0, 1, 2]), np.array([1, 2], dtype=np.int32), np.array([0.5, 0.25])
    matrix = libsvmx.CsrMatrix(indptr, indices, values)
    indices[:] = 2**31 - 1
    values[:] = np.nan
    assert matrix.row(0) == [(1, 0.5)]
    assert matrix.row(1) == [(2, 0.25)]


def test_huge_indices_cost_no_memory_of_their_size():
    """Hashed features: the model and the predictions equal those of the same rows with small indices."""
    rng = np.random.default_rng(3)
    small = [{int(j): float(v) for j, v in enumerate(row) if v} for row in rng.integers(0, 3, size=(60, 9))]
    names = np.sort(rng.choice(2**31 - 1, 9, replace=False))
    large = [{int(names[j]): v for j, v in row.items()} for row in small]
    y = rng.integers(0, 3, size=60)
    for kernel in range(4):
        options = {"kernel_type": kernel, "gamma": 0.2, "C": 2.0}
        a, b = libsvmx.train(small, y, **options), libsvmx.train(large, y, **options)
        assert bytes(a.coef) == bytes(b.coef)
        assert b.vectors.max_index > 2**20
        assert np.array_equal(libsvmx.decision_values(a, small), libsvmx.decision_values(b, large))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 2.5}, "degree must be a whole number"),
        ({"C": "1"}, "C must be a number"),
        ({"degree": 10**5000}, r"degree must be a whole number between -1.8e308 and 1.8e308$"),
        ({"max_iter": 2**63}, r"max_iter must be between 0 and 2\^63 - 1, not 9223372036854775808$"),
        ({"C": 10**5000}, r"C must be a number between -1.8e308 and 1.8e308$"),
        ({"coef0": float("nan")}, "coef0 must be finite, not nan"),
        ({"gamma": "skale"}, "gamma must be a number"),
        ({"probability": "no"}, "probability must be True or False"),
        ({"weights": (("1", 5.0),)}, "weights must be pairs"),
        ({"weights": 3}, "weights must be pairs"),
    ],
)
def test_parameters_of_the_wrong_type(options, message):
    with pytest.raises(libsvmx.ParameterError, match=message):
        libsvmx.Parameter(**options)


def test_weights_may_be_a_mapping():
    assert libsvmx.Parameter(weights={1: 2, -1: 0.5}).weights == ((1, 2.0), (-1, 0.5))


ONE_EACH = ([[0.0], [1.0], [5.0]], [7, 3, 12])


@pytest.mark.parametrize(
    "X, y, options, message",
    [
        # balanced classes and the largest nu: every row is at its bound, and rho is free
        (*ONE_EACH, {"svm_type": 1, "nu": 1.0}, " for classes 7 and 3: its rho is not finite .*Choose a smaller nu"),
        # equal rows in two classes: r = 0, which coefficients are divided by
        (
            [[0.0], [1.0], [1.0], [5.0]],
            [7, 3, 12, 12],
            {"svm_type": 1, "nu": 0.5},
            " for classes 3 and 12: its coefficients are not finite .*Choose a smaller nu",
        ),
        ([[1.0], [1.0]], [1, -1], {"svm_type": 1}, ": its coefficients are not finite .NU_SVC, RBF kernel."),
        ([[1.0], [2.0]], [1e308, -1e308], {"svm_type": 3}, ": its .* not finite .*a smaller C, or scale"),
    ],
)
def test_what_degenerates_is_named_with_its_classes_and_a_remedy(X, y, options, message):
    with pytest.raises(libsvmx.ParameterError, match=f"the solution degenerates{message}"):
        libsvmx.train(X, y, **options)


def test_predictions_by_threads():
    X, y = libsvmx.read_problem(HEART)
    model = libsvmx.train(X, y, probability=True, policy=KernelPolicy(prediction_work_for_threads=0.0))
    for predict in (libsvmx.predict, libsvmx.decision_values, lambda *a, **k: libsvmx.predict_probability(*a, **k)[1]):
        found = [np.asarray(predict(model, X, threads=threads)).tobytes() for threads in (1, 0, 2, 5)]
        assert len(set(found)) == 1
        for wrong in (-1, 1025, 1.5, "2"):
            with pytest.raises(libsvmx.ParameterError, match="threads must be"):
                predict(model, X, threads=wrong)


def test_results_are_shown_in_a_line(heart):
    X, y = libsvmx.read_problem(HEART)
    shown = {
        "<Model c_svc, rbf gamma=0.0769231, 2 classes, 132 support vectors>": libsvmx.train(X, y),
        "<Model epsilon_svr, linear, 209 support vectors>": libsvmx.train(X, y, svm_type=3, kernel_type=0),
        "<CrossValidation of 270 rows, 5 folds, accuracy 82.963%>": libsvmx.cross_validate(X, y, 5),
        "<LeaveOneOut of 270 rows, 132 folds, accuracy 81.8519%>": libsvmx.leave_one_out(X, y),
        "<GridSearch of 2 points, best: C=0.5, rate=84.0741>": libsvmx.grid_search(X, y, (-1, 0, 1), None),
    }
    assert [repr(found) for found in shown.values()] == list(shown)


def test_what_the_commands_warn_of_in_python_too():
    """Probabilities of a class with few rows may be reversed, and a weight of a class without rows has no effect."""
    X, y = np.array([[-1.0, -1.0], [1.0, 1.0], [2.0, 1.0]]), np.array([4, 7, 7])
    with pytest.warns(UserWarning, match=r"^too few rows for reliable probability estimates of class 4, 7$") as told:
        libsvmx.train(X, y, probability=True)
    assert [Path(warning.filename).name for warning in told] == [Path(__file__).name]
    with pytest.warns(UserWarning, match=r"^a weight is given for class 9, which does not occur in the data$") as told:
        libsvmx.train(X, y, weights={9: 2.0, 7: 3.0})
    assert len(told) == 1
    X, y = np.vstack([X] * 20), np.hstack([y] * 20)
    libsvmx.train(X + np.arange(60)[:, None] / 100, y, probability=True, weights={7: 3.0})


WEIGHT_OF_NONE = {9: 2.0, 7: 3.0}
RNG = np.random.default_rng(3)
FORTY, LABELS = RNG.normal(size=(40, 2)), np.arange(40) % 2 * 3 + 4


@pytest.mark.parametrize(
    "call",
    [
        libsvmx.train,
        lambda X, y, **more: libsvmx.train(X, y, keep_state=True, **more),
        lambda X, y, **more: libsvmx.State.from_model(X, y, libsvmx.train(X, y), **more),
        lambda X, y, **more: libsvmx.cross_validate(X, y, 4, **more),
        lambda X, y, **more: libsvmx.cross_validate(X, y, 4, seeder="auto", **more),
        lambda X, y, **more: libsvmx.cross_validate(X, y, 4, probability=True, **more),
        libsvmx.leave_one_out,
        lambda X, y, **more: libsvmx.grid_search(X, y, (-1, 0, 1), None, 3, **more),
        lambda X, y, **more: libsvmx.fit_many(X, np.column_stack([y, y[::-1], 11 - y]), **more),
        lambda X, y, **more: libsvmx.permutation_test(X, y, n=3, cv=3, random_state=1, **more),
        lambda X, y, **more: libsvmx.c_path(X, y, 0.5, 2, **more),
        lambda X, y, **more: libsvmx.explain_training(X, y, **more),
    ],
)
@pytest.mark.parametrize("queue", [True, False])
def test_every_function_warns_once_of_a_weight_of_a_class_that_does_not_occur(call, queue):
    with pytest.warns(UserWarning, match=r"^a weight is given for class 9, which does not occur in the data$") as told:
        call(FORTY, LABELS, weights=WEIGHT_OF_NONE, policy=KernelPolicy(queue=queue))
    assert [Path(warning.filename).name for warning in told] == [Path(__file__).name]
    call(FORTY, LABELS, weights={7: 3.0})


def test_a_weight_of_a_class_of_one_column_is_no_cause_of_a_warning():
    libsvmx.fit_many(FORTY, np.column_stack([LABELS, LABELS + 5]), weights=WEIGHT_OF_NONE)


def test_an_estimator_warns_of_classes_of_few_rows_by_their_names():
    pytest.importorskip("sklearn")
    X = np.random.default_rng(0).normal(size=(24, 2))
    y = np.array(["few"] * 4 + ["many"] * 10 + ["most"] * 10)
    for weights, names in ((None, "few"), (np.r_[np.ones(4), np.zeros(6), np.ones(14)], "few, many")):
        with pytest.warns(
            UserWarning, match=f"^too few rows for reliable probability estimates of class {names}$"
        ) as told:
            libsvmx.SVC(probability=True).fit(X, y, sample_weight=weights)
        assert [Path(warning.filename).name for warning in told] == [Path(__file__).name]
    libsvmx.SVC(probability="cv").fit(X, y)
    libsvmx.SVC(probability=True).fit(X[4:], y[4:])

"""An infinite C, the hard margin: LIBSVM's steps and bytes if an optimum exists, and unsupported uses."""

import sys
from math import inf

import numpy as np
import pytest
from support import data, oracle
from support.recorder import Recorder

import libsvmx
from libsvmx import svmutil
from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._solvers.smo import hard_margin
from libsvmx._solvers.smo.solver import SMO
from libsvmx._train.folds import Rand
from libsvmx._train.gamma import default_gamma
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.problem import Problem
from libsvmx._train.training import cross_validate_problem, train_problem
from libsvmx.compat.options import svm_parameter
from libsvmx.enums import SolveStatus
from libsvmx.io.modelfile import model_text
from libsvmx.io.transcript import TrainingReport

pytestmark = pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")

HOMEWORK = data.from_rows([[(1, 0.0), (2, 0.0)], [(1, 1.0)], [(1, 3.0), (2, 1.0)], [(1, 4.0), (2, 4.0)]])


def separable(name):
    """(matrix, targets) that a linear function separates."""
    if name == "homework":
        return HOMEWORK, [1.0, 1.0, -1.0, -1.0]
    if name.startswith("iris"):
        matrix, targets = data.load("iris.scale")
        rows = [i for i, y in enumerate(targets) if str(int(y)) in name[5:]]
        return data.from_rows([matrix.row(i) for i in rows]), [targets[i] for i in rows]
    return data.load(name, 24)


def parameter(options):
    return svm_parameter(options).to_parameter()


KERNELS = ["-t 0", "-t 1 -g 0.5 -r 1", "-t 2 -g 1"]
MORE = ["", "-h 0", "-b 1", "-w1 3 -w2 0.1", "-e 1e-6"]


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["homework", "iris-12", "iris-13", "heart_scale", "ionosphere_scale.xz", "wine.scale"])
def test_libsvms_steps_and_bytes(tmp_path, name, kernel, more):
    matrix, targets = separable(name)
    options = f"-c inf {kernel} {more}"
    known = oracle.Oracle(matrix, targets, options).train()
    parts = []
    param = default_gamma(parameter(options), matrix.max_index)
    model = train_problem(Problem(matrix, filled("d", targets)), param, Rand(1), TrainingReport(parts.append))
    assert "".join(parts) == known.transcript
    assert model_text(model) == known.model_bytes(tmp_path)
    assert set(model.statuses) == {SolveStatus.CONVERGED}
    assert (list(libsvmx.predict(model, matrix)), libsvmx.decision_values(model, matrix).tolist()) == known.predict(
        matrix
    )


@pytest.mark.parametrize(
    "name, options",
    [
        ("heart_scale", "-c inf -t 2 -g 1"),
        ("heart_scale", "-c inf -t 2"),  # thousands of iterations, shrinking and unshrinking
        ("iris.scale", "-c inf -t 2 -g 5"),
        ("mpg", "-s 3 -c inf -t 2 -g 0.01"),
        ("heart_scale", f"-c {sys.float_info.max!r} -t 2 -g 1"),
        ("heart_scale", "-c 1e308 -w-1 100 -w1 2 -t 2 -g 1"),  # only the products are infinite
        ("heart_scale", "-c 1 -w-1 inf -t 2 -g 1"),  # of one class only
        ("heart_scale", "-s 1 -c inf -t 2 -n 0.2"),  # no C at all
        ("heart_scale", "-s 2 -c inf -t 2 -n 0.2"),
    ],
)
def test_larger_problems_and_infinite_products(tmp_path, name, options):
    matrix, targets = data.load(name)
    known = oracle.Oracle(matrix, targets, options).train()
    param = default_gamma(parameter(options), matrix.max_index)
    model = train_problem(Problem(matrix, filled("d", targets)), param, Rand(1), Observer())
    assert model_text(model) == known.model_bytes(tmp_path)


@pytest.mark.parametrize(
    "options, n_folds", [("-c inf -t 2 -g 1", 5), ("-c inf -t 2 -g 1", 40), ("-s 3 -c inf -g 1", 4)]
)
def test_cross_validation_has_libsvms_folds(options, n_folds):
    """Also with one fold per row, which leave-one-out from one training solves for a finite C."""
    matrix, targets = data.load("heart_scale", 40)
    known = oracle.Oracle(matrix, targets, options).cross_validate(n_folds)
    param = default_gamma(parameter(options), matrix.max_index)
    problem = Problem(matrix, filled("d", targets))
    assert list(cross_validate_problem(problem, param, n_folds, Rand(1), Observer())) == known
    found = libsvmx.cross_validate(matrix, np.array(targets), n_folds, param=param, seeder=None)
    assert list(found.predictions) == known


def test_commands(folder, tmp_path):
    heart = str(data.DATA / "heart_scale")
    matrix, targets = data.load("heart_scale")
    known = oracle.Oracle(matrix, targets, "-c inf -g 1").train()
    for text in ("inf", "INF", "+inf", "Infinity"):
        err, out = folder.accepts("svmx-train", "-c", text, "-g", "1", heart, "model")
        assert (err, out) == ("", known.transcript)
        assert folder.get("model") == known.model_bytes(tmp_path)
    folder.accepts("svmx-train", "-q", "-c", "inf", "-g", "1", "-v", "270", heart)  # no shortcut replaces the trainings


def test_libsvms_python_interface(tmp_path):
    matrix, targets = separable("iris-12")
    rows = [dict(matrix.row(i)) for i in range(matrix.n_rows)]
    param = svmutil.svm_parameter("-t 0 -q")
    param.C = inf
    model = svmutil.svm_train(svmutil.svm_problem(targets, rows), param)
    svmutil.svm_save_model(str(tmp_path / "ours"), model)
    known = oracle.Oracle(matrix, targets, "-t 0 -c inf").train()
    assert (tmp_path / "ours").read_bytes() == known.model_bytes(tmp_path)
    assert model_text(libsvmx.train(rows, targets, C=inf, kernel_type=0)) == known.model_bytes(tmp_path)


class Questioned(SMO):
    """Checks whether there is an optimum after three iterations, and may take at most ``late`` for it."""

    def __init__(self, late):
        super().__init__()
        vars(self).update(late=late)

    def solve(self, dual, *rest):
        return hard_margin.solve(dual, *rest, early=3, late=self.late)


@pytest.mark.parametrize("late", [1, 10**6], ids=["no answer", "answered"])
@pytest.mark.parametrize("options", ["-t 0", "-t 2 -g 1", "-t 1 -g 0.5 -r 1 -h 0"])
@pytest.mark.parametrize("name", ["iris-13", "heart_scale", "ionosphere_scale.xz"])
def test_the_question_changes_nothing_where_there_is_an_optimum(tmp_path, name, options, late):
    matrix, targets = separable(name)
    known = oracle.Oracle(matrix, targets, f"-c inf {options}").train()
    parts, param = [], default_gamma(parameter(f"-c inf {options}"), matrix.max_index)
    param = replace(param, solver=Questioned(late))
    model = train_problem(Problem(matrix, filled("d", targets)), param, Rand(1), TrainingReport(parts.append))
    assert "".join(parts) == known.transcript
    assert model_text(model) == known.model_bytes(tmp_path)
    assert model.reports[0].iterations > 3


INSEPARABLE = {
    "alternating": ([[1.0], [2.0], [3.0], [4.0]], [1, -1, 1, -1]),
    "equal rows": ([[1.0], [1.0], [2.0]], [1, -1, -1]),
    "nothing": ([[0.0], [0.0]], [1, -1]),
    "touching": ([[0.0], [1.0], [1.0], [2.0]], [1, 1, -1, -1]),
    "within": ([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [1.0, 1.0]], [1, 1, 1, -1]),
}


@pytest.mark.parametrize("cost", [inf, sys.float_info.max, 1e300])
@pytest.mark.parametrize("name", INSEPARABLE)
def test_a_check_ends_a_training_without_an_optimum_early(name, cost):
    X, y = INSEPARABLE[name]
    told = Recorder()
    model = libsvmx.train(X, y, C=cost, kernel_type=0, observer=told)
    assert model.statuses == (SolveStatus.UNBOUNDED,)
    assert told.reports[0].iterations == 100_000
    assert told.remarks == [Remark.UNBOUNDED]
    assert np.isfinite(model.rho).all() and np.isfinite(model.sv_coef).all()
    assert sum(np.ravel(model.sv_coef)) == pytest.approx(0, abs=1e-3 * abs(model.sv_coef).max())


def test_heart_scale_is_not_separable(folder):
    err, _ = folder.accepts("svmx-train", "-c", "inf", "-t", "0", str(data.DATA / "heart_scale"), "model")
    assert err.startswith("warning: C is infinite, or as good as that, but no function of this kernel separates")
    assert err.count("\n") == 1


@pytest.mark.parametrize("cost", ["1.8e308", "1e999", "1.7976931348623157e308"])
@pytest.mark.parametrize("more", [[], ["-v", "5"]], ids=["a model", "folds"])
def test_a_practically_infinite_number_ends_like_inf(folder, cost, more):
    heart = str(data.DATA / "heart_scale")
    err, out = folder.accepts("svmx-train", "-c", cost, "-t", "0", *more, heart, *([] if more else ["model"]))
    known = folder.accepts("svmx-train", "-c", "inf", "-t", "0", *more, heart, *([] if more else ["expected"]))
    assert (err, out) == known
    assert "separates the classes" in err
    if not more:
        assert folder.get("model") == folder.get("expected")


def test_interrupted_at_any_time(exhaustive):
    X, y = data.load("heart_scale")
    seen = set()
    for last in range(0, 40, 1 if exhaustive else 6):
        asked = iter(range(last))

        class Stopping(Observer):
            def should_stop(self):
                return next(asked, None) is None  # noqa: B023

        seen.add(libsvmx.train(X, y, C=inf, kernel_type=0, observer=Stopping()).statuses[0])
    assert seen <= {SolveStatus.INTERRUPTED, SolveStatus.UNBOUNDED} and SolveStatus.INTERRUPTED in seen


def test_inseparable_data_end_with_the_right_status(folder):
    X, y = [[1.0], [2.0], [3.0], [4.0]], [1, -1, 1, -1]
    told = Recorder()
    model = libsvmx.train(X, y, C=inf, kernel_type=0, max_iter=2000, observer=told)
    assert model.statuses == (SolveStatus.ITERATION_LIMIT,)
    assert np.isfinite(model.rho).all() and np.isfinite(model.sv_coef).all()
    folder.put("data", "1 1:1\n-1 1:2\n1 1:3\n-1 1:4\n")
    err, _ = folder.accepts("svmx-train", "-c", "inf", "-t", "0", "--max-iter", "2000", "data", "model")
    assert "the iteration limit was reached" in err
    assert "if no function of this kernel separates the classes, there is none; give a finite C" in err
    options = ["-s", "3", "-c", "inf", "-t", "0", "-p", "0.01"]
    err, _ = folder.accepts("svmx-train", *options, "--max-iter", "2000", "data", "model")
    assert "if no function of this kernel fits all targets to -p, there is none" in err


@pytest.mark.parametrize(
    "options, message",
    [
        ({"svm_type": 4}, "C must be finite for nu-SVR"),
        ({"solver": "chunked"}, "solver chunked needs a finite C"),
        ({"solver": "irwls", "svm_type": 3}, "solver irwls needs a finite C"),
        ({"solver": "crsvm", "kernel_type": 0}, "solver crsvm needs a finite C"),
        ({"solver": "chunked", "C": 1e308, "weights": {1: 100.0}}, "solver chunked needs a finite C"),
        ({"keep_state": True}, "C must be finite for a state"),
        ({"C": -inf}, "C must be finite"),
        ({"C": float("nan")}, "C must be finite"),
        ({"C": 1.0, "weights": {1: float("nan")}}, "the weight of class 1 must be >= 0"),
        ({"C": 1.0, "gamma": inf}, "gamma must be finite"),
    ],
)
def test_uses_that_refuse_an_infinite_cost(options, message):
    with pytest.raises(libsvmx.ParameterError, match=message):
        libsvmx.train(HOMEWORK, [1, 1, -1, -1], **{"C": inf, **options})


def test_seeding_and_states_refuse_it(folder):
    X, y = data.load("heart_scale", 40)
    for call in (
        lambda: libsvmx.cross_validate(X, y, 4, C=inf, gamma=1.0, seeder="sir"),
        lambda: libsvmx.leave_one_out(X, y, C=inf, gamma=1.0),
        lambda: libsvmx.State.from_model(X, y, libsvmx.train(X, y, C=inf, gamma=1.0)),
        lambda: libsvmx.State.from_model(X, y, libsvmx.train(X, y, gamma=1.0), C=inf),
    ):
        with pytest.raises(libsvmx.ParameterError, match="C must be finite for"):
            call()
    state = libsvmx.train(X, y, C=2, keep_state=True)
    before = state.model
    with pytest.raises(libsvmx.ParameterError, match="C must be finite for a state"):
        state.set_cost(inf)
    assert state.param.C == 2 and model_text(state.model) == model_text(before)
    heart = str(data.DATA / "heart_scale")
    for options in (["--loo"], ["-v", "3", "--seeder", "auto"], ["--solver", "chunked"], ["-s", "4"]):
        err, _ = folder.refuses("svmx-train", "-c", "inf", *options, heart, "model")
        assert "finite" in err
    folder.accepts("svmx-train", "-q", heart, "model")
    err, _ = folder.refuses("svmx-update", "-c", "inf", "--save-state", "state", heart, "model")
    assert "finite" in err
    grid = ["-c", "inf", "-log2c", "null", "-log2g", "0,0,1", "-v", "3", "-out", "null", "-png", "null"]
    err, _ = folder.refuses("svmx-grid", *grid, "--seeder", "sir", heart)
    assert "finite" in err


def test_a_grid_of_gamma_alone_has_libsvms_rates(folder):
    matrix, targets = data.load("heart_scale")
    known = oracle.Oracle(matrix, targets, "-c inf -g 1").cross_validate(3)
    rate = 100 * np.mean(np.array(known) == targets)
    grid = ["-log2c", "null", "-log2g", "0,0,1", "-v", "3", "-out", "null", "-png", "null"]
    _, out = folder.accepts("svmx-grid", "-c", "inf", *grid, str(data.DATA / "heart_scale"))
    assert out.endswith(f" {rate:g}\n")


def test_weights_of_rows_above_0_change_nothing_of_a_hard_margin():
    matrix, targets = separable("heart_scale")
    plain, weighted = Recorder(), Recorder()
    model = libsvmx.train(matrix, targets, C=inf, gamma=1.0, observer=plain)
    weights = 0.5 + np.arange(matrix.n_rows) % 3
    again = libsvmx.train(matrix, targets, C=inf, gamma=1.0, sample_weight=weights, observer=weighted)
    assert model_text(again) == model_text(model)
    assert weighted.reports == plain.reports
    assert plain.reports[0].quantity == "nu"


@pytest.mark.parametrize("limit", [0, 10**9])
def test_the_question_is_asked_under_any_limit_that_leaves_time_for_it(limit):
    X, y = INSEPARABLE["alternating"]
    assert libsvmx.train(X, y, C=inf, kernel_type=0, max_iter=limit).statuses == (SolveStatus.UNBOUNDED,)

"""The solvers that Parameter offers: one optimum, judged against LIBSVM's, and who is asked for it."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from support import data
from support.crossvalidation import SETS, posed, setting, table, unseeded, validated
from support.oracle import Oracle
from support.oracle import predict as libsvm_predicts
from support.recorder import Recorder

import libsvmx
from libsvmx._core.records import replace
from libsvmx._solvers.decomposition.settings import IRWLS, Chunked
from libsvmx._solvers.registry import solver_classes
from libsvmx._solvers.smo.settings import SMO
from libsvmx._train.folds import Rand
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter, changed
from libsvmx._train.training import train_problem
from libsvmx._train.validation import grid
from libsvmx._train.validation.grid_search import Plan, Search
from libsvmx._train.validation.leave_one_out import leave_one_out, replaces_n_folds
from libsvmx._train.validation.scheme import CHOICES, SCHEMES, Seeding
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import ParameterError
from libsvmx.io.modelfile import model_text

SOLVERS = ["chunked", "irwls"]
SEEDINGS = [(m, s) for m in CHOICES if m != "none" for s in SCHEMES if (m, s) != ("path", "chain")]
# Working sets much smaller than the sets: several rounds, rows that are put aside and come back.
SMALL = {"working_set": 24}
EPS = 1e-5
# Decision values of two optima to eps differ by some eps; nu-SVC divides them by r < 1.
NEAR = {SvmType.NU_SVC: 200}
USUALLY_NEAR = 100


def solved_by(problem, param, solver, **options):
    """(model, reports) of a training by another solver."""
    recorder = Recorder()
    model = train_problem(problem, changed(param, {"solver": solver, **options}), Rand(1), recorder)
    return model, recorder.reports


def near(param):
    return NEAR.get(param.svm_type, USUALLY_NEAR) * param.eps


# ---- what a Parameter takes ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "simplex"}, "unknown solver 'simplex': choose one of smo, chunked, irwls"),
        ({"solver": 1}, "unknown solver 1: choose one of"),
        ({"working_set": 1}, r"^working_set must be 0 or between 2 and 2\^20 - 1, not 1"),
        ({"working_set": -2}, "^working_set must be"),
        ({"working_set": 2**20}, "^working_set must be"),
        ({"working_set": 12.5}, "^working_set must be a whole number, not 12.5"),
        ({"working_set": "12"}, "^working_set must be a whole number, not '12'"),
        ({"working_set_rule": "guess"}, "^unknown working_set_rule 'guess': choose one of random, mixed, largest"),
        ({"keep_share": 1.0}, "^keep_share must be >= 0 and < 1, not 1.0"),
        ({"keep_share": -0.1}, "^keep_share must be >= 0 and < 1"),
        ({"keep_share": float("nan")}, "^keep_share must be finite"),
        ({"keep_share": "0.1"}, "^keep_share must be a number"),
        ({"random_state": -1}, r"^random_state must be between 0 and 2\^63 - 1, not -1"),
        ({"random_state": 2**63}, "^random_state must be between"),
        ({"random_state": 1.5}, "^random_state must be a whole number"),
        ({"precision": "half"}, "^unknown precision 'half': choose one of auto, float, double"),
    ],
)
@pytest.mark.parametrize("solver", ["chunked", "irwls"])
def test_what_is_refused(options, message, solver):
    with pytest.raises(ParameterError, match=message):
        changed(Parameter(), {"solver": solver, **options})


def test_settings_reach_the_solver_by_their_names():
    given = {
        "working_set": 64,
        "working_set_rule": "random",
        "keep_share": 0.5,
        "random_state": 9,
        "precision": "double",
    }
    assert changed(Parameter(), {"solver": "irwls", **given}).solver == IRWLS(64, "random", 0.5, 9, "double")
    assert Parameter(solver="chunked").solver == Chunked()


def test_solvers_are_part_of_a_parameter():
    assert Parameter(solver="chunked") != Parameter()
    assert Parameter(solver=Chunked(random_state=2)) != Parameter(solver="chunked")
    param = Parameter(solver=Chunked(**SMALL))
    assert pickle.loads(pickle.dumps(param)) == param


# ---- who is asked -------------------------------------------------------------------------------


def listening(solver, asked):
    """``solver``, which notes of each solve whether it is from nothing, and how many subproblems it took."""

    class Listening(type(solver)):
        def solve(self, dual, *rest):
            found = super().solve(dual, *rest)
            asked.append((dual.scores is None, found.subproblems))
            return found

    return Listening(**{known.name: getattr(solver, known.name) for known in solver.settings()})


@pytest.mark.parametrize(("solver", "seeder"), [(SMO(), "near"), (Chunked(**SMALL), "sir")], ids=["smo", "chunked"])
def test_who_is_asked(solver, seeder):
    """The solver of the parameter, with its settings: from nothing, of seeded folds from a start, and of a state."""
    matrix, y = data.load("heart_scale", 90)
    problem, param = posed(matrix, y, "-c 4", 1e-3)
    asked = []
    param = replace(param, solver=listening(solver, asked), threads=2)
    train_problem(problem, param, Rand(1), Observer())
    assert [nothing for nothing, _ in asked] == [True]
    asked.clear()
    validated(problem, param, 3, seeder, "star")
    assert [nothing for nothing, _ in asked] == [True, False, False, False]
    asked.clear()
    libsvmx.train(matrix, y, param, keep_state=True)
    assert [nothing for nothing, _ in asked] == [True]
    assert asked[0][1] > 10 if isinstance(solver, Chunked) else asked[0][1] == 0  # working sets of 24


def test_a_usual_training_loads_no_other_solver():
    path = data.DATA / "heart_scale"
    code = (
        "import sys, libsvmx\n"
        "from libsvmx.cli.train import main\n"
        f"main(['-q', {str(path)!r}, '/dev/null'])\n"
        "found = {m.rpartition('.')[2] for m in sys.modules if m.startswith('libsvmx._solvers.')}\n"
        "assert 'smo' in found, found\n"
        "sys.exit(bool(found & {'decomposition', 'interior_point', 'path', 'warm'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- one optimum --------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["mixed", "random", "largest"])
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_models_decide_as_libsvms(name, solver, rule):
    problem, param, _ = setting(name, EPS)
    theirs = Oracle(problem.matrix, problem.targets, f"{SETS[name][1]} -e {EPS}").train()
    labels, values = theirs.predict(problem.matrix)
    model, reports = solved_by(problem, param, solver, working_set_rule=rule, **SMALL)
    told = {"converged"}
    if solver == "irwls" and param.kernel_type == KernelType.PRECOMPUTED:
        # docs/solvers.md: here no path ends what least squares, as LAPACK rounds them, leave in a singular kernel
        told.add("rounding")
    for one in reports:
        assert one.status in told
        assert one.gap <= EPS * (1 + 1e-6) or one.status == "rounding"
    assert max(one.subproblems for one in reports) > 1
    found = libsvmx.decision_values(model, problem.matrix)
    if param.svm_type.is_regression:
        values = [[label] for label in labels]
    open_rho = max((one.gap for one in reports if one.status != "converged"), default=0.0)
    np.testing.assert_allclose(found, values, rtol=0, atol=near(param) + open_rho)
    if not param.svm_type.is_regression:
        turned = np.any((found > 0) != (np.array(values) > 0), axis=1)
        other = libsvmx.predict(model, problem.matrix) != labels
        assert not np.any(other & ~turned)
        if param.svm_type != SvmType.ONE_CLASS:  # whose free rows are all on the border
            assert turned.sum() <= 0.02 * len(turned)
    reference = Recorder()
    train_problem(problem, param, Rand(1), reference)
    for one, exact in zip(reports, reference.reports, strict=True):
        assert exact.subproblems == 0
        within = near(param) if one.status == "converged" else 1e-6
        assert abs(one.objective - exact.objective) <= within * (1 + abs(exact.objective))
        assert one.quantity == exact.quantity


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "options", [{"keep_share": 0.5}, {"shrinking": False}, {"precision": "float"}, {"working_set": 2}]
)
def test_whatever_the_options(solver, options):
    problem, param, _ = setting("heart", EPS)
    exact = Recorder()
    train_problem(problem, param, Rand(1), exact)
    _, reports = solved_by(problem, param, solver, **{**SMALL, **options})
    assert reports[0].status == "converged"
    assert reports[0].gap <= EPS * (1 + 1e-6)
    assert reports[0].objective == pytest.approx(exact.reports[0].objective, rel=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_seed_chooses_and_the_same_one_chooses_again(solver):
    problem, param, _ = setting("heart", 1e-3)
    texts = [
        model_text(solved_by(problem, param, solver, working_set_rule="random", random_state=seed, **SMALL)[0])
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]
    largest = [
        model_text(solved_by(problem, param, solver, working_set_rule="largest", random_state=seed, **SMALL)[0])
        for seed in (1, 2)
    ]
    assert largest[0] == largest[1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_models_can_be_read_by_libsvm_and_tell_nothing_of_the_solver(solver, tmp_path):
    from support.oracle import load

    matrix, y = data.load("glass.scale")
    model = libsvmx.train(matrix, y, C=32, gamma=0.3, solver=solver, **SMALL)
    path = tmp_path / "model"
    libsvmx.save_model(str(path), model)
    header = [line.split()[0] for line in path.read_text().partition("\nSV\n")[0].splitlines()]
    assert header == ["svm_type", "kernel_type", "gamma", "nr_class", "total_sv", "rho", "label", "nr_sv"]
    labels, values = libsvm_predicts(load(path), matrix)
    assert labels == list(libsvmx.predict(model, matrix))
    np.testing.assert_allclose(libsvmx.decision_values(model, matrix), values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("options", [{}, {"svm_type": 1, "nu": 0.413}, {"svm_type": 3, "p": 0.05}, {"svm_type": 2}])
def test_probability_estimates(solver, options):
    matrix, y = data.load("heart_scale")
    exact, other = (
        libsvmx.train(matrix, y, **options, eps=EPS, probability=True, **chosen)
        for chosen in ({}, {"solver": solver, **SMALL})
    )
    if options.get("svm_type") == 3:
        assert other.sigmoid_a[0] == pytest.approx(exact.sigmoid_a[0], rel=1e-2)
        return
    first, second = (libsvmx.predict_probability(model, matrix)[1] for model in (exact, other))
    # those of one-class are steps of 0.1
    np.testing.assert_allclose(second, first, rtol=0, atol=0.11 if options.get("svm_type") == 2 else 0.02)
    assert np.abs(second - first).mean() < 0.01


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("solver", SOLVERS)
def test_limits(solver):
    matrix, y = data.load("splice.xz")
    recorder = Recorder()
    model = libsvmx.train(matrix, y, C=100, solver=solver, working_set=64, max_iter=3, observer=recorder)
    assert model.statuses == ("iteration limit",)
    assert "iteration limit" in recorder.remarks
    recorder.should_stop = lambda: True
    assert libsvmx.train(matrix, y, C=100, solver=solver, working_set=64, observer=recorder).statuses != ("converged",)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_model_with_any_number_of_threads(solver):
    matrix, y = data.load("mushrooms.xz", 2700)
    assert matrix.n_rows >= 2000  # fewer rows are no work for helpers
    models = [
        libsvmx.train(matrix, y, C=10, gamma=0.01, solver=solver, working_set=200, threads=threads)
        for threads in (1, 2, 3)
    ]
    assert models[0].statuses == ("converged",)
    assert len({model_text(model) for model in models}) == 1


# ---- cross-validation, leave-one-out, grids -----------------------------------------------------


@pytest.mark.parametrize("name", ["heart", "iris", "mpg", "heart, one-class", "heart, nu-SVC", "abalone, nu-SVR"])
@pytest.mark.parametrize(("method", "scheme"), [("none", ""), *SEEDINGS])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_seeding_ends_where_libsvms_folds_do(name, method, scheme, solver):
    problem, param, n_folds = setting(name, EPS)
    plain = unseeded(name, EPS)
    other = changed(param, {"solver": solver, **SMALL})
    recorder = Recorder()
    found = validated(problem, other, n_folds, method, scheme, recorder)
    assert bytes(found.fold_of) == bytes(plain.fold_of)
    np.testing.assert_allclose(table(found), table(plain), rtol=0, atol=near(param))
    if not param.svm_type.is_regression:
        turned = np.any((table(found) > 0) != (table(plain) > 0), axis=1)
        assert not np.any((np.asarray(found.predicted) != np.asarray(plain.predicted)) & ~turned)
    assert all(report.status == "converged" and report.gap <= EPS * (1 + 1e-6) for report in found.solves)
    assert any(one.subproblems for one in recorder.reports)


@pytest.mark.parametrize("method", ["auto", "sir", "top", "path"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_leave_one_out(solver, method):
    matrix, y = data.load("heart_scale", 90)
    problem, param = posed(matrix, y, "-c 4 -g 0.08", EPS)
    other = changed(Parameter(C=4.0, gamma=param.gamma, eps=EPS), {"solver": solver, **SMALL})
    expected = leave_one_out(problem, param, Rand(1), Observer(), "sir")
    recorder = Recorder()
    found = leave_one_out(problem, other, Rand(1), recorder, method)
    np.testing.assert_allclose(table(found), table(expected), rtol=0, atol=near(param))
    assert recorder.reports[0].subproblems > 0
    if method in ("sir", "top"):
        assert all(one.subproblems > 0 or one.iterations == 0 for one in recorder.reports)


def test_only_along_libsvms_path_leave_one_out_replaces_n_folds():
    assert replaces_n_folds(Parameter())
    assert not replaces_n_folds(Parameter(solver="chunked"))
    assert not replaces_n_folds(Parameter(solver="irwls"))


@pytest.mark.parametrize("seed", ["auto", None, "sir"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_grid(solver, seed):
    matrix, y = data.load("heart_scale")
    axes = {"log2c": (-1, 3, 2), "log2g": (-3, -7, -2)}
    exact, found = (
        libsvmx.grid_search(matrix, y, **axes, seeder=seed, eps=EPS, **chosen)
        for chosen in ({}, {"solver": solver, **SMALL})
    )
    assert np.abs(found.rate - exact.rate).max() <= 100 * 1.5 / len(y)
    assert abs(found.best_rate - exact.best_rate) <= 100 * 1.5 / len(y)
    assert found.param.solver.name == solver
    assert list(found.iterations) != list(exact.iterations)
    again = libsvmx.grid_search(matrix, y, **axes, seeder=seed, eps=EPS, solver=solver, **SMALL)
    assert list(again.rate) == list(found.rate)
    assert list(again.iterations) == list(found.iterations)


def test_points_are_computed_again_along_libsvms_path_only():
    matrix, y = data.load("heart_scale", 90)
    problem, _ = posed(matrix, y, "-g 0.1", 1e-2)
    axes = grid.Grid((0.0, 1.0), None)
    counts = []
    for solver in ("smo", "chunked"):
        plan = Plan(Parameter(gamma=0.1, eps=1e-2, solver=solver), axes, 3, Seeding("auto"))
        search = Search(plan, problem)
        points = [outcome.point for outcome in search]
        counts.append(sum(search.found[point.key] is not point for point in points))
    assert counts[0] > 0 == counts[1]


# ---- states -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("options", [{"C": 4.0}, {"svm_type": 3, "C": 2.0}, {"svm_type": 2, "nu": 0.313}])
def test_states_are_exact_whatever_the_solver(solver, options, tmp_path):
    matrix, y = data.load("heart_scale")
    exact, state = (
        libsvmx.train(matrix, y, **options, gamma=0.1, **chosen, keep_state=True)
        for chosen in ({}, {"solver": solver, **SMALL})
    )
    assert abs(state.gap) < 1e-9
    np.testing.assert_allclose(state.decision_values(matrix), exact.decision_values(matrix), rtol=0, atol=1e-8)
    path = str(tmp_path / "state")
    state.save(path)
    assert libsvmx.State.load(path).param == state.param
    assert state.param.solver.name == solver


def test_state_files_tell_of_the_solver_and_its_settings_alone(tmp_path):
    matrix, y = data.load("heart_scale", 90)
    path = tmp_path / "state"
    libsvmx.train(matrix, y, keep_state=True).save(str(path))
    others = {known.name for solver in solver_classes() for known in solver.settings()}
    assert not any(f'"{name}"'.encode() in path.read_bytes() for name in others)
    assert libsvmx.State.load(str(path)).param.solver == SMO()
    libsvmx.train(matrix, y, keep_state=True, solver="chunked", working_set=40).save(str(path))
    text = path.read_bytes()
    assert b'"solver": "chunked"' in text and b'"working_set": 40' in text and b"reduction" not in text

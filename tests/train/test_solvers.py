"""The solvers that Parameter offers: one optimum, compared with LIBSVM's, and which solver each call uses."""

import pickle
import subprocess
import sys

import pytest
from support import data
from support.policies import IN_TURN

import libsvmx
from libsvmx import IRWLS, SMO, Chunked, Parameter
from libsvmx._solvers.registry import solver_classes
from libsvmx._train.parameter import changed
from libsvmx._train.problem import Problem
from libsvmx._train.validation import grid
from libsvmx._train.validation.grid_search import Plan, Search
from libsvmx._train.validation.leave_one_out import replaces_n_folds
from libsvmx._train.validation.scheme import Seeding
from libsvmx.io.modelfile import model_text

SOLVERS = ["chunked", "irwls"]
# Working sets much smaller than the data: several rounds, with rows shrunk and restored.
SMALL = {"working_set": 24}
EPS = 1e-5


def heart(**options):
    """A model of heart_scale."""
    return libsvmx.train(*data.load("heart_scale"), C=4, **options)


# ---- values that a Parameter accepts ------------------------------------------------------------


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


# ---- the solver used ----------------------------------------------------------------------------


def listening(solver, asked):
    """``solver``, which records for each solve whether it is a cold start, and its number of subproblems."""

    class Listening(type(solver)):
        def solve(self, dual, *rest):
            found = super().solve(dual, *rest)
            asked.append((dual.scores is None, found.subproblems))
            return found

    return Listening(**{known.name: getattr(solver, known.name) for known in solver.settings()})


@pytest.mark.parametrize(("solver", "seeder"), [(SMO(), "near"), (Chunked(**SMALL), "sir")], ids=["smo", "chunked"])
def test_who_is_asked(solver, seeder):
    """The parameter's solver, with its settings: for a cold start, for seeded folds from a start, and for a state."""
    matrix, y = data.load("heart_scale", 90)
    asked = []
    param = Parameter(C=4, solver=listening(solver, asked), threads=2, policy=IN_TURN)
    libsvmx.train(matrix, y, param)
    assert [nothing for nothing, _ in asked] == [True]
    asked.clear()
    libsvmx.cross_validate(matrix, y, 3, param, seeder=seeder, scheme="star")
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


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "options",
    [
        {"keep_share": 0.5},
        {"shrinking": False},
        {"precision": "float"},
        {"working_set": 2},
        {"working_set_rule": "mixed"},
        {"working_set_rule": "largest"},
    ],
)
def test_whatever_the_options(solver, options):
    (exact,) = heart(eps=EPS).reports
    (report,) = heart(eps=EPS, solver=solver, **{**SMALL, **options}).reports
    assert report.status == "converged"
    assert report.gap <= EPS * (1 + 1e-6)
    assert report.objective == pytest.approx(exact.objective, rel=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_seed_chooses_and_the_same_one_chooses_again(solver):
    texts = [model_text(heart(solver=solver, random_state=seed, **SMALL)) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    largest = [
        model_text(heart(solver=solver, working_set_rule="largest", random_state=seed, **SMALL)) for seed in (1, 2)
    ]
    assert largest[0] == largest[1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_model_with_any_number_of_threads(solver):
    matrix, y = data.load("mushrooms.xz", 2700)
    assert matrix.n_rows >= 2000  # fewer rows are not worth helper threads
    models = [
        libsvmx.train(matrix, y, C=10, gamma=0.01, solver=solver, working_set=200, threads=threads)
        for threads in (1, 2, 3)
    ]
    assert models[0].statuses == ("converged",)
    assert len({model_text(model) for model in models}) == 1


# ---- cross-validation, leave-one-out, grids -----------------------------------------------------


def test_only_along_libsvms_path_leave_one_out_replaces_n_folds():
    assert replaces_n_folds(Parameter())
    assert not replaces_n_folds(Parameter(solver="chunked"))
    assert not replaces_n_folds(Parameter(solver="irwls"))


def test_points_are_computed_again_along_libsvms_path_only():
    matrix, y = data.load("heart_scale", 90)
    problem = Problem(matrix, data.filled("d", y))
    axes = grid.Grid((0.0, 1.0), None)
    counts = []
    for solver in ("smo", "chunked"):
        plan = Plan(Parameter(gamma=0.1, eps=1e-2, solver=solver), axes, 3, Seeding("auto"))
        search = Search(plan, problem)
        points = [outcome.point for outcome in search]
        counts.append(sum(search.found[point.key] is not point for point in points))
    assert counts[0] > 0 == counts[1]


# ---- states -------------------------------------------------------------------------------------


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

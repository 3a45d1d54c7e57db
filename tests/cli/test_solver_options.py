"""--solver and its options with every command that trains: output and refusals."""

import numpy as np
import pytest
from support import data
from support.commands import process

from libsvmx._solvers.registry import solver_classes
from libsvmx.cli import grid, train, update
from libsvmx.cli.solveroptions import option_settings
from libsvmx.io.modelfile import load_model
from libsvmx.io.statefile import load_state

HEART = str(data.DATA / "heart_scale")
IRIS = str(data.DATA / "iris.scale")
GLASS = str(data.DATA / "glass.scale")
MPG = str(data.DATA / "mpg")
CHUNKED = ["--solver", "chunked", "--working-set", "24"]
SOLVERS = [CHUNKED, ["--solver", "irwls", "--working-set", "24"]]
AXES = ["-log2c", "-1,3,2", "-log2g", "-3,-5,-2", "-png", "null"]


def general(text):
    """The numbers in LIBSVM's lines: {'obj': …, 'rho': …, …}"""
    found = {}
    for part in text.replace("\n", ", ").split(", "):
        name, _, value = part.partition(" = ")
        if value:
            found[name] = float(value)
    return found


def lines(transcript):
    """The output without numbers and progress dots."""
    kept = [line for line in transcript.splitlines() if " = " in line]
    return [", ".join(part.partition(" = ")[0] for part in line.split(", ")) for line in kept]


# ---- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--solver", "simplex"], "unknown solver 'simplex': choose one of smo, chunked, irwls, crsvm"),
        ([*CHUNKED, "--working-set-rule", "guess"], "unknown working_set_rule 'guess': choose one of random, mixed"),
        (["--solver", "chunked", "--working-set", "many"], "option --working-set needs a number, not 'many'"),
        (["--solver", "chunked", "--working-set", "2.5"], "option --working-set needs a whole number, not '2.5'"),
        ([*CHUNKED, "--keep-share", "nan"], "option --keep-share needs a finite number, not 'nan'"),
        (["--working-set", "64"], "option --working-set needs --solver chunked or irwls"),
        (["--solver", "smo", "--keep-share", "0"], "option --keep-share needs --solver chunked or irwls"),
        (["--working-set-rule", "mixed"], "option --working-set-rule needs --solver chunked or irwls"),
        (["--random-state=1"], "option --random-state needs --solver chunked, irwls or crsvm"),
        (["--precision", "auto"], "option --precision needs --solver chunked or irwls"),
    ],
)
@pytest.mark.parametrize("command", ["svmx-train", "svmx-grid", "svmx-update"])
def test_refusals(command, options, message, folder):
    folder.put("model", folder.KEPT)
    files = {"svmx-train": [HEART, "model"], "svmx-grid": [HEART], "svmx-update": ["--window", "9", HEART, "model"]}
    err, _ = folder.refuses(command, *options, *files[command])
    assert err.startswith(f"{command}: error: {message}")


def test_the_last_of_equal_options_counts(folder):
    folder.accepts("svmx-train", "-q", "--solver", "simplex", "--solver=smo", HEART, "last")
    folder.accepts("svmx-train", "-q", HEART, "usual")
    assert folder.get("last") == folder.get("usual")


@pytest.mark.parametrize("module", [train, update])
def test_usage_names_them(module):
    assert "--solver NAME" in module.USAGE
    if module is train:
        assert all(f"{option} " in module.USAGE for option in option_settings(solver_classes()))
    assert "svmx-train options" in grid.USAGE


# ---- svmx-train ---------------------------------------------------------------------------------


# LIBSVM's options, and the set.
TRAININGS = {
    "weights": ("-c 4 -w1 3 -w-1 0.5", HEART),
    "classes": ("-c 8 -g 0.5", GLASS),
    "nu-svc": ("-s 1 -n 0.413", HEART),
    "one-class": ("-s 2 -n 0.313", HEART),
    "epsilon-svr": ("-s 3 -c 10 -g 0.001 -p 0.5", MPG),
    "a class of weight 0": ("-w2 0", IRIS),
}


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_what_is_printed_is_libsvms_but_for_numbers(name, solver, folder):
    """The models equal those of the functions: tests/behaviour/test_commands.py."""
    options, path = TRAININGS[name]
    command = ["svmx-train", *options.split(), "-e", "1e-5"]
    remarks, exact = folder.accepts(*command, path, "exact")
    other_remarks, other = folder.accepts(*command, *solver, path, "other")
    assert other_remarks == remarks
    assert lines(other) == lines(exact)
    first, second = general(exact), general(other)
    assert second["obj"] == pytest.approx(first["obj"], rel=1e-5)
    assert second["rho"] == pytest.approx(first["rho"], abs=1e-3)
    assert second["#iter"] > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_command_writes_the_same_model(solver, folder):
    for model, options in (("a", []), ("b", ["--threads", "2"]), ("c", ["--random-state", "7"])):
        done = process("svmx-train", "-c", "8", *solver, *options, HEART, model, cwd=folder.path)
        assert done.returncode == 0, done.stderr
    assert folder.get("a") == folder.get("b") != folder.get("c")


def test_limits_end_it(folder):
    err, _ = folder.accepts("svmx-train", "-q", "-c", "100", *CHUNKED, "--max-iter", "5", HEART, "model")
    assert "iteration" in err
    assert load_model("model").n_sv > 0


# ---- validation ---------------------------------------------------------------------------------


def test_as_many_folds_as_rows_are_as_many_trainings(folder):
    """Only on LIBSVM's path may leave-one-out replace them."""
    matrix, y = data.load("heart_scale", 45)
    rows = (f"{y[i]:g} " + " ".join(f"{j}:{v:g}" for j, v in matrix.row(i)) for i in range(len(y)))
    folder.put("few", "\n".join(rows) + "\n")
    _, exact = folder.accepts("svmx-train", "-v", "45", "few")
    _, other = folder.accepts("svmx-train", "-v", "45", *CHUNKED, "few")
    assert exact.count("optimization finished") < 45 == other.count("optimization finished")


# ---- svmx-grid, svmx-easy, svmx-update ----------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_grid(solver, folder):
    _, exact = folder.accepts("svmx-grid", *AXES, "-e", "1e-5", "-out", "null", HEART)
    _, out = folder.accepts("svmx-grid", *AXES, "-e", "1e-5", "-out", "results", *solver, HEART)
    points = [
        {tuple(line.split()[1:3]): float(line.split()[3]) for line in text.splitlines()[:-1]} for text in (exact, out)
    ]
    assert points[0].keys() == points[1].keys()
    for key, rate in points[0].items():
        assert points[1][key] == pytest.approx(rate, abs=100 * 1.5 / 270)
    before = folder.get("results")
    _, again = folder.accepts("svmx-grid", *AXES, "-e", "1e-5", "-out", "results", "-resume", "results", *solver, HEART)
    assert again.count("[resumed]") == len(points[1])
    assert folder.get("results") == before


def test_points_of_another_solver_are_not_taken_over(folder):
    axes = [*AXES, "--seeder", "sir"]  # the solver determines which seeder auto uses
    folder.accepts("svmx-grid", *axes, "-out", "usual", HEART)
    assert b'"solver": "smo"' in folder.get("usual") and b"working_set" not in folder.get("usual")
    err, _ = folder.refuses("svmx-grid", *axes, "-out", "usual", "-resume", "usual", "--solver", "chunked", HEART)
    assert "the points were computed with other options: solver was smo, now chunked" in err
    folder.accepts("svmx-grid", *axes, "-out", "other", *CHUNKED, HEART)
    err, _ = folder.refuses("svmx-grid", *axes, "-out", "other", "-resume", "other", HEART)
    assert "solver was chunked, now smo" in err
    err, _ = folder.refuses("svmx-grid", *axes, "-out", "other", "-resume", "other", "--solver", "chunked", HEART)
    assert "working_set was 24, now 0" in err
    folder.accepts("svmx-grid", *axes, "-out", "usual", "-resume", "usual", "--solver", "smo", HEART)


def test_workers_take_it_too(folder):
    pytest.importorskip("joblib")
    _, alone = folder.accepts("svmx-grid", *AXES, "-out", "null", *CHUNKED, "--csv", "alone", IRIS)
    folder.accepts("svmx-grid", *AXES, "-out", "null", *CHUNKED, "--csv", "both", "--workers", "2", IRIS)
    tables = [[line.split(b",") for line in folder.get(name).splitlines()] for name in ("alone", "both")]
    seconds = tables[0][0].index(b"seconds")
    for table in tables:
        for row in table:
            del row[seconds]
    assert sorted(tables[0]) == sorted(tables[1])
    assert alone


def test_easy(folder, few_points, no_pictures):
    folder.put("train", (data.DATA / "iris.scale").read_bytes())
    _, out = folder.accepts("svmx-easy", "--solver", "chunked", "--working-set", "30", "train", "train")
    assert "Accuracy = 9" in out or "Accuracy = 100%" in out
    assert b'"solver": "chunked"' in folder.get("train.scale.out")


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_window_ends_at_the_same_optimum(solver, folder):
    models = []
    for options in ([], solver):
        folder.accepts(
            "svmx-update", "-c", "4", "-g", "0.1", "--window", "200", "--step", "35", *options, HEART, "model"
        )
        models.append(load_model("model"))
    assert models[1].row_numbers == models[0].row_numbers
    assert models[1].n_sv == models[0].n_sv
    np.testing.assert_allclose(models[1].sv_coef, models[0].sv_coef, rtol=0, atol=1e-8)


def test_with_a_state_it_can_be_chosen_anew(folder):
    from libsvmx import State

    folder.accepts("svmx-train", "-q", "-c", "4", "-g", "0.1", HEART, "model")
    folder.accepts("svmx-update", "-c", "4", *CHUNKED, "--save-state", "state", HEART, "model")
    assert load_state("state", State).param.solver.working_set == 24
    folder.accepts("svmx-update", "--state", "state", "--solver", "smo", "--remove", "1-3", "--save-state", "other")
    assert load_state("other", State).param.solver.name == "smo"

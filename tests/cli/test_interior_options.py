"""--solver crsvm and its options with every command that trains: output, predictions, refusals."""

import re

import numpy as np
import pytest
from support import data
from support.commands import process
from support.crsvm_command import AXES, CRSVM, GLASS, HEADER, HEART, IRIS, LINEAR, RBF, lines, numbers
from support.oracle import load as load_in_libsvm
from support.oracle import predict as predict_by_libsvm

from libsvmx import decision_values
from libsvmx._solvers.interior_point.solver import CRSVM as CRSVM_SETTINGS
from libsvmx.cli import train
from libsvmx.cli.solveroptions import option_settings
from libsvmx.io.modelfile import load_model
from libsvmx.io.svmlight import read_data

# ---- options ------------------------------------------------------------------------------------

REFUSED = [
    ([*LINEAR, "--reduction", "some"], "unknown reduction 'some': choose one of adaptive, fixed, none"),
    ([*LINEAR, "--most-rows", "many"], "option --most-rows needs a number, not 'many'"),
    ([*LINEAR, "--most-rows", "1.5"], "option --most-rows needs a whole number, not '1.5'"),
    ([*LINEAR, "--tolerance", "inf"], "option --tolerance needs a finite number, not 'inf'"),
    ([*LINEAR, "--unbalanced=1"], "option --unbalanced takes no value"),
    ([*CRSVM, "--low-rank", "eigen"], "a low-rank factor needs a rank, or the error"),
    ([*LINEAR, "--predict-with", "factor"], "predict_with 'factor' needs a low-rank factor"),
    ([*LINEAR, "-s", "1"], "solver crsvm solves C_SVC, EPSILON_SVR and QUANTILE_SVR, not NU_SVC"),
    ([*LINEAR, "-s", "4"], "solver crsvm solves C_SVC, EPSILON_SVR and QUANTILE_SVR, not NU_SVR"),
    (CRSVM, "solver crsvm needs explicit features: -t 0, or -t 1 with -d 2 and -r of 0 or more, or"),
    ([*CRSVM, "-t", "1"], "solver crsvm needs explicit features"),
    ([*CRSVM, "-t", "1", "-d", "2", "-r", "-1"], "solver crsvm needs explicit features"),
    ([*CRSVM, "-t", "4"], "solver crsvm needs explicit features"),
    ([*LINEAR, "--working-set", "64"], "option --working-set needs --solver chunked or irwls"),
    ([*LINEAR, "--precision", "auto"], "option --precision needs --solver chunked or irwls"),
    (["--reduction", "none"], "option --reduction needs --solver crsvm"),
    (["--solver", "chunked", "--reduction-rule", "omega"], "option --reduction-rule needs --solver crsvm"),
    (["--unbalanced"], "option --unbalanced needs --solver crsvm"),
    (["--solver", "irwls", "--most-rows", "9"], "option --most-rows needs --solver crsvm"),
    (["--tolerance=1e-6"], "option --tolerance needs --solver crsvm"),
    (["--low-rank", "cholesky"], "option --low-rank needs --solver crsvm"),
    (["--rank", "9"], "option --rank needs --solver crsvm"),
    (["--rank-error", "0.1"], "option --rank-error needs --solver crsvm"),
    (["--predict-with", "kernel"], "option --predict-with needs --solver crsvm"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
@pytest.mark.parametrize("command", ["svmx-train", "svmx-grid"])
def test_refusals(command, options, message, folder):
    """Before any data are read."""
    folder.put("model", folder.KEPT)
    more = ["no such data", "model"] if command == "svmx-train" else [*AXES, "no such data"]
    if command == "svmx-grid" and "-r" in options:
        options = ["-g", "1", *options]
    err, _ = folder.refuses(command, *options, *more)
    assert err.startswith(f"{command}: error: ") and message in err


def test_easy_refuses_before_it_writes(folder):
    folder.put("train", (data.DATA / "iris.scale").read_bytes())
    err, out = folder.refuses("svmx-easy", *CRSVM, "train")
    assert "solver crsvm needs explicit features" in err
    assert "Scaling" not in out
    err, _ = folder.refuses("svmx-easy", "--rank", "9", "train")
    assert "option --rank needs --solver crsvm" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--loo"], "solver crsvm cannot start from what is known, as seeding and leave-one-out do"),
        (["-v", "5", "--seeder", "auto"], "solver crsvm cannot start from what is known, as seeding"),
        (["-v", "5", "--seeder", "sir"], "solver crsvm cannot start from what is known, as seeding"),
        (["-v", "5", "--seeder-scheme", "star"], "solver crsvm cannot start from what is known, as seeding"),
    ],
)
def test_nothing_can_be_seeded(options, message, folder):
    err, _ = folder.refuses("svmx-train", *LINEAR, *options, "no such data")
    assert err.startswith(f"svmx-train: error: {message}")


def test_seeding_with_none_is_no_seeding(folder):
    _, plain = folder.accepts("svmx-train", "-q", *LINEAR, "-v", "5", HEART)
    _, none = folder.accepts("svmx-train", "-q", *LINEAR, "-v", "5", "--seeder", "none", HEART)
    assert none == plain


def test_no_state_is_kept(folder):
    folder.accepts("svmx-train", "-q", "-t", "0", HEART, "model")
    err, _ = folder.refuses("svmx-update", *LINEAR, "--remove", "1", HEART, "model")
    assert "a state is kept of the kernel's own optimum: choose another solver than crsvm" in err
    err, _ = folder.refuses("svmx-update", "-t", "0", "--rank", "9", "--remove", "1", HEART, "model")
    assert "unknown option --rank" in err
    folder.accepts("svmx-update", "-t", "0", "--remove", "1", "--save-state", "state", HEART, "model")
    err, _ = folder.refuses("svmx-update", "--state", "state", *CRSVM, "new")
    assert "choose another solver than crsvm" in err


def test_usage_names_them():
    named = option_settings([CRSVM_SETTINGS])
    assert all(re.search(rf"^  {option} ", train.USAGE, re.M) for option in named)


# ---- svmx-train ---------------------------------------------------------------------------------


def test_the_log(folder):
    _, out = folder.accepts("svmx-train", *LINEAR, "--most-rows", "269", HEART, "model")  # otherwise all are taken
    assert out.startswith(HEADER + "\n")
    (solve,) = lines(out)
    assert [line[0] for line in solve] == list(range(len(solve)))
    assert numbers(out)["#iter"] == len(solve) - 1 <= 25
    first, last = solve[0], solve[-1]
    assert first[5:] == (0, 0)
    assert all(0 < line[5] <= 270 and 0 < line[6] <= 1 for line in solve[1:])
    assert last[5] < 100  # fewer rows in later iterations
    assert max(last[2:5]) <= 1e-8 < max(first[2:5])
    assert set(out.splitlines()) - {HEADER} > {"", f"Total nSV = {load_model('model').n_sv}"}
    _, out = folder.accepts("svmx-train", *LINEAR, "--tolerance", "1e-3", HEART, "model")
    assert len(lines(out)[0]) < len(solve)


def test_a_log_for_each_pair_and_fold(folder):
    _, out = folder.accepts("svmx-train", *LINEAR, IRIS, "model")
    assert [solve[0][0] for solve in lines(out)] == [0, 0, 0]
    assert out.count("optimization finished") == 3
    _, out = folder.accepts("svmx-train", *LINEAR, "-v", "5", HEART)
    assert len(lines(out)) == 5
    _, out = folder.accepts("svmx-train", *RBF, "-v", "5", HEART)
    assert len(lines(out)) == 5
    assert out.count("low-rank kernel: rank = 20") == 1  # over the rows of all folds


def test_quiet_is_quiet(folder):
    for options in (LINEAR, RBF):
        assert folder.accepts("svmx-train", "-q", *options, HEART, "model") == ("", "")


# ---- low rank -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["cholesky", "rpcholesky", "nystrom", "eigen"])
def test_low_rank_kernels(method, folder):
    _, out = folder.accepts("svmx-train", *CRSVM, "--low-rank", method, "--rank", "60", "-g", "0.1", HEART, "model")
    first = out.splitlines()[0]
    found = re.fullmatch(r"low-rank kernel: rank = 60, relative trace error = (\S+)", first)
    assert found and 0 < float(found[1]) < 0.2
    folder.accepts("svmx-train", "-q", "-g", "0.1", HEART, "exact")
    labels = []
    for name in ("model", "exact"):
        folder.accepts("svmx-predict", "-q", HEART, name, "out")
        labels.append(folder.get("out").split())
    assert np.mean(np.array(labels[0]) == np.array(labels[1])) > 0.9


def test_rank_alone_is_cholesky(folder):
    folder.accepts("svmx-train", "-q", *CRSVM, "--low-rank", "cholesky", "--rank", "30", HEART, "said")
    folder.accepts("svmx-train", "-q", *CRSVM, "--rank", "30", HEART, "unsaid")
    assert folder.get("unsaid") == folder.get("said")
    _, out = folder.accepts("svmx-train", *CRSVM, "--rank-error", "0.05", HEART, "model")
    found = re.match(r"low-rank kernel: rank = (\d+), relative trace error = (\S+)\n", out)
    assert int(found[1]) < 270
    assert float(found[2]) <= 0.05


@pytest.mark.parametrize("path", [HEART, IRIS, GLASS])
@pytest.mark.parametrize("kernel", ["-t 0", "-t 1 -d 3 -g 0.2 -r 1", "-g 0.1"])
@pytest.mark.parametrize("method", ["cholesky", "nystrom"])
def test_a_model_on_pivots_is_libsvms(path, kernel, method, folder):
    """Saved, loaded and predicted by svmx-predict and by LIBSVM."""
    options = [*kernel.split(), *CRSVM, "--low-rank", method, "--rank", "7", "--predict-with", "factor"]
    folder.accepts("svmx-train", "-q", *options, path, "model")
    model, rows = load_model("model"), read_data(path).matrix
    n_pivots = model.class_sv[0]
    assert n_pivots <= 7
    assert model.class_sv == (*(n_pivots,) * (model.nr_class - 1), 0)
    labels, values = predict_by_libsvm(load_in_libsvm("model"), rows)
    np.testing.assert_array_equal(decision_values(model, rows), values)
    folder.accepts("svmx-predict", "-q", path, "model", "out")
    assert [float(word) for word in folder.get("out").split()] == labels
    # training used the factor: a linear kernel of its features gives the same functions
    folder.accepts("svmx-train", "-q", *options[:-1], "kernel", path, "other")
    if model.param.kernel_type.name == "LINEAR" and rows.max_index <= 7:  # the factor is exact
        np.testing.assert_allclose(values, decision_values(load_model("other"), rows), rtol=0, atol=1e-8)


def test_a_precomputed_kernel(folder):
    matrix, y = data.load("ionosphere_scale.xz", 117)
    table = data.precomputed(matrix)
    rows = (f"{label:g} " + " ".join(f"{j}:{v:.17g}" for j, v in table.row(i)) for i, label in enumerate(y))
    folder.put("kernel", "\n".join(rows) + "\n")
    options = [*CRSVM, "-t", "4", "--rank", "20"]
    for what in ("kernel", "factor"):
        folder.accepts("svmx-train", "-q", *options, "--predict-with", what, "kernel", "model")
        assert folder.get("model").partition(b"SV\n")[2].count(b":") == load_model("model").n_sv  # serial numbers alone
        _, out = folder.accepts("svmx-predict", "kernel", "model", "out")
        assert float(re.search(r"Accuracy = ([0-9.]+)%", out)[1]) > 85


def test_an_indefinite_kernel(folder):
    err, _ = folder.refuses("svmx-train", *CRSVM, "-t", "3", "-r", "-1", "--rank", "40", HEART, "model")
    assert re.match(rf"svmx-train: error: {re.escape(HEART)}:\d+: the kernel matrix is not positive semidefinite", err)
    folder.accepts(
        "svmx-train", "-q", *CRSVM, "-t", "3", "-r", "-1", "--rank", "40", "--low-rank", "eigen", HEART, "model"
    )


# ---- svmx-grid, svmx-easy -----------------------------------------------------------------------


def test_a_grid(folder):
    rates = []
    for options in ([], CRSVM):
        _, out = folder.accepts("svmx-grid", "-t", "0", *AXES, "-e", "1e-5", "-out", "results", *options, HEART)
        rates.append([float(line.split()[2]) for line in out.splitlines() if line.startswith("[local]")])
    assert len(rates[0]) == 3
    assert sorted(rates[1]) == pytest.approx(sorted(rates[0]), abs=100 * 1.5 / 270)
    assert b'"seeder": "none"' in folder.get("results")
    assert b'"solver": "crsvm"' in folder.get("results")
    assert b"working_set" not in folder.get("results")
    resume = ["-out", "results", "-resume", "results"]
    _, again = folder.accepts("svmx-grid", "-t", "0", *AXES, "-e", "1e-5", *resume, *CRSVM, HEART)
    assert again.count("[resumed]") == 3
    err, _ = folder.refuses("svmx-grid", "-t", "0", *AXES, "-e", "1e-5", *resume, *CRSVM, "--unbalanced", HEART)
    assert "balanced was True, now False" in err
    err, _ = folder.refuses("svmx-grid", "-t", "0", *AXES, *CRSVM, "--seeder", "sir", HEART)
    assert "solver crsvm cannot start from what is known" in err


def test_a_grid_of_gamma_factorizes_anew(folder):
    axes = ["-log2c", "0,0,1", "-log2g", "-3,-5,-2", "-out", "null", "-png", "null"]
    _, out = folder.accepts("svmx-grid", *axes, *CRSVM, "--rank", "50", HEART)
    rates = [float(line.split()[3]) for line in out.splitlines() if line.startswith("[local]")]
    assert len(rates) == 2
    assert min(rates) > 75


def test_easy(folder, few_points, no_pictures):
    folder.put("train", b"".join((data.DATA / "iris.scale").read_bytes().splitlines(keepends=True)[:100:4]))
    _, out = folder.accepts("svmx-easy", *CRSVM, "--rank", "20", "--unbalanced", "train", "train")
    assert "Accuracy = 9" in out or "Accuracy = 100%" in out
    assert b'"solver": "crsvm"' in folder.get("train.scale.out")
    assert b'"balanced": false' in folder.get("train.scale.out")


@pytest.mark.parametrize("command", ["svmx-grid", "svmx-easy"])
def test_leave_one_out_is_for_svmx_train(command, folder):
    folder.put("train", (data.DATA / "iris.scale").read_bytes())
    err, _ = folder.refuses(command, "--loo", "train")
    assert "unknown option --loo" in err


def test_other_solvers_start_without_numpy(folder):
    code = "import sys; assert 'numpy' not in sys.modules and 'scipy' not in sys.modules"
    done = process("svmx-train", "--help", before=code)
    assert (done.returncode, done.stderr) == (0, b"")

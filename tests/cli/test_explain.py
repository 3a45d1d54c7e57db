"""svmx-train --explain and libsvmx.explain_training: the planned training and warnings, without training."""

import json
import os
import subprocess

import numpy as np
import pytest
from support import data
from support.commands import endless, process

import libsvmx

HEART = str(data.DATA / "heart_scale")
IRIS = str(data.DATA / "iris.scale")
MPG = str(data.DATA / "mpg")


def kinds(plan):
    return [advice.kind for advice in plan.warnings]


def table(text):
    """Names and their descriptions; for a name that occurs twice, both."""
    found, last = {}, ""
    for line in text.splitlines():
        name, said = line[:10].strip(), line[10:]
        if name:
            found.setdefault(name, []).append(said)
        else:
            found[last][-1] += f" {said}"
        last = name or last
    return found


def test_nothing_is_trained(folder):
    """A training that would take far longer than any test is planned at once."""
    done = process("svmx-train", "--explain", *endless(folder.path / "data"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert table(done.stdout.decode())["solver"][0].startswith("smo: ")
    assert sorted(folder.snapshot()) == ["data"]


def test_the_plan_of_a_training(folder):
    err, out = folder.accepts("svmx-train", "--explain", HEART)
    assert (err, folder.snapshot()) == ("", {})
    found = table(out)
    assert found["data"] == [f"{HEART}: 270 rows, 13 features, 96.2% not 0"]
    assert found["classes"] == ["1: 120 rows, -1: 150 rows"]
    assert found["solver"][0].startswith("smo: ")
    assert "warning" not in found


@pytest.mark.parametrize(
    "options",
    [
        ["-c", "3", HEART, "model"],
        ["-s", "1", "-n", "0.3", "-t", "1", "-d", "2", "-r", "1", HEART],
        ["--solver", "chunked", "--working-set", "64", "-e", "0.01", "-w1", "2", HEART],
        ["-s", "3", "-p", "0.2", "-h", "0", MPG, "a model"],
        ["-t", "0", "--solver", "crsvm", "--unbalanced", HEART],
        ["--max-iter", "5", "--time-limit", "100", "--threads", "1", "--on-interrupt", "save", "-b", "1", HEART],
        ["--lenient", "-W", "weights", "rows"],
    ],
)
def test_what_would_be_run_is_the_same_training(folder, options):
    import shlex

    folder.put("rows", "# of a test\n1 1:1\n\n-1 1:2\n1 1:3\n-1 1:1\n")
    folder.put("weights", "1\n0\n2\n1\n")
    kept = folder.snapshot()
    _, out = folder.accepts("svmx-train", "--explain", *options)
    words = shlex.split(table(out)["would run"][0])
    assert words[0] == "svmx-train"
    folder.accepts("svmx-train", "-q", *words[1:])
    (name,) = set(folder.snapshot()) - set(kept)
    told = folder.get(name)
    folder.accepts("svmx-train", "-q", *options)
    assert folder.get(name) == told


def test_validations_are_explained_too(folder):
    _, out = folder.accepts("svmx-train", "--explain", "-v", "5", "--repeats", "2", "--seeder", "auto", HEART)
    assert table(out)["would run"][0].endswith(f"-c 1 -v 5 --repeats 2 --seeder auto {HEART}")


def test_rows_of_weight_0_are_no_part_of_it(folder):
    lines = (data.DATA / "heart_scale").read_text().splitlines(keepends=True)
    folder.put("weights", "".join(f"{k % 2}\n" for k in range(270)))
    folder.put("half", "".join(lines[1::2]))
    found, half = (
        table(folder.accepts("svmx-train", "--explain", "-g", "0.1", *options)[1])
        for options in (["-W", "weights", HEART], ["half"])
    )
    for name in ("classes", "kernel", "memory"):
        assert found[name] == half[name]


def test_rows_are_told_by_their_numbers_in_the_data():
    X = np.array([[0.5], [1.0], [2.0], [2.0], [3.0]])
    plan = libsvmx.explain_training(X, [1, 1, 1, 1, 2], sample_weight=[0, 1, 1, 1, 1])
    assert ["rows 3 and 4" in advice.text for advice in plan.warnings if advice.kind == "duplicates"] == [True]


@pytest.mark.parametrize("X", [[[1.0]], [[0.0], [0.0]], [[1e-200], [2e-200]]])
def test_rows_that_do_not_differ_tell_nothing_of_gamma(X):
    assert libsvmx.explain_training(np.array(X), np.arange(len(X))).median_gamma is None


def test_scales_are_told_with_the_command_that_helps(folder):
    _, out = folder.accepts("svmx-train", "--explain", "-s", "3", MPG)
    scale, gamma = table(out)["warning"]
    assert "4 (1613 to 5140), 2 (68 to 455), 3 (46 to 230)" in scale
    assert scale.endswith(f"svmx-scale -s mpg.range {MPG} > mpg.scale")
    assert "to the kernel each row is unlike all others. Scale the features first, or begin with -g" in gamma
    folder.put("mpg.scaled", folder.accepts("svmx-scale", MPG)[1])
    assert "warning" not in table(folder.accepts("svmx-train", "--explain", "-s", "3", "mpg.scaled")[1])


def test_a_report_has_it(folder):
    folder.accepts("svmx-train", "--explain", "--report", "report.json", "-s", "3", MPG)
    plan = json.loads(folder.get("report.json"))["result"]["explanation"]
    assert (plan["rows"], plan["features"]) == (392, 7)
    assert [one["kind"] for one in plan["warnings"]] == ["scale", "gamma"]


def test_what_cannot_be_trained_is_refused(folder):
    folder.put("one", "0.5 1:1\n1 1:2\n")
    err, _ = folder.refuses("svmx-train", "--explain", "one")
    assert err.startswith("svmx-train: error: one:1: ")


def test_labels_are_told_with_all_their_digits(folder):
    folder.put("rows", "".join(f"{label} 1:{k}\n" for k in range(12) for label in [1234567] + [7654321] * (k == 5)))
    _, out = folder.accepts("svmx-train", "--explain", "rows")
    assert table(out)["classes"] == ["1234567: 12 rows, 7654321: 1 rows"]
    (imbalance,) = (text for text in table(out)["warning"] if "the largest" in text)
    assert "class 7654321 has 1 rows" in imbalance and "-w1234567 0.542 -w7654321 6.5" in imbalance


@pytest.mark.skipif(os.name != "posix", reason="a shell")
@pytest.mark.parametrize("name", ["two  blanks", "it's", "line\nend", "\x1b[31m red", "\udcff\udcfe", "a" * 120])
def test_the_commands_that_are_printed_can_be_run(folder, name):
    folder.put(name, (data.DATA / "mpg").read_bytes())
    _, out = folder.accepts("svmx-train", "--explain", "-s", "3", f"./{name}", "model")
    assert out.isprintable() or set(filter(lambda c: not c.isprintable(), out)) == {"\n"}
    commands = [line[10:] for line in out.splitlines() if line[10:].startswith("svmx-")]
    assert [command.split()[0] for command in commands] == ["svmx-scale", "svmx-train"]
    for command in commands:
        words = subprocess.run(
            ["bash", "-c", f"printf '%s\\0' {command.split('>')[0]}"], capture_output=True, check=True
        )
        assert os.fsencode(f"./{name}") in words.stdout.split(b"\0")


# ---- in Python -----------------------------------------------------------------------------------


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return random.uniform(-1, 1, (60, 3)), np.array([1, -1] * 30)


def test_ordinary_rows_have_no_warning(rows):
    plan = libsvmx.explain_training(*rows)
    assert plan.warnings == ()
    assert (plan.rows, plan.features, plan.values, plan.density, plan.problems) == (60, 3, 180, 1.0, 1)
    assert (plan.kernel_bytes, plan.kept_rows) == (4 * 60**2, 60)
    assert plan.data_bytes == (8 + 4) * 180 + 8 * 61  # values, indices, and row pointers


def test_the_median_heuristic(rows):
    X, y = rows
    distances = [np.sum((X[i] - X[j]) ** 2) for i in range(60) for j in range(i)]
    plan = libsvmx.explain_training(X, y)
    assert plan.median_gamma == pytest.approx(1 / np.median(distances))
    assert plan.gamma_range == pytest.approx([1 / np.quantile(distances, 0.9), 1 / np.quantile(distances, 0.1)])
    assert kinds(libsvmx.explain_training(X, y, gamma=plan.gamma_range[1] * 9.9)) == []
    assert kinds(libsvmx.explain_training(X, y, gamma=plan.gamma_range[0] / 9.9)) == []
    assert kinds(libsvmx.explain_training(X, y, gamma=plan.gamma_range[1] * 10.1)) == ["gamma"]
    assert kinds(libsvmx.explain_training(X, y, gamma=plan.gamma_range[0] / 10.1)) == ["gamma"]


def test_many_rows_are_sampled_the_same_way_each_time():
    """From all of them: the first rows are closer to each other."""
    X = np.random.default_rng(1).normal(size=(2000, 2))
    X[:500] *= 1e-3
    y = np.sign(X[:, 0] + 0.1)
    first = libsvmx.explain_training(X, y)
    assert first.median_gamma == libsvmx.explain_training(X, y).median_gamma
    distances = np.sum((X[:, None] - X) ** 2, axis=2)[np.triu_indices(2000, 1)]
    assert first.median_gamma == pytest.approx(1 / np.median(distances), rel=0.2)


@pytest.mark.parametrize("factor, odd", [(10.1, True), (9.9, False), (1 / 99, False), (1 / 101, True)])
def test_features_much_wider_or_narrower_than_the_middle(rows, factor, odd):
    X = rows[0][:, [0, 0, 0]] * [1, 1, factor]
    texts = [advice.text for advice in libsvmx.explain_training(X, rows[1]).warnings if advice.kind == "scale"]
    assert [text.startswith("features on very different scales: 3 (") for text in texts] == [True] * odd


def test_imbalance(rows):
    X, _ = rows
    y = np.ones(60)
    y[:5] = 2
    (advice,) = libsvmx.explain_training(X, y).warnings
    assert (advice.kind, advice.text) == ("imbalance", "class 2 has 5 rows, the largest has 55")
    assert "-w2 6 -w1 0.545" in advice.remedy
    assert kinds(libsvmx.explain_training(X, y, weights={2: 11})) == []
    assert "-w" not in libsvmx.explain_training(X, y, svm_type="nu_svc", nu=0.1).warnings[0].remedy


def test_rows_that_are_there_twice(rows):
    X, y = rows
    X[7], X[9], X[12] = X[1], X[3], X[3]
    found = {advice.kind: advice.text for advice in libsvmx.explain_training(X, y).warnings}
    assert found["duplicates"].startswith("2 rows are there before with the same target, such as rows 2 and 8")
    assert found["contradictions"].startswith(
        "1 row has the features of a row with another target, such as rows 4 and 13"
    )
    assert "contradictions" not in kinds(libsvmx.explain_training(X, y, svm_type="one_class"))


def test_constant_features(rows):
    X, y = rows
    X[:, 1] = 3
    (advice,) = libsvmx.explain_training(X, y).warnings
    assert (advice.kind, advice.text) == ("constant", "1 feature with a single value: 2")


def test_zeros_that_are_not_stored_are_values():
    """A feature that is 1 where it is stored, and 0 elsewhere, varies."""
    assert kinds(libsvmx.explain_training([{1: 1, 2: 1}, {1: 1}, {1: 1, 2: 1}, {1: 1}], [1, -1, 1, -1])) == [
        "constant",
        "duplicates",
    ]


def test_memory_and_steps(rows):
    plan = libsvmx.explain_training(*rows, cache_size=4 * 60 * 20 / 2**20, C=1000)
    assert plan.kept_rows == 20
    assert kinds(plan) == ["memory", "steps"]
    assert kinds(libsvmx.explain_training(*rows, C=1000, solver="auto")) == []


def test_many_rows_with_a_linear_kernel_are_for_crsvm():
    """If auto continues with it, smo's memory does not matter."""
    random = np.random.default_rng(0)
    X = random.normal(size=(12000, 4))
    y = np.sign(X[:, 0] + 0.1 * random.normal(size=12000))

    def found(X=X, y=y, kernel_type="linear", **parameters):
        return kinds(libsvmx.explain_training(X, y, cache_size=10, kernel_type=kernel_type, **parameters))

    (advice,) = libsvmx.explain_training(X, y, kernel_type="linear", cache_size=10).warnings
    assert (advice.kind, "--solver auto" in advice.remedy, "-m" in advice.remedy) == ("linear", True, False)
    assert found(y=X[:, 0], svm_type="epsilon_svr") == ["linear"]
    assert found(solver="auto") == found(solver="crsvm") == []
    assert found(X[:9000], y[:9000]) == ["memory"]
    assert (
        found(C=float("inf")) == found(svm_type="nu_svc", nu=0.1) == found(kernel_type="rbf", gamma=0.1) == ["memory"]
    )


def test_features_may_be_too_many_for_crsvm():
    rows = [{i % 1001 + 1: 1.0, 1002: i} for i in range(12000)]
    plan = libsvmx.explain_training(rows, np.arange(12000) % 2, kernel_type="linear")
    assert "linear" not in kinds(plan) and "memory" in kinds(plan)


def test_solvers_and_their_reasons(rows):
    def solver(**parameters):
        plan = libsvmx.explain_training(*rows, **parameters)
        return plan.solver, plan.reason

    assert solver()[0] == "smo"
    assert solver(solver="auto") == ("smo", "auto takes it where C times the largest kernel value is 100 or less")
    assert solver(solver="auto", C=1000)[0] == "auto"
    assert "crsvm" in solver(solver="auto", kernel_type="linear", C=1000)[1]
    assert "or chunked" in solver(solver="auto", kernel_type="linear", C=1e6, svm_type="nu_svr", nu=0.1)[1]
    assert solver(solver="irwls") == ("irwls", "it was asked for")
    assert solver(solver="auto", weights={1: 1000})[0] == "auto"  # the C of that class
    heavy = libsvmx.explain_training(*rows, solver="auto", sample_weight=[1000] + [1] * 59)
    assert heavy.solver == "auto"  # the C of that row
    trained = libsvmx.train(*rows, solver="auto").reports[0].chosen
    assert trained == solver(solver="auto")[0]


def test_classes_are_problems():
    X, y = libsvmx.read_problem(IRIS)
    plan = libsvmx.explain_training(X, y)
    assert (plan.problems, plan.largest, plan.classes) == (3, 100, ((1.0, 50), (2.0, 50), (3.0, 50)))


def test_other_formulations_and_kernels(rows):
    X, _ = rows
    target = X[:, 0]
    assert libsvmx.explain_training(X, target, svm_type="epsilon_svr").targets == (target.min(), target.max())
    gram = X @ X.T
    plan = libsvmx.explain_training(gram, [1, -1] * 30, kernel_type="precomputed")
    assert (plan.median_gamma, plan.warnings) == (None, ())

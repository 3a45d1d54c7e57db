"""The benchmarks: their table of cases, their certificate beside the solver's own, and a run in small."""

import json
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.data import DATA
from support.oracle import Oracle

import libsvmx
from tools.bench import cases, crossvalidators, datasets, searching, seeding, turns
from tools.bench.__main__ import main
from tools.bench.certificate import certify
from tools.bench.measure import measure
from tools.bench.peers import SOLVERS, Solution, libsvm, svmx
from tools.bench.training import Settings, run_case

EVERY_CASE = [case for group in cases.GROUPS.values() for case in group]
FORMULATIONS = ("-s 0 -c 10", "-s 1 -n 0.5", "-s 2 -n 0.2", "-s 3 -c 3", "-s 4 -c 3 -n 0.4")
KERNELS = ("-t 0", "-t 1 -g 0.2 -r 1", "-t 2", "-t 3 -g 0.02")


def prepared(name, folder, **change):
    case = cases.Case(name, name, **change)
    return datasets.load(datasets.prepare(case, datasets.find(DATA, name), folder))


def trained(dataset, options, module=svmx):
    training = module.Training(dataset, options)
    training.train()
    return training


def certificate(dataset, options, solution):
    X = datasets.scipy_matrix(dataset)
    return certify(X, dataset.targets, datasets.parameter(options, X.shape[1]), solution)


def test_cases_have_names_of_their_own_and_options_that_are_understood():
    assert len(set(EVERY_CASE)) == len(cases.named()) == len({case.name for case in EVERY_CASE}) > 50
    for case in EVERY_CASE:
        assert datasets.parameter(case.options, 10).gamma > 0, case.name


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_certificate_agrees_with_the_solver(formulation, kernel, tmp_path):
    """The solver's rows are floats, ours are doubles; that is all that may differ."""
    options = f"{formulation} {kernel}"
    dataset = prepared("heart_scale", tmp_path)
    ours, theirs = trained(dataset, options), trained(dataset, options, libsvm)
    (report,) = ours.observer.reports
    for training in (ours, theirs):
        found = certificate(dataset, options, training.outcome().solution)
        assert found.gap == pytest.approx(report.gap, abs=1e-4)
        assert found.objective == pytest.approx(report.objective, rel=1e-5)
        assert found.infeasibility < 1e-10


@pytest.mark.parametrize("options", ["-c 4 -w3 2 -t 2 -g 0.3", "-s 1 -n 0.2 -g 0.3"])
def test_certificate_of_many_classes_is_the_worst_pair(options, tmp_path):
    dataset = prepared("vowel.scale", tmp_path)
    training = trained(dataset, options)
    found = certificate(dataset, options, training.outcome().solution)
    assert found.gap == pytest.approx(max(r.gap for r in training.observer.reports), abs=1e-5)
    assert found.objective == pytest.approx(sum(r.objective for r in training.observer.reports), rel=1e-5)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_certificate_sees_a_perturbed_solution(formulation, tmp_path):
    dataset = prepared("heart_scale", tmp_path)
    solution = trained(dataset, formulation).outcome().solution
    coef = solution.coef.copy()
    size = np.abs(coef[0])
    free = np.flatnonzero((coef[0] > 0) & (size < size.max()))  # of one sign: their sum stays
    step = 0.3 * size[free].min()
    half = len(free) // 2
    coef[0, free[:half]] += step
    coef[0, free[half : 2 * half]] -= step
    assert half
    found = certificate(dataset, formulation, Solution(solution.rows, coef, solution.labels, solution.class_sv))
    assert found.gap > 0.002
    assert found.infeasibility < 1e-10


def test_certificate_sees_broken_constraints(tmp_path):
    dataset = prepared("heart_scale", tmp_path)
    solution = trained(dataset, "-c 1").outcome().solution
    grown = Solution(solution.rows, 1.5 * solution.coef, solution.labels, solution.class_sv)
    assert certificate(dataset, "-c 1", grown).infeasibility == pytest.approx(0.5)


def test_change_of_the_data(tmp_path):
    plain = prepared("heart_scale", tmp_path)
    changed = prepared("heart_scale", tmp_path, rows=50, parity=True, factor=0.9)
    end = changed.indptr[-1]
    assert len(changed.targets) == 50
    assert set(changed.targets) == {-1.0}  # both of its labels are odd
    np.testing.assert_array_equal(changed.values, plain.values[:end] * 0.9)
    assert len(list(tmp_path.iterdir())) == 2  # kept apart


def test_nodes_are_those_of_the_oracle(tmp_path):
    dataset = prepared("a1a", tmp_path)
    oracle = Oracle(datasets.csr_matrix(dataset), dataset.targets, "-t 0").train()
    training = trained(dataset, "-t 0", libsvm)
    assert libsvm.model_bytes(training.model) == oracle.model_bytes(tmp_path)


def test_run_compares_models(tmp_path):
    solvers = [s for s in SOLVERS if s.name in ("libsvmx", "libsvm")]
    found = run_case(cases.named()["heart_scale"], solvers, Settings(DATA, tmp_path, repeat=2))
    ours, oracle = found.entries
    assert found.equality(ours) == "equal"
    assert len(ours.times) == len(oracle.times) == 2
    assert ours.result["iterations"] == oracle.result["iterations"] > 0
    assert ours.certificate is oracle.certificate  # the same coefficients
    assert 0 < ours.certificate.gap < 0.0011
    assert found.limit.seconds > 0
    ours.result["model_hash"] = "another"
    assert found.equality(ours) == "DIFFER"


def test_slow_solvers_run_once(tmp_path):
    solvers = [s for s in SOLVERS if s.name == "libsvmx"]
    settings = Settings(DATA, tmp_path, repeat=3, max_seconds_once=0)
    assert len(run_case(cases.named()["heart_scale"], solvers, settings).entries[0].times) == 1


def test_what_cannot_run_is_said(tmp_path):
    job = {"task": "train", "module": "sklearn", "dense": False, "arrays": str(tmp_path / "a.npz"), "options": "-b 1"}
    job["npz"] = str(datasets.prepare(cases.named()["heart_scale"], DATA / "heart_scale", tmp_path))
    assert measure(job, 1, 100)["cannot"]  # installed or not: its probabilities are not compared
    assert measure(job, 1, 0.01)["cannot"] == "not done after 0.01 s"
    job["module"] = "nobody"
    assert "ModuleNotFoundError" in measure(job, 1, 100)["cannot"]


def test_command(tmp_path, capsys):
    files = {name: Path(tmp_path, name) for name in ("raw.json", "table.md")}
    options = ["--case", "heart_scale", "madelon", "--solver", "libsvmx", "libsvm", "--repeat", "1"]
    folders = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache")]
    output = ["--json", str(files["raw.json"]), "--markdown", str(files["table.md"])]
    assert main([*options, *folders, *output]) == 0
    text = capsys.readouterr().out
    assert "libsvmx's model beside LIBSVM's: equal" in text
    assert "NOT RUN: madelon is not in" in text
    raw = json.loads(files["raw.json"].read_text())
    assert [entry["model"] for entry in raw["results"][0]["entries"]] == ["equal", ""]
    assert raw["machine"]["packages"]["libsvm-official"]
    assert "| heart_scale | 270 | `defaults` | 162 | 132 | equal |" in files["table.md"].read_text()


VALIDATED = (cases.SEEDING, cases.LEAVING, cases.SEARCHING)


def validated(validator, dataset, folder, **job):
    """(result, lines) of a validator in this process."""
    records = Path(folder, "records")
    records.write_text("")
    job = {"records": str(records), "predictions": str(Path(folder, "predictions.npy")), "seconds": 1e9, **job}
    result = crossvalidators.VALIDATORS[validator](dataset, job)
    return result, [json.loads(line) for line in records.read_text().splitlines()]


def oracle(dataset, options):
    return Oracle(datasets.csr_matrix(dataset), dataset.targets, options)


@pytest.mark.parametrize("group", VALIDATED)
def test_validated_cases_have_names_of_their_own_and_options_that_are_understood(group):
    assert len({case.name for case in group}) == len(group) >= 2
    for case in group:
        assert datasets.parameter(case.options, 10).gamma > 0, case.name
    assert {name for name, _ in seeding.PAPER} == {case.name for case in cases.SEEDING}


@pytest.mark.parametrize("k", [2, 7, 40])
def test_folds_one_by_one_are_those_of_the_oracle(k, tmp_path):
    dataset = prepared("heart_scale", tmp_path, rows=40)  # 40 folds: leave-one-out, whose folds are not stratified
    job = {"options": "-c 2182 -g 0.2", "folds": k}
    _, lines = validated("libsvm_folds", dataset, tmp_path, **job)
    reference = oracle(dataset, job["options"])
    np.testing.assert_array_equal(seeding.of_records(lines, 40), reference.cross_validate(k))
    assert sorted(row for line in lines for row in line["rows"]) == list(range(40))
    told = [int(line.split("= ")[1]) for line in reference.transcript.splitlines() if "#iter" in line]
    assert [line["iterations"] for line in lines] == told
    assert sum(told) > 0


def test_without_time_one_part_stands_for_all(tmp_path):
    path = datasets.prepare(cases.named()["heart_scale"], DATA / "heart_scale", tmp_path)
    job = {"task": "cross_validate", "validator": "libsvm_folds", "npz": str(path), "options": "", "folds": 5}
    found = turns.sampled({**job, "seconds": 0}, 5, 100)
    (line,) = found["records"]
    assert found["seconds"] == pytest.approx(5 * line["seconds"]) == pytest.approx(5 * found["spent"])
    assert found["iterations"] == 5 * line["iterations"]
    assert turns.mark(found) == "~"
    assert turns.mark(turns.sampled({**job, "seconds": 1e9}, 5, 100)) == ""


def test_what_was_measured_outlives_a_stopped_child(monkeypatch):
    def stopped(job, threads, timeout):
        lines = [{"seconds": 2.0, "iterations": 10}, {"seconds": 4.0, "iterations": 20}]
        Path(job["records"]).write_text("\n".join(map(json.dumps, lines)) + '\n{"seconds": 5.')
        return {"cannot": "not done after 7 s"}

    monkeypatch.setattr(turns, "measure", stopped)
    found = turns.sampled({"seconds": 6}, 10, 1)
    assert (found["seconds"], found["iterations"], found["measured"]) == (30, 150, 2)
    run = turns.Run("LIBSVM", lambda: found, [found])
    assert turns.extrapolation(run, "folds") == [
        "LIBSVM: 2 of 10 folds measured (not done after 7 s), ~ is extrapolated"
    ]
    monkeypatch.setattr(turns, "measure", lambda *arguments: {"cannot": "broken"})
    assert turns.sampled({"seconds": 6}, 10, 1) == {"cannot": "broken"}


def test_points_are_those_of_the_oracle(tmp_path):
    dataset = prepared("heart_scale", tmp_path)
    points = [(1, -3), (-1, 1)]
    _, lines = validated("libsvm_points", dataset, tmp_path, options="", folds=5, points=points)
    assert [tuple(line["point"]) for line in lines] == points
    for (log2c, log2g), line in zip(points, lines, strict=True):
        predicted = oracle(dataset, f"-c {2.0**log2c} -g {2.0**log2g}").cross_validate(5)
        assert line["right"] == np.sum(predicted == dataset.targets)
    assert lines[0]["right"] != lines[1]["right"]


def fold(**values):
    record = dict.fromkeys(crossvalidators.SUMMED, 1) | {"objective": -1.0, "rho": 0.5, "n_sv": 3, "seeder": "sir"}
    record |= {"gap": 1e-4, "status": "converged"}
    return SimpleNamespace(**record | values)


def test_seeders_are_called_and_their_folds_summed(tmp_path, monkeypatch):
    """What the benchmark makes of the call's result, which is made up here."""
    dataset, asked = prepared("heart_scale", tmp_path), []

    def cross_validate(X, y, n_folds, param, *, seeder, scheme):
        asked.append((X.n_rows, n_folds, param.C, param.threads, seeder, scheme))
        folds = (fold(iterations=40), fold(iterations=2, rho=memoryview(b"ab"), seeder="none"))
        whole = fold(iterations=100, solving_seconds=7) if scheme == "star" else None
        return SimpleNamespace(predictions=-y, folds=folds, seeder=seeder, scheme=scheme, whole=whole)

    monkeypatch.setattr(libsvmx, "cross_validate", cross_validate)
    job = {"options": "-c 3", "folds": 4}
    star, _ = validated("svmx_folds", dataset, tmp_path, seeder="sir", scheme="star", **job)
    assert (star["iterations"], star["whole_seconds"]) == (142, 8)
    assert star["seeders"] == {"sir": 1, "none": 1}
    assert json.loads(json.dumps(star))["folds"][1]["rho"] == [97, 98]
    np.testing.assert_array_equal(np.load(tmp_path / "predictions.npy"), -dataset.targets)
    exact, _ = validated("svmx_folds", dataset, tmp_path, seeder="none", scheme="", **job)
    assert (exact["iterations"], exact["whole_seconds"]) == (42, None)
    assert asked == [(270, 4, 3, 1, "sir", "star"), (270, 4, 3, 1, "none", "")]


def test_leave_one_out_is_called(tmp_path, monkeypatch):
    dataset = prepared("heart_scale", tmp_path)

    def leave_one_out(X, y, param=None):
        return SimpleNamespace(predictions=y, folds=[fold()] * 101, retrained=np.arange(101))

    monkeypatch.setattr(libsvmx, "leave_one_out", leave_one_out, raising=False)
    result, _ = validated("svmx_leave_one_out", dataset, tmp_path, options="")
    assert (result["retrained"], result["iterations"], result["folds"]) == (101, 101, [])


def test_predictions_are_compared_row_by_row(tmp_path):
    targets = np.array([1.0, 1, -1, -1])
    records = [{"rows": [3, 0], "predictions": [-1.0, -1.0]}]
    times = {"LIBSVM": 8.0, "none": 4.0, "sir-star": 2.0, "top-chain": None}
    more = {"iterations": 1, "seeders": {}, "scheme": "", "unfinished": 3}
    runs = [turns.Run(name, dict, [{"seconds": s, **more}] if s else []) for name, s in times.items()]
    runs[0].results[0] |= {"records": records, "measured": 1, "parts": 2, "stopped": "", "spent": 4.0}
    runs[3].cannot = "broken"
    np.save(tmp_path / "none.npy", np.array([-1.0, 1, -1, -1]))
    np.save(tmp_path / "sir-star.npy", np.array([1.0, -1, -1, -1]))
    found = seeding.Comparison(cases.SEEDING[0], 10, "", 4, 2, runs)
    seeding.judge(found, targets, tmp_path)
    assert found.found == {
        "LIBSVM": {"accuracy": None, "accuracy_there": 50, "unlike_exact": 0, "unlike_oracle": 0},
        "none": {"accuracy": 75, "accuracy_there": 50, "unlike_exact": 0, "unlike_oracle": 0},
        "sir-star": {"accuracy": 75, "accuracy_there": 100, "unlike_exact": 2, "unlike_oracle": 1},
    }
    assert found.disagreed == 2
    assert not found.differs()
    assert [found.ratio(run) for run in found.runs] == [None, 2, 4, None]
    told = seeding.table(found)
    assert "LIBSVM: 1 of 2 folds measured" in told
    assert "top-chain: NOT RUN: broken" in told
    assert "sir-star: 3 rounds did not converge" in told
    assert "| heart | 10 | ~8.00 | 4.00 (2.0) | 2.00 (4.0) | 0.36 | 0.25 (1.4) |" in seeding.markdown([found])
    np.save(tmp_path / "none.npy", targets)
    seeding.judge(found, targets, tmp_path)
    assert found.differs()
    assert "DIFFER" in seeding.table(found)


def test_rounds_that_fell_back_are_told():
    def told(name, scheme, **seeders):
        return seeding.others(turns.Run(name, dict, [{"seeders": seeders, "scheme": scheme}]))

    assert told("sir-chain", "chain", none=1, sir=9) == {}
    assert told("sir-chain", "chain", none=2, sir=8) == {"none": 1}
    assert told("sir-star", "star", none=1, sir=9) == {"none": 1}
    assert told("auto", "star", top=4) == {"top": 4}
    assert told("none", "", none=4) == {}


def test_seeders_stand_for_both_origins():
    assert seeding.expanded(["none", "sir", "sir-star", "auto"]) == ["none", "sir-chain", "sir-star", "auto"]
    assert set(seeding.expanded(None)) == set(seeding.CHOICES) - set(seeding.SEEDERS)


def test_slow_runs_have_one_turn():
    order = []

    def once(name, result):
        order.append(name)
        return result

    runs = [
        turns.Run("sampled", lambda: once("sampled", {"seconds": 1000, "spent": 1})),
        turns.Run("slow", lambda: once("slow", {"seconds": 11})),
        turns.Run("broken", lambda: once("broken", {"cannot": "why"})),
    ]
    turns.take_turns(runs, 3, 10)
    assert order == ["sampled", "slow", "broken", "sampled", "sampled"]
    assert turns.refusals(runs) == ["broken: NOT RUN: why"]


@pytest.mark.parametrize(("n", "m"), [(10, 10), (7, 3), (1, 4), (2, 2)])
def test_points_are_spread(n, m):
    rows, columns = list(range(n)), list(range(m))
    points = searching.spread(rows, columns)
    assert sorted(points) == [(r, c) for r in rows for c in columns]
    assert sorted(r for r, _ in points[:n]) == rows
    if n == m:
        assert sorted(c for _, c in points[:n]) == columns


def test_steps_are_those_of_the_grid():
    assert searching.steps("-5,13,2") == [-5, -3, -1, 1, 3, 5, 7, 9, 11, 13]
    assert searching.steps("3,-15,-2")[-1] == -15
    assert len(searching.steps("0,0.3,0.1")) == 4
    with pytest.raises(ValueError, match="no step"):
        searching.steps("1,2,-1")


def test_rates_are_read_as_grid_writes_and_prints_them():
    written = "log2c=-1.0 log2g=-7.0 rate=88.8\nlog2c=5 log2g=3 rate=1e-05\n"
    printed = "[local] 5 3.5 50.0 (best c=32.0, g=0.0078125, rate=88.8)\n0.5 0.0078125 88.8\n"
    assert searching.read_rates([written, printed]) == {(-1, -7): 88.8, (5, 3): 1e-05, (5, 3.5): 50}


def test_searches_are_compared_point_by_point():
    runs = [turns.Run(name, dict, [{"seconds": s, "records": []}]) for name, s in (("LIBSVM", 9), ("svmx-grid", 3))]
    found = searching.Search(cases.SEARCHING[0], [(0, 0), (0, 1), (1, 0)], "", 10, runs)
    found.right = {"LIBSVM": {(0, 0): 5, (0, 1): 6}, "svmx-grid": {(0, 0): 5, (0, 1): 8, (1, 0): 9}}
    assert found.unlike("svmx-grid", "LIBSVM") == {"points": 2, "unlike": 1, "rows": 2}
    assert found.ratio(runs[1]) == 3
    assert not found.differs()
    found.right["svmx-grid, none"] = found.right["svmx-grid"]
    assert found.differs()
    assert "DIFFER" in searching.table(found)


def test_grid_of_libsvm(tmp_path):
    options = Namespace(data=DATA, cache=tmp_path, seconds=1e9, timeout=600, megabytes=100, repeat=1)
    options.log2c, options.log2g, options.fold, options.max_seconds_once = "-1,1,2", "-1,-3,-2", 3, 100
    found = searching.search(cases.Case("heart", "heart_scale"), options)
    assert found.right["LIBSVM"].keys() == {(-1, -1), (-1, -3), (1, -1), (1, -3)}
    for run in found.runs:
        assert run.results or run.cannot == "this libsvmx has no svmx-grid"
        assert not run.results or found.right[run.name].keys() == found.right["LIBSVM"].keys()
    assert not found.differs()
    assert json.loads(json.dumps(found.raw()))["runs"][0]["name"] == "LIBSVM"


@pytest.mark.parametrize(
    ("job", "cases_and_more", "heading"),
    [
        ("seeding", ["--case", "heart", "adult", "--folds", "3", "--seeder", "libsvm", "none", "sir"], "### 3 folds"),
        ("loo", ["--case", "heart_scale", "a9a-c1"], "### Leave-one-out"),
    ],
)
def test_command_of_validations(job, cases_and_more, heading, tmp_path, capsys):
    files = {name: Path(tmp_path, name) for name in ("raw.json", "table.md")}
    folders = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache")]
    output = ["--json", str(files["raw.json"]), "--markdown", str(files["table.md"])]
    assert main([job, *cases_and_more, "--repeat", "1", *folders, *output]) == 0
    assert "NOT RUN: a9a is not in" in capsys.readouterr().out
    raw = json.loads(files["raw.json"].read_text())
    found = next(result for result in raw["results"] if not result["cannot"])
    assert found["found"]["LIBSVM"]["accuracy"] > 70
    assert "predictions" not in found["runs"][0]["results"][0]["records"][0]
    if job == "seeding":
        assert found["found"]["none"] == found["found"]["LIBSVM"]
        assert [run["name"] for run in found["runs"] if run["median"]] == ["LIBSVM", "none", "sir-chain", "sir-star"]
        assert found["runs"][1]["results"][0]["iterations"] == found["runs"][0]["results"][0]["iterations"] > 0
    assert heading in files["table.md"].read_text()
    assert "not run: a9a is not in" in files["table.md"].read_text()

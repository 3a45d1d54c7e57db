"""The benchmarks: their table of cases, their certificate beside the solver's own, and a run in small."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.data import DATA
from support.oracle import Oracle

from tools.bench import cases, datasets
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

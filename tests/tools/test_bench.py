"""The benchmarks: their cases, their certificate against the solver's own, and small trainings."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.bench import options, prepared
from support.data import DATA
from support.oracle import Oracle
from support.selection import quick_first

from tools.bench import ROOT, datasets, machine
from tools.bench.__main__ import JOBS, arguments, job_of, main
from tools.bench.cases import Case
from tools.bench.certificate import certify
from tools.bench.jobs import training
from tools.bench.measure import measure
from tools.bench.peers import Solution, libsvm, svmx

HEART = Case("heart_scale", "heart_scale")
FORMULATIONS = ("-s 0 -c 10", "-s 1 -n 0.5", "-s 2 -n 0.2", "-s 3 -c 3", "-s 4 -c 3 -n 0.4")
KERNELS = ("-t 0", "-t 1 -g 0.2 -r 1", "-t 2", "-t 3 -g 0.02")


def trained(dataset, options, module=svmx):
    training = module.Training(dataset, options)
    training.train()
    return training


def certificate(dataset, options, solution):
    X = datasets.scipy_matrix(dataset)
    return certify(X, dataset.targets, datasets.parameter(options, X.shape[1]), solution)


@pytest.mark.parametrize("job", JOBS)
def test_cases_have_names_of_their_own_and_options_that_are_understood(job):
    _, asked = arguments([job, "--list"])
    cases = job_of(job).every_case(asked)
    assert len({(case.part, case.name, getattr(case, "folds", 0)) for case in cases}) == len(cases) > 0
    for case in cases:
        assert datasets.parameter(getattr(case, "options", ""), 10).gamma > 0, case.name
        assert case.part in (job_of(job).parts or ("",))
        assert case.title().startswith(case.name)
        assert case.quick().name == case.name


def test_every_training_of_the_docs_is_there():
    names = {case.name for case in job_of("training").every_case(None)}
    assert len(names) > 50
    alike = {}
    for case in job_of("training").every_case(None):  # a case in two parts must be the same
        assert alike.setdefault(case.name, (case.data, case.options)) == (case.data, case.options)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_certificate_agrees_with_the_solver(formulation, kernel, tmp_path):
    """The only difference: the solver's rows are floats, the certificate's are doubles."""
    options = f"{formulation} {kernel}"
    dataset = prepared("heart_scale", tmp_path)
    ours, theirs = trained(dataset, options), trained(dataset, options, libsvm)
    (report,) = ours.observer.reports
    for one in (ours, theirs):
        found = certificate(dataset, options, one.outcome().solution)
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
    assert len(list(tmp_path.iterdir())) == 2  # separate files


def test_nodes_are_those_of_the_oracle(tmp_path):
    dataset = prepared("a1a", tmp_path)
    oracle = Oracle(datasets.csr_matrix(dataset), dataset.targets, "-t 0").train()
    training = trained(dataset, "-t 0", libsvm)
    assert libsvm.model_bytes(training.model) == oracle.model_bytes(tmp_path)


def test_run_compares_models(tmp_path):
    job = job_of("training")
    found = job.run(HEART, options(tmp_path, repeat=1, solver=["libsvmx", "libsvm"]))
    ours, oracle = found.runs
    assert training.equality(found, "libsvmx") == "equal"
    assert not job.wrong(found)
    assert len(ours.times) == len(oracle.times) == 1
    assert ours.last["iterations"] == oracle.last["iterations"] > 0
    judged = found.told["judged"]
    assert judged["libsvmx"] is judged["libsvm"]  # the same coefficients
    assert 0 < judged["libsvm"]["gap"] < 0.0011
    assert found.told["limit"]["seconds"] > 0
    assert 0 <= ours.last["training_bytes"] < ours.last["peak_bytes"]
    ours.last["model_hash"] = "another"
    assert job.wrong(found)
    assert "DIFFER" in job.table(found).text()


LOADED = """
import sys
sys.path.append({root!r})
from tools.bench import datasets
from tools.bench.peers import svmx
training = svmx.Training(datasets.load({npz!r}), "-t 0", **{settings!r})
before = set(sys.modules)
training.train()
print(sorted(set(sys.modules) - before))
"""


@pytest.mark.parametrize(
    "settings",
    quick_first([{"solver": "irwls"}, {}, {"solver": "crsvm", "low_rank": "cholesky", "rank": 5}]),
)
def test_all_that_a_training_needs_is_loaded_before_its_clock_starts(settings, tmp_path):
    npz = str(datasets.prepare(HEART, DATA, tmp_path))
    code = LOADED.format(root=str(ROOT), npz=npz, settings=settings)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_slow_solvers_run_once(tmp_path):
    asked = options(tmp_path, repeat=3, max_seconds_once=0, solver=["libsvmx"])
    assert len(job_of("training").run(HEART, asked).runs[0].times) == 1


def test_what_cannot_run_is_said(tmp_path, exhaustive):
    job = {"call": "jobs.trainings:train", "peer": "sklearn", "settings": {}, "options": "-b 1", "clock": "cpu"}
    job |= {"npz": str(datasets.prepare(HEART, DATA, tmp_path)), "arrays": str(tmp_path / "a.npz"), "limit": None}
    if exhaustive:
        assert measure(job, 1, 100)["cannot"]  # installed or not: its probabilities are not compared
    assert measure(job, 1, 0.01)["cannot"] == "not done after 0.01 s"
    job["peer"] = "nobody"
    assert "ModuleNotFoundError" in measure(job, 1, 100)["cannot"]


def test_command(tmp_path, capsys):
    files = {name: Path(tmp_path, name) for name in ("raw.json", "table.md")}
    command = ["--case", "heart_scale", "madelon", "--solver", "libsvmx", "libsvm", "--repeat", "1"]
    folders = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache")]
    output = ["--json", str(files["raw.json"]), "--markdown", str(files["table.md"])]
    assert main([*command, *folders, *output]) == 0
    text = capsys.readouterr().out
    assert "geometric mean" in text
    assert "NOT RUN: madelon is not in" in text
    raw = json.loads(files["raw.json"].read_text())
    (found,) = (result for result in raw["results"] if not result["cannot"])
    assert [run["name"] for run in found["runs"]] == ["libsvmx", "libsvm"]
    assert not found["wrong"]
    assert raw["machine"]["packages"]["libsvm-official"]
    assert "| heart_scale | 270 | `defaults` | 162 | 132 | equal |" in files["table.md"].read_text()
    assert main(["--case", "madelon", *folders]) == 2
    with pytest.raises(SystemExit):
        main(["--case", "nobody"])


def test_the_machine_names_the_version_that_is_imported(monkeypatch):
    import libsvmx

    monkeypatch.setattr(machine.metadata, "version", lambda name: "that of another day")
    packages = machine.description()["packages"]
    assert packages["libsvmx"] == libsvmx.__version__
    assert packages["numpy"] == "that of another day"

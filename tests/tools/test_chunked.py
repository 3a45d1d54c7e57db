"""Chunked solvers in the benchmarks: generated sets, every part on few rows, stopped runs, and the tables."""

import json
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.data import DATA
from support.selection import quick_first

from tools.bench import datasets, generated
from tools.bench.__main__ import job_of, main
from tools.bench.cases import Case, Way
from tools.bench.jobs import chunked
from tools.bench.jobs.chunked import CHUNKED, LIBSVM, SMO
from tools.bench.jobs.trainings import excess, judged
from tools.bench.measure import SIGALRM
from tools.bench.peers import svmx

JOB = job_of("chunked")
HEART = chunked.trial("heart", "heart_scale", 100.0, 0.1, (CHUNKED, SMO, LIBSVM), "targets")


def options(folder, **change):
    usual = {"data": DATA, "cache": folder, "repeat": 1, "timeout": 600, "max_seconds_once": 100, "limit": 100}
    return Namespace(**{**usual, "megabytes": 100, "quick": False, "working_set": 0, **change})


def ran(case, folder, **change):
    return JOB.run(case, options(folder, **change))


# ---- data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", generated.SETS)
def test_generated_sets_are_the_same_every_time(name, tmp_path):
    X, y = generated.drawn(name, 500)
    again, _ = generated.drawn(name, 500)
    np.testing.assert_array_equal(X, again)
    assert np.isfinite(X).all()
    assert len(np.unique(X, axis=0)) > 400
    assert set(y) == {1.0, -1.0}
    assert 0.15 < (y > 0).mean() < 0.6
    dataset = datasets.load(datasets.prepare(Case(name, name, rows=500), DATA, tmp_path))
    np.testing.assert_array_equal(datasets.scipy_matrix(dataset).toarray(), X)
    np.testing.assert_array_equal(dataset.targets, y)


def test_classes_are_drawn_as_told():
    X, y = generated.drawn("gauss-m", 20_000)
    np.testing.assert_allclose(X[y > 0].mean(axis=0), 0, atol=0.06)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), (2, 0), atol=0.1)
    np.testing.assert_allclose([X[y > 0].std(), X[y < 0][:, 1].std()], [1, 2], atol=0.05)
    X, y = generated.drawn("skin-like", 20_000)
    np.testing.assert_allclose(255 * X[y > 0].mean(axis=0), (200, 150, 120), atol=8)  # clipping lowers the first
    np.testing.assert_allclose(255 * X, np.rint(255 * X), atol=1e-9)
    assert X.min() == 0 and X.max() == 1
    X, _ = generated.drawn("covtype-like", 500)
    assert X.shape == (500, 54)
    np.testing.assert_array_equal(X[:, 10:14].sum(axis=1), 1)
    np.testing.assert_array_equal(X[:, 14:].sum(axis=1), 1)


def test_rows_between_and_standard_columns(tmp_path):
    def prepared(**change):
        case = Case("heart", "heart_scale", **change)
        return datasets.load(datasets.prepare(case, DATA, tmp_path))

    whole, some, standard = prepared(), prepared(every=20, rows=5), prepared(standard=True)
    np.testing.assert_array_equal(some.targets, whole.targets[:100:20])
    expected = datasets.scipy_matrix(whole).toarray()[:100:20]
    np.testing.assert_array_equal(datasets.scipy_matrix(some).toarray(), expected[:, : some.indices.max()])
    X = datasets.scipy_matrix(standard).toarray()
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)


# ---- runs ----------------------------------------------------------------------------------------


@pytest.mark.each_value
@pytest.mark.parametrize("solver", quick_first(["irwls", "chunked"]))
@pytest.mark.parametrize("rule", quick_first(["random", "largest", "mixed"]))
def test_every_rule_ends_at_the_same_optimum(solver, rule, tmp_path):
    ways = tuple(chunked.chunks(f"{solver} {kept}", solver, 40, rule, kept) for kept in (0.0, 0.5))
    found = ran(replace(HEART, ways=(*ways, SMO, LIBSVM)), tmp_path)
    assert not JOB.wrong(found)
    for way in ways:
        told, last = judged(found, way.name), found.last(way.name)
        assert told["gap"] < 1.05e-3
        assert told["infeasibility"] < 1e-9
        assert abs(excess(found, way.name, "smo")) < 1e-5
        assert last["counts"]["subproblems"] > 1
        assert last["status"] == "converged"
        assert last["counts"]["own_gap"] < 1e-3
    assert judged(found, "smo") == judged(found, "LIBSVM")
    assert judged(found, "smo")["n_sv"] > judged(found, "smo")["n_bounded"] > 0
    assert found.last("smo")["counts"]["subproblems"] == 0


def test_what_is_not_optimal_is_told(tmp_path):
    found = ran(HEART, tmp_path)
    told = found.told["judged"]
    good, exact = told["chunked"], told["smo"]
    assert not JOB.wrong(found)
    told["chunked"] = {**good, "gap": 2e-3}
    assert JOB.wrong(found) == ["NOT OPTIMAL: chunked"]
    assert "NOT OPTIMAL: chunked" in JOB.table(found).text()
    told["smo"] = {**exact, "gap": 1.9e-3}
    assert not JOB.wrong(found)  # rounding, which moves the exact solver's gap as much
    told["chunked"] = {**good, "objective": exact["objective"] * (1 - 1e-4)}
    assert JOB.wrong(found) == ["NOT OPTIMAL: chunked"]
    found.last("chunked")["status"] = "iteration limit"
    assert not JOB.wrong(found)


@pytest.mark.exhaustive
def test_one_class_has_no_support_vectors(tmp_path):
    (tmp_path / "one").write_text("1 1:1\n1 2:1\n1 3:1\n")
    found = ran(replace(HEART, data="one", rows=3), tmp_path, data=tmp_path)
    assert [told["n_sv"] for told in found.told["judged"].values()] == [0, 0, 0]


@pytest.mark.skipif(not SIGALRM, reason="no alarms here")
def test_limit_of_seconds(tmp_path):
    case = chunked.trial("gauss-m", "gauss-m", 1e6, 0.5, (LIBSVM,), "targets", rows=4000)
    found = ran(case, tmp_path, limit=0.1)
    assert found.runs[0].cannot == "not done after 0.1 s"
    assert chunked.cell(found, "LIBSVM") == "> 0.1"
    assert "NOT RUN: not done after 0.1 s" in JOB.table(found).text()
    assert not found.measured()


def test_unknown_solvers_are_told(tmp_path):
    found = ran(replace(HEART, ways=(Way("x", "sklearn", {"library": "sklearnex"}),)), tmp_path)
    assert found.measured() or found.runs[0].cannot == "scikit-learn-intelex is not installed"


# ---- tables --------------------------------------------------------------------------------------


def test_cases_are_smaller_when_quick(tmp_path):
    for case in JOB.every_case(None):
        assert len({way.name for way in case.ways}) == len(case.ways)
        assert 0 < case.quick().rows <= 200
    assert chunked.width(10) == 0.005
    assert chunked.sized(CHUNKED, 60).settings["working_set"] == 60
    assert chunked.sized(SMO, 60) is SMO


@pytest.mark.exhaustive
def test_command(tmp_path, capsys):
    wanted = ["adult1", "gauss-m-c1", "gauss-m-c100", "splice", "web7", "a9a-c10000"]
    files = {name: Path(tmp_path, name) for name in ("raw.json", "table.md")}
    folders = ["--data", str(DATA), "--cache", str(tmp_path / "cache")]
    output = ["--json", str(files["raw.json"]), "--markdown", str(files["table.md"])]
    assert main(["chunked", "--quick", "--case", *wanted, "--repeat", "1", *folders, *output]) == 0
    text, table = capsys.readouterr().out, files["table.md"].read_text()
    assert "NOT RUN: w7a is not in" in text
    results = json.loads(files["raw.json"].read_text())["results"]
    assert {found["case"]["part"] for found in results} == set(JOB.parts)
    measured = [found["told"]["judged"] for found in results if not found["cannot"]]
    assert len(measured) == 5
    for told in measured:
        exact = told["smo"]
        for name, one in told.items():
            assert one["gap"] < 1.1 * max(1e-3, exact["gap"]), name
            assert one["objective"] == pytest.approx(exact["objective"], rel=1e-5)
    for title in JOB.parts.values():
        assert f"## {title}" in table
    assert "| gauss-m-c1 | 200 | -s 0 -t 2 -c 1.0 -g 0.5 |" in table
    assert "w7a is not in" in table


def test_what_irwls_needs_is_loaded_before_the_clock_starts(tmp_path, monkeypatch):
    module = "libsvmx._solvers.decomposition.irwls"
    monkeypatch.delitem(sys.modules, module, raising=False)
    svmx.Training(datasets.load(datasets.prepare(HEART, DATA, tmp_path)), HEART.options, solver="irwls")
    assert module in sys.modules

"""Solvers in chunks in the benchmarks: what is generated, every part in small, what is stopped, and the tables."""

import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.data import DATA

from tools.bench import chunked, chunkedcases, chunkedtables, datasets, generated
from tools.bench.__main__ import main
from tools.bench.cases import Case
from tools.bench.certificate import Certificate
from tools.bench.chunkedcases import CHUNKED, LIBSVM, PARTS, SMO, Part, Trial, Way
from tools.bench.measure import measure
from tools.bench.turns import Run

HEART = Trial(Case("heart", "heart_scale"), 100.0, 0.1, (CHUNKED, SMO, LIBSVM))


def options(folder, **change):
    usual = {"data": DATA, "cache": folder, "repeat": 1, "timeout": 600, "max_seconds_once": 100, "limit": 100}
    usual |= {"megabytes": 100, "part": None, "case": (), "quick": True, "large": False, "working_set": 0}
    return Namespace(**{**usual, **change})


def ran(trial, folder, **change):
    return chunked.run(Part("part", "A part", (trial,)), trial, options(folder, **change), {})


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
    dataset = datasets.load(generated.prepare(name, 500, tmp_path))
    np.testing.assert_array_equal(datasets.scipy_matrix(dataset).toarray(), X)
    np.testing.assert_array_equal(dataset.targets, y)


def test_classes_are_drawn_as_told():
    X, y = generated.drawn("gauss-m", 20_000)
    np.testing.assert_allclose(X[y > 0].mean(axis=0), 0, atol=0.06)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), (2, 0), atol=0.1)
    np.testing.assert_allclose([X[y > 0].std(), X[y < 0][:, 1].std()], [1, 2], atol=0.05)
    X, y = generated.drawn("skin-like", 20_000)
    np.testing.assert_allclose(255 * X[y > 0].mean(axis=0), (200, 150, 120), atol=8)  # clipping takes some of the first
    np.testing.assert_allclose(255 * X, np.rint(255 * X), atol=1e-9)
    assert X.min() == 0 and X.max() == 1
    X, _ = generated.drawn("covtype-like", 500)
    assert X.shape == (500, 54)
    np.testing.assert_array_equal(X[:, 10:14].sum(axis=1), 1)
    np.testing.assert_array_equal(X[:, 14:].sum(axis=1), 1)


def test_rows_between_and_standard_columns(tmp_path):
    def prepared(**change):
        case = Case("heart", "heart_scale", **change)
        return datasets.load(datasets.prepare(case, DATA / "heart_scale", tmp_path))

    whole, some, standard = prepared(), prepared(every=20, rows=5), prepared(standard=True)
    np.testing.assert_array_equal(some.targets, whole.targets[:100:20])
    expected = datasets.scipy_matrix(whole).toarray()[:100:20]
    np.testing.assert_array_equal(datasets.scipy_matrix(some).toarray(), expected[:, : some.indices.max()])
    X = datasets.scipy_matrix(standard).toarray()
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)


# ---- runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["chunked", "irwls"])
@pytest.mark.parametrize("rule", ["random", "largest", "mixed"])
def test_every_rule_ends_at_the_same_optimum(solver, rule, tmp_path):
    ways = tuple(Way(f"{solver} {kept}", solver, working_set=40, rule=rule, kept=kept) for kept in (0.0, 0.5))
    found = ran(replace(HEART, ways=(*ways, SMO, LIBSVM)), tmp_path)
    assert not found.wrong()
    for way in ways:
        judged, last = found.judged[way.name], found.run(way.name).results[-1]
        assert judged.certificate.gap < 1.05e-3
        assert judged.certificate.infeasibility < 1e-9
        assert abs(judged.excess) < 1e-5
        assert last["chunks"] > 1
        assert last["status"] == "converged"
        assert last["own_gap"] < 1e-3
    assert found.judged["smo"].certificate == found.judged["LIBSVM"].certificate
    assert found.judged["smo"].n_sv > found.judged["smo"].n_bounded > 0
    assert found.run("smo").results[-1]["chunks"] == 0


def test_what_is_not_optimal_is_told(tmp_path):
    found = ran(HEART, tmp_path)
    judged = found.judged["chunked"]
    assert not found.wrong()
    found.judged["chunked"] = replace(judged, certificate=Certificate(2e-3, *[0.0] * 2))
    assert found.wrong() == ["chunked"]
    assert "NOT OPTIMAL (!): chunked" in chunkedtables.long_table(found)
    found.judged["smo"] = replace(found.judged["smo"], certificate=Certificate(1.9e-3, *[0.0] * 2))
    assert not found.wrong()  # rounding, which moves the exact solver's as much
    found.judged["chunked"] = replace(judged, excess=1e-4)
    assert found.wrong() == ["chunked"]
    found.run("chunked").results[-1]["status"] = "iteration limit"
    assert not found.wrong()


def test_one_class_has_no_support_vectors(tmp_path, monkeypatch):
    one = (np.eye(3), np.ones(3))
    monkeypatch.setattr(generated, "drawn", lambda name, n: one)
    found = ran(replace(HEART, case=Case("one", "dense", rows=3)), tmp_path)
    assert [judged.n_sv for judged in found.judged.values()] == [0, 0, 0]


@pytest.mark.skipif(not chunked.SIGXCPU, reason="no limits of CPU time here")
def test_what_is_stopped_is_not_tried_at_more(tmp_path):
    def place(n, C):
        return replace(HEART, case=Case(f"dense-{n}-c{C:g}", "dense", rows=n), C=C, gamma=50.0)

    part, stopped, settings = Part("map", "A map", (), grid=True), {}, options(tmp_path)
    told = {"cannot": f"exit code {-chunked.SIGXCPU}: no message"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunked, "measure", lambda *arguments: told)
        found = chunked.run(part, place(100, 10.0), settings, stopped)
        assert {chunkedtables.cell(found, way.name) for way in HEART.ways} == {"> 100"}
        assert chunkedtables.fastest(found) == "-"
    assert chunkedtables.cell(chunked.run(part, place(120, 10.0), settings, stopped), "smo") == "stopped"
    found = chunked.run(part, place(120, 1.0), settings, stopped)
    assert found.judged["smo"].certificate.gap < 1.1e-3


@pytest.mark.skipif(not chunked.SIGXCPU, reason="no limits of CPU time here")
def test_limit_of_cpu_time(tmp_path):
    trial = replace(HEART, case=Case("gauss-m", "gauss-m", rows=4000), C=1e6, gamma=0.5, ways=(LIBSVM,))
    found = ran(trial, tmp_path, limit=0.1)
    assert found.runs[0].cannot == "not done after 0.1 CPU seconds"
    assert not found.measured()


def test_unknown_solvers_are_told(tmp_path):
    npz = datasets.prepare(HEART.case, DATA / "heart_scale", tmp_path)
    job = chunked.job_of(Way("x", "sklearnex"), HEART, npz, options(tmp_path)) | {"arrays": str(tmp_path / "a.npz")}
    told = measure(job, 1, 100)
    assert told.get("cannot", "scikit-learn-intelex is not installed") == "scikit-learn-intelex is not installed"


# ---- tables --------------------------------------------------------------------------------------


def test_cases_have_names_of_their_own_and_are_smaller_when_quick():
    for part in PARTS:
        names = [trial.case.name for trial in part.trials]
        assert len(set(names)) == len(names) > 0
        for trial in part.trials:
            assert len({way.name for way in trial.ways}) == len(trial.ways)
            assert datasets.parameter(trial.options(100), 10).C == trial.C
        small = chunkedcases.quick(part)
        assert all(0 < t.case.rows <= chunkedcases.QUICK_ROWS for t in small.trials)
    assert chunkedcases.width(10) == 0.005


def test_map_shows_the_fastest():
    found = chunked.Found("map", replace(HEART, case=Case("dense-100-c1", "dense", rows=100), C=1.0))
    found.runs = [Run(name, dict, [{"seconds": s, "chunks": 0}]) for name, s in (("smo", 3.0), ("chunked", 1.5))]
    (rows,) = chunkedtables.map_tables([found])
    assert rows == [("dense, n", "C=1"), ("100", "chunked 1.5 s; smo x 2.0")]


def test_command(tmp_path, capsys):
    wanted = ["adult1", "gauss-m-c1", "gauss-m-c100", "splice", "web7", "a9a-c100-g0.5", "a9a-c10000"]
    wanted += ["adult4", "dense-100-c1", "dense-100-c100", "dense-200-c1", "sparse-100-c1"]
    files = {name: Path(tmp_path, name) for name in ("raw.json", "table.md")}
    folders = ["--data", str(DATA), "--cache", str(tmp_path / "cache")]
    output = ["--json", str(files["raw.json"]), "--markdown", str(files["table.md"])]
    assert main(["chunked", "--quick", "--case", *wanted, "--repeat", "1", *folders, *output]) == 0
    text, table = capsys.readouterr().out, files["table.md"].read_text()
    assert "NOT RUN: w7a is not in" in text
    results = json.loads(files["raw.json"].read_text())["results"]
    assert {found["part"] for found in results} == {part.name for part in PARTS}
    measured = [found for found in results if found["judged"]]
    assert len(measured) == 8
    for found in measured:
        exact = found["judged"].get("smo", {"certificate": {"gap": 0}})["certificate"]["gap"]
        for name, judged in found["judged"].items():
            assert judged["certificate"]["gap"] < 1.1 * max(1e-3, exact), (found["trial"]["case"]["name"], name)
            assert abs(judged["excess"] or 0) < 1e-5
    for part in PARTS:
        assert f"### {part.title}" in table
    assert "| gauss-m-c1 | 200 | 1 | 0.5 |" in table
    assert "web7: not run: w7a is not in" in table
    assert main(["chunked", "--part", "rules", "--case", "nobody", *folders]) == 2

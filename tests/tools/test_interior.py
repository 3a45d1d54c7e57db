"""The interior-point method in the benchmarks: mapped problems, every part on few rows, errors, and the tables."""

import json
import shutil
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.data import DATA

from tools.bench import mapped
from tools.bench.__main__ import job_of, main
from tools.bench.cases import Case
from tools.bench.jobs import interior
from tools.bench.jobs.trainings import excess, judged
from tools.bench.measure import Unavailable
from tools.bench.protocol import Found
from tools.bench.turns import Run

JOB = job_of("interior")


@pytest.fixture
def folder(tmp_path):
    """a1a under the names of larger sets, and some others."""
    place = tmp_path / "sets"
    place.mkdir()
    for name, source in (("a9a", "a1a"), ("a9a.t", "a1a"), ("mushrooms", "mushrooms"), ("splice", "splice")):
        shutil.copy(DATA / f"{source}.xz", place / f"{name}.xz")
    return place


def options(folder, tmp_path, **change):
    usual = {"data": folder, "cache": tmp_path / "cache", "repeat": 1, "timeout": 600, "max_seconds_once": 100}
    return Namespace(**{**usual, "limit": 100, "quick": True, **change})


def case_of(name, part):
    return next(case for case in JOB.every_case(None) if (case.name, case.part) == (name, part)).quick()


# ---- problems ------------------------------------------------------------------------------------


def test_categories_are_found_again():
    random = np.random.default_rng(1)
    sizes = (3, 1, 4)
    codes = np.column_stack([random.integers(1, size + 1, 50) for size in sizes])
    X = np.hstack([np.eye(size)[codes[:, k] - 1] for k, size in enumerate(sizes)])
    np.testing.assert_array_equal(mapped.categories(X), codes)
    X[7, 0] = X[7, 1] = 1
    with pytest.raises(ValueError, match="columns from 1 on are not those of one attribute"):
        mapped.categories(X)


def test_mushrooms_are_mapped_as_in_the_paper():
    X, y = mapped.load("mushrooms", DATA)
    assert X.shape == (8124, 21 * 22 // 2 + 21)
    assert (y > 0).sum() == 3916
    assert abs(X).max() == 1
    codes = np.sqrt(X[:5, 0] / X[:5, 0].min())  # the first feature is the square of the first input
    np.testing.assert_allclose(codes * 6 % 1, 0, atol=1e-9)
    # products of the mapped rows equal the kernel, up to the constant
    first, _ = np.triu_indices(21)
    x = X[:, len(first) :]
    scale = X[0, 0] / x[0, 0] ** 2 * 2
    K = X[:4] @ X[:4].T
    inner = x[:4] @ x[:4].T
    np.testing.assert_allclose(K, (scale * inner / 2) ** 2 + inner, rtol=1e-9)


def test_isolet_is_the_same_every_time(exhaustive):
    X, y = mapped.load("isolet-like", DATA, 500)
    np.testing.assert_array_equal(X, mapped.load("isolet-like", DATA, 500)[0])
    assert X.shape == (500, 617)
    assert abs(X).max() <= 1
    assert 5 < (y > 0).sum() < 50
    if exhaustive:
        _, whole = mapped.load("isolet-like", DATA)
        assert (len(whole), (whole > 0).sum()) == (7800, 300)


def test_sets_that_are_not_there_are_told(tmp_path):
    with pytest.raises(Unavailable, match=r"waveform-noise is not in"):
        mapped.load("waveform", tmp_path)
    with pytest.raises(Unavailable, match=r"waveform-noise is not in"):
        JOB.run(case_of("waveform", "variants"), options(tmp_path, tmp_path))


# ---- runs ----------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_variants_end_at_the_same_optimum(tmp_path):
    found = JOB.run(case_of("isolet-like", "variants"), options(DATA, tmp_path, repeat=2))
    told = [judged(found, run.name) for run in found.runs if run.last["status"] == "converged"]
    assert len(told) > 3
    np.testing.assert_allclose([one["objective"] for one in told], told[0]["objective"], rtol=1e-8)
    assert max(one["gap"] for one in told) < 1e-8
    m, sizes = found.n_rows, [run.last["counts"]["sizes"][1:] for run in found.runs]
    assert set(sizes[0]) == {m}
    assert min(min(own) for own in sizes[1:]) < m  # q_U limits the rows; of 200 rows adaptive takes all
    assert sizes[2][0] == m / 2
    assert len(found.runs[2].times) == 2
    assert all(0 < run.last["solve_seconds"] <= run.last["cpu"] for run in found.runs)
    assert not JOB.wrong(found)
    found.told["judged"]["q_U = m/4"] = {**told[0], "objective": told[0]["objective"] * 0.999}
    assert JOB.wrong(found) == ["NOT OPTIMAL: q_U = m/4"]
    found.last("q_U = m/4")["status"] = "iteration limit"
    assert not JOB.wrong(found)
    assert "iteration limit" in JOB.table(found).text()


def test_what_is_beside_libsvm(tmp_path):
    found = JOB.run(case_of("splice", "tight"), options(DATA, tmp_path))
    assert abs(excess(found, "crsvm", "LIBSVM")) < 1e-8
    assert judged(found, "crsvm")["gap"] < 1e-9
    assert judged(found, "crsvm")["infeasibility"] < 1e-9
    assert not JOB.wrong(found)
    found.told["judged"]["crsvm"] = {
        **judged(found, "crsvm"),
        "objective": judged(found, "LIBSVM")["objective"] * 0.999,
    }
    assert JOB.wrong(found) == ["NOT OPTIMAL: crsvm"]


# ---- tables --------------------------------------------------------------------------------------


def test_times_as_fast():
    runs = [
        Run(name, dict, [{"seconds": s, "solve_seconds": s / 2}]) for name, s in (("unreduced", 2.0), ("half", 1.0))
    ]
    found = Found(case_of("letter", "variants"), runs=runs)
    assert [interior.VARIANTS["x"](found, run) for run in runs] == ["1.00", "2.00"]
    assert interior.VARIANTS["solve s"](found, runs[1]) == "0.500"


def test_growth_and_accuracies_are_found():
    def made(m):
        return Found(Case(f"{m}", ""), n_rows=m, runs=[Run("crsvm", dict, [{"seconds": 1e-5 * m**1.2}])])

    found = [made(m) for m in (100, 1000, 5000)]
    assert interior.exponent(found, "crsvm") == pytest.approx(1.2)
    assert interior.exponent(found, "LIBSVM") is None
    assert interior.exponent(found[:2], "crsvm") is None
    curve = [(1.0, 150.0), (2.0, 100.05), (4.0, 100.0)]
    assert [interior.reached(curve, accuracy) for accuracy in (1.0, 1e-3, 1e-6)] == [1.0, 2.0, 4.0]


@pytest.mark.exhaustive
def test_command(folder, tmp_path, capsys):
    files = {name: Path(tmp_path, name) for name in ("raw.json", "table.md")}
    folders = ["--data", str(folder), "--cache", str(tmp_path / "cache")]
    output = ["--json", str(files["raw.json"]), "--markdown", str(files["table.md"])]
    wanted = ["mushrooms", "letter", "a1a", "a5a", "a9a", "splice", "w7a", "C = 1"]
    assert main(["interior", "--quick", "--repeat", "1", "--case", *wanted, *folders, *output]) == 0
    text, table = capsys.readouterr().out, files["table.md"].read_text()
    assert "NOT RUN: " in text
    assert "w7a is not in" in table
    results = json.loads(files["raw.json"].read_text())["results"]
    by_name = {(found["case"]["part"], found["case"]["name"]): found for found in results}
    assert {part for part, _ in by_name} == set(JOB.parts)
    for title in JOB.parts.values():
        assert f"## {title}" in table
    a9a = by_name["linear", "a9a"]["told"]
    objectives = [one["objective"] for one in a9a["judged"].values()]
    assert len(objectives) == 3
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-5)
    assert all(one["infeasibility"] < 1e-9 for one in a9a["judged"].values())
    assert bool(a9a["curve"]) == bool(find_spec("sklearn"))
    assert by_name["linear", "a5a"]["note"] == "the first rows of a9a"
    factors = {run["name"]: run["results"][-1] for run in by_name["lowrank", "a9a"]["runs"]}
    assert factors["LIBSVM"]["model_hash"] == factors["smo"]["model_hash"]
    assert factors["cholesky, rank 300"]["counts"]["trace_error"] < 1e-6
    assert 0 < factors["cholesky, rank 300"]["factor_seconds"] < factors["cholesky, rank 300"]["seconds"]
    assert 0.5 < factors["eigen, rank 64, by the factor"]["accuracy"] <= 1

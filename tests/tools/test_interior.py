"""The interior-point method in the benchmarks: mapped problems, every part in small, what is wrong, and the tables."""

import json
import shutil
from argparse import Namespace
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.data import DATA

from tools.bench import interior, interiorcases, interiorruns, interiortables, mapped
from tools.bench.__main__ import main
from tools.bench.interior import Found
from tools.bench.peers import Unavailable
from tools.bench.turns import Run


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
    usual |= {"limit": 100, "part": None, "case": (), "quick": True}
    return Namespace(**{**usual, **change})


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
    problem = mapped.load("mushrooms", DATA)
    assert problem.inputs == 21
    assert problem.X.shape == (8124, 21 * 22 // 2 + 21)
    assert (problem.y > 0).sum() == 3916
    assert abs(problem.X).max() == 1
    codes = np.sqrt(problem.X[:5, 0] / problem.X[:5, 0].min())  # the first feature is the square of the first input
    np.testing.assert_allclose(codes * 6 % 1, 0, atol=1e-9)
    # the map's products are those of the kernel, but for the constant
    first, _ = np.triu_indices(21)
    x = problem.X[:, len(first) :]
    scale = problem.X[0, 0] / x[0, 0] ** 2 * 2
    K = problem.X[:4] @ problem.X[:4].T
    inner = x[:4] @ x[:4].T
    np.testing.assert_allclose(K, (scale * inner / 2) ** 2 + inner, rtol=1e-9)


def test_isolet_is_the_same_every_time():
    problem, again = mapped.load("isolet-like", DATA, 500), mapped.load("isolet-like", DATA, 500)
    np.testing.assert_array_equal(problem.X, again.X)
    assert problem.X.shape == (500, 617)
    assert abs(problem.X).max() <= 1
    assert 5 < (problem.y > 0).sum() < 50
    whole = mapped.load("isolet-like", DATA)
    assert (len(whole.y), (whole.y > 0).sum()) == (7800, 300)


def test_sets_that_are_not_there_are_told(tmp_path):
    with pytest.raises(Unavailable, match=r"waveform-noise is not in"):
        mapped.load("waveform", tmp_path)
    found = interior.variants("waveform", options(tmp_path, tmp_path))
    assert "waveform-noise is not in" in found.cannot
    assert not found.measured()


# ---- runs ----------------------------------------------------------------------------------------


def test_variants_end_at_the_same_optimum(tmp_path):
    found = interior.variants("isolet-like", options(DATA, tmp_path, repeat=2))
    found.part = "variants"
    runs = found.last("crsvm")["runs"]
    assert len(runs) == 1 + 6 * len(interiorcases.SHARES)
    objectives = [run["objective"] for run in runs if run["status"] == "converged"]
    assert len(objectives) > 20
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-8)
    whole, half = (interiortables.of_variant(found, "adaptive, balanced, omega", share) for share in (1.0, 0.5))
    assert {patterns for _, patterns in runs[0]["log"][1:]} == {300}
    assert min(patterns for _, patterns in whole["log"][1:]) < 300
    assert half["log"][1][1] == 150
    assert len(half["seconds"]) == 2
    assert sum(runs[0]["n_sv"]) >= sum(runs[0]["n_free"]) > 0
    assert not found.wrong()
    runs[3]["objective"] += 1e-3 * abs(objectives[0])
    assert found.wrong() == [f"{runs[3]['family']}, {runs[3]['upper']:g}"]
    runs[3]["status"] = "iteration limit"
    assert not found.wrong()
    assert "iteration limit" in interiortables.long_table(found)


def test_residuals_are_those_of_the_coefficients(tmp_path):
    source = DATA / "heart_scale"
    dataset = interior.datasets.read(source, interior.Case("heart", "heart_scale"))
    training = interiorruns.ours(dataset, interiorcases.C1)
    training.train()
    outcome = training.outcome()
    w, rho, y = interiorruns.separator(dataset, outcome)
    beta = np.zeros(len(y))
    beta[outcome.solution.rows] = outcome.solution.coef[0]
    told = interiorruns.residuals(dataset, beta, y)
    assert max(told.values()) < 1e-9
    dual = float(w @ w) / 2 - float(abs(beta).sum())
    assert interiorruns.primal(dataset, w, -rho, y) == pytest.approx(-dual, rel=1e-9)
    at = int(np.flatnonzero((abs(beta) > 0) & (abs(beta) < 1))[0])
    worse = interiorruns.residuals(dataset, beta + 1.5 * np.eye(len(y))[at] * y[at], y)
    assert worse["sum"] == pytest.approx(1.5)
    assert worse["box"] > 0.4
    assert worse["gap"] > 0.1


def test_what_is_beside_libsvm(tmp_path):
    found = interior.oracle("splice", options(DATA, tmp_path))
    found.part = "oracle"
    assert found.told["peer"] == "libsvm"
    assert abs(found.told["excess"]) < 1e-8
    assert found.told["difference"] < 1e-5
    assert found.told["otherwise"] == 0
    assert interiortables.residual(found) < 1e-9
    assert not found.wrong()
    found.runs[0].results[-1]["objective"] *= 0.999
    assert found.wrong() == ["crsvm"]


def test_standard_columns_and_peers_that_are_not_optimal(folder, tmp_path):
    found = interior.oracle("splice-standard", options(folder, tmp_path))
    assert found.run("crsvm").results
    assert found.last("crsvm")["gap"] < 1e-9
    (text,) = [line for line in interiortables.oracle_targets([found]) if "residuals" in line]
    assert text.endswith("splice-standard: met")
    found.last("libsvm")["gap"] = 1e-3
    told = interiortables.oracle_targets([found])
    assert len(told) == 2
    assert "ours is no worse: splice-standard (gap 1.0e-03): met" in told[0]
    found.told["excess"] = 1e-3
    assert interiortables.oracle_targets([found])[0].endswith("NOT MET")


# ---- tables --------------------------------------------------------------------------------------


def solved(seconds, iterations, variant):
    run = {"seconds": [seconds], "median": seconds, "ratio": 1 / seconds, "iterations": iterations}
    return run | {"family": variant.family, "upper": variant.upper, "status": "converged", "objective": 0.0}


def test_targets_of_variants():
    def made(name, seconds, iterations):
        runs = [solved(1.0, 20, interiorcases.UNREDUCED), solved(seconds, iterations, interiorcases.USUAL)]
        runs.append(solved(0.5, 24, replace(interiorcases.USUAL, upper=0.25)))
        return Found("variants", name, runs=[Run("crsvm", dict, [{"runs": runs, "seconds": 1.0}])])

    found = [made("a", 0.5, 24), made("b", 0.6, 20), made("c", 0.6, 25), made("d", 0.7, 20)]
    first, best = interiortables.variant_targets(found)
    assert first.endswith("on a, b: NOT MET")
    assert best.endswith("on a, b, c, d: met")
    assert interiortables.variant_targets([*found, made("e", 0.1, 19)])[0].endswith("on a, b, e: met")


def test_growth_and_accuracies_are_found():
    found = [
        Found("adult", f"{m}", n_rows=m, runs=[Run("crsvm", dict, [{"seconds": 1e-5 * m**1.2}])])
        for m in (100, 1000, 5000)
    ]
    assert interiortables.exponent(found, "crsvm") == pytest.approx(1.2)
    assert interiortables.exponent(found, "libsvm") is None
    assert interiortables.adult_targets(found)[0].endswith("NOT MET")
    curve = [(1.0, 150.0), (2.0, 100.05), (4.0, 100.0)]
    assert [interiortables.reached(curve, accuracy) for accuracy in (1.0, 1e-3, 1e-6)] == [1.0, 2.0, 4.0]


def test_command(folder, tmp_path, capsys):
    files = {name: Path(tmp_path, name) for name in ("raw.json", "table.md")}
    folders = ["--data", str(folder), "--cache", str(tmp_path / "cache")]
    output = ["--json", str(files["raw.json"]), "--markdown", str(files["table.md"])]
    wanted = ["mushrooms", "letter", "isolet-like", "a1a", "a5a", "a9a", "splice", "w7a"]
    parts = ["problems", "log", "adult", "lowrank", "oracle"]
    command = ["interior", "--quick", "--repeat", "1", "--part", *parts, "--case", *wanted, *folders, *output]
    assert main(command) == 0
    text, table = capsys.readouterr().out, files["table.md"].read_text()
    assert "NOT RUN: " in text
    assert "w7a: not run: w7a is not in" in table
    results = json.loads(files["raw.json"].read_text())["results"]
    by_name = {(found["part"], found["name"]): found for found in results}
    assert {part for part, _ in by_name} == set(parts)
    for part in parts:
        assert f"### {interiorcases.PARTS[part]}" in table
    of_a9a = {run["name"]: run["results"][-1] for run in by_name["adult", "a9a"]["runs"] if run["results"]}
    assert of_a9a["crsvm"]["objective"] == pytest.approx(of_a9a["libsvm"]["objective"], rel=1e-5)
    if find_spec("sklearn"):
        primals = [primal for _, primal in of_a9a["liblinear"]["curve"]]
        assert min(primals) < of_a9a["crsvm"]["primal"] * 1.1
    assert by_name["adult", "a5a"]["note"] == "the first rows of a9a"
    factors = {run["name"]: run["results"][-1] for run in by_name["lowrank", "a9a"]["runs"]}
    assert factors["libsvm"]["model_hash"] == factors["smo"]["model_hash"]
    assert factors["cholesky, rank 300"]["trace_error"] < 1e-6
    assert 0.5 < factors["eigen, rank 64"]["accuracy"]["factor"] <= 1
    assert main(["interior", "--part", "oracle", "--case", "nobody", *folders]) == 2

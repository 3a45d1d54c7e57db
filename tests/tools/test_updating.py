"""Updates in the benchmarks: every way to the optimum in small, what is refused, and what the tables say."""

import json
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from support.data import DATA

from tools.bench import datasets, streams, updateplot, updaters, updating
from tools.bench.__main__ import main
from tools.bench.cases import Case
from tools.bench.measure import measure

ADD = updating.Artificial("small", "add", (1, 3), n=60, repeat=2)
HEART = updating.Window("window", "heart_scale", 200, 10, costs=(1.0,), gammas=(0.1,))
STREAM = updating.Stream("stream", "heart_scale", 150, 100, 10, settings=((1.0, 0.1),))
SINGLE = updating.Single("single", "heart_scale", 1.0, 0.1, 3)


def options(folder, **change):
    usual = {"data": DATA, "cache": folder, "repeat": 2, "timeout": 600, "max_seconds_once": 100, "tight": True}
    return Namespace(**{**usual, "limit": 600, "every": 1, "libsvm": True, **change})


def prepared(folder, rows=0):
    return str(datasets.prepare(Case("heart", "heart_scale", rows=rows), DATA / "heart_scale", folder))


def change_of(scenario, count=3, n=60):
    return updaters.artificial({"scenario": scenario, "count": count, "n": n, "C": 1.0, "gamma": 1.0}, 0)


@pytest.mark.parametrize("scenario", ["add", "remove", "both"])
def test_rows_that_join_and_leave_have_alpha_C(scenario):
    change = change_of(scenario)
    joining = len(change.y) - change.n
    assert (joining, len(change.gone)) == {"add": (3, 0), "remove": (0, 3), "both": (3, 3)}[scenario]
    before = updaters.kept_state(change.X[:60], change.y[:60], 1.0, 1.0)
    whole = updaters.kept_state(change.X, change.y, 1.0, 1.0)
    np.testing.assert_array_equal(updaters.sizes(before.model, 60)[change.gone], 1.0)
    np.testing.assert_array_equal(updaters.sizes(whole.model, len(change.y))[60:], 1.0)


@pytest.mark.parametrize("scenario", ["add", "remove", "both"])
def test_every_way_ends_at_the_same_optimum(scenario):
    before = updaters.Before(change_of(scenario))
    told = {}
    for name in updating.WAYS:
        work, outcome = updaters.way(name, before)
        work()
        told[name] = outcome()
    exact = told["MID"]["objective"]
    assert told["SID"]["objective"] == pytest.approx(exact, rel=1e-12)
    for name in updating.WAYS:
        assert told[name]["objective"] == pytest.approx(exact, rel=1e-6 if name.endswith(("6", "9", "D")) else 1e-3)
    assert told["SID"]["breakpoints"] >= told["MID"]["breakpoints"] > 0
    assert told["seeded 1e-6"]["iterations"] > 0


def test_what_is_handed_on_keeps_sum_and_bounds():
    y = np.array([1.0, 1, 1, -1, -1, -1])
    beta = np.array([2.0, 1.5, 0, -2, -1, -0.5])
    for gone in ([0], [3], [0, 4], [1, 5]):
        found = updaters.handed_on(beta, y, 2.0, np.array(gone))
        assert found.sum() == pytest.approx(0)
        assert (found[gone] == 0).all()
        assert (y * found >= 0).all() and (y * found <= 2).all()
    # the 2 of row 0: 2/3 each to the free rows 1, 4, 5, which have room for 1/2, 1, 1/2; row 4 takes what is left
    np.testing.assert_allclose(updaters.handed_on(beta, y, 2.0, np.array([0])), [0, 2, 0, -2, 0, 0], atol=1e-12)
    # no row is free
    np.testing.assert_allclose(updaters.handed_on(np.array([2.0, -2]), y[2:4], 2.0, np.array([0])), 0, atol=1e-12)
    assert beta[0] == 2.0  # not modified


def test_theory_is_that_of_section_3_4():
    assert updaters.expected(np.full(16, 0.3)) == pytest.approx(1 / 4)
    assert updaters.expected(np.array([0.5, 0.0])) == 1


def test_artificial_case(tmp_path):
    found = updating.run(ADD, options(tmp_path))
    assert [point.place for point in found.points] == [{"m": 1}, {"m": 3}]
    for point in found.points:
        assert not point.cannot
        assert [run["way"] for run in point.runs].count("MID") == 2
        assert point.expected == pytest.approx(point.place["m"] ** -0.5)
        assert all(run["seconds"] > 0 for run in point.runs)
    assert not found.differs()
    found.points[0].runs[0]["gap"] = 0.1
    assert found.differs()
    assert updateplot.save(tmp_path, found)
    assert json.loads(json.dumps(found.raw()))["case"]["name"] == "small"


def test_window(tmp_path):
    found = updating.run(HEART, options(tmp_path))
    (point,) = found.points
    assert {run["way"] for run in point.runs} == set(updating.WAYS)
    assert not point.cannot
    assert 0 < point.expected < 1
    assert not found.differs()
    heading, row = updating.rows_of(found)
    assert len(heading) == len(row)
    assert "above that of MID, relatively: SID" in updating.table(found)


@pytest.mark.skipif(not updating.SIGXCPU, reason="no limits of CPU time here")
def test_what_is_stopped_is_marked(tmp_path, monkeypatch):
    def endless(job, *more):
        long = {"max_seconds_once": 100, "repeat": 10**6} if job["limit"] else {}
        return measure({**job, **long}, *more)

    monkeypatch.setattr(updating, "measure", endless)
    found = updating.run(HEART, options(tmp_path, limit=0.5, tight=False))
    (point,) = found.points
    assert set(point.cannot) == {"LIBSVM 1e-3", "seeded 1e-6"}
    assert "stopped" in updating.table(found)
    assert "LIBSVM 1e-3: NOT RUN: not done after 0.5 CPU seconds (gamma=0.1, C=1)" in updating.markdown([found])


def test_stream(tmp_path):
    job = {"npz": prepared(tmp_path), "rows": 150, "window": 100, "step": 10, "C": 1.0, "gamma": 0.1, "every": 2}
    told = streams.slide(job)
    assert (told["updates"], told["trained"], told["predicted"], told["asked"]) == (5, 3, 50, 30)
    assert told["breakpoints"] > 0
    assert told["gap"] < 1e-9
    assert told["unlike"] == len(told["doubts"]) <= 2
    assert 0 < told["errors"] < 25
    found = updating.run(STREAM, options(tmp_path))
    assert found.told[0]["trained"] == 5
    assert "unlike LIBSVM" in updating.table(found)


def test_single_rows(tmp_path):
    found = updating.run(SINGLE, options(tmp_path))
    (told,) = found.told
    assert len(told["add"]) == len(told["remove"]) == 3
    assert told["libsvm"] > 0
    assert 0 < told["data_bytes"] <= told["peak_bytes"]
    assert "LIBSVM / add" in updating.table(found)


def test_quick_cases_are_smaller():
    for case in updating.CASES:
        assert updating.quick(case) != case
        assert updating.quick(case).name == case.name


def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(updating, "CASES", (ADD, updating.CASES[3], STREAM))
    files = {name: Path(tmp_path, name) for name in ("raw.json", "table.md")}
    folders = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache")]
    output = ["--json", str(files["raw.json"]), "--markdown", str(files["table.md"]), "--figures", str(tmp_path)]
    assert main(["updating", "small", "fisher", "--repeat", "1", *folders, *output]) == 0
    assert "NOT RUN: fisher is not in" in capsys.readouterr().out
    assert [found["case"]["name"] for found in json.loads(files["raw.json"].read_text())["results"]] == [
        "small",
        "fisher",
    ]
    assert "not run: fisher is not in" in files["table.md"].read_text()
    with pytest.raises(SystemExit):
        main(["updating", "nobody"])

"""Updates in the benchmarks: every way to the optimum on few rows, refusals, and the tables."""

import json
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from support.data import DATA

from tools.bench import datasets
from tools.bench.__main__ import job_of, main
from tools.bench.cases import Case
from tools.bench.jobs import streams, updating, ways_to_update
from tools.bench.measure import SIGALRM

JOB = job_of("updating")
ADD = updating.Update("small", "artificial", "rows join", (1, 3), 60, scenario="add")
HEART = updating.Update("window", "window", "the next 10", (10,), 200, ((1.0, 0.1),), "heart_scale")
STREAM = updating.Update("stream", "stream", "10 at a time", (10,), 100, ((1.0, 0.1),), "heart_scale", 150)
SINGLE = updating.Update("single", "single", "3 rows", (3,), settings=((1.0, 0.1),), data="heart_scale")


def options(folder, **change):
    usual = {"data": DATA, "cache": folder, "repeat": 2, "timeout": 600, "max_seconds_once": 100, "tight": True}
    return Namespace(**{**usual, "limit": 600, "libsvm": True, **change})


def change_of(scenario, count=3, n=60):
    return ways_to_update.artificial({"scenario": scenario, "count": count, "n": n, "C": 1.0, "gamma": 1.0}, 0)


@pytest.mark.parametrize("scenario", ["add", "remove", "both"])
def test_rows_that_join_and_leave_have_alpha_C(scenario):
    change = change_of(scenario)
    joining = len(change.y) - change.n
    assert (joining, len(change.gone)) == {"add": (3, 0), "remove": (0, 3), "both": (3, 3)}[scenario]
    before = ways_to_update.kept_state(change.X[:60], change.y[:60], 1.0, 1.0)
    whole = ways_to_update.kept_state(change.X, change.y, 1.0, 1.0)
    np.testing.assert_array_equal(ways_to_update.sizes(before.model, 60)[change.gone], 1.0)
    np.testing.assert_array_equal(ways_to_update.sizes(whole.model, len(change.y))[60:], 1.0)


@pytest.mark.parametrize("scenario", ["add", "remove", "both"])
def test_every_way_ends_at_the_same_optimum(scenario):
    before = ways_to_update.Before(change_of(scenario))
    told = {}
    for name in updating.WAYS:
        work, outcome = ways_to_update.way(name, before)
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
        found = ways_to_update.handed_on(beta, y, 2.0, np.array(gone))
        assert found.sum() == pytest.approx(0)
        assert (found[gone] == 0).all()
        assert (y * found >= 0).all() and (y * found <= 2).all()
    # the 2 of row 0: 2/3 each to the free rows 1, 4, 5, which have room for 1/2, 1, 1/2; row 4 takes the rest
    np.testing.assert_allclose(ways_to_update.handed_on(beta, y, 2.0, np.array([0])), [0, 2, 0, -2, 0, 0], atol=1e-12)
    # no row is free
    np.testing.assert_allclose(ways_to_update.handed_on(np.array([2.0, -2]), y[2:4], 2.0, np.array([0])), 0, atol=1e-12)
    assert beta[0] == 2.0  # not modified


def test_theory_is_that_of_section_3_4():
    assert ways_to_update.expected(np.full(16, 0.3)) == pytest.approx(1 / 4)
    assert ways_to_update.expected(np.array([0.5, 0.0])) == 1


def test_artificial_case(tmp_path):
    found = JOB.run(ADD, options(tmp_path))
    points = updating.points_of(found)
    assert [point.place for point in points] == [{"m": 1}, {"m": 3}]
    for point in points:
        assert not point.stopped
        assert [run["way"] for run in point.runs].count("MID") == 2
        assert point.expected == pytest.approx(point.place["m"] ** -0.5)
        assert all(run["seconds"] > 0 for run in point.runs)
    assert not JOB.wrong(found)
    assert JOB.draw(tmp_path, [found])
    assert json.loads(json.dumps(found.raw()))["case"]["name"] == "small"
    first = found.runs[0].last["runs"][0]
    found.runs[0].last["runs"][0] = {**first, "gap": 0.1}
    assert JOB.wrong(found) == ["NOT OPTIMAL: a path's KKT gap"]
    found.runs[0].last["runs"][0] = first
    for run in found.runs[0].last["runs"]:
        run["objective"] -= 1e-5 * abs(run["objective"]) * (run["way"] == "LIBSVM 1e-9")
    assert JOB.wrong(found) == ["NOT OPTIMAL: MID beside LIBSVM 1e-9"]


@pytest.mark.exhaustive
def test_window(tmp_path):
    found = JOB.run(HEART, options(tmp_path))
    (point,) = updating.points_of(found)
    assert {run["way"] for run in point.runs} == set(updating.WAYS)
    assert not point.stopped
    assert 0 < point.expected < 1
    assert not JOB.wrong(found)
    heading, row = JOB.table(found).rows
    assert len(heading) == len(row)
    assert "above that of MID, relatively: SID" in JOB.table(found).text()


@pytest.mark.exhaustive
@pytest.mark.skipif(not SIGALRM, reason="no limits of CPU time here")
def test_what_is_stopped_is_marked(tmp_path):
    found = JOB.run(HEART, options(tmp_path, limit=1e-6, tight=False))
    (point,) = updating.points_of(found)
    assert point.stopped == {"LIBSVM 1e-3", "seeded 1e-6"}
    told = JOB.table(found).text()
    assert "stopped" in told
    assert "LIBSVM 1e-3, gamma=0.1, C=1: NOT RUN: not done after 1e-06 s" in told


def test_stream(tmp_path):
    npz = str(datasets.prepare(Case("heart", "heart_scale"), DATA, tmp_path))
    told = streams.stream({"npz": npz, "rows": 150, "n": 100, "count": 10, "C": 1.0, "gamma": 0.1})
    assert (told["updates"], told["predicted"]) == (5, 50)
    assert told["breakpoints"] > 0
    assert told["gap"] < 1e-9
    assert len(told["doubts"]) <= 2
    assert all((doubt["path"] > 0) != (doubt["libsvm"] > 0) for doubt in told["doubts"])
    assert 0 < told["errors"] < 25
    assert min(told[name] for name in ("path", "libsvm", "cold")) > 0
    found = JOB.run(STREAM, options(tmp_path))
    assert found.runs[0].last["updates"] == 5
    assert "unlike LIBSVM" in JOB.table(found).text()
    found.runs[0].last["doubts"] = [{"row": 7, "path": 1e-4, "tight": 2e-4, "libsvm": -1.0}]
    table = JOB.table(found)
    assert dict(zip(*table.rows, strict=True))["alike at 1e-6"] == "1"
    assert "LIBSVM predicts row 8 as -1; decision value +1.00e-04 of the path" in table.notes[-1]


def test_single_rows(tmp_path):
    found = JOB.run(SINGLE, options(tmp_path))
    told = found.runs[0].last
    assert len(told["add"]) == len(told["remove"]) == 3
    assert told["libsvm"] > 0
    assert 0 < told["data_bytes"] <= told["peak_bytes"]
    assert "with breakpoints" in JOB.table(found).text()


def test_quick_cases_are_smaller():
    for case in updating.CASES:
        assert case.quick() != case


class Small(updating.Updating):
    """With a case of few rows among its own."""

    def every_case(self, options):
        return [ADD, *super().every_case(options)]


@pytest.mark.exhaustive
def test_command(tmp_path, capsys):
    files = {name: Path(tmp_path, name) for name in ("raw.json", "table.md")}
    folders = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache")]
    output = ["--json", str(files["raw.json"]), "--markdown", str(files["table.md"]), "--figures", str(tmp_path)]
    assert main(["updating", "--case", "small", "fisher", "--repeat", "1", *folders, *output], Small()) == 0
    assert "NOT RUN: fisher is not in" in capsys.readouterr().out
    raw = json.loads(files["raw.json"].read_text())["results"]
    assert [found["case"]["name"] for found in raw] == ["small", "fisher"]
    assert "fisher is not in" in files["table.md"].read_text()
    with pytest.raises(SystemExit):
        main(["updating", "--case", "nobody"])

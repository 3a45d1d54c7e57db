"""The benchmarks of cross-validation, leave-one-out, grids, readers and predictions, each on few rows."""

import json
import lzma
import os
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.bench import options, prepared
from support.data import DATA
from support.oracle import Oracle

import libsvmx
from tools.bench import datasets, turns
from tools.bench.__main__ import job_of, main
from tools.bench.cases import Case
from tools.bench.jobs import grid, seeding, validators
from tools.bench.protocol import Found

HEART = Case("heart_scale", "heart_scale")


def validated(validator, folder, *call, **job):
    """(result, lines) of a validator in this process, on heart_scale or its first rows; ``call`` replaces its own."""
    records, rows = Path(folder, "records"), job.pop("rows", 0)
    records.write_text("")
    npz = datasets.prepare(Case("heart", "heart_scale", rows=rows), DATA, folder)
    job = {"records": str(records), "predictions": str(Path(folder, "predictions.npy")), "seconds": 1e9, **job}
    result = getattr(validators, validator)({"npz": str(npz), **job}, *call)
    return result, [json.loads(line) for line in records.read_text().splitlines()]


def oracle(dataset, options):
    return Oracle(datasets.csr_matrix(dataset), dataset.targets, options)


@pytest.mark.parametrize("k", [2, 7, 40])
def test_folds_one_by_one_are_those_of_the_oracle(k, tmp_path):
    dataset = prepared("heart_scale", tmp_path, rows=40)  # 40 folds: leave-one-out, whose folds are not stratified
    job = {"options": "-c 2182 -g 0.2", "folds": k}
    _, lines = validated("libsvm_folds", tmp_path, rows=40, **job)
    reference = oracle(dataset, job["options"])
    np.testing.assert_array_equal(seeding.of_records(lines, 40), reference.cross_validate(k))
    assert sorted(row for line in lines for row in line["rows"]) == list(range(40))
    told = [int(line.split("= ")[1]) for line in reference.transcript.splitlines() if "#iter" in line]
    assert [line["iterations"] for line in lines] == told
    assert sum(told) > 0


def test_without_time_one_part_stands_for_all(tmp_path):
    path = datasets.prepare(HEART, DATA, tmp_path)
    job = {"call": "jobs.validators:libsvm_folds", "npz": str(path), "options": "", "folds": 5}
    found = turns.sampled({**job, "seconds": 0}, 5, 100)
    (line,) = found["records"]
    assert found["seconds"] == pytest.approx(5 * line["seconds"]) == pytest.approx(5 * found["spent"])
    assert found["iterations"] == 5 * line["iterations"]
    assert turns.mark(found) == "~"
    assert turns.mark(turns.sampled({**job, "seconds": 1e9}, 5, 100)) == ""


def test_what_was_measured_outlives_a_stopped_child():
    def stopped(job, threads, timeout):
        lines = [{"seconds": 2.0, "iterations": 10}, {"seconds": 4.0, "iterations": 20}]
        Path(job["records"]).write_text("\n".join(map(json.dumps, lines)) + '\n{"seconds": 5.')
        return {"cannot": "not done after 7 s"}

    found = turns.sampled({"seconds": 6}, 10, 1, stopped)
    assert (found["seconds"], found["iterations"], found["measured"]) == (30, 150, 2)
    run = turns.Run("LIBSVM", lambda: found, [found])
    assert turns.extrapolation([run], "folds") == [
        "LIBSVM: 2 of 10 folds measured (not done after 7 s), ~ is extrapolated"
    ]
    assert turns.sampled({"seconds": 6}, 10, 1, lambda *arguments: {"cannot": "broken"}) == {"cannot": "broken"}


def test_points_are_those_of_the_oracle(tmp_path):
    dataset = prepared("heart_scale", tmp_path)
    points = [(1, -3), (-1, 1)]
    _, lines = validated("libsvm_points", tmp_path, options="", folds=5, points=points)
    assert [tuple(line["point"]) for line in lines] == points
    for (log2c, log2g), line in zip(points, lines, strict=True):
        predicted = oracle(dataset, f"-c {2.0**log2c} -g {2.0**log2g}").cross_validate(5)
        assert line["right"] == np.sum(predicted == dataset.targets)
    assert lines[0]["right"] != lines[1]["right"]


def fold(**values):
    record = dict.fromkeys(validators.SUMMED, 1) | {"objective": -1.0, "rho": 0.5, "n_sv": 3, "seeder": "sir"}
    record |= {"gap": 1e-4, "status": "converged"}
    return SimpleNamespace(**record | values)


def test_seeders_are_called_and_their_folds_summed(tmp_path):
    """The benchmark's summary of a made-up result."""
    dataset, asked = prepared("heart_scale", tmp_path), []

    def cross_validate(X, y, n_folds, *, seeder, scheme, C, threads, **more):
        asked.append((X.n_rows, n_folds, C, threads, seeder, scheme))
        folds = (fold(iterations=40), fold(iterations=2, rho=memoryview(b"ab"), seeder="none"))
        whole = fold(iterations=100, solving_seconds=7) if scheme == "star" else None
        return SimpleNamespace(predictions=-y, folds=folds, seeder=seeder, scheme=scheme, whole=whole)

    job = {"options": "-c 3", "folds": 4}
    star, _ = validated("svmx_folds", tmp_path, cross_validate, seeder="sir", scheme="star", **job)
    assert (star["iterations"], star["whole_seconds"]) == (142, 8)
    assert star["seeders"] == {"sir": 1, "none": 1}
    assert json.loads(json.dumps(star))["folds"][1]["rho"] == [97, 98]
    np.testing.assert_array_equal(np.load(tmp_path / "predictions.npy"), -dataset.targets)
    exact, _ = validated("svmx_folds", tmp_path, cross_validate, seeder="none", scheme="", **job)
    assert (exact["iterations"], exact["whole_seconds"]) == (42, None)
    assert asked == [(270, 4, 3, 1, "sir", "star"), (270, 4, 3, 1, "none", "")]


def test_leave_one_out_is_called(tmp_path):
    result, _ = validated("svmx_leave_one_out", tmp_path, rows=200, options="-g 0.1")
    dataset = prepared("heart_scale", tmp_path, rows=200)
    expected = libsvmx.leave_one_out(datasets.csr_matrix(dataset), dataset.targets, gamma=0.1, threads=1)
    assert result["iterations"] == sum(fold.iterations for fold in expected.folds) > 0
    assert len(expected.folds) > validators.MAX_FOLDS_TOLD
    assert (result["retrained"], result["folds"]) == (len(expected.retrained), [])
    np.testing.assert_array_equal(np.load(tmp_path / "predictions.npy"), expected.predictions)


def test_predictions_are_compared_row_by_row(tmp_path):
    job = job_of("seeding")
    targets = np.array([1.0, 1, -1, -1])
    records = [{"rows": [3, 0], "predictions": [-1.0, -1.0]}]
    times = {"LIBSVM": 8.0, "none": 4.0, "sir-star": 2.0, "top-chain": None}
    more = {"iterations": 1, "seeders": {}, "scheme": "", "unfinished": 3}
    runs = [turns.Run(name, dict, [{"seconds": s, **more}] if s else []) for name, s in times.items()]
    runs[0].results[0] |= {"records": records, "measured": 1, "parts": 2, "stopped": "", "spent": 4.0}
    runs[3].cannot = "broken"
    np.save(tmp_path / "none.npy", np.array([-1.0, 1, -1, -1]))
    np.save(tmp_path / "sir-star.npy", np.array([1.0, -1, -1, -1]))
    found = Found(job_of("seeding").every_case(Namespace(folds=[10]))[0], "", 4, 2, runs=runs)
    found.told = seeding.judged(runs, targets, tmp_path)
    disagreed = found.told["disagreed"]
    assert found.told == {
        "LIBSVM": {"accuracy": None, "accuracy_there": 50, "unlike_exact": 0, "unlike_oracle": 0},
        "none": {"accuracy": 75, "accuracy_there": 50, "unlike_exact": 0, "unlike_oracle": 0},
        "sir-star": {"accuracy": 75, "accuracy_there": 100, "unlike_exact": 2, "unlike_oracle": 1},
        "disagreed": disagreed,
    }
    assert disagreed == 2
    assert not job.wrong(found)
    assert [found.ratio("LIBSVM", run.name) for run in found.runs] == [1, 2, 4, None]
    told = job.table(found).text()
    assert "LIBSVM: 1 of 2 folds measured" in told
    assert "top-chain: NOT RUN: broken" in told
    assert "sir-star: 3 rounds did not converge" in told
    assert "| heart | 10 | ~8.00 | 4.00 (2.0) | 2.00 (4.0) |" in job.tables([found])[0].markdown()
    np.save(tmp_path / "none.npy", targets)
    found.told = seeding.judged(runs, targets, tmp_path)
    assert job.wrong(found)
    assert "DIFFER" in job.table(found).text()


def test_rounds_that_fell_back_are_told():
    def told(name, scheme, **seeders):
        return seeding.others(turns.Run(name, dict, [{"seeders": seeders, "scheme": scheme}]))

    assert told("sir-chain", "chain", none=1, sir=9) == {}
    assert told("sir-chain", "chain", none=2, sir=8) == {"none": 1}
    assert told("sir-star", "star", none=1, sir=9) == {"none": 1}
    assert told("auto", "star", top=4) == {"top": 4}
    assert told("none", "", none=4) == {}


def test_seeders_stand_for_both_schemes():
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


def test_points_are_all_and_in_an_order_of_their_own():
    rows, columns = list(range(10)), list(range(7))
    points = grid.spread(rows, columns)
    assert sorted(points) == [(r, c) for r in rows for c in columns]
    assert points == grid.spread(rows, columns) != sorted(points)


def test_steps_are_those_of_the_grid():
    assert grid.steps("-5,13,2") == [-5, -3, -1, 1, 3, 5, 7, 9, 11, 13]
    assert grid.steps("3,-15,-2")[-1] == -15
    assert len(grid.steps("0,0.3,0.1")) == 4
    with pytest.raises(ValueError, match="no step"):
        grid.steps("1,2,-1")


def test_rates_are_read_as_grid_writes_them():
    written = "log2c=-1.0 log2g=-7.0 rate=88.8\n# log2c\nlog2c=5 log2g=3 rate=1e-05\n"
    assert grid.read_rates(written) == {(-1, -7): 88.8, (5, 3): 1e-05}


def test_searches_are_compared_point_by_point():
    job = job_of("grid")
    runs = [turns.Run(name, dict, [{"seconds": s, "records": []}]) for name, s in (("LIBSVM", 9), ("svmx-grid", 3))]
    found = Found(Case("splice", "splice"), n_rows=10, runs=runs)
    seeded = [[0, 0, 5], [0, 1, 8], [1, 0, 9]]
    found.told["right"] = {"LIBSVM": [[0, 0, 5], [0, 1, 6]], "svmx-grid": seeded}
    assert grid.unlike(found, "svmx-grid", "LIBSVM") == {"points": 2, "unlike": 1, "rows": 2}
    assert found.ratio("LIBSVM", "svmx-grid") == 3
    assert not job.wrong(found)
    found.told["right"]["svmx-grid, none"] = seeded
    assert job.wrong(found)
    assert "DIFFER" in job.table(found).text()


@pytest.mark.exhaustive
def test_grid_of_libsvm(tmp_path):
    asked = options(tmp_path, seconds=1e9, megabytes=100, log2c="-1,1,2", log2g="-1,-3,-2", fold=3)
    job = job_of("grid")
    found = job.run(Case("heart", "heart_scale"), asked)
    points = {(-1, -1), (-1, -3), (1, -1), (1, -3)}
    for run in found.runs:
        assert {(C, gamma) for C, gamma, _ in found.told["right"][run.name]} == points
    assert not job.wrong(found)
    assert json.loads(json.dumps(found.raw()))["runs"][0]["name"] == "LIBSVM"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("job", "cases_and_more", "heading", "accuracy"),
    [
        (
            "seeding",
            ["--case", "heart", "adult", "--folds", "3", "--seeder", "LIBSVM", "none", "sir"],
            "3 folds",
            100 * 150 / 270,  # the share of the larger class: unscaled, nothing is learnt
        ),
        ("loo", ["--case", "heart_scale", "a9a-c1"], "leave-one-out", 100 * 221 / 270),
    ],
)
def test_command_of_validations(job, cases_and_more, heading, accuracy, tmp_path, capsys):
    files = {name: Path(tmp_path, name) for name in ("raw.json", "table.md")}
    folders = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache")]
    output = ["--json", str(files["raw.json"]), "--markdown", str(files["table.md"])]
    assert main([job, *cases_and_more, "--repeat", "1", *folders, *output]) == 0
    assert "NOT RUN: a9a is not in" in capsys.readouterr().out
    raw = json.loads(files["raw.json"].read_text())
    found = next(result for result in raw["results"] if not result["cannot"])
    assert found["told"]["LIBSVM"]["accuracy"] == pytest.approx(accuracy)
    assert "predictions" not in found["runs"][0]["results"][0]["records"][0]
    if job == "seeding":
        assert found["told"]["none"] == found["told"]["LIBSVM"]
        assert [run["name"] for run in found["runs"] if run["median"]] == ["LIBSVM", "none", "sir-chain", "sir-star"]
        assert found["runs"][1]["results"][0]["iterations"] == found["runs"][0]["results"][0]["iterations"] > 0
    assert heading in files["table.md"].read_text()
    assert "NOT RUN: a9a is not in" in files["table.md"].read_text()


@pytest.fixture
def fake(tmp_path):
    """A script that replaces LIBSVM's commands, once written; a9a and a9a.t are the first rows of a1a."""
    if os.name == "nt":
        pytest.skip("a script takes their place")
    rows = lzma.decompress((DATA / "a1a.xz").read_bytes()).splitlines(keepends=True)[:200]
    for name in ("a9a", "a9a.t"):
        (tmp_path / name).write_bytes(b"".join(rows))
    script = tmp_path / "svm-predict"
    script.touch(0o755)
    return script


def common(fake):
    return ["--data", str(fake.parent), "--cache", str(fake.parent / "cache"), "--repeat", "1"]


@pytest.mark.exhaustive
def test_commands_of_readers_and_predictions(fake, capsys):
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from libsvmx.cli.predict import entry; entry()" "$@"\n')
    assert main(["predicting", "--case", "a9a.t", "--svm-predict", str(fake), *common(fake)]) == 0
    assert "equal" in capsys.readouterr().out
    fake.write_text("#!/bin/sh\necho 'ERROR: C <= 0' >&2\nexit 1\n")
    assert main(["reading", "--case", "a9a", "madelon", "--svm-train", str(fake), *common(fake)]) == 0
    told = capsys.readouterr().out
    assert "madelon is not in" in told
    assert "LIBSVM: NOT RUN" not in told
    fake.write_text("#!/bin/sh\necho trained\n")
    assert main(["reading", "--case", "a9a", "--svm-train", str(fake), *common(fake)]) == 0
    assert "LIBSVM: NOT RUN: exit code 0" in capsys.readouterr().out


def test_predictions_that_differ_are_told(fake, capsys):
    fake.write_text("#!/bin/sh\necho 1 > $3\n")
    assert main(["predicting", "--case", "a9a.t", "--svm-predict", str(fake), *common(fake)]) == 1
    assert "output files DIFFER" in capsys.readouterr().out

"""Benchmark jobs whose tables compare user-level calls: searches, svmutil, commands."""

import numpy as np
import pytest
from support.bench import options
from support.data import DATA
from support.optional import optional

from tools.bench import datasets
from tools.bench.__main__ import job_of
from tools.bench.cases import Case
from tools.bench.jobs import commands, functions, selection, small
from tools.bench.protocol import Found


def test_a_search_by_torchkms_protocol_scores_as_scikit_learns(tmp_path):
    optional("sklearn")
    job = job_of("selection")
    case = Case("mixture", "mixture-10", rows=120, part="checked")
    found = job.run(case, options(tmp_path, threads=1))
    ours, theirs = (found.last(way) for way in (selection.OURS, selection.ORACLE))
    assert len(ours["scores"]) == selection.N_COSTS
    assert found.told["rows_apart"] == 0
    assert ours["best"][1] > 0.7
    assert ours["gamma"] == theirs["gamma"]
    assert not job.wrong(found)
    found.told["rows_apart"] = 2
    assert job.wrong(found)
    assert "differ by at most 2 rows" in job.table(found).text()


def test_sigest_lies_between_the_quantiles():
    X = np.random.default_rng(0).standard_normal((4000, 5))  # d^2 / 2 is chi^2 with 5 degrees: 1.61 to 9.24
    assert selection.sigest(X) == pytest.approx((1 / 3.22 + 1 / 18.47) / 2, rel=0.1)


def test_calls_of_svmutil_agree(tmp_path):
    job = job_of("small")
    found = job.run(Case("iris", "iris.scale"), options(tmp_path))
    assert not job.wrong(found)
    assert small.times(found, "train") > 0
    assert "geometric mean" in job.tables([found])[0].text()
    found.last(small.OURS)["said"] = "another"
    assert job.wrong(found)


def test_commands_are_timed_by_threads(tmp_path):
    job = job_of("commands")
    found = job.run(Case("heart", "heart_scale", note="-v 3", part=commands.THREADS), options(tmp_path))
    assert found.runs[0].name == "1"
    assert all(run.results and "Accuracy" in run.last["output"] for run in found.runs)
    again = Found.of_raw(found.raw(), found.case)
    assert job.table(again).text() == job.table(found).text()


@pytest.mark.parametrize("part", functions.WAYS)
def test_calls_that_stand_for_many_trainings(tmp_path, part):
    optional("sklearn")
    npz = datasets.prepare(Case(part, "heart_scale", rows=60), DATA, tmp_path)
    words = "-t 0 -c 1" if part == "elimination" else "-c 1 -g 0.1"
    for way in functions.WAYS[part]:
        assert functions.called({"npz": str(npz), "options": words, "part": part, "way": way})["seconds"] > 0


def test_a_call_that_others_do_not_have(tmp_path):
    optional("sklearn")
    job = job_of("functions")
    found = job.run(Case("influence", "heart_scale", "-c 1", rows=60, part="influence"), options(tmp_path))
    assert [run.cannot for run in found.runs] == ["", "", functions.NO_WAY]
    assert functions.NO_WAY in job.table(found).text()

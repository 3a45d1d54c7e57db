"""The benchmark of solver auto: its cells, reports and errors."""

import pytest
from support.bench import options

from tools.bench.__main__ import job_of
from tools.bench.cases import Case
from tools.bench.jobs.choosing import KERNEL, LINEAR, WAYS, beside_best, cell, is_near

JOB = job_of("choosing")


def ran(folder, text="-t 2 -g 0.1 -c 10 -m 100", names=KERNEL):
    case = Case("heart", "heart_scale", text, part="rbf", ways=tuple(WAYS[name] for name in names))
    return JOB.run(case, options(folder, limit=100))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("cells"))


def test_cells_have_names_of_their_own_and_ways():
    cases = JOB.every_case(None)
    assert len({(case.name, case.part) for case in cases}) == len(cases) >= 100
    assert {case.part for case in cases} == set(JOB.parts)
    assert {tuple(way.name for way in case.ways) for case in cases} == {KERNEL, LINEAR}


def test_every_solver_ends_at_the_same_optimum(found):
    assert not JOB.wrong(found)
    assert [run.last["status"] for run in found.runs] == ["converged"] * 4
    assert "above smo" in JOB.table(found).text()


def test_a_cell_that_is_won_and_one_that_is_not(found):
    for run, seconds in zip(found.runs, (2.0, 3.0, 1.0, 4.0), strict=True):
        run.results[:] = [{**run.results[0], "seconds": seconds}]
    assert beside_best(found) == 2.0
    assert not is_near(2.0, found)
    assert "within 15% of the best in 0 of 1 cells, at worst 2.00 times" in JOB.tables([found])[0].text()
    found.runs[2].last["status"] = "iteration limit"
    assert beside_best(found) == 1.0
    assert is_near(1.0, found)
    assert cell(found, "chunked") == "(1)"
    found.runs[0].last["status"] = "rounding"
    assert beside_best(found) == float("inf")
    for run in found.runs:
        run.last["status"] = "iteration limit"
    assert beside_best(found) is None
    assert "1 cells that no solver has ended" in JOB.tables([found])[0].text()


@pytest.mark.exhaustive
def test_an_optimum_that_is_none(tmp_path):
    found = ran(tmp_path, "-t 0 -c 1 -m 100", LINEAR)
    assert not JOB.wrong(found)
    told = found.told["judged"]
    told["crsvm"] = {**told["crsvm"], "gap": 1.0, "objective": 0.5 * told["crsvm"]["objective"]}
    assert JOB.wrong(found) == ["NOT OPTIMAL: crsvm"]

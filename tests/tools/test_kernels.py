"""The benchmark of kernels: every form with both libraries, reports and errors."""

import pytest
from support.bench import options

from tools.bench.__main__ import job_of
from tools.bench.cases import Case
from tools.bench.turns import Run

JOB = job_of("kernels")


def test_every_form(tmp_path):
    found = JOB.run(Case("tanimoto 60", "mushrooms", "-c 1", 60, part="tanimoto"), options(tmp_path))
    assert [run.name for run in found.runs if run.cannot] == ["by name, sklearn"]
    for run in found.runs:
        if run.results:
            assert run.last["right"] > 0.9
            assert run.seconds == pytest.approx(sum(run.last[call] for call in ("fit", "predict", "search")))
            assert (run.last["asked"] is not None) == run.name.startswith("function")
    assert found.last("function, sklearn")["asked"] == 1
    assert not JOB.wrong(found)
    assert "right" in JOB.table(found).text()
    (beside,) = JOB.tables([found])
    assert [len(row) for row in beside.rows] == [11] * 5
    assert beside.rows[1][7:] == ("",) * 4  # scikit-learn has no Tanimoto
    found.runs.append(Run("other", None, [{"right": 0.5}]))
    assert len(JOB.wrong(found)) == 1


def test_an_example(tmp_path):
    (case,) = (case for case in JOB.every_case(None) if case.name == "Sums and products")
    found = JOB.run(case, options(tmp_path))
    assert found.last("libsvmx")["seconds"] > 0
    assert not JOB.wrong(found)
    assert "median s" in JOB.table(found).text()
    assert JOB.tables([found]) == []

"""The benchmark of intervals: its report and its errors."""

import pytest
from support.bench import options
from support.selection import quick_first

from tools.bench.__main__ import job_of
from tools.bench.cases import Case
from tools.bench.jobs.intervals import OURS, THEIRS
from tools.bench.turns import Run

JOB = job_of("intervals")


@pytest.mark.parametrize("part", quick_first(list(JOB.parts)))
def test_a_case(part, tmp_path):
    found = JOB.run(Case("mpg", "mpg", "-s 3 -c 7 -p 0.7", 60, standard=True, part=part), options(tmp_path))
    assert 0.7 < found.last(OURS)["covered"] <= 1
    assert found.last(OURS)["width"] > 1
    assert not JOB.wrong(found)
    assert "covered" in JOB.table(found).text()
    # MAPIE may be missing
    found.runs = [found.runs[0], Run(THEIRS, None, [{"seconds": 1.0, "covered": 0.9, "width": 0.5}])]
    assert bool(JOB.wrong(found)) == (part == "jackknife")  # each library draws its own CV+ folds
    assert found.ratio(THEIRS, OURS) == pytest.approx(1 / found.last(OURS)["seconds"])

"""svmx-grid: format of the exponents, and points resumed from either spelling."""

import re

import pytest
from support import data, gridengine
from support.policies import of_commands

from libsvmx.exceptions import DataError

# LIBSVM's grid.py -svmtrain svm-train -gnuplot null -v 2 -log2g null wine.scale: exponents by default, integers
DEFAULT_AXIS = """\
log2c=5 rate=97.191
log2c=-1 rate=97.7528
log2c=11 rate=97.191
log2c=-3 rate=75.2809
log2c=9 rate=97.191
log2c=3 rate=97.191
log2c=15 rate=97.191
log2c=-5 rate=39.8876
log2c=7 rate=97.191
log2c=1 rate=96.0674
log2c=13 rate=97.191
"""


def lines_for_grid_py(content):
    return sorted(line for line in content.decode().splitlines() if not line.startswith("#"))


def test_exponents_of_a_default_axis_are_whole_numbers(folder):
    args = ["-v", "2", "-log2g", "null", "--seeder", "none", "--csv", "table", str(data.DATA / "wine.scale")]
    _, out = folder.accepts("svmx-grid", *args)
    assert lines_for_grid_py(folder.get("wine.scale.out")) == sorted(DEFAULT_AXIS.splitlines())
    assert "[local] 5 97.191 (best c=" in out
    assert out.endswith("\n0.5 97.7528\n")
    assert folder.get("table").splitlines()[1].startswith(b"5.0,,32.0,")  # the table is our own


def test_each_axis_for_itself(folder):
    wine = str(data.DATA / "wine.scale")
    _, out = folder.accepts("svmx-grid", "-v", "2", "-log2c", "1,3,2", "-png", "null", wine)
    lines = lines_for_grid_py(folder.get("wine.scale.out"))
    assert all(re.fullmatch(r"log2c=[13]\.0 log2g=-?\d+ rate=.*", line) for line in lines)
    assert re.search(r"^\[local\] 1\.0 -5 ", out, re.M)
    _, out = folder.accepts("svmx-grid", "-v", "2", "-log2g", "-1,-3,-2", "-png", "null", wine)
    lines = lines_for_grid_py(folder.get("wine.scale.out"))
    assert all(re.fullmatch(r"log2c=-?\d+ log2g=-[13]\.0 rate=.*", line) for line in lines)


@pytest.mark.parametrize("spelled", ["5", "5.0"])
@pytest.mark.parametrize("axis", [[], ["-log2c", "-5,15,2"]])
def test_points_are_resumed_however_they_are_spelled(folder, spelled, axis):
    folder.put("theirs", DEFAULT_AXIS.replace("=5 ", f"={spelled} "))
    args = ["-v", "2", *axis, "-log2g", "null", "--seeder", "none", "-resume", "theirs"]
    _, out = folder.accepts("svmx-grid", *args, str(data.DATA / "wine.scale"))
    assert out.count("[resumed] ") == 11
    assert "[resumed] 5.0 97.191 " in out  # as grid.py, which reads floats
    assert "[local]" not in out


def test_starts_of_columns_are_found_whichever_way_the_axis_was_given(folder, monkeypatch):
    of_commands(monkeypatch, min_recompute_seconds=0.0)
    costs = []

    def ending_at_the_last(problem, param, *rest, **options):
        costs.append(param.C)
        if len(costs) == 11:
            raise DataError("the end")
        return gridengine.chained(problem, param, *rest)

    gridengine.use(monkeypatch, ending_at_the_last)
    search = ["-v", "2", "-log2g", "null", "--seeder", "sir", str(data.DATA / "wine.scale")]
    assert folder.call("svmx-grid", *search)[0] == 1
    kept = folder.get("wine.scale.out")
    _, out = folder.accepts("svmx-grid", "-log2c", "-5,15,2", "-resume", *search)
    assert out.count("[local]") == 1
    assert costs[10:] == [2.0**15, 2.0**15]  # from the saved start: otherwise the whole column again
    assert folder.get("wine.scale.out").startswith(kept)
    assert folder.get("wine.scale.out").count(b"# svmx-grid") == 1

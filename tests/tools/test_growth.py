"""The benchmark of times by number of rows: the points measured, and drawing from saved results."""

import json
from dataclasses import replace

import pytest
from support.bench import options
from support.optional import optional

from tools.bench import machine
from tools.bench.__main__ import main
from tools.bench.cases import Way
from tools.bench.jobs.growth import ORACLE, OURS, Growth, Part, series, told_of

optional("matplotlib")

WAYS = (Way(OURS), Way(ORACLE, "libsvm"))


def parts(*sizes):
    return [Part(f"heart-{n}", "heart_scale", "-c 1", rows=n, part="heart", ways=WAYS) for n in sizes]


@pytest.fixture
def asked(tmp_path):
    return options(tmp_path, saved=None, most_seconds=100.0)


def test_models_are_equal_and_times_grow_into_a_figure(asked, tmp_path):
    job = Growth()
    job.machine = machine.description()
    results = [job.run(case, asked) for case in parts(50, 100)]
    assert [job.wrong(found) for found in results] == [[], []]
    assert [found.n_rows for found in results] == [50, 100]
    assert results[0].told["judged"][OURS]["gap"] < 0.002
    assert "heart_scale" in job.table(results[0]).text()
    assert "100" in job.tables(results)[0].text()
    drawn = tmp_path / "figures"
    assert str(drawn / "growth.svg") in job.draw(drawn, results)
    numbers = json.loads((drawn / "growth.json").read_text())
    assert numbers["sets"]["heart"][OURS]["rows"] == [50, 100]
    assert "libsvmx" in numbers["measured"]
    results[0].last(OURS)["model_hash"] = "another"
    assert job.wrong(results[0]) == ["libsvmx: its model is not LIBSVM's: DIFFER"]
    results[1].told["judged"][OURS] = {**results[1].told["judged"][OURS], "objective": 0.0}
    assert job.wrong(results[1]) == ["NOT OPTIMAL: libsvmx"]


@pytest.mark.exhaustive
def test_a_way_that_would_take_too_long_is_not_asked(asked):
    job = Growth()
    first, second = parts(50, 100)
    found = job.run(first, asked)
    slow = replace(first, ways=(Way(ORACLE, "libsvm"),))
    job.run(slow, options(asked.cache, saved=None, most_seconds=0.0))
    found = job.run(second, asked)
    assert found.run(OURS)
    assert not found.run(ORACLE)
    assert "libsvm: NOT RUN: not asked, 50 rows took" in job.table(found).text()
    (of_set,) = series([found]).values()
    assert {peer: points["rows"] for peer, points in of_set.items()} == {OURS: [100]}


def test_the_faster_form_of_rows_is_drawn(asked):
    (case,) = parts(50)
    ways = (Way("sklearnex", settings={}), Way("sklearnex-dense", settings={}))
    found = Growth().run(replace(case, ways=ways), asked)
    for run, seconds in zip(found.runs, (3.0, 2.0), strict=True):
        run.results[:] = [{**run.results[0], "seconds": seconds}]
    assert series([found]) == {"heart": {"sklearnex": {"rows": [50], "seconds": [2.0]}}}


class Only(Growth):
    """With one case."""

    def __init__(self, case):
        super().__init__()
        self.case = case

    def every_case(self, options):
        return [self.case]


@pytest.mark.exhaustive
def test_what_was_saved_is_drawn_again_and_nothing_is_measured(tmp_path, capsys):
    raw, folders = tmp_path / "raw.json", ["--cache", str(tmp_path)]
    case = Part("a9a-1000", "heart_scale", "-c 1", rows=1000, part="a9a", ways=WAYS)
    drawn = ["--figures", str(tmp_path / "first")]
    assert main(["growth", "--quick", "--repeat", "1", "--json", str(raw), *drawn, *folders], Only(case)) == 0
    first = capsys.readouterr().out
    gone = Only(replace(case, data="nowhere"))  # a missing set cannot be measured
    assert main(["growth", "--saved", str(raw), "--figures", str(tmp_path / "again"), *folders], gone) == 0
    assert capsys.readouterr().out.partition("Seconds")[2].split()[:6] == first.partition("Seconds")[2].split()[:6]
    for name in ("growth.json", "growth.svg"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "first" / name).read_bytes()


def test_versions_that_are_missing_are_not_told():
    here = {
        "processor": "P",
        "threads": 2,
        "load": (0.25, 0, 0),
        "packages": dict.fromkeys(["libsvmx", "libsvm-official"], "1"),
    }
    here["packages"] |= dict.fromkeys(["scikit-learn", "scikit-learn-intelex"])
    assert told_of(here) == "P, 2 threads, load 0.2\nlibsvmx 1, libsvm-official 1"

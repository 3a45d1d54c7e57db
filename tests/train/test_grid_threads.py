"""Points of a grid by several threads: the table, the order and what is handed on are those of one."""

import random
import threading
import time

import pytest
from support import data, gridengine
from support.ahead import let_go_ahead
from support.data import filled

from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._core.thread_pool import HAS_THREADS
from libsvmx._train import kernel_provider
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.side_by_side import HandedOn, Workers
from libsvmx._train.validation import grid_search
from libsvmx._train.validation.grid import Grid, exponents
from libsvmx._train.validation.grid_search import Plan, Search
from libsvmx._train.validation.scheme import Seeding
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import DataError, StoppedEarly

pytestmark = pytest.mark.skipif(not HAS_THREADS, reason="built without threads")


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    """Threads for any work; how many there were each time."""
    start, found = Workers.start, []
    monkeypatch.setattr(Workers, "start", lambda workers, threads: (found.append(threads), start(workers, threads))[1])
    monkeypatch.setattr(grid_search, "WORK_FOR_THREADS", 0.0)
    monkeypatch.setattr(kernel_provider, "WORK_FOR_THREADS", 0.0)
    monkeypatch.setattr(grid_search, "POINTS_PER_THREAD", 1)
    return found


def problem_of(name="heart_scale", n=None):
    matrix, targets = data.load(name, n)
    return Problem(matrix, filled("d", targets))


def plan(threads, seeding, engine=None, param=None, n_folds=5):
    axes = Grid(exponents(-1, 7, 2), exponents(-1, -5, -2))
    return Plan(replace(param or Parameter(), threads=threads), axes, n_folds, seeding=seeding, engine=engine)


def table(a_plan, problem, done=None):
    search = Search(a_plan, problem, done=done)
    outcomes = [(outcome.key, outcome.point.rate, outcome.point.iterations, outcome.remarks) for outcome in search]
    return outcomes, [replace(point, seconds=None) for point in search.points]


SEEDINGS = [Seeding("auto"), Seeding("sir"), Seeding("near", "star"), Seeding("none")]


@pytest.mark.parametrize("seeding", SEEDINGS)
@pytest.mark.parametrize("name", ["heart_scale", "wine.scale", "pyrim"])
@pytest.mark.parametrize("queued", [True, False])
def test_tables_do_not_depend_on_threads(seeding, name, queued, counts, monkeypatch):
    if not queued:
        monkeypatch.setattr(KernelProvider, "queue", lambda *_, **__: None)
    param = Parameter(svm_type=3 if name == "pyrim" else 0)
    problem = problem_of(name)
    expected = table(plan(1, seeding, param=param), problem)
    assert counts == []
    assert [table(plan(threads, seeding, param=param), problem) for threads in (2, 3, 8)] == [expected] * 3
    assert {2, 3, 8} <= set(counts)


@pytest.mark.parametrize("n_folds", [2, 3])
def test_chains_of_few_folds(n_folds):
    seeding, problem = Seeding("auto"), problem_of()
    expected = table(plan(1, seeding, n_folds=n_folds), problem)
    assert table(plan(4, seeding, n_folds=n_folds), problem) == expected


@pytest.mark.parametrize("seed", range(5))
def test_a_start_is_that_of_the_point_below_whoever_is_late(seed):
    """The engine's rate tells where a point started from."""
    drawn, problem = random.Random(seed), problem_of(n=20)

    def late(*arguments, **options):
        time.sleep(drawn.random() * 0.01)
        return gridengine.chained(*arguments, **options)

    expected = table(plan(1, gridengine.SEEDED, gridengine.chained), problem)
    assert table(plan(4, gridengine.SEEDED, late), problem) == expected


def test_no_more_results_wait_than_may_be_lost(monkeypatch):
    monkeypatch.setattr(grid_search, "AHEAD_PER_THREAD", 2)
    problem, begun, most = problem_of(n=20), [], []

    def engine(*arguments, **options):
        begun.append(1)
        return gridengine.chained(*arguments, **options)

    for k, _ in enumerate(Search(plan(3, Seeding("none"), engine), problem)):
        time.sleep(0.002)
        most.append(len(begun) - k)
    assert max(most) <= 3 * 2


def test_a_point_that_cannot_be_trained_ends_the_search():
    problem = problem_of(n=20)

    def engine(problem, param, *arguments, **options):
        if param.C == 8.0:
            raise DataError("no such point")
        return gridengine.chained(problem, param, *arguments, **options)

    found = []
    with pytest.raises(DataError, match="no such point"):
        for outcome in Search(plan(3, gridengine.SEEDED, engine), problem):
            found.append(outcome.key)
    assert found == [(-1.0, -3.0), (1.0, -3.0)]  # the column in grid.py's order, up to it


@pytest.mark.parametrize("threads", [2, 4])
def test_a_search_that_is_ended_keeps_what_it_has_told_of(threads, monkeypatch):
    let_go_ahead(4, monkeypatch)

    class Ends(Observer):
        told = 0

        def should_stop(self):
            return self.told >= 4

    observer, found = Ends(), []
    search = Search(plan(threads, Seeding("near", "star")), problem_of(), observer=observer)
    with pytest.raises(StoppedEarly):
        for outcome in search:
            found.append(outcome.key)
            observer.told += 1
    assert 4 <= len(found) < 15 and list(search.found) == found
    assert found == [outcome.key for outcome in Search(plan(1, Seeding("near", "star")), problem_of())][: len(found)]


def test_what_is_handed_on_is_waited_for():
    pieces, taken = HandedOn(), []

    def take():
        taken.append(bool(pieces))
        taken.extend(pieces[k] for k in range(3))
        with pytest.raises(Stopped):
            pieces[3]

    taking = threading.Thread(target=take)
    taking.start()
    for k in range(3):
        pieces.append(k)
    pieces.close()
    taking.join()
    assert taken == [True, 0, 1, 2]


def test_nobody_waits_beyond_the_end():
    class Over:
        def look(self):
            return SolveStatus.TIME_LIMIT

    pieces = HandedOn()
    pieces.limits = Over()
    assert not pieces
    with pytest.raises(Stopped):
        pieces[0]


def test_nothing_is_handed_on():
    pieces = HandedOn()
    pieces.close()
    assert not pieces

"""Points of a grid on several threads: the table, the order and the starts passed on equal those of one thread."""

import random
import threading
import time

import pytest
from support import data, gridengine
from support.data import filled
from support.policies import KernelPolicy
from support.threads import started_by

from libsvmx._core.process import HAS_THREADS
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.side_by_side import HandedOn
from libsvmx._train.validation.grid import Grid, exponents
from libsvmx._train.validation.grid_search import Plan, Search
from libsvmx._train.validation.scheme import Seeding
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import DataError, StoppedEarly

pytestmark = pytest.mark.skipif(not HAS_THREADS, reason="built without threads")


# Threads for any amount of work.
BY_THREADS = KernelPolicy(work_for_threads=0.0, points_per_thread=1)


def problem_of(name="heart_scale", n=None):
    matrix, targets = data.load(name, n)
    return Problem(matrix, filled("d", targets))


def plan(threads, seeding, engine=None, n_folds=5, svm_type=0, **policy):
    axes = Grid(exponents(-1, 7, 2), exponents(-1, -5, -2))
    param = Parameter(svm_type, threads=threads, policy=replace(BY_THREADS, **policy))
    return Plan(param, axes, n_folds, seeding=seeding, engine=engine)


def table(a_plan, problem, done=None):
    search = Search(a_plan, problem, done=done)
    outcomes = [(outcome.key, outcome.point.rate, outcome.point.iterations, outcome.remarks) for outcome in search]
    return outcomes, [replace(point, seconds=None) for point in search.points]


SEEDINGS = [Seeding("auto"), Seeding("sir"), Seeding("near", "star"), Seeding("none")]


@pytest.mark.parametrize("seeding", SEEDINGS)
@pytest.mark.parametrize("name", ["heart_scale", "wine.scale", "pyrim"])
@pytest.mark.parametrize("queued", [True, False])
def test_tables_do_not_depend_on_threads(seeding, name, queued):
    options, problem = {"svm_type": 3 if name == "pyrim" else 0, "queue": queued}, problem_of(name)
    expected, n = started_by(table, plan(1, seeding, **options), problem)
    assert n == 0
    for threads in (2, 3, 8):
        found, n = started_by(table, plan(threads, seeding, **options), problem)
        assert found == expected
        assert n >= threads


@pytest.mark.parametrize("n_folds", [2, 3])
def test_chains_of_few_folds(n_folds):
    seeding, problem = Seeding("auto"), problem_of()
    expected = table(plan(1, seeding, n_folds=n_folds), problem)
    assert table(plan(4, seeding, n_folds=n_folds), problem) == expected


@pytest.mark.parametrize("seed", range(5))
def test_a_start_is_that_of_the_point_below_whichever_thread_is_late(seed):
    """The engine's rate shows the start of a point."""
    drawn, problem = random.Random(seed), problem_of(n=20)

    def late(*arguments, **options):
        time.sleep(drawn.random() * 0.01)
        return gridengine.chained(*arguments, **options)

    expected = table(plan(1, gridengine.SEEDED, gridengine.chained), problem)
    assert table(plan(4, gridengine.SEEDED, late), problem) == expected


def test_no_more_results_wait_than_may_be_lost():
    problem, begun, most = problem_of(n=20), [], []

    def engine(*arguments, **options):
        begun.append(1)
        return gridengine.chained(*arguments, **options)

    for k, _ in enumerate(Search(plan(3, Seeding("none"), engine, points_ahead=2), problem)):
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
def test_a_stopped_search_keeps_its_reported_points(threads):
    """Some work is left when the caller checks, however fast the threads are."""

    class Ends(Observer):
        told = 0

        def should_stop(self):
            return self.told >= 4

    observer, found = Ends(), []
    search = Search(plan(threads, Seeding("near", "star"), points_ahead=1), problem_of(), observer=observer)
    with pytest.raises(StoppedEarly):
        for outcome in search:
            found.append(outcome.key)
            observer.told += 1
    assert 4 <= len(found) < 15 and list(search.found) == found
    assert found == [outcome.key for outcome in Search(plan(1, Seeding("near", "star")), problem_of())][: len(found)]


def test_pieces_are_waited_for():
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


def test_no_thread_waits_beyond_the_end():
    class Over:
        def look(self):
            return SolveStatus.TIME_LIMIT

    pieces = HandedOn()
    pieces.limits = Over()
    assert not pieces
    with pytest.raises(Stopped):
        pieces[0]


def test_no_pieces():
    pieces = HandedOn()
    pieces.close()
    assert not pieces

"""The search itself: grid.py's order and its rule for the best point, columns, and schedules that change no result."""

import itertools
import random
import subprocess
import sys

import pytest
from support import data, gridengine
from support.selection import quick_first

from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.validation import grid
from libsvmx._train.validation.grid import Best, Grid, Point, exponents
from libsvmx._train.validation.grid_pool import Workers
from libsvmx._train.validation.grid_search import Alone, Plan, Search, usual_seeding
from libsvmx._train.validation.scheme import Seeding
from libsvmx.exceptions import DataError, ParameterError

# LIBSVM 3.24's grid.py, calculate_jobs(options) with these ranges
ORDERS = [
    (
        (-1, 3, 2),
        (-5, -1, 2),
        [(1, -3), (1, -5), (-1, -3), (-1, -5), (1, -1), (-1, -1), (3, -3), (3, -5), (3, -1)],
    ),
    ((0, 3, 1), (5, 3, -2), [(2, 3), (1, 3), (2, 5), (1, 5), (3, 3), (3, 5), (0, 3), (0, 5)]),
    ((0, 1, 1), (0, 3, 1), [(1, 2), (1, 1), (1, 3), (0, 2), (0, 1), (0, 3), (1, 0), (0, 0)]),
    (None, (0, 4, 1), [(None, 2), (None, 1), (None, 4), (None, 0), (None, 3)]),
    ((0, 0.3, 0.1), None, [(0.1, None), (0, None), (0.2, None)]),  # 0.1 + 0.1 + 0.1 > 0.3
]


def a_grid(c, g):
    return Grid(None if c is None else exponents(*c), None if g is None else exponents(*g))


@pytest.mark.parametrize("c, g, order", ORDERS)
def test_order_is_that_of_grid_py(c, g, order):
    assert a_grid(c, g).order == order


@pytest.mark.parametrize("step", [0, 1, -1, 1e-300])
def test_a_range_of_one_value_needs_no_step(step):
    """grid.py loops forever with a step of 0."""
    assert exponents(3.0, 3.0, step) == (3.0,)
    with pytest.raises(ParameterError, match="never ends"):
        exponents(3.0, 4.0, step and 1e-300)


def test_default_order():
    order = a_grid(grid.C_AXIS, grid.G_AXIS).order
    assert len(order) == len(set(order)) == 110
    assert order[:8] == [(5, -7), (-1, -7), (5, -1), (-1, -1), (11, -7), (11, -1), (5, -13), (-1, -13)]
    assert order[-3:] == [(13, 3), (13, -9), (13, -3)]


@pytest.mark.parametrize(
    "rates, best",
    [
        ([50, 60, 55], 1),
        ([60, 60, 60], 0),  # of ties the first …
        ([60, 60, 61], 2),
    ],
)
def test_best_of_different_gamma(rates, best):
    points = [Point(1.0, float(-k), float(rate)) for k, rate in enumerate(rates)]
    assert grid.best_of(points, False) is points[best]


def test_best_of_equals_with_one_gamma_has_the_smallest_c():
    points = [Point(c, g, 60.0) for c, g in [(1.0, 0.0), (-1.0, 2.0), (3.0, 0.0), (-3.0, 0.0), (-5.0, 2.0)]]
    assert grid.best_of(points, False) is points[3]  # (-5, 2) has another gamma than the best so far
    assert grid.best_of([Point(c, None, 60.0) for c in (1.0, 0.0, 2.0)], False).log2c == 0.0
    assert grid.best_of([Point(None, g, 60.0) for g in (1.0, 0.0, 2.0)], False).log2g == 1.0


def test_best_of_a_regression_has_the_smallest_error():
    points = [Point(0.0, float(k), rate) for k, rate in enumerate([float("nan"), 3.0, 0.0, 1e300, float("nan")])]
    assert grid.best_of(points, True) is points[2]
    assert grid.best_of(points, False) is points[3]


def test_accuracy_0_is_a_rate():
    best = Best(False)
    assert best.add(Point(0.0, 0.0, 0.0)).rate == 0.0


@pytest.mark.parametrize(
    "axis, complaint",
    [
        ((1, 2, 0), "never ends"),
        ((1e17, 2e17, 1), "never ends"),
        ((3, 1, 1), "empty"),
        ((1, 3, -1), "empty"),
        ((0, 1, 1e-9), "more than"),
        ((0, 2000, 1000), "2^2000 is not"),
        ((-2000, 0, 1000), "2^-2000 is not"),
    ],
)
def test_invalid_axes(axis, complaint):
    with pytest.raises(ParameterError) as error:
        exponents(*axis)
    assert complaint in str(error.value)


def test_two_null_axes():
    with pytest.raises(ParameterError):
        Grid(None, None)


@pytest.fixture(scope="module")
def heart():
    matrix, targets = data.load("heart_scale")
    return _problem(matrix, targets)


def _problem(matrix, targets):
    from libsvmx._core.buffers import filled

    return Problem(matrix, filled("d", targets))


def plan(**options):
    values = {"c": (-1, 5, 2), "g": (-1, -5, -2), "seeding": gridengine.SEEDED, "engine": gridengine.chained, **options}
    axes = a_grid(values.pop("c"), values.pop("g"))
    return Plan(values.pop("param", Parameter()), axes, **values)


def table(a_plan, problem, pool=None, done=None):
    outcomes = list(Search(a_plan, problem, pool, done))
    keys = [outcome.key for outcome in outcomes]
    assert len(keys) == len(set(keys))
    return {outcome.key: (outcome.point.rate, outcome.point.iterations) for outcome in outcomes}


def test_points_start_from_the_one_below_in_their_column(heart):
    found = table(plan(), heart)
    assert set(found) == set(plan().grid.order)
    for (c, _), (_, iterations) in found.items():
        assert iterations // 100 - 1 >= [-1, 1, 3, 5].index(c)  # the engine adds 100 for each link of the chain
    # a descending axis is searched upwards, too
    assert table(plan(c=(5, -1, -2)), heart) == found
    # the engine's rates depend on the start
    alone = table(plan(c=(5, 5, 1)), heart)
    assert alone[5.0, -1.0] != found[5.0, -1.0]


def test_without_seeding_points_know_nothing_of_each_other(heart):
    found = table(plan(seeding=Seeding()), heart)
    for c in (-1, 3, 5):
        assert table(plan(seeding=Seeding(), c=(c, c, 1)), heart).items() <= found.items()


@pytest.mark.parametrize("seeding", [gridengine.SEEDED, Seeding()])
def test_workers_change_nothing(heart, seeding):
    pytest.importorskip("joblib")
    with Workers(2) as workers:
        assert table(plan(seeding=seeding), heart, workers) == table(plan(seeding=seeding), heart)


LARGE = """
import numpy as np, libsvmx
if __name__ == "__main__":
    X = np.full((200, 2000), 1e-9)  # larger than what joblib would map
    X[:, :10] = np.random.default_rng(0).standard_normal((200, 10))
    found = [
        libsvmx.grid_search(rows, X[:, 0] > 0, (0, 2, 1), (-3, -4, -1), 2, workers=workers)
        for workers in (1, 2) for rows in (X, np.zeros((200, 3)))
    ]
    rates = [search.rate.tolist() for search in found]
    print(rates[:2] == rates[2:])
"""


def test_workers_leave_no_words_about_large_data(tmp_path):
    """From resource trackers that miss files held by workers."""
    pytest.importorskip("joblib")
    (tmp_path / "script.py").write_text(LARGE)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


@pytest.mark.parametrize("processes", quick_first([False, True]))
def test_a_dask_cluster_changes_nothing(heart, processes):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=processes, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
        Workers(1, client) as workers,
    ):
        assert table(plan(), heart, workers) == table(plan(), heart)


class Known:
    """Some points done, some of them given from elsewhere, some starts kept."""

    def __init__(self, points, given=(), states=None):
        self._points, self._given, self._states = points, given, states or {}

    def points(self):
        return self._points

    def given(self):
        return self._given

    def warm_start(self, g):
        return self._states.get(g)


def test_resuming_anywhere_gives_the_same_table(heart):
    whole = list(Search(plan(), heart))
    full = {o.key: (o.point.rate, o.point.iterations) for o in whole}
    rng = random.Random(3)
    for trial in range(40):
        done = [o for o in whole if rng.random() < 0.5] if trial else whole
        states = {}
        for outcome in done:  # some starts of columns are lost, some are stale
            if rng.random() < 0.5:
                states[outcome.key[1]] = (outcome.key, outcome.warm_start)
        found = table(plan(), heart, done=Known({o.key: o.point for o in done}, (), states))
        assert found == {key: full[key] for key in full if key not in {o.key for o in done}}


def test_a_kept_start_saves_the_points_below(heart):
    calls = []

    def counting(problem, param, *rest, **options):
        calls.append(param.C)
        return gridengine.chained(problem, param, *rest, **options)

    whole = list(Search(plan(g=(-1, -1, 1)), heart))
    done = {o.key: o.point for o in whole[:3]}
    for states, expected in ({}, [0.5, 2.0, 8.0, 32.0]), ({-1.0: (whole[2].key, whole[2].warm_start)}, [32.0]):
        calls.clear()
        outcomes = list(Search(plan(g=(-1, -1, 1), engine=counting), heart, done=Known(done, (), states)))
        assert calls == expected
        assert [(o.key, o.point.rate) for o in outcomes] == [(whole[3].key, whole[3].point.rate)]


def test_given_points_are_not_part_of_the_chain(heart):
    given = {(-1.0, -1.0): Point(-1.0, -1.0, 50.0), (3.0, -1.0): Point(3.0, -1.0, 50.0)}
    found = table(plan(g=(-1, -1, 1)), heart, done=Known(given, set(given)))
    assert found == {
        key: value for key, value in table(plan(c=(1, 5, 4), g=(-1, -1, 1)), heart).items() if key not in given
    }


def test_remarks_are_passed_on_once(heart):
    seen = []

    class Noting(Observer):
        def remark(self, kind, detail=""):
            seen.append((kind, detail))

    for _ in Search(plan(), heart, observer=Noting()):
        pass
    assert seen == [("one class", "")]


def test_faults_show_before_anything_is_computed(heart):
    bad = _problem(heart.matrix, [1.5] * len(heart))
    with pytest.raises(DataError):
        Search(plan(), bad)  # before any point is evaluated


def test_a_fault_in_a_worker_is_the_same_fault(heart):
    pytest.importorskip("joblib")

    def failing(*_, **options):
        raise DataError("something", 7)

    for pool in (Alone(), Workers(2)):
        with pytest.raises(DataError) as error:
            list(Search(plan(engine=failing), heart, pool))
        assert (error.value.cause, error.value.row) == ("something", 7)


def test_every_point_has_libsvms_folds(heart):
    seen = []

    def drawing(problem, param, n_folds, rand, *rest, **options):
        seen.append([rand.draw() for _ in range(3)])
        return gridengine.chained(problem, param, n_folds, rand, *rest, **options)

    table(plan(engine=drawing), heart)
    assert len(seen) == 12
    assert all(draws == [1804289383, 846930886, 1681692777] for draws in seen)  # C's rand() of an unseeded program


def test_auto_does_not_seed_where_it_is_unsupported_or_saves_nothing():
    auto = Seeding("auto")
    none, few, many = Seeding("none"), [1.0, -1.0] * 500, [1.0, -1.0] * 501
    assert usual_seeding(auto, Parameter(), many) == auto
    assert usual_seeding(auto, Parameter(probability=True), many) == none
    assert usual_seeding(Seeding("top"), Parameter(), few) == Seeding("top")
    # if it saves nothing: few rows, several classes; not known for other solvers
    assert usual_seeding(auto, Parameter(), few) == none
    assert usual_seeding(auto, Parameter(), [*many, 2.0]) == none
    assert usual_seeding(auto, Parameter(svm_type=3), [*many, 2.0]) == auto
    assert usual_seeding(auto, Parameter(solver="chunked"), few) == auto
    assert usual_seeding(auto, Parameter(probability=True, svm_type=3), many) == auto
    assert usual_seeding(auto, Parameter(solver="crsvm", kernel_type=0), many) == none
    with pytest.raises(ParameterError):
        plan(param=Parameter(solver="crsvm", kernel_type=0))


def test_columns_cover_the_grid_once():
    for c, g, _ in ORDERS:
        points = a_grid(c, g)
        assert sorted(itertools.chain.from_iterable(points.columns), key=str) == sorted(points.order, key=str)

"""Trainings known to take the same steps at another C, and grid points that need no evaluation for that reason."""

import math

import numpy as np
import pytest
from support import data
from support.policies import KernelPolicy

import libsvmx
from libsvmx._core.buffers import filled
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.validation.grid import Grid, exponents
from libsvmx._train.validation.grid_search import Plan, Search, cross_validate
from libsvmx._train.validation.scheme import Seeding


@pytest.fixture(scope="module")
def heart():
    matrix, targets = data.load("heart_scale")
    return Problem(matrix, filled("d", targets))


def plan(c, g, engine=None, **options):
    return Plan(Parameter(**options), Grid(exponents(*c), exponents(*g)), seeding=Seeding("none"), engine=engine)


@pytest.mark.parametrize("options", [{}, {"weights": ((1, 3.0),)}, {"svm_type": 3}])
@pytest.mark.parametrize("threads", [1, 3])
def test_points_whose_trainings_never_meet_C_are_evaluated_once(heart, options, threads):
    """With gamma = 8 the largest alpha is a small multiple of 1: all larger C give the same path and the same rates."""
    asked = []

    def recording(problem, param, *args, **more):
        asked.append((math.log2(param.C), math.log2(param.gamma)))
        return cross_validate(problem, param, *args, **more)

    options = {"policy": KernelPolicy(work_for_threads=0.0), **options}
    found = Search(plan((-2, 12, 2), (3, -5, -8), recording, threads=threads, **options), heart)
    keys = [outcome.key for outcome in found]
    assert sorted(keys) == sorted(found.plan.grid.order)
    once = 4 + threads - 1  # others may be running before the first is done
    assert 2 <= sum(g == 3 for _, g in asked) <= once
    assert sum(g == -5 for _, g in asked) == 8  # at small gamma alpha grows with C
    alone = []
    for c, g in found.plan.grid.order:
        alone += [outcome.point.rate for outcome in Search(plan((c, c, 1), (g, g, 1), **options), heart)]
    assert [point.rate for point in found.points] == alone


@pytest.mark.parametrize("svm_type", ["c_svc", "epsilon_svr"])
def test_reach_is_the_largest_share_of_C(heart, svm_type):
    options = {"svm_type": svm_type, "gamma": 8.0}
    largest = []
    for C in (0.5, 1000.0, 2000.0):
        model = libsvmx.train(heart.matrix, heart.targets, C=C, **options)
        (report,) = model.reports
        largest.append(report.reach * C)
        assert np.abs(model.sv_coef).max() <= largest[-1] * (1 + 1e-12)
        assert report.reach <= 1
    assert largest[0] == 0.5
    assert largest[1] == pytest.approx(largest[2], rel=1e-12)
    assert largest[1] < 10


@pytest.mark.parametrize(
    "options",
    [{"solver": "chunked"}, {"solver": "irwls"}, {"svm_type": "nu_svc", "nu": 0.1}, {"svm_type": "one_class"}],
)
def test_nothing_is_known_of_steps_from_a_warm_start(heart, options):
    model = libsvmx.train(heart.matrix, heart.targets, gamma=8.0, **{"C": 1000.0, **options})
    assert model.reports[0].reach == 1.0


@pytest.mark.parametrize("seeder", ["auto", "sir", "path"])
def test_nothing_is_known_of_seeded_folds(heart, seeder):
    seeded = libsvmx.cross_validate(heart.matrix, heart.targets, 10, gamma=8.0, C=1000.0, seeder=seeder)
    assert all(fold.reach == 1.0 for fold in seeded.folds[1:])
    plain = libsvmx.cross_validate(heart.matrix, heart.targets, 10, gamma=8.0, C=1000.0)
    assert all(0 < fold.reach < 0.01 for fold in plain.folds)

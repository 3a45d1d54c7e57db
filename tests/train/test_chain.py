"""Chains of folds in a queue: SIR, MIR and ATO, each fold started from the one before."""

import numpy as np
import pytest
from support import data
from support.data import filled
from support.policies import BY_CLASSES, KernelPolicy

import libsvmx
from libsvmx._train.folds import Rand
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.queue.duals import Chain
from libsvmx._train.queue.trainings import queue_of_folds, solved_folds
from libsvmx._train.repeated_folds import Folds, draw_folds
from libsvmx._train.training import shared_kernels
from libsvmx._train.validation.cross_validation import cross_validate
from libsvmx._train.validation.scheme import Seeding
from libsvmx.exceptions import StoppedEarly

QUEUED = ("sir", "mir", "ato")


def validated(name, n_folds, seeder, **options):
    matrix, y = data.load(name)
    return libsvmx.cross_validate(matrix, y, n_folds, seeder=seeder, **options)


def test_a_path_that_pays_leaves_nothing_to_the_solver():
    """Other folds take no more steps than cold ones. Without shrinking, all steps take as much."""
    found, others, plain = (
        validated("heart_scale", 100, seeder, C=1000.0, shrinking=False, threads=1) for seeder in ("ato", "sir", "none")
    )
    solved = [k for k in range(100) if found.folds[k].iterations > 0]
    assert len(solved) < 25
    assert found.iterations < sum(plain.folds[k].iterations for k in solved)
    assert found.iterations < 0.35 * others.iterations


@pytest.mark.parametrize("seeder", ["near", *QUEUED])
def test_seeded_folds_of_many_steps_shrink_and_find_the_same_optimum(seeder):
    """They shrink after 100 steps."""
    eps = 1e-5
    whole, shrunk = (
        validated("heart_scale", 10, seeder, C=300.0, eps=eps, shrinking=shrinking, threads=1)
        for shrinking in (False, True)
    )
    many = [k for k in range(10) if shrunk.folds[k].seeder != "none" and shrunk.folds[k].iterations > 300]
    assert len(many) >= 3
    assert any(shrunk.folds[k].iterations != whole.folds[k].iterations for k in many)
    assert shrunk.decision_values == pytest.approx(whole.decision_values, abs=20 * eps)


@pytest.mark.parametrize("queue", [True, False])
@pytest.mark.parametrize("seeder", ["sir", "mir", "near"])
def test_a_start_that_does_not_pay_is_not_made_again_at_once(seeder, queue):
    """The fold after one that took more than a cold start begins cold, and reports it. Without shrinking, all steps
    take as much."""
    n_folds, C = (4, 1.0) if queue else (8, 30.0)
    options = {"C": C, "shrinking": False, "policy": KernelPolicy(queue=queue)}
    one, three = (validated("heart_scale", n_folds, seeder, threads=threads, **options) for threads in (1, 3))
    plain = validated("heart_scale", n_folds, "none", threads=1, **options)
    names = [fold.seeder for fold in one.folds]
    dear = [
        k for k in range(1, n_folds - 1) if names[k] == seeder and one.folds[k].iterations > one.folds[0].iterations
    ]
    assert dear
    assert {names[k + 1] for k in dear} == {"none"}
    for name, fold, exact, same in zip(names, one.folds, plain.folds, three.folds, strict=True):
        if queue and name != seeder:  # elsewhere a solve is over all rows
            assert fold.iterations == exact.iterations
        assert (fold.seeder, fold.iterations, fold.rho) == (same.seeder, same.iterations, same.rho)


@pytest.mark.parametrize("policy", [KernelPolicy(), BY_CLASSES], ids=["all values", "by pairs of classes"])
@pytest.mark.parametrize("seeder", ["near", *QUEUED])
def test_inner_folds_of_a_chain(seeder, policy):
    """Each pair starts from that of the fold before, and its inner folds from the pair."""
    matrix, y = data.load("iris.scale")
    problem = Problem(matrix, filled("d", y))

    def found(known, threads, eps=1e-5):
        param = Parameter(C=10.0, gamma=0.3, eps=eps, probability=True, threads=threads, policy=policy)
        order, bounds = draw_folds(problem, param, 4, Rand(1), Observer())
        kernels = shared_kernels(problem, param)
        queue = queue_of_folds(problem, param, 4, Observer(), kernels)
        queue.decide_by_floats()
        queue.seed_by(seeder)
        own = Folds(problem, order, bounds, Rand(2))
        return list(solved_folds(queue, [own], param, Observer(), kernels, known, "star" if known else ""))

    plain, one, three = found(None, 1), found(Chain(), 1), found(Chain(), 3)
    assert [fold.seeder != "none" for fold in one] == [False, True, True, True]
    assert sum(fold.figures["iterations"] for fold in one) < sum(fold.figures["iterations"] for fold in plain)
    for exact, fold, same in zip(plain, one, three, strict=True):
        assert np.array_equal(fold.values, same.values)
        assert fold.figures["iterations"] == same.figures["iterations"]
        assert fold.figures["reach"] == 1.0
        assert np.asarray(fold.values) == pytest.approx(np.asarray(exact.values), abs=1e-4)
        assert np.array_equal(fold.predicted, exact.predicted)


class Stopping(Observer):
    def __init__(self, questions):
        self.left = questions

    def should_stop(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("seeder", QUEUED)
def test_a_stop_keeps_the_finished_folds(seeder):
    """Wherever the call ends: in a start, or in a solve."""
    matrix, y = data.load("splice.xz")
    problem, param = Problem(matrix, filled("d", y)), Parameter(C=1000.0, gamma=0.02, threads=1)

    def found(observer):
        return cross_validate(problem, param, 8, Rand(1), observer, Seeding(seeder))

    whole = Stopping(10**9)
    objectives = [fold.objective for fold in found(whole).folds]
    asked = 10**9 - whole.left
    done = []
    for part in range(6):
        with pytest.raises(StoppedEarly) as stop:
            found(Stopping(part * (asked - 1) // 6))
        done.append(len(stop.value.partial.folds))
        assert [fold.objective for fold in stop.value.partial.folds] == objectives[: done[-1]]
    assert done[0] == 0
    assert done == sorted(done)


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [1, 30])
@pytest.mark.parametrize("seeder", QUEUED)
def test_folds_continue_from_an_unfinished_fold(seeder, max_iter):
    found = validated("splice.xz", 8, seeder, C=1000.0, gamma=0.02, max_iter=max_iter, threads=1)
    assert all(fold.iterations <= max_iter for fold in found.folds)
    assert found.folds[1].objective < 1.5 * found.folds[0].objective  # it starts where the first one stopped
    assert np.isfinite(found.decision_values).all()


@pytest.mark.parametrize("queue", [True, False])
@pytest.mark.parametrize("seeder", ["sir", "mir", "ato", "top"])
@pytest.mark.parametrize("n", [267, 268, 269, 270])
def test_three_folds_share_too_few_rows_for_a_start(seeder, queue, n):
    """However their sizes are rounded. With few folds ato follows no path, and its folds tell what has started them."""
    matrix, y = data.load("heart_scale", n)
    few, more = (
        libsvmx.cross_validate(matrix, y, n_folds, seeder=seeder, C=30.0, policy=KernelPolicy(queue=queue))
        for n_folds in (3, 4)
    )
    assert {fold.seeder for fold in few.folds} == {"none"}
    starts = {fold.seeder for fold in more.folds} - {"none"}
    assert few.scheme == "chain" and starts == {"sir" if seeder == "ato" else seeder}


@pytest.mark.parametrize("n", [268, 269])
def test_three_folds_of_a_regression_outside_a_queue_are_libsvms(n):
    matrix, y = data.load("abalone_scale.xz", n)
    auto, plain = (
        libsvmx.cross_validate(matrix, y, 3, seeder=seeder, svm_type=3, policy=KernelPolicy(queue=False))
        for seeder in ("auto", "none")
    )
    assert auto.predictions.tobytes() == plain.predictions.tobytes()

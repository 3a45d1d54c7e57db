"""Folds in a queue started from the training over all rows: the optima of cold starts, in fewer iterations."""

import numpy as np
import pytest
from support import data
from support.policies import BY_CLASSES, IN_TURN, KernelPolicy

import libsvmx
from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._train.folds import Rand
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.queue.trainings import queue_of_folds
from libsvmx._train.training import shared_kernels
from libsvmx._train.validation.cross_validation import cross_validate
from libsvmx._train.validation.scheme import Seeding
from libsvmx.enums import SolveStatus, SvmType
from libsvmx.exceptions import StoppedEarly

SETS = ["iris.scale", "glass.scale", "vowel.scale.xz", "heart_scale", "ionosphere_scale.xz"]
EPS = 1e-7


def found(name, seeder, n_folds=15, **options):
    matrix, targets = data.load(name)
    options = {"eps": EPS, "random_state": 3, **options}
    return libsvmx.cross_validate(matrix, targets, n_folds, seeder=seeder, **options)


def agree(star, plain, most=1e-4):
    """Optima to EPS, and decision values from kernel values rounded to float; without free rows rho lies in an
    interval, and they differ by more."""
    most *= 1 + np.abs(plain.decision_values).max()
    assert np.abs(star.decision_values - plain.decision_values).max() < most
    unsure = (np.abs(plain.decision_values) < most).any(axis=-1) if plain.decision_values.ndim > 1 else False
    assert ((star.predictions == plain.predictions) | unsure).all()
    for a, b in zip(star.folds, plain.folds, strict=True):
        assert a.objective == pytest.approx(b.objective, rel=1e-6)
        assert a.gap < EPS
        assert abs(a.n_sv - b.n_sv) <= 2


@pytest.mark.parametrize("C", [0.5, 50.0])
@pytest.mark.parametrize("name", SETS)
def test_a_star_ends_at_the_optima_of_cold_starts(name, C):
    star, plain = (found(name, seeder, C=C) for seeder in ("auto", "none"))
    assert (star.seeder, star.scheme, star.full.seeder) == ("auto", "star", "none")
    assert {fold.seeder for fold in star.folds} <= {"near", "ato", "none"}
    agree(star, plain, 1e-4 if C > 1 else 0.1)
    assert sum(fold.iterations for fold in star.folds) < sum(fold.iterations for fold in plain.folds)


@pytest.mark.parametrize(
    ("name", "C", "seeder"), [("heart_scale", 1000.0, "ato"), ("ionosphere_scale.xz", 1.0, "near")]
)
def test_a_path_where_cold_starts_take_many_steps(name, C, seeder):
    """With a path, little or nothing is left to the solver."""
    star, plain = (found(name, own, 20, C=C, eps=1e-3) for own in ("auto", "none"))
    assert {fold.seeder for fold in star.folds[2:]} == {seeder}  # the first two show which start takes less
    steps, cold_steps = (sum(fold.iterations for fold in cv.folds) for cv in (star, plain))
    if seeder == "ato":
        assert steps < 0.05 * cold_steps
    else:
        assert steps > 0.1 * cold_steps
    assert np.abs(star.decision_values - plain.decision_values).max() < 0.05 * (1 + np.abs(plain.decision_values).max())


@pytest.mark.parametrize("seeder", ["near", "sir"])  # star, chain; nu is a chain for both
@pytest.mark.parametrize(
    "formulation",
    [{"C": 100.0}, {"svm_type": "nu_svc", "nu": 0.3}, {"svm_type": "epsilon_svr"}, {"svm_type": "nu_svr", "C": 10.0}],
    ids=["C-SVC", "nu-SVC", "epsilon-SVR", "nu-SVR"],
)
def test_seeded_folds_that_shrink_end_at_the_same_optima(formulation, seeder):
    """In a queue they shrink after 100 steps."""
    shrunk, whole = (found("heart_scale", seeder, 12, eps=1e-6, shrinking=on, **formulation) for on in (True, False))
    assert sum(fold.seeder == seeder and fold.iterations > 100 for fold in shrunk.folds) > 5
    assert [fold.iterations for fold in shrunk.folds] != [fold.iterations for fold in whole.folds]  # it did shrink
    assert np.abs(shrunk.decision_values - whole.decision_values).max() < 1e-4
    assert np.abs(shrunk.predictions - whole.predictions).max() < 1e-4
    for a, b in zip(shrunk.folds, whole.folds, strict=True):
        assert a.objective == pytest.approx(b.objective, rel=1e-4)


def test_classes_with_weights_and_a_class_held_out_whole():
    matrix, targets = data.load("iris.scale")
    keep = [*range(50), 50, *range(100, 150)]  # one row of the second class
    part = np.asarray(matrix.toarray())[keep], np.asarray(targets)[keep]
    options = {"weights": {1: 3.0, 3: 0.5}, "eps": EPS, "random_state": 1}
    star, plain = (libsvmx.cross_validate(*part, 30, seeder=seeder, **options) for seeder in ("auto", "none"))
    assert star.scheme == "star"
    assert np.array_equal(np.isnan(star.decision_values), np.isnan(plain.decision_values))
    assert np.nanmax(np.abs(star.decision_values - plain.decision_values)) < 1e-3
    assert np.array_equal(star.predictions, plain.predictions)


@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_kernel_values_by_classes(C):
    star, plain = (found("vowel.scale.xz", seeder, 20, C=C, policy=BY_CLASSES) for seeder in ("auto", "none"))
    assert star.scheme == "star"
    agree(star, plain)


def test_nothing_is_solved_where_only_rows_without_coefficients_leave():
    """Each class is a tight cluster: with one fold per row, most folds leave the optimum unchanged."""
    draw = np.random.default_rng(2)
    X = np.concatenate([draw.normal(size=(60, 2)) + centre for centre in ([0, 0], [9, 0], [0, 9])])
    y = np.repeat([1.0, 2.0, 3.0], 60)
    options = {"gamma": 0.05, "C": 10.0, "eps": EPS, "random_state": 1}
    star, plain = (libsvmx.cross_validate(X, y, 180, seeder=seeder, **options) for seeder in ("auto", "none"))
    agree(star, plain)
    still = [fold for fold in star.folds if fold.iterations == 0 and fold.seeder != "ato"]
    assert len(still) > 120
    assert all(fold.rows_computed == 0 and fold.n_sv == star.full.n_sv for fold in still)


@pytest.mark.parametrize("policy", [KernelPolicy(), BY_CLASSES], ids=["all values", "by pairs of classes"])
@pytest.mark.parametrize("name", ["vowel.scale.xz", "heart_scale"])
def test_threads_change_nothing(name, policy):
    one, *others = (found(name, "auto", 80, threads=n, policy=policy) for n in (1, 2, 5))
    for other in others:
        assert other.decision_values.tobytes() == one.decision_values.tobytes()


def test_few_folds_start_cold():
    few = found("heart_scale", "auto", 5)
    assert (few.full, few.seeder, few.scheme) == (None, "auto", "")
    assert {fold.seeder for fold in few.folds} == {"none"}
    agree(few, found("heart_scale", "none", 5))


def test_few_rows_with_few_folds_start_cold():
    few = found("iris.scale", "auto", 13)
    assert (few.full, few.scheme, {fold.seeder for fold in few.folds}) == (None, "", {"none"})
    assert found("iris.scale", "auto", 14).scheme == "star"


def test_folds_continue_from_an_unfinished_training_over_all_rows():
    """Its coefficients are a start, not an optimum."""
    with pytest.warns(libsvmx.ConvergenceWarning):
        star = found("heart_scale", "auto", 270, max_iter=40)
    assert star.full.status == SolveStatus.ITERATION_LIMIT
    for fold in star.folds:
        assert (fold.status == SolveStatus.CONVERGED) == (fold.gap < EPS)
        assert fold.iterations == 40 or fold.status == SolveStatus.CONVERGED


def test_several_queues():
    whole = found("vowel.scale.xz", "auto", 30)
    parts = found("vowel.scale.xz", "auto", 30, policy=KernelPolicy(rows_in_queue=20000))
    assert parts.decision_values.tobytes() == whole.decision_values.tobytes()


def test_solves_are_reported_in_order():
    class Told(Observer):
        def __init__(self):
            self.reports = []

        def solved(self, report):
            self.reports.append(report.status)

    told = Told()
    star = found("iris.scale", "auto", 15, observer=told)
    assert len(told.reports) == 3 * (1 + len(star.folds))
    assert set(told.reports) == {SolveStatus.CONVERGED}


def test_an_end_before_the_star_is_there_leaves_no_fold():
    class Stopping(Observer):
        def should_stop(self):
            return True

    with pytest.raises(libsvmx.StoppedEarly) as stopped:
        found("vowel.scale.xz", "auto", 15, observer=Stopping())
    assert not stopped.value.partial.folds


def test_an_end_after_the_star_keeps_its_report():
    class Stopping(Observer):
        solves = 0

        def solved(self, report):
            self.solves += 1

        def should_stop(self):
            return self.solves == 55

    with pytest.raises(libsvmx.StoppedEarly) as stopped:
        found("vowel.scale.xz", "auto", 15, observer=Stopping())
    assert stopped.value.partial.full.status == SolveStatus.CONVERGED


@pytest.mark.parametrize("n_folds", [10, 25, 30])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("heart_scale", {"svm_type": 1, "nu": 0.5}),
        ("heart_scale", {"svm_type": 2, "nu": 0.3}),
        ("mpg", {"svm_type": 3, "C": 10.0}),
        ("mpg", {"svm_type": 4, "nu": 0.4, "C": 10.0}),
    ],
    ids=["nu-svc", "one-class", "epsilon-svr", "nu-svr"],
)
def test_auto_in_other_formulations(name, options, n_folds):
    """A star with avg, or a path; two chains of nu-SVR and of one class with few folds; others from a cold start."""
    star, plain = (found(name, seeder, n_folds, threads=1, **options) for seeder in ("auto", "none"))
    steps, cold_steps = (sum(fold.iterations for fold in cv.folds) for cv in (star, plain))
    if options["svm_type"] == SvmType.NU_SVC:  # a cold start of it is off by eps / r
        plain = found(name, "none", n_folds, **options, **({"eps": 1e-9} if star.scheme else {}))
    if options["svm_type"] == 4 or (options["svm_type"] == 2 and n_folds < 30):
        assert star.scheme == "chain"
        of_chain = {10: 5, 25: 13, 30: 10}[n_folds]
        assert {f for f, fold in enumerate(star.folds) if fold.seeder == "none"} >= set(range(0, n_folds, of_chain))
        assert steps < (0.96 if options["svm_type"] == 4 else 0.9) * cold_steps
    elif n_folds < {1: 30, 2: 0, 3: 20}[options["svm_type"]]:
        assert (star.scheme, star.full, steps) == ("", None, cold_steps)
    else:
        assert star.scheme == "star"
        assert {fold.seeder for fold in star.folds} <= {"avg", "ato"}
        assert steps < 0.8 * cold_steps
    scale = 1 + np.nanmax(np.abs(plain.decision_values))
    assert np.nanmax(np.abs(star.decision_values - plain.decision_values)) < 1e-4 * scale


@pytest.mark.parametrize("policy", [KernelPolicy(), IN_TURN], ids=["queue", "in turn"])
@pytest.mark.parametrize("seeder", ["near", "avg"])
def test_decision_values_of_nu_svc_are_no_farther_off_by_a_start(seeder, policy):
    """They are divided by a small r: a start just within the tolerance would be as far off as LIBSVM's, or more."""
    options = {"svm_type": 1, "nu": 0.15, "gamma": 0.5, "policy": policy}
    exact, plain, star = (
        found("heart_scale", own, 10, eps=eps, scheme=scheme, **options).decision_values
        for own, eps, scheme in (("none", 1e-9, ""), ("none", 1e-3, ""), (seeder, 1e-3, "star"))
    )
    assert np.abs(star - exact).max() < 0.2 * np.abs(plain - exact).max()


def test_pairs_of_nu_svc_that_lose_no_row_are_not_solved_again():
    """A fold of four rows has rows of at most four of the eleven classes; at least 21 of 55 pairs are unchanged."""
    options = {"svm_type": 1, "nu": 0.1, "threads": 1}
    star, plain = (found("vowel.scale.xz", name, 130, **options) for name in ("auto", "none"))
    assert (star.seeder, star.scheme) == ("auto", "star")
    steps, cold_steps = (sum(fold.iterations for fold in cv.folds) for cv in (star, plain))
    assert steps < 0.7 * cold_steps
    scale = 1 + np.abs(plain.decision_values).max()
    assert np.abs(star.decision_values - plain.decision_values).max() < 1e-4 * scale
    assert max(abs(a.objective / b.objective - 1) for a, b in zip(star.folds, plain.folds, strict=True)) < 1e-5


def a_queue(matrix, targets, sample_weight=None, **options):
    weight = None if sample_weight is None else filled("d", sample_weight)
    problem, param = Problem(matrix, filled("d", targets), sample_weight=weight), Parameter(gamma=0.1, **options)
    return queue_of_folds(problem, param, 10, Observer(), shared_kernels(problem, param))


def test_a_start_is_from_the_optimum_of_a_solve_over_the_same_rows():
    matrix, targets = data.load("heart_scale")
    queue, other = a_queue(matrix, targets), a_queue(*data.load("heart_scale", 200))
    rows = filled("i", range(200))
    solve = queue.add(rows, 100, 1.0, 1.0)
    with pytest.raises(IndexError, match="solve 7 of"):
        queue.add(rows, 100, 1.0, 1.0, parent=7)
    with pytest.raises(ValueError, match="other rows"):
        other.start_from(queue)
    after = queue.another()
    after.start_from(queue)
    with pytest.raises(ValueError, match=f"solve {solve} was not kept"):
        after.add(rows, 100, 1.0, 1.0, parent=solve)
    queue.run(1)
    after = queue.another()
    after.start_from(queue)
    with pytest.raises(ValueError, match=f"solve {solve} was not kept"):
        after.add(rows, 100, 1.0, 1.0, parent=solve)
    regression = a_queue(matrix, targets, svm_type=SvmType.EPSILON_SVR)
    whole = regression.add(rows, -1, 0.0, 0.0, targets=filled("d", targets[:200]))
    regression.add(rows[:150], -1, 0.0, 0.0, targets=filled("d", targets[:150]), parent=whole)
    regression.run(1)
    assert [regression.seeder_of(solves) for solves in ([0], [1], [1, 0], [])] == ["none", "near", "near", "none"]
    assert regression.went_well(1)


@pytest.mark.parametrize(
    ("name", "formulation", "seeder"),
    [("ionosphere_scale.xz", {}, "near"), ("heart_scale", {"svm_type": 1, "nu": 0.5}, "avg")],
)
def test_folds_report_their_seeder(name, formulation, seeder):
    cv, named = (found(name, own, 30, eps=1e-3, **formulation) for own in ("auto", seeder))
    assert seeder in {fold.seeder for fold in cv.folds} <= {seeder, "ato"}
    for fold, same in zip(cv.folds, named.folds, strict=True):
        assert fold.seeder != seeder or fold.iterations == same.iterations
    estimated = found(name, "auto", 30, eps=1e-3, probability=True, **formulation)
    assert [fold.seeder for fold in estimated.folds] == [fold.seeder for fold in cv.folds]


@pytest.mark.parametrize("seeder", ["near", "sir"])
def test_row_weights(seeder):
    """Folds of rows with weights are in the queue, too, also where some are 0."""
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 270)
    assert a_queue(*data.load("heart_scale"), weights)
    weights[::7] = 0.0
    assert a_queue(*data.load("heart_scale"), weights)
    star, plain = (found("heart_scale", own, sample_weight=weights, C=10.0, threads=1) for own in (seeder, "none"))
    agree(star, plain)
    steps, cold_steps = (sum(fold.iterations for fold in cv.folds[1:]) for cv in (star, plain))
    assert steps < 0.95 * cold_steps


@pytest.mark.parametrize("policy", [KernelPolicy(), IN_TURN], ids=["queue", "in turn"])
@pytest.mark.parametrize(("seeder", "n_folds"), [("auto", 10), ("auto", 30), ("avg", 30), ("sir", 10), ("near", 3)])
def test_decision_values_of_nu_svc_are_as_accurate_as_others_where_r_is_small(seeder, n_folds, policy):
    """They are divided by r: every solve of a seeded cross-validation stops at eps r, those from a cold start, too."""
    options = {"svm_type": 1, "nu": 0.1, "gamma": 0.5, "policy": policy}
    exact, plain, seeded = (
        found("heart_scale", name, n_folds, eps=eps, **options)
        for name, eps in (("none", 1e-9), ("none", 1e-3), (seeder, 1e-3))
    )
    assert "none" in {fold.seeder for fold in seeded.folds} or n_folds == 30
    off, plainly_off = (np.abs(cv.decision_values - exact.decision_values).max() for cv in (seeded, plain))
    assert off < 2e-3 < plainly_off
    sure = (
        np.abs(exact.decision_values).min(axis=-1) > 1e-2
        if exact.decision_values.ndim > 1
        else (np.abs(exact.decision_values) > 1e-2)
    )
    assert (seeded.predictions == exact.predictions)[sure].all()


@pytest.mark.parametrize("rows_in_queue", [1 << 18, 1000])
def test_two_pilots_show_that_starts_of_a_star_do_not_pay(rows_in_queue):
    """Most rows are support vectors at their bound, and those that take over what leaves are far from it. The other
    folds start cold, whatever the threads, and in later queues, too."""
    options = {"svm_type": 2, "nu": 0.7, "eps": 1e-3, "policy": KernelPolicy(rows_in_queue=rows_in_queue)}
    one, three = (found("heart_scale", "top", 12, scheme="star", threads=n, **options) for n in (1, 3))
    plain = found("heart_scale", "none", 12, **options)
    assert [fold.seeder for fold in one.folds] == ["top"] * 2 + ["none"] * 10
    for fold, same, cold in zip(one.folds, three.folds, plain.folds, strict=True):
        assert (fold.iterations, fold.rho) == (same.iterations, same.rho)
        assert fold.seeder == "top" or fold.iterations == cold.iterations


def test_folds_by_classes_begin_after_their_pilots_whatever_the_threads():
    """Later folds of a pair that lose fewer rows become pilots, too."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1, -0.3, 0.3, 1])
    policy = KernelPolicy(work_for_threads=0, max_gram_bytes=0)
    options = {"C": 20.0, "random_state": 1, "seeder": "auto", "policy": policy}
    one, three = (libsvmx.cross_validate(X, y, 20, threads=n, **options) for n in (1, 3))
    np.testing.assert_array_equal(one.decision_values, three.decision_values)
    assert [fold.iterations for fold in one.folds] == [fold.iterations for fold in three.folds]


@pytest.mark.parametrize(("C", "pays"), [(50.0, False), (2000.0, True)])
def test_pilots_show_whether_paths_pay(C, pays):
    """Of many folds, two of the first four follow a path: along a noisy sine it has hundreds of lines, which costs
    more than it saves beside another start; of heart at a large C it has few."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-3, 3, (900, 1))
    rows = data.load("heart_scale") if pays else (X, np.sin(2 * X[:, 0]) + rng.normal(0, 0.3, 900))
    options = {"C": C} if pays else {"C": C, "svm_type": 3, "gamma": 1.0}
    one, three = (libsvmx.cross_validate(*rows, 60, seeder="auto", threads=n, **options) for n in (1, 3))
    names = [fold.seeder for fold in one.folds]
    usual = "near" if pays else "avg"
    assert names[:4] == [usual, "ato", usual, "ato"]
    assert names.count("ato") > 40 if pays else set(names[4:]) == {usual}
    for fold, same in zip(one.folds, three.folds, strict=True):
        assert (fold.seeder, fold.iterations, fold.rho) == (same.seeder, same.iterations, same.rho)


@pytest.mark.filterwarnings("ignore:the iteration limit was reached:libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("policy", [KernelPolicy(), IN_TURN], ids=["queue", "in turn"])
def test_steps_to_eps_r_are_limited_where_r_of_nu_svc_is_about_0(policy):
    """Labels without any relation to the rows: no decision value is determined, and nothing would be gained."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.sign(rng.normal(size=300))
    plain, seeded = (
        libsvmx.cross_validate(X, y, 10, seeder=seeder, svm_type=1, nu=0.2, gamma=0.01, policy=policy)
        for seeder in ("none", "sir")
    )
    assert max(fold.gap for fold in seeded.folds) < 1e-3
    limited = 0
    for f, fold in enumerate(seeded.folds):
        n = np.count_nonzero(seeded.fold_of != f)
        assert plain.folds[f].iterations < n
        assert fold.iterations < 31 * n
        if fold.status == "iteration limit":
            limited += 1
            assert fold.iterations >= 30 * n
    assert limited == 10 if policy is IN_TURN else limited >= 2  # a queue's steps are longer


@pytest.mark.parametrize("eps", [1e-3, 1e-9])
@pytest.mark.parametrize("seeder", ["sir", "near", "auto"])
def test_folds_of_nu_svc_with_a_negative_r_converge(seeder, eps):
    """So it may be with a kernel that is not positive semidefinite; decision values are divided by it."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 5))
    y = np.sign(X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.3 + 0.2 * rng.normal(size=150))
    options = {"svm_type": 1, "kernel_type": "sigmoid", "nu": 0.05, "gamma": 0.3, "eps": eps}
    plain, seeded = (libsvmx.cross_validate(X, y, 10, seeder=one, **options).folds for one in ("none", seeder))
    assert {fold.status for fold in (*plain, *seeded)} == {"converged"}
    # as r was taken for 0, 1.6 times at most
    assert sum(fold.iterations for fold in seeded) < 1.2 * sum(fold.iterations for fold in plain)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seeder", ["near", "sir"])
def test_a_row_whose_kernel_values_overflow_leaves_other_pairs_of_classes_as_they_are(seeder, threads):
    rng = np.random.default_rng(1)
    y = np.repeat([1, 2, 3, 4], 40)
    X = np.sqrt(5) * (1 + 0.05 * rng.random((160, 1)))
    X = np.hstack((X, 0.5 * rng.normal(size=(160, 2))))
    options = {"kernel_type": "polynomial", "degree": 39, "gamma": 1.0, "coef0": -5.0, "max_iter": 20_000}
    before = libsvmx.cross_validate(X, y, 8, seeder=seeder, threads=threads, **options).decision_values
    X[5, 0] *= -1
    after = libsvmx.cross_validate(X, y, 8, seeder=seeder, threads=threads, **options).decision_values
    others = [3, 4, 5]  # pairs without the first class
    np.testing.assert_array_equal(np.delete(before, 5, 0)[:, others], np.delete(after, 5, 0)[:, others])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seeder", ["ato", "sir", "top", "path"])
@pytest.mark.parametrize("policy", [KernelPolicy(), IN_TURN], ids=["queue", "in turn"])
def test_where_rows_of_both_classes_are_the_same_no_fold_with_huge_values_has_converged(policy, seeder):
    """r is 0 but for rounding, so that decision values, which are divided by it, mean nothing."""
    n_huge = 0
    for seed in range(30):
        X = np.tile(np.random.default_rng(seed).normal(size=(10, 2)).round(1), (2, 1))
        options = {"svm_type": 1, "nu": 0.1 + 0.2 * (seed % 2), "scheme": "star", "policy": policy}
        made = libsvmx.cross_validate(X, np.repeat([1, -1], 10), 10, seeder=seeder, **options)
        huge = ~(np.abs(made.decision_values[:, 0]) < 1e3)
        n_huge += huge.sum()
        assert "converged" not in {made.folds[f].status for f in made.fold_of[huge]}
    assert n_huge


@pytest.mark.parametrize("policy", [KernelPolicy(), IN_TURN], ids=["queue", "in turn"])
def test_where_r_of_nu_svc_is_small_more_steps_are_taken(policy):
    """30 times those to eps leave decision values of up to 59 off by 38."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 2))
    y = np.where(X[:, 1] > np.sin(3 * X[:, 0]), 1, -1)
    seeded, exact = (
        libsvmx.cross_validate(X, y, 10, seeder=seeder, eps=eps, svm_type=1, nu=0.02, gamma=0.3, policy=policy)
        for seeder, eps in (("near", 1e-3), ("none", EPS))
    )
    assert {fold.status for fold in seeded.folds} == {"converged"}
    assert max(fold.iterations for fold in seeded.folds) > 300 * 120
    np.testing.assert_allclose(seeded.decision_values, exact.decision_values, rtol=0, atol=0.5)
    np.testing.assert_array_equal(seeded.predictions, exact.predictions)


@pytest.mark.parametrize("policy", [KernelPolicy(), IN_TURN], ids=["queue", "in turn"])
def test_solves_with_probability_estimates_stop_at_eps_r_too(policy):
    options = {"svm_type": 1, "nu": 0.1, "gamma": 0.5, "probability": True, "policy": policy, "eps": 1e-3}
    plain, seeded = (found("heart_scale", seeder, 5, **options) for seeder in ("none", "near"))
    assert max(fold.gap for fold in seeded.folds) < 2e-4 < min(fold.gap for fold in plain.folds)


@pytest.mark.parametrize("policy", [KernelPolicy(), IN_TURN], ids=["queue", "in turn"])
def test_path_with_probability_estimates_is_auto(policy):
    by_path, auto = (
        found("heart_scale", seeder, 5, eps=1e-3, probability=True, policy=policy) for seeder in ("path", "auto")
    )
    assert by_path.predictions.tobytes() == auto.predictions.tobytes()


class EndingAfterTwo(Observer):
    done = 0

    def counted(self, kind, done, of):
        self.done = done

    def should_stop(self):
        return self.done >= 2


def test_an_unfinished_cross_validation_by_path_says_so():
    matrix, targets = data.load("heart_scale")
    problem, param = Problem(matrix, filled("d", targets)), Parameter(gamma=0.1)
    with pytest.raises(StoppedEarly) as stop:
        cross_validate(problem, replace(param, policy=IN_TURN), 20, Rand(1), EndingAfterTwo(), Seeding("path"))
    assert (stop.value.partial.seeding.seeder, stop.value.partial.seeding.scheme) == ("path", "star")


def test_path_without_a_scheme_is_auto():
    by_path, auto, forced = (
        found("heart_scale", name, 20, eps=1e-3, scheme=scheme)
        for name, scheme in (("path", ""), ("auto", ""), ("path", "star"))
    )
    assert (by_path.seeder, by_path.scheme) == ("path", "star")
    assert by_path.decision_values.tobytes() == auto.decision_values.tobytes()
    assert {fold.seeder for fold in forced.folds} == {"path"}


def test_seeded_folds_of_a_queue_step_along_conjugate_directions():
    """At a large C they take half the steps of pairs alone, as outside of a queue."""
    rng, eps = np.random.default_rng(3), 1e-4
    X = rng.normal(size=(300, 2))
    y = np.where((np.hypot(*X.T) * 2 % 2 < 1) ^ (rng.random(300) < 0.05), 1, -1)
    options = {"C": 100.0, "gamma": 1.0, "eps": eps, "seeder": "near", "shrinking": False, "threads": 1}
    queued, in_turn = (
        libsvmx.cross_validate(X, y, 12, policy=policy, **options) for policy in (KernelPolicy(), IN_TURN)
    )
    assert {fold.seeder for found in (queued, in_turn) for fold in found.folds} == {"near"}
    assert sum(fold.iterations for fold in queued.folds) < 0.6 * sum(fold.iterations for fold in in_turn.folds)
    np.testing.assert_allclose(queued.decision_values, in_turn.decision_values, rtol=0, atol=20 * eps)

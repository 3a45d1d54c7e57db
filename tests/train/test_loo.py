"""Leave-one-out from one training over all rows, against LIBSVM's n-fold cross-validation, row by row."""

import numpy as np
import pytest
from support import data
from support.against_libsvm import parameter
from support.judge import kernel_values
from support.oracle import Oracle
from support.policies import KernelPolicy

import libsvmx
from libsvmx import Observer
from libsvmx._core.records import replace
from libsvmx._train.folds import Rand
from libsvmx._train.problem import Problem
from libsvmx._train.validation.leave_one_out import ClassOrder, leave_one_out
from libsvmx._train.validation.problem_folds import ProblemFolds
from libsvmx.api.arrays import as_matrix

# name -> (arguments of support.data.load, options)
CLASSIFICATION = {
    "heart": (("heart_scale",), "-c 4 -g 0.08"),
    "iris": (("iris.scale",), "-c 8 -g 0.5"),
    "glass": (("glass.scale",), "-c 32 -g 0.3"),
    "a1a": (("a1a.xz", 120), "-c 2 -g 0.05"),
    "splice": (("splice.xz", 166), "-t 0 -c 0.004"),
    "weights": (("ionosphere_scale.xz", 117), "-c 2 -g 0.1 -w1 0.37 -w-1 2"),
}


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_exact_answers_are_libsvms_at_any_eps(name):
    arguments, options = CLASSIFICATION[name]
    matrix, y = data.load(*arguments)
    problem = Problem(matrix, data.filled("d", y))
    for eps in (1e-3, 0.1):
        asked = f"{options} -e {eps}"
        found = leave_one_out(problem, parameter(asked), Rand(1), Observer(), with_values=False, exact=True)
        assert list(found.predicted) == Oracle(matrix, y, asked).cross_validate(len(y))


def test_the_order_of_classes_without_a_row():
    """It decides ties: classes by first appearance in the folds' order of the other rows."""
    matrix, y = data.load("glass.scale", 30)
    solver = ProblemFolds(Problem(matrix, data.filled("d", y)), parameter("-g 0.3"), Observer())
    order = data.filled("i", np.random.default_rng(3).permutation(len(y)))
    classes = ClassOrder(solver, order)
    turned = 0
    for row in range(len(y)):
        expected = list(dict.fromkeys(solver.class_of[i] for i in order if i != row))
        assert [c for c in classes.without(row) if c in expected] == expected
        turned += expected != classes.usual
    assert turned > 0


# ---- values, checked by NumPy in double ------------------------------------------------------------


def held_out(X, y, row, **options):
    """(interval of a row's decision value in the optimum over all others, number of free rows), for epsilon-SVR.

    A state says which rows are free and which are at a bound; NumPy computes the rest, and the KKT gap is 0.
    """
    keep = np.arange(len(y)) != row
    model = libsvmx.train(X[keep], y[keep], keep_state=True, **options).model
    K, C, p = kernel_values(model.param, X[keep], X[keep]), model.param.C, model.param.p
    near = np.zeros(keep.sum())
    near[np.asarray(model.row_numbers) - 1] = model.sv_coef[0]
    free = (np.abs(near) > 1e-9 * C) & (np.abs(near) < C * (1 - 1e-9))
    beta = np.where(free, 0.0, np.round(near / C) * C)
    if free.any():
        n, target = free.sum(), y[keep] - p * np.sign(near) - K @ beta
        system = np.block([[K[np.ix_(free, free)], np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        beta[free] = np.linalg.solve(system, np.append(target[free], -beta.sum()))[:n]
    V, up, down = y[keep] - K @ beta, beta < C, beta > -C
    growing = np.where(beta >= 0, V - p, V + p)[up]  # lower bounds of b, f = K beta + b
    falling = np.where(beta <= 0, V + p, V - p)[down]
    assert growing.max() <= falling.min() + 1e-9
    value = kernel_values(model.param, X[[row]], X[keep])[0] @ beta
    return value + np.array([growing.max(), falling.min()]), free.sum()


@pytest.mark.filterwarnings("ignore:rounding hides:libsvmx.ConvergenceWarning")
def test_values_of_a_path_are_the_optimum_in_double_where_a_training_in_float_is_further_off():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(25, 2)), rng.normal(size=25)
    options = {"svm_type": 3, "kernel_type": 1, "degree": 2, "gamma": 2.0, "coef0": 1.0, "C": 80.0}
    found = libsvmx.leave_one_out(X, y, seeder="path", eps=1e-9, **options).decision_values[:, 0]
    in_float = []
    for row in range(len(y)):
        interval, n_free = held_out(X, y, row, **options)
        assert n_free and np.abs(interval - found[row]).max() <= 1e-8
        keep = np.arange(len(y)) != row
        trained = libsvmx.train(X[keep], y[keep], eps=1e-9, **options)
        in_float.append(abs(libsvmx.decision_values(trained, X[[row]])[0, 0] - found[row]))
    assert 1e-5 < max(in_float) < 1e-2


@pytest.mark.parametrize("seeder", ["path", "near", "sir"])
def test_where_no_row_is_free_a_value_is_somewhere_in_the_interval_of_rho(seeder):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 1)), rng.normal(size=10)
    options = {"svm_type": 3, "kernel_type": 2, "gamma": 0.5, "C": 0.1}
    found = libsvmx.leave_one_out(X, y, seeder=seeder, eps=1e-9, **options).decision_values[:, 0]
    widths = []
    for row in range(len(y)):
        (lowest, highest), n_free = held_out(X, y, row, **options)
        assert lowest - 1e-6 <= found[row] <= highest + 1e-6
        widths.append(0.0 if n_free else highest - lowest)
    assert max(widths) > 0.01


@pytest.mark.parametrize("queue", [True, False])
@pytest.mark.parametrize("found_by", ["leave_one_out", "near in a star", "auto in a star"])
def test_where_no_row_is_free_rho_is_that_of_the_rows_left(found_by, queue):
    """In a wide tube no row has a coefficient, but the two outermost targets decide on rho."""
    rng = np.random.default_rng(1)
    X, y, policy = rng.normal(size=(12, 2)), rng.normal(size=12), KernelPolicy(queue=queue)
    options = {"svm_type": 3, "p": 3.0, "C": 1.0, "policy": policy}
    expected = libsvmx.cross_validate(X, y, 12, **options).decision_values
    if found_by == "leave_one_out":
        found = libsvmx.leave_one_out(X, y, **options)
    else:
        found = libsvmx.cross_validate(X, y, 12, seeder=found_by.split()[0], scheme="star", **options)
    np.testing.assert_allclose(found.decision_values, expected, rtol=0, atol=1e-9)
    assert np.ptp(expected) > 0.1


@pytest.mark.parametrize("seeder", ["auto", "near", "sir"])
@pytest.mark.parametrize("queue", [True, False])
def test_coefficients_beside_a_bound_do_not_decide_on_rho(seeder, queue):
    """With a small C there are rows without which no other is free."""
    X, y = libsvmx.read_problem(data.DATA / "mpg")
    X, y = np.asarray(X.toarray())[::2], np.asarray(y)[::2]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"svm_type": 3, "C": 0.1, "gamma": 0.02, "policy": KernelPolicy(queue=queue)}
    found = libsvmx.leave_one_out(X, y, seeder=seeder, **options)
    expected = libsvmx.cross_validate(X, y, len(y), **options)
    np.testing.assert_allclose(found.decision_values, expected.decision_values, rtol=0, atol=1e-6)
    assert min(one.gap for one in expected.folds) < -0.01


@pytest.mark.filterwarnings("ignore:a solution degenerates")
@pytest.mark.parametrize("seeder", ["auto", "path", "near"])
@pytest.mark.parametrize("queue", [True, False])
def test_one_class_with_every_row_at_its_bound(seeder, queue):
    """rho has no upper limit, and is infinite, as in LIBSVM."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    options = {"svm_type": 2, "nu": 1.0, "policy": KernelPolicy(queue=queue)}
    found = libsvmx.leave_one_out(X, np.ones(20), seeder=seeder, **options)
    expected = libsvmx.cross_validate(X, np.ones(20), 20, **options)
    assert np.array_equal(found.decision_values, expected.decision_values)
    assert np.all(found.decision_values == -np.inf)


@pytest.mark.parametrize("seeder", ["auto", "near", "sir"])
def test_decision_values_of_nu_svc_are_as_accurate_where_a_row_changes_nothing(seeder):
    """Those of the pairs without the row are those of the training over all rows, which stops at eps r, too."""
    rng = np.random.default_rng(3)
    centers, y = 2 * rng.normal(size=(6, 4)), rng.integers(0, 6, 180).astype(float)
    X = centers[y.astype(int)] + rng.normal(size=(180, 4))
    options = {"svm_type": 1, "nu": 0.05, "gamma": 0.2}
    exact = libsvmx.cross_validate(X, y, 180, eps=1e-9, **options).decision_values
    found = libsvmx.leave_one_out(X, y, seeder=seeder, eps=1e-3, **options).decision_values
    assert np.nanmax(np.abs(found - exact)) < 4e-3


# ---- in a queue --------------------------------------------------------------------------------------

FORMULATIONS = {
    "C-SVC": ("heart_scale", {"C": 4, "gamma": 0.08, "weights": {1: 0.7}}),
    "pairs": ("glass.scale", {"C": 32, "gamma": 0.3}),
    "nu-SVC": ("heart_scale", {"svm_type": 1, "nu": 0.4, "gamma": 0.1}),
    "one-class": ("heart_scale", {"svm_type": 2, "nu": 0.3, "gamma": 0.1}),
    "epsilon-SVR": ("mpg", {"svm_type": 3, "C": 8, "p": 0.2}),
    "nu-SVR": ("mpg", {"svm_type": 4, "C": 8, "nu": 0.4}),
    "quantile": ("mpg", {"svm_type": libsvmx.SvmType.QUANTILE_SVR, "C": 8, "tau": 0.3}),
}


def formulated(name):
    """Rows, targets and options."""
    file, options = FORMULATIONS[name]
    X, y = libsvmx.read_problem(data.DATA / file)
    X, y = np.asarray(X.toarray())[::4], np.asarray(y)[::4]
    return (X - X.mean(axis=0)) / X.std(axis=0) if file == "mpg" else X, y, options


@pytest.mark.parametrize("seeder", ["auto", "near", "sir", "mir", "ato"])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_queue_finds_the_values_of_single_solves(name, seeder):
    X, y, options = formulated(name)
    eps = 1e-5
    queued, single = (
        libsvmx.leave_one_out(X, y, seeder=seeder, eps=eps, policy=KernelPolicy(queue=queue), **options)
        for queue in (True, False)
    )
    np.testing.assert_allclose(queued.decision_values, single.decision_values, rtol=0, atol=20 * eps)
    assert np.array_equal(queued.retrained, single.retrained)
    assert queued.full.iterations == single.full.iterations


@pytest.mark.parametrize("name", FORMULATIONS)
def test_rows_of_weight_0_are_left_out_of_the_queue(name):
    """The others have the values of a queue without them, to more digits than single solves would have."""
    X, y, options = formulated(name)
    weights, eps = np.arange(len(y)) * 7 % 3 * 1.0, 1e-5
    some = weights > 0
    found = libsvmx.leave_one_out(X, y, sample_weight=weights, eps=eps, **options)
    without = libsvmx.leave_one_out(X[some], y[some], sample_weight=weights[some], eps=eps, **options)
    np.testing.assert_allclose(found.decision_values[some], without.decision_values, rtol=0, atol=1e-12)
    assert np.array_equal(found.retrained, np.flatnonzero(some)[without.retrained])
    model = libsvmx.train(X, y, sample_weight=weights, eps=eps, **options)
    np.testing.assert_allclose(found.predictions[~some], libsvmx.predict(model, X[~some]), rtol=0, atol=20 * eps)


@pytest.mark.filterwarnings("ignore::libsvmx.exceptions.ConvergenceWarning")
def test_without_a_nu_that_is_feasible_rows_are_predicted_as_by_libsvm():
    """Decision values are nan or 0 then, and LIBSVM votes for the second class, -1 whichever class comes first."""
    X = np.repeat(np.arange(4.0)[:, None], 4, axis=0) + np.random.default_rng(0).normal(0, 0.1, (16, 4))
    y = [1.0] * 4 + [-1.0] * 12
    expected = Oracle(as_matrix(X), y, "-s 1 -n 0.49 -g 1").cross_validate(16)
    for seed in range(4):
        found = libsvmx.leave_one_out(X, y, svm_type=1, nu=0.49, gamma=1, random_state=seed)
        assert list(found.predictions) == expected


def test_a_call_that_must_stop_leaves_rows_of_several_classes_that_are_done():
    """All pairs of a row are solved together."""
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(300, 8)), generator.integers(0, 5, 300).astype(float)
    problem, param = Problem(as_matrix(X), data.filled("d", y)), replace(parameter("-c 1000 -g 0.05"), threads=1)

    class Counts(Observer):
        left = 0

        def should_stop(self):
            self.left -= 1
            return self.left == 0

    whole, part = Counts(), Counts()
    leave_one_out(problem, param, Rand(1), whole)
    part.left = -whole.left * 3 // 4
    with pytest.raises(libsvmx.StoppedEarly) as stopped:
        leave_one_out(problem, param, Rand(1), part)
    assert sum(value == value for value in stopped.value.partial.predicted) > 75


@pytest.mark.filterwarnings("ignore::libsvmx.exceptions.ConvergenceWarning")
def test_rows_leave_along_exact_paths_where_a_queue_would_take_longer():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(240, 8)), generator.integers(0, 3, 240).astype(float)
    one, three, by_name = (
        libsvmx.leave_one_out(X, y, C=1e5, gamma=0.01, threads=threads, seeder=seeder)
        for threads, seeder in ((1, "auto"), (3, "auto"), (1, "path"))
    )
    assert {fold.seeder for fold in one.folds} == {"path"}
    assert np.array_equal(one.decision_values, three.decision_values)
    np.testing.assert_allclose(one.decision_values, by_name.decision_values, rtol=0, atol=1e-6)
    easy = libsvmx.leave_one_out(X, y, gamma=0.1)
    assert "path" not in {fold.seeder for fold in easy.folds}

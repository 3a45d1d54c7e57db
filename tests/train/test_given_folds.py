"""A column of one fold: at each C the decision values of a single training, for each supported formulation."""

from dataclasses import replace

import numpy as np
import pytest
from support.policies import BY_CLASSES, KernelPolicy

import libsvmx
from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Stopped
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.validation.given_folds import Column, GivenFold
from libsvmx.api.arrays import from_dense
from libsvmx.exceptions import DataError

COSTS = [0.01, 0.3, 4.0, 5.0, 900.0]
RANDOM = np.random.RandomState(5)
X = RANDOM.normal(size=(90, 4))
CLASSES = (X[:, 0] + X[:, 1] ** 2 + 0.5 * RANDOM.normal(size=90) > 0.7).astype(float) + (X[:, 2] > 1)
NUMBERS = X[:, 0] - X[:, 1] ** 2 + 0.3 * RANDOM.normal(size=90)
WEIGHTS = RANDOM.choice([0.5, 1.0, 3.0], size=90)
EXACT = {"eps": 1e-9, "cache_size": 100.0, "threads": 1}

PARAMETERS = {
    "rbf": Parameter(gamma=0.4, **EXACT),
    "poly": Parameter(kernel_type="poly", degree=2, gamma=0.3, coef0=1.0, **EXACT),
    "linear": Parameter(kernel_type="linear", eps=1e-6),
    "no shrinking": Parameter(gamma=0.4, shrinking=False, **EXACT),
    "hardly any memory": Parameter(gamma=0.4, eps=1e-9, cache_size=0.001),
    "regression": Parameter(svm_type="epsilon_svr", p=0.1, gamma=0.4, **EXACT),
}


def problem_of(param, weights=None):
    targets = NUMBERS if param.svm_type.is_regression else CLASSES
    return Problem(from_dense(X), targets.data, sample_weight=None if weights is None else weights.data)


def numbers(rows):
    return filled("i", [int(row) for row in rows])


def trained_alone(param, problem, C, rest, tests, class_weights):
    """Decision values of ``train``, shape (functions, n)."""
    targets, weights = np.asarray(problem.targets)[rest], None
    if problem.sample_weight is not None:
        weights = np.asarray(problem.sample_weight)[rest]
    own = replace(param, C=C, weights=tuple(class_weights.items()), max_iter=10**9)
    values = libsvmx.decision_values(libsvmx.train(X[rest], targets, own, sample_weight=weights), X[tests])
    return values.reshape(len(tests), -1).T


def solved(column, rest, tests, class_weights=None):
    """One fold of a column."""
    (found,) = column.solve([GivenFold(numbers(rest), numbers(tests), class_weights or {})])
    return found


def table_of(found, wanted):
    """Decision values by function, C and row."""
    return np.asarray(found.values).reshape(len(wanted), len(found.widths), -1)


@pytest.fixture(params=[KernelPolicy(), BY_CLASSES], ids=["all kernel values", "rows"])
def policy(request):
    """With all kernel values kept, and without."""
    return request.param


@pytest.mark.filterwarnings("ignore:rounding hides:libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("weighted", [False, True], ids=["rows count once", "weights"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_values_are_those_of_trainings_by_themselves(name, weighted, policy):
    param = replace(PARAMETERS[name], policy=policy)
    costs = COSTS[:4] if name == "linear" else COSTS
    problem = problem_of(param, WEIGHTS if weighted else None)
    class_weights = {0: 0.7, 2: 1.5} if weighted and not param.svm_type.is_regression else {}
    column = Column(problem, param, costs, Observer())
    for held_out in (np.arange(0, 90, 5), np.arange(3, 90, 4)):
        rest = np.setdiff1d(np.arange(90), held_out)
        rest = rest[np.argsort(CLASSES[rest], kind="stable")]
        found = solved(column, rest, held_out, class_weights)
        assert found.labels == ([] if param.svm_type.is_regression else [0, 1, 2])
        assert all(found.converged[: len(costs) - (name == "poly")])
        for at, C in enumerate(costs):
            wanted = trained_alone(param, problem, C, rest, held_out, class_weights)
            size = np.abs(wanted).max()
            for values, of_function in zip(table_of(found, wanted), wanted, strict=True):
                if found.widths[at] == 0:
                    np.testing.assert_allclose(values[at], of_function, atol=2e-4 * max(size, 1))
                else:  # any rho of an interval is valid
                    assert np.ptp(np.asarray(values[at]) - of_function) < 2e-4 * max(size, 1)


@pytest.mark.parametrize("kind", ["classes", "regression"])
def test_threads_change_nothing(kind):
    svm_type = "epsilon_svr" if kind == "regression" else "c_svc"
    rows = np.tile(X, (4, 1)) + 0.1 * RANDOM.normal(size=(360, 4))
    targets = np.tile(NUMBERS if kind == "regression" else CLASSES, 4)
    given = [
        GivenFold(numbers(np.delete(np.arange(360), held)), numbers(held)) for held in np.split(np.arange(360), 12)
    ]

    def found(threads):
        param = Parameter(svm_type=svm_type, gamma=0.4, threads=threads)
        folds = Column(Problem(from_dense(rows), targets.data), param, COSTS, Observer()).solve(given)
        return [(bytes(fold.values), fold.iterations, fold.widths) for fold in folds]

    assert found(1) == found(3)


def test_each_optimum_is_where_the_next_begins(policy):
    param = replace(PARAMETERS["rbf"], policy=policy)
    column = Column(problem_of(param), param, [900.0, 900.0 * (1 + 1e-9)], Observer())
    column = solved(column, np.argsort(CLASSES, kind="stable"), [0])
    assert column.iterations[0] > 0
    assert column.iterations[1] <= column.iterations[0] / 10


def test_a_row_that_is_trained_on_may_be_predicted(policy):
    param = replace(PARAMETERS["rbf"], policy=policy)
    rest = np.argsort(CLASSES, kind="stable")
    found = solved(Column(problem_of(param), param, [1.0], Observer()), [*rest, rest[-1]], [5, 5, 7])
    doubled = np.append(rest, rest[-1])
    wanted = trained_alone(param, problem_of(param), 1.0, doubled, np.array([5, 5, 7]), {})
    np.testing.assert_allclose(table_of(found, wanted)[:, 0], wanted, atol=1e-5)


def test_equal_coefficients_at_unequal_bounds_leave_rho_open(policy):
    """Weights with equal sums in both classes: at a small C all rows are at their bounds."""
    targets = np.array([0.0] * 10 + [1.0] * 5)
    param = Parameter(gamma=0.4, threads=1, policy=policy)
    problem = Problem(from_dense(X[:15]), targets.data)
    column = Column(problem, param, [1e-3, 100.0], Observer())
    every = range(15)
    assert solved(column, every, every, {0: 0.75, 1: 1.5}).widths[0] > 1
    assert solved(column, every, every, {0: 0.75, 1: 1.5}).widths[1] == 0
    assert solved(column, every, every).widths == [0, 0]


def test_formulations_without_a_start_at_a_smaller_cost_are_refused():
    with pytest.raises(ValueError, match="NU_SVC"):
        Column(problem_of(Parameter()), Parameter(svm_type="nu_svc"), [1.0], Observer())
    column = Column(problem_of(Parameter()), Parameter(), [1.0], Observer())
    with pytest.raises(DataError, match="one class only"):
        solved(column, np.flatnonzero(CLASSES == 1), [0])


def test_an_observer_ends_it(policy):
    class Ending(Observer):
        def should_stop(self):
            return True

    param = Parameter(gamma=0.4, eps=1e-12, threads=1, policy=policy)
    problem = Problem(from_dense(np.tile(X, (8, 1)) + RANDOM.normal(size=(720, 4))), np.tile(CLASSES % 2, 8).data)
    rest = np.argsort(np.asarray(problem.targets), kind="stable")
    with pytest.raises(Stopped):
        solved(Column(problem, param, [1e4], Ending()), rest, [0])

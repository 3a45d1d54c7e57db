"""explain(): Shapley values against NumPy's sum over all coalitions; and explain_training()."""

from itertools import chain, combinations
from math import factorial

import numpy as np
import pytest

import libsvmx

from .table import Case, each
from .test_training import THREADS

D = 7  # features: 128 coalitions


def narrow(solver, task, kernel, **options):
    """A case with few features."""
    case = Case(solver, task, kernel, **options)
    case.features = case.features[:, -D:]
    return case


def by_coalitions(model, x, background):
    """Shapley's formula: shape (d, n_functions)."""
    d = len(x)
    coalitions = list(chain.from_iterable(combinations(range(d), k) for k in range(d + 1)))
    mixed = np.repeat(background[None], len(coalitions), axis=0)
    for own, S in zip(mixed, coalitions, strict=True):
        own[:, list(S)] = x[list(S)]
    worth = libsvmx.decision_values(model, mixed.reshape(-1, d)).reshape(len(coalitions), len(background), -1).mean(1)
    of = dict(zip(coalitions, worth, strict=True))
    values = np.zeros((d, worth.shape[1]))
    for S in coalitions:
        for f in set(range(d)) - set(S):
            weight = factorial(len(S)) * factorial(d - len(S) - 1) / factorial(d)
            values[f] += weight * (of[tuple(sorted({*S, f}))] - of[S])
    return values


@each("explain")
def test_values_are_those_over_all_coalitions(solver, task, kernel, mechanism):
    case = narrow(solver, task, kernel, **mechanism)
    model, background = case.train(), case.X()[:5]
    found = libsvmx.explain(model, case.tests()[:2], background)
    size = 1e-11 * max(1.0, np.abs(model.sv_coef).sum())
    for x, values in zip(case.tests()[:2], found.values, strict=True):
        expected = by_coalitions(model, x, background)
        np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=0, atol=size)


@each("explain", strength=1)
def test_values_add_up_whatever_the_threads(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    model, X = case.train(), case.tests()[:6]
    one, *others = (libsvmx.explain(model, X, case.X()[:9], threads=threads) for threads in THREADS)
    values, base = (libsvmx.decision_values(model, rows) for rows in (X, case.X()[:9]))
    sums = one.values.sum(axis=1).reshape(values.shape) + one.base_values.reshape(values.shape)
    np.testing.assert_allclose(sums, values, rtol=0, atol=1e-11 * max(1.0, np.abs(model.sv_coef).sum()))
    np.testing.assert_allclose(one.base_values.reshape(values.shape), np.tile(base.mean(axis=0), (6, 1)), rtol=1e-12)
    assert np.array_equal(one.data, X) and one.first_index == 1
    assert all(np.array_equal(other.values, one.values) for other in others)
    assert np.array_equal(libsvmx.explain(model, case.matrix(case.new[:6]), case.matrix(case.rows[:9])).data, X) or (
        not X[:, -1].any()  # rows without columns: the last column is the last feature of any row
    )


# ---- explain_training ----------------------------------------------------------------------------------


@each("train", strength=1)
def test_a_plan_describes_the_training(solver, task, kernel, mechanism):
    """Sizes, solver and parameters; nothing is trained, and a later training does as planned."""
    case = Case(solver, task, kernel, **mechanism)
    plan = libsvmx.explain_training(case.X(), case.y(), **case.options)
    model = case.train()
    assert plan.param == model.param
    assert plan.problems == len(model.reports)
    assert (plan.rows, plan.solver in solver) == (len(case.rows), True) or solver == "auto"
    labels, counts = np.unique(case.y(), return_counts=True)
    if case.task.is_classification:
        assert sorted(plan.classes) == list(zip(labels, counts, strict=True))
    assert plan.targets == ((labels[0], labels[-1]) if case.svm_type.is_regression else None)
    if not case.is_precomputed:
        X = case.X()[:, case.X().any(axis=0)]
        assert (plan.values, plan.features) == (np.count_nonzero(X), X.shape[1])
        assert plan.density == pytest.approx(np.count_nonzero(X) / X.size, rel=1e-12)

"""Predictions of a model: labels or targets, decision values, probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._core.buffers import zeros
from libsvmx._kernels.cross import CrossKernel
from libsvmx._train import probability
from libsvmx._train.checks import check_precomputed_tests
from libsvmx._train.decision import DecisionFunction, votes
from libsvmx.enums import KernelType, SvmType

if TYPE_CHECKING:
    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._train.model import Model
    from libsvmx._typing import Buffer


def decision_function(model: Model) -> DecisionFunction:
    """The model's functions, ready for many calls."""
    p = model.param
    kernel = CrossKernel(model.vectors, p.kernel_type, p.degree, p.gamma, p.coef0)
    return DecisionFunction(kernel, model.coef, model.offsets, model.class_sv)


def decision_values(model: Model, tests: CsrMatrix, rows: Buffer) -> Buffer:
    """Decision values, float64, shape (n_rows * n_functions,), row by row.

    Raises
    ------
    DataError       rows that a precomputed model cannot read
    """
    if model.param.kernel_type == KernelType.PRECOMPUTED:
        check_precomputed_tests(model, tests, rows)
    return decision_function(model).values(tests, rows)


def predict(model: Model, tests: CsrMatrix, rows: Buffer) -> tuple[Buffer, Buffer]:
    """Predictions, float64, shape (n,): label, target, or +1 / -1 of one-class; and the decision values."""
    values = decision_values(model, tests, rows)
    return labels_of(model, values, len(rows)), values


def labels_of(model: Model, values: Buffer, n: int) -> Buffer:
    """What the decision values of n rows say."""
    if model.param.svm_type.is_regression:
        return values
    out = zeros("d", n)
    if model.param.svm_type == SvmType.ONE_CLASS:
        for i, value in enumerate(values):
            out[i] = 1.0 if value > 0 else -1.0
        return out
    labels = model.class_labels or ()
    for i, c in enumerate(votes(values, n, model.nr_class)):
        out[i] = labels[c]
    return out


def predict_probability(model: Model, tests: CsrMatrix, rows: Buffer) -> tuple[Buffer, Buffer, int]:
    """Predictions with probabilities.

    Classification predicts the most probable class; one-class the sign, with the probabilities of
    normal and outlier. Regression has none: its noise scale is ``model.sigmoid_a``.

    Returns
    -------
    predictions : buffer of float64, shape (n,)
    probabilities : buffer of float64, shape (n * nr_class,), empty for regression
    unfinished : int      rows whose pairwise coupling met its iteration limit
    """
    n = len(rows)
    values = decision_values(model, tests, rows)
    if model.param.svm_type.is_regression or not model.has_probability:
        return labels_of(model, values, n), zeros("d", 0), 0
    if model.param.svm_type == SvmType.ONE_CLASS:
        estimates = zeros("d", 2 * n)
        for i, value in enumerate(values):
            estimates[2 * i] = probability.normal_probability(value, model.marks)
            estimates[2 * i + 1] = 1 - estimates[2 * i]
        return labels_of(model, values, n), estimates, 0
    k = model.nr_class
    estimates, unfinished = probability.class_probabilities(values, n, k, model.sigmoid_a, model.sigmoid_b)
    out = zeros("d", n)
    labels = model.class_labels or ()
    for i in range(n):
        row = list(estimates[i * k : (i + 1) * k])
        out[i] = labels[row.index(max(row))]
    return out, estimates, unfinished

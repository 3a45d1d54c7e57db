"""Training from coefficients given by the caller.

Coefficients are those of a model: beta of the rows, shape (classes - 1, rows), where pair (i, j) of classes, i < j,
has those of class i in row j - 1, >= 0, and those of class j in row i, <= 0; regression and one-class have one row.
The start is the feasible point that a warm start makes of them; its scores take the kernel rows of what is not 0.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libsvmx._train import folds
from libsvmx._train.formulation import coefficient_sums
from libsvmx._train.model import Model, by_pair
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.updating.from_model import check_classes, matched_rows
from libsvmx._train.warm_start import KnownOptima, KnownOptimum, WarmStart
from libsvmx._train.zero_weights import counting_part
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import is_model, model_of, numbers_of
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError

Rows = NDArray[np.integer[Any]]

UNKNOWN: dict[str, Any] = {}  # kernel of K beta: unknown, so K beta is not used


def warm_start_of(start: Any, problem: Problem, param: Parameter) -> WarmStart:
    """The start of a training of ``problem``.

    Parameters
    ----------
    start : Model, or array of float, shape (classes that count - 1, rows), or (rows,) where that is one row
        The rows of a model from a file are found again by their features.

    Raises
    ------
    DataError           other rows or classes, another shape, or a coefficient of the wrong sign for its class
    ParameterError      the solver cannot start from what is known
    """
    param.solver.require("may_be_seeded")
    part = counting_part(problem, param, Observer())
    rows = np.arange(len(problem)) if part is None else np.asarray(part.rows)
    counting = problem if part is None else part.problem
    labels, bounds, order = [0], [0], rows
    if param.svm_type.is_classification:
        labels, bounds, by_class = folds.group_classes(counting.targets)
        order = rows[np.asarray(by_class)]
    shape = (max(len(labels) - 1, 1), len(problem))
    if is_model(start):
        table = table_of(model_of(start), problem, counting, param, shape)
    else:
        table = checked_table(start, shape)
    if not param.svm_type.is_classification:
        beta = table[0, rows]
        if param.svm_type.is_regression:
            beta = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
        else:
            check_signs(beta, np.ones(len(rows)), rows)
        optima = {(0, 0): beta}
    else:
        optima = {}
        for i, j in combinations(range(len(labels)), 2):
            first, second = (order[bounds[c] : bounds[c + 1]] for c in (i, j))
            members = np.concatenate([first, second])
            beta = np.concatenate([table[j - 1, first], table[i, second]])
            check_signs(beta, np.repeat([1.0, -1.0], [len(first), len(second)]), members)
            optima[i, j] = (
                beta if param.svm_type == SvmType.C_SVC else on_sums(beta, len(first), members, problem, param)
            )
    known = {pair: KnownOptimum(beta, np.zeros(len(beta))) for pair, beta in optima.items()}
    return WarmStart(param, KnownOptima(UNKNOWN, param.C if param.svm_type.has_cost else 1.0, known))


def checked_table(start: Any, shape: tuple[int, int]) -> FloatArray:
    """An array of coefficients in its shape. Raises DataError."""
    table = np.array(numbers_of(start, "start"))
    if table.shape != shape and (shape[0] > 1 or table.shape != shape[1:]):
        raise DataError(f"start must have shape {shape}, but its shape is {table.shape}")
    table = table.reshape(shape)
    bad = np.flatnonzero(~np.isfinite(table).all(axis=0))
    if len(bad):
        raise DataError("its coefficient in start is not finite", int(bad[0]))
    return table


def table_of(model: Model, problem: Problem, counting: Problem, param: Parameter, shape: tuple[int, int]) -> FloatArray:
    """The coefficients of a model by row; its classes may be in another order. Raises DataError."""
    if model.param.svm_type.is_classification != param.svm_type.is_classification or (
        model.param.svm_type.is_regression != param.svm_type.is_regression
    ):
        raise DataError(f"start is a model of {model.param.svm_type.name}, but {param.svm_type.name} is trained")
    if model.row_numbers is None:
        row_of = matched_rows(problem, model)
    else:
        row_of = np.asarray(model.row_numbers) - 1
        if len(row_of) and row_of.max() >= len(problem):
            raise DataError(f"start has a support vector of row {row_of.max() + 1}, but there are {len(problem)} rows")
    table = np.zeros(shape)
    if not param.svm_type.is_classification:
        table[0, row_of] = model.sv_coef[0]
        return table
    check_classes(counting, model)
    labels, own = list(model.class_labels or ()), folds.group_classes(counting.targets)[0]
    owners = np.repeat(np.arange(len(labels)), model.class_sv or ())
    wrong = np.flatnonzero(np.array(labels)[owners] != np.asarray(problem.targets)[row_of])
    if len(wrong):
        k = wrong[0]
        raise DataError(f"it is of class {labels[owners[k]]:g} in the model of start", int(row_of[k]))
    places = [(j - 1, i) for i, j in combinations(range(len(own)), 2)]
    for rows, of_classes in zip(places, by_pair(model, combinations(own, 2)), strict=True):
        for row, (part, coefficients) in zip(rows, of_classes, strict=True):
            table[row, row_of[part]] = coefficients
    return table


def check_signs(beta: FloatArray, sides: FloatArray, rows: Rows) -> None:
    """Raise DataError for a coefficient on the wrong side of 0."""
    wrong = np.flatnonzero(beta * sides < 0)
    if len(wrong):
        k = wrong[0]
        side = ">= 0" if sides[k] > 0 else "<= 0"
        raise DataError(f"its coefficient in start is {beta[k]:g}, but must be {side} in its class", int(rows[k]))


def on_sums(beta: FloatArray, n_first: int, members: Rows, problem: Problem, param: Parameter) -> FloatArray:
    """beta of a pair in nu-SVC, whose sums are fixed; those of a model are divided by r (Chang & Lin 2001, sec. 4)."""
    weights = np.ones(len(problem)) if problem.sample_weight is None else np.asarray(problem.sample_weight)
    sums = coefficient_sums(param, float(weights[members].sum()))
    for part, total in zip((beta[:n_first], beta[n_first:]), sums, strict=True):
        if part.any():
            part /= np.abs(part).max()  # avoid overflow and underflow of the sums
            part *= total / part.sum()
    return beta

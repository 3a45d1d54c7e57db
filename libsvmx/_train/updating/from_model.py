"""States from a model of LIBSVM and its training data.

A model has beta of its support vectors, but neither their row numbers nor C. Rows are identified by their features,
exactly or, since model files have eight digits (%.8g), rounded. Either way beta is near the optimum of the kernel in
double, and a path leads there (``Path.start``).

In nu-SVC a model has beta / r; r follows from the sum of beta. In nu-SVR it has the sum of the two variables of a row,
one of which is 0 unless the tube has no width.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection
from contextlib import suppress
from itertools import pairwise
from math import isclose
from typing import Any

import numpy as np

from libsvmx._core.arrays import ramp
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._train.formulation import coefficient_sums
from libsvmx._train.limits import limited
from libsvmx._train.model import Model, by_pair, vectors_of
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.updating.binary_problem import (
    NO_STATE,
    BinaryProblem,
    Pair,
    PairIndex,
    errors_of_a_path,
    train_binary,
)
from libsvmx._train.updating.precomputed import check_rows, kept_rows
from libsvmx._train.updating.state import AnyState, check_feasible, check_kept
from libsvmx._train.updating.state_record import BEYOND, UNBALANCED, feasible
from libsvmx._train.updating.transaction import report_of
from libsvmx._train.updating.version import Version
from libsvmx._train.zero_weights import rows_of_state, tell_dropped
from libsvmx._typing import FloatArray
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError, ParameterError

DIGITS = ".8g"  # of features in model files


def completed(param: Parameter, model: Model, given: Collection[str] = ()) -> Parameter:
    """``param`` with the fields that a model file has: formulation and kernel.

    Parameters
    ----------
    given : names of the fields of ``param`` set by the caller

    Raises ParameterError for a field set by the caller, or not the default, that contradicts the model.
    """
    kept = model.param
    usual = Parameter()
    names = ["svm_type", "kernel_type", *kept.kernel_type.uses]
    if "gamma" in names and param.gammas != kept.gammas and (param.gammas or param.gamma):
        if param.gammas and kept.gammas:
            raise ParameterError("gamma of each feature is not that of the model")
        words = ["one for each feature" if p.gammas else "one number" for p in (param, kept)]
        raise ParameterError(f"gamma is given as {words[0]}, but the model has {words[1]}")
    for name in names:
        value, own = getattr(param, name), getattr(kept, name)
        asked = (name in given or value != getattr(usual, name)) and not (name == "gamma" and value == 0)
        if asked and not isclose(value, own, rel_tol=1e-12):
            words = [v.name if isinstance(v, SvmType | KernelType) else f"{v:.17g}" for v in (value, own)]
            raise ParameterError(f"{name} is given as {words[0]}, but the model has {words[1]}")
    return replace(
        param,
        svm_type=kept.svm_type,
        kernel_type=kept.kernel_type,
        degree=kept.degree,
        gamma=kept.gamma,
        gammas=kept.gammas,
        coef0=kept.coef0,
    )


def state_of_model(
    problem: Problem, param: Parameter, model: Model, observer: Observer, kind: type[AnyState]
) -> AnyState:
    """The state of a model and the rows it was trained on, of class ``kind``; ``param`` is ``completed``.

    Raises
    ------
    DataError           rows or labels differ from the model's, or coefficients are infeasible for ``param``
    ParameterError
    StoppedEarly
    """
    observer = limited(observer, param.time_limit)
    check_kept(param)
    check_rows(problem, param)
    check_feasible(problem, param)
    if model.has_probability:
        observer.remark(Remark.PROBABILITY_DROPPED)
    rows = rows_of_state(problem, param)
    part = problem.take(rows.data)
    part = Problem(vectors_of(part, ramp(len(part)), param), part.targets)
    if param.svm_type.is_classification:
        tell_dropped(problem, part, observer)
        check_classes(part, model)
    believed = bool(model.statuses) and _of_sums(model.param) == _of_sums(param)
    return state_at(problem, param, model, rows[matched_rows(part, model)], observer, kind, believed)


def _of_sums(param: Parameter) -> tuple[float, ...]:
    """The parameters that determine bounds and sums."""
    return param.C, param.nu, param.tau


def state_of_training(problem: Problem, model: Model, observer: Observer, kind: type[AnyState]) -> AnyState:
    """The state of a model that was trained on exactly these rows. Raises as ``state_of_model``."""
    param = replace(model.param, probability=False)
    check_kept(param)
    assert model.row_numbers is not None
    observer = limited(observer, param.time_limit)
    return state_at(problem, param, model, np.asarray(model.row_numbers) - 1, observer, kind)


def state_at(
    problem: Problem,
    param: Parameter,
    model: Model,
    row_of: Any,
    observer: Observer,
    kind: type[AnyState],
    believed: bool = True,
) -> AnyState:
    """The state of a model with support vectors at the rows ``row_of``, ndarray of int, shape (n_sv,).

    ``believed``: the model is known to be trained with ``param``.
    """
    with errors_of_a_path(NO_STATE):
        problem, table = kept_rows(problem, param, observer)
    ids = np.arange(len(problem), dtype=np.int64)
    index = PairIndex(param, problem, observer)
    betas = coefficients_of(index, model, row_of)
    if believed and param.svm_type == SvmType.NU_SVR and not has_sum_of_nu(index, betas[None]):
        betas = {}  # the tube has no width: both variables of a row may be nonzero
    check_costs(index, betas)
    if not index.costs:
        observer.remark(Remark.ONE_CLASS)
    binaries: dict[Pair, BinaryProblem] = {}
    for pair in index.costs:
        beta = betas[pair].data if pair in betas else None
        binaries[pair] = train_binary(param, index, pair, ids, observer, beta)
        binaries[pair].retrained = False
    return kind(Version(param, problem, ids, len(problem), table, binaries, report_of(binaries.values(), binaries)))


def check_classes(problem: Problem, model: Model) -> None:
    found, known = set(problem.targets), set(model.class_labels or ())
    if found != known:
        strange = min(found ^ known)
        where = "the data, but not of the model" if strange in found else "the model, but not of the data"
        raise DataError(f"{strange:g} is a class of {where}", classes=(strange,))


def matched_rows(problem: Problem, model: Model) -> Any:
    """The row of each support vector: ndarray of int64, shape (n_sv,). Equal rows are taken in order; with a
    precomputed kernel vectors are serial numbers of rows."""
    if model.param.svm_type.is_classification:
        labels = np.repeat(np.array(model.class_labels, dtype=float), model.class_sv or ())
        targets = np.asarray(problem.targets)
    else:
        labels, targets = np.zeros(model.n_sv), np.zeros(len(problem))
    if model.param.kernel_type == KernelType.PRECOMPUTED:
        check_serials(problem.matrix)
        return paired(serial_numbers(model.vectors), labels.tolist(), serial_numbers(problem.matrix), targets.tolist())

    def matched(rounded: bool) -> Any:
        vectors, rows = row_keys(model.vectors, rounded), row_keys(problem.matrix, rounded)
        return paired(vectors, labels.tolist(), rows, targets.tolist())

    with suppress(DataError):
        return matched(rounded=False)
    return matched(rounded=True)


def paired(vectors: list[bytes], labels: list[float], rows: list[bytes], targets: list[float]) -> Any:
    """For each of ``vectors`` the next of the equal ``rows`` with its label."""
    places: dict[tuple[bytes, float], deque[int]] = defaultdict(deque)
    anywhere: dict[bytes, int] = {}
    for i, entry in enumerate(zip(rows, targets, strict=True)):
        places[entry].append(i)
        anywhere.setdefault(entry[0], i)
    found = np.zeros(len(vectors), dtype=np.int64)
    for k, entry in enumerate(zip(vectors, labels, strict=True)):
        if entry not in places:
            if entry[0] not in anywhere:
                raise DataError(
                    f"support vector {k + 1} is not among the rows: the model was trained on others, or rows have "
                    "joined or left since"
                )
            row = anywhere[entry[0]]
            raise DataError(
                f"support vector {k + 1} is of class {entry[1]:g}, but row {row + 1} of the data, with its features, "
                f"of class {targets[row]:g}",
                classes=(entry[1], targets[row]),
            )
        if not places[entry]:
            raise DataError(f"support vector {k + 1} is more often in the model than among the rows")
        found[k] = places[entry].popleft()
    return found


def check_serials(matrix: CsrMatrix) -> None:
    """Raise DataError unless the rows are of a precomputed kernel, with feature 0."""
    begins = np.asarray(matrix.indptr)
    first = np.asarray(matrix.indices)[np.minimum(begins[:-1], max(matrix.nnz - 1, 0))] if matrix.nnz else None
    if first is None or (begins[1:] == begins[:-1]).any() or first.any():
        raise DataError("start is a model of a precomputed kernel, but the rows are not")


def serial_numbers(matrix: CsrMatrix) -> list[bytes]:
    """Feature 0 of each row of a precomputed kernel."""
    values = np.asarray(matrix.values)[np.asarray(matrix.indptr)[:-1]]
    return [value.tobytes() for value in values]


def row_keys(matrix: CsrMatrix, rounded: bool) -> list[bytes]:
    """A key that is equal for two rows if and only if their features are equal, without zeros."""
    values = np.asarray(matrix.values)
    if rounded:
        distinct, position = np.unique(values, return_inverse=True)
        values = np.array([float(format(v, DIGITS)) for v in distinct.tolist()])[position]
    keep = values != 0
    ends = np.concatenate([[0], np.cumsum(keep)])[np.asarray(matrix.indptr)].tolist()
    indices, values = np.asarray(matrix.indices)[keep], values[keep]
    return [indices[begin:end].tobytes() + values[begin:end].tobytes() for begin, end in pairwise(ends)]


def coefficients_of(index: PairIndex, model: Model, row_of: Any) -> dict[Pair, FloatArray]:
    """beta of each binary problem, by variable in the order of a path.

    Parameters
    ----------
    row_of : ndarray of int64, shape (n_sv,)      the row of each support vector
    """
    by_row = np.zeros(len(index.problem))
    betas: dict[Pair, FloatArray] = {}
    if not index.param.svm_type.is_classification:
        by_row[row_of] = model.sv_coef[0]
        by_row = by_row[index.members(None)]
        both = np.column_stack([np.maximum(by_row, 0.0), np.minimum(by_row, 0.0)])
        return {None: np.ascontiguousarray(both).ravel() if index.param.svm_type.is_regression else by_row}
    pairs = [pair for pair in index.costs if pair is not None]
    for pair, of_classes in zip(pairs, by_pair(model, pairs), strict=True):
        by_row[:] = 0.0
        for part, coefficients in of_classes:
            by_row[row_of[part]] = coefficients
        betas[pair] = by_row[index.members(pair)]
        if index.param.svm_type == SvmType.NU_SVC:
            total, found = sum_of_nu(index, pair), np.maximum(betas[pair], 0.0).sum()
            betas[pair] *= total / found if found > 0 else 0.0  # r
    return betas


def sum_of_nu(index: PairIndex, pair: Pair) -> float:
    """The sum required of the nonnegative coefficients of a pair, in nu formulations with two sums."""
    return coefficient_sums(index.param, index.problem.take(index.members(pair).data).weight)[0]


def has_sum_of_nu(index: PairIndex, beta: FloatArray) -> bool:
    """Whether the coefficients of nu-SVR have the required sums."""
    return isclose(float(np.maximum(beta, 0.0).sum()), sum_of_nu(index, None), rel_tol=UNBALANCED)


def check_costs(index: PairIndex, betas: dict[Pair, FloatArray]) -> None:
    """Raise DataError unless the coefficients are feasible for the parameters."""
    param, n = index.param, len(index.problem)
    worst, needed, bound = 0.0, 0.0, 0.0
    bounds: dict[Pair, tuple[FloatArray, FloatArray]] = {}
    for pair, beta in betas.items():
        rows = index.problem.take(index.members(pair).data)
        _, lower, upper = (np.asarray(values) for values in index.bounded(pair, rows))
        bounds[pair] = lower, upper
        widths = upper - lower
        k = int((np.abs(beta) / widths).argmax())
        if abs(beta[k]) / widths[k] > max(needed, 1.0 + BEYOND):
            needed, worst, bound = float(abs(beta[k]) / widths[k]), float(abs(beta[k])), float(widths[k])
    if needed and param.svm_type.has_cost:
        raise DataError(
            f"coefficient {worst:g} exceeds C = {bound:g}: give the C and weights it was trained with "
            f"(at least C = {param.C * needed:g})"
        )
    if needed and param.svm_type == SvmType.NU_SVC:
        raise DataError(
            f"the coefficients do not allow nu = {param.nu:g}: give the nu it was trained with, at most "
            f"{param.nu / needed:.8g}"
        )
    for pair, beta in betas.items():
        weight = index.problem.take(index.members(pair).data).weight
        totals = coefficient_sums(param, weight)
        if param.svm_type == SvmType.ONE_CLASS and not isclose(beta.sum(), totals[0], rel_tol=UNBALANCED):
            raise DataError(
                f"the coefficients add up to {beta.sum():g}, but nu = {param.nu:g} and {n} rows to {totals[0]:g}: "
                f"give the nu it was trained with, {beta.sum() / weight:.8g}"
            )
        if param.svm_type == SvmType.NU_SVR and not has_sum_of_nu(index, beta):
            raise DataError(
                f"the coefficients that are not negative add up to {np.maximum(beta, 0.0).sum():g}, but "
                f"C = {param.C:g}, nu = {param.nu:g} and {n} rows to {totals[0]:g}: give the C and nu it was trained "
                "with, or train again"
            )
        feasible(pair, beta, *bounds[pair], totals)

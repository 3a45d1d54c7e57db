"""States from what was kept of them: from the contents of a state file, or from a model and its training data.

A model of LIBSVM knows beta of its support vectors, but neither their rows nor C. Pair (i, j) of classes, i < j, has
the coefficients of class i in row j - 1 of sv_coef, >= 0, and those of class j in row i, <= 0. Rows are found again by
their features: a file shows them with eight digits (%.8g), so where they do not match as they are, they do rounded.
Either way beta is near the optimum of the kernel in double, and a path leads there (libsvmx._solvers.path.path,
``polish``).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._solvers.path.path import Path, PathLost
from libsvmx._train.checks import check_problem
from libsvmx._train.formulation import coefficient_sums
from libsvmx._train.kernel_provider import MEGABYTE
from libsvmx._train.observer import Remark
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.updating.state import AnyState, State, check_kept
from libsvmx._train.updating.transaction import Change, Key, Layout, Part, boxes_of, train_part
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError, ParameterError, SvmxError

if TYPE_CHECKING:
    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._typing import Buffer, FloatArray, Ids

# Relative to C: what rounding may do to a bound that has been multiplied along a path.
BEYOND = 1e-9
# Relative to the sum of |beta|: sums of any solver are nearer than that.
UNBALANCED = 1e-6
# Relative to the largest |K beta|: another machine may round a kernel value otherwise, but not so.
ELSEWHERE = 1e-6
KERNEL_FIELDS = {
    "degree": (KernelType.POLY,),
    "gamma": (KernelType.POLY, KernelType.RBF, KernelType.SIGMOID),
    "coef0": (KernelType.POLY, KernelType.SIGMOID),
}
DIGITS = ".8g"  # of support vectors in a model file


# ---- what a state file keeps -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PartContents:
    """One dual problem: ``beta`` by variable, of sum ``total``; ``K_beta`` and ``ids`` by position of the path."""

    key: Key
    ids: Ids
    beta: FloatArray
    K_beta: FloatArray
    total: float


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """All that a state is made of, but for what can be computed from it."""

    param: Parameter
    problem: Problem
    ids: Ids
    next_id: int
    parts: list[PartContents]


def contents_of(state: State) -> Contents:
    """The state as it is between two changes."""
    with state._at_rest():
        parts = [
            PartContents(
                key,
                part.ids.copy(),
                np.asarray(part.path.state.coefficients),
                np.asarray(part.path.state.K_beta),
                part.path.state.total,
            )
            for key, part in state.parts.items()
        ]
        return Contents(state.param, state.problem, state.ids, state._next_id, parts)


def restored_state(contents: Contents, observer: Observer, kind: type[AnyState]) -> AnyState:
    """The state of these contents, of class ``kind``. What is not quite the optimum is polished.

    Raises
    ------
    DataError, ParameterError      contents that no state has
    """
    param, problem, ids = contents.param, contents.problem, contents.ids
    check_kept(param)
    check_problem(problem, param)
    if ids.shape != (len(problem),) or ids[0] < 0 or (np.diff(ids) <= 0).any():
        raise DataError("the ids of the rows do not ascend")
    if contents.next_id <= ids[-1]:
        raise DataError(f"the next id, {contents.next_id}, has been given already")
    state = kind(param, problem, ids, contents.next_id)
    layout = Layout(param, problem, observer)
    change = Change(param, problem, ids, None, observer)
    met: set[Key] = set()
    for part in contents.parts:
        key = part.key if part.key is None or part.key in layout.members else (part.key[1], part.key[0])
        if key not in layout.members or key in met:
            raise DataError(f"there is no dual problem of {called(part.key)}, or another one")
        met.add(key)
        state.parts[part.key] = restored_part(change, layout, key, part)
    if len(state.parts) != len(layout.members):
        raise DataError(f"{len(layout.members)} dual problems are needed, {len(state.parts)} given")
    change.touched = list(state.parts.values())
    state.report = change.report(state.parts)
    return state


def restored_part(change: Change, layout: Layout, key: Key, kept: PartContents) -> Part:
    """A part; ``key`` is that of ``layout``, whose classes may be in the other order by now."""
    param, ids = change.param, kept.ids
    if not np.array_equal(np.sort(ids), np.sort(change.ids[np.asarray(layout.members[key])])):
        raise DataError(f"the rows of {called(kept.key)} are not those of the data")
    costs = layout.costs[key] if key == kept.key else layout.costs[key][::-1]
    targets = np.asarray(change.problem.targets)[np.searchsorted(change.ids, ids)]
    if kept.key is not None:
        targets = np.where(targets == kept.key[0], 1.0, -1.0)
    linear, low, high = boxes_of(param, targets.data, *costs)
    if kept.beta.shape != np.asarray(low).shape or kept.K_beta.shape != ids.shape:
        raise DataError(f"the numbers of {called(kept.key)} are too many or too few")
    (total,) = coefficient_sums(param, len(ids))
    if not isclose(kept.total, total, rel_tol=UNBALANCED, abs_tol=UNBALANCED):
        raise DataError(f"the coefficients of {called(kept.key)} are to add up to {total:g}, not {kept.total:g}")
    beta = feasible(kept.key, kept.beta, np.asarray(low), np.asarray(high), total)
    if not np.isfinite(kept.K_beta).all():
        raise DataError(f"a score of {called(kept.key)} is not finite")
    part = Part(Path(2 if param.svm_type.is_regression else 1, param.cache_size * MEGABYTE))
    part.path.state.append(change.kernel_of(ids), ids.data, linear, low, high)
    try:
        # K beta from nothing: no drift is taken over, and the scores in the file show that these are the rows
        part.path.approach(beta.data, total, change.control())
        largest = max(float(np.abs(kept.K_beta).max()), np.finfo(float).tiny)
        if np.abs(np.asarray(part.path.state.K_beta) - kept.K_beta).max() > ELSEWHERE * largest:
            raise DataError(f"the scores of {called(kept.key)} are not those of the data")
        part.path.finish()
    except PathLost:
        part.trained = True
        change.lost(lambda: part.path.by_smo(filled("i", []), total, param.eps, change.control()))
    except TimeoutError as error:
        raise SvmxError(f"{error}: there is no state") from None
    return part


def feasible(key: Key, beta: FloatArray, low: FloatArray, high: FloatArray, total: float) -> FloatArray:
    """beta within its bounds. Raises DataError where it is not even near."""
    if not np.isfinite(beta).all():
        raise DataError(f"a coefficient of {called(key)} is not finite")
    excess = np.maximum(low - beta, beta - high) - BEYOND * (high - low)
    worst = int(excess.argmax())
    if excess[worst] > 0:
        raise DataError(
            f"coefficient {beta[worst]:.17g} of {called(key)} is not between {low[worst]:g} and {high[worst]:g}"
        )
    if abs(beta.sum() - total) > UNBALANCED * (np.abs(beta).sum() + abs(total)):
        raise DataError(f"the coefficients of {called(key)} add up to {beta.sum():g}, not to {total:g}")
    clipped: FloatArray = np.clip(beta, low, high)
    return clipped


def called(key: Key) -> str:
    """A dual problem in a message."""
    return "the rows" if key is None else f"classes {key[0]} and {key[1]}"


# ---- from a model ------------------------------------------------------------------------------


def completed(param: Parameter, model: Model, given: Collection[str] = ()) -> Parameter:
    """``param`` with what a model file keeps: formulation and kernel.

    Parameters
    ----------
    given : names of the fields of ``param`` that were asked for

    Raises
    ------
    ParameterError      what was asked for, or is no default, contradicts the model
    """
    kept = model.param
    usual = Parameter()
    names = ["svm_type", "kernel_type", *(name for name, kinds in KERNEL_FIELDS.items() if kept.kernel_type in kinds)]
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
        coef0=kept.coef0,
    )


def state_of_model(
    problem: Problem, param: Parameter, model: Model, observer: Observer, kind: type[AnyState]
) -> AnyState:
    """The state of a model and the rows it was trained on, of class ``kind``; ``param`` is ``completed``.

    Raises
    ------
    DataError           other rows or labels than the model's, or coefficients that ``param`` does not allow
    ParameterError
    """
    check_kept(param)
    check_problem(problem, param)
    if model.has_probability:
        observer.remark(Remark.PROBABILITY_DROPPED)
    problem = Problem(problem.matrix.take(problem.rows), problem.targets)
    ids = np.arange(len(problem), dtype=np.int64)
    state = kind(param, problem, ids, len(problem))
    layout = Layout(param, problem, observer)
    if param.svm_type.is_classification:
        check_classes(problem, model)
    betas = coefficients_of(layout, model, matched_rows(problem, model))
    check_costs(layout, betas)
    if not layout.members:
        observer.remark(Remark.ONE_CLASS)
    for key, beta in betas.items():
        state.parts[key] = train_part(param, layout, key, ids, observer, beta.data)
        state.parts[key].trained = False
    change = Change(param, problem, ids, None, observer)
    change.touched = list(state.parts.values())
    state.report = change.report(state.parts)
    return state


def check_classes(problem: Problem, model: Model) -> None:
    found, known = set(problem.targets), set(model.class_labels or ())
    if found != known:
        strange = min(found ^ known)
        where = "the data, but not of the model" if strange in found else "the model, but not of the data"
        raise DataError(f"{strange:g} is a class of {where}")


def matched_rows(problem: Problem, model: Model) -> Any:
    """The row of each support vector: ndarray of int64, shape (n_sv,). Equal rows are taken in their order."""
    if model.param.svm_type.is_classification:
        labels = np.repeat(np.array(model.class_labels, dtype=float), model.class_sv or ())
        targets = np.asarray(problem.targets)
    else:
        labels, targets = np.zeros(model.n_sv), np.zeros(len(problem))
    trouble: DataError | None = None
    for rounded in (False, True):
        try:
            return paired(
                row_keys(model.vectors, rounded), labels.tolist(), row_keys(problem.matrix, rounded), targets.tolist()
            )
        except DataError as error:
            trouble = error
    assert trouble is not None
    raise trouble


def paired(vectors: list[bytes], labels: list[float], rows: list[bytes], targets: list[float]) -> Any:
    """For each of ``vectors`` the next of ``rows`` that is equal to it and has its label."""
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
                f"of class {targets[row]:g}"
            )
        if not places[entry]:
            raise DataError(f"support vector {k + 1} is more often in the model than among the rows")
        found[k] = places[entry].popleft()
    return found


def row_keys(matrix: CsrMatrix, rounded: bool) -> list[bytes]:
    """What two rows have in common if and only if their features are equal, zeros left out."""
    values = np.asarray(matrix.values)
    if rounded:
        distinct, position = np.unique(values, return_inverse=True)
        values = np.array([float(format(v, DIGITS)) for v in distinct.tolist()])[position]
    keep = values != 0
    ends = np.concatenate([[0], np.cumsum(keep)])[np.asarray(matrix.indptr)].tolist()
    indices, values = np.asarray(matrix.indices)[keep], values[keep]
    return [indices[begin:end].tobytes() + values[begin:end].tobytes() for begin, end in pairwise(ends)]


def coefficients_of(layout: Layout, model: Model, row_of: Any) -> dict[Key, FloatArray]:
    """beta of each dual problem, by variable, in the order of its members."""
    table = model.sv_coef
    by_row = np.zeros(len(layout.problem))
    betas: dict[Key, FloatArray] = {}
    if not layout.param.svm_type.is_classification:
        by_row[row_of] = table[0]
        both = np.column_stack([np.maximum(by_row, 0.0), np.minimum(by_row, 0.0)])
        return {None: np.ascontiguousarray(both).ravel() if layout.param.svm_type.is_regression else by_row}
    labels, counts = list(model.class_labels or ()), model.class_sv or ()
    first = np.concatenate([[0], np.cumsum(counts)])
    for key, members in layout.members.items():
        assert key is not None
        i, j = labels.index(key[0]), labels.index(key[1])
        sign = 1.0 if i < j else -1.0
        by_row[:] = 0.0
        for own, other in ((i, j), (j, i)):
            columns = slice(first[own], first[own + 1])
            by_row[row_of[columns]] = sign * table[other - (own < other), columns]
        betas[key] = by_row[np.asarray(members)]
    return betas


def check_costs(layout: Layout, betas: dict[Key, FloatArray]) -> None:
    """Raise DataError unless the coefficients are feasible for the parameters."""
    param = layout.param
    worst, needed, bound = 0.0, 0.0, 0.0
    boxes: dict[Key, tuple[FloatArray, FloatArray]] = {}
    for key, beta in betas.items():
        targets: Buffer = layout.problem.take(layout.members[key]).targets
        if key is not None:
            targets = np.where(np.asarray(targets) == key[0], 1.0, -1.0).data
        _, low, high = (np.asarray(side) for side in boxes_of(param, targets, *layout.costs[key]))
        boxes[key] = low, high
        widths = high - low
        k = int((np.abs(beta) / widths).argmax())
        if abs(beta[k]) / widths[k] > max(needed, 1.0 + BEYOND):
            needed, worst, bound = float(abs(beta[k]) / widths[k]), float(abs(beta[k])), float(widths[k])
    if needed and param.svm_type.has_cost:
        raise DataError(
            f"coefficient {worst:g} exceeds C = {bound:g}: give the C and weights it was trained with "
            f"(at least C = {param.C * needed:g})"
        )
    for key, beta in betas.items():
        (total,) = coefficient_sums(param, len(layout.members[key]))
        if param.svm_type == SvmType.ONE_CLASS and not isclose(beta.sum(), total, rel_tol=UNBALANCED):
            raise DataError(
                f"the coefficients add up to {beta.sum():g}, but nu = {param.nu:g} and {len(layout.problem)} rows to "
                f"{total:g}: give the nu it was trained with, {beta.sum() / len(layout.problem):.8g}"
            )
        feasible(key, beta, *boxes[key], total)

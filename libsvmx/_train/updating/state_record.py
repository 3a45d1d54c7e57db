"""StateRecord: the content of a state file, made from a state and turned into one."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._solvers.path.path import PathLost
from libsvmx._train.formulation import coefficient_sums
from libsvmx._train.limits import limited
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.updating.binary_problem import NO_STATE, BinaryProblem, Pair, PairIndex, errors_of_a_path
from libsvmx._train.updating.precomputed import check_rows, kept_rows, rows_of_file
from libsvmx._train.updating.state import AnyState, State, check_feasible, check_kept
from libsvmx._train.updating.transaction import Transaction, report_of
from libsvmx._train.updating.version import Version
from libsvmx._typing import FloatArray, Ids
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

# Tolerances. Of |beta| beyond its bound, which is rounded along a path; relative to C.
BEYOND = 1e-9
# Of a sum of beta; relative to the sum of |beta|. Solvers are more accurate.
UNBALANCED = 1e-6
# Of K beta computed on another machine; relative to the largest |K beta|.
ELSEWHERE = 1e-6
# Of drift of K beta, likewise.
DRIFTED = ELSEWHERE / 10
# Of K beta where its terms cancel; relative to the sum of |beta_q K_pq|.
CANCELLED = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class BinaryRecord:
    """The record of a binary problem of n rows.

    Attributes
    ----------
    pair : Pair
    ids, K_beta : ndarrays of int64 and float64, shape (n,)       by position of the path
    beta : ndarray of float64, shape (n,) or (2 n,)               by variable
    totals : tuple of float                                       the sum of beta over each group
    """

    pair: Pair
    ids: Ids
    beta: FloatArray
    K_beta: FloatArray
    totals: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StateRecord:
    """A state without what can be computed from it.

    With a precomputed kernel, each row of ``problem`` has the values with the rows before it and with itself.
    """

    param: Parameter
    problem: Problem
    ids: Ids
    next_id: int
    binaries: list[BinaryRecord]


def record_of(state: State) -> StateRecord:
    """The record of a state between two changes."""
    with state._lock:
        version, binaries = without_drift(state), []
        for pair, binary in version.binaries.items():
            at = binary.state
            beta, K_beta = np.asarray(at.coefficients), np.asarray(at.K_beta)
            binaries.append(BinaryRecord(pair, binary.ids.copy(), beta, K_beta, at.totals))
        problem = version.problem
        if version.table is not None:
            problem = Problem(rows_of_file(problem), problem.targets, sample_weight=problem.sample_weight)
        return StateRecord(version.param, problem, version.ids.copy(), version.next_id, binaries)


def without_drift(state: State) -> Version:
    """The present version; that of a checked copy if K beta is so small that its drift would look like other rows."""
    version = state._at_rest()
    paths = [binary.state for binary in version.binaries.values()]
    if all(path.drift <= DRIFTED * np.abs(path.K_beta).max(initial=0.0) for path in paths):
        return version
    own = state.copy()
    try:
        own.check()
    except (ParameterError, StoppedEarly):
        return version
    return own._at_rest()


def restored(record: StateRecord, observer: Observer, kind: type[AnyState]) -> AnyState:
    """The state of a record, of class ``kind``. What is not quite the optimum is refined.

    Raises
    ------
    DataError, ParameterError      a record that no state has
    StoppedEarly
    """
    observer = limited(observer, record.param.time_limit)
    param, problem, ids = record.param, record.problem, record.ids
    check_kept(param)
    check_rows(problem, param, contiguous=False)
    check_feasible(problem, param)
    if ids.shape != (len(problem),) or ids[0] < 0 or (np.diff(ids) <= 0).any():
        raise DataError("the ids of the rows do not ascend")
    if record.next_id <= ids[-1]:
        raise DataError(f"the next id, {record.next_id}, has been given already")
    table = None
    if param.kernel_type == KernelType.PRECOMPUTED:
        with errors_of_a_path(NO_STATE):
            problem, table = kept_rows(problem, param, observer, contiguous=False)
    index = PairIndex(param, problem, observer)
    transaction = Transaction(param, problem, ids, observer)
    binaries: dict[Pair, BinaryProblem] = {}
    met: set[Pair] = set()
    for binary in record.binaries:
        listed = index.as_listed(binary.pair)
        if listed not in index.costs or listed in met:
            raise DataError(f"there is no dual problem of {called(binary.pair)}, or another one")
        met.add(listed)
        binaries[binary.pair] = restored_binary(transaction, index, binary)
    if len(binaries) != len(index.costs):
        raise DataError(f"{len(index.costs)} dual problems are needed, {len(binaries)} given")
    report = report_of(binaries.values(), binaries)
    return kind(Version(param, problem, ids, record.next_id, table, binaries, report))


def restored_binary(transaction: Transaction, index: PairIndex, record: BinaryRecord) -> BinaryProblem:
    """One binary problem; its classes may be in the other order in ``index`` by now. Raises as ``restored``."""
    param, ids, name = transaction.param, record.ids, called(record.pair)
    members = index.members(index.as_listed(record.pair))
    if not np.array_equal(np.sort(ids), np.sort(transaction.ids[members])):
        raise DataError(f"the rows of {name} are not those of the data")
    rows = transaction.rows_of(ids)
    linear, lower, upper = index.bounded(record.pair, rows)
    if record.beta.shape != np.asarray(lower).shape or record.K_beta.shape != ids.shape:
        raise DataError(f"the numbers of {name} are too many or too few")
    totals = coefficient_sums(param, rows.weight)
    if len(record.totals) != len(totals):
        raise DataError(f"the coefficients of {name} have {len(totals)} sums, not {len(record.totals)}")
    for given, total in zip(record.totals, totals, strict=True):
        if not isclose(given, total, rel_tol=UNBALANCED, abs_tol=UNBALANCED):
            raise DataError(f"the coefficients of {name} are to add up to {total:g}, not {given:g}")
    beta = feasible(record.pair, record.beta, np.asarray(lower), np.asarray(upper), totals)
    if not np.isfinite(record.K_beta).all():
        raise DataError(f"a score of {name} is not finite")
    binary = BinaryProblem(param)
    path = binary.path
    with errors_of_a_path(NO_STATE):
        kernel = transaction.kernel_of(ids)
        path.state.append(kernel, ids.data, linear, lower, upper, transaction.control())
        try:
            # K beta is computed again, which removes drift; the scores in the file show that the rows are right
            path.approach(beta.data, totals, transaction.control())
            largest = float(np.abs(record.K_beta).max(initial=np.finfo(float).tiny))
            most = len(beta) * float(np.abs(beta).max(initial=0.0)) * float(np.abs(kernel.diagonal).max(initial=0.0))
            apart = float(np.abs(np.asarray(path.state.K_beta) - record.K_beta).max(initial=0.0))
            if apart > ELSEWHERE * largest + CANCELLED * most:
                raise DataError(f"the scores of {name} are not those of the data")
            path.finish()
        except PathLost:
            if not path.accept(beta.data, totals, param.eps, transaction.control()):
                binary.retrained = True
                path.by_smo(filled("i", []), totals, param.eps, transaction.control())
    binary.steps = path.motion.steps
    binary.check_scale()
    path.state.release()
    return binary


def feasible(
    pair: Pair, beta: FloatArray, lower: FloatArray, upper: FloatArray, totals: tuple[float, ...]
) -> FloatArray:
    """beta within its bounds (ndarrays of float64, shape (variables,)). Raises DataError where it is not even near.

    ``totals``: the sum over each group, the second being that of variables with lower < 0.
    """
    if not np.isfinite(beta).all():
        raise DataError(f"a coefficient of {called(pair)} is not finite")
    # in units of the largest of them: sums of what is near the largest double would not be finite
    unit = max(float(np.abs(array).max(initial=max(map(abs, totals)))) for array in (beta, lower, upper)) or 1.0
    scaled, least, most = beta / unit, lower / unit, upper / unit
    excess = np.maximum(least - scaled, scaled - most) - BEYOND * (most - least)
    worst = int(excess.argmax())
    if excess[worst] > 0:
        raise DataError(
            f"coefficient {beta[worst]:.17g} of {called(pair)} is not between {lower[worst]:g} and {upper[worst]:g}"
        )
    for group, total in enumerate(totals):
        part = scaled[(lower < 0) == bool(group)] if len(totals) > 1 else scaled
        if abs(part.sum() - total / unit) > UNBALANCED * (np.abs(part).sum() + abs(total / unit)):
            raise DataError(
                f"the coefficients of {called(pair)} add up to {float(part.sum()) * unit:g}, not to {total:g}"
            )
    return np.clip(beta, lower, upper)


def called(pair: Pair) -> str:
    """A binary problem in a message."""
    return "the rows" if pair is None else f"classes {pair[0]} and {pair[1]}"

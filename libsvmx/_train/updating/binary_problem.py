"""The dual problems of a state: one for each pair of classes, a single one in regression and one-class.

    min  1/2 beta'K beta - linear'beta     s.t.  sum of beta over each group = its total,   lower <= beta <= upper

over the rows of the pair, with beta >= 0 in its first class and beta <= 0 in the other; one group, in the nu
formulations two. In nu-SVC coefficients and rho of the model are those of the dual problem divided by r (Chang & Lin
2011, section 2.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from math import nan
from typing import Any

import numpy as np

from libsvmx._core.arrays import take_float64
from libsvmx._core.buffers import filled
from libsvmx._core.machine import machine
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.auto import Auto
from libsvmx._solvers.path.path import Path, PathLost, interleaved
from libsvmx._solvers.path.path_state import PathState
from libsvmx._solvers.smo.solver import SMO
from libsvmx._train import folds
from libsvmx._train.assembly import each_beta
from libsvmx._train.formulation import build_dual, coefficient_sums
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.limits import ask, control_of
from libsvmx._train.observer import Forwarding, Observer, Remark
from libsvmx._train.parameter import Parameter, class_costs
from libsvmx._train.problem import Problem
from libsvmx._train.queue.duals import solved_pairs
from libsvmx._train.solve_dual import solve
from libsvmx._train.solve_report import SolveReport
from libsvmx._train.zero_weights import dropped_classes, rows_of_state, without_classes
from libsvmx._typing import Buffer, FloatArray, Ids, IntArray
from libsvmx.enums import SolveStatus, SvmType
from libsvmx.exceptions import ParameterError, StoppedEarly

NO_STATE = "there is no state"
Pair = tuple[int, int] | None  # labels of the positive and the negative class; None: all rows


class BinaryProblem:
    """BinaryProblem(param): one dual problem, empty at first; rows of its path are tagged with ids.

    A change works on another object with the same path (``again``), so this one still describes the last change.

    Attributes
    ----------
    path : Path
    steps : int           lines of the path of its last change
    retrained : bool      solved by SMO since the last report: a cold start, or a path that was lost or too long
    iterations : int      of SMO in its last training, at least
    seconds : float       wall time of its training or last change; 0 in a loaded state
    over_r : bool         nu-SVC: the model has coefficients divided by r
    """

    __slots__ = ("iterations", "over_r", "path", "retrained", "seconds", "steps")

    def __init__(self, param: Parameter) -> None:
        self.path = Path(2 if param.svm_type.is_regression else 1, param.cache_bytes, param.svm_type.groups)
        self.retrained, self.seconds, self.iterations, self.steps = False, 0.0, 0, 0
        self.over_r = param.svm_type == SvmType.NU_SVC

    @property
    def state(self) -> PathState:
        """Its rows and their optimum."""
        return self.path.state

    @property
    def ids(self) -> Ids:
        """Ids of the rows in the order of the path: ndarray of int64, shape (rows,)."""
        return np.asarray(self.state.tags)

    @property
    def coefficients(self) -> Any:
        """Coefficients of the rows in the model, in the order of ``ids``: ndarray of float64, shape (rows,)."""
        return np.asarray(self.state.coefficients).reshape(len(self.ids), -1).sum(axis=1) * self.scale

    @property
    def scale(self) -> float:
        """Factor from beta and rho of the dual problem to those of the model; nan if r is not positive."""
        if not self.over_r:
            return 1.0
        return 1.0 / self.state.r if self.state.r > 0 else nan

    @property
    def rho(self) -> float:
        return self.state.rho * self.scale

    @property
    def values(self) -> FloatArray:
        """Decision values of all rows, those being removed included, in the order of ``ids``."""
        return (np.asarray(self.state.K_beta) - self.state.rho) * self.scale

    def check_scale(self) -> None:
        """Raise ParameterError if r of nu-SVC, the divisor of all coefficients, is 0 up to rounding."""
        if self.over_r and len(self.ids) and not self.state.r > max(self.state.gap(), self.path.motion.no_gap):
            raise ParameterError(
                "the solution degenerates: the classes of nu-SVC cannot be told apart. Choose a larger nu, other "
                "kernel parameters, or scale the data"
            )

    def report(self, eps: float) -> SolveReport:
        """Report on the optimum and the last path. ``eps``: a gap above it means an iteration limit."""
        gap, (n_sv, n_bsv) = self.state.gap(), self.state.support_counts()
        return SolveReport(
            iterations=self.steps,
            objective=self.state.objective() * self.scale**2,
            rho=self.rho + 0.0,  # not -0.0
            n_sv=n_sv,
            n_bsv=n_bsv,
            status=SolveStatus.CONVERGED if gap <= eps else SolveStatus.ITERATION_LIMIT,
            gap=gap,
            seconds=self.seconds,
        )

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Set ``seconds`` and ``steps`` to those of the work inside."""
        began = machine.monotonic()
        yield
        self.seconds, self.steps = machine.monotonic() - began, self.path.motion.steps

    def again(self) -> BinaryProblem:
        """Another BinaryProblem with the same path."""
        other = object.__new__(BinaryProblem)
        other.path, other.retrained, other.seconds = self.path, False, self.seconds
        other.iterations, other.over_r, other.steps = self.iterations, self.over_r, self.steps
        return other

    def copy(self) -> BinaryProblem:
        """A BinaryProblem with a copy of the path."""
        other = self.again()
        other.path = self.path.copy()
        return other


class PairIndex:
    """PairIndex(param, problem, observer): the binary problems of a data set, by pair.

    Attributes
    ----------
    costs : dict of (float, float)         of each pair the C of its two classes, unused without classes
    cost_of_class : list of float          for each of ``classes``
    rows : ndarray of int32                all rows of weight > 0, ascending
    rows_of : dict of ndarray of int32     those of each class
    classes : (labels, start, order)       of these rows, by ``folds.group_classes``; no labels without classes
    """

    def __init__(self, param: Parameter, problem: Problem, observer: Observer) -> None:
        self.param, self.problem = param, problem
        self.costs: dict[Pair, tuple[float, float]] = {}
        self.cost_of_class: list[float] = []
        self.rows_of: dict[int, IntArray] = {}
        self.rows = rows = rows_of_state(problem, param)
        self.classes: tuple[list[int], list[int], Buffer] = [], [0], rows.data
        if not param.svm_type.is_classification:
            self.costs[None] = (0.0, 0.0)
            return
        whole = len(rows) == len(problem)
        targets = problem.targets if whole else take_float64(problem.targets, rows.data)
        labels, start, order = self.classes = folds.group_classes(targets)
        self.cost_of_class = costs = class_costs(labels, without_classes(param, dropped_classes(param)), observer)
        by_class = np.asarray(order) if whole else rows[np.asarray(order)]
        self.rows_of = {label: by_class[start[c] : start[c + 1]] for c, label in enumerate(labels)}
        for i, j in combinations(range(len(labels)), 2):
            self.costs[labels[i], labels[j]] = costs[i], costs[j]

    def members(self, pair: Pair, first: int = 0) -> IntArray:
        """The rows of a pair from row ``first`` on, in LIBSVM's order: its first class, then the other."""
        parts = [self.rows] if pair is None else [self.rows_of[label] for label in pair]
        begin = np.int32(first)  # an int would convert the rows to int64
        return np.concatenate([part[np.searchsorted(part, begin) :] for part in parts])

    def as_listed(self, pair: Pair) -> Pair:
        """The key of a pair here, where its classes may be in the other order; the pair itself if it is not here."""
        return pair if pair is None or pair in self.costs or pair[::-1] not in self.costs else pair[::-1]

    def bounded(self, pair: Pair, rows: Problem) -> tuple[Buffer, Buffer, Buffer]:
        """linear, lower and upper of rows of a pair: buffers of float64, shape (variables,), in the order of a path.

        Parameters
        ----------
        pair : Pair           in either order
        rows : Problem        rows of the pair, of weight > 0
        """
        if not len(rows):
            return no_bounds()
        listed = self.as_listed(pair)
        Cp, Cn = self.costs[listed] if listed == pair else self.costs[listed][::-1]
        dual = build_dual(self.param, signed(pair, rows.targets), Cp, Cn, rows.sample_weight)
        n = len(rows)
        return interleaved(dual.linear, n), interleaved(dual.lower, n), interleaved(dual.upper, n)


def signed(pair: Pair, targets: Buffer) -> Buffer:
    """Labels as +1 for the first class of a pair, -1 for the other; without classes the targets."""
    if pair is None:
        return targets
    return np.where(np.asarray(targets) == pair[0], 1.0, -1.0).data


def no_bounds() -> tuple[Buffer, Buffer, Buffer]:
    """linear, lower and upper of no variables."""
    return filled("d", []), filled("d", []), filled("d", [])


# ---- solving -----------------------------------------------------------------------------------


@contextmanager
def errors_of_a_path(consequence: str) -> Iterator[None]:
    """Turn a solver's errors into public ones; ``consequence`` describes the state after a stop."""
    try:
        yield
    except PathLost as error:
        raise ParameterError(
            f"the optimum cannot be followed ({error}): scale the data, or choose other kernel parameters"
        ) from None
    except Stopped as stop:
        raise StoppedEarly(stop.status, consequence) from None


class Unreported(Forwarding):
    """Unreported(observer): hides single solves, since a state has a report of its own."""

    def solved(self, report: SolveReport) -> None:
        pass


def beginning(param: Parameter) -> Parameter:
    """Parameters of a cold start: solver auto in the place of smo, as a state does not keep LIBSVM's path."""
    return replace(param, solver=Auto()) if type(param.solver) is SMO else param


def trained_pairs(param: Parameter, index: PairIndex, observer: Observer) -> dict[Pair, tuple[Buffer, int]]:
    """``trained_beta`` of all pairs from a queue; empty if they do not fit one. Raises StoppedEarly."""
    if not index.costs or param.svm_type != SvmType.C_SVC:
        return {}
    param, problem = beginning(param), index.problem.take(index.rows.data)
    kernels = KernelProvider(problem, param, index.classes[1:])
    weighted = problem.sample_weight is not None
    with errors_of_a_path(NO_STATE):
        ask(observer)
        queue = kernels.queue(param, observer, len(index.costs), weighted)
        if queue is None:
            return {}
        members, costs = kernels.members(problem), index.cost_of_class
        pairs = solved_pairs(queue, members, index.classes, costs, None, Unreported(observer))
        for report in pairs.reports:
            if report.status in (SolveStatus.INTERRUPTED, SolveStatus.TIME_LIMIT):
                raise Stopped(report.status)
    iterations = (report.iterations for report in pairs.reports)
    betas = each_beta(pairs.betas, index.classes[1])
    return dict(zip(index.costs, zip(betas, iterations, strict=True), strict=True))


def train_binary(
    param: Parameter,
    index: PairIndex,
    pair: Pair,
    ids: Ids,
    observer: Observer,
    beta: Buffer | None = None,
    iterations: int = 0,
) -> BinaryProblem:
    """The optimum of one binary problem.

    Parameters
    ----------
    pair : Pair                  of ``index.costs``
    ids : ndarray of int64       of all rows of ``index.problem``
    beta : buffer of float64     a start near the optimum, by variable in the order of a path; None: a cold start by SMO
    iterations : int             of SMO before ``beta``

    Raises
    ------
    ParameterError      a kernel for which neither a path nor SMO reaches the optimum; degenerate nu-SVC
    StoppedEarly
    """
    members = index.members(pair)
    problem = index.problem.take(members.data)
    bounds = index.bounded(pair, problem)
    totals = coefficient_sums(param, problem.weight)
    binary = BinaryProblem(param)
    with errors_of_a_path(NO_STATE), binary.timed():
        binary.iterations = iterations
        if beta is None:
            beta, binary.iterations = trained_beta(param, index, pair, observer)
        kernel = Kernel(problem.features, problem.rows, *param.kernel_function)
        binary.retrained = True
        binary.state.append(kernel, ids[members].data, *bounds, control_of(param, observer))
        try:
            binary.path.start(beta, totals, control_of(param, observer))
        except PathLost:
            binary.path.by_smo(filled("i", []), totals, param.eps, control_of(param, observer))
    binary.check_scale()
    binary.state.release()
    return binary


def trained_beta(param: Parameter, index: PairIndex, pair: Pair, observer: Observer) -> tuple[Buffer, int]:
    """beta of a cold start, to ``param.eps``, by variable in the order of a path; and the iterations of SMO, which are
    auto's limit for SMO if auto has switched to another solver. Raises Stopped."""
    members = index.members(pair).data
    problem = index.problem.take(members, signed(pair, index.problem.take(members).targets))
    control = control_of(param, observer)
    kernel, budget_bytes = KernelProvider(problem, param).of(problem)
    dual = build_dual(param, problem.targets, *index.costs[pair], problem.sample_weight)
    solution = solve(beginning(param), dual, kernel, budget_bytes, control)
    if control.stopped:
        raise Stopped(control.stopped)
    if solution.status != SolveStatus.CONVERGED:
        observer.remark(Remark(solution.status))
    iterations = solution.iterations
    if solution.chosen not in ("", SMO.name):
        iterations = max(iterations, Auto().policy.max_steps(dual.size))
    return interleaved(solution.beta, len(problem)), iterations

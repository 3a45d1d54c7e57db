"""The dual problems that a state is made of: one for regression and one-class, else one for each pair of classes.

    min  1/2 beta'K beta - linear'beta     s.t.  sum of beta over each group = its total,   lower <= beta <= upper

over the rows of the pair; the class that is named first has beta >= 0, the other beta <= 0. There is one group, or two
in the nu formulations. In nu-SVC coefficients and rho of the model are those of the dual problem over r (Chang & Lin
2011, section 2.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.arrays import take_float64
from libsvmx._core.buffers import filled
from libsvmx._core.machine import machine
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.auto import Auto
from libsvmx._solvers.path.path import Path, PathLost, interleaved
from libsvmx._solvers.smo.solver import SMO
from libsvmx._train import folds
from libsvmx._train.assembly import each_beta
from libsvmx._train.formulation import build_dual, coefficient_sums
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.limits import ask, control_of
from libsvmx._train.observer import Forwarding, Remark
from libsvmx._train.parameter import class_costs
from libsvmx._train.queue.pairs_at_once import solved_pairs
from libsvmx._train.solve_dual import solve
from libsvmx._train.solve_report import SolveReport
from libsvmx._train.zero_weights import dropped_classes, rows_of_state, without_classes
from libsvmx.enums import SolveStatus, SvmType
from libsvmx.exceptions import ParameterError, StoppedEarly

if TYPE_CHECKING:
    from libsvmx._solvers.path.path_state import PathState
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer, FloatArray, Ids

NO_STATE = "there is no state"
Pair = tuple[int, int] | None  # labels of the positive and the negative class; None: all rows


class BinaryProblem:
    """BinaryProblem(param): one dual problem of no rows; rows of its path are tagged with ids.

    A change works on another one with the same path (``again``), so that this one tells of the last change still.

    Attributes
    ----------
    path : Path
    steps : int           straight lines of its last change
    retrained : bool      solved by SMO since the last report: from nothing, or where no path led on, or a long one
    iterations : int      of SMO that its last training took, at least
    seconds : float       wall time of its training or of its last change; 0 of a state that was loaded
    over_r : bool         of nu-SVC: what the model has is divided by r
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
        """Of the row at each position of the path: ndarray of int64, shape (rows,)."""
        return np.asarray(self.state.tags)

    @property
    def coefficients(self) -> Any:
        """Of each row in the model, in the order of ``ids``: ndarray of float64, shape (rows,)."""
        return np.asarray(self.state.coefficients).reshape(len(self.ids), -1).sum(axis=1) * self.scale

    @property
    def scale(self) -> float:
        """What beta and rho of the dual problem are multiplied by in the model; nan where r is not positive."""
        if not self.over_r:
            return 1.0
        return 1.0 / self.state.r if self.state.r > 0 else nan

    @property
    def rho(self) -> float:
        """Of the model."""
        return self.state.rho * self.scale

    @property
    def values(self) -> FloatArray:
        """The decision value of each row, those that are leaving included, in the order of ``ids``."""
        return (np.asarray(self.state.K_beta) - self.state.rho) * self.scale

    def check_scale(self) -> None:
        """Raise ParameterError where r of nu-SVC, which all is divided by, is no more than a gap that is none."""
        if self.over_r and len(self.ids) and not self.state.r > max(self.state.gap(), self.path.motion.no_gap):
            raise ParameterError(
                "the solution degenerates: the classes of nu-SVC cannot be told apart. Choose a larger nu, other "
                "kernel parameters, or scale the data"
            )

    def report(self, eps: float) -> SolveReport:
        """Its optimum, and what the last path took. ``eps``: a gap above it means an iteration limit."""
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
        """``seconds`` and ``steps`` become those of the work inside."""
        began = machine.monotonic()
        yield
        self.seconds, self.steps = machine.monotonic() - began, self.path.motion.steps

    def again(self) -> BinaryProblem:
        """Another one with the same path."""
        other = object.__new__(BinaryProblem)
        other.path, other.retrained, other.seconds = self.path, False, self.seconds
        other.iterations, other.over_r, other.steps = self.iterations, self.over_r, self.steps
        return other

    def copy(self) -> BinaryProblem:
        """One with a path of its own."""
        other = self.again()
        other.path = self.path.copy()
        return other


class PairIndex:
    """PairIndex(param, problem, observer): the binary problems that data have, by pair.

    Attributes
    ----------
    members : dict of buffers of int32     rows of each pair that count, in the order of LIBSVM: its first class, then
                                           the other
    costs : dict of (float, float)         C of its two classes; of no meaning without classes
    cost_of_class : list of float          of each of ``classes``
    rows : ndarray of int32                those that count, ascending
    classes : (labels, start, order)       of these rows, as of ``folds.group_classes``; no labels without classes
    """

    def __init__(self, param: Parameter, problem: Problem, observer: Observer) -> None:
        self.param, self.problem = param, problem
        self.members: dict[Pair, Buffer] = {}
        self.costs: dict[Pair, tuple[float, float]] = {}
        self.cost_of_class: list[float] = []
        self.rows = rows = rows_of_state(problem, param)
        self.classes: tuple[list[int], list[int], Buffer] = [], [0], rows.data
        if not param.svm_type.is_classification:
            self.members[None] = rows.data
            self.costs[None] = (0.0, 0.0)
            return
        labels, start, order = self.classes = folds.group_classes(take_float64(problem.targets, rows.data))
        self.cost_of_class = costs = class_costs(labels, without_classes(param, dropped_classes(param)), observer)
        of_class = [rows[np.asarray(order[start[c] : start[c + 1]])] for c in range(len(labels))]
        for i in range(len(labels)):
            for j in range(i + 1, len(labels)):
                pair = labels[i], labels[j]
                self.members[pair] = np.concatenate([of_class[i], of_class[j]]).data
                self.costs[pair] = costs[i], costs[j]

    def as_listed(self, pair: Pair) -> Pair:
        """The pair as it stands here, where its classes may come in the other order; or itself, if it does not."""
        return pair if pair is None or pair in self.members or pair[::-1] not in self.members else pair[::-1]

    def bounded(self, pair: Pair, rows: Problem) -> tuple[Buffer, Buffer, Buffer]:
        """linear, lower and upper of rows of a pair: buffers of float64, shape (variables,), in the order of a path.

        Parameters
        ----------
        pair : Pair           in either order
        rows : Problem        rows of the pair, that count
        """
        if not len(rows):
            return no_bounds()
        listed = self.as_listed(pair)
        Cp, Cn = self.costs[listed] if listed == pair else self.costs[listed][::-1]
        dual = build_dual(self.param, signed(pair, rows.targets), Cp, Cn, rows.sample_weight)
        n = len(rows)
        return interleaved(dual.linear, n), interleaved(dual.lower, n), interleaved(dual.upper, n)


def signed(pair: Pair, targets: Buffer) -> Buffer:
    """Labels as +1 for the first class of a pair and -1 for the other; targets without classes as they are."""
    if pair is None:
        return targets
    return np.where(np.asarray(targets) == pair[0], 1.0, -1.0).data


def no_bounds() -> tuple[Buffer, Buffer, Buffer]:
    """linear, lower and upper of no variables."""
    return filled("d", []), filled("d", []), filled("d", [])


# ---- solving -----------------------------------------------------------------------------------


@contextmanager
def errors_of_a_path(consequence: str) -> Iterator[None]:
    """Raise errors of this package for those of a solver; a time limit or a stop says what becomes of the state."""
    try:
        yield
    except PathLost as error:
        raise ParameterError(
            f"the optimum cannot be followed ({error}): scale the data, or choose other kernel parameters"
        ) from None
    except Stopped as stop:
        raise StoppedEarly(stop.status, consequence) from None


class Unreported(Forwarding):
    """Unreported(observer): the solves of a state are not told of; its report is."""

    def solved(self, report: SolveReport) -> None:
        pass


def beginning(param: Parameter) -> Parameter:
    """What a training from nothing goes by: solver auto in the place of smo, whose path a state does not show."""
    return replace(param, solver=Auto()) if type(param.solver) is SMO else param


def trained_pairs(param: Parameter, index: PairIndex, observer: Observer) -> dict[Pair, tuple[Buffer, int]]:
    """``trained_beta`` of all pairs, from a queue where there is one for them; else of none. Raises StoppedEarly."""
    if not index.members or param.svm_type != SvmType.C_SVC:
        return {}
    param, problem = beginning(param), index.problem.take(index.rows.data)
    kernels = KernelProvider(problem, param, index.classes[1:])
    weighted = problem.sample_weight is not None
    with errors_of_a_path(NO_STATE):
        ask(observer)
        queue = kernels.queue(param, observer, len(index.members), weighted)
        if queue is None:
            return {}
        members, costs = kernels.members(problem), index.cost_of_class
        pairs = solved_pairs(queue, members, index.classes, costs, None, Unreported(observer))
        for report in pairs.reports:
            if report.status in (SolveStatus.INTERRUPTED, SolveStatus.TIME_LIMIT):
                raise Stopped(report.status)
    iterations = (report.iterations for report in pairs.reports)
    betas = each_beta(pairs.betas, index.classes[1])
    return dict(zip(index.members, zip(betas, iterations, strict=True), strict=True))


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
    pair : Pair                  of ``index.members``
    ids : ndarray of int64       of all rows of ``index.problem``
    beta : buffer of float64     a start near the optimum, by variable in the order of a path; None: SMO finds one
    iterations : int             of SMO that have led there

    Raises
    ------
    ParameterError      a kernel for which there is no path, nor an end of SMO; nu-SVC that degenerates
    StoppedEarly
    """
    members = index.members[pair]
    problem = index.problem.take(members)
    bounds = index.bounded(pair, problem)
    totals = coefficient_sums(param, problem.weight)
    binary = BinaryProblem(param)
    with errors_of_a_path(NO_STATE), binary.timed():
        binary.iterations = iterations
        if beta is None:
            beta, binary.iterations = trained_beta(param, index, pair, observer)
        kernel = Kernel(problem.features, problem.rows, param.kernel_type, param.degree, param.gamma, param.coef0)
        binary.retrained = True
        binary.state.append(kernel, ids[np.asarray(members)].data, *bounds, control_of(param, observer))
        try:
            binary.path.start(beta, totals, control_of(param, observer))
        except PathLost:
            binary.path.by_smo(filled("i", []), totals, param.eps, control_of(param, observer))
    binary.check_scale()
    binary.state.release()
    return binary


def trained_beta(param: Parameter, index: PairIndex, pair: Pair, observer: Observer) -> tuple[Buffer, int]:
    """beta of a training from nothing, to ``param.eps``, by variable in the order of a path, and how many iterations it
    takes by SMO: where auto has left that for another solver, as many as it gives it at most. Raises Stopped."""
    members = index.members[pair]
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

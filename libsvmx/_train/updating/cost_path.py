"""The regularization path: the optimum at every C of an interval, exactly; or at every tau of quantile regression.

Hastie, Rosset, Tibshirani & Zhu, The entire regularization path for the support vector machine, JMLR 5, 2004:
between two breakpoints beta, rho and all decision values are linear in C. The path is that of moving bounds
(``Path.rescale``), from the smallest C, where most rows are at their bound and the margin is small, upwards; a Trace
records it. It is followed in pieces on which C grows by ``GROWTH``, with rounding repaired at their ends. With tau of
quantile regression both bounds, -C (1 - tau) and C tau, move likewise (Takeuchi, Nomura & Kanamori, Nonparametric
conditional density estimation using piecewise-linear solution path of kernel quantile regression, Neural Computation
21, 2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, exp, log
from typing import Any

import numpy as np

from libsvmx._core import memory
from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.path.motion import LINE, MEMBER, SET, Trace
from libsvmx._solvers.path.path import Path
from libsvmx._train.limits import ask, control_of
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.solve_report import SolveReport
from libsvmx._train.updating.binary_problem import Pair, PairIndex, no_bounds
from libsvmx._train.updating.state import State
from libsvmx._train.updating.to_model import model_of
from libsvmx._typing import FloatArray, Ids
from libsvmx.enums import KernelType, SolveStatus
from libsvmx.exceptions import ParameterError

GROWTH = 2.0
TAU_STEP = 0.1
AT_UPPER = 1  # a set of a PathState
# Consequence of a stop.
NO_PATH = "there is no path"


# ---- following a path --------------------------------------------------------------------------


class Ways:
    """Ways(state, last, threads, observer, moved='C'): shared by the paths from a state at the smallest C.

    Kernel values are shared if all of them, and the margins of all threads, fit ``cache_size``.

    Attributes
    ----------
    moved : {'C', 'tau'}       the parameter that grows
    ends : list of float       its values at the ends of the pieces, ascending
    shifts : tuple of float    values at which lower and upper are 0
    """

    def __init__(self, state: State, last: float, threads: int, observer: Observer, moved: str = "C") -> None:
        param, problem = state.param, state.problem
        self.state, self.moved = state, moved
        self.ends = costs_between(param.C, last) if moved == "C" else taus_between(param.tau, last)
        self.shifts = (0.0, 0.0) if moved == "C" else (1.0, 0.0)
        budget, n_bytes = param.cache_bytes, 8.0 * len(problem) ** 2
        self.kernel = Kernel(problem.features, problem.rows, *param.kernel_function)
        fits = n_bytes * (1 + threads) <= param.policy.memory_share * budget
        if fits and param.kernel_type != KernelType.PRECOMPUTED:  # the state has all values of a precomputed kernel
            self.kernel = self.kernel.tabulated(control_of(param, observer))
            budget -= n_bytes
        self.budget_bytes = budget / threads
        self.bounds = {pair: self.bounds_of(pair) for pair in state.binaries}

    def bounds_of(self, pair: Pair) -> tuple[FloatArray, FloatArray]:
        """lower and upper per unit of C (or their growth per unit of tau): ndarrays, shape (rows of the problem,
        variables of a row); 0 for rows of other pairs."""
        state, begin = self.state, self.ends[0]
        per_row = state.binaries[pair].state.per_row
        lower, upper = bounds_at(PairIndex(state.param, state.problem, Observer()), pair, state.problem, per_row)
        return lower / (begin - self.shifts[0]), upper / (begin - self.shifts[1])

    def copy_of(self, pair: Pair, observer: Observer) -> Path:
        """The path of a pair at the smallest C, bound to a kernel."""
        path = self.state.binaries[pair].path.copy(self.budget_bytes)
        rows = np.asarray(path.state.tags).astype(np.int32)
        path.state.append(self.kernel.part(rows.data), filled("q", []), *no_bounds(), self.control(observer))
        return path

    def control(self, observer: Observer) -> Any:
        return control_of(self.state.param, observer)

    def follow(self, path: Path, bounds: tuple[FloatArray, FloatArray], trace: Trace, observer: Observer) -> None:
        """Follow it from the smallest C to the largest. Raises PathLost, Stopped, TooLittleMemory."""
        known = 0.0  # bytes known to fit
        if len(self.ends) == 1:
            path.stand(self.ends[0], trace, self.control(observer))
        for first, last in pairwise(self.ends):
            ask(observer)
            rows = np.asarray(path.state.tags)
            lower, upper = (
                (bound[rows] * (last - shift)).reshape(-1).data
                for bound, shift in zip(bounds, self.shifts, strict=True)
            )
            ratio = last / first if self.moved == "C" else None
            path.rescale(lower, upper, ratio, self.control(observer), trace=trace, first=first, last=last)
            if trace.n_bytes > known:
                known = trace.n_bytes
                memory.require(
                    known,
                    f"a path of {trace.n_lines} lines so far",
                    f"; choose {self.moved}_max nearer to {self.moved}_min",
                )


def costs_between(first: float, last: float) -> list[float]:
    """Values of C from ``first`` to ``last`` by factors of at most GROWTH."""
    if first == last:
        return [first]
    whole = log(last) - log(first)
    n = max(1, ceil(whole / log(GROWTH)))
    inner = [exp(log(first) + whole * k / n) for k in range(1, n)]
    return [first, *(C for C in inner if first < C < last), last]


def taus_between(first: float, last: float) -> list[float]:
    """Values of tau from ``first`` to ``last`` by steps of at most TAU_STEP."""
    if first == last:
        return [first]
    return [float(tau) for tau in np.linspace(first, last, 1 + ceil((last - first) / TAU_STEP))]


def bounds_at(index: PairIndex, pair: Pair, problem: Problem, per_row: int) -> tuple[FloatArray, FloatArray]:
    """lower and upper of a pair: ndarrays, shape (rows of the problem, per_row); 0 for rows of other pairs."""
    members = index.members(index.as_listed(pair))
    own = index.bounded(pair, problem.take(members.data))[1:]
    found = np.zeros((2, len(problem), per_row))
    found[:, members] = np.reshape([np.asarray(bound) for bound in own], (2, -1, per_row))
    return found[0], found[1]


# ---- the recorded path ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A binary problem at one C, for ``assembled``."""

    ids: Ids
    coefficients: FloatArray
    solved: SolveReport

    def report(self, eps: float) -> SolveReport:
        """Report on its optimum; a path is exact, whatever ``eps``."""
        return self.solved


class PairPath:
    """PairPath(trace, ids, per_row): the lines of one binary problem; variables are per_row * id + 0 or 1.

    Attributes
    ----------
    begins : ndarray, shape (lines,)     C at the begin of each line, ascending
    """

    def __init__(self, trace: Trace, ids: Ids, per_row: int) -> None:
        self.ids, self.per_row = np.sort(ids), per_row
        lines = np.asarray(trace.lines_of()).reshape(-1, LINE)
        self.begins, self.ends = lines[:, 0].copy(), lines[:, 1].copy()
        self.rho, self.objective = lines[:, 2:4].copy(), lines[:, 4:7].copy()
        members = np.asarray(trace.members_of()).reshape(-1, MEMBER)
        self.margin, self.beta = members[:, 0].astype(np.int32), members[:, 1:].copy()
        self.first_member = np.append(lines[:, LINE - 1], len(members)).astype(np.int64)
        sets = np.asarray(trace.sets_of()).reshape(-1, SET)
        self.changed_at, self.changed = sets[:, 0].astype(np.int64), sets[:, 1].astype(np.int32)
        self.now_in = sets[:, 2].astype(np.int8)

    @property
    def n_bytes(self) -> int:
        """Bytes of memory."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def at(self, C: float, lower: FloatArray, upper: FloatArray) -> Solution:
        """The optimum at C, with bounds ``lower`` and ``upper``, shape (rows of the problem, per_row)."""
        line = max(int(np.searchsorted(self.begins, C, side="right")) - 1, 0)
        width = self.ends[line] - self.begins[line]
        t = min(max((C - self.begins[line]) / width, 0.0), 1.0) if width > 0 else 0.0
        where = np.zeros(lower.size, dtype=np.int8)
        known = int(np.searchsorted(self.changed_at, line, side="right"))
        where[self.changed[:known]] = self.now_in[:known]  # of repeated changes the last one counts
        lower, upper = lower.reshape(-1), upper.reshape(-1)
        beta = np.where(where == AT_UPPER, upper, lower)
        members = slice(*self.first_member[line : line + 2])
        of_margin = self.margin[members]
        moving = self.beta[members]
        values = moving[:, 0] + t * (moving[:, 1] - moving[:, 0])
        beta[of_margin] = np.clip(values, lower[of_margin], upper[of_margin])
        rho = self.rho[line]
        inside = (lower < beta) & (beta < upper)
        objective, slope, curvature = self.objective[line]
        n_sv = int(np.count_nonzero(beta))
        report = SolveReport(
            iterations=line + 1,
            objective=float(objective + t * (slope + 0.5 * t * curvature)),
            rho=float(rho[0] + t * (rho[1] - rho[0])) + 0.0,  # not -0.0
            n_sv=n_sv,
            n_bsv=n_sv - int(np.count_nonzero(inside & (beta != 0))),
            status=SolveStatus.CONVERGED,
            gap=0.0,
        )
        coefficients = beta.reshape(-1, self.per_row).sum(axis=1)[self.ids]
        return Solution(self.ids, coefficients, report)


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """The optimum of all binary problems at every C of an interval.

    Attributes
    ----------
    param : Parameter              at the smallest C
    problem : Problem
    pairs : dict of PairPath
    last : float                   the largest C
    moved : {'C', 'tau'}           the parameter that moves
    """

    param: Parameter
    problem: Problem
    pairs: dict[Pair, PairPath]
    last: float
    moved: str = "C"

    @property
    def breakpoints(self) -> FloatArray:
        """The breakpoints: values of C, ascending, between which all coefficients are linear."""
        ends = [getattr(self.param, self.moved), self.last]
        return np.unique(np.concatenate([ends, *(path.begins for path in self.pairs.values())]))

    def model(self, C: float) -> Model:
        """The model at C."""
        changed: dict[str, Any] = {self.moved: C}
        param = replace(self.param, **changed)
        index, ids = PairIndex(param, self.problem, Observer()), np.arange(len(self.problem), dtype=np.int64)
        solved = {
            pair: path.at(C, *bounds_at(index, pair, self.problem, path.per_row)) for pair, path in self.pairs.items()
        }
        return model_of(param, self.problem, ids, solved)


def path_of_all(ways: Ways, observer: Observer) -> dict[Pair, PairPath]:
    """Follow the paths of all rows. Raises PathLost, Stopped, TooLittleMemory."""
    found: dict[Pair, PairPath] = {}
    for pair in ways.state.binaries:
        path = ways.copy_of(pair, observer)
        trace = Trace(len(ways.state.problem), keeps=True)
        ways.follow(path, ways.bounds[pair], trace, observer)
        found[pair] = PairPath(trace, np.asarray(path.state.tags), path.state.per_row)
    return found


def check_followed(param: Parameter) -> None:
    """Raise ParameterError for a training without a path."""
    if param.svm_type.has_nu:
        raise ParameterError(
            f"a path along C is one of C-SVC, epsilon-SVR or quantile regression, not of {param.svm_type.name}"
        )
    if param.probability:
        raise ParameterError("a path has no probability estimates: they come from cross-validation")

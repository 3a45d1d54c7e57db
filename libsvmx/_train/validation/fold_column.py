"""One fold of rows that are given, at all C of a column: C-SVC and epsilon-SVR, for searches with folds of their own.

    Column(problem, param, costs)   one gamma, whose folds share kernel rows
        .solve(rest, tests, …) -> ColumnFold      each C of a dual from the next smaller one: by a GramColumn, where all
                                                  kernel values fit, or for each dual solve_growing

Optima are LIBSVM's to eps, but its path is another: a row to predict that is within about eps of the border may fall on
the other side.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from libsvmx._core.arrays import ramp, take_int32
from libsvmx._core.process import ThreadPool
from libsvmx._core.records import replace
from libsvmx._core.stopping import Leeway
from libsvmx._core.threads import thread_count
from libsvmx._kernels.gram import Gram
from libsvmx._solvers.smo.warm import solve_growing
from libsvmx._train import folds
from libsvmx._train.formulation import build_dual
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.limits import control_of
from libsvmx._train.training import pair_problem
from libsvmx._train.validation.gram_column import GramColumn
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer

BYTES_OF_VALUE = 4
# Over fewer rows, shrinking costs more than it saves.
ROWS_TO_SHRINK = 1000


@dataclass(frozen=True, slots=True)
class ColumnFold:
    """One fold at all C.

    Attributes
    ----------
    labels : list of int       its classes, functions are of their pairs (0, 1), (0, 2), …; [] in regression
    values : buffer of float64, shape (functions, C, rows to predict), flat      decision values
    widths : list of float     by C: of the interval of rho where all coefficients are at bounds that are not equal, so
                               that which rho a training ends with is a matter of rounding; else 0
    seconds : list of float    by C
    iterations : list of int   by C
    converged : list of bool   by C: False where the iteration limit was reached
    """

    labels: list[int]
    values: Buffer
    widths: list[float]
    seconds: list[float]
    iterations: list[int]
    converged: list[bool]


class Column:
    """Column(problem, param, costs, observer)

    Parameters
    ----------
    problem : Problem         all rows, of which folds are parts; of weight > 0, but for rows that no fold trains on
    param : Parameter         C-SVC or epsilon-SVR, with the gamma of the column
    costs : sequence of float     C, finite and ascending
    """

    def __init__(self, problem: Problem, param: Parameter, costs: Sequence[float], observer: Observer) -> None:
        if param.svm_type not in (SvmType.C_SVC, SvmType.EPSILON_SVR):
            raise ValueError(f"{param.svm_type.name} has no start at a smaller C")
        self.problem, self.param, self.observer = problem, replace(param, C=costs[0]), observer
        self.few_rows = replace(self.param, shrinking=False)
        self.growths = [after / before for before, after in pairwise(costs)]
        groups, n_bytes = None, BYTES_OF_VALUE * len(problem) ** 2
        room = param.policy.memory_share * param.cache_bytes
        if param.svm_type.is_classification and n_bytes > room:
            groups = folds.group_classes(problem.targets)[1:]  # rows within a class may fit
        self.kernels = KernelProvider(problem, param, groups, repeated=True)
        self.gram_column: GramColumn | None = None
        self.fits = groups is None and n_bytes <= min(param.policy.most_gram_bytes, room)

    def gathered(self) -> GramColumn:
        """What solves small problems; all kernel values, made once."""
        if self.gram_column is None:
            param, problem = self.few_rows, self.problem
            whole = self.kernels.whole or self.kernels.make_whole()
            gram = Gram(whole, ThreadPool(thread_count(param.threads)), Leeway(control_of(param, self.observer)))
            control = control_of(param, self.observer, marks=False)
            self.gram_column = GramColumn(gram, problem.targets, problem.sample_weight, param, self.growths, control)
        return self.gram_column

    def solve(self, rest: Buffer, tests: Buffer, class_weights: Mapping[int, float] | None = None) -> ColumnFold:
        """Train on the rows ``rest``, predict the rows ``tests``; buffers of int32.

        ``class_weights``: by label, factors of C; 1 for others.

        Raises
        ------
        DataError          rows of one class only
        Stopped
        """
        part, labels = self.problem.take(rest), list[int]()
        start, order, weight = [0, len(part)], ramp(len(part)), [1.0]
        if self.param.svm_type.is_classification:
            labels, start, order = folds.group_classes(part.targets)
            if len(labels) < 2:
                raise DataError("a fold has rows of one class only")
            weight = [1.0 if class_weights is None else class_weights.get(label, 1.0) for label in labels]
        test_rows = self.problem.take(tests)
        sizes = sorted(end - begin for begin, end in pairwise(start))
        if self.fits and sum(sizes[-2:]) <= ROWS_TO_SHRINK:
            solved, members = self.gathered(), self.kernels.members
            return ColumnFold(
                labels, *solved.solve(take_int32(members(part), order), start, members(test_rows), weight)
            )
        duals = [(part, 1.0, 1.0)]
        if self.param.svm_type.is_classification:
            duals = [
                (pair_problem(part, order, start, i, j), weight[i], weight[j])
                for i, j in combinations(range(len(labels)), 2)
            ]
        found = [self.dual(rows, positive, negative, test_rows.rows) for rows, positive, negative in duals]
        by_cost = list(zip(*found, strict=True))
        return ColumnFold(
            labels,
            memoryview(b"".join(values for each in found for values, *_ in each)).cast("d"),
            [max(width for _, width, *_ in each) for each in by_cost],
            [sum(seconds for *_, seconds, _ in each) for each in by_cost],
            [sum(iterations for *_, iterations, _, _ in each) for each in by_cost],
            [all(converged for *_, converged in each) for each in by_cost],
        )

    def dual(
        self, rows: Problem, positive: float, negative: float, test_rows: Buffer
    ) -> list[tuple[Buffer, float, int, float, bool]]:
        """One dual over ``rows`` at all C, times these factors in the two classes."""
        param, cost = self.param, self.param.C
        kernel, budget_bytes = self.kernels.of_rows(memoryview(array("i", bytes(rows.rows) + bytes(test_rows))))
        dual = build_dual(param, rows.targets, cost * positive, cost * negative, rows.sample_weight)
        control = control_of(param if len(rows) > ROWS_TO_SHRINK else self.few_rows, self.observer)
        found = solve_growing(
            dual, len(test_rows), kernel, budget_bytes, control, self.growths, thread_count(param.threads)
        )
        if positive == negative and rows.sample_weight is None:  # steps between equal bounds end at bounds exactly
            found = [(values, 0.0, *rest) for values, _, *rest in found]
        return found

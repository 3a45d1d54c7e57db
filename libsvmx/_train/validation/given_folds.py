"""Given folds, for searches with their own folds.

    Column(problem, param, costs)   one gamma, whose folds share kernel rows; not for nu formulations
        .solve(folds) -> ColumnFold of each      each C of a dual starts from the next smaller one: in a queue if all
                                                 kernel values fit in memory, else the folds side by side, each dual
                                                 by dual with solve_growing; folds of one row are left out one by
                                                one, C by C
    predicted_folds(problem, given)     C-SVC by LIBSVM's steps, as a list of trainings for each gamma

The optima of a column are LIBSVM's to eps, so the prediction of a row within about eps of the border may differ.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from libsvmx._core.arrays import ramp, take_int32
from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._solvers.smo.warm import solve_growing
from libsvmx._train import folds, limits
from libsvmx._train.assembly import solves_of
from libsvmx._train.folds import Rand
from libsvmx._train.formulation import build_dual
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.many import Training, train_many
from libsvmx._train.prediction import predict_labels
from libsvmx._train.queue.trainings import in_batches, queue_of
from libsvmx._train.repeated_folds import Folds
from libsvmx._train.side_by_side import param_of, side_by_side
from libsvmx._train.training import pair_problem
from libsvmx._train.validation.fold_report import standing
from libsvmx._train.validation.leave_one_out import rows_left_out
from libsvmx._train.validation.problem_folds import PairsOfClasses, by_pairs
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import DataError, StoppedEarly

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.validation.fold_report import FoldReport
    from libsvmx._typing import Buffer

# With fewer rows, shrinking costs more than it saves.
ROWS_TO_SHRINK = 1000


class GivenFold(NamedTuple):
    """Rows to train on, and rows to predict, int32. ``class_weights``: factors of C by label, 1 if missing."""

    rest: Buffer
    tests: Buffer
    class_weights: Mapping[int, float] = {}


@dataclass(frozen=True, slots=True)
class ColumnFold:
    """One fold at all C.

    Attributes
    ----------
    labels : list of int       its classes; functions are of their pairs (0, 1), (0, 2), …; [] in regression
    values : buffer of float64, shape (functions, C, rows to predict), flat      decision values
    widths : list of float     by C: of the interval of possible rho if all coefficients are at bounds of unequal size,
                               so that rho depends on rounding; else 0
    seconds : list of float    by C
    iterations : list of int   by C
    converged : list of bool   by C: False for any other status
    """

    labels: list[int]
    values: Buffer
    widths: list[float]
    seconds: list[float]
    iterations: list[int]
    converged: list[bool]


class FoldClasses(PairsOfClasses):
    """FoldClasses(problem, param, fold): the rows that a fold trains on, ``tests``, the rows to predict, and
    ``weights``, factors of C by class.

    Raises DataError for rows of one class only.
    """

    def __init__(self, problem: Problem, param: Parameter, fold: GivenFold) -> None:
        super().__init__(problem.take(fold.rest), param)
        if param.svm_type.is_classification and len(self.labels) < 2:
            raise DataError("a fold has rows of one class only")
        self.tests = problem.take(fold.tests)
        self.weights = [fold.class_weights.get(label, 1.0) for label in self.labels] or [1.0]


class Column:
    """Column(problem, param, costs, observer)

    Parameters
    ----------
    problem : Problem         all rows of the folds; rows that a fold trains on have weight > 0
    param : Parameter         C-SVC, epsilon-SVR or quantile regression, with the gamma of the column
    costs : sequence of float     C, finite and ascending
    """

    def __init__(self, problem: Problem, param: Parameter, costs: Sequence[float], observer: Observer) -> None:
        if param.svm_type.has_nu:
            raise ValueError(f"{param.svm_type.name} has no start at a smaller C")
        self.problem, self.param, self.observer = problem, replace(param, C=costs[0]), observer
        self.few_rows = replace(self.param, shrinking=False)
        self.costs, self.growths = costs, [after / before for before, after in pairwise(costs)]
        self.groups = self.groups_of_rows()
        self.kernels = KernelProvider(problem, param, self.groups, repeated=True)

    def groups_of_rows(self) -> tuple[list[int], Buffer] | None:
        """(start, order) of the rows by class, if only the kernel values within a class fit in memory; else None."""
        param, room = self.param, self.param.policy.memory_share * self.param.cache_bytes
        if param.svm_type.is_classification and 4.0 * len(self.problem) ** 2 > room:
            _, start, order = folds.group_classes(self.problem.targets)
            return start, order
        return None

    def solve(self, given: Sequence[GivenFold]) -> Iterator[ColumnFold]:
        """Solve the folds, one after the other.

        Raises
        ------
        DataError          rows of one class only
        Stopped
        """
        if self.is_leave_one_out(given):
            yield from self.leave_one_out(given)
            return
        n_classes = len(set(self.problem.targets)) if self.param.svm_type.is_classification else 2
        n_solves = len(given) * solves_of(n_classes, False) * (1 + len(self.growths))
        queue = None
        if self.groups is None:  # decision values of rows of any class need all kernel values
            queue = queue_of(self.problem, self.few_rows, n_solves, self.observer, self.kernels)
        if queue is None:
            n, threads = len(given), self.kernels.at_once_of(len(given), thread_count(self.param.threads))

            def solved(f: int, observer: Observer) -> ColumnFold:
                own = param_of(self.param, f, n, threads)
                return self.fold(FoldClasses(self.problem, own, given[f]), own, observer)

            yield from side_by_side(solved, n, threads, self.observer)
            return
        queue.decide_by_floats()
        yield from in_batches(queue, (partial(WaitingColumn, self, fold) for fold in given), self.observer)

    def is_leave_one_out(self, given: Sequence[GivenFold]) -> bool:
        """Whether each fold predicts another row by a training on all others. Not with weights, where rho may depend on
        rounding (see ``widths`` of ColumnFold); nor if a class has one row only."""
        n, weighted = len(self.problem), self.problem.sample_weight is not None
        if len(given) != n or weighted or not self.param.solver.follows_libsvm:
            return False
        if self.param.svm_type.is_classification and min(Counter(self.problem.targets).values()) < 2:
            return False
        if {row for fold in given for row in fold.tests} != set(range(n)):
            return False
        return all(
            len(rest) == n - 1 and len(tests) == 1 and len({*rest, *tests}) == n and not weights
            for rest, tests, weights in given
        )

    def leave_one_out(self, given: Sequence[GivenFold]) -> list[ColumnFold]:
        """Solve folds of one row, each from the optimum over all rows. Raises Stopped."""
        n, labels = len(self.problem), FoldClasses(self.problem, self.param, given[0]).labels
        drawn = Folds(self.problem, ramp(n), list(range(n + 1)), Rand())
        by_row: list[list[tuple[Buffer, FoldReport]]] = [[] for _ in given]  # decision values and report, by C
        for C in self.costs:
            try:
                found = rows_left_out(drawn, replace(self.param, C=C), self.observer, self.kernels)
            except StoppedEarly as stop:
                raise Stopped(stop.status) from None
            values, same = by_pairs(found.values, n, found.labels, labels), standing(found.full, "none")
            width, reports = len(values) // n, dict(zip(found.retrained, found.folds, strict=True))
            for row, own in enumerate(by_row):
                own.append((values[row * width : (row + 1) * width], reports.get(row, same)))
        return [
            ColumnFold(
                labels,
                filled("d", chain.from_iterable(zip(*(values for values, _ in own), strict=True))),
                [0.0] * len(own),
                [one.seeding_seconds + one.solving_seconds for _, one in own],
                [one.iterations for _, one in own],
                [one.status == SolveStatus.CONVERGED for _, one in own],
            )
            for own in (by_row[fold.tests[0]] for fold in given)
        ]

    def fold(self, fold: FoldClasses, param: Parameter, observer: Observer) -> ColumnFold:
        """Solve a fold outside a queue, dual by dual."""
        found = [self.dual(fold, i, j, param, observer) for i, j in fold.pairs]
        by_cost = list(zip(*found, strict=True))
        return ColumnFold(
            fold.labels,
            memoryview(b"".join(values for dual in found for values, *_ in dual)).cast("d"),
            [max(width for _, width, *_ in each) for each in by_cost],
            [sum(seconds for *_, seconds, _ in each) for each in by_cost],
            [sum(iterations for *_, iterations, _, _ in each) for each in by_cost],
            [all(converged for *_, converged in each) for each in by_cost],
        )

    def dual(
        self, fold: FoldClasses, i: int, j: int, param: Parameter, observer: Observer
    ) -> list[tuple[Buffer, float, int, float, bool]]:
        """Solve the dual of classes i and j of a fold at all C; the list of ``solve_growing``."""
        rows = fold.problem
        if param.svm_type.is_classification:
            rows = pair_problem(rows, fold.order, fold.start, i, j)
        kernel, budget_bytes = self.kernels.of_rows(memoryview(array("i", bytes(rows.rows) + bytes(fold.tests.rows))))
        costs = [param.C * fold.weights[c] for c in (i, j)]
        dual = build_dual(param, rows.targets, *costs, rows.sample_weight)
        control = limits.control_of(param if len(rows) > ROWS_TO_SHRINK else self.few_rows, observer)
        n_tests, threads = len(fold.tests), thread_count(param.threads)
        found = solve_growing(dual, n_tests, kernel, budget_bytes, control, self.growths, threads)
        if costs[0] == costs[1] and rows.sample_weight is None:  # with equal bounds, rho does not depend on rounding
            found = [(values, 0.0, *rest) for values, _, *rest in found]
        return found


class WaitingColumn:
    """WaitingColumn(column, fold, queue): adds a fold to a queue, all C of each dual problem as a chain."""

    def __init__(self, column: Column, given: GivenFold, queue: SolveQueue) -> None:
        param, self.queue, self.first, self.n_costs = column.param, queue, queue.n_tasks, 1 + len(column.growths)
        self.fold = fold = FoldClasses(column.problem, param, given)
        start, tests = fold.start, column.kernels.members(fold.tests)
        rows = take_int32(column.kernels.members(fold.problem), fold.order)
        for i, j in fold.pairs:
            if param.svm_type.is_classification:
                pair = memoryview(bytes(rows[start[i] : start[i + 1]]) + bytes(rows[start[j] : start[j + 1]])).cast("i")
                Cp, Cn = param.C * fold.weights[i], param.C * fold.weights[j]
                queue.add(pair, start[i + 1] - start[i], Cp, Cn, held_out=tests, chained=True)
            else:
                queue.add(rows, -1, 0.0, 0.0, held_out=tests, targets=fold.problem.targets, chained=True)
            queue.add_larger(column.growths)

    def result(self, observer: Observer) -> ColumnFold:
        """The solved fold. Raises Stopped."""
        if self.queue.stopped is not None:
            raise Stopped(self.queue.stopped)
        return ColumnFold(self.fold.labels, *self.queue.by_cost(self.first, len(self.fold.pairs), self.n_costs))


def predicted_folds(problem: Problem, given: Sequence[tuple[GivenFold, Parameter]], observer: Observer) -> list[Buffer]:
    """Labels predicted by LIBSVM's models of C-SVC, for each fold; parameters may differ in C and gamma only.

    Raises
    ------
    DataError, ParameterError      a fold cannot be trained
    Stopped
    """
    param, by_gamma = given[0][1], dict[float, list[int]]()
    observer = limits.limited(observer, param.time_limit)
    for f, (_, own) in enumerate(given):
        by_gamma.setdefault(own.gamma, []).append(f)
    n, groups = len(by_gamma), list(by_gamma.values())
    pays = len(given) * float(len(problem)) ** 2 > param.policy.work_for_threads and not param.solver.needs_features
    threads = thread_count(param.threads) if pays and n > 1 else 1

    def predicted(g: int, observer: Observer) -> list[Buffer]:
        trainings, found = [], []
        for f in groups[g]:
            fold, own = given[f][0], param_of(given[f][1], g, n, threads)
            weights = tuple(fold.class_weights.items())
            own = replace(own, cache_size=own.cache_size / min(threads, n), weights=weights)
            trainings.append(Training(problem.take(fold.rest), own, f"fold {f}"))
        for f, model in zip(groups[g], train_many(problem, trainings, Rand(), observer), strict=True):
            limits.ask(observer)  # do not use a model that was stopped early
            found.append(predict_labels(model, problem.matrix, given[f][0].tests, partial(limits.ask, observer)))
        return found

    by_fold: dict[int, Buffer] = {}
    for group, found in zip(groups, side_by_side(predicted, n, threads, observer), strict=True):
        by_fold.update(zip(group, found, strict=True))
    return [by_fold[f] for f in range(len(given))]

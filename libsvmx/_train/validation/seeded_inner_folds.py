"""Probability estimates whose inner folds start from what is known: alpha seeding inside one training.

LIBSVM solves five folds of each pair of classes from nothing, and then the pair itself. Here the pair comes first,
along LIBSVM's path as without seeding, and its folds start from its optimum: a star that needs no training of its own.
A queue does so by itself (queue/pairs_at_once.py); here is the rest. The folds are LIBSVM's.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from libsvmx._core.buffers import filled, zeros
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._train import folds, limits
from libsvmx._train.assembly import INNER_FOLDS, Pairs, joined_betas
from libsvmx._train.drawn_folds import draw_folds
from libsvmx._train.reports import Recovered
from libsvmx._train.side_by_side import param_of, side_by_side
from libsvmx._train.training import cross_validate_problem, left_at_zero, pair_problem, sigmoid_of
from libsvmx._train.validation.dual_folds import DualFolds
from libsvmx._train.validation.scheme import Seeding, check_seedable
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.warm_start import WarmStart
    from libsvmx._typing import Buffer


# Regressions of fewer rows are solved in less time than it takes to make starts.
FEW_ROWS = 200


def seeded_inner_folds(seeding: Seeding, param: Parameter) -> SeededInnerFolds | None:
    """The inner folds of one training as ``seeding`` says, None from nothing.

    Raises
    ------
    ParameterError      there are no inner folds, or they cannot be seeded
    """
    if seeding.seeder == "none":
        return None
    if not param.probability:
        raise ParameterError("seeding in a training is for the folds of probability estimates: it needs -b 1")
    if param.svm_type == SvmType.ONE_CLASS:
        raise ParameterError("the probability estimates of one-class have no folds that could be seeded")
    check_seedable(param)
    return SeededInnerFolds(seeding, param)


class SeededInnerFolds:
    """SeededInnerFolds(seeding, param): an InnerFolds. ``seeding`` is not 'none'; auto is a star here."""

    def __init__(self, seeding: Seeding, param: Parameter) -> None:
        self.seeding, self.epsilon = seeding, param.svm_type == SvmType.EPSILON_SVR
        scheme = seeding.scheme or ("star" if seeding.seeder == "auto" else seeding.usual(INNER_FOLDS).scheme)
        self.of_dual = replace(seeding, scheme=scheme)

    def of_regression(self, report: SolveReport, n: int) -> Seeding:
        """What auto is in a regression of n rows, from how its optimum is.

        Where most support vectors are free, all of them share what leaves. Where few are, that is too much for them,
        and it goes to rows that are near, at a bound or not; of nu-SVR that is as far from the optimum as nothing is.
        """
        if self.seeding.seeder != "auto" or self.seeding.scheme:
            return self.of_dual
        if n < FEW_ROWS:
            return Seeding("none")
        if 2 * report.n_bsv <= report.n_sv:
            return Seeding("avg", "star")
        return Seeding("top", "star") if self.epsilon else Seeding("none")

    @property
    def in_queue(self) -> bool:
        """As of InnerFolds: all but the exact path."""
        return self.seeding.seeder != "path"

    @property
    def seeder(self) -> str:
        """As of InnerFolds."""
        return self.seeding.seeder

    def scheme_in_queue(self, param: Parameter) -> str:
        """As of InnerFolds. Of nu-SVC auto is from nothing: a start is as far from the optimum."""
        usual = self.seeding.seeder == "auto" and not self.seeding.scheme
        return "" if usual and param.svm_type != SvmType.C_SVC else self.of_dual.scheme

    def pairs(
        self,
        problem: Problem,
        param: Parameter,
        classes: tuple[list[int], list[int], Buffer],
        costs: list[float],
        rand: Rand,
        observer: Observer,
        kernels: KernelProvider,
        warm: WarmStart | None,
    ) -> Pairs:
        """As of InnerFolds: first the solves of all pairs, then the inner folds of all of them."""
        labels, start, order = classes
        numbers = list(combinations(range(len(labels)), 2))
        sizes = [start[i + 1] - start[i] + start[j + 1] - start[j] for i, j in numbers]
        drawn = [folds.plain_folds(size, INNER_FOLDS, rand) for size in sizes]
        threads = kernels.at_once_of(INNER_FOLDS * len(numbers), thread_count(param.threads)) if warm is None else 1
        parallel = threads if self.of_dual.scheme == "star" else 1
        duals: dict[int, DualFolds] = {}

        def own_solve(k: int, observer: Observer) -> tuple[Recovered, bool]:
            i, j = numbers[k]
            pair, stopped = pair_problem(problem, order, start, i, j), limits.look(observer)
            if stopped and k and param.svm_type == SvmType.C_SVC:
                return left_at_zero(pair, param, costs[i], costs[j], observer, stopped), False
            own = param_of(param, k, len(numbers), threads)
            weight = pair.sample_weight
            dual = DualFolds(*kernels.of(pair), own, pair.targets, costs[i], costs[j], observer, weight)
            found = dual.solve_full(warm, (i, j))
            duals[k] = dual
            return Recovered(found.coefficients, found.report), stopped is None

        def inner_fold(t: int, observer: Observer) -> Buffer | None:
            k, f = divmod(t, INNER_FOLDS)
            inner_order, bounds = drawn[k]
            try:
                return self.values(duals[k], inner_order, bounds, f, observer, parallel)
            except Stopped:
                return None

        solved = list(side_by_side(own_solve, len(numbers), threads, observer))
        not_begun = sum(not begun for _, begun in solved)
        sigmoids: list[tuple[float, float]] | None = None
        if not not_begun and limits.look(observer) is None:
            sigmoids = []
            values = side_by_side(inner_fold, INNER_FOLDS * len(numbers), parallel, observer)
            for k, (i, _) in enumerate(numbers):
                of_pair = [next(values) for _ in range(INNER_FOLDS)]
                if None in of_pair:
                    sigmoids = None
                    break
                sigmoids.append(sigmoid_of(of_pair, drawn[k][0], start[i + 1] - start[i], observer))
        return Pairs(
            joined_betas([one.coefficients for one, _ in solved]),
            [one.report for one, _ in solved],
            sigmoids,
            not_begun,
        )

    def single(
        self, problem: Problem, param: Parameter, observer: Observer, kernels: KernelProvider, warm: WarmStart | None
    ) -> SeededRegression:
        """As of InnerFolds."""
        return SeededRegression(self, problem, param, observer, kernels, warm)

    def values(
        self,
        dual: DualFolds,
        order: Buffer,
        bounds: list[int],
        f: int,
        observer: Observer,
        parallel: int,
        seeding: Seeding | None = None,
    ) -> Buffer:
        """Decision values of the rows of inner fold f by a training without them; constants, as in LIBSVM, if the rest
        of a pair of classes has but one of them. ``parallel``: so many folds are solved at a time; ``seeding``: if it
        is another. Raises Stopped."""
        limits.ask(observer)
        begin, end = bounds[f : f + 2]
        held_out, rest = order[begin:end], folds.all_but(order, begin, end)
        if parallel > 1:
            dual = dual.of_thread(1)  # kernels divide the memory already
        if f == 0 or parallel > 1:  # a chain goes on
            dual.begin(observer)
        if dual.param.svm_type.is_classification:
            n_positive = sum(1 for row in rest if dual.targets[row] > 0)
            if not 0 < n_positive < len(rest):
                constant = 0.0 if not len(rest) else 1.0 if n_positive else -1.0
                return filled("d", [constant] * len(held_out))
        dual.solve(held_out, seeding or self.of_dual)
        return dual.decided(held_out)


class SeededRegression:
    """SeededRegression(inner, problem, param, observer, kernels, warm): a SingleOptimum; arguments as of ``single``."""

    def __init__(
        self,
        inner: SeededInnerFolds,
        problem: Problem,
        param: Parameter,
        observer: Observer,
        kernels: KernelProvider,
        warm: WarmStart | None,
    ) -> None:
        self.inner, self.problem, self.param, self.observer, self.kernels = inner, problem, param, observer, kernels
        self.dual = DualFolds(*kernels.of(problem), param, problem.targets, 0.0, 0.0, observer, problem.sample_weight)
        solved = self.dual.solve_full(warm, (0, 0))
        self.found = Recovered(solved.coefficients, solved.report)

    def predicted(self, rand: Rand) -> Buffer:
        """As of SingleOptimum."""
        seeding = self.inner.of_regression(self.found.report, len(self.problem))
        if seeding.seeder == "none":
            own = replace(self.param, probability=False)
            return cross_validate_problem(self.problem, own, INNER_FOLDS, rand, self.observer, self.kernels)
        order, bounds = draw_folds(self.problem, self.param, INNER_FOLDS, rand, self.observer)
        n, threads = len(bounds) - 1, thread_count(self.param.threads)
        parallel = self.kernels.at_once_of(n, threads) if seeding.scheme == "star" else 1
        self.dual.budget_bytes = self.kernels.budget_bytes / parallel

        def fold(f: int, observer: Observer) -> Buffer:
            return self.inner.values(self.dual, order, bounds, f, observer, parallel, seeding)

        predicted = zeros("d", len(self.problem))
        for f, values in enumerate(side_by_side(fold, n, parallel, self.observer)):
            folds.put_rows(predicted, order[bounds[f] : bounds[f + 1]], values, 1)
        return predicted

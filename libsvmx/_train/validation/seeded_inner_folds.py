"""Probability estimates with seeded inner folds: alpha seeding inside one training.

LIBSVM solves five folds of each pair of classes, or of a regression, from cold starts, and then the pair itself. Here
the pair is solved first, as without seeding, and its folds start from its optimum, a star without an additional
training, or in a chain. In the queue of a classifier its ``add_folds`` does this; here is the code for all others. The
folds are LIBSVM's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._core.buffers import filled, zeros
from libsvmx._core.records import replace
from libsvmx._core.threads import thread_count
from libsvmx._train import folds, limits
from libsvmx._train.assembly import INNER_FOLDS
from libsvmx._train.queue.duals import Chain, Star
from libsvmx._train.repeated_folds import draw_folds
from libsvmx._train.side_by_side import side_by_side
from libsvmx._train.solve_dual import Recovered
from libsvmx._train.training import cross_validate_problem
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
    from libsvmx._train.queue.duals import KnownOptima
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.warm_start import NumberOfDual, WarmStart
    from libsvmx._typing import Buffer


def seeded_inner_folds(seeding: Seeding, param: Parameter, for_model: bool = True) -> SeededInnerFolds | None:
    """The inner folds of one training; None for cold starts. ``for_model``: see SeededInnerFolds.

    Raises
    ------
    ParameterError      no inner folds, or they cannot be seeded
    """
    if seeding.seeder == "none":
        return None
    if not param.probability:
        raise ParameterError("seeding in a training is for the folds of probability estimates: it needs -b 1")
    if param.svm_type == SvmType.ONE_CLASS:
        raise ParameterError("the probability estimates of one-class have no folds that could be seeded")
    check_seedable(param)
    return SeededInnerFolds(seeding, param, for_model)


class SeededInnerFolds:
    """SeededInnerFolds(seeding, param, for_model): the inner folds of a training, seeded.

    ``seeding`` is not 'none'; auto is a star, of a regression see ``of_regression``. All rows have weight > 0.
    ``for_model``: the optima that they start from are LIBSVM's, as for a model; else they are as accurate as the folds.
    """

    def __init__(self, seeding: Seeding, param: Parameter, for_model: bool) -> None:
        self.for_model = for_model
        self.seeding, self.epsilon = seeding, param.svm_type == SvmType.EPSILON_SVR
        scheme = seeding.scheme or ("star" if seeding.seeder == "auto" else seeding.usual(INNER_FOLDS).scheme)
        self.of_dual = replace(seeding, scheme=scheme)

    def of_regression(self, report: SolveReport, queued: bool) -> Seeding:
        """The choice of auto for a regression, from its optimum.

        If most support vectors are free, avg spreads the coefficients that leave over them; a queue tries what pays. If
        few are, top gives these to similar rows, free or not; in nu-SVR that is no better than a cold start, but the
        rows that enter may take them over, in a chain, which pays in a queue.
        """
        if self.seeding.seeder != "auto" or self.seeding.scheme:
            return self.of_dual
        if 2 * report.n_bsv <= report.n_sv:
            return self.of_dual if queued else Seeding("avg", "star")
        if self.epsilon:
            return Seeding("top", "star")
        return Seeding("sir", "chain") if queued else Seeding("none")

    @property
    def in_queue(self) -> bool:
        """Whether a queue supports the seeder: all but the exact path."""
        return self.seeding.seeder != "path"

    @property
    def seeder(self) -> str:
        """The argument of ``TaskList.seed_by``."""
        return self.seeding.seeder

    def scheme_in_queue(self, param: Parameter) -> str:
        """The scheme in a queue, for QueuedPairs; '' for auto in nu-SVC, where a start is no better than a cold one."""
        usual = self.seeding.seeder == "auto" and not self.seeding.scheme
        return "" if usual and param.svm_type != SvmType.C_SVC else self.of_dual.scheme

    @property
    def in_turn(self) -> bool:
        """Whether the folds of a dual problem depend on each other: in a chain."""
        return self.of_dual.scheme == "chain"

    def optimum(
        self,
        problem: Problem,
        param: Parameter,
        costs: tuple[float, float],
        observer: Observer,
        kernels: KernelProvider,
        warm: WarmStart | None,
        number: NumberOfDual = (0, 0),
    ) -> SeededDual | QueuedDual:
        """Solve a regression, or a pair of classes outside a queue; arguments of ``solve_binary``."""
        if param.svm_type.is_regression and self.in_queue and warm is None:
            own, weighted = replace(param, probability=False), problem.sample_weight is not None
            queue = kernels.queue(own, observer, 1 + INNER_FOLDS, weighted)
            if queue is not None:
                return QueuedDual(self, queue, problem, observer, kernels)
        return SeededDual(self, problem, param, costs, observer, kernels, warm, number)


class QueuedDual:
    """QueuedDual(inner, queue, problem, observer, kernels): as SeededDual, of a regression in a queue, which is
    empty."""

    def __init__(
        self,
        inner: SeededInnerFolds,
        queue: SolveQueue,
        problem: Problem,
        observer: Observer,
        kernels: KernelProvider,
    ) -> None:
        self.queue, self.problem, self.observer, self.kernels = queue, problem, observer, kernels
        star = Star(queue.another(), kernels, problem, observer, for_model=True)
        self.found = Recovered(star.found.betas, star.found.reports[0])
        seeding = inner.of_regression(self.found.report, queued=True)
        queue.decide_by_floats()
        queue.seed_by(seeding.seeder, models=True)
        self.known: KnownOptima = Chain() if seeding.scheme == "chain" else star

    def predicted(self, rand: Rand) -> Buffer:
        problem, param = self.problem, self.queue.param
        return cross_validate_problem(
            problem, param, INNER_FOLDS, rand, self.observer, self.kernels, self.queue, self.known
        )


class SeededDual:
    """SeededDual(inner, problem, param, costs, observer, kernels, warm, number): the optimum of a dual problem, the
    start of its inner folds.

    ``found``: its coefficients and report.
    """

    def __init__(
        self,
        inner: SeededInnerFolds,
        problem: Problem,
        param: Parameter,
        costs: tuple[float, float],
        observer: Observer,
        kernels: KernelProvider,
        warm: WarmStart | None,
        number: NumberOfDual,
    ) -> None:
        self.problem, self.param, self.observer, self.kernels = problem, param, observer, kernels
        self.dual = DualFolds(*kernels.of(problem), param, problem.targets, *costs, observer, problem.sample_weight)
        solved = self.dual.train_full(warm, number, unfinished=True, for_model=inner.for_model)
        self.found = Recovered(solved.coefficients, solved.report)
        self.seeding = inner.of_dual
        if param.svm_type.is_regression:
            self.seeding = inner.of_regression(solved.report, queued=False)

    def values(self, order: Buffer, bounds: list[int], f: int, observer: Observer, parallel: int) -> Buffer:
        """Decision values of rows order[bounds[f]:bounds[f+1]] by the fold without them; constants, as in LIBSVM, if
        the rest has only one class. ``parallel``: number of folds solved at a time. Raises Stopped."""
        limits.ask(observer)
        begin, end = bounds[f : f + 2]
        held_out, rest = order[begin:end], folds.all_but(order, begin, end)
        dual = self.dual.of_thread(1) if parallel > 1 else self.dual  # kernels already share the memory
        if f == 0 or parallel > 1:  # else a chain continues
            dual.begin(observer)
        if self.param.svm_type.is_classification:
            n_positive = sum(1 for row in rest if dual.targets[row] > 0)
            if not 0 < n_positive < len(rest):
                constant = 0.0 if not len(rest) else 1.0 if n_positive else -1.0
                return filled("d", [constant] * len(held_out))
        dual.solve(held_out, self.seeding)
        return dual.decided(held_out)

    def predicted(self, rand: Rand) -> Buffer:
        """Predictions of a regression for each row by the inner fold without it, drawn by ``rand``. Raises Stopped."""
        if self.seeding.seeder == "none":
            own = replace(self.param, probability=False)
            return cross_validate_problem(self.problem, own, INNER_FOLDS, rand, self.observer, self.kernels)
        order, bounds = draw_folds(self.problem, self.param, INNER_FOLDS, rand, self.observer)
        n, threads = len(bounds) - 1, thread_count(self.param.threads)
        parallel = self.kernels.at_once_of(n, threads) if self.seeding.scheme == "star" else 1
        self.dual.budget_bytes = self.kernels.budget_bytes / parallel

        def fold(f: int, observer: Observer) -> Buffer:
            return self.values(order, bounds, f, observer, parallel)

        predicted = zeros("d", len(self.problem))
        for f, values in enumerate(side_by_side(fold, n, parallel, self.observer)):
            folds.put_rows(predicted, order[bounds[f] : bounds[f + 1]], values, 1)
        return predicted

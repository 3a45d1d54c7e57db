"""Predictions of a model: labels or targets, decision values, probabilities."""

from __future__ import annotations

from libsvmx._core.arrays import take_int32
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.contexts import contextmanager
from libsvmx._core.threads import for_each, thread_count
from libsvmx._kernels.cross import CrossKernel, may_be_approximate
from libsvmx._train.checks import check_precomputed_tests, check_signs
from libsvmx._train.decision import Functions, KernelFunctions, LinearFunctions, most_probable, voted
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.enums import KernelType, SvmType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter

    Tests: TypeAlias = "CsrMatrix | RowBlocks"
    # number of a thread, tests, rows, values (OUT), ask
    Part: TypeAlias = Callable[[int, CsrMatrix, Buffer, Buffer, Callable[[], None]], None]
else:
    Tests = object


class _OthersFailed(Exception):
    """Raised in a thread whose result is no longer needed."""


class RowBlocks:
    """Test rows that are computed while they are predicted, in row blocks.

    Attributes
    ----------
    n_rows : int      of all row blocks
    """

    n_rows: int

    def blocks(self) -> Iterator[CsrMatrix]:
        """The row blocks in order, each computed when it is asked for."""
        raise NotImplementedError


class Predictor:
    """Predictor(model, threads=1, ask=None): a model's decision functions, prepared for many calls.

    Results do not depend on the number of threads, 0 as in ``thread_count``. ``ask`` is called between pieces of work,
    and may raise to stop. ``rows`` of ``RowBlocks`` are all of them, in order.
    """

    def __init__(self, model: Model, threads: int = 1, ask: Callable[[], object] | None = None) -> None:
        self.model = model
        self.threads = threads
        self.ask = ask
        self.work_per_row: int = max(1, model.vectors.nnz + model.n_sv * model.nr_class)
        # one for each thread, since a kernel holds its current rows
        self.exact: list[Functions] = []
        self.signs: list[Functions] = []

    def values(self, tests: Tests, rows: Buffer) -> Buffer:
        """Decision values, float64, shape (n_rows * n_functions,), row by row. Raises DataError for rows that a
        precomputed model cannot use."""
        return self._evaluate(self._exact_values, tests, rows)

    def labels(self, tests: Tests, rows: Buffer) -> Buffer:
        """Predictions, float64, shape (n_rows,): label, target, or +1 / -1 of one-class.

        If only signs matter, decision values are computed in a faster way, and LIBSVM's only for rows too close to 0.
        Raises DataError as ``values`` does.
        """
        exact = self.model.param.svm_type.is_regression
        values = self._evaluate(self._exact_values if exact else self._signed_values, tests, rows)
        return labels_of(self.model.param, self.model.class_labels or (), values, len(rows))

    def _evaluate(self, part: Part, tests: Tests, rows: Buffer) -> Buffer:
        width, begin = len(self.model.offsets), 0
        values = zeros("d", len(rows) * width)
        if not isinstance(tests, RowBlocks):
            self._evaluate_rows(part, tests, rows, values)
            return values
        for block in tests.blocks():
            end = begin + block.n_rows
            self._evaluate_rows(part, block, rows[: block.n_rows], values[begin * width : end * width])
            begin = end
            del block  # before the next one is computed
        return values

    def _evaluate_rows(self, part: Part, tests: CsrMatrix, rows: Buffer, values: Buffer) -> None:
        if self.model.param.kernel_type == KernelType.PRECOMPUTED:
            check_precomputed_tests(self.model, tests, rows)
        check_signs(tests, rows, self.model.param.kernel_type)
        n, width = len(rows), len(self.model.offsets)
        pays = n * self.work_per_row >= self.model.param.policy.prediction_work_for_threads
        n_parts = thread_count(self.threads) if pays else 1
        while len(self.exact) < n_parts:
            self.exact.append(exact_functions(self.model))
            self.signs.append(functions_for_signs(self.model) or self.exact[-1])
        failed: list[bool] = []

        def ask() -> None:
            if failed:
                raise _OthersFailed
            if self.ask is not None:
                self.ask()

        def run(i: int) -> None:
            begin, end = n * i // n_parts, n * (i + 1) // n_parts
            try:
                part(i, tests, rows[begin:end], values[begin * width : end * width], ask)
            except _OthersFailed:
                pass
            except BaseException:  # also Ctrl-C: the other threads must end at once
                failed.append(True)
                raise

        for_each(run, range(n_parts), n_parts)

    def _exact_values(self, i: int, tests: CsrMatrix, rows: Buffer, values: Buffer, ask: Callable[[], None]) -> None:
        self.exact[i].evaluate(tests, rows, values, ask)

    def _signed_values(self, i: int, tests: CsrMatrix, rows: Buffer, values: Buffer, ask: Callable[[], None]) -> None:
        """Decision values with LIBSVM's signs, by the functions of thread i."""
        doubtful = self.signs[i].evaluate(tests, rows, values, ask)
        if not doubtful:
            return
        width = len(self.model.offsets)
        again = zeros("d", len(doubtful) * width)
        self.exact[i].evaluate(tests, take_int32(rows, filled("i", doubtful)), again, ask)
        for k, position in enumerate(doubtful):
            values[position * width : (position + 1) * width] = again[k * width : (k + 1) * width]


def exact_functions(model: Model) -> Functions:
    """The decision functions of a model, with LIBSVM's values."""
    kernel = CrossKernel(model.vectors, *model.param.kernel_function)
    return KernelFunctions(kernel, model.coef, model.offsets, model.class_sv)


def functions_for_signs(model: Model) -> Functions | None:
    """Faster functions with bounds on their error; None if there are none."""
    kind = model.param.kernel_type
    if kind == KernelType.LINEAR and LinearFunctions.pays(model.vectors, len(model.offsets)):
        return LinearFunctions(model.vectors, model.coef, model.offsets, model.class_sv)
    if may_be_approximate(kind):
        kernel = CrossKernel(model.vectors, *model.param.kernel_function, approximate=True)
        return KernelFunctions(kernel, model.coef, model.offsets, model.class_sv)
    return None


def decision_values(
    model: Model, tests: Tests, rows: Buffer, ask: Callable[[], object] | None = None, threads: int = 1
) -> Buffer:
    """Decision values, float64, shape (n_rows * n_functions,), row by row; see ``Predictor.values``."""
    with predictor_of(model, ask, threads) as predictor:
        return predictor.values(tests, rows)


def predict(model: Model, tests: Tests, rows: Buffer) -> tuple[Buffer, Buffer]:
    """Predictions, float64, shape (n,): label, target, or +1 / -1 of one-class; and the decision values."""
    values = decision_values(model, tests, rows)
    return labels_of(model.param, model.class_labels or (), values, len(rows)), values


def predict_labels(
    model: Model, tests: Tests, rows: Buffer, ask: Callable[[], object] | None = None, threads: int = 1
) -> Buffer:
    """Predictions only, many times faster; see ``Predictor.labels``."""
    with predictor_of(model, ask, threads) as predictor:
        return predictor.labels(tests, rows)


@contextmanager
def predictor_of(model: Model, ask: Callable[[], object] | None = None, threads: int = 1) -> Iterator[Predictor]:
    """A predictor, kept with the model for the next call: making one costs more than a row.

    Concurrent callers have one each; an interrupted one is dropped.
    """
    try:
        predictor = model.predictors.pop()
    except IndexError:
        predictor = Predictor(model)
    predictor.ask, predictor.threads = ask, threads
    yield predictor
    predictor.ask = None
    model.predictors.append(predictor)


def labels_of(param: Parameter, labels: Sequence[int], values: Buffer, n: int) -> Buffer:
    """Predictions for the decision values of n rows; ``labels``: of the classes, if any."""
    if param.svm_type.is_regression:
        return values
    if param.svm_type == SvmType.ONE_CLASS:
        return filled("d", (1.0 if value > 0 else -1.0 for value in values))
    out: Buffer = voted(labels, values, n)
    return out


def predict_probability(
    model: Model, tests: Tests, rows: Buffer, predictor: Predictor | None = None
) -> tuple[Buffer, Buffer, int]:
    """Predictions with probabilities.

    Classification predicts the most probable class; one-class the sign, with the probabilities of
    normal and outlier. Regression has none: its noise scale is ``model.sigmoid_a``.

    Returns
    -------
    predictions : buffer of float64, shape (n,)
    probabilities : buffer of float64, shape (n * nr_class,), empty for regression
    unfinished : int      rows whose pairwise coupling met its iteration limit
    """
    n = len(rows)
    values = predictor.values(tests, rows) if predictor else decision_values(model, tests, rows)
    if model.param.svm_type.is_regression or not model.has_probability:
        return labels_of(model.param, model.class_labels or (), values, n), zeros("d", 0), 0
    from libsvmx._train import probability

    if model.param.svm_type == SvmType.ONE_CLASS:
        estimates = zeros("d", 2 * n)
        for i, value in enumerate(values):
            estimates[2 * i] = probability.normal_probability(value, model.marks)
            estimates[2 * i + 1] = 1 - estimates[2 * i]
        return labels_of(model.param, model.class_labels or (), values, n), estimates, 0
    k = model.nr_class
    estimates, unfinished = probability.class_probabilities(values, n, k, model.sigmoid_a, model.sigmoid_b)
    return most_probable(model.class_labels or (), estimates, n), estimates, unfinished

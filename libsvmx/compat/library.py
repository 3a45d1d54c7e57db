"""The calls behind svmutil, and ``libsvm``, which offers them under the names of LIBSVM's C functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, MutableSequence, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

from libsvmx._core.buffers import filled
from libsvmx._core.rand import Rand
from libsvmx._train.checks import check_problem
from libsvmx._train.prediction import predict, predict_probability
from libsvmx._train.training import cross_validate_problem, default_gamma, train_problem
from libsvmx.compat.options import PRINT_STRING_FUN, svm_parameter
from libsvmx.compat.rows import matrix_of
from libsvmx.compat.svm import all_rows, svm_model, svm_node, svm_problem, toPyModel
from libsvmx.enums import KernelType
from libsvmx.io.modelfile import load_model, save_model
from libsvmx.io.transcript import TrainingReport

if TYPE_CHECKING:
    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter
    from libsvmx._typing import Buffer

FileName = str | bytes | os.PathLike[str]

# C's rand() as LIBSVM finds it: seeded once for the process, moved on by every call that draws folds.
_rand = Rand(1)
_rand_lock = RLock()  # a print function may train


def train(problem: svm_problem, param: Parameter, print_func: Any) -> svm_model:
    """Train with the process-wide rand() stream; ValueError for what cannot be trained."""
    report = TrainingReport(_writer(print_func), _warn)
    if not param.probability:  # draws nothing, so threads need not wait for each other
        return _with_rows(problem, train_problem(problem.to_problem(), param, Rand(1), report))
    with _rand_lock:
        return _with_rows(problem, train_problem(problem.to_problem(), param, _rand, report))


def _with_rows(problem: svm_problem, model: Model) -> svm_model:
    if model.param.kernel_type != KernelType.PRECOMPUTED or model.row_numbers is None:
        return svm_model(model)
    rows = filled("i", (number - 1 for number in model.row_numbers))
    return svm_model(model, vectors=problem.to_problem().matrix.take(rows))


def cross_validate(problem: svm_problem, param: Parameter, n_folds: int, print_func: Any) -> Buffer:
    """Prediction of each row by the model trained without its fold, float64, shape (l,); errors as of ``train``."""
    report = TrainingReport(_writer(print_func), _warn)
    with _rand_lock:
        return cross_validate_problem(problem.to_problem(), param, n_folds, _rand, report)


def _writer(print_func: Any) -> Callable[[str], None]:
    """Where the transcript goes; a print function gets bytes, as it does from C."""
    if print_func:
        return lambda text: print_func(text.encode())

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    return write


def _warn(remark: str) -> None:
    print(f"warning: {remark}", file=sys.stderr)


class Library:
    """LIBSVM's C functions, as far as they make sense without C.

    Arrays to be filled may be lists, ctypes arrays or ndarrays; rows are lists of svm_node as
    ``gen_svm_nodearray`` makes them. Errors are exceptions, not NULL or -1. Nothing needs to be freed.
    """

    def __init__(self) -> None:
        self._print_func: Any = PRINT_STRING_FUN()

    def svm_set_print_string_function(self, print_func: Any) -> None:
        """Where ``libsvm.svm_train`` and ``svm_cross_validation`` print; None for standard output.

        It stays until set again; in LIBSVM the next ``svm_parameter`` or ``svmutil.svm_train`` resets it.
        """
        self._print_func = print_func

    def svm_check_parameter(self, prob: svm_problem, param: svm_parameter) -> bytes | None:
        """Why this cannot be trained, or None."""
        try:
            check_problem(prob.to_problem(), param.to_parameter())
        except ValueError as error:
            return str(error).encode()
        return None

    def svm_train(self, prob: svm_problem, param: svm_parameter) -> svm_model:
        """Unlike ``svmutil.svm_train`` this ignores ``-v`` and leaves a gamma of 0 in ``param``, as LIBSVM does."""
        return train(prob, param.to_parameter(), self._print_func)

    def svm_cross_validation(
        self, prob: svm_problem, param: svm_parameter, nr_fold: int, target: MutableSequence[float]
    ) -> None:
        """Fill ``target``, shape (l,), with the predictions of a cross-validation."""
        _fill(target, cross_validate(prob, param.to_parameter(), nr_fold, self._print_func))

    def svm_save_model(self, model_file_name: FileName, model: svm_model | Model) -> int:
        """Write a model file, the same bytes as LIBSVM writes. Returns 0; OSError if it fails."""
        save_model(os.fsdecode(model_file_name), toPyModel(model).model)
        return 0

    def svm_load_model(self, model_file_name: FileName) -> svm_model:
        """Read a model file; OSError or FormatError if it fails. Oddities that are no errors are warnings."""
        return svm_model(load_model(os.fsdecode(model_file_name)), loaded=True)

    def svm_predict(self, model: svm_model, x: Sequence[svm_node]) -> float:
        """Label or target of one row."""
        return float(_predict_one(model, x)[0])

    def svm_predict_values(self, model: svm_model, x: Sequence[svm_node], dec_values: MutableSequence[float]) -> float:
        """The same, and its decision values into ``dec_values``."""
        label, values = _predict_one(model, x)
        _fill(dec_values, values)
        return label

    def svm_predict_probability(
        self, model: svm_model, x: Sequence[svm_node], prob_estimates: MutableSequence[float]
    ) -> float:
        """The most probable label, and the probabilities into ``prob_estimates`` if the model has them."""
        matrix = matrix_of([_row(x)], True)[0]
        labels, values, _ = predict_probability(model.model, matrix, all_rows(matrix))
        _fill(prob_estimates, values)
        return float(labels[0])

    def svm_get_svm_type(self, model: svm_model) -> int:
        return model.get_svm_type()

    def svm_get_nr_class(self, model: svm_model) -> int:
        return model.nr_class

    def svm_get_labels(self, model: svm_model, label: MutableSequence[int]) -> None:
        _fill(label, model.label or ())

    def svm_get_sv_indices(self, model: svm_model, sv_indices: MutableSequence[int]) -> None:
        _fill(sv_indices, model.sv_indices or ())

    def svm_get_nr_sv(self, model: svm_model) -> int:
        return model.l

    def svm_get_svr_probability(self, model: svm_model) -> float:
        return model.get_svr_probability()

    def svm_check_probability_model(self, model: svm_model) -> int:
        return int(model.is_probability_model())


libsvm = Library()


def with_default_gamma(problem: svm_problem, param: svm_parameter) -> Parameter:
    """``param`` checked, its gamma of 0 replaced by 1 / n, in ``param`` itself as well: so does LIBSVM."""
    checked = default_gamma(param.to_parameter(), problem.n)
    param.gamma = checked.gamma
    return checked


def _row(nodes: Sequence[svm_node]) -> dict[int, float]:
    row: dict[int, float] = {}
    for node in nodes:
        if node.index == -1:
            break
        row[node.index] = node.value
    return row


def _predict_one(model: svm_model, x: Sequence[svm_node]) -> tuple[float, Buffer]:
    matrix = matrix_of([_row(x)], True)[0]
    labels, values = predict(model.model, matrix, all_rows(matrix))
    return float(labels[0]), values


def _fill(target: MutableSequence[Any], values: Sequence[Any]) -> None:
    if len(target) < len(values):
        raise ValueError(f"the array to fill has {len(target)} places, but there are {len(values)} values")
    for i, value in enumerate(values):
        target[i] = value

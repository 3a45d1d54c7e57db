"""The calls behind svmutil, and ``libsvm``, which has them under the names of LIBSVM's C functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from ctypes import c_double, c_int, pointer
from threading import RLock
from typing import Any

from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Token

# The solvers are loaded here, as LIBSVM's interface loads its library, not at the first training.
from libsvmx._kernels import sharedrows as sharedrows
from libsvmx._train.checks import check_problem
from libsvmx._train.folds import Rand
from libsvmx._train.gamma import default_gamma
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.prediction import predict, predict_probability
from libsvmx._train.queue import solve_queue as solve_queue
from libsvmx._train.queue import trainings as trainings
from libsvmx._train.training import cross_validate_problem, train_problem
from libsvmx._typing import Buffer
from libsvmx.compat.handles import contents_of, fill, set_to_null
from libsvmx.compat.nodes import row_of
from libsvmx.compat.options import Printing, ctypes_print_null, print_null, svm_parameter
from libsvmx.compat.rows import matrix_of
from libsvmx.compat.svm import all_rows, svm_model, svm_problem, toPyModel
from libsvmx.enums import KernelType
from libsvmx.io.modelfile import load_model, save_model
from libsvmx.io.transcript import Remarks, TrainingReport

FileName = str | bytes | os.PathLike[str]

# C's rand() as in LIBSVM: seeded once for the process, advanced by every call that draws folds.
_rand = Rand()
_rand_lock = RLock()  # a print function may train


def train(problem: svm_problem, param: Parameter, print_func: Any) -> svm_model:
    """Train with the process-wide rand() stream; ValueError for invalid data or parameters."""
    given, report = problem.to_problem(), _observer(print_func)
    if not param.probability:  # draws nothing, so threads need not wait for each other
        model = train_problem(given, param, _rand, report)
    else:
        with _rand_lock:
            model = train_problem(given, param, _rand, report)
    if param.kernel_type != KernelType.PRECOMPUTED or model.row_numbers is None:
        return svm_model(model)
    rows = filled("i", (number - 1 for number in model.row_numbers))
    return svm_model(model, vectors=given.matrix.take(rows))


def cross_validate(problem: svm_problem, param: Parameter, n_folds: int, print_func: Any) -> Buffer:
    """Prediction of each row by the model trained without its fold, float64, shape (l,); errors as in ``train``."""
    report = _observer(print_func)
    with _rand_lock:
        return cross_validate_problem(problem.to_problem(), param, n_folds, _rand, report)


def _observer(print_func: Any) -> Observer:
    silent = print_func in (ctypes_print_null, print_null)
    found = Remarks(_warn) if silent else TrainingReport(_writer(print_func), _warn)
    found.limits = Token()  # of this call alone, so no other observer is made for it
    return found


def _writer(print_func: Any) -> Callable[[str], None]:
    """The function that prints the transcript; a print function gets bytes, as from C."""
    if print_func:
        call = getattr(print_func, "function", None) or print_func  # through ctypes its exceptions would be lost
        return lambda text: call(text.encode())

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    return write


def _warn(remark: str) -> None:
    print(f"warning: {remark}", file=sys.stderr)


class Library:
    """LIBSVM's C functions, as far as they make sense without C.

    Problems, parameters and models may be passed directly, by a pointer or by ``byref``; rows as in ``row_of``, arrays
    to be filled as in ``fill``. Errors are exceptions, not NULL or -1.
    """

    def svm_set_print_string_function(self, print_func: Any) -> None:
        """Where ``svm_train`` and ``svm_cross_validation`` print; None, or a false one, for standard output.

        One for the process, until the next call, the next ``svm_parameter`` or the next ``svmutil.svm_train``.
        """
        Printing.function = print_func

    def svm_check_parameter(self, prob: Any, param: Any) -> bytes | None:
        """The reason why this cannot be trained, or None."""
        try:
            check_problem(contents_of(prob, svm_problem).to_problem(), contents_of(param, svm_parameter).to_parameter())
        except ValueError as error:
            return str(error).encode()
        return None

    def svm_train(self, prob: Any, param: Any) -> Any:
        """Pointer to an svm_model, see ``toPyModel``.

        Unlike ``svmutil.svm_train`` this ignores ``-v`` and leaves a gamma of 0 in ``param``, as LIBSVM does.
        """
        given = contents_of(param, svm_parameter).to_parameter()
        return pointer(train(contents_of(prob, svm_problem), given, Printing.function))

    def svm_cross_validation(self, prob: Any, param: Any, nr_fold: int, target: Any) -> None:
        """Fill ``target``, doubles of shape (l,), with the predictions of a cross-validation."""
        given = contents_of(param, svm_parameter).to_parameter()
        fill(target, cross_validate(contents_of(prob, svm_problem), given, nr_fold, Printing.function), c_double)

    def svm_save_model(self, model_file_name: FileName, model: Any) -> int:
        """Write a model file, the same bytes as LIBSVM writes. Returns 0; OSError if it fails."""
        save_model(os.fsdecode(model_file_name), toPyModel(model).model)
        return 0

    def svm_load_model(self, model_file_name: FileName) -> Any:
        """Read a model file: pointer to an svm_model. Oddities give warnings.

        Raises OSError, FormatError.
        """
        return pointer(svm_model(load_model(os.fsdecode(model_file_name)), loaded=True))

    def svm_predict(self, model: Any, x: Any) -> float:
        """Label or target of one row."""
        return _predict_one(model, x)[0]

    def svm_predict_values(self, model: Any, x: Any, dec_values: Any) -> float:
        """``svm_predict``, with decision values, doubles, in ``dec_values``."""
        label, values = _predict_one(model, x)
        fill(dec_values, values, c_double)
        return label

    def svm_predict_probability(self, model: Any, x: Any, prob_estimates: Any) -> float:
        """The most probable label, and the probabilities into ``prob_estimates`` if the model has them."""
        matrix = matrix_of([row_of(x)], True)[0]
        labels, values, _ = predict_probability(toPyModel(model).model, matrix, all_rows(matrix))
        fill(prob_estimates, values, c_double)
        return float(labels[0])

    def svm_get_svm_type(self, model: Any) -> int:
        return toPyModel(model).get_svm_type()

    def svm_get_nr_class(self, model: Any) -> int:
        return toPyModel(model).nr_class

    def svm_get_labels(self, model: Any, label: Any) -> None:
        """Fill ``label``, ints of shape (nr_class,); unchanged for a model without classes."""
        fill(label, toPyModel(model).label or (), c_int)

    def svm_get_sv_indices(self, model: Any, sv_indices: Any) -> None:
        """Fill ``sv_indices``, ints of shape (l,); unchanged for a loaded model."""
        fill(sv_indices, toPyModel(model).sv_indices or (), c_int)

    def svm_get_nr_sv(self, model: Any) -> int:
        return toPyModel(model).l

    def svm_get_svr_probability(self, model: Any) -> float:
        return toPyModel(model).get_svr_probability()

    def svm_check_probability_model(self, model: Any) -> int:
        return int(toPyModel(model).is_probability_model())

    def svm_free_model_content(self, model_ptr: Any) -> None:
        """Free the memory of a model at once; later use of it is a ValueError. Optional."""
        toPyModel(model_ptr).free()

    def svm_free_and_destroy_model(self, model_ptr_ptr: Any) -> None:
        """``svm_free_model_content``, and set the pointer behind ``model_ptr_ptr`` to NULL. Ignores NULL."""
        try:
            model = contents_of(model_ptr_ptr, svm_model)
        except ValueError:  # NULL
            return
        set_to_null(model_ptr_ptr)
        model.free()

    def svm_destroy_param(self, param: Any) -> None:
        """Does nothing: Python frees the weights."""
        contents_of(param, svm_parameter)


libsvm = Library()


def with_default_gamma(problem: svm_problem, param: svm_parameter) -> Parameter:
    """``param`` checked, with a gamma of 0 replaced by 1 / n in ``param`` itself, as in LIBSVM."""
    given = param.to_parameter()
    checked = default_gamma(given, problem.n)
    if checked is not given:
        param.gamma = checked.gamma
    return checked


def _predict_one(model: Any, x: Any) -> tuple[float, Buffer]:
    matrix = matrix_of([row_of(x)], True)[0]
    labels, values = predict(toPyModel(model).model, matrix, all_rows(matrix))
    return float(labels[0]), values

"""Training, prediction and model files in the calls of LIBSVM's Python module."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq
from typing import Any

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._train.model import Model
from libsvmx._train.parameter import Parameter
from libsvmx._train.prediction import predict, predict_probability
from libsvmx.compat import commonutil, svm
from libsvmx.compat.commonutil import *  # noqa: F403
from libsvmx.compat.commonutil import evaluations
from libsvmx.compat.library import FileName, cross_validate, libsvm, train, with_default_gamma
from libsvmx.compat.options import Printing
from libsvmx.compat.rows import is_sparse, matrix_of, targets_of
from libsvmx.compat.svm import *  # noqa: F403
from libsvmx.compat.svm import all_rows, svm_model, svm_parameter, svm_problem, toPyModel
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError, ParameterError
from libsvmx.io.transcript import LAPLACE

__all__ = ["libsvm", "svm_load_model", "svm_predict", "svm_save_model", "svm_train"]
__all__ += svm.__all__
__all__ += commonutil.__all__


def __getattr__(name: str) -> Any:
    """The names of ``svm`` and ``commonutil`` outside their ``__all__``."""
    return getattr(commonutil if hasattr(commonutil, name) else svm, name)


def svm_load_model(model_file_name: FileName) -> svm_model:
    """Read a model file.

    Parameters
    ----------
    model_file_name : str or path-like

    Returns
    -------
    svm_model

    Raises
    ------
    FileNotFoundError, OSError
        A file that cannot be read.
    FormatError
        A file that is no model, or a damaged one.

    Examples
    --------
    >>> from libsvmx.svmutil import *
    >>> y, x = svm_read_problem("data/heart_scale")
    >>> svm_save_model("heart.model", svm_train(y, x, "-q"))
    >>> svm_load_model("heart.model").get_labels()
    [1, -1]
    """
    return toPyModel(libsvm.svm_load_model(model_file_name))


def svm_save_model(model_file_name: FileName, model: svm_model | Model) -> None:
    """Write a model file, with the same bytes as LIBSVM.

    Parameters
    ----------
    model_file_name : str or path-like
    model : svm_model or Model

    Raises
    ------
    OSError

    Examples
    --------
    >>> from libsvmx.svmutil import *
    >>> y, x = svm_read_problem("data/heart_scale")
    >>> svm_save_model("heart.model", svm_train(y, x, "-q"))
    """
    libsvm.svm_save_model(model_file_name, model)


def svm_train(arg1: Any, arg2: Any = None, arg3: Any = None, arg4: Any = None) -> svm_model | Any:
    """svm_train([W,] y, x[, options]), svm_train(problem[, options]) or svm_train(problem, parameter)

    Parameters
    ----------
    W : list, tuple or 1-d ndarray, shape (l,)
        Weights of the rows, >= 0, as in LIBSVM's tool for weights; empty for 1 each.
    y, x
        Labels, shape (l,), and rows, as in ``svm_problem``.
    problem : svm_problem
    options : str or list
        As in ``svm_parameter``.
    parameter : svm_parameter
        Its gamma, if 0, is set to 1 / (number of features).

    Returns
    -------
    svm_model or float
        With ``-v`` the accuracy in percent, or the mean squared error in regression. Prints what LIBSVM prints: the
        transcript unless ``-q``, and the result of a cross-validation.

    Raises
    ------
    TypeError
        Other arguments.
    ValueError
        Invalid data or options; DataError names the row.

    Examples
    --------
    >>> from libsvmx.svmutil import *
    >>> y, x = svm_read_problem("data/heart_scale")
    >>> model = svm_train(y, x, "-c 4 -q")
    >>> model.get_nr_class(), model.l
    (2, 119)
    """
    problem, param = _arguments(arg1, arg2, arg3, arg4)
    Printing.function = param.print_func
    checked = with_default_gamma(problem, param)
    if param.cross_validation:
        return _cross_validate(problem, checked, param.nr_fold, param.print_func)
    return train(problem, checked, param.print_func)


def _arguments(arg1: Any, arg2: Any, arg3: Any, arg4: Any) -> tuple[svm_problem, svm_parameter]:
    if isinstance(arg1, svm_problem):
        return arg1, arg2 if isinstance(arg2, svm_parameter) else svm_parameter(arg2)
    if not isinstance(arg1, (list, tuple, np.ndarray)):
        raise TypeError(f"the first argument is a {type(arg1).__name__}; it must be labels or an svm_problem")
    weighted = arg4 is not None or _are_rows(arg3)
    param = svm_parameter(arg4 if weighted else arg3)
    kernel = param.kernel_type == KernelType.PRECOMPUTED
    problem = svm_problem(arg1, arg2, arg3, kernel) if weighted else svm_problem(arg1, arg2, kernel)
    return problem, param


def _are_rows(value: Any) -> bool:
    """Whether this third argument is rows, after weights and labels, and not options (text, or a list of words)."""
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and not isinstance(value[0], str | int | float)
    return isinstance(value, np.ndarray | CsrMatrix) or is_sparse(value)


def _cross_validate(problem: svm_problem, param: Parameter, n_folds: int, print_func: Any) -> float:
    predicted = cross_validate(problem, param, n_folds, print_func)
    if param.svm_type.is_regression:
        _, error, correlation = evaluations(problem.y, list(predicted))
        print(f"Cross Validation Mean squared error = {error:g}")
        print(f"Cross Validation Squared correlation coefficient = {correlation:g}")
        return error
    accuracy = 100.0 * (sum(map(eq, problem.y, predicted)) / len(predicted))
    print(f"Cross Validation Accuracy = {accuracy:g}%")
    return accuracy


def svm_predict(
    y: Any, x: Any, m: svm_model, options: str = ""
) -> tuple[list[float], tuple[float, float, float], list[list[float]]]:
    """Predict the rows of ``x`` and compare with ``y``.

    Parameters
    ----------
    y : list, tuple or 1-d ndarray, shape (l,)
        True labels; empty if they are not known.
    x
        l rows, as in ``svm_problem``.
    m : svm_model
    options : str or list
        '-b 1' for probability estimates, '-q' to print nothing.

    Returns
    -------
    labels : list of float
        l predictions.
    metrics : tuple of float
        Accuracy in percent, mean squared error, squared correlation coefficient.
    values : list of l lists
        The k (k - 1) / 2 decision values of k classes, a single one in regression and one-class. With ``-b 1`` the
        probability of each class in the order of ``m.label``, those of normal and outlier in one-class, and nothing in
        regression.

    Raises
    ------
    TypeError
        Other arguments.
    ValueError
        No rows, invalid options or data, or probabilities of a model without them.

    Examples
    --------
    >>> from libsvmx.svmutil import *
    >>> y, x = svm_read_problem("data/heart_scale")
    >>> labels, (accuracy, _, _), values = svm_predict(y[:100], x[:100], svm_train(y, x, "-q"), "-q")
    >>> accuracy
    84.0
    """
    if not isinstance(m, svm_model):
        raise TypeError(f"svm_predict needs a model of svm_train or svm_load_model, not {m!r}")
    model = m.model
    probability, quiet = _predict_options(options)
    precomputed = model.param.kernel_type == KernelType.PRECOMPUTED
    matrix, _ = matrix_of(x, precomputed)
    targets = targets_of(y)
    if not matrix.n_rows:
        raise DataError("no data: x has no row")
    if len(targets) and len(targets) != matrix.n_rows:
        raise DataError(f"y has {len(targets)} labels, but x has {matrix.n_rows} rows; give one for each, or []")
    say: Callable[[str], None] = svm.print_null if quiet else print
    regression = model.param.svm_type.is_regression
    if probability:
        if not m.is_probability_model():
            raise ParameterError("the model has no probability estimates; train it with -b 1")
        if regression:
            say(LAPLACE.format(space="", sigma=m.get_svr_probability()).rstrip("\n"))
        labels, values = _probabilities(model, matrix)
    else:
        if m.is_probability_model():
            say("Model supports probability estimates, but disabled in predicton.")
        labels, values = _decisions(model, matrix)
    metrics = evaluations(y if len(y) else [0] * len(labels), labels)
    accuracy, error, correlation = metrics
    if regression:
        say(f"Mean squared error = {error:g} (regression)")
        say(f"Squared correlation coefficient = {correlation:g} (regression)")
    else:
        correct = round(len(labels) * accuracy / 100)
        say(f"Accuracy = {accuracy:g}% ({correct}/{len(labels)}) (classification)")
    return labels, metrics, values


def _predict_options(options: str) -> tuple[bool, bool]:
    probability, quiet = False, False
    argv = iter(options.split())
    for option in argv:
        if option == "-q":
            quiet = True
        elif option == "-b":
            value = next(argv, None)
            if value not in ("0", "1"):
                raise ParameterError(f"option -b needs 0 or 1, not {value}")
            probability = value == "1"
        else:
            raise ParameterError(f"unknown option {option!r}; svm_predict knows -b and -q")
    return probability, quiet


def _decisions(model: Model, matrix: CsrMatrix) -> tuple[list[float], list[list[float]]]:
    labels, values = predict(model, matrix, all_rows(matrix))
    if model.nr_class == 1:  # no pair, no value: LIBSVM gives a 1
        return list(labels), [[1]] * len(labels)
    return list(labels), np.asarray(values).reshape(len(labels), -1).tolist()


def _probabilities(model: Model, matrix: CsrMatrix) -> tuple[list[float], list[list[float]]]:
    labels, values, _ = predict_probability(model, matrix, all_rows(matrix))
    if model.param.svm_type.is_regression:
        return list(labels), [[] for _ in labels]
    return list(labels), np.asarray(values).reshape(len(labels), -1).tolist()

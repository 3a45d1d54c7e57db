"""Training over arrays, probabilities, and the files of LIBSVM."""

from __future__ import annotations

import os
from typing import Any, Literal, overload

import numpy as np

from libsvmx._core.arrays import give_back, ramp
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._train import prediction
from libsvmx._train.checks import check_finite, check_problem
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.training import train_problem
from libsvmx._train.updating.state import train_state
from libsvmx._train.validation.calibration import calibrated, check_calibrated
from libsvmx._train.validation.scheme import Seeding
from libsvmx._train.validation.seeded_inner_folds import seeded_inner_folds
from libsvmx._typing import FilePath, FloatArray
from libsvmx.api.arrays import Fitted, model_of, parameter_of, problem_of, rand_of, threads_of, to_predict
from libsvmx.api.kernels import call_on, called, with_all_values
from libsvmx.api.state import State
from libsvmx.exceptions import DataError, ParameterError, warn_caller
from libsvmx.io import modelfile, svmlight


@overload
def train(
    X: Any,
    y: Any,
    param: Parameter | None = None,
    *,
    sample_weight: Any = None,
    start: Any = None,
    keep_state: Literal[False] = False,
    seeder: str | None = None,
    scheme: str = "",
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> Model: ...
@overload
def train(
    X: Any,
    y: Any,
    param: Parameter | None = None,
    *,
    sample_weight: Any = None,
    start: Any = None,
    keep_state: Literal[True],
    seeder: None = None,
    scheme: str = "",
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> State: ...
def train(
    X: Any,
    y: Any,
    param: Parameter | None = None,
    *,
    sample_weight: Any = None,
    start: Any = None,
    keep_state: bool = False,
    seeder: str | None = None,
    scheme: str = "",
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> Model | State:
    """Train a model or, with ``keep_state``, a state to which rows can be added and from which rows can be removed.

    Parameters
    ----------
    X : array, scipy sparse matrix, CsrMatrix, or sequence of rows (sequences or {index: value}), n rows
        Training rows; with ``kernel_type=PRECOMPUTED`` the kernel matrix, shape (n, n), or wider, with columns for rows
        that may join a state later. With your own kernel, rows as it takes them.
    y : array of float, shape (n,)
        Labels (integers) or targets; ignored by one-class.
    param : Parameter
        Parameters of the training; its fields may be given as keywords instead.
    **options
        Fields of ``Parameter``: ``train(X, y, C=10, gamma=0.1)``; kernels and formulations may be names
        (``kernel_type="linear"``), gamma also "scale" or "auto", as in scikit-learn, or an array, one for each feature.
        Solvers ``"auto"``, ``"chunked"`` and ``"irwls"`` agree with LIBSVM's optimum to ``eps``, but not bit for bit;
        ``"crsvm"`` trains C-SVC and epsilon-SVR on explicit features: ``kernel_type=LINEAR``, POLY of degree 2, or any
        with ``low_rank="cholesky", rank=300``.
    kernel : callable or Kernel
        Your own kernel: a function of two sets of rows, or a ``libsvmx.Kernel``. It is called for the rows of the
        kernel matrix that the solver needs, once each, and by ``predict`` for values with support vectors; with
        ``keep_state`` for all values.
    sample_weight : array of float, shape (n,)
        Weights of the rows, finite and >= 0; None: 1 each. A row of weight w has the bound C w: weight 2 counts it
        twice, weight 0 leaves it out. In the nu formulations and one-class the sum of the weights replaces the number
        of rows. Weights that are all 1 change no bit.
    start : Model, or array of float, shape (n,)
        Warm start: a model of the same rows, for example with another C or gamma, or the coefficients beta = y alpha of
        the rows, feasible or not; for k > 2 classes, shape (k - 1, n), as ``Model.sv_coef`` of all rows. The optimum is
        the same to ``eps``, but not bit for bit LIBSVM's.
    keep_state : bool
        Return a ``State``. Its ``model`` is the exact optimum for the kernel in double precision, not LIBSVM's, which
        is to ``eps`` for the kernel in float.
    seeder, scheme : str
        With ``probability``: how the folds of probability estimates start, as in ``cross_validate``. None or 'none':
        cold start, as in LIBSVM. 'auto': from the optimum over all their rows, if that saves time; sigmoids then agree
        as far as ``eps`` determines them, everything else bit for bit.
    random_state : int
        Seed of the folds of probability estimates, by default LIBSVM's, and of randomized solvers.
    observer : Observer
        Told of progress; with crsvm its ``iterated`` gets each Iteration.
    probability : bool or 'cv'
        As in ``Parameter``; or 'cv', in classification: sigmoids are fitted to the decision values of
        ``cross_validate(X, y, 5)`` with this ``random_state``, instead of LIBSVM's own folds for each pair.

    Returns
    -------
    Model or State
        State with ``keep_state``.

    Raises
    ------
    ParameterError, DataError
        Both are ValueErrors.

    Warns
    -----
    ConvergenceWarning
        If a solve ended before the tolerance was reached; see the model's ``statuses``.
    UserWarning
        Too few rows of a class for ``probability``, or a weight of a class without rows.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> model = libsvmx.train(X, y, C=10, kernel_type="linear")
    >>> model.labels, model.n_sv
    (array([ 1, -1], dtype=int32), 8)
    >>> float((libsvmx.predict(model, X) == y).mean())
    0.9833333333333333
    >>> state = libsvmx.train(X, y, C=10, gamma=0.5, keep_state=True)
    >>> state.remove([0, 1])
    >>> len(state.ids)
    58
    """
    X, known, options = called(X, options)
    by_cv = isinstance(given := options.get("probability"), str)
    if by_cv and given != "cv":
        raise ParameterError(f"probability must be True, False or 'cv', not {given!r}")
    param = parameter_of(param, {**options, "probability": True} if by_cv else options, random_state, X)
    problem, param = problem_of(X, y, param, sample_weight, borrow=not keep_state)
    rand = rand_of(random_state)
    if start is not None and keep_state:
        raise ParameterError("start= cannot be combined with keep_state=True")
    seeding = Seeding(seeder or "none", scheme)
    if by_cv and seeding.seeder != "none":
        raise ParameterError("seeder is for the folds of probability=True; those of probability='cv' are LIBSVM's own")
    if keep_state and seeding.seeder != "none":
        raise ParameterError("seeder= cannot be combined with keep_state=True: a state has no folds")
    inner = seeded_inner_folds(seeding, param)
    with call_on(problem, param, observer, of_rows=True) as told:
        if keep_state:
            return train_state(with_all_values(problem, known, told), param, told, State).with_kernel(known)
        warm = None
        if by_cv:
            check_calibrated(param)
            param = replace(param, probability=False)
        if start is not None:
            from libsvmx.api.given_start import warm_start_of

            check_problem(problem, param)
            warm = warm_start_of(start, problem, param)
        model = train_problem(problem, param, rand, told, warm, inner)
        if by_cv:
            model = calibrated(model, problem, param, rand, told)
            check_finite(model)
        size = problem.matrix.nnz
        del problem, warm
        give_back(size)
        return model if known is None else known.in_model(model)


def predict_probability(model: Model | Fitted, X: Any, *, threads: int = 0) -> tuple[FloatArray, FloatArray]:
    """Labels and class probabilities of rows.

    Parameters
    ----------
    model : Model, or fitted estimator
        Trained with ``probability=True``.
    X, threads
        As in ``predict``.

    Returns
    -------
    labels : ndarray of float64, shape (n,)
        Most probable labels.
    probabilities : ndarray of float64, shape (n, nr_class)
        Columns in the order of ``model.labels``; in one-class normal, outlier.

    Raises
    ------
    ParameterError, DataError
        Also for a model without probability estimates, and for regression.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> model = libsvmx.train(X, y, C=10, gamma=0.5, probability=True)
    >>> labels, probabilities = libsvmx.predict_probability(model, X[:2])
    >>> labels, probabilities.shape, probabilities.sum(axis=1)
    (array([-1.,  1.]), (2, 2), array([1., 1.]))
    """
    model = model_of(model)
    if not model.has_probability or model.param.svm_type.is_regression:
        raise DataError("the model has no class probabilities; train with probability=True")
    most = threads_of(threads)
    model, tests = to_predict(model, X)
    with prediction.predictor_of(model, threads=most) as predictor:
        labels, estimates, _ = prediction.predict_probability(model, tests, ramp(tests.n_rows), predictor)
    return np.asarray(labels), np.asarray(estimates).reshape(tests.n_rows, model.nr_class)


def read_problem(path: FilePath, *, lenient: bool = False) -> tuple[CsrMatrix, FloatArray]:
    """Rows and targets of a LIBSVM data file.

    Parameters
    ----------
    path : str or path-like
        Text file, plain or compressed by gzip, xz or bzip2; ``-`` is standard input.
    lenient : bool
        Skip blank lines and comment lines, which are errors otherwise.

    Returns
    -------
    X : CsrMatrix, n rows
        Rows, as all functions take them; ``X[:200]``, ``X[mask]``, ``X.tocsr()`` and ``X.toarray()`` work.
    y : ndarray of float64, shape (n,)
        Labels or targets.

    Raises
    ------
    OSError, FormatError

    Examples
    --------
    >>> import libsvmx
    >>> X, y = libsvmx.read_problem("data/heart_scale")
    >>> X.shape, y[:3]
    ((270, 13), array([ 1., -1.,  1.]))
    >>> X[:200].tocsr().shape
    (200, 13)
    """
    data = svmlight.read_data(os.fspath(path), lenient=lenient)
    return data.matrix, np.asarray(data.targets)


def load_model(path: FilePath) -> Model:
    """Read a model file of LIBSVM or libsvmx. Oddities that are not errors give warnings.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard input.

    Returns
    -------
    Model

    Raises
    ------
    OSError, FormatError

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> libsvmx.save_model("half.model", libsvmx.train(X, y))
    >>> libsvmx.predict(libsvmx.load_model("half.model"), [[1.0, 1.0], [-1.0, -1.0]])
    array([ 1., -1.])
    """
    return modelfile.load_model(os.fspath(path))


def save_model(path: FilePath, model: Model | Fitted) -> None:
    """Write a LIBSVM model file, atomically.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard output.
    model : Model, or fitted estimator
        With a kernel of your own, for which a file has no room, the file is a model of a precomputed kernel, and a
        UserWarning says so; pickles keep the kernel.

    Raises
    ------
    OSError
    ParameterError
        A gamma for each feature, and a feature with index 0, which dicts may have; pickles keep them.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> libsvmx.save_model("half.model", libsvmx.train(X, y))
    >>> with open("half.model") as file:
    ...     file.readline()
    'svm_type c_svc\\n'
    """
    model = model_of(model)
    modelfile.save_model(os.fspath(path), model)
    if model.own_kernel is not None:
        warn_caller(
            "the file has no kernel: what is read back is a model of a precomputed kernel, which predicts from kernel "
            "values with the training rows. Pickle the model to keep its kernel"
        )

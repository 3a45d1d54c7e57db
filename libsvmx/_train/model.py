"""A trained model: immutable arrays, with the content of LIBSVM's ``svm_model``."""

from __future__ import annotations

from _operator import index
from itertools import accumulate, combinations, pairwise

from libsvmx._core.arrays import own_arrays, take_int32
from libsvmx._core.buffers import filled
from libsvmx._core.matrix import CsrMatrix, largest_serial, serials_only
from libsvmx._core.records import fields, record
from libsvmx._train.gamma import feature_factors
from libsvmx._train.parameter import Parameter
from libsvmx._train.solve_report import SolveReport, SolveReports
from libsvmx._typing import TYPE_CHECKING, Buffer, FloatArray, IntArray
from libsvmx.enums import KernelType, SolveStatus, SvmType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from libsvmx._train.problem import Problem


@record(frozen=True, eq=False)
class Model:
    """Support vectors, coefficients and offsets of all decision functions.

    Classification of k classes has k (k-1) / 2 functions, of the pairs (0,1), (0,2), …, (k-2,k-1);
    for pair (i, j) the coefficients of the vectors of class i are in row j-1 of ``sv_coef``,
    those of class j in row i. Regression and one-class have one function and nr_class = 2.

    The fields are plain buffers, which need no NumPy; the properties are read-only ndarrays over
    the same memory.

    Attributes
    ----------
    param : Parameter
        Parameters of the training.
    nr_class : int
        Number of classes; 2 in regression and one-class.
    vectors : CsrMatrix
        Support vectors, grouped by class, n_sv rows; with a gamma for each feature, multiplied by its root, or by gamma
        itself (laplacian and chi2).
    coef : buffer of float64, shape ((nr_class - 1) * n_sv,)
    offsets : buffer of float64
        Rho of each function.
    class_labels : tuple of int, or None
        Classification only.
    class_sv : tuple of int, or None
        Number of support vectors of each class.
    sigmoid_a, sigmoid_b : buffer of float64, or None
        Probability estimates; regression has only a.
    marks : buffer of float64, shape (10,), or None
        One-class probability estimates.
    row_numbers : buffer of int32, or None
        Training row of each vector, counted from 1; unknown in a loaded model.
    columns : int, or None
        Number of features of the training rows; unknown in a loaded model.
    reports : sequence of SolveReport
        One for each function; empty in a loaded model.
    own_kernel : object or None
        Your own kernel with its support vectors, for predictions; a saved file has a model of a precomputed kernel.
    """

    param: Parameter
    nr_class: int
    vectors: CsrMatrix
    coef: Buffer
    offsets: Buffer
    class_labels: tuple[int, ...] | None = None
    class_sv: tuple[int, ...] | None = None
    sigmoid_a: Buffer | None = None
    sigmoid_b: Buffer | None = None
    marks: Buffer | None = None
    row_numbers: Buffer | None = None
    columns: int | None = None
    reports: Sequence[SolveReport] | SolveReports = ()
    own_kernel: Any = None

    def __repr__(self) -> str:
        """One line, as a notebook shows it."""
        param = self.param
        named = param.kernel_type.keyword if self.own_kernel is None else "own kernel"
        kernel = [named, *(f"{name}={getattr(param, name):g}" for name in param.kernel_type.uses)]
        kernel += [f"times {len(param.gammas)} gammas"] if param.gammas else []
        classes = "" if self.class_labels is None else f", {self.nr_class} classes"
        return f"<Model {param.svm_type.name.lower()}, {' '.join(kernel)}{classes}, {self.n_sv} support vectors>"

    @property
    def predictors(self) -> list[Any]:
        """Idle predictors, no part of the model's value, see ``libsvmx._train.prediction.predictor_of``."""
        kept: list[Any] = self.__dict__.setdefault("_predictors", [])
        return kept

    @property
    def n_features(self) -> int:
        """Number of features of the training rows: columns of an array, largest index of a file (plus 1 with an index
        0); in a loaded model that of its support vectors. With a precomputed kernel: number of training rows.
        """
        return self._needed_columns() if self.columns is None else self.columns

    def _needed_columns(self) -> int:
        if self.param.kernel_type == KernelType.PRECOMPUTED:
            return largest_serial(self.vectors)
        return self.vectors.n_columns

    @property
    def statuses(self) -> tuple[SolveStatus, ...]:
        """How the solve of each function ended; empty in a loaded model."""
        if isinstance(self.reports, SolveReports):
            return self.reports.statuses
        return tuple(report.status for report in self.reports)

    @property
    def n_sv(self) -> int:
        """Number of support vectors."""
        return self.vectors.n_rows

    @property
    def has_probability(self) -> bool:
        """Whether probability estimates can be given."""
        if self.param.svm_type.is_classification:
            return self.sigmoid_a is not None and self.sigmoid_b is not None
        return (self.sigmoid_a if self.param.svm_type.is_regression else self.marks) is not None

    @property
    def sv_coef(self) -> FloatArray:
        """Coefficients, shape (nr_class - 1, n_sv)."""
        table: FloatArray = _ndarray(self.coef).reshape(self.nr_class - 1, self.n_sv)
        return table

    @property
    def rho(self) -> FloatArray:
        """Offsets, shape (number of functions,): a decision value is sum of coef K minus rho."""
        array: FloatArray = _ndarray(self.offsets)
        return array

    @property
    def labels(self) -> IntArray | None:
        """Class labels, shape (nr_class,), in the order of the classes; None unless classification."""
        import numpy as np

        return None if self.class_labels is None else np.array(self.class_labels, dtype=np.int32)

    @property
    def sv_indices(self) -> IntArray | None:
        """Training row of each support vector, counted from 1 as in LIBSVM; None in a loaded model."""
        return None if self.row_numbers is None else _ndarray(self.row_numbers)

    @property
    def support_vectors(self) -> Any:
        """Support vectors as scipy.sparse.csr_array, shape (n_sv, n_features).

        Column j is column j of the training array and LIBSVM's index j + 1; index j in data with an index 0. With a
        precomputed kernel there is one column, the serial numbers of the vectors. Features whose gamma is 0 are 0.
        """
        import numpy as np
        from scipy.sparse import csr_array

        v = self.vectors
        width = 1 if self.param.kernel_type == KernelType.PRECOMPUTED else self.n_features
        values, columns = _ndarray(v.values), _ndarray(v.indices) - np.int32(v.first_index)
        if self.param.gammas:
            factors = feature_factors(self.param)[columns]
            values = np.divide(values, factors, out=np.zeros(len(values)), where=factors > 0)
        rows = csr_array((values, columns, _ndarray(v.indptr)), shape=(v.n_rows, width))
        if v.regular and v.first_index and not values.all():  # zeros of an array
            rows = rows.copy()
            rows.eliminate_zeros()
        return rows

    @property
    def w(self) -> FloatArray:
        """Weights of the features of a linear kernel, shape (number of functions, n_features).

        Columns as in ``support_vectors``; the decision values of a row x are w @ x - rho. Computed at each access.

        Raises
        ------
        AttributeError
            Another kernel.
        """
        import numpy as np

        if self.param.kernel_type != KernelType.LINEAR:
            raise AttributeError(f"only models of a linear kernel have w, not of {self.param.kernel_type.name}")
        beta = by_function(self.sv_coef, self.class_sv)
        w: FloatArray = np.ascontiguousarray((self.support_vectors.T @ beta.T).T)
        w.flags.writeable = False
        return w

    # ---- prediction: methods for the functions over arrays, which load NumPy ---------------------------

    def predict(self, X: Any, *, threads: int = 0) -> FloatArray:
        """Labels, targets, or +1 / -1 of one-class, as ``libsvmx.predict(model, X, threads=threads)``.

        Parameters
        ----------
        X : array, scipy sparse matrix, CsrMatrix, or sequence of rows (sequences or {index: value}), n rows
            Rows; with a precomputed kernel K(row, training row), shape (n, number of training rows).
        threads : int
            Maximum number of threads, 0 for all.

        Returns
        -------
        ndarray of float64, shape (n,)

        Raises
        ------
        ParameterError, DataError
            As ``libsvmx.predict``.

        Examples
        --------
        >>> import libsvmx
        >>> model = libsvmx.train([[0.0, 1.0], [1.0, 0.0]], [1, 2], gamma=0.5)
        >>> model.predict([[0.9, 0.2], [0.1, 0.7]])
        array([2., 1.])
        """
        found: FloatArray = _over_arrays("predict")(self, X, threads=threads)
        return found

    def decision_function(self, X: Any, *, threads: int = 0) -> FloatArray:
        """Decision values, as ``libsvmx.decision_values(model, X, threads=threads)``.

        Positive values speak for the first class of a pair, as in LIBSVM: of two classes for ``labels[0]``, where an
        estimator of scikit-learn has the other sign.

        Parameters
        ----------
        X, threads
            As in ``predict``.

        Returns
        -------
        ndarray of float64, shape (n, number of functions)
            Pairs of classes in the order (0,1), (0,2), ….

        Raises
        ------
        ParameterError, DataError
            As ``libsvmx.predict``.

        Examples
        --------
        >>> import libsvmx
        >>> model = libsvmx.train([[0.0], [1.0]], [1, 2], kernel_type="linear", C=10)
        >>> model.decision_function([[0.25]])
        array([[0.5]])
        """
        found: FloatArray = _over_arrays("decision_values")(self, X, threads=threads)
        return found

    def predict_proba(self, X: Any, *, threads: int = 0) -> FloatArray:
        """Probabilities of classes, the second part of ``libsvmx.predict_probability(model, X, threads=threads)``.

        Parameters
        ----------
        X, threads
            As in ``predict``.

        Returns
        -------
        ndarray of float64, shape (n, nr_class)
            Columns in the order of ``labels``; in one-class normal and outlier.

        Raises
        ------
        ParameterError
            Invalid number of threads.
        DataError
            Also for a model without probability estimates, and in regression.

        Examples
        --------
        >>> import libsvmx
        >>> X, y = [[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]] * 5, [1, 1, 1, 2, 2, 2] * 5
        >>> model = libsvmx.train(X, y, probability=True)
        >>> bool(model.predict_proba([[0.05]])[0, 0] > 0.9)
        True
        """
        found: FloatArray = _over_arrays("predict_probability")(self, X, threads=threads)[1]
        return found

    def __post_init__(self) -> None:
        """Copy the buffers and check all lengths: predictions rely on both. Raises ValueError, TypeError."""
        param, vectors, k = self.param, self.vectors, self.nr_class
        if not (isinstance(param, Parameter) and isinstance(vectors, CsrMatrix) and isinstance(k, int)):
            raise TypeError(f"a model needs a Parameter, an int and a CsrMatrix, not {param!r}, {k!r}, {vectors!r}")
        if not isinstance(self.reports, SolveReports):
            object.__setattr__(self, "reports", tuple(self.reports))
            if not all(isinstance(report, SolveReport) for report in self.reports):
                raise TypeError(f"reports of a model must be SolveReports, not {self.reports!r}")
        n_sv, functions = vectors.n_rows, k * (k - 1) // 2
        if self.coef is None or self.offsets is None:
            raise ValueError(f"a model needs {'coef' if self.coef is None else 'offsets'}")
        own_arrays(self, ARRAYS, ((k - 1) * n_sv, functions, functions, functions, N_MARKS, n_sv, k, k))
        if len(self.reports) not in (0, functions):
            raise ValueError(f"reports of a model has length {len(self.reports)}, {functions} would fit")
        if param.kernel_type == KernelType.PRECOMPUTED and not serials_only_in(vectors):
            raise ValueError("vectors of a precomputed kernel must be 0:serial, with serial numbers of 1 and more")
        if self.own_kernel is not None and not self._fits(self.own_kernel):
            raise TypeError(f"own_kernel of a model must be that of a model like it, not {self.own_kernel!r}")
        if self.columns is not None:
            object.__setattr__(self, "columns", index(self.columns))
            if self.columns < self._needed_columns():
                raise ValueError(f"columns of a model must be at least {self._needed_columns()}, not {self.columns}")
        if param.svm_type.is_classification:
            if self.class_labels is None or self.class_sv is None:
                raise ValueError("a classification model needs class_labels and class_sv")
            if min(self.class_sv) < 0 or sum(self.class_sv) != n_sv:
                raise ValueError(f"class_sv of a model must be >= 0 and add up to {n_sv}")
        elif k != 2 or self.class_sv is not None:
            raise ValueError("a model that does not classify has nr_class 2 and no class_sv")

    def _fits(self, own: Any) -> bool:
        """Whether ``own`` is a kernel with as many support vectors as this model has, and the model has its values."""
        given = self.param.kernel_type == KernelType.PRECOMPUTED
        return given and hasattr(own, "to_predict") and getattr(own, "n", None) == self.n_sv

    def __setstate__(self, state: object) -> None:
        raise TypeError("a model is made by its constructor alone, which checks it")

    def __reduce__(self) -> tuple[Any, ...]:
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.own_kernel is None:  # the format of earlier versions
            del state["own_kernel"]
        for name in BUFFERS:
            if state[name] is not None:
                state[name] = (state[name].format, bytes(state[name]))
        return _restore, (STATE_VERSION, state)


N_MARKS = 10
STATE_VERSION = 2
# buffers of a model, and the format of each
BUFFERS = {"coef": "d", "offsets": "d", "sigmoid_a": "d", "sigmoid_b": "d", "marks": "d", "row_numbers": "i"}
ARRAYS = {**BUFFERS, "class_labels": "", "class_sv": ""}


def places_of(sizes: Sequence[int] | IntArray | None) -> list[list[tuple[int, slice]]]:
    """For each decision function the places (row, vectors) of its coefficients in ``Model.sv_coef``.

    ``sizes``: vectors of each class; pair (i, j) has those of class i in row j - 1, those of j in row i. None: one
    function of all vectors.
    """
    if sizes is None:
        return [[(0, slice(0, None))]]
    ends = [0, *accumulate(map(int, sizes))]
    own = [slice(begin, end) for begin, end in pairwise(ends)]
    return [[(j - 1, own[i]), (i, own[j])] for i, j in combinations(range(len(own)), 2)]


def by_function(table: FloatArray, sizes: Sequence[int] | IntArray | None) -> FloatArray:
    """Coefficients of the support vectors in each decision function, shape (number of functions, n_sv).

    ``table``: as ``Model.sv_coef``; ``sizes``: as of ``places_of``.
    """
    import numpy as np

    functions = places_of(sizes)
    beta = np.zeros((len(functions), table.shape[1]))
    for own, places in zip(beta, functions, strict=True):
        for row, part in places:
            own[part] = table[row, part]
    return beta


def by_class(beta: FloatArray, sizes: Sequence[int] | None) -> FloatArray:
    """The inverse of ``by_function``: ``Model.sv_coef``, with vectors grouped by class."""
    import numpy as np

    table = np.zeros((1 if sizes is None else max(len(sizes) - 1, 0), beta.shape[1]))
    for own, places in zip(beta, places_of(sizes), strict=True):
        for row, part in places:
            table[row, part] = own[part]
    return table


def by_pair(
    model: Model, pairs: Iterable[tuple[int, int]]
) -> Iterator[tuple[tuple[slice, FloatArray], tuple[slice, FloatArray]]]:
    """For each pair of labels the vectors and coefficients of its first class, and those of its second, with the signs
    of a model in which the classes come in this order."""
    table, places, labels = model.sv_coef, places_of(model.class_sv), model.class_labels or ()
    for pair in pairs:
        at, sign = pair_place(pair, labels)
        first, second = ((part, sign * table[row, part]) for row, part in places[at][:: int(sign)])
        yield first, second


def pair_place(pair: tuple[int, int], labels: Sequence[int]) -> tuple[int, float]:
    """The index of a pair of labels among (0, 1), (0, 2), …, and its sign: -1 if the pair is reversed."""
    a, b = labels.index(pair[0]), labels.index(pair[1])
    i, j, k = min(a, b), max(a, b), len(labels)
    return i * k - i * (i + 1) // 2 + j - i - 1, 1.0 if a < b else -1.0


def tube_of(model: Model) -> float | None:
    """Half the width of the tube of a regression; None for other models, and for loaded ones of nu-SVR."""
    if model.param.svm_type == SvmType.EPSILON_SVR:
        return model.param.p
    return next((report.value for report in model.reports if report.quantity == "epsilon"), None)


def serials_only_in(vectors: CsrMatrix) -> bool:
    """Whether each row is 0:serial and nothing else."""
    n, values = vectors.n_rows, vectors.values
    return (
        len(vectors.indices) == n
        and vectors.indptr == filled("q", range(n + 1))
        and not any(vectors.indices)
        and all(map(float.is_integer, values))
        and (not n or (min(values) >= 1 and max(values) < 2**31))
    )


def _restore(version: int, state: dict[str, Any]) -> Model:
    """A model from its pickle, checked."""
    if version != STATE_VERSION:
        raise ValueError(f"this pickled model is of version {version}, not {STATE_VERSION}")
    if not isinstance(state, dict) or {*state, "own_kernel"} != {field.name for field in fields(Model)}:
        raise ValueError("this pickled model has not the fields of a model")
    buffers = {name: memoryview(state[name][1]).cast(state[name][0]) for name in BUFFERS if state[name] is not None}
    return Model(**{**state, **buffers})


def _over_arrays(name: str) -> Any:
    """A public function that takes a Model, imported on use since it belongs to a higher layer."""
    from importlib import import_module

    return getattr(import_module("libsvmx"), name)


def _ndarray(buffer: Buffer) -> Any:
    import numpy as np

    return np.asarray(buffer)


def columns_of(matrix: CsrMatrix, param: Parameter) -> int:
    """Number of features; of a precomputed kernel its number of columns without the serial numbers."""
    if param.kernel_type != KernelType.PRECOMPUTED:
        return matrix.n_columns
    return max(matrix.n_columns + matrix.first_index - 1, 0)


def vectors_of(problem: Problem, positions: Buffer, param: Parameter) -> CsrMatrix:
    """Copies of the rows at ``positions`` (buffer of int32); of a precomputed kernel only their serial numbers."""
    rows = take_int32(problem.rows, positions)
    if param.kernel_type == KernelType.PRECOMPUTED:
        cut: CsrMatrix = serials_only(problem.matrix, rows)
        return cut
    return problem.matrix.take(rows)

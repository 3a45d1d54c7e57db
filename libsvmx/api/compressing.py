"""Models with fewer support vectors, and a bound on the change of their decision values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from libsvmx._core import memory
from libsvmx._core.blas import one_blas_thread
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._core.threads import thread_count
from libsvmx._kernels.block_kernel import KernelSpec, kernel_diagonal
from libsvmx._kernels.pursuit import UNIT, Pursuit, Rounding, kernel_matrix
from libsvmx._solvers.solver import converted
from libsvmx._train.limits import control_of
from libsvmx._train.model import Model, by_class, by_function, places_of
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import Fitted, model_of, threads_of
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError, ParameterError

# Of a vector in a model file.
DIGITS = 8
# Kernels with bounded rounding for rows of any length, and LINEAR; that of LAPLACIAN and CHI2 grows with |x|.
KERNELS = (
    KernelType.RBF,
    KernelType.POLY,
    KernelType.MATERN32,
    KernelType.MATERN52,
    KernelType.RATIONAL_QUADRATIC,
    KernelType.COSINE,
    KernelType.TANIMOTO,
    KernelType.INTERSECTION,
)
TOO_LARGE = "a kernel value of the support vectors, or a sum of them, is too large for a double"


@dataclass(frozen=True, slots=True, eq=False)
class Compression:
    """A model with fewer support vectors.

    Attributes
    ----------
    model : Model
        Compressed model.
    bounds : ndarray of float64, shape (n_functions,)
        No decision value of a row x changes by more than bounds * sqrt(K(x, x)), which is bounds for kernels
        with K(x, x) = 1, such as RBF.
    n_before : int
        Support vectors of the original; ``model.n_sv`` are left.
    """

    model: Model
    bounds: FloatArray
    n_before: int


def compress(
    model: Model | Fitted, *, max_sv: int | None = None, tol: float | None = None, threads: int = 0
) -> Compression:
    """A model with fewer support vectors, with a bound on the change of any decision value of any row.

    Vectors are selected greedily: each time the one that brings the projections of all decision functions onto the kept
    vectors of their classes nearest to the originals (orthogonal least squares in the feature space of the kernel:
    Chen, Billings & Luo 1989; Vincent & Bengio, *Kernel matching pursuit*, Machine Learning 48, 2002). The bound is
    Cauchy-Schwarz on the distance in feature space, with a margin for rounding errors. A linear kernel is reduced to
    one vector for each decision function, without error.

    Parameters
    ----------
    model : Model
        Any kernel but sigmoid, precomputed, Laplacian and the two chi2; polynomial with coef0 >= 0.
    max_sv : int
        Maximum number of vectors, >= 1.
    tol : float
        Alternatively, the largest bound to reach with as few vectors as possible, >= 0.
    threads : int
        As in ``predict``; results do not depend on it.

    Returns
    -------
    Compression
        With a complete model; sigmoids of probability estimates, density marks and rho are unchanged. If no vector can
        be spared, the given model with bounds of 0.

    Raises
    ------
    ParameterError
        Both or neither of max_sv and tol, or invalid values; a kernel that is precomputed or not positive semidefinite;
        a linear model with more functions than max_sv.
    DataError
        A value too large for a double.
    TooLittleMemory
        For the kernel matrix of the support vectors and a factor of it.

    Bounds include the rounding of decision values of rows with at most ``model.n_features`` nonzeros, except that of
    the subtraction of rho where K(x, x) < 1.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> found = libsvmx.compress(libsvmx.train(X, y, gamma=0.5), max_sv=8)
    >>> found.n_before, found.model.n_sv, found.bounds.shape
    (27, 8, (1,))
    """
    model = model_of(model)
    param = model.param
    if (max_sv is None) == (tol is None):
        raise ParameterError("compress needs either max_sv or tol")
    if max_sv is not None and (max_sv := converted("max_sv", max_sv, int)) < 1:
        raise ParameterError(f"max_sv must be at least 1, not {max_sv}")
    if tol is not None and (tol := converted("tol", tol, float)) < 0:
        raise ParameterError(f"tol must be >= 0, not {tol}")
    most = thread_count(threads_of(threads))
    kernel = param.kernel_type
    negative = kernel == KernelType.POLY and param.coef0 < 0
    if kernel not in (KernelType.LINEAR, *KERNELS) or negative:
        what = f"{kernel.name} with coef0 {param.coef0:g}" if negative else kernel.name
        others = ", ".join(known.name for known in KERNELS if known != KernelType.POLY)
        raise ParameterError(f"compress takes models with kernel LINEAR, {others}, or POLY with coef0 >= 0, not {what}")
    same = Compression(model, np.zeros(len(model.offsets)), model.n_sv)
    if max_sv is not None and model.n_sv <= max_sv:
        return same
    with np.errstate(over="ignore", invalid="ignore"):  # errors are raised below
        found = collapsed(model, max_sv) if kernel == KernelType.LINEAR else fewer(model, max_sv, tol, most)
    if not np.isfinite(found.bounds).all():
        raise DataError(TOO_LARGE)
    return same if found.model.n_sv >= model.n_sv or (tol is not None and (found.bounds > tol).any()) else found


def collapsed(model: Model, max_sv: int | None) -> Compression:
    """A linear model whose vectors are the w of its functions, that of pair (i, j) a vector of class i.

    w has the digits of a model file: a saved model is the one that the bounds are of.
    """
    w, functions = model.w, len(model.offsets)
    if not np.isfinite(w).all():
        raise DataError(TOO_LARGE)
    if max_sv is not None and functions > max_sv:
        raise ParameterError(
            f"max_sv must be at least {functions}, not {max_sv}: a linear kernel has a vector for each function"
        )
    k, first = model.nr_class, model.vectors.first_index
    f, feature = np.nonzero(w)
    indptr = np.searchsorted(f, np.arange(functions + 1)).astype(np.int64)
    indices, width = (feature + first).astype(np.int32), w.shape[1]
    in_file = np.array([float(f"{value:.{DIGITS}g}") for value in w[f, feature].tolist()])
    vectors = CsrMatrix(indptr.data, indices.data, in_file.data, n_columns=width, first_index=first)
    cut = np.zeros_like(w)
    cut[f, feature] = w[f, feature] - in_file
    sizes = None if model.class_sv is None else tuple(range(k - 1, -1, -1))
    coef = by_class(np.eye(functions), sizes)
    # a component of w is off by (l + 1) u times sum |beta_i z_if|, a value by the same and m u, before and after
    lengths = np.sqrt(kernel_diagonal(model.vectors, KernelSpec(*model.param.kernel_function)))
    weights = np.abs(by_function(model.sv_coef, model.class_sv)) @ lengths
    bounds = 4 * UNIT * ((model.n_sv + model.n_features + 8) * weights + np.abs(model.rho))
    bounds += np.linalg.norm(cut, axis=1) * (1 + 4 * (w.shape[1] + 8) * UNIT)
    return Compression(with_vectors(model, vectors, coef, sizes, None), bounds, model.n_sv)


def with_vectors(
    model: Model, vectors: CsrMatrix, coef: FloatArray, sizes: tuple[int, ...] | None, row_numbers: Any
) -> Model:
    """``model`` with other vectors, without reports, which would be about the old ones."""
    flat = np.ascontiguousarray(coef).reshape(-1).data
    return replace(model, vectors=vectors, coef=flat, class_sv=sizes, row_numbers=row_numbers, reports=())


@one_blas_thread()  # sums depend on the number of threads of BLAS
def fewer(model: Model, max_sv: int | None, tol: float | None, threads: int) -> Compression:
    """Selected vectors: ``max_sv``, or until all bounds are at most ``tol``."""
    n = model.n_sv
    room = n if max_sv is None else max_sv
    selection = Selection(model, room, tol, threads)
    while selection.count < room and (best := selection.best()) is not None:
        selection.keep(best)
    kept, beta = selection.kept, selection.coefficients()
    sizes = None
    if model.class_sv is not None:
        sizes = tuple(int(kept[a:b].sum()) for a, b in pairwise(accumulate(model.class_sv, initial=0)))
    rows = np.flatnonzero(kept).astype(np.int32)
    numbers = None if model.sv_indices is None else np.ascontiguousarray(model.sv_indices[rows]).data
    after = with_vectors(model, model.vectors.take(rows.data), by_class(beta[:, kept], sizes), sizes, numbers)
    return Compression(after, np.array([selection.bound(f) for f in range(len(beta))]), n)


class Selection:
    """Selection(model, room, tol, threads): selects up to ``room`` vectors of a model, for all of its functions at
    once.

    A vector counts for the functions that its class takes part in, and for those of them alone whose bound is above
    ``tol``, for all if it is None.

    Attributes
    ----------
    kept : ndarray of bool, shape (n_sv,)
    """

    def __init__(self, model: Model, room: int, tol: float | None, threads: int):
        n, spec = model.n_sv, KernelSpec(*model.param.kernel_function)
        self.rho, self.tol, self.places = model.rho, tol, places_of(model.class_sv)
        self.members = [np.concatenate([np.arange(n)[part] for _, part in own]) for own in self.places]
        several = len(self.members) > 1
        needed = n * n + sum(len(own) * (min(room, len(own)) + several * len(own)) for own in self.members)
        memory.require(
            8.0 * needed, f"compressing {n} support vectors", "" if room < n else "; less with a small max_sv"
        )
        K = kernel_matrix(model.vectors, spec, threads, control_of(Parameter(), Observer()))
        if not np.isfinite(K).all():
            raise DataError(TOO_LARGE)
        self.rounding = Rounding(spec, model.vectors, K.diagonal(), model.n_features)
        self.pursuits = [
            Pursuit(K[np.ix_(own, own)] if several else K, beta[own], min(room, len(own)))
            for own, beta in zip(self.members, by_function(model.sv_coef, model.class_sv), strict=True)
        ]
        self.kept, self.count = np.zeros(n, dtype=bool), 0
        self.gains = np.zeros((max(model.nr_class - 1, 1), n))  # in the layout of sv_coef
        for f in range(len(self.members)):
            self.put_gains(f)

    def put_gains(self, f: int) -> None:
        """The gain of each vector for function f; 0 if f is within ``tol``."""
        own, tol = self.pursuits[f], self.tol
        near = tol is not None and own.square <= tol * tol and self.bound(f) <= tol
        gains, begin = np.zeros(len(own.beta)) if near else own.gains(), 0
        for row, part in self.places[f]:
            target = self.gains[row, part]
            target[:] = gains[begin : begin + len(target)]
            begin += len(target)

    def best(self) -> int | None:
        """The vector with the largest gain over all functions; None if all are within ``tol``, or no vector adds
        anything."""
        total = self.gains.sum(axis=0)
        place = int(np.argmax(total)) if len(total) else 0
        return place if len(total) and total[place] > 0 else None

    def keep(self, vector: int) -> None:
        self.kept[vector] = True
        self.count += 1
        for f, members in enumerate(self.members):
            place = int(np.searchsorted(members, vector))
            if place < len(members) and members[place] == vector:
                self.pursuits[f].keep(place)
                self.put_gains(f)

    def bound(self, f: int) -> float:
        """Of function f as it is with the vectors kept so far."""
        own, lengths = self.pursuits[f], self.rounding.lengths[self.members[f]]
        return self.rounding.change(own.K, own.beta, own.coefficients(), lengths, float(self.rho[f]))

    def coefficients(self) -> FloatArray:
        """Of all vectors in all functions, shape (n_functions, n_sv)."""
        beta = np.zeros((len(self.pursuits), len(self.kept)))
        for own, members, pursuit in zip(beta, self.members, self.pursuits, strict=True):
            own[members] = pursuit.coefficients()
        return beta

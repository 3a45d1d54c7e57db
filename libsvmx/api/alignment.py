"""Weights of kernels in a sum that maximize its alignment with the labels.

With centred kernel matrices K_c = (I - 11'/n) K (I - 11'/n) of n rows, Y_c the same of the matrix that is 1 where two
labels are equal, or of y y' of targets, the alignment of K is <K_c, Y_c> / (|K_c| |Y_c|) in Frobenius' inner product.
That of sum_k w_k K_k, w >= 0, is largest for

    w = v / |v|,   v = argmin v'Mv - 2 v'a  over v >= 0,   M_kl = <K_kc, K_lc>,   a_k = <K_kc, Y_c>

(Cortes, Mohri & Rostamizadeh, *Algorithms for learning kernels based on centered alignment*, Journal of Machine
Learning Research 13, 2012, section 3.2: alignf).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from libsvmx._typing import FloatArray
from libsvmx.api.arrays import numbers_of
from libsvmx.api.kernel_values import chosen_rows, n_rows_of, values_of
from libsvmx.api.own_kernel import as_kernel, prepared
from libsvmx.exceptions import DataError, ParameterError

# Rows of all kernels whose values are held at a time.
ROWS_AT_ONCE = 256
# Eigenvalues of M, of matrices of length 1, up to this one are rounding.
ROUNDING = 1e-12


def alignment_weights(kernels: Sequence[Any], X: Any, y: Any, *, regression: bool = False) -> FloatArray:
    """Weights of kernels for the ``Sum`` with the largest centred alignment with the labels or targets of some rows.

    Parameters
    ----------
    kernels : sequence of Kernel or function of (A, B)
        Symmetric; each is called for all its values once.
    X
        Rows as the kernels take them, n.
    y : array of shape (n,)
        Labels of any number of classes, or targets.
    regression : bool
        y are targets.

    Returns
    -------
    ndarray of float64, shape (len(kernels),)
        Nonnegative, of Euclidean length 1; 0 for a kernel that adds nothing.

    Raises
    ------
    ParameterError
        No kernel, or one that is not symmetric.
    DataError
        Values that are not finite; labels that are all equal; kernels without alignment with them.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> kernels = [libsvmx.Kernel.named("linear"), libsvmx.Kernel.named("poly", gamma=1.0, degree=2)]
    >>> weights = libsvmx.alignment_weights(kernels, X, y)
    >>> weights.round(2)
    array([0., 1.])
    >>> kernel = libsvmx.Sum(*(weight * kernel for weight, kernel in zip(weights, kernels)))
    >>> libsvmx.train(X, y, kernel=kernel).n_sv
    28
    """
    if not isinstance(kernels, Iterable):
        raise ParameterError(f"kernels must be a list of kernels, not {kernels!r}")
    parts = [as_kernel(kernel) for kernel in kernels]
    if not parts:
        raise ParameterError("there must be at least one kernel")
    if not all(part.symmetric for part in parts):
        raise ParameterError("alignment is of symmetric kernels, and one says that it is not")
    n = n_rows_of(X)
    targets = centred_targets(y, n, regression)
    rows, p = [prepared(part, X) for part in parts], len(parts)
    first: list[FloatArray] = []  # the first row of each matrix
    scale = np.ones(p)
    # <K_c, L_c> = <K, L> - 2 n k'l + n^2 mean(k) mean(l), k and l the means of the rows
    M, a, means = np.zeros((p, p)), np.zeros(p), np.empty((p, n))
    for begin in range(0, n, ROWS_AT_ONCE):
        block = slice(begin, min(begin + ROWS_AT_ONCE, n))
        some = range(block.start, block.stop)
        K = [values_of(part.rows, chosen_rows(own, some), own) for part, own in zip(parts, rows, strict=True)]
        # subtracting the first row and column does not change centred values, and avoids rounding of large ones
        first = first or [values[0] for values in K]
        K = [values - at - (values[:, :1] - at[0]) for values, at in zip(K, first, strict=True)]
        if begin == 0:  # squares of large values overflow, those of small ones underflow
            scale = np.array([np.exp2(-max(np.frexp(np.abs(values).max())[1], -1000)) for values in K])
        K = [values * factor for values, factor in zip(K, scale, strict=True)]
        for k, values in enumerate(K):
            means[k, block] = values.mean(axis=1)
            a[k] += np.vdot(targets[block], values @ targets)
            M[k, : k + 1] += [np.vdot(values, other) for other in K[: k + 1]]
    M = (
        np.tril(M)
        + np.tril(M, -1).T
        - 2 * n * means @ means.T
        + n**2 * np.outer(means.mean(axis=1), means.mean(axis=1))
    )
    weights = nonnegative_minimum(M, a)
    if not weights.any():
        kind = "targets" if regression else "labels"
        raise DataError(f"no kernel is aligned with the {kind}: rows are no more alike where {kind} are")
    weights *= scale / scale[weights > 0].max()
    return weights / np.linalg.norm(weights)


def centred_targets(y: Any, n: int, regression: bool) -> FloatArray:
    """T, shape (n, q), with Y_c = T T'. Raises DataError."""
    if regression:
        targets = numbers_of(y, "y").reshape(-1, 1)
    else:
        try:
            labels, codes = np.unique(np.asarray(y), return_inverse=True)
            missing = any(label != label for label in labels.tolist())
        except TypeError:  # None, or text among numbers
            missing = True
        if missing:
            raise DataError("labels must be all numbers or all text, and none may be missing")
        targets = np.eye(len(labels))[codes.reshape(-1)]
    if len(targets) != n:
        raise DataError(f"X has {n} rows, but y has {len(targets)} values")
    centred: FloatArray = targets - targets.mean(axis=0)
    if not (np.isfinite(centred).all() and centred.any()):
        raise DataError(f"{'targets' if regression else 'labels'} must be finite, and not all equal")
    return centred


def nonnegative_minimum(M: FloatArray, a: FloatArray) -> FloatArray:
    """Minimize v'Mv - 2 v'a over v >= 0, with M positive semidefinite and a in its range: |A v - b|^2 with M = A'A."""
    from scipy.optimize import nnls

    lengths = np.sqrt(np.maximum(M.diagonal(), 0.0))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    values, vectors = np.linalg.eigh(M * np.outer(scale, scale))
    kept = values > ROUNDING * values[-1]
    A = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    v, _ = nnls(A, (vectors[:, kept].T @ (a * scale)) / np.sqrt(values[kept]))
    return v * scale

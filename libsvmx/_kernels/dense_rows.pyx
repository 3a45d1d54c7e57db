"""Products with dense rows, many of few features, for which BLAS is slow; featurerows.py has the rows.

All arrays are float64 and C-contiguous.
"""

from libc.stdint cimport int64_t

import numpy as np

from libsvmx._core.dense_rows cimport SVMX_NARROW, svmx_narrow_gram, svmx_dense_transposed

# Features of narrow rows at most.
NARROW = SVMX_NARROW


def narrow_gram(const double[:, ::1] X, members, const double[::1] weights):
    """sum of weight_i x_i x_i^T, its lower triangle, shape (n, n); sum of weight_i x_i, shape (n,).

    Parameters
    ----------
    X : array, shape (m, n)      n <= NARROW
    members : buffer of int64, shape (q,), or None       rows; None for all
    weights : array, shape (q,)
    """
    cdef Py_ssize_t m = X.shape[0], n = X.shape[1], q = weights.shape[0], i
    cdef const int64_t[::1] member
    cdef const int64_t *chosen = NULL
    if not 0 < n <= SVMX_NARROW:
        raise ValueError(f"rows of {n} features")
    if members is None:
        if q != m:
            raise ValueError(f"{q} weights for {m} rows")
    else:
        member = members
        if q != member.shape[0]:
            raise ValueError(f"{q} weights for {member.shape[0]} rows")
        for i in range(q):
            if not 0 <= member[i] < m:
                raise IndexError(f"row {member[i]} of {m}")
        chosen = &member[0] if q else NULL
    outer_, sum_ = np.zeros((n, n)), np.zeros(n)
    cdef double[:, ::1] outer = outer_
    cdef double[::1] total = sum_
    if q:
        with nogil:
            svmx_narrow_gram(q, n, &X[0, 0], chosen, &weights[0], &outer[0, 0], &total[0])
    return outer_, sum_


def dense_transposed(const double[:, ::1] vectors, const double[:, ::1] X):
    """vectors X, shape (k, n), of ``vectors``, shape (k, m), and X, shape (m, n)."""
    cdef Py_ssize_t k = vectors.shape[0], m = X.shape[0], n = X.shape[1]
    if vectors.shape[1] != m:
        raise ValueError(f"vectors of {vectors.shape[1]} for {m} rows")
    out_ = np.zeros((k, n))
    cdef double[:, ::1] out = out_
    if k and m and n:
        with nogil:
            svmx_dense_transposed(m, n, &X[0, 0], k, &vectors[0, 0], &out[0, 0])
    return out_

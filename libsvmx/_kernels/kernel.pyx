"""Kernel rows without labels.

A row is K(i, .) over all rows of the problem, each value computed in double and rounded
once to float, as LIBSVM's cache holds them. Source of the numbers (panels, postings,
given matrix) and kernel function are composed; neither knows labels, C or folds.
"""

from libc.float cimport DBL_MAX as DOUBLE_MAX, FLT_MAX as FLOAT_MAX
from libc.math cimport fabs, tanh
from libc.stdint cimport int32_t, int64_t

from libsvmx._core.buffers import zeros
from libsvmx._core.lanes cimport svmx_linear_row, svmx_poly_row, svmx_powi, svmx_rbf_row, svmx_sigmoid_row
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._kernels.products cimport Products

from libsvmx._kernels.products import GivenValues, products_of
from libsvmx.exceptions import DataError


cdef class Kernel:
    """Kernel(matrix, rows, kind, degree, gamma, coef0)

    Parameters
    ----------
    matrix : CsrMatrix
    rows : buffer of int32, shape (n,)     the rows of ``matrix`` that make up the problem, in its order
    kind : int                             LIBSVM's kernel number, see libsvmx.enums.KernelType
    degree, gamma, coef0                   as in LIBSVM; unused ones are ignored

    Attributes
    ----------
    n : int
    diagonal : buffer of float64, shape (n,)      K(i, i), not rounded to float
    """

    def __cinit__(self, CsrMatrix matrix, rows, int kind, int degree, double gamma, double coef0):
        cdef const int32_t[::1] chosen = rows
        cdef Py_ssize_t i
        cdef int64_t k
        cdef double square
        self.n = chosen.shape[0]
        self.kind, self.degree, self.gamma, self.coef0 = kind, degree, gamma, coef0
        self.products = GivenValues(matrix, rows) if kind == PRECOMPUTED else products_of(matrix, rows)
        self.scratch = zeros("d", self.products.padded)
        self.squares = zeros("d", self.n)
        self.diagonal = zeros("d", self.n)
        cdef double[::1] diagonal = self.diagonal
        for i in range(self.n):
            if kind == PRECOMPUTED:
                k = matrix.ptr[chosen[i]]
                diagonal[i] = matrix.value[k + <int64_t>matrix.value[k]]
                continue
            square = 0.0
            for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
                square += matrix.value[k] * matrix.value[k]
            self.squares[i] = square
            if kind == LINEAR:
                diagonal[i] = square
            elif kind == POLY:
                diagonal[i] = svmx_powi(gamma * square + coef0, degree)
            elif kind == RBF:
                diagonal[i] = 1.0  # exp(-gamma (s + s - 2 s)), exactly
            else:
                diagonal[i] = tanh(gamma * square + coef0)
        for i in range(self.n):
            # |<x, z>| <= max |x|^2, which bounds the rows too, but for a polynomial kernel with coef0 < 0.
            # Half of what a float holds, since 2 K_ij is formed; a quarter of a double for the sum in RBF.
            if not (fabs(diagonal[i]) <= FLOAT_MAX / 2 and self.squares[i] <= DOUBLE_MAX / 4):
                raise DataError("the kernel value of the row with itself overflows: scale the data, "
                                "or choose smaller kernel parameters", chosen[i])

    cdef int fill_row(self, Py_ssize_t i, float *out) noexcept nogil:
        """K(i, .) into ``out`` (n floats)."""
        cdef double *dots = &self.scratch[0]
        self.products.fill(i, dots)
        if self.kind == RBF:
            svmx_rbf_row(self.n, dots, &self.squares[0], self.squares[i], -self.gamma, out)
        elif self.kind == POLY:
            svmx_poly_row(self.n, dots, self.gamma, self.coef0, self.degree, out)
        elif self.kind == SIGMOID:
            svmx_sigmoid_row(self.n, dots, self.gamma, self.coef0, out)
        else:
            svmx_linear_row(self.n, dots, out)
        return 0

    def row(self, Py_ssize_t i):
        """K(i, .) as a buffer of float32, shape (n,)."""
        if not 0 <= i < self.n:
            raise IndexError(f"row {i} of {self.n}")
        out = zeros("f", self.n)
        cdef float[::1] values = out
        with nogil:
            self.fill_row(i, &values[0])
        return out

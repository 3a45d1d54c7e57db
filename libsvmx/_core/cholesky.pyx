"""The Cholesky factor of a symmetric positive definite matrix whose rows come and go.

    A = L L'

* a row (a', d) joins: its row of L is (l', sqrt(d - l'l)) with L l = a; d - l'l is its Schur complement (``border``);
* row k leaves: the columns behind it absorb the column l_k by plane rotations,
  L33 L33' + l_k l_k' = A33                                   (Golub & Van Loan, 4th ed., section 6.5)

both in O(size^2). L stands column by column, so that all loops run along memory.
"""

from libc.math cimport sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove

from libsvmx._core.buffers import zeros
from libsvmx._core.dispatch cimport svmx_axpy, svmx_axpy_two, svmx_dot, svmx_dot_two, svmx_rotate


cdef class Cholesky:
    """Cholesky(room=0): of a matrix of no rows, with room for some."""

    def __cinit__(self, Py_ssize_t room=0):
        self.reserve(room)

    def __dealloc__(self):
        free(self.factor)

    cdef int reserve(self, Py_ssize_t size) except -1:
        """Make room for ``size`` rows."""
        cdef Py_ssize_t j, room
        cdef double *factor
        if size <= self.room:
            return 0
        room = max(size, self.room + self.room // 2, 8)
        work = zeros("d", room)
        factor = <double *>malloc(room * room * sizeof(double))
        if factor == NULL:
            raise MemoryError(f"a factor of {room} rows")
        for j in range(self.size):
            memcpy(factor + j * room + j, self.column(j) + j, (self.size - j) * sizeof(double))
        free(self.factor)
        self.factor, self.room, self.work = factor, room, work
        return 0

    cdef double *column(self, Py_ssize_t j) noexcept nogil:
        return self.factor + j * self.room

    cdef double border(self, double *column, double diagonal) noexcept nogil:
        """The Schur complement of a row with ``diagonal``; ``column`` (size,), its other values, becomes l."""
        self.forward(column)
        return diagonal - svmx_dot(self.size, column, column)

    cdef void append(self, const double *half, double pivot) noexcept nogil:
        """The row whose l and Schur complement ``border`` gave joins; there must be room for it."""
        cdef Py_ssize_t j, n = self.size
        for j in range(n):
            self.factor[j * self.room + n] = half[j]
        self.factor[n * self.room + n] = sqrt(pivot)
        self.size = n + 1

    cdef void remove(self, Py_ssize_t k) noexcept nogil:
        """Row k leaves; those behind it move up."""
        cdef Py_ssize_t j, n = self.size, m = n - k - 1
        cdef double *x = &self.work[0]
        cdef double *c
        cdef double r
        memcpy(x, self.column(k) + k + 1, m * sizeof(double))
        for j in range(k):
            memmove(self.column(j) + k, self.column(j) + k + 1, m * sizeof(double))
        for j in range(k, n - 1):
            # column j + 1 with its rows moved up by one, then rotated with x
            m = n - 1 - j
            c = self.column(j) + j
            memcpy(c, self.column(j + 1) + j + 1, m * sizeof(double))
            r = sqrt(c[0] * c[0] + x[j - k] * x[j - k])
            svmx_rotate(m - 1, c[0] / r, x[j - k] / r, c + 1, x + j - k + 1)
            c[0] = r
        self.size = n - 1

    def load(self, const double[::1, :] factor):
        """Become that of the matrix whose lower factor is ``factor``, shape (size, size), in Fortran order; what is
        above the diagonal is not read."""
        cdef Py_ssize_t j, n = factor.shape[0]
        self.reserve(n + 1)
        for j in range(n):
            memcpy(self.column(j) + j, &factor[j, j], (n - j) * sizeof(double))
        self.size = n

    cdef void forward(self, double *x) noexcept nogil:
        """x := L^-1 x."""
        cdef Py_ssize_t j, n = self.size
        cdef double *c
        for j in range(n):
            c = self.column(j)
            x[j] /= c[j]
            svmx_axpy(n - j - 1, -x[j], c + j + 1, x + j + 1)

    cdef void backward(self, double *x) noexcept nogil:
        """x := L'^-1 x."""
        cdef Py_ssize_t j, n = self.size
        cdef double *c
        for j in range(n - 1, -1, -1):
            c = self.column(j)
            x[j] = (x[j] - svmx_dot(n - j - 1, c + j + 1, x + j + 1)) / c[j]

    cdef void solve_two(self, double *x, double *z) noexcept nogil:
        """x := A^-1 x and z := A^-1 z, reading L once for both."""
        cdef Py_ssize_t j, n = self.size
        cdef double *c
        cdef double first, second
        for j in range(n):
            c = self.column(j)
            x[j] /= c[j]
            z[j] /= c[j]
            svmx_axpy_two(n - j - 1, -x[j], -z[j], c + j + 1, x + j + 1, z + j + 1)
        for j in range(n - 1, -1, -1):
            c = self.column(j)
            svmx_dot_two(n - j - 1, c + j + 1, x + j + 1, z + j + 1, &first, &second)
            x[j] = (x[j] - first) / c[j]
            z[j] = (z[j] - second) / c[j]

    cdef int take(self, Cholesky other) except -1 nogil:
        """Become a copy of another one, with room for a row more."""
        cdef Py_ssize_t j
        self.size = 0
        if self.room <= other.size:
            with gil:
                self.reserve(other.size + 1)
        for j in range(other.size):
            memcpy(self.column(j) + j, other.column(j) + j, (other.size - j) * sizeof(double))
        self.size = other.size
        return 0

    cdef Cholesky copy(self):
        cdef Cholesky other = Cholesky()
        other.take(self)
        return other

    # ---- for tests -----------------------------------------------------------------------------

    def add(self, column, double diagonal):
        """A row joins, ``column`` (buffer of float64, shape (size,)) being its other values; returns its Schur
        complement, and stays as it is where that is not positive."""
        cdef double[::1] half = zeros("d", self.size + 1)
        cdef Py_ssize_t k
        cdef double pivot
        for k in range(self.size):
            half[k] = column[k]
        pivot = self.border(&half[0], diagonal)
        if pivot > 0:
            self.reserve(self.size + 1)
            self.append(&half[0], pivot)
        return pivot

    def drop(self, Py_ssize_t k):
        """Row k leaves."""
        if not 0 <= k < self.size:
            raise IndexError(f"row {k} of {self.size}")
        self.remove(k)

    def solve(self, right):
        """A^-1 right: buffer of float64, shape (size,)."""
        cdef double[::1] x = zeros("d", self.size + 1), z = zeros("d", self.size + 1)
        cdef Py_ssize_t k
        for k in range(self.size):
            x[k] = z[k] = right[k]
        self.solve_two(&x[0], &z[0])
        return memoryview(x)[:self.size]

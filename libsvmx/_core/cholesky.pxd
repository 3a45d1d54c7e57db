cdef class Cholesky:
    cdef readonly Py_ssize_t size
    cdef Py_ssize_t room            # columns are so long
    cdef double *factor             # L(i, j) at factor[j * room + i], i >= j
    cdef double[::1] work
    cdef int reserve(self, Py_ssize_t size) except -1
    cdef double *column(self, Py_ssize_t j) noexcept nogil
    cdef double border(self, double *column, double diagonal) noexcept nogil
    cdef void append(self, const double *half, double pivot) noexcept nogil
    cdef void remove(self, Py_ssize_t k) noexcept nogil
    cdef void forward(self, double *x) noexcept nogil
    cdef void backward(self, double *x) noexcept nogil
    cdef void solve_two(self, double *x, double *z) noexcept nogil
    cdef int take(self, Cholesky other) except -1 nogil
    cdef Cholesky copy(self)

from libc.stdint cimport int64_t

cdef extern from "vectors.h" nogil:
    double svmx_dot(int64_t n, const double *x, const double *y) noexcept
    void svmx_dot_two(int64_t n, const double *x, const double *y, const double *z, double *xy, double *xz) noexcept
    void svmx_axpy(int64_t n, double a, const double *x, double *y) noexcept
    void svmx_axpy_two(int64_t n, double a, double b, const double *x, double *y, double *z) noexcept
    void svmx_add_rows(int64_t n, int64_t count, const double *coef, const double **rows, double *out) noexcept
    void svmx_rotate(int64_t n, double c, double s, double *column, double *x) noexcept

from libc.stdint cimport int64_t

cimport libsvmx._core.dispatch  # for svmx_loops

cdef extern from "loops.h" nogil:
    enum: SVMX_TOGETHER
    double svmx_sum "svmx_loops.sum"(int64_t n, const double *x) noexcept
    double svmx_dot "svmx_loops.dot"(int64_t n, const double *x, const double *y) noexcept
    void svmx_dot_two "svmx_loops.dot_two"(
            int64_t n, const double *x, const double *y, const double *z, double *xy, double *xz) noexcept
    void svmx_axpy "svmx_loops.axpy"(int64_t n, double a, const double *x, double *y) noexcept
    void svmx_axpy_two "svmx_loops.axpy_two"(
            int64_t n, double a, double b, const double *x, double *y, double *z) noexcept
    void svmx_add_rows "svmx_loops.add_rows"(
            int64_t n, int64_t count, const double *coef, const double **rows, double *out) noexcept
    void svmx_rotate "svmx_loops.rotate"(int64_t n, double c, double s, double *column, double *x) noexcept

from libc.stdint cimport int64_t

cdef extern from "rbf.h" nogil:
    void svmx_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, float *out) noexcept

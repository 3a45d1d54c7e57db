from libc.stdint cimport int64_t

cdef extern from "numbers.h" nogil:
    ctypedef struct svmx_numbers:
        const double *in_double
        const float *in_float
    svmx_numbers svmx_numbers_from(svmx_numbers numbers, int64_t k) noexcept

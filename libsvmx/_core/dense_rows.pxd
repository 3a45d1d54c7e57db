from libc.stdint cimport int64_t

cimport libsvmx._core.dispatch  # for svmx_loops

cdef extern from "loops.h" nogil:
    enum:
        SVMX_NARROW
        SVMX_NARROW_ROOM
    void svmx_narrow_gram "svmx_loops.narrow_gram"(
            int64_t q, int64_t n, const double *X, const int64_t *members, const double *weights, double *room,
            double *outer, double *total) noexcept

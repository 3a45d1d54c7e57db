from libc.stdint cimport int64_t

cimport libsvmx._core.dispatch  # for svmx_loops

cdef extern from "loops.h" nogil:
    ctypedef struct svmx_waiting:
        int64_t n
        int per_row
        const double *side
        const double *linear
        const double *dlinear
        const double *F
        const double *dF
        double level
        double dlevel

    double svmx_nearest "svmx_loops.nearest"(
            const svmx_waiting *w, double sharpness, double slowest, double nearest) noexcept
    int64_t svmx_fastest "svmx_loops.fastest"(
            const svmx_waiting *w, double nearest, double *speed, double *length) noexcept

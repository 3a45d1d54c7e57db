from libc.stdint cimport int64_t

cimport libsvmx._core.dispatch  # for svmx_loops

cdef extern from "loops.h" nogil:
    enum: SVMX_GAMES

    void svmx_shapley_of_products "svmx_loops.shapley_of_products"(
            int64_t n, int64_t n_nodes, const double *node, const double *weight, const double *p, const double *q,
            double *before, double *phi) noexcept

from libc.stdint cimport int32_t, int64_t

cimport libsvmx._core.dispatch  # for svmx_loops
from libsvmx._core.numbers cimport svmx_numbers

cdef extern from "loops.h" nogil:
    ctypedef struct svmx_targets:
        pass
    ctypedef struct svmx_source:
        bint close
    enum:
        SVMX_RBF_TILE
        SVMX_RBF_BLOCK
    svmx_targets svmx_rbf_targets(int64_t n_features, svmx_numbers panels, const int32_t *rows, const double *squares,
                                  double gamma) noexcept
    bint svmx_rbf_source(const svmx_targets *targets, double square, double largest, svmx_source *source) noexcept
    int64_t svmx_rbf_one "svmx_loops.rbf_one"(
            const svmx_targets *targets, int64_t begin, int64_t n, int64_t nnz, const int32_t *index,
            svmx_numbers value, svmx_source source, float *out, int32_t *doubtful) noexcept
    void svmx_rbf_block "svmx_loops.rbf_block"(
            const svmx_targets *targets, int64_t begin, int64_t n, int count, const double *rows,
            const svmx_source *sources, float **out, int64_t *n_doubtful, int32_t *doubtful) noexcept

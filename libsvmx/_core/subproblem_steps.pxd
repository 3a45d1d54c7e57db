from libc.stdint cimport int64_t

cimport libsvmx._core.dispatch  # for svmx_loops

cdef extern from "loops.h" nogil:
    enum: SVMX_LEAF_PAD

    int64_t svmx_leaf_move "svmx_loops.leaf_move"(
            int64_t n, float *V, const float *Ki, const float *Kj, float step, const float *up, float *top) noexcept
    int64_t svmx_leaf_partner "svmx_loops.leaf_partner"(
            int64_t n, const float *V, const float *low, const float *row, const float *diagonal, float own, float top,
            float *gain, float *widest) noexcept
    void svmx_add_float_rows "svmx_loops.add_float_rows"(
            int64_t n, int64_t count, const double *coef, const float **rows, int64_t begin, double *V) noexcept

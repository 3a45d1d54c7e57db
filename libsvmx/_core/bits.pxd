from libc.stdint cimport int32_t, int64_t, uint64_t

cimport libsvmx._core.dispatch  # for svmx_loops
from libsvmx._core.numbers cimport svmx_numbers

cdef extern from "loops.h" nogil:
    enum: SVMX_BIT_BLOCK
    enum: SVMX_PLANES
    enum: SVMX_TABLE

    void svmx_bit_row "svmx_loops.bit_row"(
            int64_t n_targets, int64_t n, const int32_t *feature, const uint64_t *columns, int64_t stride,
            const int32_t *offset, int32_t base, const float *table, int n_table, float *out) noexcept
    void svmx_column_words "svmx_loops.column_words"(
            int64_t n_words, int64_t n, const int32_t *feature, svmx_numbers value, const double *of_feature,
            const uint64_t *columns, int64_t stride, double *sums) noexcept

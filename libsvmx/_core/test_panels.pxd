from libc.stdint cimport int32_t, int64_t

cimport libsvmx._core.dispatch  # for svmx_loops
from libsvmx._core.numbers cimport svmx_numbers

cdef extern from "loops.h" nogil:
    enum: SVMX_TESTS
    enum: SVMX_VECTORS
    enum: SVMX_LINE

    double *svmx_aligned(double *p) noexcept

    ctypedef struct svmx_vectors:
        const int64_t *ptr
        const int32_t *index
        svmx_numbers value
        int regular

    void svmx_panel_distances "svmx_loops.panel_distances"(
            const svmx_vectors *vectors, int64_t begin, int64_t end, int64_t n_slots, const int32_t *slot_feature,
            const double *panel, const double *squares, double *out) noexcept
    void svmx_panel_products "svmx_loops.panel_products"(
            const svmx_vectors *vectors, int64_t begin, int64_t end, const int32_t *slot_of, const double *panel,
            const double *square_z, const double *square_x, double *out) noexcept
    void svmx_test_meetings "svmx_loops.test_meetings"(
            int product, const svmx_vectors *vectors, int64_t begin, int64_t end, const int32_t *slot_of,
            const double *panel, double *out) noexcept
    void svmx_panel_table "svmx_loops.panel_table"(int64_t n, const double *table, double *values) noexcept
    void svmx_weighted_sum "svmx_loops.weighted_sum"(
            int64_t n, const double *coef, const double *values, double *sum) noexcept
    void svmx_weighted_lines "svmx_loops.weighted_lines"(
            int64_t n, int64_t lines, const double *coef, int64_t stride, const double *values, double *sum) noexcept

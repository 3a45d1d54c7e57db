from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t

cimport libsvmx._core.dispatch  # for svmx_loops
from libsvmx._core.numbers cimport svmx_numbers

cdef extern from "loops.h" nogil:
    enum: SVMX_PANEL
    enum: SVMX_SOURCES

    void svmx_panel_dots "svmx_loops.panel_dots"(
            int64_t n_panels, int64_t n_features, svmx_numbers panels, int64_t nnz, const int32_t *index,
            svmx_numbers value, double *dots) noexcept
    void svmx_panel_meetings "svmx_loops.panel_meetings"(
            int product, int64_t n_panels, int64_t n_features, svmx_numbers panels, int64_t nnz, const int32_t *index,
            svmx_numbers value, double *sums) noexcept
    void svmx_postings_meetings(
            int product, int64_t n, const uint16_t *place, svmx_numbers x, double v, double *sums) noexcept
    void svmx_postings_axpy(int64_t n, const uint16_t *place, svmx_numbers x, double v, double *dots) noexcept
    void svmx_panel_row_distances "svmx_loops.panel_row_distances"(
            int64_t n_panels, int64_t n_features, const double *panels, int64_t nnz, const int32_t *place,
            const double *value, double *distances) noexcept
    void svmx_postings_distances "svmx_loops.postings_distances"(
            int64_t n, int64_t n_features, const int64_t *start, const uint16_t *place_of, const double *x, int64_t nnz,
            const int32_t *place, const double *value, double *terms, double *distances) noexcept

    void svmx_stream_dots "svmx_loops.stream_dots"(
            int64_t n, const int32_t *rows, const int64_t *ptr, const int32_t *index, svmx_numbers value,
            const double *sources, double *dots) noexcept
    void svmx_panel_block "svmx_loops.panel_block"(
            int64_t n_features, svmx_numbers panels, int64_t begin, const double *sources, int64_t stride,
            double *dots) noexcept
    void svmx_integer_dots "svmx_loops.integer_dots"(
            int64_t n_panels, int64_t n_pairs, const int16_t *panels, const int16_t *row, double *dots) noexcept
    void svmx_integer_block "svmx_loops.integer_block"(
            int64_t n_pairs, const int16_t *panel, const int16_t *sources, int64_t stride, double *dots) noexcept
    void svmx_by_source "svmx_loops.by_source"(int64_t n, const double *dots, int64_t stride, double *out) noexcept

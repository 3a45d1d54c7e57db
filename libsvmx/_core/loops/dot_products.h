/* Dot products of one row, or of SVMX_SOURCES rows at a time, with many target rows.
 *
 * For one row, a value costs the fetch of its target; a block of rows fetches each target once. Every sum runs over
 * ascending features, with each product rounded. Lanes are sources if targets are sparse, else targets.
 *
 * Also here: the other products of kernel_functions.h, and sums of small integers, exact in any order (integer_dots).
 *
 * Who calls: _kernels/products.pyx.
 */
#pragma once

#include <stdint.h>

#include "kernel_functions.h"
#include "numbers.h"

/* Rows of a dense panel: one AVX-512 pair of registers of doubles. */
#define SVMX_PANEL 16
/* Rows of a block. */
#define SVMX_SOURCES 16
/* Features of a pass of a block, so that those of a panel and of all sources, 8 KB each, stay in L1 for all groups of
 * sources. */
#define SVMX_FEATURES 64

#define SVMX_DOT_PRODUCT_LOOPS(LOOP)                                                                                      \
    LOOP(void, panel_dots,                                                                                                \
         (int64_t n_panels, int64_t n_features, svmx_numbers panels, int64_t nnz, const int32_t *index,                   \
          svmx_numbers value, double *dots))                                                                              \
    LOOP(void, panel_meetings,                                                                                            \
         (int product, int64_t n_panels, int64_t n_features, svmx_numbers panels, int64_t nnz, const int32_t *index,      \
          svmx_numbers value, double *sums))                                                                              \
    LOOP(void, panel_row_distances,                                                                                       \
         (int64_t n_panels, int64_t n_features, const double *panels, int64_t nnz, const int32_t *place,                  \
          const double *value, double *distances))                                                                        \
    LOOP(void, postings_distances,                                                                                        \
         (int64_t n, int64_t n_features, const int64_t *start, const uint16_t *place_of, const double *x, int64_t nnz,    \
          const int32_t *place, const double *value, double *terms, double *distances))                                   \
    LOOP(void, stream_dots,                                                                                               \
         (int64_t n, const int32_t *rows, const int64_t *ptr, const int32_t *index, svmx_numbers value,                   \
          const double *sources, double *dots))                                                                           \
    LOOP(void, panel_block,                                                                                               \
         (int64_t n_features, svmx_numbers panels, int64_t begin, const double *sources, int64_t stride, double *dots))   \
    LOOP(void, integer_dots,                                                                                              \
         (int64_t n_panels, int64_t n_pairs, const int16_t *panels, const int16_t *row, double *dots))                    \
    LOOP(void, integer_block,                                                                                             \
         (int64_t n_pairs, const int16_t *panel, const int16_t *sources, int64_t stride, double *dots))                   \
    LOOP(void, by_source, (int64_t n, const double *dots, int64_t stride, double *out))

/* dots[place] += v * x for all (place, x) of one feature's postings. Scattered, so not vectorised: inline. */
static inline void svmx_postings_axpy(int64_t n, const uint16_t *place, svmx_numbers x, double v, double *dots)
{
    if (x.in_float)
        for (int64_t k = 0; k < n; ++k)
            dots[place[k]] += v * x.in_float[k];
    else
        for (int64_t k = 0; k < n; ++k)
            dots[place[k]] += v * x.in_double[k];
}

/* The same of another of the products of kernel_functions.h. */
static inline void svmx_postings_meetings(int product, int64_t n, const uint16_t *place, svmx_numbers x, double v,
                                          double *sums)
{
    for (int64_t k = 0; k < n; ++k)
        sums[place[k]] += svmx_meeting(product, v, x.in_float ? (double)x.in_float[k] : x.in_double[k]);
}

/* Products with many dense rows, X of shape (m, n) in C order: sums over the rows.
 *
 * BLAS is slow for narrow matrices: with 16 to 64 features its dsyrk takes twice as long as narrow_gram (AVX-512). Sums are
 * in the order of the rows: equal bits on every CPU.
 *
 * Who calls: _kernels/feature_products.pyx.
 */
#pragma once

#include <stdint.h>

/* Largest number of features of narrow rows. */
#define SVMX_NARROW 64
/* Rows of a block that fits the L1 cache; copied, if needed, with zeros up to a multiple of SVMX_SIDE features. */
#define SVMX_CHUNK 64
/* Doubles for these copies and the sums: too many for a small stack. */
#define SVMX_NARROW_ROOM ((SVMX_CHUNK + SVMX_NARROW) * SVMX_NARROW)

#define SVMX_DENSE_ROW_LOOPS(LOOP)                                                                                        \
    LOOP(void, narrow_gram, (int64_t q, int64_t n, const double *X, const int64_t *members, const double *weights,        \
                             double *room, double *outer, double *total))

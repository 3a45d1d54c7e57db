/* Products with dense rows of few features, X of shape (m, n), n <= SVMX_NARROW, in C order.
 *
 * BLAS is made for matrices that are large both ways: of rows of 16 features its dsyrk takes twice as long. Each sum is
 * over the rows in their order: equal bits on every CPU.
 *
 * Who calls: _kernels/narrow_rows.pyx.
 */
#ifndef SVMX_NARROW_ROWS_H
#define SVMX_NARROW_ROWS_H

#include <stdint.h>

/* Features at most. Of 64, dsyrk takes as long. */
#define SVMX_NARROW 64

#define SVMX_NARROW_ROW_LOOPS(LOOP)                                                                                       \
    LOOP(void, narrow_gram, (int64_t q, int64_t n, const double *X, const int64_t *members, const double *weights,        \
                             double *outer, double *total))                                                               \
    LOOP(void, narrow_transposed, (int64_t m, int64_t n, const double *X, int64_t k, const double *vectors, double *out))

#endif

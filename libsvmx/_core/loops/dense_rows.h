/* Products with dense rows, X of shape (m, n) in C order: sums over the rows, which are many.
 *
 * BLAS is made for matrices that are large both ways. Of 16 features as of 64 its dsyrk takes twice as long as narrow_gram
 * (with AVX-512); three vectors by X take it two to three times as long as one pass over X, of 16 features as of 152. Each
 * sum is over the rows in their order: equal bits on every CPU.
 *
 * Who calls: _kernels/feature_products.pyx.
 */
#ifndef SVMX_DENSE_ROWS_H
#define SVMX_DENSE_ROWS_H

#include <stdint.h>

/* Features of narrow rows at most. */
#define SVMX_NARROW 64
/* Rows at a time, which stay in the L1 cache; copied, with zeros up to a multiple of SVMX_SIDE features, if need be. */
#define SVMX_CHUNK 64
/* Doubles for these copies and for the sums: too many for the stack of a small thread. */
#define SVMX_NARROW_ROOM ((SVMX_CHUNK + SVMX_NARROW) * SVMX_NARROW)

#define SVMX_DENSE_ROW_LOOPS(LOOP)                                                                                        \
    LOOP(void, narrow_gram, (int64_t q, int64_t n, const double *X, const int64_t *members, const double *weights,        \
                             double *room, double *outer, double *total))                                                 \
    LOOP(void, dense_transposed, (int64_t m, int64_t n, const double *X, int64_t k, const double *vectors, double *out))

#endif

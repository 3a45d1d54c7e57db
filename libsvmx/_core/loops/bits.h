/* Kernel rows of data of 0 and 1.
 *
 * Every kernel of two rows of 0 and 1 is a function of how many ones each has and how many they share: exact
 * integers, so a table of the kernel's values gives LIBSVM's bits in any order of work. Targets are kept feature by
 * feature, a bit each; the columns of the features that a row has are added up in bit planes, 512 targets at a time:
 * bit p of target k's count stands in plane p. Only the columns of the row's own ones are read.
 *
 * Who calls: _kernels/kernel_matrix.pyx for rows of 0 and 1, _kernels/products.pyx for columns of one value.
 */
#ifndef SVMX_BITS_H
#define SVMX_BITS_H

#include <stdint.h>

#include "numbers.h"

/* Targets that are counted together. */
#define SVMX_BIT_BLOCK 512
/* A row has less than 2^SVMX_PLANES ones. */
#define SVMX_PLANES 10
/* Entries that a table has at least. */
#define SVMX_TABLE 64

#define SVMX_BIT_LOOPS(LOOP)                                                                                              \
    LOOP(void, bit_row,                                                                                                   \
         (int64_t n_targets, int64_t n, const int32_t *feature, const uint64_t *columns, int64_t stride,                  \
          const int32_t *offset, int32_t base, const float *table, int n_table, float *out))                              \
    LOOP(void, column_words,                                                                                              \
         (int64_t n_words, int64_t n, const int32_t *feature, svmx_numbers value, const double *of_feature,               \
          const uint64_t *columns, int64_t stride, double *sums))

#endif

/* Kernel rows of binary data.
 *
 * Every kernel of two binary rows depends on their numbers of ones and of shared ones only: exact integers, so a table of
 * the kernel's values gives LIBSVM's bits in any order. Targets are stored as columns of bits, one per feature; the columns
 * of a row's ones are added up in bit planes, 512 targets at a time: bit p of target k's count is in plane p.
 *
 * Who calls: _kernels/kernel_matrix.pyx for binary rows, _kernels/products.pyx for columns of one value.
 */
#pragma once

#include <stdint.h>

#include "numbers.h"

/* Targets per block. */
#define SVMX_BIT_BLOCK 512
/* A row has less than 2^SVMX_PLANES ones. */
#define SVMX_PLANES 10
/* Least number of entries of a table. */
#define SVMX_TABLE 64

#define SVMX_BIT_LOOPS(LOOP)                                                                                              \
    LOOP(void, bit_row,                                                                                                   \
         (int64_t n_targets, int64_t n, const int32_t *feature, const uint64_t *columns, int64_t stride,                  \
          const int32_t *offset, int32_t base, const float *table, int n_table, float *out))                              \
    LOOP(void, column_words,                                                                                              \
         (int64_t n_words, int64_t n, const int32_t *feature, svmx_numbers value, const double *of_feature,               \
          const uint64_t *columns, int64_t stride, double *sums))

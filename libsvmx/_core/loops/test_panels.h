/* Prediction: a panel of 32 test rows meets one support vector after the other.
 *
 * Lanes are test rows, so every sum keeps LIBSVM's order and a wider vector changes no bit. A panel is stored by slots:
 * panel[s][r] is the value of one feature in row r; slot 0 is all zeros, slots 1 ... n_slots hold the features of any
 * of the rows, ascending. Values are kept by vector: values[v][r], (n, 32), of which lanes without a row are of no use.
 *
 * Who calls: _kernels/cross.pyx, and _train/decision.pyx for the weighted sums, those of a single row, too.
 */
#pragma once

#include <stdint.h>

#include "numbers.h"

/* Test rows per panel. */
#define SVMX_TESTS 32
/* Support vectors per block: its kernel values, 32 x 32 doubles, stay in the L1 cache. */
#define SVMX_VECTORS 32

/* The first multiple of a cache line from p on; panels that begin elsewhere cost 1.6 times as much on AVX-512. */
static inline double *svmx_aligned(double *p)
{
    return p + (64 - (uintptr_t)p % 64) % 64 / sizeof(double);
}
#define SVMX_LINE 8 /* doubles */

/* Support vectors: entries ptr[v] <= k < ptr[v + 1] are those of vector v, index ascending. Where they are regular, all
 * have the same features, and there are indices for one. */
typedef struct {
    const int64_t *ptr;
    const int32_t *index;
    svmx_numbers value;
    int regular;
} svmx_vectors;

#define SVMX_TEST_PANEL_LOOPS(LOOP)                                                                                       \
    LOOP(void, panel_distances,                                                                                           \
         (const svmx_vectors *vectors, int64_t begin, int64_t end, int64_t n_slots, const int32_t *slot_feature,          \
          const double *panel, const double *squares, double *out))                                                       \
    LOOP(void, panel_products,                                                                                            \
         (const svmx_vectors *vectors, int64_t begin, int64_t end, const int32_t *slot_of, const double *panel,           \
          const double *square_z, const double *square_x, double *out))                                                   \
    LOOP(void, test_meetings,                                                                                             \
         (int product, const svmx_vectors *vectors, int64_t begin, int64_t end, const int32_t *slot_of,                   \
          const double *panel, double *out))                                                                              \
    LOOP(void, panel_table, (int64_t n, const double *table, double *values))                                             \
    LOOP(void, weighted_sum, (int64_t n, const double *coef, const double *values, double *sum))                          \
    LOOP(void, weighted_lines,                                                                                            \
         (int64_t n, int64_t lines, const double *coef, int64_t stride, const double *values, double *sum))

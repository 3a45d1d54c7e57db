/* Rows of the RBF kernel; see rbf.c for why the values are LIBSVM's.
 *
 * Who calls: kernel_functions.c, and _kernels/products.pyx for rows of dense data.
 */
#ifndef SVMX_RBF_H
#define SVMX_RBF_H

#include <math.h>
#include <stdint.h>

#include "numbers.h"

#define SVMX_LOG2_E 0x1.71547652b82fep+0
/* Relative error of rbf.c's exponential: the polynomial, the rounding of t, at most 1000, at each of four steps, of e and of
 * libm's exp: (0.86 2^-40 + 4 ln2 1000 2^-53 + 8 2^-53). */
#define SVMX_EXP_ERROR (1.2 * 0x1p-40)
/* More than so far apart, too many values are in doubt, one in 90; and values that are not 0 are all of them. */
#define SVMX_CLOSE_SLACK 0x1p-31
#define SVMX_MOST_SLACK 100.0
/* Most targets of one call of rbf_row and rbf_one; and of rbf_block, whose floats of SVMX_SOURCES rows are on the stack. */
#define SVMX_RBF_TILE 256
#define SVMX_RBF_BLOCK 128
/* Features of a step over rows in place: a cache line of doubles. */
#define SVMX_STEP 8

/* Targets in panels of SVMX_PANEL (see dot_products.h), whose exponents t of 2^t = exp(-gamma |u - v|^2) are
 * of_square (|u|^2 + |v|^2) + of_dot <u, v>. ``squares`` has a value for each lane of each panel. Where ``rows`` is not NULL,
 * ``panels`` is a table of dense rows instead, of the features 1, ..., n_features - 1, at least SVMX_STEP, and
 * target j is its row rows[j], which is there for each lane, too. */
typedef struct {
    int64_t n_features;
    svmx_numbers panels;
    const int32_t *rows;
    const double *squares;
    double gamma, of_square, of_dot;
} svmx_targets;

/* A row against them: its share of t, less what rounding may add, and by which factor 2^t may then be more; ``close``: they
 * are so close that few values are in doubt. Else it is those that are not 0. */
typedef struct {
    double of_square, ratio;
    int close;
} svmx_source;

static inline svmx_targets svmx_rbf_targets(int64_t n_features, svmx_numbers panels, const int32_t *rows,
                                            const double *squares, double gamma)
{
    const svmx_targets targets = {n_features, panels, rows, squares, gamma, -gamma * SVMX_LOG2_E, 2 * gamma * SVMX_LOG2_E};
    return targets;
}

/* ``square``: |u|^2; ``largest``: the largest |v|^2. Returns 0 if all values would be in doubt.
 *
 * With u = 2^-53, s = sq_i + sq_j and n features, LIBSVM's dot product and a fused one, in whatever order, are each
 * within 1.01 n u sum |x_k z_k| <= 0.51 n u s of the true one. So the two values of sq_i + sq_j - 2 d differ by no more
 * than 2.04 n u s, and by 16 u s for the roundings of the sums and factors; times gamma. That is the relative difference
 * of the exponentials, too, as long as it is small. Else they differ by a factor of up to e^slack, as where features are not
 * scaled: nearly all distances are so large there that the value is 0 for all that. */
static inline int svmx_rbf_source(const svmx_targets *targets, double square, double largest, svmx_source *source)
{
    const double n = (double)targets->n_features, s = square + largest, gamma = targets->gamma;
    const double slack = gamma * (0x1p-53 * s * (2.1 * n + 16) + 0x1p-1070 * n); /* the last for underflow */
    const double error = SVMX_EXP_ERROR + 1.01 * slack;
    source->of_square = square * targets->of_square - error * SVMX_LOG2_E;
    source->close = slack <= SVMX_CLOSE_SLACK;
    source->ratio = source->close ? 1 + 2.01 * error : exp(2.01 * error);
    return slack <= SVMX_MOST_SLACK;
}

#define SVMX_RBF_LOOPS(LOOP)                                                                                              \
    LOOP(void, rbf_row,                                                                                                   \
         (int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, float *out))                    \
    LOOP(int64_t, rbf_one,                                                                                                \
         (const svmx_targets *targets, int64_t begin, int64_t n, int64_t nnz, const int32_t *index, svmx_numbers value,   \
          svmx_source source, float *out, int32_t *doubtful))                                                             \
    LOOP(void, rbf_block,                                                                                                 \
         (const svmx_targets *targets, int64_t begin, int64_t n, int count, const double *rows,                           \
          const svmx_source *sources, float *const *out, int64_t *n_doubtful, int32_t *doubtful))

#endif

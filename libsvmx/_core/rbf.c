/* Rows of the RBF kernel: the one place where multiplications and additions may be fused and sums be rearranged.
 *
 * That costs no bit. LIBSVM's value as a double, before it is rounded to a float, lies within a relative error of the
 * value computed here. Both ends of that interval are rounded to floats; rounding never changes an order, so where the two
 * floats are equal LIBSVM's is the same. The few others are in doubt and computed again as LIBSVM does, in its order and
 * with libm's exp. So a polynomial of degree 8 will do (one value in 20,000 is in doubt), subnormal floats need no special
 * case, and dot products of dense rows stay in registers until they are floats.
 */
#include "rbf.h"

#include "dot_products.h"

#ifdef SVMX_FMV
#include <immintrin.h>
#endif

/* 2^r for |r| <= 1/2, the best polynomial of degree 8 for the relative error, 0.86 2^-40. */
#define C0 0x1.ffffffffff7a3p-1
#define C1 0x1.62e42fef86160p-1
#define C2 0x1.ebfbdff9319d0p-3
#define C3 0x1.c6b08dd46d011p-5
#define C4 0x1.3b2ab5c52a45bp-7
#define C5 0x1.5d87483892c91p-10
#define C6 0x1.430acca1cd4a3p-13
#define C7 0x1.00dad22c7b4eep-16
#define C8 0x1.61afcff7d86c7p-20
#define SHIFTER 0x1.8p52 /* adding it leaves the nearest integer in the low bits */
#define LOG2_E 0x1.71547652b82fep+0
/* Below it all floats are 0, even times the largest ratio, e^202; above it, infinite. */
#define LEAST_EXPONENT (-1000.0)
#define MOST_EXPONENT 1000.0
/* The polynomial, the rounding of t, at most 1000, at each of four steps, of e and of libm's exp:
 * (0.86 2^-40 + 4 ln2 1000 2^-53 + 8 2^-53). */
#define EXP_ERROR (1.2 * 0x1p-40)
#define LOG2_OF_LEAST (-EXP_ERROR * 1.4427)
/* More than so far apart, too many values are in doubt, one in 90; and values that are not 0 are all of them. */
#define CLOSE_SLACK 0x1p-31
#define MOST_SLACK 100.0

#if defined(__GNUC__)
#define SVMX_JOIN(name, bytes) svmx_##name##_##bytes
#define SVMX_JOIN_VALUE(name, bytes) SVMX_JOIN(name, bytes)
#define SVMX_AT(name) SVMX_JOIN_VALUE(name, SVMX_BYTES)

#define SVMX_TARGET
#define SVMX_BYTES 16
#include "rbf_loops.h"
#undef SVMX_TARGET
#undef SVMX_BYTES
#ifdef SVMX_FMV
#define SVMX_TARGET __attribute__((target("arch=x86-64-v3")))
#define SVMX_BYTES 32
#include "rbf_loops.h"
#undef SVMX_TARGET
#undef SVMX_BYTES
#define SVMX_TARGET __attribute__((target("arch=x86-64-v4")))
#define SVMX_BYTES 64
/* p 2^k, 0 where that is too small for a double: no exponent needs to be cut off before. */
#define SVMX_SCALED(p, k) ((SVMX_AT(doubles))_mm512_scalef_pd((__m512d)(p), (__m512d)(k)))
#include "rbf_loops.h"
#endif

/* Calls the widest loop that this machine has. */
#ifdef SVMX_FMV
#define SVMX_WIDEST(name, ...)                                                                                            \
    (__builtin_cpu_supports("x86-64-v4")   ? svmx_##name##_64(__VA_ARGS__)                                                \
     : __builtin_cpu_supports("x86-64-v3") ? svmx_##name##_32(__VA_ARGS__)                                                \
                                           : svmx_##name##_16(__VA_ARGS__))
#else
#define SVMX_WIDEST(name, ...) svmx_##name##_16(__VA_ARGS__)
#endif
#else /* no vectors: libm's exp, and no rows in one pass */
#define SVMX_WIDEST(name, ...) svmx_##name(__VA_ARGS__)
static void svmx_from_dots(int64_t n, const double *dots, const double *squares, double square, double neg_gamma,
                           float *below, float *above)
{
    for (int64_t k = 0; k < n; ++k)
        below[k] = above[k] = (float)exp(neg_gamma * (square + squares[k] - 2 * dots[k]));
}
#define svmx_from_row(...) ((void)0)
#define svmx_from_block(...) ((void)0)
#endif

/* Whether there are differences. Copies ``below``. */
static SVMX_CLONES int svmx_settle(int64_t n, const float *SVMX_RESTRICT below, const float *SVMX_RESTRICT above,
                                   float *SVMX_RESTRICT out)
{
    int differ = 0;
    for (int64_t k = 0; k < n; ++k) {
        differ |= below[k] != above[k];
        out[k] = below[k];
    }
    return differ;
}

/* The same; returns how many differences there are, and their places in ``doubtful``. */
static int64_t svmx_settle_places(int64_t n, const float *below, const float *above, float *out, int32_t *doubtful)
{
    int64_t n_doubtful = 0;
    if (svmx_settle(n, below, above, out))
        for (int64_t k = 0; k < n; ++k) {
            doubtful[n_doubtful] = (int32_t)k;
            n_doubtful += below[k] != above[k];
        }
    return n_doubtful;
}

void svmx_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, float *out)
{
    float below[SVMX_RBF_TILE], above[SVMX_RBF_TILE];
    int32_t doubtful[SVMX_RBF_TILE];
    for (int64_t start = 0; start < n; start += SVMX_RBF_TILE) {
        const int64_t m = n - start < SVMX_RBF_TILE ? n - start : SVMX_RBF_TILE, full = m & -SVMX_PANEL;
        SVMX_WIDEST(from_dots, full, dots + start, sq + start, sq_i, neg_gamma, below, above);
        if (full < m) {
            double last_dots[SVMX_PANEL] = {0}, last_sq[SVMX_PANEL] = {0};
            memcpy(last_dots, dots + start + full, (size_t)(m - full) * sizeof(double));
            memcpy(last_sq, sq + start + full, (size_t)(m - full) * sizeof(double));
            SVMX_WIDEST(from_dots, SVMX_PANEL, last_dots, last_sq, sq_i, neg_gamma, below + full, above + full);
        }
        const int64_t n_doubtful = svmx_settle_places(m, below, above, out + start, doubtful);
        for (int64_t d = 0; d < n_doubtful; ++d) {
            const int64_t k = start + doubtful[d];
            out[k] = (float)exp(neg_gamma * (sq_i + sq[k] - 2 * dots[k]));
        }
    }
}

/* ---- dense rows in one pass --------------------------------------------------------------------------- */

svmx_targets svmx_rbf_targets(int64_t n_features, const double *panels, const double *squares, double gamma)
{
    const svmx_targets targets = {n_features, panels, squares, gamma, -gamma * LOG2_E, 2 * gamma * LOG2_E};
    return targets;
}

/* With u = 2^-53, s = sq_i + sq_j and n features, LIBSVM's dot product and a fused one, in whatever order, are each
 * within 1.01 n u sum |x_k z_k| <= 0.51 n u s of the true one. So the two values of sq_i + sq_j - 2 d differ by no more
 * than 2.04 n u s, and by 16 u s for the roundings of the sums and factors; times gamma. That is the relative difference
 * of the exponentials, too, as long as it is small. Else they differ by a factor of up to e^slack, as where features are not
 * scaled: nearly all distances are so large there that the value is 0 for all that. */
int svmx_rbf_source(const svmx_targets *targets, double square, double largest, svmx_source *source)
{
    const double n = (double)targets->n_features, s = square + largest, gamma = targets->gamma;
    const double slack = gamma * (0x1p-53 * s * (2.1 * n + 16) + 0x1p-1070 * n); /* the last for underflow */
    const double error = EXP_ERROR + 1.01 * slack;
    source->of_square = square * targets->of_square - error * LOG2_E;
    source->close = slack <= CLOSE_SLACK;
    source->ratio = source->close ? 1 + 2.01 * error : exp(2.01 * error);
#if defined(__GNUC__)
    return slack <= MOST_SLACK;
#else
    return 0;
#endif
}

int64_t svmx_rbf_one(const svmx_targets *targets, int64_t begin, int64_t n, int64_t nnz, const int32_t *index,
                     const double *value, svmx_source source, float *out, int32_t *doubtful)
{
    float below[SVMX_RBF_TILE], above[SVMX_RBF_TILE];
    below[0] = above[0] = 0.0f; /* the compiler does not know that n is not 0 */
    svmx_targets part = *targets;
    part.panels += begin * targets->n_features;
    part.squares += begin;
    SVMX_WIDEST(from_row, (n + SVMX_PANEL - 1) / SVMX_PANEL, &part, nnz, index, value, source, below, above);
    return svmx_settle_places(n, below, above, out, doubtful);
}

void svmx_rbf_block(const svmx_targets *targets, int64_t begin, int64_t n, int count, const double *rows,
                    const svmx_source *sources, float *const *out, int64_t *n_doubtful, int32_t *doubtful)
{
    float below[SVMX_SOURCES * SVMX_RBF_TILE], above[SVMX_SOURCES * SVMX_RBF_TILE];
    SVMX_WIDEST(from_block, begin, n, count, targets, rows, sources, below, above);
    for (int s = 0; s < count; ++s)
        n_doubtful[s] = svmx_settle_places(n, below + s * SVMX_RBF_TILE, above + s * SVMX_RBF_TILE, out[s] + begin,
                                           doubtful + s * SVMX_RBF_TILE);
}

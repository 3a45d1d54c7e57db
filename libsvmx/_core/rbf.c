/* The exponential of RBF rows, the one place where multiplications and additions may be fused.
 *
 * Fusing costs no bit: what is computed here is only believed if LIBSVM's value, which cannot be far, rounds to the same
 * float; in doubt the float is computed again as LIBSVM does, in its order and with libm's exp. It saves a third of the
 * exponential and half of the dot products.
 */
#include "rbf.h"

#include "dot_products.h"
#include "exp.h"

/* How far LIBSVM's exp(x) may be from ours. */
typedef struct {
    uint64_t ulps; /* of the exponential as a double */
    double slack;  /* of x */
} svmx_margin;

/* Whether (float)e, e = svmx_exp(x), may differ from LIBSVM's float. */
SVMX_INLINE int64_t svmx_in_doubt(double x, double e, svmx_margin margin)
{
    svmx_double d;
    d.value = e;
    /* the 29 bits that the float drops, counted from just below their middle */
    const uint64_t dropped = (d.bits - 0x10000000 + margin.ulps) & 0x1fffffff;
    int64_t doubt = dropped <= 2 * margin.ulps ? 1 : 0;
    doubt = x > -margin.slack ? 1 : doubt;
    doubt = x < SVMX_EXP_LOW ? 1 : doubt;
    return x < SVMX_EXP_ZERO - margin.slack ? 0 : doubt;
}

/* Up to SVMX_BLOCK values of a row: x, and the float of our exponential. Returns whether any is in doubt.
 * In short loops, each of which the compiler turns into vectors. */
SVMX_INLINE int64_t svmx_rbf_values(int64_t n, const double *SVMX_RESTRICT dots, const double *SVMX_RESTRICT sq,
                                    double sq_i, double neg_gamma, svmx_margin margin, double *SVMX_RESTRICT x,
                                    double *SVMX_RESTRICT e, float *SVMX_RESTRICT out)
{
    int64_t doubt = 0;
    for (int64_t k = 0; k < n; ++k)
        x[k] = neg_gamma * (sq_i + sq[k] - 2 * dots[k]);
    for (int64_t k = 0; k < n; ++k) {
        double in_range = x[k] > SVMX_EXP_LOW ? x[k] : SVMX_EXP_LOW;
        in_range = in_range < 0.0 ? in_range : 0.0;
        e[k] = svmx_exp(in_range);
    }
    for (int64_t k = 0; k < n; ++k) {
        doubt |= svmx_in_doubt(x[k], e[k], margin);
        out[k] = (float)(x[k] < SVMX_EXP_ZERO ? 0.0 : e[k]);
    }
    return doubt;
}

/* The dot products are LIBSVM's, so x is (2 d is exact), and our exp and libm's are each < 1 ulp off. */
SVMX_CLONES void svmx_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, float *out)
{
    const svmx_margin margin = {4, 0.0};
    double x[SVMX_BLOCK], e[SVMX_BLOCK];
    for (int64_t start = 0; start < n; start += SVMX_BLOCK) {
        const int64_t m = n - start < SVMX_BLOCK ? n - start : SVMX_BLOCK;
        if (svmx_rbf_values(m, dots + start, sq + start, sq_i, neg_gamma, margin, x, e, out + start))
            for (int64_t k = 0; k < m; ++k)
                if (svmx_in_doubt(x[k], e[k], margin))
                    out[start + k] = (float)exp(x[k]);
    }
}

void svmx_fused_panel_block(int64_t n_features, const double *panel, const double *sources, int64_t stride,
                            double *dots)
{
    svmx_panel_block(n_features, panel, sources, stride, dots);
}

/* With u = 2^-53, s = sq_i + sq_j and n features, LIBSVM's dot product and a fused one, in whatever order, are each
 * within 1.01 n u sum |x_k z_k| <= 0.51 n u s of the true one. So the two values of sq_i + sq_j - 2 d differ by no more
 * than 2.04 n u s, and by 4 u s for the roundings of the sum; times gamma, and twice u |x| <= 4 u gamma s more. That is
 * the relative difference of the exponentials, too, and u is at most an ulp. */
double svmx_fused_slack(double gamma, double n_features, double s)
{
    return gamma * (0x1p-53 * s * (2.1 * n_features + 16) + 0x1p-1070 * n_features); /* the last for underflow */
}

SVMX_CLONES int64_t svmx_fused_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma,
                                       double slack, float *out, int32_t *doubtful)
{
    /* 2^28 ulps and more: every value between 0 and the largest float is in doubt */
    const svmx_margin margin = {slack < 0x1p-26 ? (uint64_t)(slack * 0x1.02p53) + 8 : (uint64_t)1 << 28, slack};
    double x[SVMX_BLOCK], e[SVMX_BLOCK];
    int64_t n_doubtful = 0;
    for (int64_t start = 0; start < n; start += SVMX_BLOCK) {
        const int64_t m = n - start < SVMX_BLOCK ? n - start : SVMX_BLOCK;
        if (svmx_rbf_values(m, dots + start, sq + start, sq_i, neg_gamma, margin, x, e, out + start))
            for (int64_t k = 0; k < m; ++k)
                if (svmx_in_doubt(x[k], e[k], margin))
                    doubtful[n_doubtful++] = (int32_t)(start + k);
    }
    return n_doubtful;
}

/* The exponential of RBF rows, the one place where multiplications and additions may be fused.
 *
 * Fusing changes nothing here: 2 d is exact, so x is LIBSVM's to the last bit, and the exponential may be rounded in any
 * way as long as it stays within 1 ulp, since every float that might differ is taken from libm (svmx_exp_in_doubt).
 * It is a third of the time of a row saved.
 */
#include "rbf.h"

#include "lanes.h"

/* In short loops over a block, each of which the compiler turns into vectors. */
SVMX_CLONES void svmx_rbf_row(int64_t n, const double *SVMX_RESTRICT dots, const double *SVMX_RESTRICT sq,
                                     double sq_i, double neg_gamma, float *SVMX_RESTRICT out)
{
    double x[SVMX_BLOCK], e[SVMX_BLOCK];
    for (int64_t start = 0; start < n; start += SVMX_BLOCK) {
        const int64_t m = n - start < SVMX_BLOCK ? n - start : SVMX_BLOCK;
        const double *d = dots + start, *s = sq + start;
        float *o = out + start;
        int64_t doubt = 0;
        for (int64_t k = 0; k < m; ++k)
            x[k] = neg_gamma * (sq_i + s[k] - 2 * d[k]);
        for (int64_t k = 0; k < m; ++k) {
            double in_range = x[k] > SVMX_EXP_LOW ? x[k] : SVMX_EXP_LOW;
            in_range = in_range < 0.0 ? in_range : 0.0;
            e[k] = svmx_exp(in_range);
        }
        for (int64_t k = 0; k < m; ++k) {
            doubt |= svmx_exp_in_doubt(x[k], e[k]);
            o[k] = (float)(x[k] < SVMX_EXP_ZERO ? 0.0 : e[k]);
        }
        if (doubt)
            for (int64_t k = 0; k < m; ++k)
                if (svmx_exp_in_doubt(x[k], e[k]))
                    o[k] = (float)exp(x[k]);
    }
}

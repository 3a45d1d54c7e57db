/* Shapley values of products; see shapley.h. */
#include "simd.h"

/* phi[f][r] += its part by these nodes, for SVMX_GAMES products r and f in [0, n).
 * node, weight: n_nodes of each, over [0, 1]; p, q: IN (n, SVMX_GAMES); before: scratch of that shape; phi: IN and OUT, too.
 * Products of the features before f and after it, since one over all may have underflowed, or have a factor of 0. */
void SVMX_LOOP(shapley_of_products)(int64_t n, int64_t n_nodes, const double *node, const double *weight,
                                    const double *SVMX_RESTRICT p, const double *SVMX_RESTRICT q,
                                    double *SVMX_RESTRICT before, double *SVMX_RESTRICT phi)
{
    for (int64_t i = 0; i < n_nodes; ++i) {
        const double t = node[i];
        double product[SVMX_GAMES];
        for (int r = 0; r < SVMX_GAMES; ++r)
            product[r] = weight[i];
        for (int64_t k = 0; k < n * SVMX_GAMES; k += SVMX_GAMES) {
            for (int r = 0; r < SVMX_GAMES; ++r)
                before[k + r] = product[r];
            for (int r = 0; r < SVMX_GAMES; ++r)
                product[r] *= q[k + r] + t * (p[k + r] - q[k + r]);
        }
        for (int r = 0; r < SVMX_GAMES; ++r)
            product[r] = 1.0;
        for (int64_t k = (n - 1) * SVMX_GAMES; k >= 0; k -= SVMX_GAMES)
            for (int r = 0; r < SVMX_GAMES; ++r) {
                phi[k + r] += (p[k + r] - q[k + r]) * (before[k + r] * product[r]);
                product[r] *= q[k + r] + t * (p[k + r] - q[k + r]);
            }
    }
}

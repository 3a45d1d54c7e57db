/* Rows of the RBF kernel; see rbf.c for what makes them LIBSVM's although the code is not.
 *
 * Who calls: kernel_functions.c, _kernels/kernel.pyx for fused rows, _kernels/products.pyx for their dot products.
 */
#ifndef SVMX_RBF_H
#define SVMX_RBF_H

#include <stdint.h>

/* out[j] = (float)exp(neg_gamma * (sq_i + sq[j] - 2 dots[j])) for j in [0, n), the floats that LIBSVM rounds to. */
void svmx_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, float *out);

/* svmx_panel_block with fused multiply-add where there is one: good for svmx_fused_rbf_row only. */
void svmx_fused_panel_block(int64_t n_features, const double *panel, const double *sources, int64_t stride,
                            double *dots);

/* How far apart LIBSVM's exponent and one from fused dot products can be; s: the largest sq_i + sq[j]. */
double svmx_fused_slack(double gamma, double n_features, double s);

/* svmx_rbf_row from fused dot products. Returns how many values are in doubt, and their places in ``doubtful``. */
int64_t svmx_fused_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, double slack,
                           float *out, int32_t *doubtful);

#endif

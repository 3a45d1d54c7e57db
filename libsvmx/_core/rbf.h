#ifndef SVMX_RBF_H
#define SVMX_RBF_H

#include <stdint.h>

/* out[j] = (float)exp(neg_gamma * (sq_i + sq[j] - 2 dots[j])) for j in [0, n), the floats that LIBSVM rounds to. */
void svmx_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, float *out);

#endif

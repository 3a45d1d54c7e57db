/* Rows of the RBF kernel; see rbf.c for what makes them LIBSVM's although the code is not.
 *
 * Who calls: kernel_functions.c, and _kernels/kernel.pyx for rows of dense data.
 */
#ifndef SVMX_RBF_H
#define SVMX_RBF_H

#include <stdint.h>

/* out[j] = (float)exp(neg_gamma * (sq_i + sq[j] - 2 dots[j])) for j in [0, n), the floats that LIBSVM rounds to. */
void svmx_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, float *out);

/* Targets in panels of SVMX_PANEL (see dot_products.h), whose exponents t of 2^t = exp(-gamma |u - v|^2) are
 * of_square (|u|^2 + |v|^2) + of_dot <u, v>. ``squares`` has a value for each lane of each panel. */
typedef struct {
    int64_t n_features;
    const double *panels, *squares;
    double gamma, of_square, of_dot;
} svmx_targets;

/* A row against them: its share of t, less what rounding may add, and by which factor 2^t may then be more; ``close``: they
 * are so close that few values are in doubt. Else it is those that are not 0. */
typedef struct {
    double of_square, ratio;
    int close;
} svmx_source;

svmx_targets svmx_rbf_targets(int64_t n_features, const double *panels, const double *squares, double gamma);

/* ``square``: |u|^2; ``largest``: the largest |v|^2. Returns 0 if all values would be in doubt. */
int svmx_rbf_source(const svmx_targets *targets, double square, double largest, svmx_source *source);

/* Most targets of one call of the next two. */
#define SVMX_RBF_TILE 256

/* Floats of one row, given by its nonzeros, with the n targets from ``begin`` on, a multiple of SVMX_PANEL. Returns how
 * many are in doubt, and their places in ``doubtful``. */
int64_t svmx_rbf_one(const svmx_targets *targets, int64_t begin, int64_t n, int64_t nnz, const int32_t *index,
                     const double *value, svmx_source source, float *out, int32_t *doubtful);

/* The same of ``count`` rows, feature by feature, SVMX_SOURCES values each; row s to out[s] + begin, the places of its
 * n_doubtful[s] values in doubt at doubtful + s * SVMX_RBF_TILE. */
void svmx_rbf_block(const svmx_targets *targets, int64_t begin, int64_t n, int count, const double *rows,
                    const svmx_source *sources, float *const *out, int64_t *n_doubtful, int32_t *doubtful);

#endif

/* Row-wise computations of the interior-point method: residuals, Omega^-1, right-hand sides, directions.
 *
 * With the equations and symbols of _solvers/interior_point/block_steps.pyx:
 *
 *     r_s = y (z - rho - linear) + xi - s,   r_u = upper - alpha - u,   Omega = s/alpha + xi/u
 *     r_Omega = r_s + s + c_s - (xi/u) (r_u + u + c_u)                                  c_s = c_u = 0 for the predictor
 *
 * n is the number of rows; y, upper and linear are of shape (n,), IN. A maximum over numbers of which one is NaN is NaN.
 *
 * Who calls: _solvers/interior_point/block_steps.pyx.
 */
#pragma once

#include <stdint.h>

/* The vectors of ``values``, (SVMX_VALUES, n): the point, residuals, and three to be multiplied by X'. */
enum {
    SVMX_ALPHA,
    SVMX_U,
    SVMX_XI,
    SVMX_S,
    SVMX_Z,
    SVMX_POINT, /* vectors of a point, and of a direction */
    SVMX_R_S = SVMX_POINT,
    SVMX_R_U,
    SVMX_Y_ALPHA,
    SVMX_INVERSE, /* Omega^-1 */
    SVMX_SIGNED,  /* y Omega^-1 r_Omega of the predictor */
    SVMX_VALUES
};

/* corrections: (2, n), c_s and c_u. */
#define SVMX_INTERIOR_LOOPS(LOOP)                                                                                         \
    LOOP(void, interior_residuals, (int64_t n, const double *y, const double *upper, const double *linear, double rho,    \
                                    double *values, double *largest))                                                     \
    LOOP(void, interior_right_side, (int64_t n, const double *y, const double *values, const double *corrections,         \
                                     double *out))                                                                        \
    LOOP(double, interior_direction, (int64_t n, const double *y, const double *values, const double *corrections,        \
                                      double drho, double *direction))                                                    \
    LOOP(void, interior_corrector, (int64_t n, const double *values, const double *direction, double sigma_mu,            \
                                    double *corrections))                                                                 \
    LOOP(void, interior_move, (int64_t n, double step, const double *x, const double *d, double *out))

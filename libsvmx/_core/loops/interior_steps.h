/* Row-wise computations of the interior-point method: residuals, Omega^-1, right-hand sides, directions.
 *
 * With the equations and symbols of _solvers/interior_point/block_steps.pyx:
 *
 *     r_s = y (z - rho - linear) + xi - s,   r_u = upper - alpha - u,   Omega = s/alpha + xi/u
 *     r_Omega = r_s + s + c_s - (xi/u) (r_u + u + c_u)                                  c_s = c_u = 0 for the predictor
 *
 * A maximum over numbers of which one is NaN is NaN.
 *
 * Who calls: _solvers/interior_point/block_steps.pyx.
 */
#pragma once

#include <stdint.h>

/* Rows and their iterate; all arrays IN, shape (n,). */
typedef struct {
    int64_t n;
    const double *y;
    const double *alpha;
    const double *u;
    const double *xi;
    const double *s;
} svmx_interior_rows;

/* r_s, r_u, Omega^-1, and the correction; IN, shape (n,). c_s, c_u: NULL for 0. */
typedef struct {
    const double *r_s;
    const double *r_u;
    const double *inverse;
    const double *c_s;
    const double *c_u;
} svmx_interior_sides;

/* d_alpha, d_u, d_xi, d_s; shape (n,). */
typedef struct {
    double *alpha;
    double *u;
    double *xi;
    double *s;
} svmx_interior_direction;

#define SVMX_INTERIOR_LOOPS(LOOP)                                                                                         \
    LOOP(void, interior_residuals, (const svmx_interior_rows *at, double rho, const double *z, const double *upper,       \
                                    const double *linear, double *r_s, double *r_u, double *inverse, double *y_alpha,     \
                                    double *hinge, double *largest))                                                      \
    LOOP(void, interior_right_side, (const svmx_interior_rows *at, const svmx_interior_sides *sides, double *out))        \
    LOOP(double, interior_direction, (const svmx_interior_rows *at, const svmx_interior_sides *sides, double drho,        \
                                      const double *d_z, const svmx_interior_direction *out))                             \
    LOOP(void, interior_corrector, (const svmx_interior_rows *at, const svmx_interior_direction *d, double sigma_mu,      \
                                    double *c_s, double *c_u))                                                            \
    LOOP(void, interior_move, (int64_t n, double step, const double *x, const double *d, double *out))

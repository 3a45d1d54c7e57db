/* Loops over the rows of the interior-point method; see interior_steps.h. */
#include "simd.h"

/* 1 for NaN, to be looked for as a maximum. */
SVMX_INLINE double svmx_is_nan(double x)
{
    return x == x ? 0.0 : 1.0;
}

/* The vectors of the point of ``values``. */
#define SVMX_POINT_OF(values)                                                                                              \
    const double *alpha_of = values + SVMX_ALPHA * n, *u_of = values + SVMX_U * n, *xi_of = values + SVMX_XI * n;          \
    const double *s_of = values + SVMX_S * n

/* values: IN the point, OUT r_s, r_u, Omega^-1, y alpha and, as SVMX_SIGNED, max(0, -margin); largest: OUT, maxima of |r_u|
 * and |r_s|. */
void SVMX_LOOP(interior_residuals)(int64_t n, const double *y, const double *upper, const double *linear, double rho,
                                   double *values, double *largest)
{
    SVMX_POINT_OF(values);
    const double *z = values + SVMX_Z * n;
    double *SVMX_RESTRICT r_s = values + SVMX_R_S * n, *SVMX_RESTRICT r_u = values + SVMX_R_U * n;
    double *SVMX_RESTRICT inverse = values + SVMX_INVERSE * n, *SVMX_RESTRICT y_alpha = values + SVMX_Y_ALPHA * n;
    double *SVMX_RESTRICT hinge = values + SVMX_SIGNED * n;
    SVMX_APART(double, u_top, 0.0);
    SVMX_APART(double, s_top, 0.0);
    SVMX_APART(double, nan, 0.0);
    SVMX_ANY_ORDER(k, n, reduction(max : u_top, s_top, nan), {
        const double alpha = alpha_of[k];
        const double u = u_of[k];
        const double xi = xi_of[k];
        const double s = s_of[k];
        const double margin = y[k] * (z[k] - rho - linear[k]);
        const double of_s = margin + xi - s;
        const double of_u = upper[k] - alpha - u;
        const double strange = svmx_is_nan(of_s + of_u);
        r_s[k] = of_s;
        r_u[k] = of_u;
        inverse[k] = 1.0 / (s / alpha + xi / u);
        y_alpha[k] = y[k] * alpha;
        hinge[k] = margin < 0.0 ? -margin : 0.0;
        SVMX_OWN(u_top) = fabs(of_u) > SVMX_OWN(u_top) ? fabs(of_u) : SVMX_OWN(u_top);
        SVMX_OWN(s_top) = fabs(of_s) > SVMX_OWN(s_top) ? fabs(of_s) : SVMX_OWN(s_top);
        SVMX_OWN(nan) = strange > SVMX_OWN(nan) ? strange : SVMX_OWN(nan);
    })
    const int strange = SVMX_LARGEST(double, nan) > 0.0;
    largest[0] = strange ? NAN : SVMX_LARGEST(double, u_top);
    largest[1] = strange ? NAN : SVMX_LARGEST(double, s_top);
}

/* out: (n,), y Omega^-1 r_Omega; (xi/u) u is xi. */
void SVMX_LOOP(interior_right_side)(int64_t n, const double *y, const double *values, const double *corrections,
                                    double *SVMX_RESTRICT out)
{
    SVMX_POINT_OF(values);
    const double *r_s = values + SVMX_R_S * n, *r_u = values + SVMX_R_U * n, *inverse = values + SVMX_INVERSE * n;
    (void)alpha_of;
    for (int64_t k = 0; k < n; ++k) {
        const double ratio = xi_of[k] / u_of[k];
        const double r_omega = r_s[k] - ratio * r_u[k] + s_of[k] - xi_of[k];
        out[k] = y[k] * ((r_omega + corrections[k] - ratio * corrections[n + k]) * inverse[k]);
    }
}

/* direction: OUT (SVMX_POINT, n), all but the vector of z, by (3.13) to (3.16). Returns the maximum of -d/v over all
 * variables. */
double SVMX_LOOP(interior_direction)(int64_t n, const double *y, const double *values, const double *corrections, double drho,
                                     double *direction)
{
    SVMX_POINT_OF(values);
    const double *r_s = values + SVMX_R_S * n, *r_u = values + SVMX_R_U * n, *inverse = values + SVMX_INVERSE * n;
    const double *d_z = direction + SVMX_Z * n;
    double *SVMX_RESTRICT d_alpha = direction + SVMX_ALPHA * n, *SVMX_RESTRICT d_u = direction + SVMX_U * n;
    double *SVMX_RESTRICT d_xi = direction + SVMX_XI * n, *SVMX_RESTRICT d_s = direction + SVMX_S * n;
    SVMX_APART(double, top, -HUGE_VAL);
    SVMX_APART(double, nan, 0.0);
    SVMX_ANY_ORDER(k, n, reduction(max : top, nan), {
        const double alpha = alpha_of[k];
        const double u = u_of[k];
        const double xi = xi_of[k];
        const double s = s_of[k];
        const double of_s = s + corrections[k];
        const double of_u = u + corrections[n + k];
        const double ratio = xi / u;
        const double rbar_u = r_u[k] + of_u;
        const double to_alpha = -((y[k] * (d_z[k] - drho) + r_s[k] + of_s - ratio * rbar_u) * inverse[k]);
        const double to_xi = (to_alpha - rbar_u) * ratio;
        const double to_u = -(to_xi / ratio + of_u);
        const double to_s = -(s / alpha * to_alpha + of_s);
        const double first = -to_alpha / alpha > -to_u / u ? -to_alpha / alpha : -to_u / u;
        const double second = -to_xi / xi > -to_s / s ? -to_xi / xi : -to_s / s;
        const double most = first > second ? first : second;
        const double strange = svmx_is_nan(to_alpha + to_u + to_xi + to_s);
        d_alpha[k] = to_alpha;
        d_u[k] = to_u;
        d_xi[k] = to_xi;
        d_s[k] = to_s;
        SVMX_OWN(top) = most > SVMX_OWN(top) ? most : SVMX_OWN(top);
        SVMX_OWN(nan) = strange > SVMX_OWN(nan) ? strange : SVMX_OWN(nan);
    })
    return SVMX_LARGEST(double, nan) > 0.0 ? NAN : SVMX_LARGEST(double, top);
}

/* corrections: OUT, c_s / alpha and c_u / xi of (3.9) and (3.10). */
void SVMX_LOOP(interior_corrector)(int64_t n, const double *values, const double *direction, double sigma_mu,
                                   double *SVMX_RESTRICT corrections)
{
    const double *alpha = values + SVMX_ALPHA * n, *xi = values + SVMX_XI * n;
    const double *d_alpha = direction + SVMX_ALPHA * n, *d_u = direction + SVMX_U * n;
    const double *d_xi = direction + SVMX_XI * n, *d_s = direction + SVMX_S * n;
    for (int64_t k = 0; k < n; ++k) {
        corrections[k] = (d_s[k] * d_alpha[k] - sigma_mu) / alpha[k];
        corrections[n + k] = (d_xi[k] * d_u[k] - sigma_mu) / xi[k];
    }
}

void SVMX_LOOP(interior_move)(int64_t n, double step, const double *x, const double *d, double *SVMX_RESTRICT out)
{
    for (int64_t k = 0; k < n; ++k)
        out[k] = x[k] + step * d[k];
}

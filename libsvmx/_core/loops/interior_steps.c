/* Loops over the rows of the interior-point method; see interior_steps.h. */
#include "simd.h"

/* 1 for NaN, to be looked for as a maximum. */
SVMX_INLINE double svmx_is_nan(double x)
{
    return x == x ? 0.0 : 1.0;
}

/* r_s, r_u, Omega^-1, y alpha, max(0, -margin) and the maxima of |r_u| and |r_s|. */
void SVMX_LOOP(interior_residuals)(const svmx_interior_rows *at, double rho, const double *z, const double *upper,
                                   const double *linear, double *SVMX_RESTRICT r_s, double *SVMX_RESTRICT r_u,
                                   double *SVMX_RESTRICT inverse, double *SVMX_RESTRICT y_alpha,
                                   double *SVMX_RESTRICT hinge, double *largest)
{
    const svmx_interior_rows own = *at; /* in registers */
    SVMX_APART(double, u_top, 0.0);
    SVMX_APART(double, s_top, 0.0);
    SVMX_APART(double, nan, 0.0);
    SVMX_ANY_ORDER(k, own.n, reduction(max : u_top, s_top, nan), {
        const double alpha = own.alpha[k];
        const double u = own.u[k];
        const double xi = own.xi[k];
        const double s = own.s[k];
        const double margin = own.y[k] * (z[k] - rho - linear[k]);
        const double of_s = margin + xi - s;
        const double of_u = upper[k] - alpha - u;
        const double strange = svmx_is_nan(of_s + of_u);
        r_s[k] = of_s;
        r_u[k] = of_u;
        inverse[k] = 1.0 / (s / alpha + xi / u);
        y_alpha[k] = own.y[k] * alpha;
        hinge[k] = margin < 0.0 ? -margin : 0.0;
        SVMX_OWN(u_top) = fabs(of_u) > SVMX_OWN(u_top) ? fabs(of_u) : SVMX_OWN(u_top);
        SVMX_OWN(s_top) = fabs(of_s) > SVMX_OWN(s_top) ? fabs(of_s) : SVMX_OWN(s_top);
        SVMX_OWN(nan) = strange > SVMX_OWN(nan) ? strange : SVMX_OWN(nan);
    })
    const int strange = SVMX_LARGEST(double, nan) > 0.0;
    largest[0] = strange ? NAN : SVMX_LARGEST(double, u_top);
    largest[1] = strange ? NAN : SVMX_LARGEST(double, s_top);
}

SVMX_INLINE void svmx_right_side(const svmx_interior_rows *at, const svmx_interior_sides *sides, const int corrected,
                                 double *SVMX_RESTRICT out)
{
    const svmx_interior_rows own = *at;
    const svmx_interior_sides side = *sides;
    for (int64_t k = 0; k < own.n; ++k) {
        const double ratio = own.xi[k] / own.u[k];
        double r_omega = side.r_s[k] - ratio * side.r_u[k] + own.s[k] - own.xi[k];
        if (corrected)
            r_omega = r_omega + side.c_s[k] - ratio * side.c_u[k];
        out[k] = own.y[k] * (r_omega * side.inverse[k]);
    }
}

/* y Omega^-1 r_Omega; (xi/u) u is xi. */
void SVMX_LOOP(interior_right_side)(const svmx_interior_rows *at, const svmx_interior_sides *sides,
                                    double *SVMX_RESTRICT out)
{
    if (sides->c_s)
        svmx_right_side(at, sides, 1, out);
    else
        svmx_right_side(at, sides, 0, out);
}

SVMX_INLINE double svmx_direction(const svmx_interior_rows *at, const svmx_interior_sides *sides, const int corrected,
                                  double drho, const double *d_z, const svmx_interior_direction *out)
{
    const svmx_interior_rows own = *at;
    const svmx_interior_sides side = *sides;
    double *SVMX_RESTRICT d_alpha = out->alpha, *SVMX_RESTRICT d_u = out->u;
    double *SVMX_RESTRICT d_xi = out->xi, *SVMX_RESTRICT d_s = out->s;
    SVMX_APART(double, top, -HUGE_VAL);
    SVMX_APART(double, nan, 0.0);
    SVMX_ANY_ORDER(k, own.n, reduction(max : top, nan), {
        const double alpha = own.alpha[k];
        const double u = own.u[k];
        const double xi = own.xi[k];
        const double s = own.s[k];
        const double of_s = corrected ? s + side.c_s[k] : s;
        const double of_u = corrected ? u + side.c_u[k] : u;
        const double ratio = xi / u;
        const double rbar_u = side.r_u[k] + of_u;
        const double to_alpha =
            -((own.y[k] * (d_z[k] - drho) + side.r_s[k] + of_s - ratio * rbar_u) * side.inverse[k]);
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

/* (3.13) to (3.16); returns the maximum of -d/v over all variables. */
double SVMX_LOOP(interior_direction)(const svmx_interior_rows *at, const svmx_interior_sides *sides, double drho,
                                     const double *d_z, const svmx_interior_direction *out)
{
    return sides->c_s ? svmx_direction(at, sides, 1, drho, d_z, out) : svmx_direction(at, sides, 0, drho, d_z, out);
}

/* c_s / alpha and c_u / xi of (3.9) and (3.10). */
void SVMX_LOOP(interior_corrector)(const svmx_interior_rows *at, const svmx_interior_direction *d, double sigma_mu,
                                   double *SVMX_RESTRICT c_s, double *SVMX_RESTRICT c_u)
{
    const svmx_interior_rows own = *at;
    const svmx_interior_direction by = *d;
    for (int64_t k = 0; k < own.n; ++k) {
        c_s[k] = (by.s[k] * by.alpha[k] - sigma_mu) / own.alpha[k];
        c_u[k] = (by.xi[k] * by.u[k] - sigma_mu) / own.xi[k];
    }
}

void SVMX_LOOP(interior_move)(int64_t n, double step, const double *x, const double *d, double *SVMX_RESTRICT out)
{
    for (int64_t k = 0; k < n; ++k)
        out[k] = x[k] + step * d[k];
}

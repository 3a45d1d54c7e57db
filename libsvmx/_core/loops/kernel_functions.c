/* All kernel functions. To add one: its loop, a line in the table at the end, and a member of KernelType (enums.py).
 *
 * Loops are plain C that the compiler vectorises: lanes are different values, so no width changes a bit. What is LIBSVM's
 * keeps LIBSVM's order of operations and libm's functions.
 */
#include <float.h>

#include "exp.h"
#include "simd.h"

#define SVMX_UNIT 0x1p-53 /* u: half an ulp of 1 */

/* ---- LINEAR: K = t = <u, v>; PRECOMPUTED: K = t ------------------------------------------------------- */

static void linear_row(int64_t n, const svmx_kernel *kernel, const double *SVMX_RESTRICT dots, const double *squares,
                       double square, float *SVMX_RESTRICT out)
{
    (void)kernel, (void)squares, (void)square;
    for (int64_t k = 0; k < n; ++k)
        out[k] = (float)dots[k];
}

/* ---- POLY: K = (gamma t + coef0)^degree, t = <u, v> ------------------------------------------------------ */

/* Values that go through all multiplications together: GCC 12 keeps this many in vectors (0.13 ns a value for degree 3 on
 * AVX-512), fewer as scalars (0.8 ns), and passes over the array for each multiplication with more (0.27 ns). */
#define SVMX_POWERS 32

/* Power by squaring, in LIBSVM's order of multiplications. */
SVMX_INLINE void poly_block(const int n, const svmx_kernel *kernel, double *t)
{
    const double gamma = kernel->gamma, coef0 = kernel->coef0;
    double square[SVMX_POWERS], result[SVMX_POWERS];
    for (int k = 0; k < n; ++k) {
        square[k] = gamma * t[k] + coef0;
        result[k] = 1.0;
    }
    for (int power = kernel->degree; power > 0; power /= 2) {
        if (power % 2 == 1)
            for (int k = 0; k < n; ++k)
                result[k] *= square[k];
        for (int k = 0; k < n; ++k)
            square[k] *= square[k];
    }
    for (int k = 0; k < n; ++k)
        t[k] = result[k];
}

static void poly_values(int64_t n, const svmx_kernel *kernel, double *t)
{
    int64_t start = 0;
    for (; start + SVMX_POWERS <= n; start += SVMX_POWERS)
        poly_block(SVMX_POWERS, kernel, t + start);
    if (start < n)
        poly_block((int)(n - start), kernel, t + start);
}

/* ---- RBF: K = exp(-gamma t), t = |u - v|^2 ------------------------------------------------------------------ */

/* exp(x) is less than half of the least double, and 0, for x < -745.14; libm takes three times as long to say so. */
#define SVMX_EXP_IS_0 -746.0

static void rbf_values(int64_t n, const svmx_kernel *kernel, double *t)
{
    for (int64_t k = 0; k < n; ++k) {
        const double x = -kernel->gamma * t[k];
        t[k] = x < SVMX_EXP_IS_0 ? 0.0 : exp(x);
    }
}

static void rbf_row(int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square,
                    float *out)
{
    SVMX_LOOP(rbf_row)(n, dots, squares, square, -kernel->gamma, out);
}

/* exp(neg_gamma t), exponents below ``least`` taken as it, and above 0 as 0. */
SVMX_INLINE void rbf_clamped(int64_t n, double neg_gamma, double least, double *SVMX_RESTRICT t)
{
    for (int64_t k = 0; k < n; ++k) {
        double x = neg_gamma * t[k];
        x = x > least ? x : least;
        t[k] = x < 0.0 ? x : 0.0;
    }
    for (int64_t k = 0; k < n; ++k)
        t[k] = svmx_exp(t[k]);
}

static void rbf_doubles(int64_t n, const svmx_kernel *kernel, double *t)
{
    rbf_clamped(n, -kernel->gamma, -700.0, t);
}

static void rbf_about(int64_t n, const svmx_kernel *kernel, double *t)
{
    rbf_clamped(n, -kernel->gamma, SVMX_EXP_LOW, t);
}

/* With m terms, |u| + |v| <= R and t = |u - v|^2, first order:
 * - LIBSVM's sum of squares: each square is off by 3u, their sum by (m - 1) u, the factor by u, relatively, so gamma t
 *   by (m + 3) u gamma t. Since x exp(-x) < 1/e, K moves by less than (m + 3) u; libm adds 2u.
 * - Here: |u|^2, |v|^2 and <u, v> are off by at most m u times |u|^2, |v|^2 and |u||v|, and their combination by another
 *   3u, so gamma t by gamma (m + 3) u R^2. Clamping t at 0 only brings it nearer. K moves no more than gamma t does;
 *   svmx_exp adds 4u, clamping at exp(-87) less than u.
 * - Together at most u (m + 10) (1 + gamma R^2). */
static double rbf_about_error(double m, const svmx_kernel *kernel, double reach)
{
    if (!(kernel->gamma >= 0.0))
        return HUGE_VAL;
    return 4.0 * SVMX_UNIT * (m + 10) * (1.0 + kernel->gamma * reach * reach);
}

/* ---- SIGMOID: K = tanh(gamma t + coef0), t = <u, v> ------------------------------------------------------ */

static void sigmoid_values(int64_t n, const svmx_kernel *kernel, double *t)
{
    for (int64_t k = 0; k < n; ++k)
        t[k] = tanh(kernel->gamma * t[k] + kernel->coef0);
}

/* 1 - 2 / (exp(2 x) + 1), x = gamma t + coef0; beyond |2 x| = 60 it is +-1 to double precision. */
static void sigmoid_about(int64_t n, const svmx_kernel *kernel, double *t)
{
    const double gamma = kernel->gamma, coef0 = kernel->coef0;
    for (int64_t k = 0; k < n; ++k) {
        double x = 2.0 * (gamma * t[k] + coef0);
        x = x > -60.0 ? x : -60.0;
        t[k] = x < 60.0 ? x : 60.0;
    }
    for (int64_t k = 0; k < n; ++k)
        t[k] = 1.0 - 2.0 / (svmx_exp(t[k]) + 1.0);
}

/* <u, v> is computed as LIBSVM does, so x is the same number. libm adds 2u. 1 - 2 / (e + 1) moves by half the relative
 * error of e, 4u, and by 3 roundings; together less than 16u. An overflow on the way to x would not show in the values. */
static double sigmoid_about_error(double m, const svmx_kernel *kernel, double reach)
{
    (void)m;
    return fabs(kernel->gamma) * reach * reach + fabs(kernel->coef0) < 1e300 ? 4.0 * SVMX_UNIT * 16.0 : HUGE_VAL;
}

/* ---- what LIBSVM lacks ------------------------------------------------------------------------------------------- */

#define SVMX_FAR 700.0 /* exp(-x) of it is about 1e-304, and is what it is of all that is more */

/* exp(-x), with 1 for x < 0, and about 1e-304 for all x > 700. */
SVMX_INLINE double exp_of_minus(double x)
{
    x = x < SVMX_FAR ? x : SVMX_FAR;
    return svmx_exp(x > 0.0 ? -x : 0.0);
}

/* LAPLACIAN and CHI2: K = exp(-gamma t), t = |u - v|_1 (Rupp, Tkatchenko, Mueller, von Lilienfeld 2012), and t = the sum of
 * (u_f - v_f)^2 / (u_f + v_f) (Zhang, Marszalek, Lazebnik, Schmid 2007; there half of it). */
static void laplacian_values(int64_t n, const svmx_kernel *kernel, double *t)
{
    const double gamma = kernel->gamma;
    for (int64_t k = 0; k < n; ++k)
        t[k] = exp_of_minus(gamma * t[k]);
}

/* ADDITIVE_CHI2: K = -t, t as in CHI2. Conditionally positive definite: with coefficients whose sum is 0 it is the
 * kernel 4 sum of u_f v_f / (u_f + v_f) (Vedaldi & Zisserman 2012). */
static void minus_values(int64_t n, const svmx_kernel *kernel, double *t)
{
    (void)kernel;
    for (int64_t k = 0; k < n; ++k)
        t[k] = 0.0 - (t[k] > 0.0 ? t[k] : 0.0);
}

/* MATERN32, MATERN52 and RATIONAL_QUADRATIC (Rasmussen & Williams 2006, section 4.2.1), t = |u - v|^2. With gamma =
 * 1 / (2 length^2), as of RBF, which the first two tend to as 3/2, 5/2, 7/2, ... grows: sqrt(3) |u - v| / length =
 * sqrt(6 gamma t), sqrt(5) |u - v| / length = sqrt(10 gamma t), and with alpha = 1 of the last 1 / (1 + gamma t). */

/* t[k] = min(sqrt(factor t[k]), 700): the factor of exp(-x) must not grow where exp(-x) is clamped. */
SVMX_INLINE void scaled_distances(int64_t n, double factor, double *t)
{
    for (int64_t k = 0; k < n; ++k) {
        t[k] = sqrt(factor * t[k]);
        t[k] = t[k] < SVMX_FAR ? t[k] : SVMX_FAR;
    }
}

static void matern32_values(int64_t n, const svmx_kernel *kernel, double *t)
{
    scaled_distances(n, 6.0 * kernel->gamma, t);
    for (int64_t k = 0; k < n; ++k)
        t[k] = (1.0 + t[k]) * exp_of_minus(t[k]);
}

static void matern52_values(int64_t n, const svmx_kernel *kernel, double *t)
{
    scaled_distances(n, 10.0 * kernel->gamma, t);
    for (int64_t k = 0; k < n; ++k)
        t[k] = (1.0 + t[k] + t[k] * t[k] / 3.0) * exp_of_minus(t[k]);
}

static void rational_quadratic_values(int64_t n, const svmx_kernel *kernel, double *t)
{
    const double gamma = kernel->gamma;
    for (int64_t k = 0; k < n; ++k)
        t[k] = 1.0 / (1.0 + gamma * t[k]);
}

/* ---- the table, in the order of KernelType ----------------------------------------------------------------------- */

static const svmx_kernel_function kernel_functions[] = {
    {"LINEAR", SVMX_PRODUCT, .row = linear_row},
    {"POLY", SVMX_PRODUCT, .values = poly_values, .in_lanes = 1},
    {"RBF", SVMX_DISTANCE, .values = rbf_values, .doubles = rbf_doubles, .row = rbf_row, .one_pass = 1, .about = rbf_about,
     .about_error = rbf_about_error},
    {"SIGMOID", SVMX_PRODUCT, .values = sigmoid_values, .about = sigmoid_about, .about_error = sigmoid_about_error},
    {"PRECOMPUTED", SVMX_GIVEN, .row = linear_row},
    {"LAPLACIAN", SVMX_DISTANCE, SVMX_MINIMA, .values = laplacian_values, .in_lanes = 1},
    {"COSINE", SVMX_COSINE, .product = SVMX_DOT},     /* K = t */
    {"TANIMOTO", SVMX_TANIMOTO, .product = SVMX_DOT}, /* K = t (Ralaivola, Swamidass, Saigo, Baldi 2005) */
    {"INTERSECTION", SVMX_PRODUCT, SVMX_MINIMA, .row = linear_row}, /* K = t (Swain & Ballard 1991) */
    {"CHI2", SVMX_DISTANCE, SVMX_HARMONIC, .values = laplacian_values, .in_lanes = 1},
    {"ADDITIVE_CHI2", SVMX_DISTANCE, SVMX_HARMONIC, .values = minus_values, .in_lanes = 1},
    {"MATERN32", SVMX_DISTANCE, .values = matern32_values, .in_lanes = 1},
    {"MATERN52", SVMX_DISTANCE, .values = matern52_values, .in_lanes = 1},
    {"RATIONAL_QUADRATIC", SVMX_DISTANCE, .values = rational_quadratic_values, .in_lanes = 1},
};

/* The function of LIBSVM's number ``kind``, NULL if there is none. */
const svmx_kernel_function *SVMX_LOOP(kernel_function)(int kind)
{
    const int n = sizeof(kernel_functions) / sizeof(kernel_functions[0]);
    return kind >= 0 && kind < n ? &kernel_functions[kind] : NULL;
}

/* ---- any of them, applied to rows --------------------------------------------------------------------------------- */

/* K(t) of one number. */
double SVMX_LOOP(kernel_value)(const svmx_kernel *kernel, double t)
{
    if (kernel->function->values != NULL)
        kernel->function->values(1, kernel, &t);
    return t;
}

SVMX_INLINE double quotient(double dot, double d, double if_d_is_0)
{
    return d > 0.0 ? dot / d : if_d_is_0;
}

/* t, (n,), OUT, of products. Rounding does not make a distance negative. */
static void arguments(int64_t n, int argument, const double *SVMX_RESTRICT dots,
                      const double *SVMX_RESTRICT squares, double square, double *SVMX_RESTRICT t)
{
    if (argument == SVMX_COSINE) {
        int apart = 0; /* whether a product of squares leaves what a double holds */
        for (int64_t k = 0; k < n; ++k) {
            t[k] = square * squares[k];
            apart |= !(t[k] >= DBL_MIN && t[k] <= DBL_MAX);
        }
        for (int64_t k = 0; k < n; ++k) /* one root of u = v is |u|^2 to the bit, the product of two is not */
            t[k] = sqrt(t[k]);
        if (apart)
            for (int64_t k = 0; k < n; ++k)
                if (!(square * squares[k] >= DBL_MIN && square * squares[k] <= DBL_MAX))
                    t[k] = sqrt(square) * sqrt(squares[k]);
        for (int64_t k = 0; k < n; ++k)
            t[k] = quotient(dots[k], t[k], 0.0);
        return;
    }
    if (argument == SVMX_TANIMOTO) {
        for (int64_t k = 0; k < n; ++k)
            t[k] = quotient(dots[k], square + squares[k] - dots[k], 1.0);
        return;
    }
    if (argument != SVMX_DISTANCE) {
        memcpy(t, dots, (size_t)n * sizeof(double));
        return;
    }
    for (int64_t k = 0; k < n; ++k) {
        const double distance = square + squares[k] - 2 * dots[k];
        t[k] = distance < 0.0 ? 0.0 : distance;
    }
}

/* t, (n,), IN <u, v_k>, OUT what the function is applied to, from squares[k] = |v_k|^2 and square = |u|^2. */
void SVMX_LOOP(kernel_arguments)(int64_t n, const svmx_kernel *kernel, const double *squares, double square, double *t)
{
    double dots[SVMX_BLOCK];
    for (int64_t start = 0; start < n; start += SVMX_BLOCK) {
        const int64_t m = n - start < SVMX_BLOCK ? n - start : SVMX_BLOCK;
        memcpy(dots, t + start, (size_t)m * sizeof(double));
        arguments(m, kernel->function->argument, dots, squares + start, square, t + start);
    }
}

/* K(u, u), from square = |u|^2. */
double SVMX_LOOP(kernel_with_itself)(const svmx_kernel *kernel, double square)
{
    double t = square;
    SVMX_LOOP(kernel_arguments)(1, kernel, &square, square, &t);
    return SVMX_LOOP(kernel_value)(kernel, t);
}

/* out[k] = (float)K(u, v_k), (n,), from dots[k] = <u, v_k>, squares[k] = |v_k|^2 and square = |u|^2: LIBSVM's floats. */
void SVMX_LOOP(kernel_row)(int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square,
                           float *out)
{
    const svmx_kernel_function *function = kernel->function;
    if (function->row != NULL) {
        function->row(n, kernel, dots, squares, square, out);
        return;
    }
    double t[SVMX_BLOCK];
    for (int64_t start = 0; start < n; start += SVMX_BLOCK) {
        const int64_t m = n - start < SVMX_BLOCK ? n - start : SVMX_BLOCK;
        arguments(m, function->argument, dots + start, squares + start, square, t);
        if (function->values != NULL)
            function->values(m, kernel, t);
        linear_row(m, kernel, t, NULL, 0.0, out + start);
    }
}

/* The same of the Tanimoto kernel of rows of 0 and 1, values: (n,), IN the numbers of ones that both have, from those of each
 * row. Whole numbers below 2^24: their quotient in float is that in double, rounded. */
void SVMX_LOOP(tanimoto_row)(int64_t n, float ones, const float *SVMX_RESTRICT ones_of, float *SVMX_RESTRICT values)
{
    for (int64_t k = 0; k < n; ++k) {
        const float either = ones + ones_of[k] - values[k];
        values[k] = either > 0.0f ? values[k] / either : 1.0f;
    }
}

/* The same in double, not rounded to float: symmetric in u and v to the last bit, and exact for u = v. */
void SVMX_LOOP(kernel_doubles)(int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares,
                               double square, double *out)
{
    const svmx_kernel_function *function = kernel->function;
    arguments(n, function->argument, dots, squares, square, out);
    if (function->doubles != NULL)
        function->doubles(n, kernel, out);
    else if (function->values != NULL)
        function->values(n, kernel, out);
}

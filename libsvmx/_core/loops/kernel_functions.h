/* Kernel functions, and their application to rows of dot products.
 *
 * A kernel function is K(t) of one number: t = <u, v>, or t = |u - v|^2, or <u, v> divided by what |u|^2 and |v|^2 say.
 * Three products <u, v> = sum over features f of g(u_f, v_f) are known, each a positive semidefinite function with
 * g(0, v) = 0, so that only features that both rows have count, as in a dot product, and |u|^2 = <u, u> gives distances
 * |u|^2 + |v|^2 - 2 <u, v> that are themselves sums over features:
 *
 *     product        g(u, v)                        |u|^2              |u - v|^2
 *     dot            u v                            sum of u_f^2       sum of (u_f - v_f)^2
 *     minima         min(|u|, |v|) of equal sign    sum of |u_f|       sum of |u_f - v_f|
 *     harmonic       2 u v / (u + v)                sum of u_f         sum of (u_f - v_f)^2 / (u_f + v_f)
 *
 * All kernels are in the table of kernel_functions.c; their names and parameters in libsvmx/enums.py.
 *
 * Who calls: _kernels/kernel_matrix.pyx for rows of training, _kernels/cross.pyx for panels of prediction. All arrays are the
 * caller's, nothing is allocated, nothing fails. One call per row or panel, none per element.
 */
#pragma once

#include <float.h>
#include <stdint.h>

/* What t is. */
enum {
    SVMX_GIVEN,    /* the kernel value itself, from the data */
    SVMX_PRODUCT,  /* <u, v> */
    SVMX_DISTANCE, /* |u - v|^2 */
    SVMX_COSINE,   /* <u, v> / (|u| |v|); 0 if a row is 0 */
    SVMX_TANIMOTO  /* <u, v> / (|u|^2 + |v|^2 - <u, v>); 1 if both rows are 0 */
};

/* The product <u, v>. For binary rows each is the number of shared ones. */
enum { SVMX_DOT, SVMX_MINIMA, SVMX_HARMONIC };

/* g(u, v) of the minima, for numbers of any sign: without rounding, and |u| for u = v. */
static inline double svmx_minimum(double u, double v)
{
    const double a = u < 0.0 ? -u : u, b = u < 0.0 ? -v : v, least = a < b ? a : b;
    return least > 0.0 ? least : 0.0;
}

/* g(u, v) of the harmonic product, u, v >= 0; DBL_MIN avoids 0 / 0. */
static inline double svmx_harmonic(double u, double v)
{
    return 2.0 * (u * v) / (u + v + DBL_MIN);
}

static inline double svmx_meeting(int product, double u, double v)
{
    return product == SVMX_DOT ? u * v : product == SVMX_MINIMA ? svmx_minimum(u, v) : svmx_harmonic(u, v);
}

struct svmx_kernel_function;

/* A kernel: its function and LIBSVM's parameters; a function ignores those that it does not use. */
typedef struct {
    const struct svmx_kernel_function *function;
    int degree;
    double gamma, coef0;
} svmx_kernel;

/* In each: t, (n,), IN and OUT, becomes K(t). */
typedef struct svmx_kernel_function {
    const char *name; /* of the member of KernelType whose value is the place in the table */
    int argument;     /* what t is */
    int product;      /* of the enum above; SVMX_DOT by default */

    /* K(t) in double, in LIBSVM's order of operations; NULL if K = t. The only function that a kernel needs.
     * Distances are >= 0, up to rounding if the product is not SVMX_DOT. */
    void (*values)(int64_t n, const svmx_kernel *kernel, double *t);
    int in_lanes; /* whether ``values`` is vectorised: 32 values cost hardly more than one */

    /* The others are NULL if ``values`` is as fast. */

    /* K(t) to about 1 ulp, the same on every machine. t >= 0 if it is a distance. */
    void (*doubles)(int64_t n, const svmx_kernel *kernel, double *t);
    /* Floats of training, out: (n,): K(t) rounded once, t from dots and, for a distance, the squares |v|^2 and |u|^2. */
    void (*row)(int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square,
                float *out);
    int one_pass; /* whether rbf.c computes rows of dense data in one pass */
    /* K(t) for signs of decision values, |K| <= 1; rounding may have put a distance below 0. */
    void (*about)(int64_t n, const svmx_kernel *kernel, double *t);
    /* Bound of |``about`` - ``values``|, t from dot products of up to n terms, |u| + |v| <= reach; infinite for none.
     * In the first order of 2^-53, times four. */
    double (*about_error)(double n, const svmx_kernel *kernel, double reach);
} svmx_kernel_function;

#define SVMX_KERNEL_LOOPS(LOOP)                                                                                           \
    LOOP(const svmx_kernel_function *, kernel_function, (int kind))                                                       \
    LOOP(double, kernel_value, (const svmx_kernel *kernel, double t))                                                     \
    LOOP(double, kernel_with_itself, (const svmx_kernel *kernel, double square))                                          \
    LOOP(void, kernel_arguments,                                                                                          \
         (int64_t n, const svmx_kernel *kernel, const double *squares, double square, double *t))                         \
    LOOP(void, tanimoto_row, (int64_t n, float ones, const float *ones_of, float *values))                                \
    LOOP(void, kernel_row,                                                                                                \
         (int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square, float *out))    \
    LOOP(void, kernel_doubles,                                                                                            \
         (int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square, double *out))

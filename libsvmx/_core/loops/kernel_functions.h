/* What every kernel function has, and how it is applied to rows of dot products.
 *
 * A kernel function is K(t) of one number: t = <u, v>, or t = |u - v|^2. It stands in one place, the table in
 * kernel_functions.c; its name and parameters for the user in libsvmx/enums.py. Nothing else knows how many there are.
 *
 * Who calls: _kernels/kernel_matrix.pyx for rows of training, _kernels/cross.pyx for panels of prediction. All arrays are the
 * caller's, nothing is allocated, nothing fails. One call for a row or for a panel, none for an element.
 */
#ifndef SVMX_KERNEL_FUNCTIONS_H
#define SVMX_KERNEL_FUNCTIONS_H

#include <stdint.h>

/* What t is. */
enum {
    SVMX_GIVEN,   /* the kernel value itself, which came with the data */
    SVMX_PRODUCT, /* <u, v> */
    SVMX_DISTANCE /* |u - v|^2 */
};

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

    /* K(t) in double, in LIBSVM's order of operations. This one is all that a kernel needs; NULL if K = t. */
    void (*values)(int64_t n, const svmx_kernel *kernel, double *t);
    int in_lanes; /* whether it is vectorised, so that 32 values cost hardly more than one */

    /* The rest is NULL where there is nothing faster than ``values``; ``row`` is there if that is NULL. */

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
    LOOP(void, kernel_row,                                                                                                \
         (int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square, float *out))    \
    LOOP(void, kernel_doubles,                                                                                            \
         (int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square, double *out))

#endif

/* Vectors of doubles: sums, dot products, sums of rows, plane rotations.
 *
 * n is the length of each vector, IN but where vectors.c says so; y, z, out, column are IN and OUT. Orders of summation
 * are fixed: equal bits on every CPU.
 *
 * Who calls: cholesky.pyx, _solvers/path, _solvers/smo/warm.pyx, _solvers/decomposition, _solvers/interior_point.
 */
#pragma once

#include <stdint.h>

/* Rows that are added with one load and one store of ``out``. */
#define SVMX_TOGETHER 8

#define SVMX_VECTOR_LOOPS(LOOP)                                                                                           \
    LOOP(double, sum, (int64_t n, const double *x))                                                                       \
    LOOP(double, dot, (int64_t n, const double *x, const double *y))                                                      \
    LOOP(void, dot_two, (int64_t n, const double *x, const double *y, const double *z, double *xy, double *xz))           \
    LOOP(void, axpy, (int64_t n, double a, const double *x, double *y))                                                   \
    LOOP(void, axpy_two, (int64_t n, double a, double b, const double *x, double *y, double *z))                          \
    LOOP(void, add_rows,                                                                                                  \
         (int64_t n, int64_t count, const double *coef, const double *const *rows, int64_t begin, double *out))           \
    LOOP(void, add_float_rows,                                                                                            \
         (int64_t n, int64_t count, const double *coef, const float *const *rows, int64_t begin, double *out))            \
    LOOP(void, rotate, (int64_t n, double c, double s, double *column, double *x))

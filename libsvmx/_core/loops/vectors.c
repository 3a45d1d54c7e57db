/* Loops over vectors of doubles; see vectors.h. */
#include "simd.h"

/* Doubles of ``out`` that stay in the L1 cache while all rows go by. */
#define SVMX_STRETCH 1024

/* Sums of a dot product that are kept apart, in vectors, since GCC 12 keeps an array of doubles in memory (4 times slower),
 * and added in a fixed tree at the end. */
#define SVMX_SUMS 16
#define SVMX_PARTS (SVMX_SUMS / SVMX_WIDTH)

SVMX_INLINE void svmx_clear(svmx_doubles *sum)
{
    SVMX_UNROLL
    for (int r = 0; r < SVMX_PARTS; ++r)
        sum[r] = (svmx_doubles){0};
}

SVMX_INLINE void svmx_add_products(svmx_doubles *sum, const double *x, const double *y)
{
    SVMX_UNROLL
    for (int r = 0; r < SVMX_PARTS; ++r)
        sum[r] += SVMX_DOUBLES(x + r * SVMX_WIDTH) * SVMX_DOUBLES(y + r * SVMX_WIDTH);
}

SVMX_INLINE double svmx_folded(const svmx_doubles *sum)
{
    double lanes[SVMX_SUMS];
    SVMX_UNROLL
    for (int r = 0; r < SVMX_PARTS; ++r)
        SVMX_STORE(lanes + r * SVMX_WIDTH, sum[r]);
    for (int half = SVMX_SUMS / 2; half > 0; half /= 2)
        for (int r = 0; r < half; ++r)
            lanes[r] += lanes[r + half];
    return lanes[0];
}

double SVMX_LOOP(sum)(int64_t n, const double *x)
{
    svmx_doubles a[SVMX_PARTS];
    double rest = 0.0;
    int64_t k = 0;
    svmx_clear(a);
    for (; k + SVMX_SUMS <= n; k += SVMX_SUMS) {
        SVMX_UNROLL
        for (int r = 0; r < SVMX_PARTS; ++r)
            a[r] += SVMX_DOUBLES(x + k + r * SVMX_WIDTH);
    }
    for (; k < n; ++k)
        rest += x[k];
    return rest + svmx_folded(a);
}

double SVMX_LOOP(dot)(int64_t n, const double *x, const double *y)
{
    svmx_doubles a[SVMX_PARTS];
    double rest = 0.0;
    int64_t k = 0;
    svmx_clear(a);
    for (; k + SVMX_SUMS <= n; k += SVMX_SUMS)
        svmx_add_products(a, x + k, y + k);
    for (; k < n; ++k)
        rest += x[k] * y[k];
    return rest + svmx_folded(a);
}

/* Two dot products with the same x: a column of the factor is read once for both right-hand sides. */
void SVMX_LOOP(dot_two)(int64_t n, const double *x, const double *y, const double *z, double *xy, double *xz)
{
    svmx_doubles a[SVMX_PARTS], b[SVMX_PARTS];
    double rest_y = 0.0, rest_z = 0.0;
    int64_t k = 0;
    svmx_clear(a);
    svmx_clear(b);
    for (; k + SVMX_SUMS <= n; k += SVMX_SUMS) {
        svmx_add_products(a, x + k, y + k);
        svmx_add_products(b, x + k, z + k);
    }
    for (; k < n; ++k) {
        rest_y += x[k] * y[k];
        rest_z += x[k] * z[k];
    }
    *xy = rest_y + svmx_folded(a);
    *xz = rest_z + svmx_folded(b);
}

void SVMX_LOOP(axpy)(int64_t n, double a, const double *SVMX_RESTRICT x, double *SVMX_RESTRICT y)
{
    for (int64_t k = 0; k < n; ++k)
        y[k] += a * x[k];
}

void SVMX_LOOP(axpy_two)(int64_t n, double a, double b, const double *SVMX_RESTRICT x,
                         double *SVMX_RESTRICT y, double *SVMX_RESTRICT z)
{
    for (int64_t k = 0; k < n; ++k) {
        y[k] += a * x[k];
        z[k] += b * x[k];
    }
}

/* NAME: out[k] += sum over r of coef[r] * rows[r][begin + k], rows of ``real``, in the order of r by groups of
 * SVMX_TOGETHER; eight_of_NAME: of one group. */
#define SVMX_ADD_ROWS(NAME, real)                                                                                         \
    SVMX_INLINE void svmx_eight_of_##NAME(int64_t n, const double *c, const real *const *rows, int64_t begin,             \
                                          double *SVMX_RESTRICT out)                                                      \
    {                                                                                                                     \
        const real *x0 = rows[0] + begin, *x1 = rows[1] + begin, *x2 = rows[2] + begin, *x3 = rows[3] + begin;            \
        const real *x4 = rows[4] + begin, *x5 = rows[5] + begin, *x6 = rows[6] + begin, *x7 = rows[7] + begin;            \
        const double c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], c4 = c[4], c5 = c[5], c6 = c[6], c7 = c[7];              \
        for (int64_t k = 0; k < n; ++k)                                                                                   \
            out[k] += ((c0 * x0[k] + c1 * x1[k]) + (c2 * x2[k] + c3 * x3[k]))                                             \
                      + ((c4 * x4[k] + c5 * x5[k]) + (c6 * x6[k] + c7 * x7[k]));                                          \
    }                                                                                                                     \
                                                                                                                          \
    void SVMX_LOOP(NAME)(int64_t n, int64_t count, const double *coef, const real *const *rows, int64_t begin,            \
                         double *SVMX_RESTRICT out)                                                                       \
    {                                                                                                                     \
        for (int64_t from = 0; from < n; from += SVMX_STRETCH) {                                                          \
            const int64_t m = n - from < SVMX_STRETCH ? n - from : SVMX_STRETCH;                                          \
            int64_t r = 0;                                                                                                \
            for (; r + SVMX_TOGETHER <= count; r += SVMX_TOGETHER)                                                        \
                svmx_eight_of_##NAME(m, coef + r, rows + r, begin + from, out + from);                                    \
            for (; r < count; ++r) {                                                                                      \
                const real *x = rows[r] + begin + from;                                                                   \
                const double c = coef[r];                                                                                 \
                double *SVMX_RESTRICT o = out + from;                                                                     \
                for (int64_t k = 0; k < m; ++k)                                                                           \
                    o[k] += c * x[k];                                                                                     \
            }                                                                                                             \
        }                                                                                                                 \
    }

SVMX_ADD_ROWS(add_rows, double)
SVMX_ADD_ROWS(add_float_rows, float)

/* A plane rotation that takes (head, x) onto its first axis is applied below: column and x change to
 * c column + s x and c x - s column. */
void SVMX_LOOP(rotate)(int64_t n, double c, double s, double *SVMX_RESTRICT column, double *SVMX_RESTRICT x)
{
    for (int64_t k = 0; k < n; ++k) {
        const double kept = column[k];
        column[k] = c * kept + s * x[k];
        x[k] = c * x[k] - s * kept;
    }
}

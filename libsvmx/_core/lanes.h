/* Hot loops, in plain C that the compiler vectorises.
 *
 * Every lane is another row or another variable, so each sum keeps its own order and a
 * wider vector changes no bit; with -ffp-contract=off the clones of one function give
 * equal results on every CPU.
 */
#ifndef SVMX_LANES_H
#define SVMX_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef SVMX_FMV
#define SVMX_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SVMX_CLONES
#endif
#if defined(__GNUC__)
#define SVMX_INLINE static inline __attribute__((always_inline))
#define SVMX_RESTRICT __restrict__
#else
#define SVMX_INLINE static inline
#define SVMX_RESTRICT
#endif

/* Rows of a dense panel: one AVX-512 pair of registers of doubles. */
#define SVMX_PANEL 16
/* Values per block of the loops that go over their data in several short passes. */
#define SVMX_BLOCK 256

/* ---- dot products of one row with many ---------------------------------------------- */

/* dots[p*16+r] = sum over k of value[k] * panel_p[index[k]][r], in the order of k.
 * panels: n_panels blocks of n_features x 16 doubles. Zeros in the panel add +-0: no change. */
static SVMX_CLONES void svmx_panel_dots(int64_t n_panels, int64_t n_features, const double *SVMX_RESTRICT panels,
                                        int64_t nnz, const int32_t *index, const double *value,
                                        double *SVMX_RESTRICT dots)
{
    for (int64_t p = 0; p < n_panels; ++p) {
        const double *panel = panels + p * n_features * SVMX_PANEL;
        double sum[SVMX_PANEL];
        for (int r = 0; r < SVMX_PANEL; ++r)
            sum[r] = 0.0;
        for (int64_t k = 0; k < nnz; ++k) {
            const double *lane = panel + (int64_t)index[k] * SVMX_PANEL;
            const double v = value[k];
            for (int r = 0; r < SVMX_PANEL; ++r)
                sum[r] += v * lane[r];
        }
        for (int r = 0; r < SVMX_PANEL; ++r)
            dots[p * SVMX_PANEL + r] = sum[r];
    }
}

/* dots[place] += v * x for all (place, x) of one feature's postings. */
static void svmx_postings_axpy(int64_t n, const uint16_t *place, const double *x, double v, double *dots)
{
    for (int64_t k = 0; k < n; ++k)
        dots[place[k]] += v * x[k];
}

/* ---- exp ------------------------------------------------------------------------------ */

typedef union {
    double value;
    uint64_t bits;
} svmx_double;

/* exp(x) for -87 <= x <= 87 to < 1 ulp: x = k ln2 + r, exp(r) = 1 + r + r^2 P(r) with P the degree-9
 * Chebyshev interpolant on |r| <= ln2/2 (relative error 1.6e-17 before rounding). */
SVMX_INLINE double svmx_exp(double x)
{
    const double log2e = 0x1.71547652b82fep+0, ln2_hi = 0x1.62e42fefa2000p-1, ln2_lo = 0x1.9ef35793c7673p-41;
    const double shifter = 0x1.8p52; /* adding it leaves round(x log2e) in the low bits */
    svmx_double shifted, e;
    shifted.value = x * log2e + shifter;
    const double k = shifted.value - shifter;
    const double r = (x - k * ln2_hi) - k * ln2_lo;
    double p = 0x1.af38d53857513p-26;
    p = p * r + 0x1.2891a8c1d838dp-22;
    p = p * r + 0x1.71de0d9c145d0p-19;
    p = p * r + 0x1.a019b8ef67c6cp-16;
    p = p * r + 0x1.a01a01a7c8d47p-13;
    p = p * r + 0x1.6c16c17893833p-10;
    p = p * r + 0x1.11111111109adp-7;
    p = p * r + 0x1.5555555553d4fp-5;
    p = p * r + 0x1.5555555555556p-3;
    p = p * r + 0x1.0000000000001p-1;
    e.value = 1.0 + (r + r * r * p);
    e.bits += shifted.bits << 52;
    return e.value;
}

/* Below it float(exp(x)) is 0: exp(-104) < 2^-150, half the least float. */
#define SVMX_EXP_ZERO (-104.0)
/* Below it the float would be subnormal, above zero the squares have cancelled: both left to libm. */
#define SVMX_EXP_LOW (-87.0)

/* ---- the other kernel functions, from dot products ------------------------------------- */

static SVMX_CLONES void svmx_linear_row(int64_t n, const double *SVMX_RESTRICT dots, float *SVMX_RESTRICT out)
{
    for (int64_t k = 0; k < n; ++k)
        out[k] = (float)dots[k];
}

/* Power by squaring, in LIBSVM's order of multiplications. */
SVMX_INLINE double svmx_powi(double base, int times)
{
    double square = base, result = 1.0;
    for (int t = times; t > 0; t /= 2) {
        if (t % 2 == 1)
            result *= square;
        square = square * square;
    }
    return result;
}

static SVMX_CLONES void svmx_poly_row(int64_t n, const double *SVMX_RESTRICT dots, double gamma, double coef0,
                                      int degree, float *SVMX_RESTRICT out)
{
    double square[SVMX_BLOCK], result[SVMX_BLOCK];
    for (int64_t start = 0; start < n; start += SVMX_BLOCK) {
        const int64_t m = n - start < SVMX_BLOCK ? n - start : SVMX_BLOCK;
        for (int64_t k = 0; k < m; ++k) {
            square[k] = gamma * dots[start + k] + coef0;
            result[k] = 1.0;
        }
        for (int t = degree; t > 0; t /= 2) {
            if (t % 2 == 1)
                for (int64_t k = 0; k < m; ++k)
                    result[k] *= square[k];
            for (int64_t k = 0; k < m; ++k)
                square[k] *= square[k];
        }
        for (int64_t k = 0; k < m; ++k)
            out[start + k] = (float)result[k];
    }
}

static void svmx_sigmoid_row(int64_t n, const double *dots, double gamma, double coef0, float *out)
{
    for (int64_t k = 0; k < n; ++k)
        out[k] = (float)tanh(gamma * dots[k] + coef0);
}

#endif

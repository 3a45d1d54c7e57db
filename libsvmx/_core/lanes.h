/* Hot loops, in plain C that the compiler vectorises.
 *
 * Every lane is another row or another variable, so each sum keeps its own order and a
 * wider vector changes no bit; with -ffp-contract=off the clones of one function give
 * equal results on every CPU. Notation: V_i = -y_i G_i, beta_i = y_i alpha_i, K without labels
 * (Fan, Chen & Lin, JMLR 6, 2005, rewritten in label-free scores).
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
/* Variables per chunk of the two selections: the winner is looked for again in one chunk only. */
#define SVMX_CHUNK 512
/* Curvature floor of LIBSVM: keeps the pair step finite where K_ii + K_jj - 2 K_ij <= 0. */
#define SVMX_TAU 1e-12

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

/* dots[row] += v * x for all (row, x) of one feature's postings. */
static void svmx_postings_axpy(int64_t n, const int32_t *row, const double *x, double v, double *dots)
{
    for (int64_t k = 0; k < n; ++k)
        dots[row[k]] += v * x[k];
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

/* A double this close (in double ulps) to the middle between two floats is rounded anew from libm's exp.
 * svmx_exp and libm are each < 1 ulp off, so everywhere else both round to the same float. */
#define SVMX_MARGIN 4
/* Below it float(exp(x)) is 0: exp(-104) < 2^-150, half the least float. */
#define SVMX_EXP_ZERO (-104.0)
/* Below it the float would be subnormal, above zero the squares have cancelled: both left to libm. */
#define SVMX_EXP_LOW (-87.0)
#define SVMX_BLOCK 256

/* Whether (float)e, e = svmx_exp(x), may differ from (float)exp(x). */
SVMX_INLINE int64_t svmx_exp_in_doubt(double x, double e)
{
    svmx_double d;
    d.value = e;
    /* the 29 bits that the float drops, counted from just below their middle */
    const uint64_t dropped = (d.bits - 0x10000000 + SVMX_MARGIN) & 0x1fffffff;
    int64_t doubt = dropped <= 2 * SVMX_MARGIN ? 1 : 0;
    doubt = x > 0.0 ? 1 : doubt;
    doubt = x < SVMX_EXP_LOW ? 1 : doubt;
    return x < SVMX_EXP_ZERO ? 0 : doubt;
}

/* out[j] = (float)exp(neg_gamma * (sq_i + sq[j] - 2 dots[j])), the float that LIBSVM rounds to.
 * In short loops over a block, each of which the compiler turns into vectors. */
static SVMX_CLONES void svmx_rbf_row(int64_t n, const double *SVMX_RESTRICT dots, const double *SVMX_RESTRICT sq,
                                     double sq_i, double neg_gamma, float *SVMX_RESTRICT out)
{
    double x[SVMX_BLOCK], e[SVMX_BLOCK];
    for (int64_t start = 0; start < n; start += SVMX_BLOCK) {
        const int64_t m = n - start < SVMX_BLOCK ? n - start : SVMX_BLOCK;
        const double *d = dots + start, *s = sq + start;
        float *o = out + start;
        int64_t doubt = 0;
        for (int64_t k = 0; k < m; ++k)
            x[k] = neg_gamma * (sq_i + s[k] - 2 * d[k]);
        for (int64_t k = 0; k < m; ++k) {
            double in_range = x[k] > SVMX_EXP_LOW ? x[k] : SVMX_EXP_LOW;
            in_range = in_range < 0.0 ? in_range : 0.0;
            e[k] = svmx_exp(in_range);
        }
        for (int64_t k = 0; k < m; ++k) {
            doubt |= svmx_exp_in_doubt(x[k], e[k]);
            o[k] = (float)(x[k] < SVMX_EXP_ZERO ? 0.0 : e[k]);
        }
        if (doubt)
            for (int64_t k = 0; k < m; ++k)
                if (svmx_exp_in_doubt(x[k], e[k]))
                    o[k] = (float)exp(x[k]);
    }
}

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

/* ---- rows seen through an index --------------------------------------------------------- */

static SVMX_CLONES void svmx_gather(int64_t n, const float *SVMX_RESTRICT row, const int32_t *SVMX_RESTRICT index,
                                    float *SVMX_RESTRICT out)
{
    for (int64_t k = 0; k < n; ++k)
        out[k] = row[index[k]];
}

/* ---- the SMO iteration -------------------------------------------------------------------- */

/* V -= K_i dbeta_i + K_j dbeta_j, LIBSVM's association. */
static SVMX_CLONES void svmx_update_scores(int64_t n, double *SVMX_RESTRICT V, const float *SVMX_RESTRICT Ki,
                                           const float *SVMX_RESTRICT Kj, double dbeta_i, double dbeta_j)
{
    for (int64_t k = 0; k < n; ++k)
        V[k] -= Ki[k] * dbeta_i + Kj[k] * dbeta_j;
}

static SVMX_CLONES void svmx_axpy_row(int64_t n, double a, const float *SVMX_RESTRICT K, double *SVMX_RESTRICT V)
{
    for (int64_t k = 0; k < n; ++k)
        V[k] += a * K[k];
}

/* Running maxima, in lanes so that the compiler may compare many at a time; any order gives the same. */
#define SVMX_LANES 32

SVMX_INLINE void svmx_lanes_clear(double *lane)
{
    for (int r = 0; r < SVMX_LANES; ++r)
        lane[r] = -HUGE_VAL;
}

SVMX_INLINE double svmx_lanes_max(double *lane)
{
    for (int half = SVMX_LANES / 2; half >= 1; half /= 2)
        for (int r = 0; r < half; ++r)
            lane[r] = lane[r + half] > lane[r] ? lane[r + half] : lane[r];
    return lane[0];
}

/* At most so many variables are scanned one by one: less work than folding lanes. */
#define SVMX_FEW 96

/* Last k of the maximum of V + up, where up is 0 inside I_up and -inf outside; -1 if I_up is empty.
 * chunk: scratch, one double per chunk. */
static SVMX_CLONES int64_t svmx_top(int64_t n, const double *SVMX_RESTRICT V, const float *SVMX_RESTRICT up,
                                    double *SVMX_RESTRICT chunk, double *maximum)
{
    double best = -HUGE_VAL;
    int64_t winner = -1;
    if (n <= SVMX_FEW) {
        for (int64_t k = 0; k < n; ++k)
            if (up[k] == 0 && V[k] >= best) {
                best = V[k];
                winner = k;
            }
        *maximum = best;
        return winner;
    }
    double lane[SVMX_LANES];
    for (int64_t start = 0, c = 0; start < n; start += SVMX_CHUNK, ++c) {
        const int64_t end = n - start < SVMX_CHUNK ? n : start + SVMX_CHUNK;
        svmx_lanes_clear(lane);
        for (int64_t k = start; k < end; k += SVMX_LANES) {
            const int64_t m = end - k < SVMX_LANES ? end - k : SVMX_LANES;
            for (int64_t r = 0; r < m; ++r) {
                const double v = V[k + r] + up[k + r];
                lane[r] = v > lane[r] ? v : lane[r];
            }
        }
        chunk[c] = svmx_lanes_max(lane);
        if (chunk[c] >= best) {
            best = chunk[c];
            winner = c;
        }
    }
    *maximum = best;
    if (best == -HUGE_VAL)
        return -1;
    int64_t k = n < (winner + 1) * SVMX_CHUNK ? n : (winner + 1) * SVMX_CHUNK;
    do
        --k;
    while (V[k] + up[k] != best);
    return k;
}

/* Gain of pairing i with k, (V_i - V_k)^2 / (K_ii + K_kk - 2 K_ik), -inf where k is no partner. LIBSVM minimises
 * the negated, which is the same to the last bit. */
SVMX_INLINE double svmx_pair_gain(double Vmax, double v, double QD_i, double QD_k, float K_ik)
{
    const double gap = Vmax - v;
    double curvature = QD_i + QD_k - 2.0 * K_ik;
    curvature = curvature > 0 ? curvature : SVMX_TAU;
    const double gain = gap * gap / curvature;
    return gap > 0 ? gain : -HUGE_VAL;
}

/* Last k of the largest pair gain over I_low (low is 0 inside, +inf outside), -1 if there is no partner.
 * *largest: that gain; *least: min over I_low of V. chunk: scratch, one double per chunk. */
static SVMX_CLONES int64_t svmx_partner(int64_t n, const double *SVMX_RESTRICT V, const float *SVMX_RESTRICT low,
                                        const double *SVMX_RESTRICT QD, const float *SVMX_RESTRICT Ki, double Vmax,
                                        double QD_i, double *SVMX_RESTRICT chunk, double *largest, double *least)
{
    double best = -HUGE_VAL;
    int64_t winner = -1;
    if (n <= SVMX_FEW) {
        double vmin = HUGE_VAL;
        for (int64_t k = 0; k < n; ++k) {
            if (low[k] != 0)
                continue;
            vmin = V[k] < vmin ? V[k] : vmin;
            if (!(Vmax - V[k] > 0))
                continue;
            const double gain = svmx_pair_gain(Vmax, V[k], QD_i, QD[k], Ki[k]);
            if (gain >= best) {
                best = gain;
                winner = k;
            }
        }
        *largest = best;
        *least = vmin;
        return winner;
    }
    double gain[SVMX_LANES], lane[SVMX_LANES], neg_score[SVMX_LANES];
    svmx_lanes_clear(neg_score);
    for (int64_t start = 0, c = 0; start < n; start += SVMX_CHUNK, ++c) {
        const int64_t end = n - start < SVMX_CHUNK ? n : start + SVMX_CHUNK;
        svmx_lanes_clear(lane);
        for (int64_t k = start; k < end; k += SVMX_LANES) {
            const int64_t m = end - k < SVMX_LANES ? end - k : SVMX_LANES;
            for (int64_t r = 0; r < m; ++r) {
                const double v = V[k + r] + low[k + r];
                const double g = svmx_pair_gain(Vmax, v, QD_i, QD[k + r], Ki[k + r]);
                neg_score[r] = -v > neg_score[r] ? -v : neg_score[r];
                lane[r] = g > lane[r] ? g : lane[r];
            }
        }
        chunk[c] = svmx_lanes_max(lane);
        if (chunk[c] >= best) {
            best = chunk[c];
            winner = c;
        }
    }
    *least = -svmx_lanes_max(neg_score);
    *largest = best;
    if (best == -HUGE_VAL)
        return -1;
    const int64_t start = winner * SVMX_CHUNK, end = n < start + SVMX_CHUNK ? n : start + SVMX_CHUNK;
    for (int64_t k = start + (end - start - 1) / SVMX_LANES * SVMX_LANES; k >= start; k -= SVMX_LANES) {
        const int64_t m = end - k < SVMX_LANES ? end - k : SVMX_LANES;
        for (int64_t r = 0; r < m; ++r)
            gain[r] = svmx_pair_gain(Vmax, V[k + r] + low[k + r], QD_i, QD[k + r], Ki[k + r]);
        for (int64_t r = m; --r >= 0;)
            if (gain[r] == best)
                return k + r;
    }
    return -1;
}

#endif

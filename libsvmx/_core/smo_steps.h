/* Steps of SMO: float kernel rows move scores in double, and the working set is found by second-order information.
 *
 * Notation: V_i = -y_i G_i, beta_i = y_i alpha_i, K without labels (Fan, Chen & Lin, JMLR 6, 2005, rewritten in
 * label-free scores). Arrays are IN and of length n, the active variables, but where it says so; V and scores are IN and
 * OUT, out and lanes are OUT.
 *
 * Who calls: _solvers/smo (smo.pyx the working set, deferred.pyx the replay); svmx_gather and svmx_axpy_row also
 * _kernels/rowstore.pyx, _kernels/sharedrows.pyx, _solvers/decomposition and _solvers/seeding.
 */
#ifndef SVMX_SMO_STEPS_H
#define SVMX_SMO_STEPS_H

#include "simd.h"

/* Curvature floor of LIBSVM: keeps the pair step finite where K_ii + K_jj - 2 K_ij <= 0. */
#define SVMX_TAU 1e-12

/* ---- rows seen through an index --------------------------------------------------------- */

static SVMX_CLONES void svmx_gather(int64_t n, const float *SVMX_RESTRICT row, const int32_t *SVMX_RESTRICT index,
                                    float *SVMX_RESTRICT out)
{
    for (int64_t k = 0; k < n; ++k)
        out[k] = row[index[k]];
}

/* ---- the SMO iteration -------------------------------------------------------------------- */

static SVMX_CLONES void svmx_axpy_row(int64_t n, double a, const float *SVMX_RESTRICT K, double *SVMX_RESTRICT V)
{
    for (int64_t k = 0; k < n; ++k)
        V[k] += a * K[k];
}

/* scores[k] += a * K[at[k]]. */
static SVMX_CLONES void svmx_axpy_at(int64_t n, double a, const float *SVMX_RESTRICT K, const int32_t *SVMX_RESTRICT at,
                                     double *SVMX_RESTRICT scores)
{
    for (int64_t k = 0; k < n; ++k)
        scores[k] += a * K[at[k]];
}

/* Rows that are replayed together. */
#define SVMX_REPLAY 16

/* out[k][r] = rows[r][k], r < SVMX_REPLAY: values that are used together come to lie together. */
static SVMX_CLONES void svmx_interleave(int64_t n, const float *SVMX_RESTRICT rows, float *SVMX_RESTRICT out)
{
    for (int64_t k = 0; k < n; ++k)
        for (int r = 0; r < SVMX_REPLAY; ++r)
            out[k * SVMX_REPLAY + r] = rows[r * n + k];
}

/* scores[r] += coef[e] * K[source[e]][r] for e in [0, n), in the order of e. */
static SVMX_CLONES void svmx_replay(int64_t n, const int32_t *source, const double *coef, const float *SVMX_RESTRICT K,
                                    double *SVMX_RESTRICT scores)
{
    double sum[SVMX_REPLAY];
    for (int r = 0; r < SVMX_REPLAY; ++r)
        sum[r] = scores[r];
    for (int64_t e = 0; e < n; ++e) {
        const float *row = K + (int64_t)source[e] * SVMX_REPLAY;
        for (int r = 0; r < SVMX_REPLAY; ++r)
            sum[r] += coef[e] * row[r];
    }
    for (int r = 0; r < SVMX_REPLAY; ++r)
        scores[r] = sum[r];
}

/* Maxima are kept in lanes: lane r of a block sees its positions r, r + SVMX_LANES, ... The compiler compares many lanes
 * at a time, no order of comparisons changes a maximum, and the winner is looked for in the one lane that has it. */
#define SVMX_LANES 32
/* Positions per block: 64 of each lane. */
#define SVMX_SPAN 2048
/* At most so many variables take fewer lanes: less work than folding SVMX_LANES of them. */
#define SVMX_FEW 96
#define SVMX_EIGHT 8

/* V -= K_i dbeta_i + K_j dbeta_j, in LIBSVM's association, and the last k of the maximum of the new V + up in the
 * same pass; up is 0 inside I_up and -inf outside. -1 if I_up is empty. lanes: scratch, SVMX_LANES doubles a block. */
SVMX_INLINE int64_t svmx_move_top(int64_t n, double *SVMX_RESTRICT V, const float *SVMX_RESTRICT Ki,
                                  const float *SVMX_RESTRICT Kj, double dbeta_i, double dbeta_j,
                                  const float *SVMX_RESTRICT up, double *SVMX_RESTRICT lanes, double *maximum,
                                  const int move)
{
    double best = -HUGE_VAL;
    int64_t winner = -1;
    if (n <= SVMX_FEW) {
        double top[SVMX_EIGHT];
        if (move)
            for (int64_t k = 0; k < n; ++k)
                V[k] -= Ki[k] * dbeta_i + Kj[k] * dbeta_j;
        for (int r = 0; r < SVMX_EIGHT; ++r)
            top[r] = -HUGE_VAL;
        for (int64_t k = 0; k < n; k += SVMX_EIGHT) {
            const int64_t m = n - k < SVMX_EIGHT ? n - k : SVMX_EIGHT;
            for (int64_t r = 0; r < m; ++r) {
                const double v = V[k + r] + up[k + r];
                top[r] = v > top[r] ? v : top[r];
            }
        }
        for (int r = 0; r < SVMX_EIGHT; ++r)
            best = top[r] > best ? top[r] : best;
        *maximum = best;
        for (winner = best == -HUGE_VAL ? -1 : n - 1; winner >= 0 && V[winner] + up[winner] != best;)
            --winner;
        return winner;
    }
    const int64_t n_blocks = (n + SVMX_SPAN - 1) / SVMX_SPAN;
    double lane[SVMX_LANES];
    for (int64_t b = 0; b < n_blocks; ++b) {
        const int64_t start = b * SVMX_SPAN, end = n - start < SVMX_SPAN ? n : start + SVMX_SPAN;
        for (int r = 0; r < SVMX_LANES; ++r)
            lane[r] = -HUGE_VAL;
        for (int64_t k = start; k < end; k += SVMX_LANES) {
            const int64_t m = end - k < SVMX_LANES ? end - k : SVMX_LANES;
            for (int64_t r = 0; r < m; ++r) {
                double v = V[k + r];
                if (move)
                    V[k + r] = v = v - (Ki[k + r] * dbeta_i + Kj[k + r] * dbeta_j);
                v += up[k + r];
                lane[r] = v > lane[r] ? v : lane[r];
            }
        }
        for (int r = 0; r < SVMX_LANES; ++r) {
            lanes[b * SVMX_LANES + r] = lane[r];
            best = lane[r] > best ? lane[r] : best;
        }
    }
    *maximum = best;
    if (best == -HUGE_VAL)
        return -1;
    for (int64_t b = n_blocks; --b >= 0 && winner < 0;) {
        const int64_t start = b * SVMX_SPAN, end = n - start < SVMX_SPAN ? n : start + SVMX_SPAN;
        for (int64_t r = 0; r < SVMX_LANES; ++r) {
            if (lanes[b * SVMX_LANES + r] != best)
                continue;
            int64_t k = start + r + (end - start - 1 - r) / SVMX_LANES * SVMX_LANES;
            while (V[k] + up[k] != best)
                k -= SVMX_LANES;
            winner = k > winner ? k : winner;
        }
    }
    return winner;
}

static SVMX_CLONES int64_t svmx_max_violator(int64_t n, double *V, const float *up, double *lanes, double *maximum)
{
    return svmx_move_top(n, V, NULL, NULL, 0.0, 0.0, up, lanes, maximum, 0);
}

static SVMX_CLONES int64_t svmx_update_max_violator(int64_t n, double *V, const float *Ki, const float *Kj, double dbeta_i,
                                           double dbeta_j, const float *up, double *lanes, double *maximum)
{
    return svmx_move_top(n, V, Ki, Kj, dbeta_i, dbeta_j, up, lanes, maximum, 1);
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

/* Gains are first looked over in float: division is what a selection spends its time on, and 16 floats are divided
 * faster than 8 doubles. A float gain is within SVMX_SLACK of the true one if it lies between SVMX_TINY and SVMX_HUGE:
 * four roundings to float are 2.4e-7; a square of V_i - V_k that underflows gives a gain below 1e-38 / 1e-14, since smaller
 * curvatures count as 0 and give an infinite gain. */
#define SVMX_SLACK 1e-6
#define SVMX_TINY 1e-20
#define SVMX_HUGE 1e30

/* Float gains: their maxima into lanes, SVMX_LANES a block. unit: QD is 1 throughout. Returns min over I_low of V. */
SVMX_INLINE double svmx_survey(int64_t n, const double *SVMX_RESTRICT V, const float *SVMX_RESTRICT low,
                               const double *SVMX_RESTRICT QD, const float *SVMX_RESTRICT Ki, double Vmax, double QD_i,
                               const int unit, double *SVMX_RESTRICT lanes)
{
    double neg_score[SVMX_LANES], least = HUGE_VAL;
    float lane[SVMX_LANES];
    for (int r = 0; r < SVMX_LANES; ++r)
        neg_score[r] = -HUGE_VAL;
    for (int64_t start = 0; start < n; start += SVMX_SPAN) {
        const int64_t end = n - start < SVMX_SPAN ? n : start + SVMX_SPAN;
        for (int r = 0; r < SVMX_LANES; ++r)
            lane[r] = 0.0f;
        for (int64_t k = start; k < end; k += SVMX_LANES) {
            const int64_t m = end - k < SVMX_LANES ? end - k : SVMX_LANES;
            for (int64_t r = 0; r < m; ++r) {
                const double v = V[k + r] + low[k + r];
                neg_score[r] = -v > neg_score[r] ? -v : neg_score[r];
                const double wide = Vmax - v;
                float gap = (float)wide;
                float curvature;
                if (unit) {
                    gap = gap > 0.0f ? gap : 0.0f;
                    curvature = 2.0f - 2.0f * Ki[k + r];
                    curvature = curvature > 0.0f ? curvature : (float)SVMX_TAU;
                } else {
                    const double exact = QD_i + QD[k + r] - 2.0 * Ki[k + r];
                    gap = gap > 1e-19f ? gap : 1e-19f; /* so that its square is not 0 where it is positive */
                    gap = wide > 0 ? gap : 0.0f;
                    curvature = (float)(exact > 0 ? exact : SVMX_TAU);
                    curvature = curvature > 1e-14f ? curvature : 0.0f;
                }
                curvature = curvature < 3e38f ? curvature : 0.0f; /* so that it is not infinite */
                const float gain = gap * gap / curvature;
                lane[r] = gain > lane[r] ? gain : lane[r];
            }
        }
        for (int r = 0; r < SVMX_LANES; ++r)
            lanes[start / SVMX_SPAN * SVMX_LANES + r] = lane[r];
    }
    for (int r = 0; r < SVMX_LANES; ++r)
        least = -neg_score[r] < least ? -neg_score[r] : least;
    return least;
}

static SVMX_CLONES double svmx_survey_any(int64_t n, const double *V, const float *low, const double *QD,
                                          const float *Ki, double Vmax, double QD_i, double *lanes)
{
    return svmx_survey(n, V, low, QD, Ki, Vmax, QD_i, 0, lanes);
}

static SVMX_CLONES double svmx_survey_unit(int64_t n, const double *V, const float *low, const float *Ki, double Vmax,
                                           double *lanes)
{
    return svmx_survey(n, V, low, NULL, Ki, Vmax, 1.0, 1, lanes);
}

/* The largest gain in [start, end) and its last place, if it is at least *best. */
static SVMX_CLONES void svmx_best_of_block(int64_t start, int64_t end, const double *SVMX_RESTRICT V,
                                           const float *SVMX_RESTRICT low, const double *SVMX_RESTRICT QD,
                                           const float *SVMX_RESTRICT Ki, double Vmax, double QD_i, double *best,
                                           int64_t *winner)
{
    double lane[SVMX_LANES], gain[SVMX_LANES], top = -HUGE_VAL;
    for (int r = 0; r < SVMX_LANES; ++r)
        lane[r] = -HUGE_VAL;
    for (int64_t k = start; k < end; k += SVMX_LANES) {
        const int64_t m = end - k < SVMX_LANES ? end - k : SVMX_LANES;
        for (int64_t r = 0; r < m; ++r) {
            const double g = svmx_pair_gain(Vmax, V[k + r] + low[k + r], QD_i, QD[k + r], Ki[k + r]);
            lane[r] = g > lane[r] ? g : lane[r];
        }
    }
    for (int r = 0; r < SVMX_LANES; ++r)
        top = lane[r] > top ? lane[r] : top;
    if (top < *best || top == -HUGE_VAL)
        return;
    *best = top;
    for (int64_t k = start + (end - start - 1) / SVMX_LANES * SVMX_LANES; k >= start; k -= SVMX_LANES) {
        const int64_t m = end - k < SVMX_LANES ? end - k : SVMX_LANES;
        for (int64_t r = 0; r < m; ++r)
            gain[r] = svmx_pair_gain(Vmax, V[k + r] + low[k + r], QD_i, QD[k + r], Ki[k + r]);
        for (int64_t r = m; --r >= 0;)
            if (gain[r] == top) {
                *winner = k + r;
                return;
            }
    }
}

/* So many lanes of a block are gone through one by one; with more, equal gains abound, and all go together. */
#define SVMX_FEW_LANES 3

/* Last k of the largest pair gain over I_low (low is 0 inside, +inf outside), -1 if there is no partner.
 * *largest: that gain; *least: min over I_low of V. unit: QD is 1 throughout. lanes: scratch, SVMX_LANES a block. */
static SVMX_CLONES int64_t svmx_partner(int64_t n, const double *V, const float *low, const double *QD, const float *Ki,
                            double Vmax, double QD_i, int unit, double *lanes, double *largest, double *least)
{
    double best = -HUGE_VAL, bar = 0.0;
    int64_t winner = -1;
    if (n <= SVMX_FEW) {
        double gain[SVMX_FEW], top[SVMX_EIGHT], lowest[SVMX_EIGHT];
        for (int r = 0; r < SVMX_EIGHT; ++r) {
            top[r] = -HUGE_VAL;
            lowest[r] = HUGE_VAL;
        }
        for (int64_t k = 0; k < n; k += SVMX_EIGHT) {
            const int64_t m = n - k < SVMX_EIGHT ? n - k : SVMX_EIGHT;
            for (int64_t r = 0; r < m; ++r) {
                const double v = V[k + r] + low[k + r], g = svmx_pair_gain(Vmax, v, QD_i, QD[k + r], Ki[k + r]);
                lowest[r] = v < lowest[r] ? v : lowest[r];
                gain[k + r] = g;
                top[r] = g > top[r] ? g : top[r];
            }
        }
        *least = HUGE_VAL;
        for (int r = 0; r < SVMX_EIGHT; ++r) {
            best = top[r] > best ? top[r] : best;
            *least = lowest[r] < *least ? lowest[r] : *least;
        }
        *largest = best;
        for (winner = best == -HUGE_VAL ? -1 : n - 1; winner >= 0 && gain[winner] != best;)
            --winner;
        return winner;
    }
    *least = unit ? svmx_survey_unit(n, V, low, Ki, Vmax, lanes) : svmx_survey_any(n, V, low, QD, Ki, Vmax, QD_i, lanes);
    const int64_t n_lanes = (n + SVMX_SPAN - 1) / SVMX_SPAN * SVMX_LANES;
    for (int64_t c = 0; c < n_lanes; ++c)
        bar = lanes[c] > bar ? lanes[c] : bar;
    /* lanes whose gains are surely less than the largest are passed over */
    bar = bar >= SVMX_TINY && bar <= SVMX_HUGE ? bar * (1 - 2 * SVMX_SLACK) : 0.0;
    for (int64_t start = 0; start < n; start += SVMX_SPAN) {
        const int64_t end = n - start < SVMX_SPAN ? n : start + SVMX_SPAN;
        const double *block = lanes + start / SVMX_SPAN * SVMX_LANES;
        int candidates = 0;
        for (int r = 0; r < SVMX_LANES; ++r)
            candidates += block[r] >= bar;
        if (candidates > SVMX_FEW_LANES) {
            svmx_best_of_block(start, end, V, low, QD, Ki, Vmax, QD_i, &best, &winner);
            continue;
        }
        for (int r = 0; r < SVMX_LANES && candidates > 0; ++r) {
            if (block[r] < bar)
                continue;
            for (int64_t k = start + r; k < end; k += SVMX_LANES) {
                const double gain = svmx_pair_gain(Vmax, V[k] + low[k], QD_i, QD[k], Ki[k]);
                if (gain > best || (gain == best && k > winner && gain != -HUGE_VAL)) {
                    best = gain;
                    winner = k;
                }
            }
        }
    }
    *largest = best;
    return winner;
}

#endif

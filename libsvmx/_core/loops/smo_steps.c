/* The loops of SMO; see smo_steps.h. */
#include "simd.h"

/* Positions at a time, a multiple of a vector. */
#define SVMX_TAIL 16

/* ---- rows seen through an index --------------------------------------------------------- */

void SVMX_LOOP(gather)(int64_t n, const float *SVMX_RESTRICT row, const int32_t *SVMX_RESTRICT index,
                       float *SVMX_RESTRICT out)
{
    for (int64_t k = 0; k < n; ++k)
        out[k] = row[index[k]];
}

/* ---- the SMO iteration -------------------------------------------------------------------- */

void SVMX_LOOP(axpy_row)(int64_t n, double a, const float *SVMX_RESTRICT K, double *SVMX_RESTRICT V)
{
    int64_t k = 0;
    for (; k + 4 * SVMX_WIDTH <= n; k += 4 * SVMX_WIDTH) {
        SVMX_UNROLL
        for (int v = 0; v < 4 * SVMX_WIDTH; v += SVMX_WIDTH)
            SVMX_STORE(V + k + v, SVMX_DOUBLES(V + k + v) + a * SVMX_WIDENED(K + k + v));
    }
    for (; k < n; ++k)
        V[k] += a * K[k];
}

/* V[k] += a[e] * K[e][first + k] for e in [0, count), in the order of e: two rows at a time, since to read and write V takes
 * longer than to add. */
void SVMX_LOOP(axpy_rows)(int64_t n, int64_t count, const double *a, const float *const *K, int64_t first,
                          double *SVMX_RESTRICT V)
{
    int64_t e = 0;
    for (; e + 2 <= count; e += 2) {
        const double b = a[e], c = a[e + 1];
        const float *L = K[e] + first, *M = K[e + 1] + first;
        int64_t k = 0;
        for (; k + SVMX_TAIL <= n; k += SVMX_TAIL) {
            SVMX_UNROLL
            for (int64_t at = k; at < k + SVMX_TAIL; at += SVMX_WIDTH)
                SVMX_STORE(V + at, SVMX_DOUBLES(V + at) + b * SVMX_WIDENED(L + at) + c * SVMX_WIDENED(M + at));
        }
        for (; k < n; ++k)
            V[k] = V[k] + b * L[k] + c * M[k];
    }
    if (e < count)
        SVMX_LOOP(axpy_row)(n, a[e], K[e] + first, V);
}

/* scores[k] += a * K[at[k]]. */
void SVMX_LOOP(axpy_at)(int64_t n, double a, const float *SVMX_RESTRICT K, const int32_t *SVMX_RESTRICT at,
                        double *SVMX_RESTRICT scores)
{
    for (int64_t k = 0; k < n; ++k)
        scores[k] += a * K[at[k]];
}

#ifdef __AVX__
/* The first four values of eight rows, each turned into a vector. */
SVMX_INLINE void svmx_transpose_four(int64_t stride, const float *rows, int64_t between, float *out)
{
    __m256 row[4], pair[4];
    for (int r = 0; r < 4; ++r)
        row[r] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows + r * stride)),
                                      _mm_loadu_ps(rows + (r + 4) * stride), 1);
    for (int r = 0; r < 4; r += 2) {
        pair[r] = _mm256_unpacklo_ps(row[r], row[r + 1]);
        pair[r + 1] = _mm256_unpackhi_ps(row[r], row[r + 1]);
    }
    for (int half = 0; half < 2; ++half) {
        _mm256_storeu_ps(out + 2 * half * between, _mm256_shuffle_ps(pair[half], pair[half + 2], 0x44));
        _mm256_storeu_ps(out + (2 * half + 1) * between, _mm256_shuffle_ps(pair[half], pair[half + 2], 0xEE));
    }
}
#endif

/* out[k][r] = rows[r][k], r < SVMX_REPLAY, k < n: values that are used together come to lie together; a row every
 * ``stride`` values, and out[k] every ``between``. */
void SVMX_LOOP(interleave)(int64_t n, int64_t stride, const float *SVMX_RESTRICT rows, int64_t between,
                           float *SVMX_RESTRICT out)
{
    int64_t k = 0;
#ifdef __AVX__
    for (; k + 4 <= n; k += 4)
        for (int r = 0; r < SVMX_REPLAY; r += 8)
            svmx_transpose_four(stride, rows + r * stride + k, between, out + k * between + r);
#endif
    for (; k < n; ++k)
        for (int r = 0; r < SVMX_REPLAY; ++r)
            out[k * between + r] = rows[r * stride + k];
}

/* scores[r] += coef[e] * K[source[e]][r] for e in [0, n), in the order of e. */
void SVMX_LOOP(replay)(int64_t n, const int32_t *source, const double *coef, const float *SVMX_RESTRICT K,
                       double *SVMX_RESTRICT scores)
{
    svmx_doubles sum[SVMX_REPLAY / SVMX_WIDTH]; /* vectors are explicit: GCC 12 takes half of the lanes one by one */
    for (int v = 0; v < SVMX_REPLAY / SVMX_WIDTH; ++v)
        sum[v] = SVMX_DOUBLES(scores + v * SVMX_WIDTH);
    for (int64_t e = 0; e < n; ++e) {
        const float *row = K + (int64_t)source[e] * SVMX_REPLAY;
        SVMX_UNROLL
        for (int v = 0; v < SVMX_REPLAY / SVMX_WIDTH; ++v)
            sum[v] += coef[e] * SVMX_WIDENED(row + v * SVMX_WIDTH);
    }
    for (int v = 0; v < SVMX_REPLAY / SVMX_WIDTH; ++v)
        SVMX_STORE(scores + v * SVMX_WIDTH, sum[v]);
}

/* Maxima are found block by block, SVMX_SPAN positions each or a strip, and the last place of one by looking there again.
 * Comparisons may come in any order, which changes no maximum. With SVMX_SCANS vectors are explicit:
 * GCC 12's code for the loops has half the speed, and less for few positions. */

/* Up to this many positions, exact gains are computed at once. */
#define SVMX_FEW 64
/* Positions compared together in the search for a place. */
#define SVMX_STRETCH_OF 32

#ifdef SVMX_SCANS
SVMX_INLINE int svmx_last_bit(uint32_t bits)
{
    return 31 - __builtin_clz(bits);
}
#endif

/* How V moves. */
enum { SVMX_STAY, SVMX_BY_PAIR, SVMX_BEGIN, SVMX_ALONG };

/* V -= K_i dbeta_i + K_j dbeta_j, in LIBSVM's association, by pair; along a direction d, Kd = gamma Kd + K_i - K_j and
 * V -= dbeta_i Kd; a new one does not read Kd. Returns the maximum of V + up. n is a multiple of SVMX_TAIL, or 1. */
SVMX_INLINE double svmx_moved(int64_t n, double *SVMX_RESTRICT V, const float *SVMX_RESTRICT Ki,
                              const float *SVMX_RESTRICT Kj, double dbeta_i, double dbeta_j,
                              const float *SVMX_RESTRICT up, double gamma, double *Kd, const int move)
{
#ifdef SVMX_SCANS
    if (n >= SVMX_TAIL) {
        svmx_doubles tops[2] = {(svmx_doubles){0} - HUGE_VAL, (svmx_doubles){0} - HUGE_VAL};
        for (int64_t k = 0; k < n; k += 2 * SVMX_WIDTH) {
            SVMX_UNROLL
            for (int h = 0; h < 2; ++h) {
                const int64_t at = k + h * SVMX_WIDTH;
                svmx_doubles v = SVMX_DOUBLES(V + at);
                if (move == SVMX_BY_PAIR)
                    v = v - (SVMX_WIDENED(Ki + at) * dbeta_i + SVMX_WIDENED(Kj + at) * dbeta_j);
                if (move == SVMX_BEGIN || move == SVMX_ALONG) {
                    svmx_doubles own = SVMX_WIDENED(Ki + at) - SVMX_WIDENED(Kj + at);
                    if (move == SVMX_ALONG)
                        own = gamma * SVMX_DOUBLES(Kd + at) + own;
                    SVMX_STORE(Kd + at, own);
                    v = v - dbeta_i * own;
                }
                if (move)
                    SVMX_STORE(V + at, v);
                tops[h] = SVMX_MAX_INSIDE(v, up + at, tops[h]);
            }
        }
        return SVMX_TOP(SVMX_MAX(tops[0], tops[1]));
    }
#endif
    SVMX_APART(double, top, -HUGE_VAL);
    SVMX_ANY_ORDER(k, n, reduction(max : top), {
        double v = V[k];
        if (move == SVMX_BY_PAIR)
            V[k] = v = v - (Ki[k] * dbeta_i + Kj[k] * dbeta_j);
        if (move == SVMX_BEGIN || move == SVMX_ALONG) {
            const double own = (double)Ki[k] - (double)Kj[k];
            Kd[k] = move == SVMX_ALONG ? gamma * Kd[k] + own : own;
            V[k] = v = v - dbeta_i * Kd[k];
        }
        v += up[k];
        SVMX_OWN(top) = v > SVMX_OWN(top) ? v : SVMX_OWN(top);
    })
    return SVMX_LARGEST(double, top);
}

/* The last place in a stretch where V + up is ``value``, -1 if there is none. */
SVMX_INLINE int svmx_place(const double *V, const float *up, double value)
{
#ifdef SVMX_SCANS
    const svmx_doubles values = (svmx_doubles){0} + value;
    uint32_t hits = 0;
    SVMX_UNROLL
    for (int k = 0; k < SVMX_STRETCH_OF; k += SVMX_WIDTH)
        hits |= SVMX_EQUAL(SVMX_DOUBLES(V + k) + SVMX_WIDENED(up + k), values) << k;
    return hits ? svmx_last_bit(hits) : -1;
#else
    int64_t hit = 0;
    for (int k = 0; k < SVMX_STRETCH_OF; ++k)
        hit |= V[k] + up[k] == value;
    int k = hit ? SVMX_STRETCH_OF - 1 : -1;
    while (k >= 0 && V[k] + up[k] != value)
        --k;
    return k;
#endif
}

/* Moves V, and returns the last k of the maximum of the new V + up; up is 0 inside I_up and -inf outside. -1 if I_up is
 * empty. */
SVMX_INLINE int64_t svmx_move_top(int64_t n, double *V, const float *Ki, const float *Kj, double dbeta_i, double dbeta_j,
                                  const float *up, double *maximum, double gamma, double *Kd, const int move)
{
    double best = -HUGE_VAL;
    int64_t first = 0, end = 0;
    for (int64_t k = 0; k < n; k += SVMX_SPAN) {
        double top, rest = -HUGE_VAL;
        if (n - k >= SVMX_SPAN) { /* a length that the compiler knows */
            top = svmx_moved(SVMX_SPAN, V + k, Ki + k, Kj + k, dbeta_i, dbeta_j, up + k, gamma, Kd + k, move);
        } else {
            const int64_t m = (n - k) & -SVMX_TAIL;
            top = svmx_moved(m, V + k, Ki + k, Kj + k, dbeta_i, dbeta_j, up + k, gamma, Kd + k, move);
            for (int64_t r = k + m; r < n; ++r) {
                const double v =
                    svmx_moved(1, V + r, Ki + r, Kj + r, dbeta_i, dbeta_j, up + r, gamma, Kd + r, move);
                rest = v > rest ? v : rest;
            }
            top = rest > top ? rest : top;
        }
        if (top >= best && top > -HUGE_VAL) {
            best = top;
            first = k;
            end = n - k < SVMX_SPAN ? n : k + SVMX_SPAN;
        }
    }
    *maximum = best + 0.0; /* no -0 */
    for (; end - first >= SVMX_STRETCH_OF; end -= SVMX_STRETCH_OF) {
        const int place = svmx_place(V + end - SVMX_STRETCH_OF, up + end - SVMX_STRETCH_OF, best);
        if (place >= 0)
            return end - SVMX_STRETCH_OF + place;
    }
    while (end > first && V[end - 1] + up[end - 1] != best)
        --end;
    return end - 1;
}

int64_t SVMX_LOOP(max_violator)(int64_t n, double *V, const float *up, double *maximum)
{
    return svmx_move_top(n, V, up, up, 0.0, 0.0, up, maximum, 0.0, V, SVMX_STAY);
}

int64_t SVMX_LOOP(update_max_violator)(int64_t n, double *V, const float *Ki, const float *Kj, double dbeta_i,
                                       double dbeta_j, const float *up, double *maximum)
{
    return svmx_move_top(n, V, Ki, Kj, dbeta_i, dbeta_j, up, maximum, 0.0, V, SVMX_BY_PAIR);
}

int64_t SVMX_LOOP(conjugate_max_violator)(int64_t n, double *V, const float *Ki, const float *Kj, double gamma, double step,
                                          double *Kd, const float *up, double *maximum)
{
    return gamma == 0 ? svmx_move_top(n, V, Ki, Kj, step, 0.0, up, maximum, gamma, Kd, SVMX_BEGIN)
                      : svmx_move_top(n, V, Ki, Kj, step, 0.0, up, maximum, gamma, Kd, SVMX_ALONG);
}

/* moved = alpha + step d; returns whether all n are inside 0 and C. */
int SVMX_LOOP(move_inside)(int64_t n, double step, const double *SVMX_RESTRICT d, const double *SVMX_RESTRICT alpha,
                           const double *SVMX_RESTRICT C, double *SVMX_RESTRICT moved)
{
    int64_t outside = 0;
    for (int64_t k = 0; k < n; ++k) {
        moved[k] = alpha[k] + step * d[k];
        outside |= !(moved[k] > 0.0) | !(moved[k] < C[k]);
    }
    return !outside;
}

/* ---- the partner ---------------------------------------------------------------------------- */

/* max over I_low of Vmax - V; -inf if I_low is empty. */
SVMX_INLINE double svmx_exact_gap(const svmx_pairing *pair, int64_t n)
{
    SVMX_APART(double, widest, -HUGE_VAL);
    SVMX_ANY_ORDER(k, n, reduction(max : widest), {
        const double gap = pair->Vmax - (pair->V[k] + pair->low[k]);
        SVMX_OWN(widest) = gap > SVMX_OWN(widest) ? gap : SVMX_OWN(widest);
    })
    return SVMX_LARGEST(double, widest);
}

/* Gains (V_i - V_k)^2 / (K_ii + K_kk - 2 K_ik) of n positions from ``first`` on, -inf where k is no partner; returns the
 * largest, and in *gap the largest Vmax - V. LIBSVM minimises the negated, which is the same to the last bit. */
SVMX_INLINE double svmx_exact_gains(const svmx_pairing *pair, int64_t first, int64_t n, double *SVMX_RESTRICT gains,
                                    double *gap)
{
    const double *V = pair->V + first, *QD = pair->QD + first, Vmax = pair->Vmax, QD_i = pair->QD_i;
    const float *low = pair->low + first, *K = pair->K + first;
    SVMX_APART(double, top, -HUGE_VAL);
    SVMX_APART(double, widest, -HUGE_VAL);
    SVMX_ANY_ORDER(k, n, reduction(max : top, widest), {
        const double apart = Vmax - (V[k] + low[k]);
        SVMX_OWN(widest) = apart > SVMX_OWN(widest) ? apart : SVMX_OWN(widest);
        double curvature = QD_i + QD[k] - 2.0 * K[k];
        curvature = curvature > 0 ? curvature : SVMX_TAU;
        const double gain = apart > 0 ? apart * apart / curvature : -HUGE_VAL;
        gains[k] = gain;
        SVMX_OWN(top) = gain > SVMX_OWN(top) ? gain : SVMX_OWN(top);
    })
    *gap = SVMX_LARGEST(double, widest);
    return SVMX_LARGEST(double, top);
}

/* The best pair so far. */
typedef struct {
    int64_t k;
    double gain, apart, curvature;
    int ties; /* whether several were found that are as good as it */
} svmx_best_pair;

/* Gains are first computed in float: a selection spends its time on division, and 16 floats are divided faster than 8
 * doubles. A float gain is within SVMX_SLACK of the true one, four roundings to float are 2.4e-7, if it lies
 * between SVMX_TINY and SVMX_HUGE and all curvatures between SVMX_FLAT and SVMX_STEEP: then a square of V_i - V_k that
 * underflows gives a gain below 1e-38 / SVMX_FLAT. */
#define SVMX_SLACK 1e-6
#define SVMX_TINY 1e-20f
#define SVMX_HUGE 1e30f
#define SVMX_FLAT 1e-14f
#define SVMX_STEEP 3e38f

/* The largest of something: of each lane, where vectors are explicit, as lanes are slow to compare. So strips may be short, and
 * little has to be looked at again. */
#ifdef SVMX_SCANS
typedef svmx_floats svmx_top;
#define SVMX_LARGER SVMX_MAX_FLOATS
#define SVMX_STRIP 64
#else
typedef float svmx_top;
#define SVMX_LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SVMX_STRIP SVMX_SPAN
#endif
/* ``tops`` has one for each strip of SVMX_STRIP positions: that of position k. */
#define SVMX_TOP_AT(tops, k) ((svmx_top *)(tops) + (k) / SVMX_STRIP)

typedef struct {
    svmx_top gain;
    svmx_top gap;                /* largest Vmax - V in I_low, or 0 */
    svmx_top flattest, steepest; /* least and largest curvature, unless ``unit`` */
} svmx_extremes;

/* The float gain of gap = Vmax - V and its curvature. If ``unit``, half the curvatures are taken, which doubles all gains. */
#ifndef SVMX_SCANS
SVMX_INLINE float svmx_float_gap(const svmx_pairing *pair, int64_t k)
{
    return (float)(pair->Vmax - pair->V[k]) - pair->low[k];
}

SVMX_INLINE float svmx_float_curvature(const svmx_pairing *pair, int64_t k, const int unit)
{
    if (unit) {
        const float half = 1.0f - pair->K[k];
        return half > (float)(SVMX_TAU / 2) ? half : (float)(SVMX_TAU / 2);
    }
    const double exact = pair->QD_i + pair->QD[k] - 2.0 * pair->K[k];
    return (float)(exact > 0 ? exact : SVMX_TAU);
}

SVMX_INLINE float svmx_float_gain(float gap, float curvature)
{
    gap = gap > 0.0f ? gap : 0.0f;
    return gap * gap / curvature;
}
#endif

#ifdef SVMX_SCANS
/* The same of a vector of positions; gaps are 0 where they are negative, or outside I_low. */
SVMX_INLINE svmx_floats svmx_vector_gaps(const svmx_pairing *pair, int64_t k)
{
    return SVMX_POSITIVE(SVMX_NARROWED(pair->Vmax - SVMX_DOUBLES(pair->V + k),
                                       pair->Vmax - SVMX_DOUBLES(pair->V + k + SVMX_WIDTH)),
                         pair->low + k);
}

SVMX_INLINE svmx_doubles svmx_exact_curvatures(const svmx_pairing *pair, int64_t k)
{
    const svmx_doubles least = (svmx_doubles){0} + SVMX_TAU;
    const svmx_doubles exact = pair->QD_i + SVMX_DOUBLES(pair->QD + k) - 2.0 * SVMX_WIDENED(pair->K + k);
    const svmx_words positive = exact > (svmx_doubles){0};
    return (svmx_doubles)(((svmx_words)exact & positive) | ((svmx_words)least & ~positive));
}

SVMX_INLINE svmx_floats svmx_vector_curvatures(const svmx_pairing *pair, int64_t k, const int unit)
{
    if (unit)
        return SVMX_MAX_FLOATS(1.0f - SVMX_FLOATS(pair->K + k), (svmx_floats){0} + (float)(SVMX_TAU / 2));
    return SVMX_NARROWED(svmx_exact_curvatures(pair, k), svmx_exact_curvatures(pair, k + SVMX_WIDTH));
}

SVMX_INLINE int svmx_reach(svmx_floats gains, float bar)
{
    return SVMX_NOT_LESS(gains, (svmx_floats){0} + bar) != 0;
}
#else
#define SVMX_TOP_FLOAT(x) (x)

SVMX_INLINE int svmx_reach(float gain, float bar)
{
    return !(gain < bar);
}
#endif

/* The largest float gain of n positions from ``first`` on, a multiple of SVMX_TAIL. */
SVMX_INLINE svmx_top svmx_float_gains(const svmx_pairing *pair, int64_t first, int64_t n, const int unit,
                                      svmx_extremes *extremes)
{
    const svmx_pairing own = *pair;
#ifdef SVMX_SCANS
    svmx_floats top = {0};
    for (int64_t k = first; k < first + n; k += SVMX_FLOAT_WIDTH) {
        const svmx_floats gaps = svmx_vector_gaps(&own, k), curvatures = svmx_vector_curvatures(&own, k, unit);
        extremes->gap = SVMX_MAX_FLOATS(gaps, extremes->gap);
        top = SVMX_MAX_FLOATS(gaps * gaps / curvatures, top);
        if (!unit) {
            extremes->flattest = SVMX_MIN_FLOATS(curvatures, extremes->flattest);
            extremes->steepest = SVMX_MAX_FLOATS(curvatures, extremes->steepest);
        }
    }
    extremes->gain = SVMX_MAX_FLOATS(top, extremes->gain);
    return top;
#else
    SVMX_APART(float, top, 0.0f);
    SVMX_APART(float, far, extremes->gap);
    SVMX_APART(float, flattest, extremes->flattest);
    SVMX_APART(float, steepest, extremes->steepest);
    SVMX_ANY_ORDER(k, n, reduction(max : top, far, steepest) reduction(min : flattest), {
        const float gap = svmx_float_gap(&own, first + k), curvature = svmx_float_curvature(&own, first + k, unit);
        const float gain = svmx_float_gain(gap, curvature);
        SVMX_OWN(far) = gap > SVMX_OWN(far) ? gap : SVMX_OWN(far);
        SVMX_OWN(top) = gain > SVMX_OWN(top) ? gain : SVMX_OWN(top);
        if (!unit) {
            SVMX_OWN(flattest) = curvature < SVMX_OWN(flattest) ? curvature : SVMX_OWN(flattest);
            SVMX_OWN(steepest) = curvature > SVMX_OWN(steepest) ? curvature : SVMX_OWN(steepest);
        }
    })
    extremes->gap = SVMX_LARGEST(float, far);
    extremes->flattest = SVMX_LEAST(float, flattest);
    extremes->steepest = SVMX_LARGEST(float, steepest);
    const float gain = SVMX_LARGEST(float, top);
    extremes->gain = SVMX_LARGER(gain, extremes->gain);
    return gain;
#endif
}

/* Largest float gains, one for each strip, into ``tops``. Returns the least that a strip must have for its best pair to be
 * maybe the best of all, and in *gap as svmx_partner. */
SVMX_INLINE float svmx_survey(const svmx_pairing *pair, int64_t n, const int unit, double eps, float *SVMX_RESTRICT tops,
                              double *gap)
{
    const svmx_top none = {0};
    svmx_extremes extremes = {none, none, none + 1.0f, none};
    int64_t k = 0;
    for (; k + SVMX_STRIP <= n; k += SVMX_STRIP)
        *SVMX_TOP_AT(tops, k) = svmx_float_gains(pair, k, SVMX_STRIP, unit, &extremes);
    if (k < n) { /* the last ones, some of them twice */
        const svmx_top top = svmx_float_gains(pair, k, (n - k) & -SVMX_TAIL, unit, &extremes);
        const svmx_top last = svmx_float_gains(pair, n - SVMX_TAIL, SVMX_TAIL, unit, &extremes);
        *SVMX_TOP_AT(tops, k) = SVMX_LARGER(last, top);
    }
    const float best = SVMX_TOP_FLOAT(extremes.gain);
    *gap = SVMX_TOP_FLOAT(extremes.gap); /* rounding is monotonic: this is the largest of them, rounded */
    if (*gap <= eps * (1 + SVMX_SLACK) + SVMX_TINY || *gap > SVMX_HUGE)
        *gap = svmx_exact_gap(pair, n);
    if (best < SVMX_TINY || best > SVMX_HUGE
        || (!unit && (-SVMX_TOP_FLOAT(-extremes.flattest) < SVMX_FLAT || SVMX_TOP_FLOAT(extremes.steepest) > SVMX_STEEP)))
        return 0.0f;
    return best * (float)(1 - 2 * SVMX_SLACK);
}

#ifdef SVMX_SCANS
/* A bit for each position of a stretch: 1 if its float gain is at least ``bar``, or unknown (0 / 0). */
SVMX_INLINE uint32_t svmx_promising(const svmx_pairing *pair, int64_t first, float bar, const int unit)
{
    const svmx_pairing own = *pair;
    const svmx_floats bars = (svmx_floats){0} + bar;
    uint32_t hits = 0;
    SVMX_UNROLL
    for (int k = 0; k < SVMX_STRETCH_OF; k += SVMX_FLOAT_WIDTH) {
        const svmx_floats gaps = svmx_vector_gaps(&own, first + k);
        hits |= SVMX_NOT_LESS(gaps * gaps / svmx_vector_curvatures(&own, first + k, unit), bars) << k;
    }
    return hits;
}

/* The same: 0 if it is not further apart than the best, and of no less curvature. Then its gain is no larger, since rounding
 * changes no order: of many equal rows, as in w7a, one is compared. If ``unit``, kernel values say which curvature is
 * larger. Not inline: seldom needed, and it costs registers. */
static uint32_t svmx_surpassing(const svmx_pairing *pair, int64_t first, const svmx_best_pair *best, int unit)
{
    const svmx_doubles apart = (svmx_doubles){0} + best->apart, curvature = (svmx_doubles){0} + best->curvature;
    uint32_t no_further = 0, no_flatter = 0, inside = UINT32_MAX;
    if (best->k < 0)
        return UINT32_MAX;
    if (unit) {
        const float own = pair->K[best->k];
        /* 2 - 2 K is 2 from 0 to 2^-54, and it grows where K is negative */
        const svmx_floats K = (svmx_floats){0} + (own < 0.0f || own > 0x1p-54f ? own : 0x1p-54f);
        SVMX_UNROLL
        for (int k = 0; k < SVMX_STRETCH_OF; k += SVMX_WIDTH)
            no_further |= SVMX_NOT_MORE(pair->Vmax - SVMX_DOUBLES(pair->V + first + k), apart) << k;
        inside = 0;
        SVMX_UNROLL
        for (int k = 0; k < SVMX_STRETCH_OF; k += SVMX_FLOAT_WIDTH) {
            inside |= SVMX_NOT_LESS((svmx_floats){0}, SVMX_FLOATS(pair->low + first + k)) << k;
            const svmx_floats no_nan = SVMX_MIN_FLOATS(SVMX_FLOATS(pair->K + first + k), (svmx_floats){0} + HUGE_VALF);
            no_flatter |= SVMX_NOT_LESS(K, no_nan) << k;
        }
    } else {
        SVMX_UNROLL
        for (int k = 0; k < SVMX_STRETCH_OF; k += SVMX_WIDTH) {
            const int64_t at = first + k;
            const svmx_doubles own = pair->Vmax - (SVMX_DOUBLES(pair->V + at) + SVMX_WIDENED(pair->low + at));
            no_further |= SVMX_NOT_MORE(own, apart) << k;
            no_flatter |= SVMX_NOT_MORE(curvature, svmx_exact_curvatures(pair, at)) << k;
        }
    }
    return inside & ~(no_further & no_flatter);
}

/* Makes k the best, and returns 1, if its gain is larger. */
SVMX_INLINE int svmx_compare(const svmx_pairing *pair, int64_t k, svmx_best_pair *best)
{
    const double apart = pair->Vmax - (pair->V[k] + pair->low[k]);
    double curvature = pair->QD_i + pair->QD[k] - 2.0 * pair->K[k];
    curvature = curvature > 0 ? curvature : SVMX_TAU;
    const double gain = apart > 0 ? apart * apart / curvature : -HUGE_VAL;
    if (gain > best->gain) {
        *best = (svmx_best_pair){k, gain, apart, curvature, best->ties};
        return 1;
    }
    return 0;
}

/* Compares a stretch with the best, the last position first, which so wins a tie; those of a float gain below ``bar`` are
 * left out. */
SVMX_INLINE void svmx_compare_stretch(const svmx_pairing *pair, int64_t first, float bar, const int unit,
                                      svmx_best_pair *best)
{
    uint32_t hits = best->ties ? svmx_surpassing(pair, first, best, unit) : UINT32_MAX;
    if (hits)
        hits &= svmx_promising(pair, first, bar, unit);
    if (!best->ties && (hits & (hits - 1))) {
        hits &= svmx_surpassing(pair, first, best, unit);
        best->ties = best->k >= 0 && !hits;
    }
    while (hits) {
        const int k = svmx_last_bit(hits);
        hits &= ~(UINT32_C(1) << k);
        if (svmx_compare(pair, first + k, best) && hits)
            hits &= svmx_surpassing(pair, first, best, unit);
    }
}
#else
SVMX_INLINE void svmx_compare_stretch(const svmx_pairing *pair, int64_t first, float bar, const int unit,
                                      svmx_best_pair *best)
{
    const svmx_pairing own = *pair;
    double gains[SVMX_STRETCH_OF], unused;
    int hit = 0;
    for (int64_t k = first; k < first + SVMX_STRETCH_OF; ++k)
        hit |= !(svmx_float_gain(svmx_float_gap(&own, k), svmx_float_curvature(&own, k, unit)) < bar);
    const double top = hit ? svmx_exact_gains(&own, first, SVMX_STRETCH_OF, gains, &unused) : -HUGE_VAL;
    if (top > best->gain) {
        best->gain = top;
        for (best->k = SVMX_STRETCH_OF - 1; gains[best->k] != top;)
            --best->k;
        best->k += first;
    }
}
#endif

/* Last k of the largest pair gain over I_low, -1 if there is no partner. *largest: that gain; *gap: max over I_low of
 * V_i - V_k, rounded to float if it is surely more than eps. tops: scratch, see SVMX_PER_TOP. */
int64_t SVMX_LOOP(partner)(const svmx_pairing *pair, int64_t n, double eps, float *tops, double *largest,
                           double *gap)
{
    svmx_best_pair best = {-1, -HUGE_VAL, 0.0, HUGE_VAL, 0};
    if (n <= SVMX_FEW) {
        double gains[SVMX_FEW];
        *largest = svmx_exact_gains(pair, 0, n, gains, gap);
        int64_t k = *largest > -HUGE_VAL ? n - 1 : -1;
        while (k >= 0 && gains[k] != *largest)
            --k;
        return k;
    }
    const float bar = pair->unit ? svmx_survey(pair, n, 1, eps, tops, gap) : svmx_survey(pair, n, 0, eps, tops, gap);
    for (int64_t end = n, start; end > 0; end = start) {
        start = (end - 1) / SVMX_STRIP * SVMX_STRIP;
        if (!svmx_reach(*SVMX_TOP_AT(tops, start), bar))
            continue;
        for (int64_t rest = end; rest > start; rest -= SVMX_STRETCH_OF) {
            /* the last one of a short block begins before the block */
            const int64_t first = rest > SVMX_STRETCH_OF ? rest - SVMX_STRETCH_OF : 0;
            if (pair->unit)
                svmx_compare_stretch(pair, first, bar, 1, &best);
            else
                svmx_compare_stretch(pair, first, bar, 0, &best);
        }
    }
    *largest = best.gain;
    return best.k;
}

/* Rows of the RBF kernel: the one place where multiplications and additions may be fused and sums be rearranged.
 *
 * That costs no bit. LIBSVM's value as a double, before it is rounded to a float, lies within a relative error of the
 * value computed here. Both ends of that interval are rounded to floats; rounding never changes an order, so where the two
 * floats are equal LIBSVM's is the same. The few others are in doubt and computed again as LIBSVM does, in its order and
 * with libm's exp. So a polynomial of degree 8 will do (one value in 20,000 is in doubt), subnormal floats need no special
 * case, and dot products of dense rows stay in registers until they are floats.
 */
#include "simd.h"

#ifdef __AVX512F__
/* p 2^k, 0 where that is too small for a double: no exponent needs to be cut off before. */
#define SVMX_SCALED(p, k) ((svmx_doubles)_mm512_scalef_pd((__m512d)(p), (__m512d)(k)))
#endif

/* 2^r for |r| <= 1/2, the best polynomial of degree 8 for the relative error, 0.86 2^-40. */
#define C0 0x1.ffffffffff7a3p-1
#define C1 0x1.62e42fef86160p-1
#define C2 0x1.ebfbdff9319d0p-3
#define C3 0x1.c6b08dd46d011p-5
#define C4 0x1.3b2ab5c52a45bp-7
#define C5 0x1.5d87483892c91p-10
#define C6 0x1.430acca1cd4a3p-13
#define C7 0x1.00dad22c7b4eep-16
#define C8 0x1.61afcff7d86c7p-20
#define SHIFTER 0x1.8p52 /* adding it leaves the nearest integer in the low bits */
/* Below it all floats are 0, even times the largest ratio, e^202; above it, infinite. */
#define LEAST_EXPONENT (-1000.0)
#define MOST_EXPONENT 1000.0
#define LOG2_OF_LEAST (-SVMX_EXP_ERROR * 1.4427)

#define SVMX_MOST_GROUP (SVMX_BYTES == 64 ? 8 : 4)

/* 2^t lies between *below and *above, which are (float)e and (float)(e ratio). */
SVMX_INLINE void svmx_bracket(svmx_doubles t, double ratio, float *below, float *above)
{
#if defined(SVMX_SCANS) && !defined(SVMX_SCALED)
    t = SVMX_MAX((svmx_doubles){0} + LEAST_EXPONENT, t); /* what is not a number stays */
#elif !defined(SVMX_SCALED)
    const svmx_doubles least = (svmx_doubles){0} + LEAST_EXPONENT;
    const svmx_words small = t < least;
    t = (svmx_doubles)(((svmx_words)least & small) | ((svmx_words)t & ~small));
#endif
    const svmx_doubles shifted = t + SHIFTER;
    const svmx_doubles whole = shifted - SHIFTER, r = t - whole;
    svmx_doubles p = r * C8 + C7;
    p = p * r + C6;
    p = p * r + C5;
    p = p * r + C4;
    p = p * r + C3;
    p = p * r + C2;
    p = p * r + C1;
    p = p * r + C0;
#ifdef SVMX_SCALED
    const svmx_doubles e = SVMX_SCALED(p, whole);
#else
    const svmx_doubles e = (svmx_doubles)((svmx_words)p + ((svmx_words)shifted << 52));
#endif
    *(svmx_half_floats *)below = __builtin_convertvector(e, svmx_half_floats);
    *(svmx_half_floats *)above = __builtin_convertvector(e * ratio, svmx_half_floats);
}

/* From LIBSVM's dot products; n is a multiple of SVMX_PANEL. */
static void svmx_from_dots(int64_t n, const double *dots, const double *squares, double square, double neg_gamma,
                           float *below, float *above)
{
    const svmx_doubles most = (svmx_doubles){0} + MOST_EXPONENT;
    for (int64_t k = 0; k < n; k += SVMX_WIDTH) {
        /* 2 d is exact, so fusing it changes nothing: x is LIBSVM's */
        const svmx_doubles x = neg_gamma * (square + SVMX_DOUBLES(squares + k) - 2 * SVMX_DOUBLES(dots + k));
        svmx_doubles t = x * SVMX_LOG2_E + LOG2_OF_LEAST;
        const svmx_words large = t > most;
        t = (svmx_doubles)(((svmx_words)most & large) | ((svmx_words)t & ~large));
        svmx_bracket(t, 1 + 2.01 * SVMX_EXP_ERROR, below + k, above + k);
    }
}

/* Values from dot products with a vector of targets. */
SVMX_INLINE void svmx_of_dots(svmx_doubles dots, const svmx_targets *targets, int64_t begin, svmx_source source, float *below,
                              float *above)
{
    const svmx_doubles squares = SVMX_DOUBLES(targets->squares + begin) * targets->of_square + source.of_square;
    svmx_bracket(dots * targets->of_dot + squares, source.ratio, below, above);
}

/* Panels from target ``begin`` on with one row, given by its nonzeros. */
SVMX_INLINE void svmx_row(int64_t begin, int64_t n_panels, const svmx_targets *targets, int64_t nnz, const int32_t *index,
                          svmx_numbers value, svmx_source source, float *below, float *above, const int panels_in_float,
                          const int row_in_float)
{
    for (int64_t p = 0; p < n_panels; ++p) {
        const int64_t panel = (begin + p * SVMX_PANEL) * targets->n_features;
        svmx_doubles dots[SVMX_PANEL / SVMX_WIDTH] = {{0}};
        for (int64_t k = 0; k < nnz; ++k) {
            const int64_t lanes = panel + (int64_t)index[k] * SVMX_PANEL;
            const double x = svmx_number(value, k, row_in_float);
            SVMX_UNROLL
            for (int v = 0; v < SVMX_PANEL / SVMX_WIDTH; ++v)
                dots[v] += svmx_lanes(targets->panels, lanes + v * SVMX_WIDTH, panels_in_float) * x;
        }
        SVMX_UNROLL
        for (int v = 0; v < SVMX_PANEL / SVMX_WIDTH; ++v) {
            const int64_t at = p * SVMX_PANEL + v * SVMX_WIDTH;
            svmx_of_dots(dots[v], targets, begin + at, source, below + at, above + at);
        }
    }
}

/* Targets in place of which the sums stay in registers, vectors of features each. */
#define SVMX_AT_ONCE 8

SVMX_INLINE double svmx_sum_of_lanes(svmx_doubles x)
{
#ifdef __AVX512F__
    return _mm512_reduce_add_pd((__m512d)x);
#elif SVMX_WIDTH == 4
    return (x[0] + x[2]) + (x[1] + x[3]);
#else
    return x[0] + x[1];
#endif
}

/* The same as svmx_row of dense rows, in place; the next ones are fetched meanwhile, as they may lie anywhere. */
SVMX_INLINE void svmx_row_in_place(int64_t begin, int64_t n_panels, const svmx_targets *targets, svmx_numbers value,
                                   svmx_source source, float *below, float *above, const int in_float)
{
    const int64_t n = targets->n_features - 1, rest = n & -SVMX_STEP, end = n_panels * SVMX_PANEL;
    const int32_t *rows = targets->rows + begin;
    double dots[SVMX_RBF_TILE], last[SVMX_STEP] = {0}; /* the last step of a row, 0 for the features before ``rest`` */
    for (int64_t k = rest; k < n; ++k)
        last[k - (n - SVMX_STEP)] = svmx_number(value, k, in_float);
    for (int64_t j = 0; j < end; j += SVMX_AT_ONCE) {
        svmx_doubles sum[SVMX_AT_ONCE] = {{0}};
        int64_t at[SVMX_AT_ONCE], next[SVMX_AT_ONCE];
        SVMX_UNROLL
        for (int r = 0; r < SVMX_AT_ONCE; ++r) {
            at[r] = rows[j + r] * n;
            next[r] = rows[j + SVMX_AT_ONCE < end ? j + SVMX_AT_ONCE + r : r] * n;
        }
        for (int64_t k = 0; k < rest; k += SVMX_STEP) {
            SVMX_UNROLL
            for (int r = 0; r < SVMX_AT_ONCE; ++r)
                __builtin_prefetch(in_float ? (const void *)(targets->panels.in_float + next[r] + k)
                                            : (const void *)(targets->panels.in_double + next[r] + k));
            SVMX_UNROLL
            for (int q = 0; q < SVMX_STEP; q += SVMX_WIDTH) {
                const svmx_doubles x = svmx_lanes(value, k + q, in_float);
                SVMX_UNROLL
                for (int r = 0; r < SVMX_AT_ONCE; ++r)
                    sum[r] += svmx_lanes(targets->panels, at[r] + k + q, in_float) * x;
            }
        }
        SVMX_UNROLL
        for (int r = 0; r < SVMX_AT_ONCE; ++r) {
            SVMX_UNROLL
            for (int q = 0; q < SVMX_STEP; q += SVMX_WIDTH)
                sum[r] += svmx_lanes(targets->panels, at[r] + n - SVMX_STEP + q, in_float) * SVMX_DOUBLES(last + q);
            dots[j + r] = svmx_sum_of_lanes(sum[r]);
        }
    }
    for (int64_t j = 0; j < end; j += SVMX_WIDTH)
        svmx_of_dots(SVMX_DOUBLES(dots + j), targets, begin + j, source, below + j, above + j);
}

static void svmx_from_row(int64_t begin, int64_t n_panels, const svmx_targets *targets, int64_t nnz, const int32_t *index,
                          svmx_numbers value, svmx_source source, float *below, float *above)
{
    if (targets->rows && value.in_float)
        svmx_row_in_place(begin, n_panels, targets, value, source, below, above, 1);
    else if (targets->rows)
        svmx_row_in_place(begin, n_panels, targets, value, source, below, above, 0);
    else if (targets->panels.in_float)
        svmx_row(begin, n_panels, targets, nnz, index, value, source, below, above, 1, 1);
    else if (value.in_float)
        svmx_row(begin, n_panels, targets, nnz, index, value, source, below, above, 0, 1);
    else
        svmx_row(begin, n_panels, targets, nnz, index, value, source, below, above, 0, 0);
}

/* The panel that begins at target ``begin`` with ``group`` rows from ``first`` on, which come feature by feature,
 * SVMX_SOURCES values each: the stretch of features at ``from``. Two vectors of targets at a time. ``sums`` is what earlier
 * stretches have left, SVMX_PANEL a row. After the last one, floats of row s are put to s * SVMX_RBF_BLOCK; of rows beyond
 * ``count`` nothing comes out. */
SVMX_INLINE void svmx_group(const int group, int first, int count, const svmx_targets *targets, int64_t begin, int64_t from,
                            const double *rows, const svmx_source *sources, double *sums, float *below, float *above,
                            const int in_float)
{
    const int64_t panel = begin * targets->n_features;
    const int is_last = targets->n_features - from <= SVMX_FEATURES;
    const int64_t to = is_last ? targets->n_features : from + SVMX_FEATURES;
    for (int64_t lane = 0; lane < SVMX_PANEL; lane += 2 * SVMX_WIDTH) {
        double *carried = sums + first * SVMX_PANEL + lane;
        svmx_doubles dots[2 * SVMX_MOST_GROUP] = {{0}};
        if (from > 0) {
            SVMX_UNROLL
            for (int s = 0; s < group; ++s) {
                dots[2 * s] = SVMX_DOUBLES(carried + s * SVMX_PANEL);
                dots[2 * s + 1] = SVMX_DOUBLES(carried + s * SVMX_PANEL + SVMX_WIDTH);
            }
        }
        for (int64_t f = from; f < to; ++f) {
            const svmx_doubles x = svmx_lanes(targets->panels, panel + f * SVMX_PANEL + lane, in_float);
            const svmx_doubles y = svmx_lanes(targets->panels, panel + f * SVMX_PANEL + lane + SVMX_WIDTH, in_float);
            const double *values = rows + f * SVMX_SOURCES + first;
            SVMX_UNROLL
            for (int s = 0; s < group; ++s) {
                dots[2 * s] += x * values[s];
                dots[2 * s + 1] += y * values[s];
            }
        }
        if (!is_last) {
            SVMX_UNROLL
            for (int s = 0; s < group; ++s) {
                SVMX_STORE(carried + s * SVMX_PANEL, dots[2 * s]);
                SVMX_STORE(carried + s * SVMX_PANEL + SVMX_WIDTH, dots[2 * s + 1]);
            }
            continue;
        }
        const double *squares = targets->squares + begin + lane;
        const svmx_doubles x = SVMX_DOUBLES(squares) * targets->of_square;
        const svmx_doubles y = SVMX_DOUBLES(squares + SVMX_WIDTH) * targets->of_square;
        SVMX_UNROLL
        for (int s = 0; s < group; ++s)
            if (first + s < count) {
                const svmx_source source = sources[first + s];
                float *low = below + (first + s) * SVMX_RBF_BLOCK + lane, *high = above + (first + s) * SVMX_RBF_BLOCK + lane;
                svmx_bracket(dots[2 * s] * targets->of_dot + (x + source.of_square), source.ratio, low, high);
                svmx_bracket(dots[2 * s + 1] * targets->of_dot + (y + source.of_square), source.ratio, low + SVMX_WIDTH,
                             high + SVMX_WIDTH);
            }
    }
}

/* ``count`` rows with the n targets from ``begin`` on, in groups whose sums, two vectors a row, fit the registers: sixteen of
 * 32 in AVX-512, else eight of 16. */
SVMX_INLINE void svmx_block(int64_t begin, int64_t n, int count, const svmx_targets *targets, const double *rows,
                            const svmx_source *sources, float *below, float *above, const int in_float)
{
    double sums[SVMX_SOURCES * SVMX_PANEL];
    for (int64_t k = 0; k < n; k += SVMX_PANEL) {
        int64_t from = 0;
        do {
            for (int first = 0; first < count; first += SVMX_MOST_GROUP)
                if (count - first > SVMX_MOST_GROUP / 2)
                    svmx_group(SVMX_MOST_GROUP, first, count, targets, begin + k, from, rows, sources, sums, below + k,
                               above + k, in_float);
                else
                    svmx_group(SVMX_MOST_GROUP / 2, first, count, targets, begin + k, from, rows, sources, sums, below + k,
                               above + k, in_float);
            from += SVMX_FEATURES;
        } while (from < targets->n_features);
    }
}

/* The same in place; lanes are sources, ``parts`` vectors of them. */
SVMX_INLINE void svmx_block_in_place(const int parts, int64_t begin, int64_t n, int count, const svmx_targets *targets,
                                     const double *rows, const svmx_source *sources, float *below, float *above,
                                     const int in_float)
{
    const int together = (SVMX_BYTES == 64 && parts == 2 ? 16 : 8) / parts;
    const int64_t n_values = targets->n_features - 1;
    double widened[SVMX_AT_ONCE * SVMX_FEATURES], dots[SVMX_PANEL * SVMX_SOURCES];
    for (int64_t k = 0; k < n; k += SVMX_PANEL) {
        for (int lane = 0; lane < SVMX_PANEL; lane += together) {
            svmx_doubles sum[SVMX_SOURCES] = {{0}};
            for (int64_t from = 0; from < n_values; from += SVMX_FEATURES) {
                const int64_t size = n_values - from < SVMX_FEATURES ? n_values - from : SVMX_FEATURES;
                const double *at[SVMX_AT_ONCE], *of_sources = rows + (from + 1) * SVMX_SOURCES;
                SVMX_UNROLL
                for (int r = 0; r < together; ++r) {
                    const int64_t first = targets->rows[begin + k + lane + r] * n_values + from;
                    const int64_t later = k + lane + together + r;
                    const int64_t next = targets->rows[begin + (later < n ? later : r)] * n_values + from;
                    at[r] = in_float ? widened + r * SVMX_FEATURES : targets->panels.in_double + first;
                    for (int64_t f = 0; f < size; f += SVMX_STEP * (1 + in_float))
                        __builtin_prefetch(in_float ? (const void *)(targets->panels.in_float + next + f)
                                                    : (const void *)(targets->panels.in_double + next + f));
                    int64_t f = 0;
                    for (; in_float && f + SVMX_WIDTH <= size; f += SVMX_WIDTH)
                        SVMX_STORE(widened + r * SVMX_FEATURES + f, svmx_lanes(targets->panels, first + f, 1));
                    for (; in_float && f < size; ++f)
                        widened[r * SVMX_FEATURES + f] = targets->panels.in_float[first + f];
                }
                for (int64_t f = 0; f < size; ++f, of_sources += SVMX_SOURCES) {
                    svmx_doubles x[SVMX_SOURCES / SVMX_WIDTH];
                    SVMX_UNROLL
                    for (int q = 0; q < parts; ++q)
                        x[q] = SVMX_DOUBLES(of_sources + q * SVMX_WIDTH);
                    SVMX_UNROLL
                    for (int r = 0; r < together; ++r)
                        SVMX_UNROLL
                        for (int q = 0; q < parts; ++q)
                            sum[r * parts + q] += x[q] * at[r][f];
                }
            }
            SVMX_UNROLL
            for (int r = 0; r < together; ++r)
                SVMX_UNROLL
                for (int s = 0; s < parts * SVMX_WIDTH; ++s)
                    dots[s * SVMX_PANEL + lane + r] = sum[r * parts + s / SVMX_WIDTH][s % SVMX_WIDTH];
        }
        for (int s = 0; s < count; ++s)
            for (int v = 0; v < SVMX_PANEL; v += SVMX_WIDTH) {
                const int64_t at = s * SVMX_RBF_BLOCK + k + v;
                svmx_of_dots(SVMX_DOUBLES(dots + s * SVMX_PANEL + v), targets, begin + k + v, sources[s], below + at,
                             above + at);
            }
    }
}

SVMX_INLINE void svmx_from_block_in_place(int64_t begin, int64_t n, int count, const svmx_targets *targets,
                                          const double *rows, const svmx_source *sources, float *below, float *above,
                                          const int in_float)
{
    if (count > SVMX_SOURCES / 2)
        svmx_block_in_place(SVMX_SOURCES / SVMX_WIDTH, begin, n, count, targets, rows, sources, below, above, in_float);
    else
        svmx_block_in_place(SVMX_SOURCES / SVMX_WIDTH / 2, begin, n, count, targets, rows, sources, below, above, in_float);
}

static void svmx_from_block(int64_t begin, int64_t n, int count, const svmx_targets *targets, const double *rows,
                            const svmx_source *sources, float *below, float *above)
{
    if (targets->rows && targets->panels.in_float)
        svmx_from_block_in_place(begin, n, count, targets, rows, sources, below, above, 1);
    else if (targets->rows)
        svmx_from_block_in_place(begin, n, count, targets, rows, sources, below, above, 0);
    else if (targets->panels.in_float)
        svmx_block(begin, n, count, targets, rows, sources, below, above, 1);
    else
        svmx_block(begin, n, count, targets, rows, sources, below, above, 0);
}

/* Whether there are differences. Copies ``below``. */
static int svmx_settle(int64_t n, const float *SVMX_RESTRICT below, const float *SVMX_RESTRICT above,
                       float *SVMX_RESTRICT out)
{
    int differ = 0;
    for (int64_t k = 0; k < n; ++k) {
        differ |= below[k] != above[k];
        out[k] = below[k];
    }
    return differ;
}

/* The same; returns how many differences there are, and their places in ``doubtful``. */
static int64_t svmx_settle_places(int64_t n, const float *below, const float *above, float *out, int32_t *doubtful)
{
    int64_t n_doubtful = 0;
    if (svmx_settle(n, below, above, out))
        for (int64_t k = 0; k < n; ++k) {
            doubtful[n_doubtful] = (int32_t)k;
            n_doubtful += below[k] != above[k];
        }
    return n_doubtful;
}

/* out[j] = (float)exp(neg_gamma * (sq_i + sq[j] - 2 dots[j])) for j in [0, n), the floats that LIBSVM rounds to. */
void SVMX_LOOP(rbf_row)(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, float *out)
{
    float below[SVMX_RBF_TILE], above[SVMX_RBF_TILE];
    int32_t doubtful[SVMX_RBF_TILE];
    for (int64_t start = 0; start < n; start += SVMX_RBF_TILE) {
        const int64_t m = n - start < SVMX_RBF_TILE ? n - start : SVMX_RBF_TILE, full = m & -SVMX_PANEL;
        svmx_from_dots(full, dots + start, sq + start, sq_i, neg_gamma, below, above);
        if (full < m) {
            double last_dots[SVMX_PANEL] = {0}, last_sq[SVMX_PANEL] = {0};
            memcpy(last_dots, dots + start + full, (size_t)(m - full) * sizeof(double));
            memcpy(last_sq, sq + start + full, (size_t)(m - full) * sizeof(double));
            svmx_from_dots(SVMX_PANEL, last_dots, last_sq, sq_i, neg_gamma, below + full, above + full);
        }
        const int64_t n_doubtful = svmx_settle_places(m, below, above, out + start, doubtful);
        for (int64_t d = 0; d < n_doubtful; ++d) {
            const int64_t k = start + doubtful[d];
            out[k] = (float)exp(neg_gamma * (sq_i + sq[k] - 2 * dots[k]));
        }
    }
}

/* ---- dense rows in one pass --------------------------------------------------------------------------- */

/* Floats of one row, given by its nonzeros, in float if the panels are, with the n targets from ``begin`` on, a multiple of
 * SVMX_PANEL. Returns how many are in doubt, and their places in ``doubtful``. */
int64_t SVMX_LOOP(rbf_one)(const svmx_targets *targets, int64_t begin, int64_t n, int64_t nnz, const int32_t *index,
                           svmx_numbers value, svmx_source source, float *out, int32_t *doubtful)
{
    float below[SVMX_RBF_TILE], above[SVMX_RBF_TILE];
    below[0] = above[0] = 0.0f; /* the compiler does not know that n is not 0 */
    svmx_from_row(begin, (n + SVMX_PANEL - 1) / SVMX_PANEL, targets, nnz, index, value, source, below, above);
    return svmx_settle_places(n, below, above, out, doubtful);
}

/* The same of ``count`` rows, feature by feature, SVMX_SOURCES values each; row s to out[s] + begin, the places of its
 * n_doubtful[s] values in doubt at doubtful + s * SVMX_RBF_BLOCK. */
void SVMX_LOOP(rbf_block)(const svmx_targets *targets, int64_t begin, int64_t n, int count, const double *rows,
                          const svmx_source *sources, float *const *out, int64_t *n_doubtful, int32_t *doubtful)
{
    float below[SVMX_SOURCES * SVMX_RBF_BLOCK], above[SVMX_SOURCES * SVMX_RBF_BLOCK];
    svmx_from_block(begin, n, count, targets, rows, sources, below, above);
    for (int s = 0; s < count; ++s)
        n_doubtful[s] = svmx_settle_places(n, below + s * SVMX_RBF_BLOCK, above + s * SVMX_RBF_BLOCK, out[s] + begin,
                                           doubtful + s * SVMX_RBF_BLOCK);
}

/* The loops of rbf.c for vectors of SVMX_BYTES bytes; rbf.c includes this file once for each width that it offers.
 *
 * GCC and Clang take vectors of any size, but hold those that are wider than a register in memory, which costs ten times
 * what they save. So the loops are compiled for each width, instead of cloned. Names end with the width: SVMX_AT.
 */
typedef double SVMX_AT(doubles) __attribute__((vector_size(SVMX_BYTES), aligned(8), may_alias));
typedef int64_t SVMX_AT(words) __attribute__((vector_size(SVMX_BYTES)));
typedef float SVMX_AT(floats) __attribute__((vector_size(SVMX_BYTES / 2), aligned(4), may_alias));

#define WIDTH (SVMX_BYTES / 8)
#define SVMX_MOST_GROUP (SVMX_BYTES == 64 ? 8 : 4)
#define DOUBLES(p) (*(const SVMX_AT(doubles) *)(p))

/* 2^t lies between *below and *above, which are (float)e and (float)(e ratio). */
SVMX_INLINE SVMX_TARGET void SVMX_AT(bracket)(SVMX_AT(doubles) t, double ratio, float *below, float *above)
{
#ifndef SVMX_SCALED
    const SVMX_AT(doubles) least = (SVMX_AT(doubles)){0} + LEAST_EXPONENT;
    const SVMX_AT(words) small = t < least;
    t = (SVMX_AT(doubles))(((SVMX_AT(words))least & small) | ((SVMX_AT(words))t & ~small));
#endif
    const SVMX_AT(doubles) shifted = t + SHIFTER;
    const SVMX_AT(doubles) whole = shifted - SHIFTER, r = t - whole;
    SVMX_AT(doubles) p = r * C8 + C7;
    p = p * r + C6;
    p = p * r + C5;
    p = p * r + C4;
    p = p * r + C3;
    p = p * r + C2;
    p = p * r + C1;
    p = p * r + C0;
#ifdef SVMX_SCALED
    const SVMX_AT(doubles) e = SVMX_SCALED(p, whole);
#else
    const SVMX_AT(doubles) e = (SVMX_AT(doubles))((SVMX_AT(words))p + ((SVMX_AT(words))shifted << 52));
#endif
    *(SVMX_AT(floats) *)below = __builtin_convertvector(e, SVMX_AT(floats));
    *(SVMX_AT(floats) *)above = __builtin_convertvector(e * ratio, SVMX_AT(floats));
}

/* From LIBSVM's dot products; n is a multiple of SVMX_PANEL. */
static SVMX_TARGET void SVMX_AT(from_dots)(int64_t n, const double *dots, const double *squares, double square,
                                           double neg_gamma, float *below, float *above)
{
    const SVMX_AT(doubles) most = (SVMX_AT(doubles)){0} + MOST_EXPONENT;
    for (int64_t k = 0; k < n; k += WIDTH) {
        /* 2 d is exact, so fusing it changes nothing: x is LIBSVM's */
        const SVMX_AT(doubles) x = neg_gamma * (square + DOUBLES(squares + k) - 2 * DOUBLES(dots + k));
        SVMX_AT(doubles) t = x * LOG2_E + LOG2_OF_LEAST;
        const SVMX_AT(words) large = t > most;
        t = (SVMX_AT(doubles))(((SVMX_AT(words))most & large) | ((SVMX_AT(words))t & ~large));
        SVMX_AT(bracket)(t, 1 + 2.01 * EXP_ERROR, below + k, above + k);
    }
}

/* Panels with one row, given by its nonzeros. */
static SVMX_TARGET void SVMX_AT(from_row)(int64_t n_panels, const svmx_targets *targets, int64_t nnz,
                                          const int32_t *index, const double *value, svmx_source source, float *below,
                                          float *above)
{
    for (int64_t p = 0; p < n_panels; ++p) {
        const double *panel = targets->panels + p * targets->n_features * SVMX_PANEL;
        SVMX_AT(doubles) dots[SVMX_PANEL / WIDTH] = {{0}};
        for (int64_t k = 0; k < nnz; ++k) {
            const double *lanes = panel + (int64_t)index[k] * SVMX_PANEL;
            SVMX_UNROLL
            for (int v = 0; v < SVMX_PANEL / WIDTH; ++v)
                dots[v] += DOUBLES(lanes + v * WIDTH) * value[k];
        }
        SVMX_UNROLL
        for (int v = 0; v < SVMX_PANEL / WIDTH; ++v) {
            const int64_t at = p * SVMX_PANEL + v * WIDTH;
            const SVMX_AT(doubles) squares = DOUBLES(targets->squares + at) * targets->of_square + source.of_square;
            SVMX_AT(bracket)(dots[v] * targets->of_dot + squares, source.ratio, below + at, above + at);
        }
    }
}

/* One panel with ``group`` rows from ``first`` on, feature by feature, SVMX_SOURCES values each; two vectors of targets at a
 * time. Of rows beyond ``count`` nothing comes out. */
SVMX_INLINE SVMX_TARGET void SVMX_AT(group)(const int group, int first, int count, const svmx_targets *targets,
                                            const double *panel, const double *squares, const double *rows,
                                            const svmx_source *sources, float *below, float *above)
{
    for (int64_t lane = 0; lane < SVMX_PANEL; lane += 2 * WIDTH) {
        SVMX_AT(doubles) dots[2 * SVMX_MOST_GROUP] = {{0}};
        for (int64_t f = 0; f < targets->n_features; ++f) {
            const SVMX_AT(doubles) x = DOUBLES(panel + f * SVMX_PANEL + lane);
            const SVMX_AT(doubles) y = DOUBLES(panel + f * SVMX_PANEL + lane + WIDTH);
            const double *values = rows + f * SVMX_SOURCES + first;
            SVMX_UNROLL
            for (int s = 0; s < group; ++s) {
                dots[2 * s] += x * values[s];
                dots[2 * s + 1] += y * values[s];
            }
        }
        const SVMX_AT(doubles) x = DOUBLES(squares + lane) * targets->of_square;
        const SVMX_AT(doubles) y = DOUBLES(squares + lane + WIDTH) * targets->of_square;
        SVMX_UNROLL
        for (int s = 0; s < group; ++s)
            if (first + s < count) {
                const svmx_source source = sources[first + s];
                float *low = below + (first + s) * SVMX_RBF_TILE + lane, *high = above + (first + s) * SVMX_RBF_TILE + lane;
                SVMX_AT(bracket)(dots[2 * s] * targets->of_dot + (x + source.of_square), source.ratio, low, high);
                SVMX_AT(bracket)(dots[2 * s + 1] * targets->of_dot + (y + source.of_square), source.ratio, low + WIDTH,
                                 high + WIDTH);
            }
    }
}

/* ``count`` rows with the n targets from ``begin`` on, in groups whose sums, two vectors a row, fit the registers: sixteen of
 * 32 in AVX-512, else eight of 16. Floats of row s come to SVMX_RBF_TILE places from s * SVMX_RBF_TILE on. */
static SVMX_TARGET void SVMX_AT(from_block)(int64_t begin, int64_t n, int count, const svmx_targets *targets,
                                            const double *rows, const svmx_source *sources, float *below, float *above)
{
    for (int first = 0; first < count; first += SVMX_MOST_GROUP) {
        for (int64_t k = 0; k < n; k += SVMX_PANEL) {
            const double *panel = targets->panels + (begin + k) * targets->n_features, *squares = targets->squares + begin + k;
            if (count - first > SVMX_MOST_GROUP / 2)
                SVMX_AT(group)(SVMX_MOST_GROUP, first, count, targets, panel, squares, rows, sources, below + k, above + k);
            else
                SVMX_AT(group)(SVMX_MOST_GROUP / 2, first, count, targets, panel, squares, rows, sources, below + k, above + k);
        }
    }
}

#undef SVMX_MOST_GROUP
#undef WIDTH
#undef DOUBLES

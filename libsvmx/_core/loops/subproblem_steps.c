/* Pair steps in float; see subproblem_steps.h. */
#include "simd.h"

typedef int32_t svmx_ints __attribute__((vector_size(SVMX_BYTES), aligned(4), may_alias));
#define SVMX_CHOOSE(m, a, b) ((svmx_floats)(((m) & (svmx_ints)(a)) | (~(m) & (svmx_ints)(b))))
#define SVMX_CHOOSE_INTS(m, a, b) (((m) & (a)) | (~(m) & (b)))

/* The lanes' own places. */
SVMX_INLINE svmx_ints svmx_ramp(void)
{
    svmx_ints places;
    for (int r = 0; r < SVMX_FLOAT_WIDTH; ++r)
        places[r] = r;
    return places;
}

/* The first place of the largest value, of two accumulators, whose lanes each have the first place of their largest. */
SVMX_INLINE int64_t svmx_leaf_winner(const svmx_floats *value, const svmx_ints *place, float *largest)
{
    const svmx_ints m = (value[1] > value[0]) | ((value[1] == value[0]) & (place[1] < place[0]));
    float v[SVMX_FLOAT_WIDTH], most[SVMX_FLOAT_WIDTH];
    int32_t p[SVMX_FLOAT_WIDTH], first = INT32_MAX;
    *(svmx_floats *)v = *(svmx_floats *)most = SVMX_CHOOSE(m, value[1], value[0]);
    *(svmx_ints *)p = SVMX_CHOOSE_INTS(m, place[1], place[0]);
    for (int half = SVMX_FLOAT_WIDTH / 2; half > 0; half /= 2)
        for (int r = 0; r < half; ++r)
            most[r] = most[r + half] > most[r] ? most[r + half] : most[r];
    for (int r = 0; r < SVMX_FLOAT_WIDTH; ++r) {
        const int32_t at = v[r] == most[0] ? p[r] : INT32_MAX;
        first = at < first ? at : first;
    }
    *largest = most[0];
    return first;
}

/* V -= step (K_i - K_j), and the place of the largest V + up afterwards; -1 if up is -inf throughout. */
int64_t SVMX_LOOP(leaf_move)(int64_t n, float *SVMX_RESTRICT V, const float *Ki, const float *Kj, float step,
                             const float *SVMX_RESTRICT up, float *top)
{
    svmx_floats best[2];
    svmx_ints at[2], here = svmx_ramp();
    best[0] = best[1] = (svmx_floats){0} - HUGE_VALF;
    at[0] = at[1] = (svmx_ints){0};
    for (int64_t k = 0; k < n; k += 2 * SVMX_FLOAT_WIDTH) {
        SVMX_UNROLL
        for (int u = 0; u < 2; ++u) {
            const int64_t p = k + SVMX_FLOAT_WIDTH * u;
            svmx_floats v = SVMX_FLOATS(V + p) - step * (SVMX_FLOATS(Ki + p) - SVMX_FLOATS(Kj + p));
            *(svmx_floats *)(V + p) = v;
            v += SVMX_FLOATS(up + p);
            const svmx_ints m = v > best[u];
            best[u] = SVMX_CHOOSE(m, v, best[u]);
            at[u] = SVMX_CHOOSE_INTS(m, here, at[u]);
            here += SVMX_FLOAT_WIDTH;
        }
    }
    const int64_t winner = svmx_leaf_winner(best, at, top);
    return *top == -HUGE_VALF ? -1 : winner;
}

/* The place of the largest gain (top - V)^2 / (K_ii + K_kk - 2 K_ik), at least 1e-12 below, over low, from row K_i and
 * own = K_ii; -1 if there is none. *widest: the largest top - V. */
int64_t SVMX_LOOP(leaf_partner)(int64_t n, const float *SVMX_RESTRICT V, const float *SVMX_RESTRICT low,
                                const float *SVMX_RESTRICT row, const float *SVMX_RESTRICT diagonal, float own,
                                float top, float *gain, float *widest)
{
    const svmx_floats floor = (svmx_floats){0} + 1e-12f;
    svmx_floats best[2], wide[2];
    svmx_ints at[2], here = svmx_ramp();
    best[0] = best[1] = wide[0] = wide[1] = (svmx_floats){0};
    at[0] = at[1] = (svmx_ints){0};
    for (int64_t k = 0; k < n; k += 2 * SVMX_FLOAT_WIDTH) {
        SVMX_UNROLL
        for (int u = 0; u < 2; ++u) {
            const int64_t p = k + SVMX_FLOAT_WIDTH * u;
            svmx_floats gap = top - (SVMX_FLOATS(V + p) + SVMX_FLOATS(low + p));
            svmx_ints m = gap > wide[u];
            wide[u] = SVMX_CHOOSE(m, gap, wide[u]);
            gap = SVMX_CHOOSE(gap > 0, gap, (svmx_floats){0});
            const svmx_floats curvature = own + SVMX_FLOATS(diagonal + p) - 2.0f * SVMX_FLOATS(row + p);
            const svmx_floats g = gap * gap / SVMX_CHOOSE(curvature > floor, curvature, floor);
            m = g > best[u];
            best[u] = SVMX_CHOOSE(m, g, best[u]);
            at[u] = SVMX_CHOOSE_INTS(m, here, at[u]);
            here += SVMX_FLOAT_WIDTH;
        }
    }
    svmx_leaf_winner(wide, at, widest);
    const int64_t winner = svmx_leaf_winner(best, at, gain);
    return *gain > 0 ? winner : -1;
}

/* Loops that look for breakpoints; see breakpoints.h. */
#include "simd.h"

SVMX_INLINE double svmx_speed(const svmx_waiting *w, int64_t v, int64_t row)
{
    return w->side[v] * (w->dlinear[v] - w->dF[row] - w->dlevel);
}

SVMX_INLINE double svmx_distance(const svmx_waiting *w, int64_t v, int64_t row)
{
    return w->side[v] * (w->level - (w->linear[v] - w->F[row]));
}

SVMX_INLINE double svmx_nearest_of(const svmx_waiting *w, const int per_row, double sharpness, double slowest,
                                   double nearest)
{
    const svmx_waiting own = *w; /* in registers */
    SVMX_APART(double, least, nearest);
    SVMX_ANY_ORDER(v, own.n, reduction(min : least), {
        const double speed = svmx_speed(&own, v, v / per_row);
        const double distance = svmx_distance(&own, v, v / per_row);
        const double length = ((distance > 0.0 ? distance : 0.0) + sharpness) / (speed > slowest ? speed : 1e-300);
        SVMX_OWN(least) = length < SVMX_OWN(least) ? length : SVMX_OWN(least);
    })
    return SVMX_LEAST(double, least);
}

/* The least length at which a variable comes within ``sharpness`` of the level, or ``nearest`` if that is less. Speeds up
 * to ``slowest`` are none. */
double SVMX_LOOP(nearest)(const svmx_waiting *w, double sharpness, double slowest, double nearest)
{
    return w->per_row == 1 ? svmx_nearest_of(w, 1, sharpness, slowest, nearest)
                           : svmx_nearest_of(w, 2, sharpness, slowest, nearest);
}

/* How many of variables [begin, end) get there within ``nearest``, faster than ``speed``. */
SVMX_INLINE int64_t svmx_arrivals(const svmx_waiting *w, const int per_row, int64_t begin, int64_t end, double nearest,
                                  double speed)
{
    const svmx_waiting own = *w;
    int64_t count = 0;
    for (int64_t v = begin; v < end; ++v) {
        const double fast = svmx_speed(&own, v, v / per_row);
        count += (fast > speed) & (svmx_distance(&own, v, v / per_row) <= nearest * fast);
    }
    return count;
}

/* Of the variables that get there within ``nearest``, the one that is fastest, or -1.
 * speed: IN speeds up to it are too slow, OUT that of the variable found; length: OUT its length. Both are left as they
 * are if there is none. Few variables get there, so whole blocks are passed over. */
int64_t SVMX_LOOP(fastest)(const svmx_waiting *w, double nearest, double *speed, double *length)
{
    int64_t found = -1;
    for (int64_t begin = 0; begin < w->n; begin += SVMX_BLOCK) {
        const int64_t end = w->n - begin < SVMX_BLOCK ? w->n : begin + SVMX_BLOCK;
        if (!(w->per_row == 1 ? svmx_arrivals(w, 1, begin, end, nearest, *speed)
                              : svmx_arrivals(w, 2, begin, end, nearest, *speed)))
            continue;
        for (int64_t v = begin; v < end; ++v) {
            const int64_t p = w->per_row == 1 ? v : v / 2;
            const double fast = svmx_speed(w, v, p), distance = svmx_distance(w, v, p);
            if (fast > *speed && distance <= nearest * fast) {
                *speed = fast;
                *length = distance > 0.0 ? distance / fast : 0.0;
                found = v;
            }
        }
    }
    return found;
}

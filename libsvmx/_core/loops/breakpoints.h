/* The next breakpoint of a path among the variables outside its margin.
 *
 * On a path, V = linear - F and the offset move linearly with the length of the step: V by dlinear - dF, the level (which
 * is -rho) by dlevel. A variable waits below the level or above it until V reaches it: a breakpoint, at the length
 *
 *     distance / speed,   distance = side (level - V),   speed = side (dlinear - dF - dlevel).
 *
 * Who calls: _solvers/path/motion.pyx, once a breakpoint each.
 */
#pragma once

#include <stdint.h>

/* Variables and how they move; all arrays IN. */
typedef struct {
    int64_t n;             /* variables */
    int per_row;           /* that share an entry of F and dF: 1 or 2 */
    const double *side;    /* (n,)  1: waits below the level, -1: above it, 0: does not wait */
    const double *linear;  /* (n,) */
    const double *dlinear; /* (n,) */
    const double *F;       /* (n / per_row,)  K beta */
    const double *dF;      /* (n / per_row,) */
    double level;
    double dlevel;
} svmx_waiting;

#define SVMX_BREAKPOINT_LOOPS(LOOP)                                                                                       \
    LOOP(double, nearest, (const svmx_waiting *w, double sharpness, double slowest, double nearest))                      \
    LOOP(int64_t, fastest, (const svmx_waiting *w, double nearest, double *speed, double *length))

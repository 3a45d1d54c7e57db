/* Pair steps in float on a small problem whose kernel matrix stands in cache: the innermost subproblem of decomposition.
 *
 * V is kept as its difference to a level near the optimum, so that its rounding is relative to what is left to do; the
 * coefficients found, in double, are applied to scores in double outside. Arrays are IN and of length n, a multiple of
 * SVMX_LEAF_PAD, padded with variables that belong to neither side; V is IN and OUT. up and low are 0 on their side and
 * -inf, inf off it.
 *
 * Who calls: _solvers/decomposition/subproblem.pyx.
 */
#pragma once

#include <stdint.h>

#define SVMX_LEAF_PAD 32

#define SVMX_SUBPROBLEM_LOOPS(LOOP)                                                                                       \
    LOOP(int64_t, leaf_move,                                                                                              \
         (int64_t n, float *V, const float *Ki, const float *Kj, float step, const float *up, float *top))                \
    LOOP(int64_t, leaf_partner,                                                                                           \
         (int64_t n, const float *V, const float *low, const float *row, const float *diagonal, float own, float top,     \
          float *gain, float *widest))

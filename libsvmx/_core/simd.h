/* What every header of hot loops needs to be vectorised by the compiler.
 *
 * Loops are plain C. Every lane is another row or another variable, so each sum keeps its own order and a wider vector
 * changes no bit; with -ffp-contract=off the clones of one function give equal results on every CPU. No function here or
 * in those headers allocates memory or fails; arrays do not overlap where they are SVMX_RESTRICT.
 */
#ifndef SVMX_SIMD_H
#define SVMX_SIMD_H

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

/* reduction(max : x): the next loop may find the maximum x in any order. For what no order changes. */
#define SVMX_PRAGMA(words) _Pragma(#words)
#define SVMX_ANY_ORDER(...) SVMX_PRAGMA(omp simd __VA_ARGS__)

/* Values per block of the loops that go over their data in several short passes. */
#define SVMX_BLOCK 256

#endif

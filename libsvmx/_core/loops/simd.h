/* What every file of hot loops begins with.
 *
 * Loops are plain C. Every lane is another row or another variable, so each sum keeps its own order and a wider vector
 * changes no bit; with -ffp-contract=off one function gives equal results for every CPU target. No loop allocates memory
 * or fails; arrays do not overlap where they are SVMX_RESTRICT.
 *
 * Each file is compiled once for each CPU target (meson.build, targets.h), with the target's instructions wherever the
 * compiler likes, so nothing of it may run before the target is chosen, and no other code may be given its functions:
 * loops are named SVMX_LOOP, and all else is static. __AVX512F__ and the like say what the target has.
 */
#ifndef SVMX_SIMD_H
#define SVMX_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "loops.h"

/* A loop's name for this target: SVMX_LOOP(dot) is svmx_dot_avx2. */
#define SVMX_JOINED(name, target) svmx_##name##_##target
#define SVMX_JOIN(name, target) SVMX_JOINED(name, target)
#define SVMX_LOOP(name) SVMX_JOIN(name, SVMX_TARGET)

#define SVMX_PROTOTYPE(result, name, parameters) result SVMX_LOOP(name) parameters;
SVMX_LOOPS(SVMX_PROTOTYPE)

#if defined(__GNUC__)
#define SVMX_INLINE static inline __attribute__((always_inline))
#define SVMX_RESTRICT __restrict__
#else
#define SVMX_INLINE static inline
#define SVMX_RESTRICT
#endif
#if defined(__clang__)
#define SVMX_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define SVMX_UNROLL _Pragma("GCC unroll 8")
#endif

/* reduction(max : x): the next loop may find the maximum x in any order. For what no order changes. */
#define SVMX_PRAGMA(words) _Pragma(#words)
#define SVMX_ANY_ORDER(...) SVMX_PRAGMA(omp simd __VA_ARGS__)

/* Values per block of the loops that go over their data in several short passes. */
#define SVMX_BLOCK 256

/* Bytes of a vector register. */
#if defined(__AVX512F__)
#define SVMX_BYTES 64
#elif defined(__AVX__)
#define SVMX_BYTES 32
#else
#define SVMX_BYTES 16
#endif

#endif

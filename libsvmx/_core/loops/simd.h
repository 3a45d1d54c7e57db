/* Included by every file of hot loops.
 *
 * Loops are plain C. Every lane is another row or another variable, so each sum keeps its own order and a wider vector
 * changes no bit; with -ffp-contract=off one function gives equal results for every CPU target. No loop allocates memory
 * or fails; arrays do not overlap where they are SVMX_RESTRICT.
 *
 * Each file is compiled once for each CPU target (meson.build, targets.h), and may contain the target's instructions
 * anywhere. So nothing of it may run before the target is chosen, and no other code may link to its functions: loops are
 * named SVMX_LOOP, all else is static. __AVX512F__ and the like tell the target.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "loops.h"

/* A loop's name for this target: SVMX_LOOP(dot) is svmx_dot_avx2. */
#define SVMX_JOINED(name, target) svmx_##name##_##target
#define SVMX_JOIN(name, target) SVMX_JOINED(name, target)
#define SVMX_LOOP(name) SVMX_JOIN(name, SVMX_TARGET)

#define SVMX_PROTOTYPE(result, name, parameters) result SVMX_LOOP(name) parameters;
SVMX_LOOPS(SVMX_PROTOTYPE)

#define SVMX_INLINE static inline __attribute__((always_inline))
#define SVMX_RESTRICT __restrict__
#if defined(__clang__)
#define SVMX_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SVMX_UNROLL _Pragma("GCC unroll 16")
#endif

/* Loops over k in [0, n) that find maxima or minima in any order, which changes none:
 *
 *     SVMX_APART(double, top, -HUGE_VAL);                                      declares what is looked for
 *     SVMX_ANY_ORDER(k, n, reduction(max : top), {                             the loop, and its body, where
 *         SVMX_OWN(top) = x[k] > SVMX_OWN(top) ? x[k] : SVMX_OWN(top);         it is a variable like any other
 *     })
 *     return SVMX_LARGEST(double, top);                                        or SVMX_LEAST
 *
 * GCC vectorises that with "omp simd". Clang would begin with the least number instead of -inf, and stay scalar: it gets a
 * variable per lane.
 */
#if !defined(__clang__)
#define SVMX_PRAGMA(words) _Pragma(#words)
#define SVMX_SIMD(...) SVMX_PRAGMA(omp simd __VA_ARGS__)
#define SVMX_APART(type, x, begin) type x = begin
#define SVMX_OWN(x) x
#define SVMX_ANY_ORDER(k, n, clauses, ...) SVMX_SIMD(clauses) for (int64_t k = 0; k < (n); ++k) __VA_ARGS__
#define SVMX_LARGEST(type, x) x
#define SVMX_LEAST(type, x) x
#else
#define SVMX_LANES 16
#define SVMX_APART(type, x, begin) \
    type x[SVMX_LANES]; \
    for (int svmx_lane = 0; svmx_lane < SVMX_LANES; ++svmx_lane) \
        x[svmx_lane] = begin
#define SVMX_OWN(x) x[svmx_lane]
#define SVMX_ANY_ORDER(k, n, clauses, ...) \
    int64_t svmx_at = 0; \
    for (; svmx_at + SVMX_LANES <= (n); svmx_at += SVMX_LANES) \
        for (int svmx_lane = 0; svmx_lane < SVMX_LANES; ++svmx_lane) { \
            const int64_t k = svmx_at + svmx_lane; \
            __VA_ARGS__ \
        } \
    for (; svmx_at < (n); ++svmx_at) { \
        const int64_t k = svmx_at; \
        const int svmx_lane = 0; \
        __VA_ARGS__ \
    }
#define SVMX_LARGEST(type, x) svmx_largest_##type(x)
#define SVMX_LEAST(type, x) svmx_least_##type(x)
#define SVMX_FOLD(name, type, better) \
    SVMX_INLINE type name(type *x) \
    { \
        for (int half = SVMX_LANES / 2; half > 0; half /= 2) \
            for (int r = 0; r < half; ++r) \
                x[r] = x[r + half] better x[r] ? x[r + half] : x[r]; \
        return x[0]; \
    }
SVMX_FOLD(svmx_largest_double, double, >)
SVMX_FOLD(svmx_largest_float, float, >)
SVMX_FOLD(svmx_least_double, double, <)
SVMX_FOLD(svmx_least_float, float, <)
#endif

/* Values per block of the loops that go over their data in several short passes. */
#define SVMX_BLOCK 256

/* Bytes of a vector register. GCC and Clang take vectors of any size, but GCC holds those that are wider than a register in
 * memory, which costs ten times what they save: so vectors have this size where they are said explicitly. */
#if defined(__AVX512F__)
#define SVMX_BYTES 64
#elif defined(__AVX__)
#define SVMX_BYTES 32
#else
#define SVMX_BYTES 16
#endif

/* A vector of SVMX_WIDTH doubles, and of as many words. */
typedef double svmx_doubles __attribute__((vector_size(SVMX_BYTES), aligned(8), may_alias));
typedef int64_t svmx_words __attribute__((vector_size(SVMX_BYTES)));
#define SVMX_WIDTH (SVMX_BYTES / 8)
#define SVMX_DOUBLES(p) (*(const svmx_doubles *)(p))
#define SVMX_STORE(p, v) (*(svmx_doubles *)(p) = (v))

/* Half a register of floats, as many as doubles, and a whole one. */
typedef float svmx_half_floats __attribute__((vector_size(SVMX_BYTES / 2), aligned(4), may_alias));
typedef float svmx_floats __attribute__((vector_size(SVMX_BYTES), aligned(4), may_alias));
#define SVMX_FLOATS(p) (*(const svmx_floats *)(p))
#define SVMX_FLOAT_WIDTH (SVMX_BYTES / 4)

/* What maxima and their places are found with, for targets that have it. SVMX_MAX is a > b ? a : b;
 * SVMX_EQUAL and SVMX_NOT_MORE of doubles and SVMX_NOT_LESS of floats have a bit for each lane, and of what is not a number
 * only the last is true; SVMX_NARROWED is two vectors of doubles as floats. SVMX_MAX_INSIDE is SVMX_MAX(v, top) where the float
 * at ``up`` is 0, and top where it is -inf; SVMX_POSITIVE is a > 0 ? a : 0 where the float at ``low`` is 0, and 0 where it is
 * inf: with AVX-512 by masks, which cost less than a sum. SVMX_TOP and SVMX_TOP_FLOAT are the largest lane. */
#if defined(__AVX__)
#define SVMX_SCANS
#endif
#if defined(__AVX512F__)
/* The bits of a mask, in a general register at once: GCC 12 stores one byte of a mask of 8 that it runs out of registers for,
 * and loads four. */
SVMX_INLINE uint32_t svmx_bits(uint32_t mask)
{
    __asm__("" : "+r"(mask));
    return mask;
}
#define SVMX_MAX(a, b) ((svmx_doubles)_mm512_max_pd((__m512d)(a), (__m512d)(b)))
#define SVMX_MAX_FLOATS(a, b) ((svmx_floats)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define SVMX_MIN_FLOATS(a, b) ((svmx_floats)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define SVMX_EQUAL(a, b) svmx_bits(_mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_EQ_OQ))
#define SVMX_NOT_MORE(a, b) svmx_bits(_mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_LE_OQ))
#define SVMX_NOT_LESS(a, b) svmx_bits(_mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_NLT_UQ))
#define SVMX_NARROWED(a, b)                                                                                              \
    ((svmx_floats)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)(a))),                              \
                                     _mm512_cvtpd_ps((__m512d)(b)), 1))
#define SVMX_ZEROS_256(p) _mm256_testn_epi32_mask(_mm256_loadu_si256((const void *)(p)), _mm256_loadu_si256((const void *)(p)))
#define SVMX_ZEROS(p) _mm512_testn_epi32_mask(_mm512_loadu_si512(p), _mm512_loadu_si512(p))
#define SVMX_MAX_INSIDE(v, up, top)                                                                                           \
    ((svmx_doubles)_mm512_mask_max_pd((__m512d)(top), SVMX_ZEROS_256(up), (__m512d)(v), (__m512d)(top)))
#define SVMX_POSITIVE(a, low) ((svmx_floats)_mm512_maskz_max_ps(SVMX_ZEROS(low), (__m512)(a), _mm512_setzero_ps()))
#define SVMX_TOP(x) _mm512_reduce_max_pd((__m512d)(x))
#define SVMX_TOP_FLOAT(x) _mm512_reduce_max_ps((__m512)(x))
#elif defined(SVMX_SCANS)
#define SVMX_MAX(a, b) ((svmx_doubles)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define SVMX_MAX_FLOATS(a, b) ((svmx_floats)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define SVMX_MIN_FLOATS(a, b) ((svmx_floats)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define SVMX_EQUAL(a, b) \
    ((uint32_t)_mm256_movemask_pd(_mm256_cmp_pd((__m256d)(a), (__m256d)(b), _CMP_EQ_OQ)))
#define SVMX_NOT_MORE(a, b) \
    ((uint32_t)_mm256_movemask_pd(_mm256_cmp_pd((__m256d)(a), (__m256d)(b), _CMP_LE_OQ)))
#define SVMX_NOT_LESS(a, b) \
    ((uint32_t)_mm256_movemask_ps(_mm256_cmp_ps((__m256)(a), (__m256)(b), _CMP_NLT_UQ)))
#define SVMX_NARROWED(a, b) \
    ((svmx_floats)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)(b)), _mm256_cvtpd_ps((__m256d)(a))))
#ifdef __AVX2__ /* -inf, widened as an integer, makes v not a number */
#define SVMX_MAX_INSIDE(v, up, top)                                                                                       \
    SVMX_MAX((svmx_doubles)_mm256_or_si256((__m256i)(v), _mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)(up)))), top)
#else
#define SVMX_MAX_INSIDE(v, up, top) SVMX_MAX((v) + SVMX_WIDENED(up), top)
#endif
#define SVMX_POSITIVE(a, low) SVMX_MAX_FLOATS((a) - SVMX_FLOATS(low), (svmx_floats){0})
#define SVMX_TOP(x) svmx_top_of_doubles((__m256d)(x))
#define SVMX_TOP_FLOAT(x) svmx_top_of_floats((__m256)(x))
SVMX_INLINE double svmx_top_of_doubles(__m256d x)
{
    const __m128d two = _mm_max_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_max_sd(two, _mm_unpackhi_pd(two, two)));
}
SVMX_INLINE float svmx_top_of_floats(__m256 x)
{
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
#endif

/* SVMX_WIDTH floats as doubles. GCC 12 makes __builtin_convertvector of halves, or of single floats: rows take up to 1.7
 * times as long. */
#if defined(__AVX512F__)
#define SVMX_WIDENED(p) ((svmx_doubles)_mm512_cvtps_pd(_mm256_loadu_ps(p)))
#elif defined(__AVX__)
#define SVMX_WIDENED(p) ((svmx_doubles)_mm256_cvtps_pd(_mm_loadu_ps(p)))
#elif defined(__SSE2__)
#define SVMX_WIDENED(p) ((svmx_doubles)_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(p)))))
#else
#define SVMX_WIDENED(p) __builtin_convertvector(*(const svmx_half_floats *)(p), svmx_doubles)
#endif

/* Number ``at`` of svmx_numbers, and SVMX_WIDTH of them from there on, as doubles. ``in_float``, whether they are in float,
 * is a constant wherever these are called: a loop over both kinds is written once, and compiled for each. */
SVMX_INLINE double svmx_number(const svmx_numbers numbers, int64_t at, const int in_float)
{
    return in_float ? (double)numbers.in_float[at] : numbers.in_double[at];
}

SVMX_INLINE svmx_doubles svmx_lanes(const svmx_numbers numbers, int64_t at, const int in_float)
{
    return in_float ? SVMX_WIDENED(numbers.in_float + at) : SVMX_DOUBLES(numbers.in_double + at);
}

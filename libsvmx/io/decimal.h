/* Decimal text to the nearest double, without strtod, locale or memory.
 *
 * A number is w * 10^q with an integer w. Where w and 10^|q| are exact doubles, one multiplication or division
 * rounds correctly (W. D. Clinger, "How to read floating point numbers accurately", PLDI 1990). Else the
 * leading bits of w * 5^q come from a product of w with a 128-bit approximation of 5^q (D. Lemire, "Number
 * parsing at a gigabyte per second", Software: Practice and Experience 51, 2021, algorithm 1). The paper's
 * symbols are kept: w, q, z = the product, l = leading zeros of w, m = mantissa, p = binary exponent.
 *
 * Nothing here reads at or behind `end`.
 *
 * Not fast_float, the same algorithm in C++: the package is built from C and Cython alone, and would need a C++ compiler
 * wherever it is built. It would also leave the rest to do: a `+` before a number and hexadecimal floats, which LIBSVM's
 * strtod reads, "1e" and the like, of which it takes a part where here the whole token is refused at its place, and the
 * NaN and infinities that it returns.
 */
#pragma once

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "powers_of_five.h"

/* Any integer of so many digits fits 64 bits. */
#define SVMX_MAX_DIGITS 19
/* Written exponents saturate above it: no text has digits enough to make up for it. */
#define SVMX_MAX_EXPONENT 100000000000000000

/* Called out of line, a number took half as long again on a9a. */
#define SVMX_ALWAYS_INLINE static inline __attribute__((always_inline))
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SVMX_EIGHT_DIGITS 1
#endif

static const uint64_t svmx_ten_to[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
/* The powers of ten that are exact doubles. */
static const double svmx_exact_ten_to[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static inline int svmx_is_digit(char c) { return (unsigned)(c - '0') < 10; }

/* ---- digits ------------------------------------------------------------------------- */

/* Both read the digits from p on: *w = *w * 10^n + their value, modulo 2^64, and return the place of the first other
 * byte. They differ in what they wait for. One by one, the branch predictor guesses the length and runs ahead to the
 * next number; it is right where lengths repeat, as in indices and before the point. By eight, no guess is needed,
 * but the next number waits for this one. On mnist.scale (Xeon, GCC 12) a pair takes 10 ns with fractions by eight
 * and the rest one by one, 12 ns all one by one, 17 ns all by eight; on letter.scale 12, 18 and 19 ns. */
static inline const char *svmx_digits(const char *p, const char *end, uint64_t *w)
{
    for (; p < end && svmx_is_digit(*p); ++p)
        *w = *w * 10 + (uint64_t)(*p - '0');
    return p;
}

static inline const char *svmx_digits_by_eight(const char *p, const char *end, uint64_t *w)
{
#ifdef SVMX_EIGHT_DIGITS
    while (end - p >= 8) {
        uint64_t x, other;
        int n;
        memcpy(&x, p, 8);
        x ^= 0x3030303030303030u;   /* digits are now the bytes 0 to 9 */
        other = (x | (x + 0x7676767676767676u)) & 0x8080808080808080u;   /* a carry only hits bytes behind the first */
        n = other ? __builtin_ctzll(other) >> 3 : 8;
        if (n == 0)
            return p;
        x <<= 64 - 8 * n;           /* zeros in front */
        x = x * 10 + (x >> 8);      /* pairs, then fours, then eight: Lemire 2021, section 5 */
        x = ((x & 0x000000ff000000ffu) * (100 + (1000000ull << 32))
             + ((x >> 16) & 0x000000ff000000ffu) * (1 + (10000ull << 32))) >> 32;
        *w = *w * svmx_ten_to[n] + x;
        p += n;
        if (n < 8)
            return p;
    }
#endif
    return svmx_digits(p, end, w);
}

/* ---- w * 10^q ----------------------------------------------------------------------- */

/* a * b = *high * 2^64 + the value returned. */
static inline uint64_t svmx_multiply(uint64_t a, uint64_t b, uint64_t *high)
{
#if defined(__SIZEOF_INT128__) && !defined(SVMX_NO_INT128)
    __extension__ typedef unsigned __int128 wide;
    const wide z = (wide)a * b;
    *high = (uint64_t)(z >> 64);
    return (uint64_t)z;
#else
    const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const uint64_t low = a0 * b0;
    const uint64_t middle = a1 * b0 + (low >> 32);                  /* at most 2^64 - 2^32: no overflow */
    const uint64_t other = a0 * b1 + (middle & 0xffffffffu);
    *high = a1 * b1 + (middle >> 32) + (other >> 32);
    return (other << 32) | (low & 0xffffffffu);
#endif
}

/* The bits of the double nearest to w * 10^q, ties to even; at least those of an infinity if it is out of range.
 * Returns 0 where 128 bits do not decide it. */
static int svmx_scale_by_ten(uint64_t w, int64_t q, uint64_t *bits)
{
    const uint64_t *five_to_q;
    uint64_t high, low, m;
    int l, upper, p;
    if (w == 0 || q < SVMX_LEAST_POWER) {   /* w < 2^64: below half of the least double */
        *bits = 0;
        return 1;
    }
    if (q > SVMX_GREATEST_POWER) {
        *bits = (uint64_t)0x7ff << 52;
        return 1;
    }
    five_to_q = svmx_power_of_five[q - SVMX_LEAST_POWER];
    l = __builtin_clzll(w);
    w <<= l;
    low = svmx_multiply(w, five_to_q[0], &high);
    if ((high & 0x1ff) == 0x1ff) {          /* the other half of the power might carry into the 55 bits we need */
        uint64_t more;
        svmx_multiply(w, five_to_q[1], &more);
        low += more;
        high += low < more;
    }
    if (low == UINT64_MAX && (q < -27 || q > 55))   /* 5^q itself is cut off, and what is cut might still carry */
        return 0;
    upper = (int)(high >> 63);
    m = high >> (upper + 9);                /* 54 bits: the mantissa and one to round by */
    p = (int)((217706 * q) >> 16) + 63 + upper - l + 1023;   /* 217706 / 2^16 = log2(10), close enough for these q */
    if (p <= 0) {                           /* subnormal; no ties there, as they need -4 <= q <= 23 */
        if (p <= -63) {
            *bits = 0;
            return 1;
        }
        m >>= 1 - p;
        *bits = (m >> 1) + (m & 1);         /* a carry to 2^52 gives the least normal number, as it should */
        return 1;
    }
    if (low <= 1 && q >= -4 && q <= 23 && (m & 3) == 1 && m << (upper + 9) == high)
        m &= ~(uint64_t)1;                  /* exactly half-way, and even without the last bit */
    m = (m >> 1) + (m & 1);
    if (m >> 53) {
        m >>= 1;
        ++p;
    }
    *bits = p >= 0x7ff ? (uint64_t)0x7ff << 52 : (m & (((uint64_t)1 << 52) - 1)) | (uint64_t)p << 52;
    return 1;
}

/* ---- numbers ------------------------------------------------------------------------ */

/* The digits and the point in [p, stop) as *w * 10^*q, *w being the first 19 digits from the first nonzero one on.
 * Returns whether a nonzero digit was left out. */
static int svmx_cut_digits(const char *p, const char *stop, uint64_t *w, int64_t *q)
{
    int kept = 0, cut = 0, fraction = 0;
    *w = 0;
    *q = 0;
    for (; p < stop; ++p) {
        if (*p == '.') {
            fraction = 1;
            continue;
        }
        if (kept == SVMX_MAX_DIGITS) {
            cut |= *p != '0';
            *q += !fraction;
            continue;
        }
        *w = *w * 10 + (uint64_t)(*p - '0');
        kept += *w != 0;
        *q -= fraction;
    }
    return cut;
}

/* The decimal number at p: [sign] digits [. digits] [e [sign] digits], with a digit before or behind the point.
 * Returns the place behind it, or NULL where it is no such number, is not finite, or is not decided here. */
SVMX_ALWAYS_INLINE const char *svmx_number(const char *p, const char *end, double *value)
{
    const char *digits, *stop, *point;
    uint64_t w = 0, bits, negative = 0;
    int64_t q = 0;
    int cut = 0;
    if (p < end && (*p == '-' || *p == '+'))
        negative = *p++ == '-';
    digits = p;
    stop = p = svmx_digits(p, end, &w);
    if (p < end && *p == '.') {
        point = p;
        stop = p = svmx_digits_by_eight(p + 1, end, &w);
        if (stop - digits < 2)
            return NULL;
        if (stop - digits - 1 > SVMX_MAX_DIGITS)
            cut = svmx_cut_digits(digits, stop, &w, &q);
        else
            q = point + 1 - stop;
    } else if (p == digits)
        return NULL;
    else if (p - digits > SVMX_MAX_DIGITS)
        cut = svmx_cut_digits(digits, p, &w, &q);
    if (p < end && (*p | 0x20) == 'e') {
        int64_t written = 0;
        int below = 0;
        if (++p < end && (*p == '-' || *p == '+'))
            below = *p++ == '-';
        if (p == end || !svmx_is_digit(*p))
            return NULL;
        for (; p < end && svmx_is_digit(*p); ++p)
            if (written < SVMX_MAX_EXPONENT)
                written = written * 10 + (*p - '0');
        q += below ? -written : written;
    }
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0   /* else the operation may round twice */
    if (w <= (uint64_t)1 << 53 && -22 <= q && q <= 22 && !cut) {
        const double v = (double)(int64_t)w;
        *value = q < 0 ? v / svmx_exact_ten_to[-q] : v * svmx_exact_ten_to[q];
        if (negative)
            *value = -*value;
        return p;
    }
#endif
    if (!svmx_scale_by_ten(w, q, &bits))
        return NULL;
    if (cut) {  /* the number lies between w and w + 1: decided if both round alike */
        uint64_t above;
        if (!svmx_scale_by_ten(w + 1, q, &above) || above != bits)
            return NULL;
    }
    if (bits >= (uint64_t)0x7ff << 52)
        return NULL;
    bits |= negative << 63;
    memcpy(value, &bits, 8);
    return p;
}

/* exp(x) in double as plain arithmetic, so that the compiler can vectorise it and every machine has the same bits.
 *
 * Who calls: kernel_functions.c.
 */
#pragma once

#include "simd.h"

typedef union {
    double value;
    uint64_t bits;
} svmx_double;

/* exp(x) for -87 <= x <= 87 to < 1 ulp: x = k ln2 + r, exp(r) = 1 + r + r^2 P(r) with P the degree-9
 * Chebyshev interpolant on |r| <= ln2/2 (relative error 1.6e-17 before rounding). */
SVMX_INLINE double svmx_exp(double x)
{
    const double log2e = 0x1.71547652b82fep+0, ln2_hi = 0x1.62e42fefa2000p-1, ln2_lo = 0x1.9ef35793c7673p-41;
    const double shifter = 0x1.8p52; /* adding it leaves round(x log2e) in the low bits */
    svmx_double shifted, e;
    shifted.value = x * log2e + shifter;
    const double k = shifted.value - shifter;
    const double r = (x - k * ln2_hi) - k * ln2_lo;
    double p = 0x1.af38d53857513p-26;
    p = p * r + 0x1.2891a8c1d838dp-22;
    p = p * r + 0x1.71de0d9c145d0p-19;
    p = p * r + 0x1.a019b8ef67c6cp-16;
    p = p * r + 0x1.a01a01a7c8d47p-13;
    p = p * r + 0x1.6c16c17893833p-10;
    p = p * r + 0x1.11111111109adp-7;
    p = p * r + 0x1.5555555553d4fp-5;
    p = p * r + 0x1.5555555555556p-3;
    p = p * r + 0x1.0000000000001p-1;
    e.value = 1.0 + (r + r * r * p);
    e.bits += shifted.bits << 52;
    return e.value;
}

/* Below it a float would be subnormal. */
#define SVMX_EXP_LOW (-87.0)

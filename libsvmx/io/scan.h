/* The inner loops over the text of a data or model file.
 *
 * They know only what almost all of every file consists of, and stop at anything else without a judgement:
 * the caller looks closely and names the fault, if it is one.
 */
#pragma once

#include <stdint.h>

#include "decimal.h"

/* A block's counts fit eight bits, so that 16 or more of them are counted by one instruction. */
#define SVMX_COUNT_BLOCK 240

static inline int svmx_is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }

/* Occurrences of two bytes in [p, end). */
static void svmx_count(const char *p, const char *end, char a, char b, int64_t *n_a, int64_t *n_b)
{
    *n_a = *n_b = 0;
    while (p < end) {
        const int64_t size = end - p < SVMX_COUNT_BLOCK ? end - p : SVMX_COUNT_BLOCK;
        uint8_t in_a = 0, in_b = 0;
        for (int64_t i = 0; i < size; ++i) {
            in_a += p[i] == a;
            in_b += p[i] == b;
        }
        *n_a += in_a;
        *n_b += in_b;
        p += size;
    }
}

/* The number at p where it is all there is up to the next blank or `stop`, the end of the line; else NULL.
 * Returns the place behind it. What lies between stop and end is not looked into: no number holds the byte at stop. */
SVMX_ALWAYS_INLINE const char *svmx_plain_number(const char *p, const char *stop, const char *end, double *value)
{
    const char *behind = svmx_number(p, end, value);
    return behind == stop || (behind != NULL && svmx_is_blank(*behind)) ? behind : NULL;
}

/* Plain index:value pairs from p on, at most up to `stop`, where the line ends.
 *
 * last    IN/OUT  index of the pair before, -1 at first; indices must ascend
 * index   OUT     index[*n], index[*n + 1], ...   likewise value
 * n       IN/OUT  number of pairs
 *
 * Returns where the first pair starts that was not read, or the blanks before it: `stop` if all were. */
static const char *svmx_plain_pairs(const char *p, const char *stop, const char *end, int64_t *last, int32_t *index,
                                    double *value, int64_t *n)
{
    int64_t k = *n, previous = *last;
    for (;;) {
        const char *at = p, *digits;
        uint64_t i = 0;
        double v;
        while (at < stop && svmx_is_blank(*at))
            ++at;
        digits = at;
        at = svmx_digits(at, end, &i);
        if (at == digits || at - digits > 10 || at >= stop || *at != ':' || (int64_t)i <= previous || i > INT32_MAX)
            break;
        at = svmx_plain_number(at + 1, stop, end, &v);
        if (at == NULL)
            break;
        index[k] = (int32_t)i;
        value[k] = v;
        ++k;
        previous = (int64_t)i;
        p = at;
    }
    *n = k;
    *last = previous;
    return p;
}

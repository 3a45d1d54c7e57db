/* Numbers in double, or in float where each of them is a float: half the memory, and the same once widened. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One of the two is NULL. */
typedef struct {
    const double *in_double;
    const float *in_float;
} svmx_numbers;

/* Those from number k on. */
static inline svmx_numbers svmx_numbers_from(svmx_numbers numbers, int64_t k)
{
    if (numbers.in_float != NULL)
        numbers.in_float += k;
    else if (numbers.in_double != NULL)
        numbers.in_double += k;
    return numbers;
}

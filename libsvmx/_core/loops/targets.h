/* CPU targets: the sets of instructions that the hot loops are compiled for. One is chosen at import.
 *
 * baseline is what every CPU of its kind has, so it always runs; avx2 is x86-64-v3 (AVX2, FMA, BMI), avx512 x86-64-v4 (the
 * parts F, BW, CD, DQ, VL). All give equal bits.
 *
 * Who calls: dispatch.pyx.
 */
#pragma once

#include "loops.h"

typedef struct {
    const char *name;
    const svmx_loop_table *loops; /* NULL if it is not built */
    int (*runs)(void);            /* whether CPU and operating system can run it */
} svmx_cpu_target;

#define SVMX_N_TARGETS 3

/* All that there are, the fastest first. */
extern const svmx_cpu_target svmx_cpu_targets[SVMX_N_TARGETS];

/* The time, for cost models: what it says may choose a faster way, never another result. */
#ifndef SVMX_CLOCK_H
#define SVMX_CLOCK_H

#include <time.h>

static double svmx_nanoseconds(void)
{
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

#endif

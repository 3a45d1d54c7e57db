/* The time, for cost models: it may choose a faster method, never another result. */
#pragma once

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

static double svmx_nanoseconds(void)
{
    LARGE_INTEGER now, per_second;
    QueryPerformanceFrequency(&per_second);
    QueryPerformanceCounter(&now);
    return 1e9 * ((double)now.QuadPart / (double)per_second.QuadPart);
}

#else
#include <time.h>

static double svmx_nanoseconds(void)
{
    struct timespec now;
#ifdef CLOCK_MONOTONIC
    if (clock_gettime(CLOCK_MONOTONIC, &now) == 0)
        return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
#endif
    (void)timespec_get(&now, TIME_UTC);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

#endif

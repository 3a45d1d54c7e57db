/* The time, for cost models: it may choose a faster method, never another result. */
#ifndef SVMX_CLOCK_H
#define SVMX_CLOCK_H

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

/* The time: Windows counts a thread's processor time in ticks of 15 ms, too coarse here. */
static inline double svmx_thread_nanoseconds(void)
{
    return svmx_nanoseconds();
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

/* Processor time of this thread; if unknown, the time. */
static inline double svmx_thread_nanoseconds(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
    struct timespec had;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had) == 0)
        return 1e9 * (double)had.tv_sec + (double)had.tv_nsec;
#endif
    return svmx_nanoseconds();
}

#endif
#endif

/* The thread pool in a process limited to one processor: a worker soon shares the caller's, which then works alone, in
   jobs of either kind. Exit code 1 if that has not happened after some thousand jobs. */
#include "thread_pool.h"

#include <stdio.h>

enum { JOBS = 5000, PARTS = 8 };

/* Some tens of microseconds, in which the system may schedule the worker. */
static void work(void *context, int64_t part)
{
    volatile double *sums = context;
    for (int k = 0; k < 20000; ++k)
        sums[part] += k;
}

static int rests(int short_jobs)
{
    double sums[PARTS] = {0};
    svmx_pool *pool = svmx_pool_new(2);
    int found = 0;
    if (pool == NULL || pool->n_workers == 0)
        return 0;
    for (int j = 0; j < JOBS && !found; ++j) {
        while (svmx_pool_ready(pool) == 1)
            svmx_sleep_microseconds(1000); /* backed off, as the process lost its processor */
        if (short_jobs)
            svmx_pool_run_short(pool, work, sums, 2);
        else
            svmx_pool_run(pool, work, sums, PARTS, NULL);
        /* only a shared processor makes the next backoff longer */
        found = pool->backoff > SVMX_MIN_BACKOFF && svmx_pool_ready(pool) == 1;
    }
    svmx_pool_free(pool);
    return found;
}

int main(void)
{
    const int by_short = rests(1), by_long = rests(0);
    printf("short jobs: %s, others: %s\n", by_short ? "rests" : "never", by_long ? "rests" : "never");
    return !(by_short && by_long);
}

/* The thread pool in a process that may run on one processor alone: a helper is soon seen on the leader's, and the leader
   does without it, in jobs of either kind. Exit code 1 if it has not come to that after some thousand jobs. */
#include "thread_pool.h"

#include <stdio.h>

enum { JOBS = 5000, PARTS = 8 };

/* Some tens of microseconds, in which the system may let the helper in. */
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
    if (pool == NULL || pool->n_helpers == 0)
        return 0;
    for (int j = 0; j < JOBS && !found; ++j) {
        while (svmx_pool_ready(pool) == 1)
            svmx_sleep_microseconds(1000); /* a rest since the process was kept from working, by others, too */
        if (short_jobs)
            svmx_pool_run_short(pool, work, sums, 2);
        else
            svmx_pool_run(pool, work, sums, PARTS, NULL);
        /* only a processor that was shared makes the next rest longer */
        found = pool->rest > SVMX_LEAST_REST && svmx_pool_ready(pool) == 1;
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

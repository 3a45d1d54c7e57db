/* The thread pool with a worker that is much slower than the caller: it has to rest after it has lost some time. Exit code 1
   if it is used again and again, or never. */
#include "thread_pool.h"

#include <stdio.h>

enum { JOBS = 2000, MOST_USES = 200 };

typedef struct {
    pthread_t caller;
    _Atomic int uses;
} watch;

/* Some tens of microseconds for the caller, two milliseconds for a worker. */
static void work(void *context, int64_t part)
{
    watch *w = context;
    volatile double sum = 0;
    (void)part;
    if (!pthread_equal(pthread_self(), w->caller)) {
        atomic_fetch_add(&w->uses, 1);
        svmx_sleep_microseconds(2000);
    }
    for (int k = 0; k < 20000; ++k)
        sum += k;
}

static int rests(int64_t n_parts)
{
    watch w = {pthread_self(), 0};
    svmx_pool *pool = svmx_pool_new(2);
    for (int j = 0; j < JOBS || (w.uses == 0 && j < 100 * JOBS); ++j)
        svmx_pool_run(pool, work, &w, n_parts, 1e5, NULL);
    svmx_pool_free(pool);
    return w.uses > 0 && w.uses <= MOST_USES;
}

int main(void)
{
    const int by_two = rests(2), by_more = rests(8);
    printf("jobs of two parts: %s, of more: %s\n", by_two ? "rests" : "no", by_more ? "rests" : "no");
    return !(by_two && by_more);
}

/* A few helper threads for pieces of work of some microseconds.
 *
 * One thread leads: it hands out the parts of a job and works on them itself, so a helper that comes late finds nothing
 * left and costs nothing. Helpers wait a little while spinning, then asleep. They belong to one solve and end with it:
 * there is nothing for a fork to lose. Without threads (no pthreads, or none to be had) the leader does all parts.
 */
#ifndef SVMX_POOL_H
#define SVMX_POOL_H

#include <stdint.h>
#include <stdlib.h>

typedef void (*svmx_job)(void *context, int64_t part);
typedef void (*svmx_pause_call)(void *context);

#if defined(SVMX_THREADS) && !defined(__STDC_NO_ATOMICS__)
#define SVMX_HAS_THREADS 1
#else
#define SVMX_HAS_THREADS 0
#endif

#if SVMX_HAS_THREADS
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* Looks at the ticket before a helper goes to sleep: some tens of microseconds. */
#define SVMX_SPINS 4000

typedef struct {
    /* The next part of the current job to be done, and in the upper half the number of the job: a helper that is late
     * draws a ticket of a job that is over, and sees it. */
    _Atomic uint64_t ticket;
    _Atomic int64_t done; /* parts finished */
    _Atomic int sleepers;
    _Atomic int over;
    _Atomic int64_t n_parts;
    svmx_job job;
    void *context;
    uint32_t number; /* of the job, known to the leader */
    int n_helpers;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t *helpers;
} svmx_pool;

#if defined(__x86_64__) || defined(__i386__)
#define svmx_pause() __builtin_ia32_pause()
#else
#define svmx_pause() ((void)0)
#endif

/* Work on the job with this number until no part is left. */
static void svmx_work(svmx_pool *pool, uint32_t number)
{
    for (;;) {
        uint64_t ticket = atomic_load(&pool->ticket);
        /* drawn by comparing: a ticket is only ever taken from the job it belongs to */
        if ((uint32_t)(ticket >> 32) != number || (int64_t)(ticket & 0xffffffff) >= atomic_load(&pool->n_parts))
            return;
        if (!atomic_compare_exchange_weak(&pool->ticket, &ticket, ticket + 1))
            continue;
        pool->job(pool->context, (int64_t)(ticket & 0xffffffff));
        atomic_fetch_add(&pool->done, 1);
    }
}

static void *svmx_helper(void *argument)
{
    svmx_pool *pool = argument;
    uint32_t seen = 0;
    while (!atomic_load(&pool->over)) {
        uint32_t number = (uint32_t)(atomic_load(&pool->ticket) >> 32);
        for (int spin = 0; number == seen && spin < SVMX_SPINS && !atomic_load(&pool->over); ++spin) {
            svmx_pause();
            number = (uint32_t)(atomic_load(&pool->ticket) >> 32);
        }
        if (number == seen) {
            pthread_mutex_lock(&pool->lock);
            atomic_fetch_add(&pool->sleepers, 1);
            while ((uint32_t)(atomic_load(&pool->ticket) >> 32) == seen && !atomic_load(&pool->over))
                pthread_cond_wait(&pool->wake, &pool->lock);
            atomic_fetch_sub(&pool->sleepers, 1);
            pthread_mutex_unlock(&pool->lock);
            continue;
        }
        seen = number;
        svmx_work(pool, number);
    }
    return NULL;
}

static void svmx_wake(svmx_pool *pool)
{
    if (atomic_load(&pool->sleepers) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* A pool of so many threads, the caller included; NULL if there are none to be had. */
static svmx_pool *svmx_pool_new(int n_threads)
{
    svmx_pool *pool = n_threads > 1 ? calloc(1, sizeof(svmx_pool)) : NULL;
    if (pool == NULL)
        return NULL;
    pool->helpers = calloc((size_t)n_threads, sizeof(pthread_t));
    if (pool->helpers == NULL || pthread_mutex_init(&pool->lock, NULL) != 0) {
        free(pool->helpers);
        free(pool);
        return NULL;
    }
    if (pthread_cond_init(&pool->wake, NULL) == 0)
        while (pool->n_helpers < n_threads - 1 &&
               pthread_create(&pool->helpers[pool->n_helpers], NULL, svmx_helper, pool) == 0)
            ++pool->n_helpers;
    return pool;
}

static void svmx_pool_free(svmx_pool *pool)
{
    if (pool == NULL)
        return;
    atomic_store(&pool->over, 1);
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int k = 0; k < pool->n_helpers; ++k)
        pthread_join(pool->helpers[k], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool->helpers);
    free(pool);
}

/* job(context, part) for part in [0, n_parts), in any order, on all threads; returns when all are done. While the leader
 * waits for the others it calls idle(context) now and then, unless that is NULL. */
static void svmx_pool_run(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts, svmx_pause_call idle)
{
    if (pool == NULL || pool->n_helpers == 0 || n_parts < 2) {
        for (int64_t part = 0; part < n_parts; ++part)
            job(context, part);
        return;
    }
    pool->job = job;
    pool->context = context;
    atomic_store(&pool->n_parts, n_parts);
    atomic_store(&pool->done, 0);
    pool->number += 1;
    if (pool->number == 0) /* 0 is what helpers start with */
        pool->number = 1;
    atomic_store(&pool->ticket, (uint64_t)pool->number << 32);
    svmx_wake(pool);
    svmx_work(pool, pool->number);
    for (int64_t spin = 1; atomic_load(&pool->done) < n_parts; ++spin) {
        svmx_pause();
        if (idle != NULL && spin > SVMX_SPINS) {
            const struct timespec while_away = {0, 1000000};
            idle(context);
            nanosleep(&while_away, NULL);
        }
    }
    /* exhausted whatever the next n_parts is, which is set before the next ticket */
    atomic_store(&pool->ticket, (uint64_t)pool->number << 32 | 0xffffffff);
}

#else

typedef struct {
    int n_helpers;
} svmx_pool;

static svmx_pool *svmx_pool_new(int n_threads)
{
    (void)n_threads;
    return NULL;
}

static void svmx_pool_free(svmx_pool *pool)
{
    (void)pool;
}

static void svmx_pool_run(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts, svmx_pause_call idle)
{
    (void)pool;
    (void)idle;
    for (int64_t part = 0; part < n_parts; ++part)
        job(context, part);
}

#endif
#endif

/* A few helper threads for pieces of work of some microseconds.
 *
 * One thread leads: it hands out the parts of a job and works on them itself, so a helper that comes late finds nothing
 * left and costs nothing. Helpers wait a little while spinning, then asleep. They belong to one solve and end with it:
 * there is nothing for a fork to lose. Without threads (no pthreads, or none to be had) the leader does all parts.
 */
#ifndef SVMX_CREW_H
#define SVMX_CREW_H

#include <stdint.h>
#include <stdlib.h>

typedef void (*svmx_job)(void *context, int64_t part);

#if defined(SVMX_THREADS) && !defined(__STDC_NO_ATOMICS__)
#include <pthread.h>
#include <stdatomic.h>

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
} svmx_crew;

#if defined(__x86_64__) || defined(__i386__)
#define svmx_pause() __builtin_ia32_pause()
#else
#define svmx_pause() ((void)0)
#endif

/* Work on the job with this number until no part is left. */
static void svmx_work(svmx_crew *crew, uint32_t number)
{
    for (;;) {
        uint64_t ticket = atomic_load(&crew->ticket);
        /* drawn by comparing: a ticket is only ever taken from the job it belongs to */
        if ((uint32_t)(ticket >> 32) != number || (int64_t)(ticket & 0xffffffff) >= atomic_load(&crew->n_parts))
            return;
        if (!atomic_compare_exchange_weak(&crew->ticket, &ticket, ticket + 1))
            continue;
        crew->job(crew->context, (int64_t)(ticket & 0xffffffff));
        atomic_fetch_add(&crew->done, 1);
    }
}

static void *svmx_helper(void *argument)
{
    svmx_crew *crew = argument;
    uint32_t seen = 0;
    while (!atomic_load(&crew->over)) {
        uint32_t number = (uint32_t)(atomic_load(&crew->ticket) >> 32);
        for (int spin = 0; number == seen && spin < SVMX_SPINS && !atomic_load(&crew->over); ++spin) {
            svmx_pause();
            number = (uint32_t)(atomic_load(&crew->ticket) >> 32);
        }
        if (number == seen) {
            pthread_mutex_lock(&crew->lock);
            atomic_fetch_add(&crew->sleepers, 1);
            while ((uint32_t)(atomic_load(&crew->ticket) >> 32) == seen && !atomic_load(&crew->over))
                pthread_cond_wait(&crew->wake, &crew->lock);
            atomic_fetch_sub(&crew->sleepers, 1);
            pthread_mutex_unlock(&crew->lock);
            continue;
        }
        seen = number;
        svmx_work(crew, number);
    }
    return NULL;
}

static void svmx_wake(svmx_crew *crew)
{
    if (atomic_load(&crew->sleepers) > 0) {
        pthread_mutex_lock(&crew->lock);
        pthread_cond_broadcast(&crew->wake);
        pthread_mutex_unlock(&crew->lock);
    }
}

/* A crew of so many threads, the caller included; NULL if there are none to be had. */
static svmx_crew *svmx_crew_new(int n_threads)
{
    svmx_crew *crew = n_threads > 1 ? calloc(1, sizeof(svmx_crew)) : NULL;
    if (crew == NULL)
        return NULL;
    crew->helpers = calloc((size_t)n_threads, sizeof(pthread_t));
    if (crew->helpers == NULL || pthread_mutex_init(&crew->lock, NULL) != 0) {
        free(crew->helpers);
        free(crew);
        return NULL;
    }
    if (pthread_cond_init(&crew->wake, NULL) == 0)
        while (crew->n_helpers < n_threads - 1 &&
               pthread_create(&crew->helpers[crew->n_helpers], NULL, svmx_helper, crew) == 0)
            ++crew->n_helpers;
    return crew;
}

static void svmx_crew_free(svmx_crew *crew)
{
    if (crew == NULL)
        return;
    atomic_store(&crew->over, 1);
    pthread_mutex_lock(&crew->lock);
    pthread_cond_broadcast(&crew->wake);
    pthread_mutex_unlock(&crew->lock);
    for (int k = 0; k < crew->n_helpers; ++k)
        pthread_join(crew->helpers[k], NULL);
    pthread_cond_destroy(&crew->wake);
    pthread_mutex_destroy(&crew->lock);
    free(crew->helpers);
    free(crew);
}

/* job(context, part) for part in [0, n_parts), in any order, on all threads; returns when all are done. */
static void svmx_crew_run(svmx_crew *crew, svmx_job job, void *context, int64_t n_parts)
{
    if (crew == NULL || crew->n_helpers == 0 || n_parts < 2) {
        for (int64_t part = 0; part < n_parts; ++part)
            job(context, part);
        return;
    }
    crew->job = job;
    crew->context = context;
    atomic_store(&crew->n_parts, n_parts);
    atomic_store(&crew->done, 0);
    crew->number += 1;
    if (crew->number == 0) /* 0 is what helpers start with */
        crew->number = 1;
    atomic_store(&crew->ticket, (uint64_t)crew->number << 32);
    svmx_wake(crew);
    svmx_work(crew, crew->number);
    while (atomic_load(&crew->done) < n_parts)
        svmx_pause();
    /* exhausted whatever the next n_parts is, which is set before the next ticket */
    atomic_store(&crew->ticket, (uint64_t)crew->number << 32 | 0xffffffff);
}

#else

typedef struct {
    int n_helpers;
} svmx_crew;

static svmx_crew *svmx_crew_new(int n_threads)
{
    (void)n_threads;
    return NULL;
}

static void svmx_crew_free(svmx_crew *crew)
{
    (void)crew;
}

static void svmx_crew_run(svmx_crew *crew, svmx_job job, void *context, int64_t n_parts)
{
    (void)crew;
    for (int64_t part = 0; part < n_parts; ++part)
        job(context, part);
}

#endif
#endif

/* Worker threads for jobs of some microseconds.
 *
 * The caller offers the parts of a job to workers and works on them, too, so a late worker finds none left and costs nothing.
 * An offer takes 0.15 microseconds. Idle workers spin for a short time, then sleep. They belong to one solve, start with its
 * first job for them and end with it, so there is nothing for a fork to lose. Without threads, the caller does all parts.
 *
 * Workers may cost more than they save: where they have no processor of their own, where another process takes it in the
 * middle of a part, or where they share a core with the caller. All that shows in the time of a job, which is compared with
 * what the caller alone takes for as much work. So there is a balance for each kind of jobs, and where workers have lost more
 * than they have saved they are left out, until the loss is a small share of the time.
 */
#pragma once

#include "system_threads.h"

#include <stdint.h>
#include <stdlib.h>

typedef void (*svmx_job)(void *context, int64_t part);
typedef void (*svmx_pause_call)(void *context);

#if SVMX_HAS_THREADS
#include "clock.h"

/* Estimated nanoseconds of a part for which another thread pays, at least. */
#define SVMX_PART_NS 1500.0
/* Reads of its slot before a worker goes to sleep: some tens of microseconds. */
#define SVMX_SPINS 4000
/* Share of the time that workers may lose. Nanoseconds: what they may lose before they are left out, so that they can wake
 * up; what they can save up for worse times; and at most this of a job counts, as a process may be stopped for hours. */
#define SVMX_LOSS_SHARE 0.02
#define SVMX_FREE_LOSS 5e4
#define SVMX_MAX_BALANCE 1e7
#define SVMX_MAX_TIME 5e7
/* Jobs with workers between two without, at most. */
#define SVMX_MAX_INTERVAL 64
/* Kinds of jobs of a pool whose times are kept apart. */
#define SVMX_KINDS 8
/* A waiting caller sleeps for this share of its wait so far, and at most for so many microseconds. */
#define SVMX_SLEEP_SHARE 0.125
#define SVMX_MAX_SLEEP 1000.0

/* State of a worker's slot. The caller offers a part in an empty slot, and withdraws it if it is not taken when the caller's
 * own part is done: a late worker finds nothing, or a part of the current job. */
enum { SVMX_EMPTY, SVMX_OFFERED, SVMX_TAKEN };

typedef struct svmx_pool svmx_pool;

typedef struct {
    _Atomic int slot;
    _Atomic int asleep;
    int64_t part;
    svmx_pool *pool;
    svmx_thread thread;
    char padding[64]; /* a cache line for each worker */
} svmx_worker;

/* Jobs by one function. */
typedef struct {
    svmx_job job;
    double alone;    /* what the caller alone takes for an estimated nanosecond; 0: unknown */
    double shared;   /* nanoseconds with workers since that was measured */
    double interval; /* jobs with workers until it is measured again */
    double balance;  /* nanoseconds that workers have saved, and may lose */
    int resting;     /* whether workers are left out */
} svmx_kind;

struct svmx_pool {
    svmx_job job;
    void *context;
    int n_workers, started;
    svmx_kind kinds[SVMX_KINDS];
    _Atomic int over;
    svmx_lock lock;
    svmx_condition wake;
    svmx_worker *workers;
};

/* Take the offered part, and do it. */
static void svmx_take_part(svmx_worker *me)
{
    int offered = SVMX_OFFERED;
    if (atomic_compare_exchange_strong(&me->slot, &offered, SVMX_TAKEN)) {
        me->pool->job(me->pool->context, me->part);
        atomic_store(&me->slot, SVMX_EMPTY);
    }
}

static SVMX_THREAD_FUNCTION svmx_work(void *argument)
{
    svmx_worker *me = argument;
    svmx_pool *pool = me->pool;
    int spin = 0;
    while (!atomic_load(&pool->over)) {
        if (atomic_load(&me->slot) == SVMX_OFFERED) {
            svmx_take_part(me);
            spin = 0;
        } else if (++spin < SVMX_SPINS) {
            svmx_pause();
        } else {
            svmx_take_lock(&pool->lock);
            atomic_store(&me->asleep, 1);
            while (atomic_load(&me->slot) != SVMX_OFFERED && !atomic_load(&pool->over))
                svmx_wait(&pool->wake, &pool->lock);
            atomic_store(&me->asleep, 0);
            svmx_give_lock(&pool->lock);
        }
    }
    return 0;
}

/* A pool of n_threads, the caller included; NULL if none can be had. */
static svmx_pool *svmx_pool_new(int n_threads)
{
    svmx_pool *pool = n_threads > 1 ? calloc(1, sizeof(svmx_pool)) : NULL;
    if (pool == NULL)
        return NULL;
    pool->workers = calloc((size_t)n_threads, sizeof(svmx_worker));
    if (pool->workers == NULL || !svmx_lock_begin(&pool->lock)) {
        free(pool->workers);
        free(pool);
        return NULL;
    }
    if (!svmx_condition_begin(&pool->wake)) {
        svmx_lock_end(&pool->lock);
        free(pool->workers);
        free(pool);
        return NULL;
    }
    pool->n_workers = n_threads - 1;
    return pool;
}

/* Start the workers, or as many as can be had. */
static void svmx_pool_start(svmx_pool *pool)
{
    const int wanted = pool->n_workers;
    pool->started = 1;
    for (pool->n_workers = 0; pool->n_workers < wanted; ++pool->n_workers) {
        svmx_worker *worker = &pool->workers[pool->n_workers];
        worker->pool = pool;
        if (!svmx_thread_begin(&worker->thread, svmx_work, worker))
            break;
    }
}

static void svmx_wake(svmx_pool *pool)
{
    svmx_take_lock(&pool->lock);
    svmx_wake_all(&pool->wake);
    svmx_give_lock(&pool->lock);
}

static void svmx_pool_free(svmx_pool *pool)
{
    if (pool == NULL)
        return;
    atomic_store(&pool->over, 1);
    svmx_wake(pool);
    for (int k = 0; pool->started && k < pool->n_workers; ++k)
        svmx_thread_end(pool->workers[k].thread);
    svmx_condition_end(&pool->wake);
    svmx_lock_end(&pool->lock);
    free(pool->workers);
    free(pool);
}

static void svmx_run_serial(svmx_job job, void *context, int64_t n_parts)
{
    for (int64_t part = 0; part < n_parts; ++part)
        job(context, part);
}

/* Offer part k to worker k - 1; the caller does part 0, and then those that no worker has begun. Returns the number of workers
 * asked; some may still be at work. */
static int svmx_hand_out(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts)
{
    const int asked = n_parts - 1 < pool->n_workers ? (int)(n_parts - 1) : pool->n_workers;
    int sleepers = 0;
    pool->job = job;
    pool->context = context;
    for (int k = 0; k < asked; ++k) {
        pool->workers[k].part = k + 1;
        atomic_store(&pool->workers[k].slot, SVMX_OFFERED);
        sleepers |= atomic_load(&pool->workers[k].asleep);
    }
    if (sleepers)
        svmx_wake(pool);
    job(context, 0);
    for (int64_t part = asked + 1; part < n_parts; ++part)
        job(context, part);
    for (int k = 0; k < asked; ++k) {
        int offered = SVMX_OFFERED;
        if (atomic_compare_exchange_strong(&pool->workers[k].slot, &offered, SVMX_EMPTY))
            job(context, k + 1);
    }
    return asked;
}

static int svmx_all_done(const svmx_pool *pool, int asked)
{
    for (int k = 0; k < asked; ++k)
        if (atomic_load(&pool->workers[k].slot) != SVMX_EMPTY)
            return 0;
    return 1;
}

/* A job whose parts are drawn one by one. */
typedef struct {
    _Atomic int64_t next;
    svmx_job job;
    void *context;
    int64_t n_parts;
} svmx_drawing;

static void svmx_draw_parts(void *argument, int64_t worker)
{
    svmx_drawing *drawing = argument;
    (void)worker;
    for (int64_t part; (part = atomic_fetch_add(&drawing->next, 1)) < drawing->n_parts;)
        drawing->job(drawing->context, part);
}

/* All parts on all threads: part k always by the same one, for its cache, or, if there are more parts than threads, by
 * whichever is free. */
static void svmx_run_shared(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts, svmx_pause_call idle)
{
    svmx_drawing drawing = {0, job, context, n_parts};
    const int drawn = n_parts > 1 + pool->n_workers;
    const int asked = drawn ? svmx_hand_out(pool, svmx_draw_parts, &drawing, 1 + pool->n_workers)
                            : svmx_hand_out(pool, job, context, n_parts);
    double since = 0;
    for (int64_t spin = 0; !svmx_all_done(pool, asked); ++spin) {
        svmx_pause();
        if (spin < SVMX_SPINS)
            continue;
        if (idle == NULL) {
            svmx_give_way(); /* the worker may wait for this processor */
        } else {
            since = since > 0 ? since : svmx_nanoseconds();
            const double sleep = SVMX_SLEEP_SHARE * (svmx_nanoseconds() - since) / 1000;
            idle(context);
            svmx_sleep_microseconds(sleep < SVMX_MAX_SLEEP ? sleep : SVMX_MAX_SLEEP);
        }
    }
}

static svmx_kind *svmx_kind_of(svmx_pool *pool, svmx_job job)
{
    int k = 0;
    while (k < SVMX_KINDS - 1 && pool->kinds[k].job != NULL && pool->kinds[k].job != job)
        ++k;
    pool->kinds[k].job = job;
    return &pool->kinds[k];
}

/* After a job without workers. Times of the caller alone: a preempted one counts little, and the first ones, which fetch data,
 * are soon forgotten. */
static void svmx_count_alone(svmx_kind *kind, double work, double taken)
{
    const double alone = taken / work;
    if (kind->alone == 0)
        kind->alone = alone;
    else if (alone < kind->alone)
        kind->alone += (alone - kind->alone) / 2;
    else
        kind->alone += ((alone < 2 * kind->alone ? alone : 2 * kind->alone) - kind->alone) / 8;
    kind->shared = 0;
    kind->interval = 2 * kind->interval + 1 < SVMX_MAX_INTERVAL ? 2 * kind->interval + 1 : SVMX_MAX_INTERVAL;
    if (kind->resting) {
        kind->balance += SVMX_LOSS_SHARE * taken;
        kind->resting = kind->balance < 0;
    }
}

/* After a job with workers, which the caller alone would have done in ``expected`` nanoseconds. */
static void svmx_count_shared(svmx_kind *kind, double expected, double taken)
{
    kind->shared += taken;
    kind->balance += expected - taken;
    if (kind->balance > SVMX_MAX_BALANCE)
        kind->balance = SVMX_MAX_BALANCE;
    kind->resting = kind->balance < -SVMX_FREE_LOSS;
}

/* Number of parts into which a job of so many estimated nanoseconds is divided. */
static int svmx_pool_parts(const svmx_pool *pool, double work)
{
    const int threads = pool == NULL ? 1 : 1 + pool->n_workers;
    return work >= SVMX_PART_NS * threads ? threads : work >= SVMX_PART_NS ? (int)(work / SVMX_PART_NS) : 1;
}

/* job(context, part) for part in [0, n_parts), in any order, on all threads; returns when all are done. ``work``: estimated
 * nanoseconds on one thread. While the caller waits for the others, it calls idle(context) at intervals, unless NULL: such
 * jobs are long, and workers are always used. */
static void svmx_pool_run(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts, double work, svmx_pause_call idle)
{
    if (pool == NULL || n_parts < 2 || (idle == NULL && svmx_pool_parts(pool, work) < 2)) {
        svmx_run_serial(job, context, n_parts);
        return;
    }
    svmx_kind *kind = svmx_kind_of(pool, job);
    const double expected = kind->alone * work;
    const int shared = idle != NULL || (!kind->resting && expected > 0 && kind->shared < kind->interval * expected);
    if (shared && !pool->started)
        svmx_pool_start(pool);
    const double begun = svmx_nanoseconds();
    if (shared)
        svmx_run_shared(pool, job, context, n_parts, idle);
    else
        svmx_run_serial(job, context, n_parts);
    double taken = svmx_nanoseconds() - begun;
    taken = taken < SVMX_MAX_TIME ? taken : SVMX_MAX_TIME;
    if (idle == NULL && shared)
        svmx_count_shared(kind, expected, taken);
    else if (idle == NULL)
        svmx_count_alone(kind, work, taken);
}

#else

typedef struct {
    int n_workers;
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

static int svmx_pool_parts(const svmx_pool *pool, double work)
{
    (void)pool;
    (void)work;
    return 1;
}

static void svmx_pool_run(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts, double work, svmx_pause_call idle)
{
    (void)pool;
    (void)work;
    (void)idle;
    for (int64_t part = 0; part < n_parts; ++part)
        job(context, part);
}

#endif

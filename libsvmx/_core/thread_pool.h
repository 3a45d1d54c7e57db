/* Worker threads for jobs of some microseconds.
 *
 * The caller offers the parts of a job to workers and works on them, too, so a late worker finds none left and costs nothing.
 * An offer takes 0.15 microseconds. Idle workers spin for a short time, then sleep. They belong to one solve and end with it,
 * so there is nothing for a fork to lose. Without threads, the caller does all parts.
 */
#ifndef SVMX_POOL_H
#define SVMX_POOL_H

#include "system_threads.h"

#include <stdint.h>
#include <stdlib.h>

typedef void (*svmx_job)(void *context, int64_t part);
typedef void (*svmx_pause_call)(void *context);

#if SVMX_HAS_THREADS
#include "clock.h"

/* Reads of its slot before a worker goes to sleep: some tens of microseconds. */
#define SVMX_SPINS 4000
/* Share of the time that may be lost where there are too few processors, and nanoseconds that may always be. */
#define SVMX_LOSS_SHARE 0.03
#define SVMX_FREE_LOSS 1.5e5
/* At most this counts at a time: a process may be stopped for hours. */
#define SVMX_MAX_LOSS 5e7
/* Backoff: nanoseconds without workers after one has run on the caller's processor, doubled each time. */
#define SVMX_MIN_BACKOFF 1e6
#define SVMX_MAX_BACKOFF 1e8
/* A waiting caller sleeps for this share of its wait so far, and at most for so many microseconds. */
#define SVMX_SLEEP_SHARE 0.125
#define SVMX_MAX_SLEEP 1000.0
/* Short jobs between two measurements of the share of a processor that the caller gets. */
#define SVMX_JOBS_PER_CHECK 256

/* Trial: blocks of short jobs with and without workers alternate, and the fastest of each are compared, since a late worker, or
 * one on the other half of the caller's core, costs time without a visible wait. Jobs between two trials, first and at most;
 * the ratio of times from which workers do not pay. */
#define SVMX_JOBS_PER_BLOCK 8
#define SVMX_BLOCKS 8
#define SVMX_FIRST_INTERVAL 1024
#define SVMX_MAX_INTERVAL 16384
#define SVMX_TOO_SLOW 1.05

/* State of a worker's slot. The caller offers a part in an empty slot, and withdraws it if it is not taken when the caller's
 * own part is done: a late worker finds nothing, or a part of the current job. */
enum { SVMX_EMPTY, SVMX_OFFERED, SVMX_TAKEN };

typedef struct svmx_pool svmx_pool;

typedef struct {
    _Atomic int slot;
    _Atomic int asleep;
    _Atomic int processor; /* where it last ran; -1: unknown */
    int64_t part;
    svmx_pool *pool;
    svmx_thread thread;
    char padding[64]; /* a cache line for each worker */
} svmx_worker;

struct svmx_pool {
    svmx_job job;
    void *context;
    int n_workers;
    /* in nanoseconds */
    double begun, lost;
    double backoff;          /* the length of the next one */
    double backoff_until;    /* 0: none */
    double measured, processor_time; /* last measurement: the time, and the caller's processor time */
    int jobs;                /* since then */
    int trial_jobs, jobs_to_trial, interval;
    double block, fastest[2]; /* of a trial: of this block so far; with workers, and without */
    _Atomic int processor;   /* the caller's, at the last job */
    _Atomic int over;
    svmx_lock lock;
    svmx_condition wake;
    svmx_worker *workers;
};

/* Whether worker and caller last ran on the same processor. */
static int svmx_shares_processor(const svmx_worker *worker)
{
    const int processor = atomic_load(&worker->processor);
    return processor >= 0 && processor == atomic_load(&worker->pool->processor);
}

/* Take the offered part, and do it. Returns the initial spin count: on the caller's processor the next offer comes only once
 * this thread sleeps. */
static int svmx_take_part(svmx_worker *me)
{
    int offered = SVMX_OFFERED;
    if (atomic_compare_exchange_strong(&me->slot, &offered, SVMX_TAKEN)) {
        atomic_store(&me->processor, svmx_processor());
        me->pool->job(me->pool->context, me->part);
        atomic_store(&me->slot, SVMX_EMPTY);
    }
    return svmx_shares_processor(me) ? SVMX_SPINS : 0;
}

static SVMX_THREAD_FUNCTION svmx_work(void *argument)
{
    svmx_worker *me = argument;
    svmx_pool *pool = me->pool;
    int spin = 0;
    while (!atomic_load(&pool->over)) {
        if (atomic_load(&me->slot) == SVMX_OFFERED) {
            spin = svmx_take_part(me);
        } else if (++spin < SVMX_SPINS) {
            svmx_pause();
        } else {
            svmx_take_lock(&pool->lock);
            atomic_store(&me->asleep, 1);
            while (atomic_load(&me->slot) != SVMX_OFFERED && !atomic_load(&pool->over))
                svmx_wait(&pool->wake, &pool->lock);
            atomic_store(&me->asleep, 0);
            svmx_give_lock(&pool->lock);
            atomic_store(&me->processor, svmx_processor());
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
    pool->begun = svmx_nanoseconds();
    pool->backoff = SVMX_MIN_BACKOFF;
    pool->jobs_to_trial = 2 * SVMX_JOBS_PER_BLOCK; /* the first block is with workers */
    pool->interval = SVMX_FIRST_INTERVAL;
    atomic_store(&pool->processor, -1);
    for (; pool->n_workers < n_threads - 1; ++pool->n_workers) {
        svmx_worker *worker = &pool->workers[pool->n_workers];
        worker->pool = pool;
        atomic_store(&worker->processor, -1);
        if (!svmx_thread_begin(&worker->thread, svmx_work, worker))
            break;
    }
    return pool;
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
    for (int k = 0; k < pool->n_workers; ++k)
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
    atomic_store(&pool->processor, svmx_processor());
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

/* Count lost nanoseconds; no workers until they are a small share of the time. */
static void svmx_add_loss(svmx_pool *pool, double lost)
{
    pool->lost += lost < SVMX_MAX_LOSS ? lost : SVMX_MAX_LOSS;
    if (pool->lost > SVMX_FREE_LOSS)
        pool->backoff_until = pool->begun + (pool->lost - SVMX_FREE_LOSS) / SVMX_LOSS_SHARE;
}

/* Whether the caller works alone for now. */
static int svmx_pool_backs_off(svmx_pool *pool)
{
    if (pool->backoff_until > 0 && svmx_nanoseconds() < pool->backoff_until)
        return 1;
    if (pool->backoff_until > 0 || pool->jobs == 0) { /* measure from now on */
        pool->backoff_until = 0;
        pool->measured = svmx_nanoseconds();
        pool->processor_time = svmx_thread_nanoseconds();
    }
    return 0;
}

/* Number of threads for a job now. */
static int svmx_pool_ready(svmx_pool *pool)
{
    return pool == NULL || pool->n_workers == 0 || svmx_pool_backs_off(pool) ? 1 : 1 + pool->n_workers;
}

/* After some jobs: whether the caller lost its processor, to workers or anything else. */
static void svmx_measure(svmx_pool *pool)
{
    const double away = (svmx_nanoseconds() - pool->measured) - (svmx_thread_nanoseconds() - pool->processor_time);
    if (away > 0)
        svmx_add_loss(pool, away);
    if (pool->backoff > SVMX_MIN_BACKOFF)
        pool->backoff /= 2;
    pool->jobs = 0;
}

/* After a job in which the caller lost nanoseconds by waiting; jobs_per_check: between two measurements. */
static void svmx_assess(svmx_pool *pool, int asked, double lost, int jobs_per_check)
{
    int shared = 0;
    for (int k = 0; k < asked; ++k)
        shared |= svmx_shares_processor(&pool->workers[k]);
    if (lost > 0)
        svmx_add_loss(pool, lost);
    if (shared) {
        const double until = svmx_nanoseconds() + pool->backoff;
        if (until > pool->backoff_until)
            pool->backoff_until = until;
        if (pool->backoff < SVMX_MAX_BACKOFF)
            pool->backoff *= 2;
    }
    if (lost > 0 || shared)
        pool->jobs = pool->trial_jobs = 0; /* counted already */
    else if (++pool->jobs >= jobs_per_check)
        svmx_measure(pool);
}

/* Record the time of a short job in a trial, and end the trial after its last job. */
static void svmx_record_trial(svmx_pool *pool, double taken)
{
    const int side = pool->trial_jobs / SVMX_JOBS_PER_BLOCK % 2;
    pool->block = pool->trial_jobs % SVMX_JOBS_PER_BLOCK ? pool->block + taken : taken;
    if (++pool->trial_jobs % SVMX_JOBS_PER_BLOCK)
        return;
    if (pool->trial_jobs <= 2 * SVMX_JOBS_PER_BLOCK || pool->block < pool->fastest[side])
        pool->fastest[side] = pool->block;
    if (pool->trial_jobs < SVMX_BLOCKS * SVMX_JOBS_PER_BLOCK)
        return;
    pool->trial_jobs = 0;
    if (pool->fastest[0] > SVMX_TOO_SLOW * pool->fastest[1]) {
        svmx_add_loss(pool, SVMX_BLOCKS / 2 * (pool->fastest[0] - pool->fastest[1]));
        pool->interval = SVMX_FIRST_INTERVAL;
    } else {
        pool->jobs_to_trial = pool->interval;
        if (pool->interval < SVMX_MAX_INTERVAL)
            pool->interval *= 2;
    }
}

/* A job whose parts are drawn one by one. */
typedef struct {
    _Atomic int64_t next;
    svmx_job job;
    void *context;
    int64_t n_parts;
    int64_t of_caller; /* parts drawn by the caller */
} svmx_drawing;

static void svmx_draw_parts(void *argument, int64_t worker)
{
    svmx_drawing *drawing = argument;
    int64_t drawn = 0;
    for (int64_t part; (part = atomic_fetch_add(&drawing->next, 1)) < drawing->n_parts; ++drawn)
        drawing->job(drawing->context, part);
    if (worker == 0)
        drawing->of_caller = drawn;
}

/* job(context, part) for part in [0, n_parts), in any order, on all threads; returns when all are done. While the caller waits
 * for the others, it calls idle(context) at intervals, unless NULL: such jobs are long, and workers are always used. */
static void svmx_pool_run(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts, svmx_pause_call idle)
{
    if (pool == NULL || pool->n_workers == 0 || n_parts < 2 || (idle == NULL && svmx_pool_backs_off(pool))) {
        svmx_run_serial(job, context, n_parts);
        return;
    }
    svmx_drawing drawing = {0, job, context, n_parts, 0};
    const int threads = n_parts <= pool->n_workers ? (int)n_parts : 1 + pool->n_workers;
    const double begun = svmx_nanoseconds();
    const int asked = svmx_hand_out(pool, svmx_draw_parts, &drawing, threads);
    const double own = svmx_nanoseconds() - begun;
    for (int64_t spin = 1; !svmx_all_done(pool, asked); ++spin) {
        svmx_pause();
        if (idle == NULL && spin > SVMX_SPINS)
            svmx_give_way(); /* the worker may wait for this core */
        if (idle != NULL && spin > SVMX_SPINS) {
            const double sleep = SVMX_SLEEP_SHARE * (svmx_nanoseconds() - begun - own) / 1000;
            idle(context);
            svmx_sleep_microseconds(sleep < SVMX_MAX_SLEEP ? sleep : SVMX_MAX_SLEEP);
        }
    }
    if (idle == NULL) { /* a worker as fast as the caller is done within one part */
        const double waited = svmx_nanoseconds() - begun - own;
        svmx_assess(pool, asked, waited - own / (double)(drawing.of_caller > 0 ? drawing.of_caller : 1), 1);
    }
}

/* As svmx_pool_run, for one or two parts of a few microseconds per thread: part k always goes to the same one, for its cache.
 * With fewer processors than threads, a worker may lose its own in the middle of a part, and the wait costs more than a
 * thousand jobs gain: then there are no workers until the loss is a small share of the time. */
static void svmx_pool_run_short(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts)
{
    double since = 0, begun = 0;
    if (pool == NULL || pool->n_workers == 0 || n_parts < 2 || svmx_pool_backs_off(pool)) {
        svmx_run_serial(job, context, n_parts);
        return;
    }
    const int trial = pool->jobs_to_trial == 0;
    if (trial)
        begun = svmx_nanoseconds();
    else
        --pool->jobs_to_trial;
    if (trial && pool->trial_jobs / SVMX_JOBS_PER_BLOCK % 2) {
        svmx_run_serial(job, context, n_parts);
        svmx_record_trial(pool, svmx_nanoseconds() - begun);
        return;
    }
    const int asked = svmx_hand_out(pool, job, context, n_parts);
    for (int64_t spin = 1; !svmx_all_done(pool, asked); ++spin) {
        svmx_pause();
        if (spin == SVMX_SPINS)
            since = svmx_nanoseconds();
        if (spin >= SVMX_SPINS)
            svmx_give_way();
    }
    if (trial)
        svmx_record_trial(pool, svmx_nanoseconds() - begun);
    svmx_assess(pool, asked, since > 0 ? svmx_nanoseconds() - since : 0, SVMX_JOBS_PER_CHECK);
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

static int svmx_pool_ready(svmx_pool *pool)
{
    (void)pool;
    return 1;
}

static void svmx_pool_run(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts, svmx_pause_call idle)
{
    (void)pool;
    (void)idle;
    for (int64_t part = 0; part < n_parts; ++part)
        job(context, part);
}

static void svmx_pool_run_short(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts)
{
    svmx_pool_run(pool, job, context, n_parts, NULL);
}

#endif
#endif

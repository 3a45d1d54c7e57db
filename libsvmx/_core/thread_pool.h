/* A few helper threads for pieces of work of some microseconds.
 *
 * One thread leads: it hands out the parts of a job and works on them itself, so a helper that comes late finds nothing
 * left and costs nothing. Handing over takes 0.15 microseconds. Helpers wait a little while spinning, then asleep. They
 * belong to one solve and end with it: there is nothing for a fork to lose. Where there are no threads to be had, the leader
 * does all parts.
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

/* Looks at its desk before a helper goes to sleep: some tens of microseconds. */
#define SVMX_SPINS 4000
/* Share of the time that may be lost where processors are too few, and nanoseconds that may be in any case. */
#define SVMX_LOST_SHARE 0.03
#define SVMX_LOST_FREELY 1.5e5
/* No more of it counts at a time: a process may be stopped for hours, or wait for something else. */
#define SVMX_LOST_AT_ONCE 5e7
/* Nanoseconds without helpers once one has worked on the leader's own processor: each rest twice as long as the one before. */
#define SVMX_LEAST_REST 1e6
#define SVMX_MOST_REST 1e8
/* Of what the leader has waited for the others so far, the share that it sleeps on, and the most, in microseconds. */
#define SVMX_SLEEP_SHARE 0.125
#define SVMX_MOST_SLEEP 1000.0
/* Short jobs between two looks at how much of a processor the leader has. */
#define SVMX_JOBS_OF_LOOK 256

/* Short jobs with helpers and without take turns in blocks of so many, and the fastest blocks are compared: a helper that
 * answers late, or runs on the other half of the leader's core, costs without being seen to wait. Between two such trials are
 * so many jobs, at first and at most. Helpers lose if they take longer than this. */
#define SVMX_JOBS_OF_BLOCK 8
#define SVMX_BLOCKS 8
#define SVMX_FIRST_WAIT 1024
#define SVMX_MOST_WAIT 16384
#define SVMX_TOO_SLOW 1.05

/* What lies on a helper's desk. The leader offers a part when the desk is empty, and takes back what the helper has not
 * taken when the leader's own is done: a helper that comes late finds nothing, or a part of the job that is on. */
enum { SVMX_EMPTY, SVMX_OFFERED, SVMX_TAKEN };

typedef struct svmx_pool svmx_pool;

typedef struct {
    _Atomic int desk;
    _Atomic int asleep;
    _Atomic int processor; /* where it was last seen; -1: not yet, or the system does not tell */
    int64_t part;
    svmx_pool *pool;
    svmx_thread thread;
    char apart[64]; /* each helper looks at a cache line of its own */
} svmx_helper;

struct svmx_pool {
    svmx_job job;
    void *context;
    int n_helpers;
    /* in nanoseconds */
    double begun, lost;
    double rest;             /* the length of the next one after a processor was shared */
    double rest_until;       /* 0: no rest */
    double looked, had_then; /* the last look at the clock, and what the leader had had of a processor */
    int jobs;                /* since then */
    int trial_jobs, until_trial, next_wait;
    double block, fastest[2]; /* of a trial: of this block so far; of those with helpers, and without */
    _Atomic int processor;   /* the leader's, when it last handed out a job */
    _Atomic int over;
    svmx_lock lock;
    svmx_condition wake;
    svmx_helper *helpers;
};

/* Whether the two threads were last seen on the same processor. */
static int svmx_shares(const svmx_helper *helper)
{
    const int processor = atomic_load(&helper->processor);
    return processor >= 0 && processor == atomic_load(&helper->pool->processor);
}

/* Take what is offered, and do it. Returns for how long not to spin: on the leader's processor the next offer comes only
 * once this thread sleeps. */
static int svmx_help(svmx_helper *me)
{
    int offered = SVMX_OFFERED;
    if (atomic_compare_exchange_strong(&me->desk, &offered, SVMX_TAKEN)) {
        atomic_store(&me->processor, svmx_processor());
        me->pool->job(me->pool->context, me->part);
        atomic_store(&me->desk, SVMX_EMPTY);
    }
    return svmx_shares(me) ? SVMX_SPINS : 0;
}

static SVMX_THREAD_FUNCTION svmx_be_helper(void *argument)
{
    svmx_helper *me = argument;
    svmx_pool *pool = me->pool;
    int spin = 0;
    while (!atomic_load(&pool->over)) {
        if (atomic_load(&me->desk) == SVMX_OFFERED) {
            spin = svmx_help(me);
        } else if (++spin < SVMX_SPINS) {
            svmx_pause();
        } else {
            svmx_take_lock(&pool->lock);
            atomic_store(&me->asleep, 1);
            while (atomic_load(&me->desk) != SVMX_OFFERED && !atomic_load(&pool->over))
                svmx_wait(&pool->wake, &pool->lock);
            atomic_store(&me->asleep, 0);
            svmx_give_lock(&pool->lock);
            atomic_store(&me->processor, svmx_processor());
        }
    }
    return 0;
}

/* A pool of so many threads, the caller included; NULL if there are none to be had. */
static svmx_pool *svmx_pool_new(int n_threads)
{
    svmx_pool *pool = n_threads > 1 ? calloc(1, sizeof(svmx_pool)) : NULL;
    if (pool == NULL)
        return NULL;
    pool->helpers = calloc((size_t)n_threads, sizeof(svmx_helper));
    if (pool->helpers == NULL || !svmx_lock_begin(&pool->lock)) {
        free(pool->helpers);
        free(pool);
        return NULL;
    }
    if (!svmx_condition_begin(&pool->wake)) {
        svmx_lock_end(&pool->lock);
        free(pool->helpers);
        free(pool);
        return NULL;
    }
    pool->begun = svmx_nanoseconds();
    pool->rest = SVMX_LEAST_REST;
    pool->until_trial = 2 * SVMX_JOBS_OF_BLOCK; /* helpers begin */
    pool->next_wait = SVMX_FIRST_WAIT;
    atomic_store(&pool->processor, -1);
    for (; pool->n_helpers < n_threads - 1; ++pool->n_helpers) {
        svmx_helper *helper = &pool->helpers[pool->n_helpers];
        helper->pool = pool;
        atomic_store(&helper->processor, -1);
        if (!svmx_thread_begin(&helper->thread, svmx_be_helper, helper))
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
    for (int k = 0; k < pool->n_helpers; ++k)
        svmx_thread_end(pool->helpers[k].thread);
    svmx_condition_end(&pool->wake);
    svmx_lock_end(&pool->lock);
    free(pool->helpers);
    free(pool);
}

static void svmx_do_alone(svmx_job job, void *context, int64_t n_parts)
{
    for (int64_t part = 0; part < n_parts; ++part)
        job(context, part);
}

/* Part k to helper k - 1, part 0 for the leader, and those that no helper has begun when that is done. Returns how many
 * helpers were asked; some may still be at work. */
static int svmx_hand_out(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts)
{
    const int asked = n_parts - 1 < pool->n_helpers ? (int)(n_parts - 1) : pool->n_helpers;
    int sleepers = 0;
    pool->job = job;
    pool->context = context;
    atomic_store(&pool->processor, svmx_processor());
    for (int k = 0; k < asked; ++k) {
        pool->helpers[k].part = k + 1;
        atomic_store(&pool->helpers[k].desk, SVMX_OFFERED);
        sleepers |= atomic_load(&pool->helpers[k].asleep);
    }
    if (sleepers)
        svmx_wake(pool);
    job(context, 0);
    for (int64_t part = asked + 1; part < n_parts; ++part)
        job(context, part);
    for (int k = 0; k < asked; ++k) {
        int offered = SVMX_OFFERED;
        if (atomic_compare_exchange_strong(&pool->helpers[k].desk, &offered, SVMX_EMPTY))
            job(context, k + 1);
    }
    return asked;
}

static int svmx_all_done(const svmx_pool *pool, int asked)
{
    for (int k = 0; k < asked; ++k)
        if (atomic_load(&pool->helpers[k].desk) != SVMX_EMPTY)
            return 0;
    return 1;
}

/* So many nanoseconds were lost; there are no helpers until that is a small share of all. */
static void svmx_lose(svmx_pool *pool, double lost)
{
    pool->lost += lost < SVMX_LOST_AT_ONCE ? lost : SVMX_LOST_AT_ONCE;
    if (pool->lost > SVMX_LOST_FREELY)
        pool->rest_until = pool->begun + (pool->lost - SVMX_LOST_FREELY) / SVMX_LOST_SHARE;
}

/* Whether the leader does without helpers. */
static int svmx_pool_rests(svmx_pool *pool)
{
    if (pool->rest_until > 0 && svmx_nanoseconds() < pool->rest_until)
        return 1;
    if (pool->rest_until > 0 || pool->jobs == 0) { /* what was before is no measure */
        pool->rest_until = 0;
        pool->looked = svmx_nanoseconds();
        pool->had_then = svmx_thread_nanoseconds();
    }
    return 0;
}

/* How many threads would work on a job now. */
static int svmx_pool_ready(svmx_pool *pool)
{
    return pool == NULL || pool->n_helpers == 0 || svmx_pool_rests(pool) ? 1 : 1 + pool->n_helpers;
}

/* After some jobs: whether the leader was kept from working, by helpers or by whatever else runs. */
static void svmx_look(svmx_pool *pool)
{
    const double away = (svmx_nanoseconds() - pool->looked) - (svmx_thread_nanoseconds() - pool->had_then);
    if (away > 0)
        svmx_lose(pool, away);
    if (pool->rest > SVMX_LEAST_REST)
        pool->rest /= 2;
    pool->jobs = 0;
}

/* After a job, in which the leader lost so many nanoseconds waiting; ``jobs_of_look`` are those between two looks. */
static void svmx_judge(svmx_pool *pool, int asked, double lost, int jobs_of_look)
{
    int shared = 0;
    for (int k = 0; k < asked; ++k)
        shared |= svmx_shares(&pool->helpers[k]);
    if (lost > 0)
        svmx_lose(pool, lost);
    if (shared) {
        const double until = svmx_nanoseconds() + pool->rest;
        if (until > pool->rest_until)
            pool->rest_until = until;
        if (pool->rest < SVMX_MOST_REST)
            pool->rest *= 2;
    }
    if (lost > 0 || shared)
        pool->jobs = pool->trial_jobs = 0; /* this was counted */
    else if (++pool->jobs >= jobs_of_look)
        svmx_look(pool);
}

/* A short job took so long within a trial; at the end of it helpers have lost or not. */
static void svmx_time_in_trial(svmx_pool *pool, double taken)
{
    const int side = pool->trial_jobs / SVMX_JOBS_OF_BLOCK % 2;
    pool->block = pool->trial_jobs % SVMX_JOBS_OF_BLOCK ? pool->block + taken : taken;
    if (++pool->trial_jobs % SVMX_JOBS_OF_BLOCK)
        return;
    if (pool->trial_jobs <= 2 * SVMX_JOBS_OF_BLOCK || pool->block < pool->fastest[side])
        pool->fastest[side] = pool->block;
    if (pool->trial_jobs < SVMX_BLOCKS * SVMX_JOBS_OF_BLOCK)
        return;
    pool->trial_jobs = 0;
    if (pool->fastest[0] > SVMX_TOO_SLOW * pool->fastest[1]) {
        svmx_lose(pool, SVMX_BLOCKS / 2 * (pool->fastest[0] - pool->fastest[1]));
        pool->next_wait = SVMX_FIRST_WAIT;
    } else {
        pool->until_trial = pool->next_wait;
        if (pool->next_wait < SVMX_MOST_WAIT)
            pool->next_wait *= 2;
    }
}

/* A job of many parts, drawn one by one. */
typedef struct {
    _Atomic int64_t next;
    svmx_job job;
    void *context;
    int64_t n_parts;
    int64_t of_leader; /* how many the leader has drawn */
} svmx_drawing;

static void svmx_draw_parts(void *argument, int64_t helper)
{
    svmx_drawing *drawing = argument;
    int64_t drawn = 0;
    for (int64_t part; (part = atomic_fetch_add(&drawing->next, 1)) < drawing->n_parts; ++drawn)
        drawing->job(drawing->context, part);
    if (helper == 0)
        drawing->of_leader = drawn;
}

/* job(context, part) for part in [0, n_parts), in any order, on all threads; returns when all are done. While the leader
 * waits for the others it calls idle(context) now and then, unless that is NULL: such jobs are long, and helpers never rest. */
static void svmx_pool_run(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts, svmx_pause_call idle)
{
    if (pool == NULL || pool->n_helpers == 0 || n_parts < 2 || (idle == NULL && svmx_pool_rests(pool))) {
        svmx_do_alone(job, context, n_parts);
        return;
    }
    svmx_drawing drawing = {0, job, context, n_parts, 0};
    const int threads = n_parts <= pool->n_helpers ? (int)n_parts : 1 + pool->n_helpers;
    const double begun = svmx_nanoseconds();
    const int asked = svmx_hand_out(pool, svmx_draw_parts, &drawing, threads);
    const double own = svmx_nanoseconds() - begun;
    for (int64_t spin = 1; !svmx_all_done(pool, asked); ++spin) {
        svmx_pause();
        if (idle == NULL && spin > SVMX_SPINS)
            svmx_give_way(); /* the helper may wait for this very core */
        if (idle != NULL && spin > SVMX_SPINS) {
            const double sleep = SVMX_SLEEP_SHARE * (svmx_nanoseconds() - begun - own) / 1000;
            idle(context);
            svmx_sleep_microseconds(sleep < SVMX_MOST_SLEEP ? sleep : SVMX_MOST_SLEEP);
        }
    }
    if (idle == NULL) { /* a helper that is as fast as the leader is done within a part */
        const double waited = svmx_nanoseconds() - begun - own;
        svmx_judge(pool, asked, waited - own / (double)(drawing.of_leader > 0 ? drawing.of_leader : 1), 1);
    }
}

/* As svmx_pool_run, for a part or two of a few microseconds for each thread: part k always for the same one, whose cache
 * has what it worked on before. Where there are fewer processors than threads that want one, a helper may lose its own in
 * the middle of a part, and the wait for it costs more than a thousand jobs gain: then there are no helpers until what was
 * lost so is a small share of the time. */
static void svmx_pool_run_short(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts)
{
    double since = 0, begun = 0;
    if (pool == NULL || pool->n_helpers == 0 || n_parts < 2 || svmx_pool_rests(pool)) {
        svmx_do_alone(job, context, n_parts);
        return;
    }
    const int trial = pool->until_trial == 0;
    if (trial)
        begun = svmx_nanoseconds();
    else
        --pool->until_trial;
    if (trial && pool->trial_jobs / SVMX_JOBS_OF_BLOCK % 2) {
        svmx_do_alone(job, context, n_parts);
        svmx_time_in_trial(pool, svmx_nanoseconds() - begun);
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
        svmx_time_in_trial(pool, svmx_nanoseconds() - begun);
    svmx_judge(pool, asked, since > 0 ? svmx_nanoseconds() - since : 0, SVMX_JOBS_OF_LOOK);
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

/* The thread pool under ThreadSanitizer: pools in several threads at once, jobs with few and many parts, pools that end
   while workers spin and while they sleep. Parts write plain memory that the caller reads after the job, and other
   parts read in the next job: only the pool orders these accesses. Exit code 1 for a wrong sum. */
#include "thread_pool.h"

#include <stdio.h>

enum { LEADERS = 3, POOLS = 20, JOBS = 200, PARTS = 37 };

typedef struct {
    int64_t cells[PARTS], sums[PARTS];
    int64_t job;
} table;

static void write_cell(void *context, int64_t part)
{
    table *t = context;
    t->cells[part] = t->job * part;
}

static void read_cells(void *context, int64_t part)
{
    table *t = context;
    t->sums[part] = 0;
    for (int k = 0; k <= part; ++k)
        t->sums[part] += t->cells[k];
}

static void idle(void *context)
{
    (void)context;
}

static SVMX_THREAD_FUNCTION lead(void *result)
{
    table t;
    int wrong = 0;
    for (int p = 0; p < POOLS; ++p) {
        svmx_pool *pool = svmx_pool_new(1 + p % 5);
        for (int64_t j = 0; j < JOBS; ++j) {
            int64_t parts = j % 3 ? PARTS : 1 + j % PARTS, expected = 0;
            t.job = j + 1;
            /* with ``idle``, workers never rest */
            svmx_pool_run(pool, write_cell, &t, parts, 1e6, j % 4 ? idle : NULL);
            svmx_pool_run(pool, read_cells, &t, parts, 1e6, j % 4 ? idle : NULL);
            for (int64_t k = 0; k < parts; ++k) {
                expected += (j + 1) * k;
                if (t.sums[k] != expected)
                    wrong = 1;
            }
            if (j % 50 == 49)
                svmx_sleep_microseconds(2000); /* long enough for workers to fall asleep */
        }
        svmx_pool_free(pool);
    }
    *(int *)result = wrong;
    return 0;
}

int main(void)
{
    svmx_thread threads[LEADERS];
    int wrong[LEADERS], any = 0;
    for (int k = 0; k < LEADERS; ++k) {
        wrong[k] = 1; /* until it ends */
        if (!svmx_thread_begin(&threads[k], lead, &wrong[k]))
            return 2;
    }
    for (int k = 0; k < LEADERS; ++k) {
        svmx_thread_end(threads[k]);
        any |= wrong[k];
    }
    puts(any ? "wrong sums" : "right sums");
    return any;
}

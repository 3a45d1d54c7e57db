/* Shared by threads that work on many jobs: the next job, whether to stop, and who has finished the last of a group. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

typedef struct {
    _Atomic int64_t next;
    _Atomic int over;
} svmx_tickets;

typedef struct {
    _Atomic int left;
} svmx_countdown;

/* The number of the next job. */
static int64_t svmx_next_ticket(svmx_tickets *tickets)
{
    return atomic_fetch_add(&tickets->next, 1);
}

static void svmx_begin_tickets(svmx_tickets *tickets)
{
    tickets->next = 0;
    tickets->over = 0;
}

/* Restart the numbers. */
static void svmx_renew_tickets(svmx_tickets *tickets)
{
    tickets->next = 0;
}

/* Stop all threads. */
static void svmx_end_tickets(svmx_tickets *tickets)
{
    tickets->over = 1;
}

/* Stop, and begin no further job, not even to report it as unfinished: results will not be used. */
static void svmx_tear_tickets(svmx_tickets *tickets)
{
    tickets->over = 1;
    tickets->next = INT64_MAX / 2;
}

static int svmx_tickets_over(svmx_tickets *tickets)
{
    return tickets->over;
}

static void svmx_begin_countdown(svmx_countdown *count, int n)
{
    count->left = n;
}

/* After one of n jobs: whether it was the last. What the others have written can then be read. */
static int svmx_counted_down(svmx_countdown *count)
{
    return atomic_fetch_sub(&count->left, 1) == 1;
}

/* Which of many pieces of work is next, whether there is reason to go on, and who has done the last of some of them: shared
   by the threads that do them. */
#ifndef SVMX_TICKETS_H
#define SVMX_TICKETS_H

#include <stdint.h>

#if defined(SVMX_THREADS) && !defined(__STDC_NO_ATOMICS__)
#include <stdatomic.h>
typedef struct {
    _Atomic int64_t next;
    _Atomic int over;
} svmx_tickets;
typedef struct {
    _Atomic int left;
} svmx_countdown;
#define svmx_draw(tickets) atomic_fetch_add(&(tickets)->next, 1)
#define svmx_left_before(count) atomic_fetch_sub(&(count)->left, 1)
#else
typedef struct {
    int64_t next;
    int over;
} svmx_tickets;
typedef struct {
    int left;
} svmx_countdown;
#define svmx_draw(tickets) ((tickets)->next++)
#define svmx_left_before(count) ((count)->left--)
#endif

/* The number of the next piece of work. */
static int64_t svmx_next_ticket(svmx_tickets *tickets)
{
    return svmx_draw(tickets);
}

static void svmx_begin_tickets(svmx_tickets *tickets)
{
    tickets->next = 0;
    tickets->over = 0;
}

/* Other pieces of work. */
static void svmx_renew_tickets(svmx_tickets *tickets)
{
    tickets->next = 0;
}

/* Nobody is to go on. */
static void svmx_end_tickets(svmx_tickets *tickets)
{
    tickets->over = 1;
}

/* Nor is anything to be begun, be it to say that there was no time: what there is will not be asked for. */
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

/* After one of n pieces: whether it was the last. What was written by those who did the others can be read then. */
static int svmx_counted_down(svmx_countdown *count)
{
    return svmx_left_before(count) == 1;
}

#endif

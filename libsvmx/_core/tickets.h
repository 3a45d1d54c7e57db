/* Which of many pieces of work is next, and whether there is reason to go on: shared by the threads that do them. */
#ifndef SVMX_TICKETS_H
#define SVMX_TICKETS_H

#include <stdint.h>

#if defined(SVMX_THREADS) && !defined(__STDC_NO_ATOMICS__)
#include <stdatomic.h>
typedef struct {
    _Atomic int64_t next;
    _Atomic int over;
} svmx_tickets;
#define svmx_draw(tickets) atomic_fetch_add(&(tickets)->next, 1)
#else
typedef struct {
    int64_t next;
    int over;
} svmx_tickets;
#define svmx_draw(tickets) ((tickets)->next++)
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

static int svmx_tickets_over(svmx_tickets *tickets)
{
    return tickets->over;
}

#endif

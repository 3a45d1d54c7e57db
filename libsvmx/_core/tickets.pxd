from libc.stdint cimport int64_t

cdef extern from "tickets.h" nogil:
    ctypedef struct svmx_tickets:
        pass

    int64_t svmx_next_ticket(svmx_tickets *tickets) noexcept
    void svmx_begin_tickets(svmx_tickets *tickets) noexcept
    void svmx_renew_tickets(svmx_tickets *tickets) noexcept
    void svmx_end_tickets(svmx_tickets *tickets) noexcept
    void svmx_tear_tickets(svmx_tickets *tickets) noexcept
    int svmx_tickets_over(svmx_tickets *tickets) noexcept

    ctypedef struct svmx_countdown:
        pass

    void svmx_begin_countdown(svmx_countdown *count, int n) noexcept
    int svmx_counted_down(svmx_countdown *count) noexcept

from libc.stdint cimport int64_t

from libsvmx._core.tickets cimport svmx_tickets


cdef class Token:
    cdef readonly object stopped
    cdef readonly double deadline
    cdef readonly Token parent
    cdef readonly bint steps
    cdef object should_stop
    cdef bint expired
    cdef public bint urgent         # its children check at once
    cdef bint abandoned
    cdef svmx_tickets over
    cdef unsigned long owner
    cdef int64_t work
    cdef int64_t poll_work          # from one question to the next
    cdef int worked(self, int64_t amount) except -1 nogil
    cdef int asked(self, int64_t amount) except -1 nogil
    cdef int poll(self) except -1 nogil


cdef extern from "thread_pool.h" nogil:
    enum: SVMX_HAS_THREADS
    ctypedef void (*svmx_job)(void *context, int64_t part) noexcept
    ctypedef void (*svmx_pause_call)(void *context) noexcept
    ctypedef struct svmx_pool:
        int n_workers

    svmx_pool *svmx_pool_new(int n_threads) noexcept
    void svmx_pool_free(svmx_pool *pool) noexcept
    int svmx_pool_parts(const svmx_pool *pool, double work) noexcept
    void svmx_pool_run(svmx_pool *pool, svmx_job job, void *context, int64_t n_parts, double work,
                       svmx_pause_call idle) noexcept


cdef class ThreadPool:
    cdef svmx_pool *threads
    cdef readonly int n             # threads, the caller included
    cdef int parts(self, double work) noexcept nogil
    cdef void run(self, svmx_job job, void *context, int64_t n_parts, double work,
                  svmx_pause_call idle=*) noexcept nogil

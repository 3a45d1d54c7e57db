from libc.stdint cimport int64_t


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

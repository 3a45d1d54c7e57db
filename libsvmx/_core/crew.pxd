from libc.stdint cimport int64_t

cdef extern from "crew.h" nogil:
    ctypedef void (*svmx_job)(void *context, int64_t part) noexcept
    ctypedef struct svmx_crew:
        int n_helpers

    svmx_crew *svmx_crew_new(int n_threads) noexcept
    void svmx_crew_free(svmx_crew *crew) noexcept
    void svmx_crew_run(svmx_crew *crew, svmx_job job, void *context, int64_t n_parts) noexcept


cdef class Crew:
    cdef svmx_crew *threads
    cdef readonly int n             # threads, the caller included
    cdef void run(self, svmx_job job, void *context, int64_t n_parts) noexcept nogil

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

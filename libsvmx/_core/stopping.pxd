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


cdef enum:
    MARK_STEP       # another min(m, 1000) iterations are done
    MARK_UNSHRINK   # all variables are active again
    MARK_FEW_FREE   # unshrinking met few free variables: shrinking costs more than it saves


cdef class Control(Token):
    cdef readonly double eps
    cdef readonly bint shrinking
    cdef readonly int64_t max_iter
    cdef public bint by_r
    cdef object on_progress
    cdef object on_gap
    cdef double gap
    cdef bint tells
    cdef int mark(self, int kind) except -1 nogil
    cdef Control handed_to(self, Control part)


cdef class ThreadControl(Control):
    cdef char *marks
    cdef Py_ssize_t n_marks
    cdef Py_ssize_t room

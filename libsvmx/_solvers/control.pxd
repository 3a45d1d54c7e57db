from libc.stdint cimport int64_t

from libsvmx._core.tickets cimport svmx_tickets

cdef enum:
    MARK_STEP       # another min(m, 1000) iterations are done
    MARK_UNSHRINK   # all variables are active again
    MARK_FEW_FREE   # unshrinking met few free variables: shrinking costs more than it saves


cdef class Control:
    cdef readonly double eps
    cdef readonly bint shrinking
    cdef readonly int64_t max_iter
    cdef readonly double time_limit
    cdef readonly object stopped
    cdef object on_progress
    cdef object should_stop
    cdef object on_gap
    cdef double gap
    cdef double deadline
    cdef bint expired
    cdef unsigned long owner
    cdef int64_t work
    cdef int mark(self, int kind) except -1 nogil
    cdef int worked(self, int64_t amount) except -1 nogil
    cdef int asked(self, int64_t amount) except -1 nogil
    cdef int poll(self) except -1 nogil


cdef class End:
    cdef svmx_tickets tickets
    cdef readonly object status


cdef class ThreadControl(Control):
    cdef End end
    cdef char *marks
    cdef Py_ssize_t n_marks
    cdef Py_ssize_t room

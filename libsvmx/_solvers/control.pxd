from libc.stdint cimport int64_t

from libsvmx._core.stopping cimport Token

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

from libc.stdint cimport int32_t

from libsvmx._core.matrix cimport RowsOnDemand


cdef class RowSource(RowsOnDemand):
    cdef list held                  # memory of the kept rows
    cdef Py_ssize_t n_kept
    cdef Py_ssize_t most_kept
    cdef const double[::1] nothing  # replaces rows whose computation failed
    cdef const int32_t[::1] known   # columns that rows are completed by, as K(i, j) = K(j, i)
    cdef const int32_t[::1] unknown # the other ones, if there are known ones
    cdef object unknown_columns     # ``unknown`` for ``rows``; None: all columns
    cdef list compared              # the first rows
    cdef Py_ssize_t n_divided       # kept rows when columns were last divided
    cdef int divide_columns(self) except -1

from libc.stdint cimport int32_t, int64_t


cdef class DualProblem:
    cdef readonly Py_ssize_t size
    cdef readonly bint split
    cdef readonly object y
    cdef readonly object linear
    cdef readonly object C
    cdef readonly object alpha
    cdef readonly object index
    cdef readonly object scores


cdef class DualSolution:
    cdef readonly object alpha
    cdef readonly object scores
    cdef readonly double rho
    cdef readonly double r
    cdef readonly double objective
    cdef readonly int64_t iterations
    cdef readonly int64_t rows_computed
    cdef readonly int64_t values_computed
    cdef public int64_t chunks
    cdef public int64_t fallbacks
    cdef readonly str status

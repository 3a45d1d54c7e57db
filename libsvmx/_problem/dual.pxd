from libc.stdint cimport int64_t


cdef class DualProblem:
    cdef readonly Py_ssize_t size
    cdef readonly int groups
    cdef readonly object linear
    cdef readonly object lower
    cdef readonly object upper
    cdef readonly object group
    cdef readonly object row
    cdef readonly object beta
    cdef readonly object scores
    cdef readonly bint rounded


cdef class DualSolution:
    cdef readonly object beta
    cdef readonly object scores
    cdef readonly double rho
    cdef readonly double r
    cdef readonly double objective
    cdef readonly int64_t iterations
    cdef readonly int64_t rows_computed
    cdef readonly int64_t values_computed
    cdef readonly int64_t subproblems
    cdef readonly int64_t fallbacks
    cdef readonly double reach
    cdef readonly object status
    cdef readonly str chosen

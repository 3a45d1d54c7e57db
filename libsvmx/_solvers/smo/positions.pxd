from libc.stdint cimport int8_t, int32_t


cdef class Positions:
    cdef Py_ssize_t total       # variables
    cdef Py_ssize_t size        # positions [0, size) take part; all but in a warm start
    cdef Py_ssize_t active_size    # positions [0, active_size) are not shrunk
    cdef int groups             # 1 or 2
    cdef bint unit_diagonal     # K_ii = 1 throughout
    # by position
    cdef double[::1] V
    cdef double[::1] alpha
    cdef double[::1] C
    cdef double[::1] QD
    cdef double[::1] linear
    cdef int8_t[::1] y
    cdef int32_t[::1] variable
    cdef float[:, ::1] up       # (groups, size): 0 in I_up of the group, -inf outside
    cdef float[:, ::1] low      # (groups, size): 0 in I_low of the group, +inf outside
    cdef int hold(self, Py_ssize_t m, int groups) except -1
    cdef void clear(self, Py_ssize_t m, int groups) noexcept nogil
    cdef void put(self, Py_ssize_t p, int32_t v, double linear, double alpha, double C, int8_t y, double diagonal) noexcept nogil
    cdef void update_status(self, Py_ssize_t p) noexcept nogil
    cdef bint is_free(self, Py_ssize_t p) noexcept nogil
    cdef void exchange(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil

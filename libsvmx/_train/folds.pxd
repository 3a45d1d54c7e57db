from libc.stdint cimport int32_t


cdef class Rand:
    cdef int32_t state[31]
    cdef int front
    cdef int rear
    cdef int next(self) noexcept nogil

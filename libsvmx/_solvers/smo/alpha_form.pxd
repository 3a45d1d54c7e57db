from libc.stdint cimport int8_t


cdef class AlphaForm:
    cdef readonly double[::1] alpha
    cdef readonly double[::1] C
    cdef readonly int8_t[::1] y

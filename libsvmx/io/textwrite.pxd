from libc.stdint cimport int64_t


# Room that the longest text of a number needs: sign, 17 digits, point, exponent (e-308), blank; or ten digits and a colon.
cdef enum:
    NUMBER_ROOM = 32

cdef int put_integer(char *out, int64_t value) noexcept nogil
cdef int put_6(char *out, double value) except -1
cdef int put_8(char *out, double value) except -1
cdef int put_17(char *out, double value) except -1

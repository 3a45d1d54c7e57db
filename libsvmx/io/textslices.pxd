from libc.stdint cimport int64_t


cdef struct Lines:
    const char *next        # where the next line starts
    const char *end         # of the text
    const char *start       # of the current line
    const char *stop        # end of the current line, before \r\n
    int64_t number          # of the current line, from 1


cdef class TextSlice:
    cdef Lines lines
    cdef const char *text_end
    cdef int64_t most_rows, most_entries, row, entry, rows, entries
    cdef int64_t blank_from     # first of the blank lines at the end, 0 if there are none
    cdef const char *at
    cdef int fault


cdef bint next_line(Lines *lines) noexcept nogil
cdef int foreign_byte(const char *start, const char *stop, const char **at) noexcept nogil
cdef object fault_error(str path, int fault, Lines *lines, const char *at)
cdef list slices_of(const char *begin, const char *end, int64_t line, int threads, Py_ssize_t slice_bytes)

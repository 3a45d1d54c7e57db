from libc.stdint cimport int32_t, int64_t


cdef extern from "scan.h":
    bint is_blank "svmx_is_blank"(char c) noexcept nogil
    bint is_digit "svmx_is_digit"(char c) noexcept nogil
    void svmx_count(const char *p, const char *end, char a, char b, int64_t *n_a, int64_t *n_b) noexcept nogil
    const char *svmx_plain_number(const char *p, const char *stop, const char *end, double *value) noexcept nogil
    const char *svmx_plain_pairs(const char *p, const char *stop, const char *end, int64_t *last, int32_t *index,
                                 double *value, int64_t *n) noexcept nogil


cdef enum Fault:
    OK = 0
    NO_NUMBER
    NOT_FINITE
    OUT_OF_RANGE
    NO_COLON
    BAD_INDEX
    NEGATIVE_INDEX
    HUGE_INDEX
    NOT_ASCENDING
    NO_VALUE
    LABEL_MISSING
    BAD_LABEL
    BLANK_LINE
    COMMENT_LINE
    NUL_BYTE
    CARRIAGE_RETURN
    QUERY_ID
    NO_COEFFICIENT
    SURPLUS


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
cdef const char *token_end_from(const char *p, const char *end) noexcept nogil
cdef int feature(const char **at, const char *end, int64_t last, int32_t *index, double *value) except -1 nogil
cdef int label(const char **at, const char *end, double *value) except -1 nogil
cdef int coefficient(const char **at, const char *end, double *value) except -1 nogil

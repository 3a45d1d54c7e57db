"""Lines of a text, slices of whole lines that several threads read at the same time, and tokens that are not plain.

A text is counted, then read. The numbers of newlines and colons say where the rows and entries of each line go in the
arrays, so that slices are read in any order. ``scan.h`` walks over what almost all of every file consists of; whatever
stops it is looked at closely here: numbers, labels, coefficients and index:value pairs, or what is wrong.
"""

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memchr

from libsvmx._core.threads import for_each
from libsvmx.exceptions import FormatError


cdef bint next_line(Lines *lines) noexcept nogil:
    cdef const char *newline
    if lines.next >= lines.end:
        return False
    newline = <const char *>memchr(lines.next, c"\n", lines.end - lines.next)
    lines.start = lines.next
    lines.stop = newline if newline != NULL else lines.end
    lines.next = lines.stop + 1
    if lines.stop > lines.start and (lines.stop - 1)[0] == c"\r":
        lines.stop -= 1
    lines.number += 1
    return True


cdef int foreign_byte(const char *start, const char *stop, const char **at) noexcept nogil:
    """NUL or a carriage return in [start, stop), which no token can hold."""
    cdef const char *found = <const char *>memchr(start, 0, stop - start)
    if found != NULL:
        at[0] = found
        return NUL_BYTE
    found = <const char *>memchr(start, c"\r", stop - start)
    if found != NULL:
        at[0] = found
        return CARRIAGE_RETURN
    return OK


cdef object fault_error(str path, int fault, Lines *lines, const char *at):
    """The FormatError for a fault at a place in the current line."""
    cdef const char *stop = token_end_from(at, lines.stop)
    token = (<bytes>at[:min(stop - at, 40)]).decode("ascii", "replace") if at < lines.stop else "the end of the line"
    cause = CAUSES[fault].format(token=repr(token) if at < lines.stop else token)
    if "," in token and fault in (NO_NUMBER, BAD_LABEL, NO_COLON):
        cause += " (comma-separated or decimal comma? LIBSVM data is: label index:value index:value …)"
    return FormatError(path, lines.number, at - lines.start + 1, cause)


cdef class TextSlice:
    """Whole lines of the text, and what came of reading them. The text must outlive it.

    Attributes
    ----------
    lines : Lines              those to read; then the last one read, which is the one with the fault
    text_end : char *          end of the whole text
    most_rows, most_entries    upper bounds; exact for files without blank lines and comments
    row, entry : int           where its rows and entries start in the arrays
    rows, entries : int        how many were read
    fault, at                  the first fault and its place
    """

    def count(self):
        with nogil:
            svmx_count(self.lines.next, self.lines.end, c"\n", c":", &self.most_rows, &self.most_entries)


cdef const char *border(const char *target, const char *end) noexcept nogil:
    """First start of a line at or behind ``target`` + 1 where the line before it is not blank, else the end.

    Blank lines are allowed at the end of a file only; so cut, a slice need not know the one before it.
    """
    cdef Lines lines
    cdef const char *p
    lines.next = <const char *>memchr(target, c"\n", end - target)
    if lines.next == NULL:
        return end
    lines.next += 1
    lines.end = end
    lines.number = 0
    while next_line(&lines):
        p = lines.start
        while p < lines.stop and is_blank(p[0]):
            p += 1
        if p < lines.stop:
            return min(lines.next, end)
    return end


cdef list slices_of(const char *begin, const char *end, int64_t line, int threads, Py_ssize_t slice_bytes):
    """The text [begin, end), counted, in slices that have their place in the arrays; at least one.

    ``line``: lines before it. With one thread there is one slice.
    """
    cdef TextSlice part
    cdef const char *stop
    cdef int64_t row = 0, entry = 0
    slices = []
    while begin < end or not slices:
        stop = border(begin + slice_bytes, end) if threads > 1 and end - begin > slice_bytes else end
        part = TextSlice()
        part.lines.next = part.lines.start = part.lines.stop = begin
        part.lines.end = stop
        part.text_end = end
        slices.append(part)
        begin = stop
    for_each(TextSlice.count, slices, threads)
    for part in slices:
        part.row, part.entry, part.lines.number = row, entry, line
        row += part.most_rows
        line += part.most_rows
        entry += part.most_entries
    part.most_rows += 1   # a last line without a newline
    return slices


# ---- tokens ----


cdef extern from "Python.h":
    # without an exception for overflow it returns an infinity
    double PyOS_string_to_double(const char *s, char **endptr, void *overflow_exception) except? -1.0


CAUSES = {
    NO_NUMBER: "value is not a number: {token}",
    NOT_FINITE: "value is not finite: {token}",
    OUT_OF_RANGE: "number is out of range: {token}",
    NO_COLON: "expected index:value, found {token}",
    BAD_INDEX: "feature index is not a whole number: {token}",
    NEGATIVE_INDEX: "feature index is negative: {token}",
    HUGE_INDEX: "feature index is above 2147483647: {token}",
    NOT_ASCENDING: "feature indices must be ascending without repeats: {token}",
    NO_VALUE: "value is missing after the colon: {token}",
    LABEL_MISSING: "label is missing: the line begins with {token}",
    BAD_LABEL: "label is not a number: {token}",
    BLANK_LINE: "blank line inside the data",
    COMMENT_LINE: "line without data, only a comment",
    NUL_BYTE: "NUL byte: this is not a text file",
    CARRIAGE_RETURN: "carriage return inside the line: lines must end with \\n or \\r\\n",
    QUERY_ID: "query ids (qid) are not supported: remove {token}",
    NO_COEFFICIENT: "coefficient of the support vector is missing: found {token}",
}


cdef int slow_number(const char *start, const char *token_end, double *value, const char **stop) except -1 nogil:
    """Any number that Python knows, correctly rounded, and why it is none; also hexadecimal floats."""
    cdef char *end = NULL
    cdef const char *p = start
    if p[0] == c"+" or p[0] == c"-":
        p += 1
    if (p[0] == c"n" or p[0] == c"N") or (p[0] == c"i" or p[0] == c"I"):
        with gil:
            if start[:token_end - start].lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity"):
                return NOT_FINITE
        return NO_NUMBER
    if not is_digit(p[0]) and p[0] != c".":
        return NO_NUMBER
    with gil:
        if p[0] == c"0" and (p[1] == c"x" or p[1] == c"X"):
            try:
                token = (<bytes>start[:token_end - start]).decode("ascii")
                value[0] = float.fromhex(token)
            except OverflowError:
                return OUT_OF_RANGE
            except ValueError:
                return NO_NUMBER
            stop[0] = token_end
            return OK if token.strip() == token else NO_NUMBER
        try:
            value[0] = PyOS_string_to_double(start, &end, NULL)
        except ValueError:
            return NO_NUMBER
    if not isfinite(value[0]):
        return OUT_OF_RANGE
    stop[0] = end
    return OK


cdef int number(const char *start, const char *token_end, double *value) except -1 nogil:
    """The number that is the whole token [start, token_end), or a fault."""
    cdef const char *stop
    cdef int fault
    if svmx_plain_number(start, token_end, token_end, value) != NULL:
        return OK
    fault = slow_number(start, token_end, value, &stop)
    if fault == OK and stop != token_end:
        return NO_NUMBER
    return fault


cdef const char *token_end_from(const char *p, const char *end) noexcept nogil:
    while p < end and not is_blank(p[0]):
        p += 1
    return p


cdef int feature(const char **at, const char *end, int64_t last, int32_t *index, double *value) except -1 nogil:
    """One index:value pair at *at, which is moved behind it, or left on the fault."""
    cdef const char *p = at[0]
    cdef const char *stop
    cdef int64_t i = 0
    cdef int fault
    if p[0] == c"-" and is_digit(p[1]):
        return NEGATIVE_INDEX
    if p[0] == c"+":
        p += 1
    if not is_digit(p[0]):
        if p[0] == c"q" and p[1] == c"i" and p[2] == c"d" and p[3] == c":":
            return QUERY_ID
        stop = token_end_from(p, end)
        return BAD_INDEX if memchr(p, c":", stop - p) != NULL else NO_COLON
    while is_digit(p[0]):
        if i <= 2147483647:
            i = i * 10 + (p[0] - c"0")
        p += 1
    if p[0] != c":":
        stop = token_end_from(p, end)
        return BAD_INDEX if memchr(p, c":", stop - p) != NULL else NO_COLON
    if i > 2147483647:
        return HUGE_INDEX
    if i <= last:
        return NOT_ASCENDING
    p += 1
    while p < end and is_blank(p[0]):
        p += 1
    if p >= end:
        return NO_VALUE
    stop = token_end_from(p, end)
    fault = number(p, stop, value)
    if fault != OK:
        at[0] = p
        return fault
    index[0] = <int32_t>i
    at[0] = stop
    return OK


cdef int label(const char **at, const char *end, double *value) except -1 nogil:
    cdef const char *stop = token_end_from(at[0], end)
    cdef int fault
    if memchr(at[0], c":", stop - at[0]) != NULL:
        return LABEL_MISSING
    fault = number(at[0], stop, value)
    if fault == OK:
        at[0] = stop
    return BAD_LABEL if fault == NO_NUMBER else fault


cdef int coefficient(const char **at, const char *end, double *value) except -1 nogil:
    cdef const char *stop = token_end_from(at[0], end)
    cdef int fault
    if at[0] == stop or memchr(at[0], c":", stop - at[0]) != NULL:
        return NO_COEFFICIENT
    fault = number(at[0], stop, value)
    if fault == OK:
        at[0] = stop
    return fault

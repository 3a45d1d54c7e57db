"""Lines of a text, and slices of whole lines that several threads read at the same time.

A text is counted, then read. The numbers of newlines and colons say where the rows and entries of each line go in the
arrays, so that slices are read in any order.
"""

from libc.stdint cimport int64_t
from libc.string cimport memchr

from libsvmx._core.threads import for_each
from libsvmx.exceptions import FormatError
from libsvmx.io.tokens cimport (BAD_LABEL, CARRIAGE_RETURN, NO_COLON, NO_NUMBER, NUL_BYTE, OK, is_blank, svmx_count,
                                token_end_from)
from libsvmx.io.tokens import CAUSES


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

"""Parser of LIBSVM data and model files into arrays, without an object per token.

The grammar is LIBSVM's: label, then index:value pairs separated by blanks, indices ascending, a blank allowed after the
colon; in addition comments (# anywhere), CRLF, and a byte order mark. Text that LIBSVM would silently misread is
refused with line and column.

    TextSlice                    lines, slices of whole lines for threads, unusual tokens and errors
    parse_data, parse_vectors    rows of data and model files, into arrays
    scan.h, decimal.h            the usual tokens
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport PyThread_get_thread_ident
from libc.math cimport HUGE_VAL, isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memchr, memmove

from libsvmx._core.matrix cimport CsrMatrix

from libsvmx._core.arrays import empty
from libsvmx._core.buffers import zeros
from libsvmx._core.threads import for_each, thread_count
from libsvmx.exceptions import FormatError


# ---- lines, slices and unusual tokens --------------------------------------------------------------

# A text is counted, then read. The numbers of newlines and colons determine the places of rows and entries in the
# arrays, so slices can be read in any order. ``scan.h`` reads the usual tokens, almost all of every file; where it
# stops, the code here reads a number, label, coefficient or index:value pair, or finds the error.

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
    """Whole lines of the text, and the result of reading them. The text must outlive it.

    Attributes
    ----------
    lines : Lines              to read; afterwards the last one read, that with the error
    text_end : char *          end of the whole text
    most_rows, most_entries    upper bounds; exact for files without blank lines and comments
    row, entry : int           first place of its rows and entries in the arrays
    rows, entries : int        numbers read
    fault, at                  the first error and its place
    """

    cdef Lines lines
    cdef const char *text_end
    cdef int64_t most_rows, most_entries, row, entry, rows, entries
    cdef int64_t blank_from     # first of the blank lines at the end, 0 if there are none
    cdef const char *at
    cdef int fault

    def count(self):
        with nogil:
            svmx_count(self.lines.next, self.lines.end, c"\n", c":", &self.most_rows, &self.most_entries)


cdef const char *border(const char *target, const char *end) noexcept nogil:
    """First start of a line from ``target`` + 1 on after a line that is not blank, else the end.

    Blank lines are allowed at the end of a file only; with such cuts a slice is independent of the one before.
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
    """The text [begin, end), counted, as slices with their places in the arrays; at least one, with one thread exactly
    one.

    ``line``: number of lines before it.
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
    BLANK_LINE: "blank line inside the data (--lenient, in Python lenient=True, skips such lines)",
    COMMENT_LINE: "line without data, only a comment (--lenient, in Python lenient=True, skips such lines)",
    NUL_BYTE: "NUL byte: this is not a text file",
    CARRIAGE_RETURN: "carriage return inside the line: lines must end with \\n or \\r\\n",
    QUERY_ID: "query ids (qid) are not supported: remove {token}",
    NO_COEFFICIENT: "coefficient of the support vector is missing: found {token}",
}


cdef int slow_number(const char *start, const char *token_end, double *value, const char **stop) except -1 nogil:
    """Any number that Python accepts, correctly rounded, and hexadecimal floats; or the error."""
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
    """The number of the whole token [start, token_end), or an error."""
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
    """One index:value pair at *at, which is moved behind it, or to the error."""
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


cdef int not_finite(const char **at, const char *end, double *value) except -1 nogil:
    """A nan or infinite label, by C's rules."""
    cdef const char *stop = token_end_from(at[0], end)
    with gil:
        token = (<bytes>at[0][:stop - at[0]]).decode("ascii")
        value[0] = (-HUGE_VAL if token[0] == "-" else HUGE_VAL) if "x" in token.lower() else float(token)
    at[0] = stop
    return OK


cdef int coefficient(const char **at, const char *end, double *value) except -1 nogil:
    cdef const char *stop = token_end_from(at[0], end)
    cdef int fault
    if at[0] == stop or memchr(at[0], c":", stop - at[0]) != NULL:
        return NO_COEFFICIENT
    fault = number(at[0], stop, value)
    if fault == OK:
        at[0] = stop
    return fault


# ---- rows of data and model files ------------------------------------------------------------------

# Of a slice: several to a thread, as their times differ, but each a millisecond, long against what a thread costs.
cdef enum:
    SLICE_BYTES = 1 << 19
# A text of fewer slices is read before a second thread has been started.
cdef Py_ssize_t PARALLEL_SLICES = 4


cdef class Rows:
    """The pairs of all rows. TextSlices write to disjoint parts, so threads may read them.

    Parameters
    ----------
    slices : list of TextSlice
    n_rows : int            upper bound: memory for blank lines is allocated, but not touched
    comments : bool         whether # begins a comment

    ``told``, if not None, is called from time to time by the thread that made this: bytes read, bytes in all.
    """

    cdef object told
    cdef unsigned long owner
    cdef Py_ssize_t n_read, n_bytes
    cdef list slices
    cdef object indptr_, indices_, values_
    cdef int64_t[::1] indptr
    cdef int32_t[::1] indices
    cdef double[::1] values
    cdef bint comments

    def __cinit__(self, list slices, Py_ssize_t n_rows, bint comments, *_):
        cdef TextSlice last = slices[len(slices) - 1]
        entries = last.entry + last.most_entries
        cdef TextSlice first = slices[0]
        self.slices = slices
        self.comments = comments
        self.told, self.owner, self.n_read = None, PyThread_get_thread_ident(), 0
        self.n_bytes = last.lines.end - first.lines.next
        self.indptr_ = empty("q", n_rows + 1)
        self.indices_, self.values_ = empty("i", entries + 1), empty("d", entries + 1)
        self.indptr, self.indices, self.values = self.indptr_, self.indices_, self.values_
        self.indptr[0] = 0

    def read(self, TextSlice part):
        """Read the lines of a slice up to the first error. Handles signals."""
        cdef int fault = OK
        cdef const char *asked = NULL
        with nogil:
            while fault == OK and next_line(&part.lines):
                part.at = part.lines.start
                if asked == NULL or part.at - asked > SLICE_BYTES:
                    asked = part.at
                    with gil:
                        PyErr_CheckSignals()
                        self.n_read += min(SLICE_BYTES, part.lines.end - part.at)
                        if self.told is not None and PyThread_get_thread_ident() == self.owner:
                            self.told(min(self.n_read, self.n_bytes), self.n_bytes)
                while part.at < part.lines.stop and is_blank(part.at[0]):
                    part.at += 1
                fault = self.line(part, part.row + part.rows)
            if fault != OK:
                # worth more than what it led to
                part.fault = foreign_byte(part.lines.start, part.lines.stop, &part.at)
                if part.fault == OK:
                    part.fault = fault

    cdef int line(self, TextSlice part, int64_t row) except -1 nogil:
        """Read the current line of a slice from part.at, its first byte that is not blank, perhaps as row ``row``."""
        return OK

    cdef int pairs(self, TextSlice part, int64_t row) except -1 nogil:
        """The rest of the line: index:value pairs. Ends the row, or moves part.at to the error."""
        cdef const char *stop = part.lines.stop
        cdef int64_t last = -1, n = part.entry + part.entries
        cdef int fault
        cdef bint searched = False
        while True:
            part.at = svmx_plain_pairs(part.at, stop, part.text_end, &last, &self.indices[0], &self.values[0], &n)
            while part.at < stop and is_blank(part.at[0]):
                part.at += 1
            if part.at == stop:
                break
            if self.comments and not searched:
                searched = True
                fault = self.cut_comment(part)
                if fault != OK:
                    return fault
                if part.lines.stop < stop:
                    stop = part.lines.stop
                    continue
            fault = feature(&part.at, stop, last, &self.indices[n], &self.values[n])
            if fault != OK:
                return fault
            last = self.indices[n]
            n += 1
        part.entries = n - part.entry
        part.rows += 1
        self.indptr[row + 1] = n
        return OK

    cdef int cut_comment(self, TextSlice part) except -1 nogil:
        """End the current line where its comment begins, if it has one behind part.at."""
        cdef const char *stop = part.lines.stop
        cdef const char *begin = <const char *>memchr(part.at, c"#", stop - part.at)
        cdef const char *foreign
        cdef int fault
        if begin == NULL:
            return OK
        fault = foreign_byte(begin, stop, &foreign)
        if fault != OK:
            part.at = foreign
            return fault
        part.lines.stop = begin
        return OK

    cdef int64_t close_gaps(self):
        """Close gaps after slices with fewer rows than counted. Returns the number of rows."""
        cdef TextSlice part
        cdef int64_t row = 0, entry = 0, i
        for part in self.slices:
            if part.rows and (row != part.row or entry != part.entry):
                if part.entries:
                    memmove(&self.indices[entry], &self.indices[part.entry], part.entries * sizeof(int32_t))
                    memmove(&self.values[entry], &self.values[part.entry], part.entries * sizeof(double))
                for i in range(part.rows):
                    self.indptr[row + 1 + i] = self.indptr[part.row + 1 + i] - part.entry + entry
                self.move_rows(row, part.row, part.rows)
            row += part.rows
            entry += part.entries
        return row

    cdef int move_rows(self, int64_t to, int64_t begin, int64_t n) except -1:
        """Further arrays of rows, n from ``begin`` on."""
        return 0

    cdef CsrMatrix matrix(self, int64_t n):
        """The first n rows."""
        return CsrMatrix(self.indptr_[:n + 1], self.indices_[:self.indptr[n]], self.values_[:self.indptr[n]],
                         copy=False)


cdef class DataRows(Rows):
    """Rows of a data file: label, pairs, comment."""

    cdef object targets_, numbers_
    cdef double[::1] targets
    cdef int32_t[::1] numbers
    cdef bint lenient, unlabeled, any_label

    def __cinit__(self, list slices, Py_ssize_t n_rows, bint comments, bint lenient, bint unlabeled, bint any_label):
        self.lenient, self.unlabeled, self.any_label = lenient, unlabeled, any_label
        self.targets_, self.numbers_ = empty("d", n_rows), empty("i", n_rows)
        self.targets, self.numbers = self.targets_, self.numbers_

    cdef int line(self, TextSlice part, int64_t row) except -1 nogil:
        cdef const char *stop = part.lines.stop
        cdef const char *behind
        cdef int fault
        if part.at == stop:
            if part.blank_from == 0:
                part.blank_from = part.lines.number
            return OK
        if part.blank_from and not self.lenient:
            return BLANK_LINE
        part.blank_from = 0
        if part.at[0] == c"#":
            return foreign_byte(part.at, stop, &part.at) if self.lenient else COMMENT_LINE
        if self.unlabeled:
            self.targets[row] = 0.0
        else:
            behind = svmx_plain_number(part.at, stop, part.text_end, &self.targets[row])
            if behind != NULL:
                part.at = behind
            else:
                fault = self.cut_comment(part)
                if fault == OK:
                    fault = label(&part.at, part.lines.stop, &self.targets[row])
                if self.any_label and (fault == NOT_FINITE or fault == OUT_OF_RANGE):
                    fault = not_finite(&part.at, part.lines.stop, &self.targets[row])
                if fault != OK:
                    return fault
        self.numbers[row] = <int32_t>part.lines.number
        return self.pairs(part, row)

    cdef int move_rows(self, int64_t to, int64_t begin, int64_t n) except -1:
        memmove(&self.targets[to], &self.targets[begin], n * sizeof(double))
        memmove(&self.numbers[to], &self.numbers[begin], n * sizeof(int32_t))
        return 0


cdef class VectorRows(Rows):
    """Support vector lines of a model: coefficients, pairs. Line k is vector k, or blank after the last."""

    cdef object coef_
    cdef double[::1] coef
    cdef int64_t n_sv, n_coef

    def __cinit__(self, list slices, Py_ssize_t n_rows, bint comments, int64_t n_coef):
        cdef TextSlice part
        self.n_sv, self.n_coef = n_rows, n_coef
        self.coef_ = zeros("d", n_coef * n_rows)
        self.coef = self.coef_
        for part in slices:
            part.row = min(part.row, self.n_sv)

    cdef int line(self, TextSlice part, int64_t row) except -1 nogil:
        cdef const char *stop = part.lines.stop
        cdef const char *behind
        cdef int fault
        cdef int64_t k
        if row == self.n_sv:
            return OK if part.at == stop else SURPLUS
        for k in range(self.n_coef):
            while part.at < stop and is_blank(part.at[0]):
                part.at += 1
            behind = svmx_plain_number(part.at, stop, part.text_end, &self.coef[k * self.n_sv + row])
            if behind != NULL:
                part.at = behind
                continue
            fault = coefficient(&part.at, stop, &self.coef[k * self.n_sv + row])
            if fault != OK:
                return fault
        return self.pairs(part, row)


# ---------------------------------------------------------------- from Python

cdef int thread_number(Py_ssize_t n_bytes, threads, Py_ssize_t slice_bytes) except -1:
    return thread_count(threads) if n_bytes >= PARALLEL_SLICES * slice_bytes else 1


cdef const char *skip_mark(bytes text, str path) except NULL:
    """Start of the text behind a UTF-8 byte order mark; refuses UTF-16."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(path, 1, 1, "this is UTF-16 text; save it as plain ASCII or UTF-8")
    return PyBytes_AS_STRING(text) + (3 if text.startswith(b"\xef\xbb\xbf") else 0)


def parse_data(bytes text, str path, bint lenient=False, bint unlabeled=False, threads=None,
               Py_ssize_t slice_bytes=SLICE_BYTES, told=None, bint any_label=False):
    """Rows of a data file.

    Parameters
    ----------
    text : bytes         the whole file
    path : str           for messages
    lenient : bool       skip blank lines and comment lines instead of refusing them
    unlabeled : bool     lines hold no label, only pairs; every target is 0
    threads : int        maximum, by default ``thread_count``; the result does not depend on it
    slice_bytes : int    read by one of several threads at a time, up to the end of a line
    told : callable(int, int) or None      called from time to time: bytes read, bytes in all
    any_label : bool     labels may be nan and infinite, too

    Returns
    -------
    matrix : CsrMatrix
    targets : buffer of float64, shape (n_rows,)
    line_numbers : buffer of int32, shape (n_rows,)
    blank_from : int     first of the blank lines at the end, 0 if there are none

    Raises
    ------
    FormatError          with line and column
    """
    cdef const char *end = PyBytes_AS_STRING(text) + PyBytes_GET_SIZE(text)
    cdef int n_threads = thread_number(PyBytes_GET_SIZE(text), threads, slice_bytes)
    cdef list slices = slices_of(skip_mark(text, path), end, 0, n_threads, slice_bytes)
    cdef TextSlice last = slices[len(slices) - 1], part
    cdef DataRows rows = DataRows(slices, last.row + last.most_rows, True, lenient, unlabeled, any_label)
    rows.told = told
    for_each(rows.read, slices, n_threads)
    for part in slices:
        if part.fault == BLANK_LINE:
            raise FormatError(path, part.blank_from, 0, CAUSES[BLANK_LINE])
        if part.fault != OK:
            raise fault_error(path, part.fault, &part.lines, part.at)
    n = rows.close_gaps()
    return rows.matrix(n), rows.targets_[:n], rows.numbers_[:n], last.blank_from


def parse_vectors(bytes text, str path, Py_ssize_t offset, int64_t line, Py_ssize_t n_sv, Py_ssize_t n_coef,
                  threads=None, Py_ssize_t slice_bytes=SLICE_BYTES):
    """Support vector lines of a model file: ``n_coef`` coefficients, then index:value pairs.

    Parameters
    ----------
    text : bytes
    path : str
    offset : int         where the first of these lines starts
    line : int           number of lines before it
    n_sv, n_coef : int
    threads, slice_bytes : int    as for ``parse_data``

    Returns
    -------
    coef : buffer of float64, shape (n_coef * n_sv,)     row k holds coefficient k of all vectors
    matrix : CsrMatrix

    Raises
    ------
    FormatError          also when there are more or fewer than n_sv lines
    """
    cdef const char *begin = PyBytes_AS_STRING(text)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(text)
    cdef int n_threads = thread_number(size - offset, threads, slice_bytes)
    cdef list slices = slices_of(begin + offset, begin + size, line, n_threads, slice_bytes)
    cdef TextSlice last = slices[len(slices) - 1], part
    cdef VectorRows rows = VectorRows(slices, n_sv, False, n_coef)
    for_each(rows.read, slices, n_threads)
    for part in slices:
        if part.fault == SURPLUS:
            raise FormatError(path, part.lines.number, 0, f"more support vectors than the {n_sv} of total_sv")
        if part.fault != OK:
            raise fault_error(path, part.fault, &part.lines, part.at)
    n = rows.close_gaps()
    if n < n_sv:
        raise FormatError(path, last.lines.number, 0,
                          f"the file ends after {n} of {n_sv} support vectors: it is cut off")
    return rows.coef_, rows.matrix(n)

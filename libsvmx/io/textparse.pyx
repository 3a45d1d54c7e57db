"""Text of LIBSVM data and model files into arrays, without an object per token.

The grammar is LIBSVM's: label, then index:value pairs separated by blanks, indices ascending,
a blank allowed after the colon. Beyond it: comments, CRLF, a byte order mark. # begins a comment wherever it stands, with
a blank before it or not: no number holds it.
What LIBSVM reads wrongly without a word is refused with line and column.

    textparse    rows of data and model files, into arrays       <- parse_data, parse_vectors
    textslices   lines, slices of whole lines for threads, tokens that are not plain and their faults
    scan.h, decimal.h: what is plain
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memchr, memmove

from libsvmx._core.arrays import empty
from libsvmx._core.buffers import zeros
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._core.threads import for_each, thread_count
from libsvmx.exceptions import FormatError
from libsvmx.io.textslices cimport (BLANK_LINE, COMMENT_LINE, OK, SURPLUS, TextSlice, coefficient, fault_error, feature,
                                    foreign_byte, is_blank, label, next_line, slices_of, svmx_plain_number,
                                    svmx_plain_pairs)
from libsvmx.io.textslices import CAUSES

# Of a slice: several to a thread, as their times differ, but each a millisecond, long against what a thread costs.
cdef enum:
    SLICE_BYTES = 1 << 19
# A text of fewer slices is read before a second thread has been started.
cdef Py_ssize_t PARALLEL_SLICES = 4


cdef class Rows:
    """The pairs of all rows. TextSlices write to disjoint parts, so they may be read at the same time.

    Parameters
    ----------
    slices : list of TextSlice
    n_rows : int            upper bound
    comments : bool         whether # begins a comment

    ``told``, if it is not None, is called now and then by the thread that has made this: bytes that are read, of all.
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
        self.indptr_, self.indices_, self.values_ = zeros("q", n_rows + 1), empty("i", entries + 1), empty("d", entries + 1)
        self.indptr, self.indices, self.values = self.indptr_, self.indices_, self.values_

    def read(self, TextSlice part):
        """Read the lines of a slice up to the first fault. Signals are let in."""
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
        """The rest of the line: index:value pairs. Ends the row, or moves part.at to the fault."""
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
        """Move the rows together where a slice holds fewer than was counted. Returns their number."""
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
        """What else belongs to rows, n of them from ``begin`` on."""
        return 0

    cdef CsrMatrix matrix(self, int64_t n):
        """The first n rows."""
        return CsrMatrix(self.indptr_[:n + 1], self.indices_[:self.indptr[n]], self.values_[:self.indptr[n]], copy=False)


cdef class DataRows(Rows):
    """Rows of a data file: label, pairs, comment."""

    cdef object targets_, numbers_
    cdef double[::1] targets
    cdef int32_t[::1] numbers
    cdef bint lenient, unlabeled

    def __cinit__(self, list slices, Py_ssize_t n_rows, bint comments, bint lenient, bint unlabeled):
        self.lenient, self.unlabeled = lenient, unlabeled
        self.targets_, self.numbers_ = zeros("d", n_rows), zeros("i", n_rows)
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
        if not self.unlabeled:
            behind = svmx_plain_number(part.at, stop, part.text_end, &self.targets[row])
            if behind != NULL:
                part.at = behind
            else:
                fault = self.cut_comment(part)
                if fault == OK:
                    fault = label(&part.at, part.lines.stop, &self.targets[row])
                if fault != OK:
                    return fault
        self.numbers[row] = <int32_t>part.lines.number
        return self.pairs(part, row)

    cdef int move_rows(self, int64_t to, int64_t begin, int64_t n) except -1:
        memmove(&self.targets[to], &self.targets[begin], n * sizeof(double))
        memmove(&self.numbers[to], &self.numbers[begin], n * sizeof(int32_t))
        return 0


cdef class VectorRows(Rows):
    """Support vector lines of a model: coefficients, pairs. Line k of them is vector k, or blank behind the last."""

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
               Py_ssize_t slice_bytes=SLICE_BYTES, told=None):
    """Rows of a data file.

    Parameters
    ----------
    text : bytes         the whole file
    path : str           for messages
    lenient : bool       skip blank lines and comment lines instead of refusing them
    unlabeled : bool     lines hold no label, only pairs; every target is 0
    threads : int        at most so many, by default as ``thread_count`` says; nothing else depends on it
    slice_bytes : int    what one of several threads reads at a time, and a whole line more
    told : callable(int, int) or None      now and then: bytes that are read, of all

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
    cdef DataRows rows = DataRows(slices, last.row + last.most_rows, True, lenient, unlabeled)
    rows.told = told
    for_each(rows.read, slices, n_threads)
    for part in slices:
        if part.fault == BLANK_LINE:
            raise FormatError(path, part.blank_from, 0, CAUSES[BLANK_LINE])
        if part.fault != OK:
            raise fault_error(path, part.fault, &part.lines, part.at)
    n = rows.close_gaps()
    return rows.matrix(n), rows.targets_[:n], rows.numbers_[:n], last.blank_from


def parse_vectors(bytes text, str path, Py_ssize_t offset, int64_t line, Py_ssize_t n_sv, Py_ssize_t n_coef, threads=None,
                  Py_ssize_t slice_bytes=SLICE_BYTES):
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
        raise FormatError(path, last.lines.number, 0, f"the file ends after {n} of {n_sv} support vectors: it is cut off")
    return rows.coef_, rows.matrix(n)

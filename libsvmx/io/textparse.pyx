"""Text of LIBSVM data and model files into arrays, in one pass, without an object per token.

The grammar is LIBSVM's: label, then index:value pairs separated by blanks, indices ascending,
a blank allowed after the colon. Beyond it: comments at the end of a line, CRLF, a byte order mark.
What LIBSVM reads wrongly without a word is refused here with line and column.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memchr

from libsvmx._core.buffers import zeros
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx.exceptions import FormatError


cdef extern from "Python.h":
    # without an exception for overflow it returns an infinity
    double PyOS_string_to_double(const char *s, char **endptr, void *overflow_exception) except? -1.0

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

cdef double[23] POWERS_OF_TEN
for _power in range(23):
    POWERS_OF_TEN[_power] = float(f"1e{_power}")

# Beyond it the mantissa may not fit 64 bits.
cdef int MAX_DIGITS = 19
# Integers up to it are exact doubles; with a power of ten up to 10^22, also exact, one operation rounds correctly.
cdef uint64_t MAX_EXACT = 1 << 53


cdef inline bint is_blank(char c) noexcept nogil:
    return c == c" " or c == c"\t" or c == c"\v" or c == c"\f"


cdef inline bint is_digit(char c) noexcept nogil:
    return c"0" <= c <= c"9"


cdef int slow_number(const char *start, const char *token_end, double *value, const char **stop) except -1 nogil:
    """Correctly rounded, any length; also hexadecimal floats."""
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
                value[0] = float.fromhex((<bytes>start[:token_end - start]).decode("ascii"))
            except OverflowError:
                return OUT_OF_RANGE
            except ValueError:
                return NO_NUMBER
            stop[0] = token_end
            return OK
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
    cdef const char *p = start
    cdef const char *stop
    cdef uint64_t mantissa = 0
    cdef int digits = 0, exponent = 0, written = 0, fault
    cdef bint negative = False, exponent_negative = False, any_digit = False
    if p[0] == c"-" or p[0] == c"+":
        negative = p[0] == c"-"
        p += 1
    while is_digit(p[0]):
        mantissa = mantissa * 10 + <uint64_t>(p[0] - c"0")
        digits += digits > 0 or mantissa != 0  # the first condition, as mantissa may wrap to 0
        any_digit = True
        p += 1
    if p[0] == c".":
        p += 1
        while is_digit(p[0]):
            mantissa = mantissa * 10 + <uint64_t>(p[0] - c"0")
            digits += digits > 0 or mantissa != 0
            exponent -= 1
            any_digit = True
            p += 1
    if any_digit and (p[0] == c"e" or p[0] == c"E"):
        p += 1
        if p[0] == c"-" or p[0] == c"+":
            exponent_negative = p[0] == c"-"
            p += 1
        if not is_digit(p[0]):
            return NO_NUMBER
        while is_digit(p[0]):
            if written < 100000:
                written = written * 10 + (p[0] - c"0")
            p += 1
        exponent += -written if exponent_negative else written
    if p == token_end and any_digit and digits <= MAX_DIGITS and mantissa <= MAX_EXACT and -22 <= exponent <= 22:
        if exponent < 0:
            value[0] = <double>mantissa / POWERS_OF_TEN[-exponent]
        else:
            value[0] = <double>mantissa * POWERS_OF_TEN[exponent]
        if negative:
            value[0] = -value[0]
        return OK
    fault = slow_number(start, token_end, value, &stop)
    if fault == OK and stop != token_end:
        return NO_NUMBER
    return fault


cdef inline const char *token_end_from(const char *p, const char *end) noexcept nogil:
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


cdef int foreign_byte(Lines *lines, const char **at) noexcept nogil:
    """NUL or a carriage return inside the line, which no token can hold."""
    cdef const char *found = <const char *>memchr(lines.start, 0, lines.stop - lines.start)
    if found != NULL:
        at[0] = found
        return NUL_BYTE
    found = <const char *>memchr(lines.start, c"\r", lines.stop - lines.start)
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


cdef const char *skip_mark(bytes text, str path) except NULL:
    """Start of the text behind a UTF-8 byte order mark; refuses UTF-16."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(path, 1, 1, "this is UTF-16 text; save it as plain ASCII or UTF-8")
    return PyBytes_AS_STRING(text) + (3 if text.startswith(b"\xef\xbb\xbf") else 0)


def parse_data(bytes text, str path, bint lenient=False, bint unlabeled=False):
    """Rows of a data file.

    Parameters
    ----------
    text : bytes         the whole file
    path : str           for messages
    lenient : bool       skip blank lines and comment lines instead of refusing them
    unlabeled : bool     lines hold no label, only pairs; every target is 0

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
    cdef Lines lines
    cdef const char *at = NULL
    cdef int fault = OK
    cdef Py_ssize_t n = 0
    cdef int64_t nnz = 0, blank_from = 0, last
    n_most = text.count(b"\n") + 1
    entries_most = text.count(b":")
    indptr_, targets_, numbers_ = zeros("q", n_most + 1), zeros("d", n_most), zeros("i", n_most)
    indices_, values_ = zeros("i", entries_most + 1), zeros("d", entries_most + 1)
    cdef int64_t[::1] indptr = indptr_
    cdef double[::1] targets = targets_, values = values_
    cdef int32_t[::1] numbers = numbers_, indices = indices_
    cdef const char *blank_at = NULL
    lines.next = lines.start = lines.stop = skip_mark(text, path)
    lines.end = PyBytes_AS_STRING(text) + PyBytes_GET_SIZE(text)
    lines.number = 0
    with nogil:
        while fault == OK and next_line(&lines):
            fault = foreign_byte(&lines, &at)
            if fault != OK:
                break
            at = lines.start
            while at < lines.stop and is_blank(at[0]):
                at += 1
            if at == lines.stop:
                if blank_from == 0:
                    blank_from = lines.number
                continue
            if blank_from and not lenient:
                fault = BLANK_LINE
                break
            blank_from = 0
            if at[0] == c"#":
                if not lenient:
                    fault = COMMENT_LINE
                    break
                continue
            if unlabeled:
                targets[n] = 0
            else:
                fault = label(&at, lines.stop, &targets[n])
            last = -1
            while fault == OK:
                while at < lines.stop and is_blank(at[0]):
                    at += 1
                if at == lines.stop or at[0] == c"#":
                    break
                fault = feature(&at, lines.stop, last, &indices[nnz], &values[nnz])
                if fault == OK:
                    last = indices[nnz]
                    nnz += 1
            if fault == OK:
                numbers[n] = <int32_t>lines.number
                n += 1
                indptr[n] = nnz
    if fault == BLANK_LINE:
        raise FormatError(path, blank_from, 0, CAUSES[BLANK_LINE])
    if fault != OK:
        raise fault_error(path, fault, &lines, at)
    matrix = CsrMatrix(indptr_[:n + 1], indices_[:nnz], values_[:nnz], copy=False)
    return matrix, targets_[:n], numbers_[:n], blank_from


cdef int label(const char **at, const char *end, double *value) except -1 nogil:
    cdef const char *stop = token_end_from(at[0], end)
    cdef int fault
    if memchr(at[0], c":", stop - at[0]) != NULL:
        return LABEL_MISSING
    fault = number(at[0], stop, value)
    if fault == OK:
        at[0] = stop
    return BAD_LABEL if fault == NO_NUMBER else fault


def parse_vectors(bytes text, str path, Py_ssize_t offset, int64_t line, Py_ssize_t n_sv, Py_ssize_t n_coef):
    """Support vector lines of a model file: ``n_coef`` coefficients, then index:value pairs.

    Parameters
    ----------
    text : bytes
    path : str
    offset : int         where the first of these lines starts
    line : int           number of lines before it
    n_sv, n_coef : int

    Returns
    -------
    coef : buffer of float64, shape (n_coef * n_sv,)     row k holds coefficient k of all vectors
    matrix : CsrMatrix

    Raises
    ------
    FormatError          also when there are more or fewer than n_sv lines
    """
    cdef Lines lines
    cdef const char *at = NULL
    cdef const char *stop
    cdef int fault = OK
    cdef Py_ssize_t n = 0, k
    cdef int64_t nnz = 0, last, surplus = 0
    entries_most = text.count(b":", offset)
    coef_ = zeros("d", n_coef * n_sv)
    indptr_, indices_, values_ = zeros("q", n_sv + 1), zeros("i", entries_most + 1), zeros("d", entries_most + 1)
    cdef int64_t[::1] indptr = indptr_
    cdef int32_t[::1] indices = indices_
    cdef double[::1] values = values_, coef = coef_
    lines.next = lines.start = lines.stop = PyBytes_AS_STRING(text) + offset
    lines.end = PyBytes_AS_STRING(text) + PyBytes_GET_SIZE(text)
    lines.number = line
    with nogil:
        while fault == OK and next_line(&lines):
            fault = foreign_byte(&lines, &at)
            at = lines.start if fault == OK else at
            while fault == OK and at < lines.stop and is_blank(at[0]):
                at += 1
            if fault == OK and at == lines.stop and n == n_sv:
                continue  # blank lines after the last vector
            if fault == OK and n == n_sv:
                surplus = lines.number
                break
            for k in range(n_coef):
                while fault == OK and at < lines.stop and is_blank(at[0]):
                    at += 1
                if fault == OK:
                    stop = token_end_from(at, lines.stop)
                    if at == stop or memchr(at, c":", stop - at) != NULL:
                        fault = NO_COEFFICIENT
                        break
                    fault = number(at, stop, &coef[k * n_sv + n])
                    at = stop if fault == OK else at
            last = -1
            while fault == OK:
                while at < lines.stop and is_blank(at[0]):
                    at += 1
                if at == lines.stop:
                    break
                fault = feature(&at, lines.stop, last, &indices[nnz], &values[nnz])
                if fault == OK:
                    last = indices[nnz]
                    nnz += 1
            if fault == OK:
                n += 1
                indptr[n] = nnz
    if fault != OK:
        raise fault_error(path, fault, &lines, at)
    if surplus:
        raise FormatError(path, surplus, 0, f"more support vectors than the {n_sv} of total_sv")
    if n < n_sv:
        raise FormatError(path, lines.number, 0, f"the file ends after {n} of {n_sv} support vectors: it is cut off")
    if n_sv and PyBytes_GET_SIZE(text) and text[PyBytes_GET_SIZE(text) - 1] not in b"\n\r \t":
        # LIBSVM ends each vector with a blank and a newline: without them digits may be missing
        raise FormatError(path, lines.number, 0, "the last line is cut off: it does not end with a blank or a newline")
    return coef_, CsrMatrix(indptr_, indices_[:nnz], values_[:nnz], copy=False)

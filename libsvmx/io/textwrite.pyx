"""Numbers as C's printf writes them, whatever the locale of the process."""

from cpython.mem cimport PyMem_Free
from libc.math cimport signbit
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, strlen

from libsvmx._core.matrix cimport CsrMatrix


cdef extern from "Python.h":
    char *PyOS_double_to_string(double value, char code, int precision, int flags, int *kind) except NULL

cdef class Text:
    """A growing byte string."""

    cdef bytearray content
    cdef Py_ssize_t size

    def __cinit__(self, Py_ssize_t room=1 << 16):
        self.content = bytearray(room)
        self.size = 0

    cdef char *reserve(self, Py_ssize_t n) except NULL:
        """Room for n more bytes; add to ``size`` what was written."""
        if self.size + n > len(self.content):
            self.content.extend(bytes(max(n, len(self.content))))
        return <char *>self.content + self.size

    cdef int put(self, char c) except -1:
        self.reserve(1)[0] = c
        self.size += 1
        return 0

    cdef int integer(self, int64_t value) except -1:
        """%d"""
        cdef char digits[24]
        cdef int n = 0
        cdef char *out = self.reserve(24)
        cdef bint negative = value < 0
        if negative:
            value = -value
        while True:
            digits[n] = <char>(48 + value % 10)
            n += 1
            value = value // 10
            if value == 0:
                break
        if negative:
            digits[n] = c"-"
            n += 1
        self.size += n
        while n > 0:
            n -= 1
            out[0] = digits[n]
            out += 1
        return 0

    cdef int general(self, double value, int precision) except -1:
        """%.<precision>g, precision >= 6"""
        cdef char *text
        cdef Py_ssize_t n
        # an integer of up to six digits is written as such by %.6g and beyond
        if -1e6 < value < 1e6 and value == <double><int64_t>value and not (value == 0 and signbit(value)):
            return self.integer(<int64_t>value)
        text = PyOS_double_to_string(value, c"g", precision, 0, NULL)
        try:
            n = strlen(text)
            memcpy(self.reserve(n), text, n)
            self.size += n
        finally:
            PyMem_Free(text)
        return 0

    cdef bytes done(self):
        return bytes(memoryview(self.content)[:self.size])


def vectors_text(CsrMatrix vectors, coef, bint precomputed):
    """Support vector lines of a model file: coefficients by %.17g, values by %.8g, each followed by a blank.

    ``coef``: buffer of float64, shape (n_coef * n_rows,), row k holds coefficient k of all vectors.
    """
    cdef const double[::1] c = coef
    cdef Py_ssize_t i, k, l = vectors.n_rows, n_coef = c.shape[0] // l if l else 0
    cdef int64_t e
    cdef Text text = Text()
    for i in range(l):
        for k in range(n_coef):
            text.general(c[k * l + i], 17)
            text.put(c" ")
        if precomputed:
            text.put(c"0")
            text.put(c":")
            text.integer(<int64_t>vectors.value[vectors.ptr[i]])
            text.put(c" ")
        else:
            for e in range(vectors.ptr[i], vectors.ptr[i + 1]):
                text.integer(vectors.index[e])
                text.put(c":")
                text.general(vectors.value[e], 8)
                text.put(c" ")
        text.put(c"\n")
    return text.done()


def data_text(CsrMatrix matrix, targets):
    """Lines of a data file, every number by %.17g so that reading gives the same doubles."""
    cdef const double[::1] y = targets
    cdef Py_ssize_t i
    cdef int64_t e
    cdef Text text = Text()
    for i in range(matrix.n_rows):
        text.general(y[i], 17)
        for e in range(matrix.ptr[i], matrix.ptr[i + 1]):
            text.put(c" ")
            text.integer(matrix.index[e])
            text.put(c":")
            text.general(matrix.value[e], 17)
        text.put(c"\n")
    return text.done()


def numbers_text(values, Py_ssize_t per_line, int precision):
    """Lines of ``per_line`` numbers by %.<precision>g separated by blanks; precision >= 6."""
    cdef const double[::1] v = values
    cdef Py_ssize_t i
    cdef Text text = Text()
    for i in range(v.shape[0]):
        text.general(v[i], precision)
        text.put(c"\n" if (i + 1) % per_line == 0 else c" ")
    return text.done()

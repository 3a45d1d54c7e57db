"""Text of data files, model files and predictions, number by number."""

from libc.stdint cimport int32_t, int64_t

from libsvmx._core.matrix cimport CsrMatrix
from libsvmx.io.numbers cimport NUMBER_ROOM, put_17, put_6, put_8, put_integer


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
        self.size += put_integer(self.reserve(NUMBER_ROOM), value)
        return 0

    cdef int general(self, double value, int precision) except -1:
        """%.<precision>g, precision 6, 8 or 17"""
        cdef char *out = self.reserve(NUMBER_ROOM)
        self.size += put_6(out, value) if precision == 6 else put_8(out, value) if precision == 8 else put_17(out, value)
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
    cdef const int32_t *feature
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
            feature = vectors.features(i) - vectors.ptr[i]
            for e in range(vectors.ptr[i], vectors.ptr[i + 1]):
                text.integer(feature[e])
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
    cdef const int32_t *feature
    cdef Text text = Text()
    for i in range(matrix.n_rows):
        text.general(y[i], 17)
        feature = matrix.features(i) - matrix.ptr[i]
        for e in range(matrix.ptr[i], matrix.ptr[i + 1]):
            text.put(c" ")
            text.integer(feature[e])
            text.put(c":")
            text.general(matrix.value[e], 17)
        text.put(c"\n")
    return text.done()


def numbers_text(values, Py_ssize_t per_line, int precision):
    """Lines of ``per_line`` numbers by %.<precision>g separated by blanks; precision 6, 8 or 17."""
    cdef const double[::1] v = values
    cdef Py_ssize_t i
    cdef Text text = Text()
    for i in range(v.shape[0]):
        text.general(v[i], precision)
        text.put(c"\n" if (i + 1) % per_line == 0 else c" ")
    return text.done()

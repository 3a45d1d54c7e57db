"""Text of data files, model files and predictions, number by number, as C's printf writes them, whatever the locale."""

from cpython.mem cimport PyMem_Free
from libc.math cimport fabs, signbit
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, strlen

from libsvmx._core.matrix cimport CsrMatrix


cdef extern from "Python.h":
    char *PyOS_double_to_string(double value, char code, int precision, int flags, int *kind) except NULL


cdef int put_integer(char *out, int64_t value) noexcept nogil:
    """%d; returns the length."""
    cdef char digits[20]
    cdef int n = 0, length = 0
    if value < 0:
        out[0] = c"-"
        length = 1
        value = -value
    while True:
        digits[n] = <char>(48 + value % 10)
        n += 1
        value = value // 10
        if value == 0:
            break
    while n > 0:
        n -= 1
        out[length] = digits[n]
        length += 1
    return length


cdef int put_digits(char *out, double value, int precision) except -1:
    """%.<precision>g without a look at the locale; returns the length."""
    cdef char *text = PyOS_double_to_string(value, c"g", precision, 0, NULL)
    cdef size_t length = strlen(text)
    memcpy(out, text, length)
    PyMem_Free(text)
    return <int>length


cdef int put_17(char *out, double value) except -1:
    """%.17g; returns the length. Integers below 1e15 have no more than 17 digits, so they are written as such."""
    if fabs(value) < 1e15 and value == <double><int64_t>value and not (value == 0 and signbit(value)):
        return put_integer(out, <int64_t>value)
    return put_digits(out, value, 17)


# powers of ten
cdef double[10] POWER = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
# Smallest magnitude of each decade. The doubles nearest to 0.1, 0.01, 0.001 and 0.0001 all lie above
# them, so comparing with the double decides as comparing with the decimal number would.
cdef double[10] DECADE = [1e5, 1e4, 1e3, 1e2, 1e1, 1.0, 0.1, 0.01, 0.001, 0.0001]


cdef int put_6(char *out, double value) except -1:
    """%g: six significant digits; returns the length.

    For 1e-4 <= |v| < 1e6, let k be such that 1e5 <= |v| 10^k < 1e6. The power is an exact double
    (k <= 9), so the product is off by at most half a unit in its last place, 2^-34 below 2^20.
    Where its fraction is farther than that from one half, the nearest integer is that of the
    exact product and its digits are the answer. The rest (ties, near ties, a carry to 1e6, other
    magnitudes) goes the slow way.
    """
    cdef double size = fabs(value), product, fraction
    cdef int k = 0, length = 0, digits = 6, before, i
    cdef int64_t n
    cdef char text[20]
    if not (size >= 1e-4 and size < 1e6):
        return put_digits(out, value, 6)
    while size < DECADE[k]:
        k += 1
    product = size * POWER[k]
    n = <int64_t>product
    fraction = product - <double>n
    if fabs(fraction - 0.5) < 1e-9:     # 2^-34 is 6e-11
        return put_digits(out, value, 6)
    n += fraction > 0.5
    if not 100000 <= n < 1000000:
        return put_digits(out, value, 6)
    for i in range(5, -1, -1):
        text[i] = <char>(48 + n % 10)
        n = n // 10
    while text[digits - 1] == c"0":
        digits -= 1
    if value < 0:
        out[0] = c"-"
        length = 1
    before = 6 - k                      # digits before the decimal point, if positive
    if before <= 0:
        out[length] = c"0"
        out[length + 1] = c"."
        length += 2
        for i in range(-before):
            out[length] = c"0"
            length += 1
    for i in range(digits if digits > before else before):
        if i == before and before > 0:
            out[length] = c"."
            length += 1
        out[length] = text[i]
        length += 1
    return length


cdef int put_8(char *out, double value) except -1:
    """%.8g; returns the length."""
    if fabs(value) < 1e8 and value == <double><int64_t>value and not (value == 0 and signbit(value)):
        return put_integer(out, <int64_t>value)
    return put_digits(out, value, 8)


def format_number(double value, int precision):
    """The text of %.<precision>g for precision 6, 8 or 17. For the tests."""
    cdef char out[NUMBER_ROOM]
    cdef int length
    if precision == 6:
        length = put_6(out, value)
    elif precision == 8:
        length = put_8(out, value)
    elif precision == 17:
        length = put_17(out, value)
    else:
        raise ValueError("precision must be 6, 8 or 17")
    return out[:length].decode("ascii")


# ---- texts ----


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
                text.general(vectors.at(e), 8)
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
            text.general(matrix.at(e), 17)
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

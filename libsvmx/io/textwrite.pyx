"""Numbers, rows and scaled features as text, like C's printf, but in any locale."""

from cpython.bytearray cimport PyByteArray_Resize
from cpython.mem cimport PyMem_Free
from libc.math cimport fabs, isfinite, signbit
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, strlen

from libsvmx._core.matrix cimport CsrMatrix, first_at_least

from libsvmx._core.buffers import zeros
from libsvmx._core.matrix import distinct_features
from libsvmx.exceptions import DataError


# ---- Numbers and rows ------------------------------------------------------------------------------

# Room that the longest text of a number needs: sign, 17 digits, point, exponent (e-308), blank; or ten digits and a
# colon.
cdef enum:
    NUMBER_ROOM = 32

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
    """%.<precision>g, whatever the locale; returns the length."""
    cdef char *text = PyOS_double_to_string(value, c"g", precision, 0, NULL)
    cdef size_t length = strlen(text)
    memcpy(out, text, length)
    PyMem_Free(text)
    return <int>length


cdef int put_plain(char *out, double value, int precision) except -1:
    """%.<precision>g, precision 8 or 17; returns the length. Integers with fewer digits are written as such."""
    cdef double limit = 1e8 if precision == 8 else 1e15
    if fabs(value) < limit and value == <double><int64_t>value and not (value == 0 and signbit(value)):
        return put_integer(out, <int64_t>value)
    return put_digits(out, value, precision)


# powers of ten
cdef double[10] POWER = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
# Smallest magnitude of each decade. The doubles nearest to 0.1, 0.01, 0.001 and 0.0001 all lie above
# them, so comparing with the double decides as comparing with the decimal number would.
cdef double[10] DECADE = [1e5, 1e4, 1e3, 1e2, 1e1, 1.0, 0.1, 0.01, 0.001, 0.0001]


cdef int put_6(char *out, double value) except -1:
    """%g: six significant digits; returns the length.

    For 1e-4 <= |v| < 1e6, let k be such that 1e5 <= |v| 10^k < 1e6. The power is an exact double
    (k <= 9), so the product is off by at most half a unit in its last place, 2^-34 below 2^20.
    If its fraction is farther than that from one half, the nearest integer is that of the exact
    product, and its digits are the result. All else (ties, near ties, a carry to 1e6, other
    magnitudes) is done by the slow way.
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


# ---- texts ----


cdef class Text:
    """A growing byte string."""

    cdef bytearray content
    cdef Py_ssize_t size

    def __cinit__(self, Py_ssize_t room=1 << 16):
        self.content = bytearray(room)
        self.size = 0

    cdef char *reserve(self, Py_ssize_t n) except NULL:
        """Make room for n more bytes; the caller adds the bytes written to ``size``."""
        if self.size + n > len(self.content):
            PyByteArray_Resize(self.content, self.size + max(n, self.size))  # what is not used yet is not touched
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
        self.size += put_6(out, value) if precision == 6 else put_plain(out, value, precision)
        return 0

    cdef bytes done(self):
        return bytes(self.view())

    cdef view(self):
        """The bytes without a copy."""
        return memoryview(self.content)[:self.size]


def vectors_text(bytes head, CsrMatrix vectors, coef, bint precomputed, int digits=8):
    """``head`` and the support vector lines of a model file: coefficients by %.17g, values by %.8g, or with other
    ``digits``, each followed by a blank. A buffer of bytes.

    ``coef``: buffer of float64, shape (n_coef * n_rows,), row k holds coefficient k of all vectors.
    """
    cdef const double[::1] c = coef
    cdef Py_ssize_t i, k, l = vectors.n_rows, n_coef = c.shape[0] // l if l else 0
    cdef int64_t e
    cdef const int32_t *feature
    cdef Text text = Text(len(head) + (1 << 16))
    text.content[:len(head)] = head
    text.size = len(head)
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
                if vectors.regular and vectors.at(e) == 0.0:  # of an array
                    continue
                text.integer(feature[e])
                text.put(c":")
                text.general(vectors.at(e), digits)
                text.put(c" ")
        text.put(c"\n")
    return text.view()


def data_text(CsrMatrix matrix, targets):
    """Lines of a data file, with numbers by %.17g, which keeps doubles exactly."""
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


# ---- Scaled features -------------------------------------------------------------------------------
#
# Linear scaling of features, from the data matrix to lines of text.
#
# A feature with values v in [low, high], low < high, is mapped onto [lower, upper] by
#
#     s(v) = lower                                                    v == low
#            upper                                                    v == high
#            lower + (upper - lower) * (v - low) / (high - low)       otherwise
#
# evaluated in this order, as in LIBSVM. A missing entry of a row is a zero: it counts for low and
# high, and s(0) is written if it is not zero. Index 0 is the exception, as in LIBSVM: features
# count from 1, so a missing index 0 is no zero. Features with low = high are left out.
#
# Nothing here has the size of the largest index: arrays have one element per *distinct* feature.

cdef enum:
    BLOCK_BYTES = 1 << 20     # one write call's worth of text: large enough that calls cost nothing, small in memory


# ---------------------------------------------------------------- features and their ranges

def feature_ranges(CsrMatrix matrix):
    """Minimum and maximum of every feature with an entry, missing zeros included.

    Returns
    -------
    indices : buffer of int32, shape (n_features,)        ascending
    lows, highs : buffers of float64, shape (n_features,)

    Raises
    ------
    DataError        a value is nan or infinite; names the row
    """
    indices = distinct_features(matrix)
    lows, highs = zeros("d", len(indices)), zeros("d", len(indices))
    cdef const int32_t[::1] index = indices
    cdef double[::1] low = lows, high = highs
    cdef int64_t[::1] count = zeros("q", len(indices))
    # The sign of a zero: LIBSVM keeps the latest of equal values, where a value that is left out is a zero, too.
    cdef double[::1] zero = zeros("d", len(indices))
    cdef int64_t[::1] left_out = zeros("q", len(indices))  # rows without the feature up to the latest written zero
    cdef Py_ssize_t i, at
    cdef int64_t k
    cdef double v
    cdef const int32_t *own
    for i in range(matrix.n_rows):
        at, own = 0, matrix.features(i) - matrix.ptr[i]
        for k in range(matrix.ptr[i], matrix.ptr[i + 1]):
            v = matrix.at(k)
            if not isfinite(v):
                raise DataError(f"the value of feature {own[k]} is not finite: {v}", i)
            at = first_at_least(index, own[k], at)
            if count[at] == 0:
                low[at] = high[at] = v
            elif v < low[at]:
                low[at] = v
            elif v > high[at]:
                high[at] = v
            if v == 0:
                zero[at], left_out[at] = v, i - count[at]
            count[at] += 1
            at += 1
    for at in range(index.shape[0]):
        if count[at] < matrix.n_rows and index[at] != 0:
            low[at] = min(low[at], 0.0)
            high[at] = max(high[at], 0.0)
            if matrix.n_rows - count[at] > left_out[at]:
                zero[at] = 0.0
        if low[at] == 0:
            low[at] = zero[at]
        if high[at] == 0:
            high[at] = zero[at]
    return indices, lows, highs


def label_range(targets):
    """(smallest, largest) target of at least one. Raises DataError, with the row, for one that is not finite."""
    cdef const double[::1] y = targets
    cdef Py_ssize_t i
    cdef double low = y[0], high = y[0]
    for i in range(y.shape[0]):
        if not isfinite(y[i]):
            raise DataError(f"the label is not finite: {y[i]}", i)
        # the latest of equal ones, as LIBSVM: -0 or 0
        low, high = low if low < y[i] else y[i], high if high > y[i] else y[i]
    return low, high


# ---------------------------------------------------------------- rows as text

cdef double _scale(double v, double low, double high, double lower, double upper) noexcept nogil:
    if v == low:
        return lower
    if v == high:
        return upper
    return lower + (upper - lower) * (v - low) / (high - low)


cdef class RowScaler:
    """RowScaler(indices, lows, highs, lower, upper, label)

    Parameters
    ----------
    indices : buffer of int32, shape (n_features,)         ascending; all others are left out
    lows, highs : buffers of float64, shape (n_features,)  low < high
    lower, upper : float                                   lower < upper
    label : None or (y_lower, y_upper, y_min, y_max)

    Attributes
    ----------
    n_written : int          nonzero values written so far

    Raises
    ------
    DataError                a range is too wide for a double

    Notes
    -----
    ``_zeros`` holds the texts "index:s(0) " of all features in turn, feature p at [_zero_at[p],
    _zero_at[p+1]), empty if s(0) = 0, so the features missing between two entries of a row are one
    copy. ``_prefix`` holds "index:" in the same way.
    """

    cdef const int32_t[::1] _index
    cdef const double[::1] _low, _high
    cdef double _lower, _upper
    cdef bint _has_label
    cdef double _label[4]
    cdef bytearray _zeros, _prefix
    cdef int64_t[::1] _zero_at, _zero_count, _prefix_at
    cdef char _lower_text[NUMBER_ROOM]
    cdef char _upper_text[NUMBER_ROOM]
    cdef int _lower_length, _upper_length
    cdef readonly int64_t n_written

    def __cinit__(self, indices, lows, highs, double lower, double upper, label=None):
        cdef Py_ssize_t p
        self._index, self._low, self._high = indices, lows, highs
        self._lower, self._upper = lower, upper
        self._has_label = label is not None
        if label is not None:
            for p in range(4):
                self._label[p] = label[p]
        self.n_written = 0
        self._lower_length = put_6(self._lower_text, lower)
        self._upper_length = put_6(self._upper_text, upper)
        self._fill_tables()

    cdef int _fill_tables(self) except -1:
        cdef Py_ssize_t p, n = self._index.shape[0]
        cdef char text[NUMBER_ROOM * 2]
        cdef int length, prefix
        cdef double v
        self._zeros, self._prefix = bytearray(), bytearray()
        self._zero_at, self._zero_count, self._prefix_at = zeros("q", n + 1), zeros("q", n + 1), zeros("q", n + 1)
        for p in range(n):
            if not isfinite(self._high[p] - self._low[p]):
                raise DataError(f"the range of feature {self._index[p]} is too wide: "
                                f"{self._low[p]} to {self._high[p]}")
            prefix = put_integer(text, self._index[p])
            text[prefix] = c":"
            prefix += 1
            self._prefix += text[:prefix]
            self._prefix_at[p + 1] = len(self._prefix)
            v = _scale(0.0, self._low[p], self._high[p], self._lower, self._upper)
            if not isfinite(v):
                raise DataError(f"feature {self._index[p]}: zero is scaled to {v}")
            if self._index[p] == 0:
                v = 0.0
            if v != 0:
                length = prefix + put_6(text + prefix, v)
                text[length] = c" "
                self._zeros += text[:length + 1]
            self._zero_at[p + 1] = len(self._zeros)
            self._zero_count[p + 1] = self._zero_count[p] + (v != 0)
        return 0

    def block(self, CsrMatrix matrix, targets, Py_ssize_t begin):
        """Lines of the rows from ``begin`` on, about BLOCK_BYTES of them.

        Returns
        -------
        end : int            first row not included, ``n_rows`` at the end
        text : bytearray

        Raises
        ------
        DataError            a scaled number is not finite; names the row
        """
        cdef const double[::1] y = targets
        cdef Py_ssize_t i = begin, used = 0, room, capacity = BLOCK_BYTES
        cdef bytearray text = bytearray(capacity)
        while i < matrix.n_rows:
            room = self._row_room(matrix, i)
            if used + room > capacity:
                if used:
                    break
                capacity = room          # a single row longer than a block
                text = bytearray(capacity)
            used += self._put_row(<char *>text + used, matrix, i, y[i])
            i += 1
        del text[used:]
        return i, text

    cdef Py_ssize_t _row_room(self, CsrMatrix matrix, Py_ssize_t i) noexcept:
        """An upper bound of the length of line i."""
        cdef Py_ssize_t entries = matrix.ptr[i + 1] - matrix.ptr[i]
        return NUMBER_ROOM + self._zero_at[self._index.shape[0]] + entries * 2 * NUMBER_ROOM

    cdef Py_ssize_t _put_row(self, char *out, CsrMatrix matrix, Py_ssize_t i, double target) except -1:
        cdef Py_ssize_t n_features = self._index.shape[0], done = 0, at = 0
        cdef int64_t k
        cdef char *start = out
        cdef const int32_t *own = matrix.features(i) - matrix.ptr[i]
        out += self._put_target(out, target, i)
        for k in range(matrix.ptr[i], matrix.ptr[i + 1]):
            at = first_at_least(self._index, own[k], at)
            if at == n_features:
                break
            if self._index[at] != own[k]:
                continue
            out += self._put_zeros(out, done, at)
            out += self._put_entry(out, at, matrix.at(k), i)
            at += 1
            done = at
        out += self._put_zeros(out, done, n_features)
        out[0] = c"\n"
        return out + 1 - start

    cdef int _put_target(self, char *out, double value, Py_ssize_t i) except -1:
        cdef int length
        if self._has_label:
            value = _scale(value, self._label[2], self._label[3], self._label[0], self._label[1])
            if not isfinite(value):
                raise DataError(f"the label is scaled to {value}", i)
        length = put_plain(out, value, 17)
        out[length] = c" "
        return length + 1

    cdef inline Py_ssize_t _put_zeros(self, char *out, Py_ssize_t begin, Py_ssize_t end) noexcept:
        """Features begin..end-1, missing in a row."""
        cdef Py_ssize_t size = self._zero_at[end] - self._zero_at[begin]
        if size:
            memcpy(out, <char *>self._zeros + self._zero_at[begin], size)
            self.n_written += self._zero_count[end] - self._zero_count[begin]
        return size

    cdef inline Py_ssize_t _put_entry(self, char *out, Py_ssize_t p, double value, Py_ssize_t i) except -1:
        cdef double scaled = _scale(value, self._low[p], self._high[p], self._lower, self._upper)
        cdef Py_ssize_t length = self._prefix_at[p + 1] - self._prefix_at[p]
        if scaled == 0:
            return 0
        if not isfinite(scaled):
            raise DataError(f"feature {self._index[p]} is scaled to {scaled}", i)
        memcpy(out, <char *>self._prefix + self._prefix_at[p], length)
        if scaled == self._lower:
            memcpy(out + length, self._lower_text, self._lower_length)
            length += self._lower_length
        elif scaled == self._upper:
            memcpy(out + length, self._upper_text, self._upper_length)
            length += self._upper_length
        else:
            length += put_6(out + length, scaled)
        out[length] = c" "
        self.n_written += 1
        return length + 1

"""Linear scaling of features, from the data matrix to lines of text.

A feature with values v in [low, high], low < high, is mapped onto [lower, upper] by

    s(v) = lower                                                    v == low
           upper                                                    v == high
           lower + (upper - lower) * (v - low) / (high - low)       otherwise

evaluated in this order, so that the digits are LIBSVM's. An entry that a row leaves out is a
zero: it takes part in low and high, and s(0) is written where it is not zero. Index 0 is the
exception, as in LIBSVM: features count from 1, so a row without index 0 lacks nothing. Features
whose low equals high carry no information and are left out.

Nothing here has the size of the largest index: arrays have one element per *distinct* feature.
"""

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from libsvmx._core.buffers import zeros
from libsvmx._core.matrix import distinct_features
from libsvmx._core.matrix cimport CsrMatrix, first_at_least
from libsvmx.io.textwrite cimport NUMBER_ROOM, put_17, put_6, put_integer
from libsvmx.exceptions import DataError


cdef enum:
    BLOCK_BYTES = 1 << 20     # one write call's worth of text: large enough that calls cost nothing, small in memory


# ---------------------------------------------------------------- features and their ranges

def feature_ranges(CsrMatrix matrix):
    """Smallest and largest value of every feature that has an entry, zeros left out included.

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
    ``_zeros`` holds the texts "index:s(0) " of all features one after the other, feature p at
    [_zero_at[p], _zero_at[p+1]), empty where s(0) = 0. What a row leaves out between two entries
    is therefore one copy. ``_prefix`` holds "index:" in the same way.
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
        end : int            first row that is not included, ``n_rows`` at the end
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
        length = put_17(out, value)
        out[length] = c" "
        return length + 1

    cdef inline Py_ssize_t _put_zeros(self, char *out, Py_ssize_t begin, Py_ssize_t end) noexcept:
        """Features begin..end-1 of a row that leaves them out."""
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

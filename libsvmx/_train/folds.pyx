"""Rows by class, and folds, in LIBSVM's order; folds are drawn with glibc's rand()."""

from cpython.memoryview cimport PyMemoryView_FromObject
from libc.math cimport NAN, floor
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy

from libsvmx._core.arrays cimport Memory, float64_of, int32_of, memory

from libsvmx._core.buffers import filled, zeros
from libsvmx.exceptions import DataError


# ---- C's rand() ------------------------------------------------------------------------------------
#
# That of glibc, so that folds are LIBSVM's on every platform: additive feedback, x_n = x_{n-3} + x_{n-31} mod 2^32,
# output x_n >> 1. The 31 words are seeded by Lehmer's x -> 16807 x mod (2^31 - 1); the first 310 outputs are discarded.

DEFAULT_SEED = 1  # that of C without srand, as in LIBSVM's commands


cdef class Rand:
    """Rand(seed=DEFAULT_SEED): the stream that C's ``srand(seed)`` starts."""

    def __cinit__(self, uint32_t seed=DEFAULT_SEED):
        cdef int i
        cdef int64_t word = <int32_t>(seed if seed != 0 else 1)
        self.state[0] = <int32_t>word
        for i in range(1, 31):
            # C division truncates, so a negative seed gives a negative remainder first
            word = 16807 * (word % 127773) - 2836 * (word / 127773)
            if word < 0:
                word += 2147483647
            self.state[i] = <int32_t>word
        self.front, self.rear = 3, 0
        for i in range(310):
            self.next()

    def copy(self):
        """A copy, which continues with the same numbers."""
        cdef Rand other = Rand.__new__(Rand)
        other.state[:] = self.state[:]
        other.front, other.rear = self.front, self.rear
        return other

    cdef int next(self) noexcept nogil:
        cdef uint32_t value = <uint32_t>self.state[self.front] + <uint32_t>self.state[self.rear]
        self.state[self.front] = <int32_t>value
        self.front = self.front + 1 if self.front < 30 else 0
        self.rear = self.rear + 1 if self.rear < 30 else 0
        return <int>(value >> 1)

    def draw(self):
        """The next value, 0 <= value < 2^31."""
        return self.next()


# ---- Classes and folds -----------------------------------------------------------------------------

def check_labels(targets):
    """Raise DataError unless every target is an integer that fits an int32."""
    cdef Py_ssize_t i, n
    cdef const double *y = float64_of(targets, &n)
    for i in range(n):
        if not -2147483648.0 <= y[i] <= 2147483647.0 or y[i] != <int32_t>y[i]:
            hint = "; targets of a regression are for epsilon_svr, -s 3" if y[i] - floor(y[i]) > 0 else ""
            raise DataError(f"class label {y[i]!r} is not an integer between -2^31 and 2^31 - 1{hint}", i)


def group_classes(targets):
    """Rows grouped by class, classes in the order of their first row.

    Two classes -1, +1 in this order are swapped, so that +1 is the positive class.

    Returns
    -------
    labels : list of int
    start : list of int            first position of each class in ``order``, and the end
    order : buffer of int32        row numbers, grouped
    """
    cdef Py_ssize_t i, n
    cdef const double *y = float64_of(targets, &n)
    cdef int32_t c, last = -1, other = -1
    cdef double last_label = 0, other_label = 0
    number = {}
    cdef Memory class_of_ = memory("i", n, False), order_ = memory("i", n, False)
    cdef int32_t *class_of = <int32_t *>class_of_.items
    cdef int32_t *order = <int32_t *>order_.items
    for i in range(n):
        if last < 0 or y[i] != last_label:  # the last two classes need no look-up
            last, last_label, other, other_label = other, other_label, last, last_label
            if last < 0 or y[i] != last_label:
                last_label = y[i]
                last = number.setdefault(int(last_label), len(number))
        class_of[i] = last
    labels = list(number)
    if labels == [-1, 1]:
        labels = [1, -1]
        for i in range(n):
            class_of[i] = 1 - class_of[i]
    cdef Py_ssize_t k = len(labels)
    cdef Memory starts = memory("q", 2 * k + 1)
    cdef int64_t *start = <int64_t *>starts.items
    cdef int64_t *cursor = start + k + 1
    for i in range(n):
        start[class_of[i] + 1] += 1
    for c in range(<int32_t>k):
        cursor[c] = start[c]
        start[c + 1] += start[c]
    for i in range(n):
        order[cursor[class_of[i]]] = <int32_t>i
        cursor[class_of[i]] += 1
    return labels, [start[c] for c in range(k + 1)], PyMemoryView_FromObject(order_)


cdef void shuffle(int32_t[::1] items, Py_ssize_t begin, Py_ssize_t end, Rand rand) noexcept:
    """Fisher-Yates shuffle of [begin, end), in LIBSVM's order."""
    cdef Py_ssize_t i, j
    cdef int32_t kept
    for i in range(begin, end):
        j = i + rand.next() % (end - i)
        kept = items[i]
        items[i] = items[j]
        items[j] = kept


def shuffled(Py_ssize_t n, Rand rand):
    """0, …, n-1 in random order, buffer of int32."""
    order_ = zeros("i", n)
    cdef int32_t[::1] order = order_
    cdef Py_ssize_t i
    for i in range(n):
        order[i] = <int32_t>i
    shuffle(order, 0, n, rand)
    return order_


def plain_folds(Py_ssize_t n, Py_ssize_t k, Rand rand):
    """k folds of shuffled rows. Returns (order, bounds): fold f is order[bounds[f]:bounds[f+1]]."""
    return shuffled(n, rand), [f * n // k for f in range(k + 1)]


def stratified_folds(targets, Py_ssize_t k, Rand rand):
    """k folds with each class spread evenly; returns as ``plain_folds``."""
    _, start_, grouped_ = group_classes(targets)
    cdef const int64_t[::1] start = filled("q", start_)
    cdef int32_t[::1] grouped = grouped_
    cdef Py_ssize_t c, f, q, size, at = 0, n_classes = start.shape[0] - 1
    for c in range(n_classes):
        shuffle(grouped, start[c], start[c + 1], rand)
    order_ = zeros("i", grouped.shape[0])
    cdef int32_t[::1] order = order_
    bounds = [0]
    for f in range(k):
        for c in range(n_classes):
            size = start[c + 1] - start[c]
            for q in range(start[c] + f * size // k, start[c] + (f + 1) * size // k):
                order[at] = grouped[q]
                at += 1
        bounds.append(at)
    return order_, bounds


def all_but(order, Py_ssize_t begin, Py_ssize_t end):
    """``order`` without positions [begin, end), buffer of int32."""
    cdef Py_ssize_t n
    cdef const int32_t *source = int32_of(order, &n)
    if not 0 <= begin <= end <= n:
        raise IndexError(f"positions {begin} to {end} of {n}")
    cdef Memory rest = memory("i", n - (end - begin), False)
    cdef int32_t *out = <int32_t *>rest.items
    memcpy(out, source, begin * sizeof(int32_t))
    memcpy(out + begin, source + end, (n - end) * sizeof(int32_t))
    return PyMemoryView_FromObject(rest)


def places_in_classes(start, order):
    """Class of each row, and its index within the class: two buffers of int32. Arguments as from ``group_classes``."""
    cdef const int32_t[::1] row = order
    cdef Py_ssize_t at, c
    class_of_, place_ = zeros("i", row.shape[0]), zeros("i", row.shape[0])
    cdef int32_t[::1] class_of = class_of_, place = place_
    for c in range(len(start) - 1):
        for at in range(start[c], start[c + 1]):
            class_of[row[at]], place[row[at]] = <int32_t>c, <int32_t>(at - <Py_ssize_t>start[c])
    return class_of_, place_


def classes_among(rows, class_of, int k):
    """The classes, of k, of ``rows``: a set of int."""
    cdef const int32_t[::1] row = rows, of = class_of
    cdef Py_ssize_t q
    there_ = bytearray(k)
    cdef unsigned char[::1] there = there_
    for q in range(row.shape[0]):
        there[of[row[q]]] = 1
    return {c for c in range(k) if there_[c]}


def rows_of_pair(rows, class_of, place, int32_t i, int32_t j, Py_ssize_t n_i):
    """Those of ``rows`` in class i (of n_i rows) or j, as indices among the rows of i, then of j: buffer of int32."""
    cdef const int32_t[::1] row = rows, of = class_of, at = place
    cdef Py_ssize_t q, n = 0
    found_ = zeros("i", row.shape[0])
    cdef int32_t[::1] found = found_
    for q in range(row.shape[0]):
        if of[row[q]] == i or of[row[q]] == j:
            found[n] = at[row[q]] + (0 if of[row[q]] == i else <int32_t>n_i)
            n += 1
    return found_[:n]


def put_rows(out, rows, values, Py_ssize_t width):
    """out[row] = values[q] for row number q of ``rows``; float64, shapes (·, width), flat."""
    cdef double[::1] to = out
    cdef const double[::1] given = values
    cdef const int32_t[::1] row = rows
    cdef Py_ssize_t q, f
    for q in range(row.shape[0]):
        for f in range(width):
            to[row[q] * width + f] = given[q * width + f]


def put_folds(out, order, bounds, Py_ssize_t first):
    """out[row] = first + f for each row of fold f, order[bounds[f]:bounds[f+1]]; int32."""
    cdef int32_t[::1] to = out
    cdef const int32_t[::1] row = order
    cdef Py_ssize_t f, k, n = row.shape[0]
    for f in range(len(bounds) - 1):
        for k in range(max(0, bounds[f]), min(n, bounds[f + 1])):
            to[row[k]] = <int32_t>(first + f)


def pairs_in_order(values, Py_ssize_t n, places):
    """Rearrange decision values of n rows from the pairs of k classes to those of K other classes.

    Parameters
    ----------
    values : buffer of float64, shape (n * k (k - 1) / 2,)      row by row, pairs (0, 1), (0, 2), …
    places : list of int, shape (K,)      index among the k classes of each other class, -1 if missing

    Returns
    -------
    buffer of float64, shape (n * K (K - 1) / 2,); reversed pairs change their sign, pairs with a missing class are nan
    """
    cdef const double[::1] given = values
    cdef const int32_t[::1] place = filled("i", places)
    cdef Py_ssize_t K = place.shape[0], wanted = K * (K - 1) // 2, k = 0, width, i, j, a, b, row, at = 0
    for i in range(K):
        k += place[i] >= 0
    width = k * (k - 1) // 2
    if given.shape[0] != n * width:
        raise ValueError(f"{given.shape[0]} values of {n} rows and {k} classes")
    out_ = zeros("d", n * wanted)
    cdef double[::1] out = out_
    for i in range(K):
        for j in range(i + 1, K):
            a, b = min(place[i], place[j]), max(place[i], place[j])
            for row in range(n):
                if a < 0:
                    out[row * wanted + at] = NAN
                elif place[i] < place[j]:
                    out[row * wanted + at] = given[row * width + a * k - a * (a + 1) // 2 + b - a - 1]
                else:
                    out[row * wanted + at] = -given[row * width + a * k - a * (a + 1) // 2 + b - a - 1]
            at += 1
    return out_

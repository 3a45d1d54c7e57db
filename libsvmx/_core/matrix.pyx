"""Sparse rows (CSR), the single form of data in the package.

Row i holds the pairs (indices[k], values[k]) for indptr[i] <= k < indptr[i+1], indices ascending. Indices are those of
LIBSVM's files: features count from 1; index 0 holds the serial number of a precomputed kernel.
"""

from cython cimport critical_section
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

from libsvmx._core.arrays cimport Memory, int32_of, memory

from libsvmx._core.arrays import empty
from libsvmx._core.buffers import zeros


CHANGED = "X was changed while it was read"

cdef class RowsOnDemand:
    """Rows of a table of kernel values, each of which is computed when it is first needed."""

    cdef int begin(self) except -1:
        """Set ``n`` and ``on_diagonal``; no row is computed."""
        raise NotImplementedError

    cdef demand(self, const int32_t *rows, int count, const void **at, bint keep):
        """Compute the missing rows together; OUT ``at``: pointer to each row, shape (count,).

        Rows that are not kept live as long as the returned object. ``keep``: keep all, beyond any limit.
        """
        raise NotImplementedError

    cdef int demand_one(self, int32_t row) noexcept nogil:
        """Compute a row, and keep it."""
        cdef const void *at
        with gil:
            self.demand(&row, 1, &at, True)
        return 0


cdef class CsrMatrix:
    """CsrMatrix(indptr, indices, values, copy=True, n_columns=0, first_index=1, regular=False)

    Immutable. ``X[:200]``, ``X[mask]``, ``X[numbers]`` and ``X[i]`` are CsrMatrix of these rows with all columns,
    ``len(X)`` is the number of rows, iteration yields matrices of one row, ``np.asarray(X)`` and ``X.toarray()`` are
    dense, ``X.tocsr()`` is SciPy's. Matrices of equal shape and entries are equal.

    Parameters
    ----------
    indptr : buffer of int64, shape (n_rows + 1,)
        Start of each row in ``indices`` and ``values``.
    indices : buffer of int32, shape (nnz,)
        Ascending in each row, >= 0.
    values : buffer of float64 or float32, shape (nnz,)
        float32 only without an index 0. Or a table of finite kernel values, shape (n_rows, columns), of either type and
        any strides, read as ``regular`` rows 0:serial 1:K(row, 1) 2:K(row, 2) …, where row i has serial number i + 1.
        Or a RowSource (_kernels/rows_on_demand), which computes rows of such a table, of a symmetric kernel.
    copy : bool
        False only for buffers that never change: they are checked once.
    n_columns : int
        Columns of ``shape``; at least as many as the entries need.
    first_index : int
        Index of column 0, 0 or 1; 0 if there is an entry of index 0.
    regular : bool
        All rows have the same features, and ``indices`` are those of one row; values may be 0.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    shape : tuple of int
        (rows, columns); column j holds index j + first_index.
    ndim, dtype, nnz
        2, float64, number of entries.
    max_index : int
        Largest index of any entry, 0 for a matrix without entries.
    indptr, indices, values : buffer
        Read-only; ``values`` are float64, converted from float32 or a table.
    is_table : bool
        Whether values are a table of kernel values.

    Raises
    ------
    ValueError
        Lengths that do not match, indices that are negative or not ascending, or values of another type.
    """

    def __cinit__(self, indptr, indices, values, bint copy=True, Py_ssize_t n_columns=0, int first_index=1,
                  bint regular=False):
        cdef int64_t i, k, begin, end
        cdef int32_t last
        cdef const int32_t *feature
        if indptr is TO_BE_SET:
            return
        self.regular = regular
        self._indptr, self._indices = indptr, indices  # checks the types
        self.hold(values)
        if copy:
            self._indptr = indptr = memoryview(bytes(memoryview(indptr))).cast("q")
            self._indices = indices = memoryview(bytes(memoryview(indices))).cast("i")
            if self.is_table:
                raise ValueError("a table of kernel values is not copied")
            self.hold(memoryview(bytes(memoryview(values))).cast("d" if self.in_float == NULL else "f"))
        self.indptr = memoryview(indptr).toreadonly()
        self.n_rows = self._indptr.shape[0] - 1
        if self.n_rows < 0 or self._indptr[0] != 0 or self._indptr[self.n_rows] != self.nnz \
                or self._indices.shape[0] * (self.n_rows if regular else 1) != self.nnz:
            raise ValueError("indptr, indices and values do not fit together")
        self.ptr = &self._indptr[0]
        self.feature = &self._indices[0] if self._indices.shape[0] else NULL
        self.max_index, self.n_nonzeros = 0, -1
        self.first_index = first_index != 0
        for i in range(self.n_rows):
            begin, end = self.ptr[i], self.ptr[i + 1]
            if begin > end or end > self.nnz:
                raise ValueError(f"row {i}: indptr must not decrease")
            if regular and end - begin != self._indices.shape[0]:
                raise ValueError(f"row {i}: {end - begin} values for {self._indices.shape[0]} features")
            if regular and i > 0:
                continue
            last, feature = -1, self.features(i)
            if begin < end and feature[0] == 0:
                self.first_index = 0
            for k in range(end - begin):
                if feature[k] <= last:
                    raise ValueError(f"row {i}: feature indices must be ascending and not negative, "
                                     f"but {feature[k]} follows {last}")
                last = feature[k]
            if last > self.max_index:
                self.max_index = last
        if self.in_float != NULL and self.first_index == 0:  # kernel values are read in double
            raise ValueError("values in float are for features from 1 on")
        self.n_columns = max(n_columns, <int64_t>self.max_index + 1 - self.first_index if self._indices.shape[0] else 0)

    cdef int hold(self, values) except -1:
        """Keep the values, and check their type."""
        if isinstance(values, RowsOnDemand):
            return self.hold_source(values)
        view = memoryview(values)
        if view.ndim == 2:
            return self.hold_table(values)
        if view.format == "f":
            self._values, self._buffer, self.value = None, None, NULL
            self._floats = values
            self.nnz = self._floats.shape[0]
            self.in_float = &self._floats[0] if self.nnz else NULL
            return 0
        self._values = values
        self._buffer, self.nnz = view.toreadonly(), self._values.shape[0]
        self.value = &self._values[0] if self.nnz else NULL
        return 0

    cdef int hold_table(self, values) except -1:
        """``hold`` for a table of kernel values."""
        cdef Py_ssize_t n, columns, size
        self.is_table = True
        if memoryview(values).format == "f":
            self._float_table, size = values, sizeof(float)
        else:
            self._table, size = values, sizeof(double)
        n, columns = memoryview(values).shape
        if any(step % size for step in memoryview(values).strides):
            raise ValueError("steps of a table of kernel values must be whole values")
        self.row_step, self.first_row.step = (step // size for step in memoryview(values).strides)
        if n * columns:
            if size == sizeof(float):
                self.first_row.in_float = &self._float_table[0, 0]
            else:
                self.first_row.in_double = &self._table[0, 0]
        if not self.regular or self._indptr.shape[0] != n + 1 or self._indices.shape[0] != columns + 1:
            raise ValueError("a table of kernel values has a row and a column for each of indptr and indices")
        if self._indices[0] != 0 or self._indices[columns] != columns:
            raise ValueError("columns of a table of kernel values are counted from 1")
        self.nnz = n * (columns + 1)
        return 0

    cdef int hold_source(self, RowsOnDemand source) except -1:
        """``hold`` for rows on demand."""
        self.is_table, self.source = True, source
        source.begin()
        n = source.n
        if not self.regular or self._indptr.shape[0] != n + 1 or self._indices.shape[0] != n + 1:
            raise ValueError("a kernel matrix has a row and a column for each of its rows")
        self.nnz = n * (n + 1)
        return 0

    @property
    def values(self):
        cdef int64_t k
        cdef double[::1] wide
        if self._buffer is not None:
            return self._buffer
        out = zeros("d", self.nnz)
        wide = out
        for k in range(self.nnz):
            wide[k] = self.at(k)
        return out.toreadonly()

    @property
    def indices(self):
        """Indices of all entries; a new buffer if the matrix is regular."""
        cdef Py_ssize_t i
        cdef int32_t[::1] every
        if not self.regular:
            return self.stored_indices
        out = zeros("i", self.nnz)
        every = out
        for i in range(self.n_rows):
            if self._indices.shape[0]:
                memcpy(&every[self.ptr[i]], self.feature, self._indices.shape[0] * sizeof(int32_t))
        return out.toreadonly()

    @property
    def stored_indices(self):
        """Of all entries, or of one row of a regular matrix."""
        return memoryview(self._indices).toreadonly()

    @property
    def stored_values(self):
        """Of all entries, in float64 or float32 as they are stored; not of a table."""
        return self._buffer if self._buffer is not None else memoryview(self._floats).toreadonly()

    @property
    def shape(self):
        return self.n_rows, self.n_columns

    @property
    def ndim(self):
        return 2

    @property
    def dtype(self):
        import numpy as np

        return np.dtype(np.float64)

    def __len__(self):
        return self.n_rows

    def __getitem__(self, key):
        from libsvmx._core.interchange import row_numbers

        return self.take(row_numbers(key, self.n_rows))

    def __iter__(self):
        from libsvmx._core.interchange import row_numbers

        return (self.take(row_numbers(i, self.n_rows)) for i in range(self.n_rows))

    def __eq__(self, other):
        if not isinstance(other, CsrMatrix):
            return NotImplemented
        return (self.shape == other.shape and self.first_index == other.first_index and self.indptr == other.indptr
                and self.indices == other.indices and self.values == other.values)

    def __hash__(self):
        return hash((self.n_rows, self.n_columns, self.nnz))

    def toarray(self):
        """Dense ndarray of float64, of the matrix's shape. Raises MemoryError."""
        from libsvmx._core.interchange import dense_of  # loads NumPy

        return dense_of(self)

    def tocsr(self):
        """A copy as scipy.sparse.csr_matrix of float64."""
        from libsvmx._core.interchange import scipy_of

        return scipy_of(self)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a sparse matrix has no dense array to share: np.asarray(X) makes one")
        from libsvmx._core.interchange import dense_of

        dense = dense_of(self)
        return dense if dtype is None else dense.astype(dtype, copy=False)

    def take(self, rows):
        """A copy of ``rows`` (int32), in this order, with all columns.

        Values keep their type; those of a table become double. A regular matrix loses its zeros, unless they are kernel
        values; it stays regular, and keeps them, where the indices of the others would take more memory.
        """
        cdef Py_ssize_t i, n, first
        cdef const int32_t *chosen = int32_of(rows, &n)
        cdef int64_t begin, end, k, at, whole = 0, size = sizeof(double) if self.in_float == NULL else sizeof(float)
        cdef bint sparing = self.regular and self.first_index != 0 and self.n_nonzeros != self.nnz, alike, dense = True
        cdef int32_t *index = NULL
        cdef double *doubles = NULL
        cdef float *floats = NULL
        cdef const int32_t *feature
        cdef double x
        cdef Memory indptr = memory("q", n + 1, False), indices = None, values
        cdef int64_t *ptr = <int64_t *>indptr.items
        ptr[0] = 0
        for i in range(n):
            if not 0 <= chosen[i] < self.n_rows:
                raise IndexError(f"row {chosen[i]} of {self.n_rows}")
            begin, end = self.ptr[chosen[i]], self.ptr[chosen[i] + 1]
            ptr[i + 1] = ptr[i] + end - begin
            whole += end - begin
            for k in range(begin, end if sparing else begin):
                ptr[i + 1] -= self.at(k) == 0.0
        if ptr[n] < whole and (whole - ptr[n]) * size <= ptr[n] * <int64_t>sizeof(int32_t):
            dense = sparing = False
            for i in range(n):
                ptr[i + 1] = ptr[i] + self.ptr[chosen[i] + 1] - self.ptr[chosen[i]]
        alike = self.regular and n > 0 and ptr[n] == whole
        if not alike:
            indices = memory("i", ptr[n], False)
            index = <int32_t *>indices.items
        values = memory("d" if self.in_float == NULL else "f", ptr[n], False)
        if self.in_float == NULL:
            doubles = <double *>values.items
        else:
            floats = <float *>values.items
        i = 0
        while i < n:
            begin, at, first, feature = self.ptr[chosen[i]], ptr[i], i, self.features(chosen[i])
            i += 1
            if ptr[n] == whole and not self.is_table:  # no value is left out: consecutive rows are copied at once
                while i < n and chosen[i] == chosen[i - 1] + 1:
                    i += 1
                end = self.ptr[chosen[i - 1] + 1]
                if begin == end:
                    continue
                if not alike:
                    memcpy(&index[at], feature, (end - begin) * sizeof(int32_t))
                if self.in_float == NULL:
                    memcpy(&doubles[at], self.value + begin, (end - begin) * sizeof(double))
                else:
                    memcpy(&floats[at], self.in_float + begin, (end - begin) * sizeof(float))
                continue
            for k in range(begin, self.ptr[chosen[first] + 1]):
                x = self.at(k)
                if x == 0.0 and sparing:
                    continue
                if at >= ptr[i]:
                    raise ValueError(CHANGED)
                if not alike:
                    index[at] = feature[k - begin]
                if self.in_float == NULL:
                    doubles[at] = x
                else:
                    floats[at] = <float>x
                at += 1
            if at != ptr[i]:
                raise ValueError(CHANGED)
        return of_checked_rows(indptr, self._indices if alike else indices, values, self.n_columns, self.first_index,
                               alike, dense and alike and self.first_index != 0)

    def followed_by(self, CsrMatrix other):
        """A copy of the rows, then those of ``other``, whose columns may be more; values are double."""
        cdef Py_ssize_t i
        cdef int64_t k, n_features = self._indices.shape[0], nnz = self.nnz + other.nnz
        cdef bint alike = self.regular and n_features > 0, dense = self.n_nonzeros == self.nnz
        cdef const double[::1] own = self.values, others = other.values
        cdef const int32_t[::1] own_index, other_index
        indptr, values = empty("q", self.n_rows + other.n_rows + 1), empty("d", nnz)
        cdef int64_t[::1] ptr = indptr
        cdef double[::1] value = values
        cdef int32_t[::1] index
        ptr[:self.n_rows + 1] = self._indptr
        for i in range(other.n_rows):
            ptr[self.n_rows + 1 + i] = self.nnz + other.ptr[i + 1]
            alike = alike and other.ptr[i + 1] - other.ptr[i] == n_features
            for k in range(n_features if alike else 0):
                alike = alike and other.features(i)[k] == self.feature[k]
                dense = dense and others[other.ptr[i] + k] != 0.0
        value[:self.nnz] = own
        value[self.nnz:] = others
        indices = self._indices
        if not alike:
            indices = empty("i", nnz)
            index, own_index, other_index = indices, self.indices, other.indices
            index[:self.nnz] = own_index
            index[self.nnz:] = other_index
        first = min(self.first_index, other.first_index)
        columns = max(self.n_columns + self.first_index, other.n_columns + other.first_index) - first
        return of_checked_rows(indptr, indices, values, columns, first, alike, alike and dense)

    def row(self, Py_ssize_t i):
        """Row i as a list of (index, value) pairs; without the zeros of an array."""
        if not 0 <= i < self.n_rows:
            raise IndexError(f"row {i} of {self.n_rows}")
        cdef const int32_t *feature = self.features(i)
        cdef bint sparing = self.regular and self.first_index != 0
        return [(feature[k - self.ptr[i]], self.at(k)) for k in range(self.ptr[i], self.ptr[i + 1])
                if not sparing or self.at(k) != 0.0]

    def __reduce__(self):
        parts = bytes(self.indptr), bytes(self.stored_indices), bytes(self.values)
        return _unpickle, (*parts, self.n_columns, self.first_index, self.regular)

    def __repr__(self):
        return f"<CsrMatrix of {self.n_rows} rows, {self.nnz} entries, largest index {self.max_index}>"


cdef object TO_BE_SET = object()  # by ``of_checked_rows``


cdef CsrMatrix of_checked_rows(indptr, indices, values, Py_ssize_t n_columns, int first_index, bint regular,
                               bint dense):
    """A matrix of rows of others, which have been checked. ``dense``: no value is 0."""
    cdef CsrMatrix made = CsrMatrix(TO_BE_SET, None, None)
    cdef Py_ssize_t i
    made.regular, made.first_index, made.n_columns = regular, first_index, n_columns
    made._indptr, made._indices, made.indptr = indptr, indices, memoryview(indptr).toreadonly()
    made.hold(values)
    made.n_nonzeros = -1
    made.n_rows, made.ptr = made._indptr.shape[0] - 1, &made._indptr[0]
    made.feature = &made._indices[0] if made._indices.shape[0] else NULL
    for i in range(min(made.n_rows, 1) if regular else made.n_rows):
        if made.ptr[i] < made.ptr[i + 1]:
            made.max_index = max(made.max_index, made.features(i)[made.ptr[i + 1] - made.ptr[i] - 1])
    if dense:
        made.n_nonzeros, made.n_used = made.nnz, made._indices.shape[0]
    return made


def _unpickle(indptr, indices, values, n_columns=0, first_index=1, regular=False):
    parts = memoryview(indptr).cast("q"), memoryview(indices).cast("i"), memoryview(values).cast("d")
    return CsrMatrix(*parts, copy=False, n_columns=n_columns, first_index=first_index, regular=regular)


# With at least this share of nonzeros, rows are stored dense: a dense product of blocks costs less than sparse sums.
DENSE_SHARE = 0.25
# Arrays with an element per possible index may have this many elements per entry, plus a constant.
cdef int64_t ROOM_PER_ENTRY = 4
cdef int64_t ROOM_FREE = 1 << 16


cdef int ascending(const void *a, const void *b) noexcept nogil:
    cdef int32_t x = (<const int32_t *>a)[0], y = (<const int32_t *>b)[0]
    return (x > y) - (x < y)


def distinct_features(CsrMatrix matrix):
    """Indices of the features with an entry, ascending, int32."""
    cdef int64_t k, n = 0, nnz
    cdef Py_ssize_t size = <Py_ssize_t>matrix.max_index + 1
    cdef unsigned char[::1] seen
    cdef int32_t[::1] found, every
    nnz = matrix._indices.shape[0]  # of one row, if regular
    if size <= ROOM_PER_ENTRY * nnz + ROOM_FREE:
        seen = bytearray(size)
        for k in range(nnz):
            n += not seen[matrix.feature[k]]
            seen[matrix.feature[k]] = 1
        out = zeros("i", n)
        found = out
        n = 0
        for k in range(size):
            if seen[k]:
                found[n] = <int32_t>k
                n += 1
        return out
    every = zeros("i", nnz)
    memcpy(&every[0], matrix.feature, nnz * sizeof(int32_t))
    qsort(&every[0], nnz, sizeof(int32_t), ascending)
    n = 1
    for k in range(1, nnz):
        if every[k] != every[k - 1]:
            every[n] = every[k]
            n += 1
    out = zeros("i", n)
    found = out
    memcpy(&found[0], &every[0], n * sizeof(int32_t))
    return out


cdef Py_ssize_t first_at_least(const int32_t[::1] sorted_indices, int32_t index, Py_ssize_t begin) noexcept nogil:
    """First position p >= begin with sorted_indices[p] >= index, or the length.

    ``begin`` is the position found for the previous entry of an ascending row; in dense data it is the answer.
    """
    cdef Py_ssize_t end = sorted_indices.shape[0], middle
    if begin < end and sorted_indices[begin] >= index:
        return begin
    while begin < end:
        middle = begin + (end - begin) // 2
        if sorted_indices[middle] < index:
            begin = middle + 1
        else:
            end = middle
    return begin


def count_nonzeros(CsrMatrix matrix):
    """Number of nonzero values, and of features with any; independent of stored zeros.

    Counted once, as all pairs of classes share the matrix.
    """
    with critical_section(matrix):
        if matrix.n_nonzeros < 0:
            matrix.n_nonzeros, matrix.n_used = counted_nonzeros(compacted(matrix)[0])
        return matrix.n_nonzeros, matrix.n_used


cdef (int64_t, int64_t) counted_nonzeros(CsrMatrix matrix) except *:
    cdef unsigned char[::1] seen = bytearray(<Py_ssize_t>matrix.max_index + 1)
    cdef const int32_t *feature
    cdef int64_t n_values = 0, n_features = 0, k
    cdef Py_ssize_t i
    for i in range(matrix.n_rows):
        feature = matrix.features(i)
        for k in range(matrix.ptr[i + 1] - matrix.ptr[i]):
            if matrix.at(matrix.ptr[i] + k) != 0.0:
                n_values += 1
                n_features += not seen[feature[k]]
                seen[feature[k]] = 1
    return n_values, n_features


def compacted(CsrMatrix a, CsrMatrix b=None):
    """a and b with features renumbered 0, 1, … in order, if the largest index dwarfs the data; else unchanged.

    Loops allocate arrays as long as the largest index, and hashed features reach 2^31 - 1 with a handful of entries.
    Sums over ascending features keep their order.
    """
    cdef int64_t entries = a.nnz + (b.nnz if b is not None else 0)
    cdef int64_t width = 1 + <int64_t>max(a.max_index, b.max_index if b is not None else 0)
    if width <= ROOM_PER_ENTRY * entries + ROOM_FREE:
        return a, b
    if b is None:
        return _renumbered(a, distinct_features(a)), None
    both = zeros("q", a.n_rows + b.n_rows + 1)
    indices, values = zeros("i", entries), zeros("d", entries)
    both[:a.n_rows + 1] = a.indptr
    for i in range(b.n_rows):
        both[a.n_rows + 1 + i] = a.nnz + b.ptr[i + 1]
    indices[:a.nnz], indices[a.nnz:] = a.indices, b.indices
    features = distinct_features(CsrMatrix(both, indices, values, copy=False))
    return _renumbered(a, features), _renumbered(b, features)


cdef CsrMatrix _renumbered(CsrMatrix matrix, features):
    cdef const int32_t[::1] feature = features
    indices_ = zeros("i", matrix.nnz)
    cdef int32_t[::1] indices = indices_
    cdef Py_ssize_t i, at
    cdef int64_t k
    cdef const int32_t *own
    for i in range(matrix.n_rows):
        at, own = 0, matrix.features(i) - matrix.ptr[i]
        for k in range(matrix.ptr[i], matrix.ptr[i + 1]):
            at = first_at_least(feature, own[k], at)
            indices[k] = <int32_t>at
            at += 1
    return CsrMatrix(matrix.indptr, indices_, matrix.values, copy=False)


# ---- Checks of values ------------------------------------------------------------------------------

# Pairs compared by first_asymmetry.
cdef Py_ssize_t SYMMETRY_PAIRS = 1000


def first_not_finite(CsrMatrix matrix, rows):
    """Position in ``rows`` (int32) of the first row with a nan or infinite value, or -1.

    -1 for a table of kernel values, which was checked by its creator.
    """
    cdef Py_ssize_t i, n
    cdef const int32_t *chosen = int32_of(rows, &n)
    cdef int64_t k
    if matrix.is_table:
        return -1
    for i in range(n):
        for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
            if matrix.at(k) - matrix.at(k) != 0:
                return i
    return -1


def first_negative(CsrMatrix matrix, rows):
    """(position in ``rows``, feature, value) of the first negative value in ``rows`` (int32), or None."""
    cdef const int32_t[::1] chosen = rows
    cdef Py_ssize_t i
    cdef int64_t k
    for i in range(chosen.shape[0]):
        for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
            if matrix.at(k) < 0.0:
                return i, matrix.features(chosen[i])[k - matrix.ptr[chosen[i]]], matrix.at(k)
    return None


def precomputed_row_length(CsrMatrix matrix, Py_ssize_t row):
    """Last index of the row if its indices are 0, 1, …, last; else -1."""
    cdef int64_t k, size = matrix.ptr[row + 1] - matrix.ptr[row]
    cdef const int32_t *feature = matrix.features(row)
    for k in range(0 if matrix.is_table else size):
        if feature[k] != k:
            return -1
    return size - 1


def first_beyond(CsrMatrix matrix, Py_ssize_t row, double most):
    """Index in its row of the first kernel value with |K(row, index)| > ``most``, or 0."""
    cdef int64_t k
    for k in range(matrix.ptr[row] + 1, matrix.ptr[row + 1]):
        if fabs(matrix.at(k)) > most:
            return matrix.features(row)[k - matrix.ptr[row]]
    return 0


def serial_number(CsrMatrix matrix, Py_ssize_t row):
    """Value of index 0, the first of the row."""
    return matrix.at(matrix.ptr[row])


def has_index_zero(CsrMatrix matrix):
    """Whether any row has a feature with index 0."""
    cdef Py_ssize_t i
    for i in range(matrix.n_rows):
        if matrix.ptr[i] < matrix.ptr[i + 1] and matrix.features(i)[0] == 0:
            return True
    return False


def first_asymmetry(CsrMatrix matrix, rows):
    """Look for K(i, j) != K(j, i) among about a thousand pairs of precomputed rows (int32).

    Returns
    -------
    (i, j) : positions in ``rows`` of the first pair that differs by more than rounding (1e-6 relative), or None
    """
    cdef const int32_t[::1] chosen = rows
    cdef Py_ssize_t n = chosen.shape[0], i, j, step = max(1, n * n // SYMMETRY_PAIRS), at = 0
    cdef GivenRow row_i, row_j
    cdef double a, b
    if matrix.source is not None:  # do not compute rows just for a check
        return None
    if n and step > 1 and step % n == 0:
        step += 1  # vary the column
    while at < n * n:
        i, j = at // n, at % n
        row_i, row_j = matrix.given_row(chosen[i]), matrix.given_row(chosen[j])
        a = given_value(&row_i, matrix.serial_of(chosen[j]))
        b = given_value(&row_j, matrix.serial_of(chosen[i]))
        if fabs(a - b) > 1e-6 * max(fabs(a), fabs(b)):
            return min(i, j), max(i, j)
        at += step
    return None


def square_of_offsets(CsrMatrix matrix, rows, double ranges):
    """Sum of max |x_f|^2 over features f that are farther from 0 than ``ranges`` >= 1 times their range in ``rows``
    (int32).

    Such a feature is stored in every row, so only those of the first row are candidates.
    """
    cdef Py_ssize_t i, c, n
    cdef const int32_t *chosen = int32_of(rows, &n)
    cdef const int32_t *feature
    cdef const int32_t *first
    cdef Py_ssize_t n_candidates = matrix.ptr[chosen[0] + 1] - matrix.ptr[chosen[0]] if n else 0
    cdef int64_t k, begin, end
    cdef double x, size, square = 0.0
    cdef bint far
    cdef Memory ranges_ = memory("d", 2 * n_candidates)
    cdef double *low = <double *>ranges_.items
    cdef double *high = low + n_candidates
    if n_candidates == 0:
        return 0.0
    first = matrix.features(chosen[0])
    for c in range(n_candidates):
        low[c] = high[c] = matrix.at(matrix.ptr[chosen[0]] + c)
    for i in range(1, n):
        begin, end = matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]
        feature, k, far = matrix.features(chosen[i]), begin, False
        for c in range(n_candidates):
            while k < end and feature[k - begin] < first[c]:
                k += 1
            x = matrix.at(k) if k < end and feature[k - begin] == first[c] else 0.0
            low[c], high[c] = min(low[c], x), max(high[c], x)
            far |= max(fabs(low[c]), fabs(high[c])) >= ranges * (high[c] - low[c])
        if not far:  # nor later: the range grows at least as much as the distance from 0
            return 0.0
    for c in range(n_candidates):
        size = max(fabs(low[c]), fabs(high[c]))
        if size >= ranges * (high[c] - low[c]):
            square += size * size
    return square


def largest_serial(CsrMatrix vectors):
    """Largest serial number of precomputed support vectors, whose rows begin with 0:serial; 0 without rows."""
    cdef Py_ssize_t i
    cdef double largest = 0
    for i in range(vectors.n_rows):
        largest = max(largest, vectors.value[vectors.ptr[i]])
    return int(largest)


def serials_only(CsrMatrix matrix, rows):
    """The given rows (int32), reduced to 0:serial, which is all that a precomputed model needs."""
    cdef const int32_t[::1] chosen = rows
    cdef Py_ssize_t i, n = chosen.shape[0]
    indptr_, values_ = zeros("q", n + 1), zeros("d", n)
    cdef int64_t[::1] indptr = indptr_
    cdef double[::1] values = values_
    for i in range(n):
        indptr[i + 1] = i + 1
        values[i] = matrix.at(matrix.ptr[chosen[i]])
    return CsrMatrix(indptr_, zeros("i", n), values_, copy=False)

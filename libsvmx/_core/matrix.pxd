from libc.stdint cimport int32_t, int64_t

from libsvmx._core.pieces cimport svmx_piece, svmx_piece_there
from libsvmx._core.numbers cimport svmx_numbers, svmx_numbers_from


cdef struct GivenRow:               # K(row, serial number s) at index (s - 1) * step of one pointer; the other is NULL
    const double *in_double
    const float *in_float
    Py_ssize_t step


cdef inline double given_value(const GivenRow *row, int64_t serial) noexcept nogil:
    return (row.in_double[(serial - 1) * row.step] if row.in_double != NULL
            else <double>row.in_float[(serial - 1) * row.step])


cdef class RowsOnDemand:
    cdef Py_ssize_t n
    cdef svmx_piece *row_at         # see ``kept_row``
    cdef readonly bint keeps_all    # every requested row is kept
    cdef bint in_float              # all rows are
    cdef const double[::1] on_diagonal      # K(i, i)
    cdef int begin(self) except -1
    cdef demand(self, const int32_t *rows, int count, const void **at, bint keep)
    cdef int demand_one(self, int32_t row) noexcept nogil

    cdef inline const void *kept_row(self, Py_ssize_t i) noexcept nogil:
        """Values of row i, on demand, if they are kept, else NULL; see ``row_of_values``.

        Safe in any thread: ``demand`` publishes the pointer after the values (acquire and release, see pieces.h).
        """
        return svmx_piece_there(&self.row_at[i])

    cdef inline GivenRow row_of_values(self, const void *values) noexcept nogil:
        """A row on demand by its values."""
        cdef GivenRow row
        row.in_double, row.in_float, row.step = NULL, NULL, 1
        if self.in_float:
            row.in_float = <const float *>values
        else:
            row.in_double = <const double *>values
        return row


cdef class CsrMatrix:
    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t n_columns
    cdef readonly int max_index
    cdef readonly int first_index
    cdef readonly object indptr
    cdef readonly Py_ssize_t nnz
    cdef object _buffer             # ``values`` if in double
    cdef const int64_t *ptr
    cdef readonly bint regular      # all rows have the same features
    cdef const int32_t *feature     # of all entries, or of one row if regular; see ``features``
    cdef const double *value        # NULL if values are in float; ``at`` and ``values_from`` read both
    cdef const float *in_float      # NULL if values are in double
    cdef const int64_t[::1] _indptr
    cdef const int32_t[::1] _indices
    cdef const double[::1] _values
    cdef const float[::1] _floats
    cdef readonly bint is_table     # values are a table of kernel values
    cdef const double[:, :] _table          # in double
    cdef const float[:, :] _float_table     # or in float
    cdef GivenRow first_row         # of the table
    cdef Py_ssize_t row_step        # from a row to the next, in values
    cdef readonly RowsOnDemand source       # None if there are no rows on demand
    cdef int64_t n_nonzeros, n_used     # nonzero values, and features with any; -1: not counted yet

    cdef int hold(self, values) except -1
    cdef int hold_table(self, values) except -1
    cdef int hold_source(self, RowsOnDemand source) except -1

    cdef inline const int32_t *features(self, Py_ssize_t i) noexcept nogil:
        """Features of row i, whose entries begin at ptr[i]."""
        return self.feature if self.regular else self.feature + self.ptr[i]

    cdef inline double at(self, int64_t k) noexcept nogil:
        """Value of entry k."""
        if self.value != NULL:
            return self.value[k]
        return <double>self.in_float[k] if self.in_float != NULL else self.table_at(k)

    cdef inline double table_at(self, int64_t k) noexcept nogil:
        """``at`` of a table, which does not store the serial numbers."""
        cdef GivenRow row
        cdef int64_t serial = k % self._indices.shape[0]
        if serial == 0:
            return <double>(k // self._indices.shape[0] + 1)
        row = self.given_row(k // self._indices.shape[0])
        return given_value(&row, serial)

    cdef inline GivenRow given_row(self, Py_ssize_t i) noexcept nogil:
        """Kernel values of row i, of the form 0:serial 1:K(row, 1) 2:K(row, 2) …; keeps a row on demand."""
        cdef GivenRow row = self.first_row
        if self.source is not None:
            if self.source.kept_row(i) == NULL:
                self.source.demand_one(<int32_t>i)
            row = self.source.row_of_values(self.source.kept_row(i))
        elif not self.is_table:
            row.in_double, row.step = self.value + self.ptr[i] + 1, 1
        elif row.in_double != NULL:
            row.in_double += i * self.row_step
        else:
            row.in_float += i * self.row_step
        return row

    cdef inline double with_itself(self, Py_ssize_t i) noexcept nogil:
        """K(i, i)"""
        cdef GivenRow row
        if self.source is not None:
            return self.source.on_diagonal[i]
        row = self.given_row(i)
        return given_value(&row, self.serial_of(i))

    cdef inline int64_t serial_of(self, Py_ssize_t i) noexcept nogil:
        """Serial number of a row of kernel values."""
        return i + 1 if self.is_table else <int64_t>self.value[self.ptr[i]]

    cdef inline svmx_numbers values_from(self, int64_t k) noexcept nogil:
        cdef svmx_numbers numbers
        numbers.in_double, numbers.in_float = self.value, self.in_float
        return svmx_numbers_from(numbers, k)


cdef int ascending(const void *a, const void *b) noexcept nogil
cdef Py_ssize_t first_at_least(const int32_t[::1] sorted_indices, int32_t index, Py_ssize_t begin) noexcept nogil

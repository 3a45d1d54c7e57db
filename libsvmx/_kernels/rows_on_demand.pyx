"""Rows of the caller's own kernel, which Python computes when a solver asks for them."""

from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from libsvmx._core.matrix cimport RowsOnDemand
from libsvmx._core.pieces cimport svmx_piece, svmx_publish_piece

from libsvmx._core.arrays import empty
from libsvmx._core.buffers import zeros

# Kernels on demand are symmetric: of new rows only values in columns whose own rows are not kept are asked for. From
# a KNOWN_FROM-th of all rows on; these columns, whose rows are copied for the kernel, are chosen again when KEPT_AGAIN
# times as many rows are kept as the last time. Only if all rows are kept: else a row that is asked for again would take
# K(j, i) where it had K(i, j), which may differ by rounding.
cdef Py_ssize_t KNOWN_FROM = 8
cdef double KEPT_AGAIN = 1.25

ctypedef fused real:
    float
    double


cdef class RowSource(RowsOnDemand):
    """Rows of a table of kernel values that a subclass computes in Python on demand, under its ``lock``; each once,
    unless it is not kept (``keep_up_to``).

    ``diagonal()``: all K(i, i), float64, shape (n,). ``rows(numbers, columns=None)``: the rows of a list over the
    ``columns`` (int32, ascending; the same object in many calls), or over all, float64, C order, never changed
    afterwards. ``fail(error)`` receives exceptions of ``rows``, in any thread: rows are zeros from then on, and the
    source must end the work.

    ``left_bytes``: memory left for a solve beside the kept rows, None until that is decided (``share_of_source``).
    ``divisible``: whether rows may be asked for over some columns.
    """

    left_bytes = None
    divisible = True

    cdef int begin(self) except -1:
        if self.row_at != NULL:
            raise ValueError("rows on demand are those of one matrix")
        self.on_diagonal = self.diagonal()
        self.n = self.most_kept = self.on_diagonal.shape[0]
        self.keeps_all, self.held, self.compared = True, [], []
        self.nothing, self.known, self.unknown = zeros("d", self.n), zeros("i", 0), zeros("i", 0)
        self.row_at = <svmx_piece *>calloc(max(self.n, 1), sizeof(svmx_piece))
        if self.row_at == NULL:
            raise MemoryError("rows of a kernel matrix")
        return 0

    def __dealloc__(self):
        free(self.row_at)

    def keep_up_to(self, double n_bytes, bint in_float=False):
        """Keep the first rows on demand, up to ``n_bytes``; others are computed each time that they are needed.

        ``in_float``: rounds all rows. Only before the first one.
        """
        self.in_float = in_float
        self.most_kept = <Py_ssize_t>min(n_bytes / ((4.0 if in_float else 8.0) * max(self.n, 1)), <double>self.n)
        self.keeps_all = self.most_kept == self.n

    cdef demand(self, const int32_t *rows, int count, const void **at, bint keep):
        cdef const double[:, ::1] block
        cdef double[::1] doubles
        cdef float[::1] floats
        cdef const char *first
        cdef Py_ssize_t k, size, n = self.n
        cdef bint kept
        lent, missing = [], []
        try:
            with self.lock:
                missing = [k for k in range(count) if self.kept_row(rows[k]) == NULL]
                if missing:
                    if self.keeps_all and self.divisible and \
                            self.n_kept >= max(n // KNOWN_FROM, <Py_ssize_t>(KEPT_AGAIN * self.n_divided)):
                        self.divide_columns()
                    numbers = [rows[k] for k in missing]
                    values = self.rows(numbers, self.unknown_columns)
                    block = values
                    if block.shape[0] != len(missing) or block.shape[1] != n - self.known.shape[0]:
                        asked = n - self.known.shape[0]
                        raise ValueError(f"{len(missing)} rows of {asked} kernel values were asked for")
                    size = n * (sizeof(float) if self.in_float else sizeof(double))
                    if self.in_float:
                        values = empty("f", len(missing) * n)
                        floats = values
                        _complete(self, block, numbers, &floats[0])
                        first = <const char *>&floats[0]
                    elif self.known.shape[0]:
                        values = empty("d", len(missing) * n)
                        doubles = values
                        _complete(self, block, numbers, &doubles[0])
                        first = <const char *>&doubles[0]
                    else:
                        first = <const char *>&block[0, 0]
                    kept = keep or self.n_kept + len(missing) <= self.most_kept
                    (self.held if kept else lent).append(values)
                    self.compared = self.compared or numbers
                    for k in missing:
                        at[k] = first
                        first += size
                        if kept:
                            self.n_kept += 1
                            svmx_publish_piece(&self.row_at[rows[k]], <const float *>at[k])
        except BaseException as error:
            for k in range(count):
                if self.kept_row(rows[k]) == NULL:
                    svmx_publish_piece(&self.row_at[rows[k]], <const float *>&self.nothing[0])
            try:
                self.fail(error)
            except BaseException as again:  # such as a second Ctrl-C
                self.fail(again)
        for k in range(count):
            if self.kept_row(rows[k]) != NULL:
                at[k] = self.kept_row(rows[k])
        return lent

    cdef int divide_columns(self) except -1:
        """Choose the columns that are asked for: those whose rows are not kept, and those of the first rows."""
        cdef Py_ssize_t i, n_known = 0, n = self.n
        cdef int32_t[::1] known = zeros("i", n), unknown = zeros("i", n)
        asked = set(self.compared)
        for i in range(n):
            if self.kept_row(i) != NULL and i not in asked:
                known[n_known] = <int32_t>i
                n_known += 1
            else:
                unknown[i - n_known] = <int32_t>i
        self.known, self.unknown = known[:n_known], unknown[:n - n_known]
        self.unknown_columns, self.n_divided = memoryview(self.unknown), self.n_kept
        return 0


cdef int _complete(RowSource source, const double[:, ::1] block, list numbers, real *out) except -1:
    """Rows whose unknown columns are in ``block``; K(i, j) of a known column j is read from row j. OUT ``out``."""
    cdef Py_ssize_t k, q, m = block.shape[0], n = source.n, n_known = source.known.shape[0]
    cdef const int32_t *known = &source.known[0] if n_known else NULL
    cdef const int32_t *unknown = &source.unknown[0] if n_known else NULL
    cdef int32_t[::1] row = zeros("i", m)
    cdef const void *values
    for k in range(m):
        row[k] = numbers[k]
    with nogil:
        for k in range(m):
            if n_known == 0:
                for q in range(n):
                    out[k * n + q] = <real>block[k, q]
            else:
                for q in range(n - n_known):
                    out[k * n + unknown[q]] = <real>block[k, q]
        for q in range(n_known):
            values = source.kept_row(known[q])
            if source.in_float:
                for k in range(m):
                    out[k * n + known[q]] = <real>(<const float *>values)[row[k]]
            else:
                for k in range(m):
                    out[k * n + known[q]] = <real>(<const double *>values)[row[k]]
    return 0

"""Dot products of one row with many target rows, from which kernel rows are computed.

Classes with one virtual call per tile of targets: dense panels, dense rows in place, panels of small integers, column
postings, columns of bits, and the given matrix of a precomputed kernel. Each sum is over ascending features, one
rounded product after the other, as in LIBSVM's merge of two sparse rows; terms skipped there are zeros, which change no
bit. Sums of integers are exact, so they are over pairs of features. If a sum may be in another order, RbfPanels
computes the kernel value in the same pass. Other products than dot products have panels or postings, too.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint64_t
from libc.string cimport memset

from libsvmx._core.arrays cimport int32_of, memory
from libsvmx._core.buffers import zeros
from libsvmx._core.dispatch cimport (
    SVMX_DOT, SVMX_MINIMA, SVMX_PANEL, SVMX_RBF_BLOCK, SVMX_RBF_TILE, SVMX_SOURCES, svmx_by_source, svmx_column_words,
    svmx_integer_block, svmx_integer_dots, svmx_kernel, svmx_kernel_value, svmx_meeting, svmx_panel_block,
    svmx_panel_dots, svmx_panel_meetings, svmx_panel_row_distances, svmx_postings_axpy, svmx_postings_distances,
    svmx_postings_meetings, svmx_rbf_block, svmx_rbf_one, svmx_rbf_source, svmx_rbf_targets, svmx_source,
    svmx_stream_dots)
from libsvmx._core.matrix cimport CsrMatrix, GivenRow, given_value
from libsvmx._core.numbers cimport svmx_numbers, svmx_numbers_from


# From this share of nonzeros on, a dense panel reads fewer bytes per row than postings (8 bytes per cell against 10 per
# nonzero plus a read-modify-write of the sum).
DENSE_FROM = 0.25
# Rows of small integers have dense panels from this share of nonzeros on, and for this range of features (even): 16
# take as long as in double and one pass, 32 a quarter less.
cdef double INTEGERS_FROM = 0.15
cdef enum:
    LEAST_INTEGERS = 24
    MOST_INTEGERS = 4096
# Rows in float have panels in float from this number of values on (8 MB in double), where memory limits the speed. In
# cache, converting the numbers would take up to a fifth of the time.
cdef Py_ssize_t FLOATS_FROM = 1 << 20
# If a sum may be in another order, dense rows are read in place from this number of values of the matrix and bytes of a
# row on; panels would double the memory. In L2, or if rows are shorter, panels are up to 1.3 times as fast; with 780
# features, they are up to 1.3 times as slow.
cdef Py_ssize_t IN_PLACE_FROM = 1 << 20
cdef Py_ssize_t IN_PLACE_BYTES = 1024
# Rows are computed in blocks from this number of nonzeros per target on, and up to this number of features; a block is
# over the nonzeros of its targets, or, from this share of nonzeros on, over all features.
cdef double BLOCK_FROM = 4
cdef Py_ssize_t BLOCK_WIDTH = 4096
cdef double FULL_FROM = 0.6
# The time of a product decides which rows are kept; it is estimated from counts, as measured times vary on a busy
# machine. Nanoseconds per nonzero of the row, with panels; per feature, in a block of full panels; per common nonzero,
# with postings; per nonzero of the target, in a sparse block; per nonzero of the row, with columns of bits; per feature
# of small integers, alone and in a block; and per given value. Measured with AVX-512; with AVX2 about twice as long.
cdef double OF_PANEL = 0.05, OF_FULL_BLOCK = 0.034, OF_MEETING = 0.5, OF_SPARSE_BLOCK = 0.045, OF_COLUMN = 0.045
cdef double OF_INTEGER = 0.012, OF_INTEGER_BLOCK = 0.007, OF_GIVEN = 0.35
# For other products: nanoseconds per nonzero of the row, with panels; and a factor on OF_MEETING.
cdef double OF_PANEL_MINIMUM = 0.12, OF_PANEL_HARMONIC = 0.16, OF_SPARSE_MINIMUM = 1.5, OF_SPARSE_HARMONIC = 2.0
# A column of bits takes the memory of its postings if one in this number of targets has a nonzero.
cdef double BITS_PER_NONZERO = 80
# If rounding is large, rows are computed in one pass if at most one in this number of values is in doubt, as settling
# one costs as much as this number of values. The share is estimated from a sample of rows.
cdef int64_t VALUES_PER_DOUBT = 100
cdef enum: SAMPLED_ROWS = 5
# Values of targets that stay in L2 during a block of rows.
cdef Py_ssize_t BLOCK_VALUES = 1 << 15
# Features of a panel that are written together.
cdef Py_ssize_t FEATURES_AT_ONCE = 32
# Largest tile of postings: a target's place in its tile has 16 bits.
cdef int64_t LARGEST_TILE = 1 << 16


def products_of(CsrMatrix matrix, rows, bint distances=False, bint integers=False, int product=SVMX_DOT,
                bint any_row=False, bint any_order=False):
    """The Products that suit the density of the targets ``rows`` (int32) of ``matrix``.

    ``distances``: must have ``distances``. ``integers``: only products of these rows with each other are needed, and
    ``Kernel.integers`` holds. ``product``: see kernel_functions.h. ``any_row``: rows from outside ``matrix`` are
    allowed, in double. ``any_order``: RbfPanels follow, and ``rows`` are padded by a panel of rows of ``matrix``.
    """
    cdef Py_ssize_t n, width = 1 + <Py_ssize_t>matrix.max_index
    cdef const int32_t *row = int32_of(rows, &n)
    cdef int64_t nnz = nnz_of(matrix, row, n)
    if (integers and product == SVMX_DOT and LEAST_INTEGERS <= width <= MOST_INTEGERS
            and nnz >= INTEGERS_FROM * n * width):
        return IntegerProducts(matrix, rows)
    # regular rows that have all features from 1 on, side by side
    if (any_order and matrix.regular and matrix._indices.shape[0] == matrix.max_index
            and matrix.nnz >= IN_PLACE_FROM
            and matrix.max_index * (sizeof(double) if matrix.in_float == NULL else sizeof(float)) >= IN_PLACE_BYTES):
        return InPlaceProducts(matrix, rows)
    if nnz >= DENSE_FROM * n * width:
        return PanelProducts(matrix, rows, product, any_row)
    values = values_of_columns(Products(matrix, rows)) if product == SVMX_DOT and not distances else None
    return PostingProducts(matrix, rows, product, any_row) if values is None else ColumnProducts(matrix, rows, values)


cdef int64_t nnz_of(CsrMatrix matrix, const int32_t *rows, Py_ssize_t n) noexcept nogil:
    """Entries of n rows."""
    cdef Py_ssize_t i
    cdef int64_t nnz = 0
    for i in range(n):
        nnz += matrix.ptr[rows[i] + 1] - matrix.ptr[rows[i]]
    return nnz


cdef values_of_columns(Products products):
    """The single nonzero value of each feature; None if a feature has several, or if columns of bits would take more
    memory than postings.
    """
    cdef Py_ssize_t i
    cdef int64_t k
    cdef int32_t f
    cdef CsrMatrix matrix = products.matrix
    cdef const int32_t *feature
    if products.n * <double>products.width > BITS_PER_NONZERO * products.nnz:
        return None
    values = zeros("d", products.width)
    cdef double[::1] value = values
    for i in range(products.n):
        feature = matrix.features(products.rows[i]) - matrix.ptr[products.rows[i]]
        for k in range(matrix.ptr[products.rows[i]], matrix.ptr[products.rows[i] + 1]):
            f = feature[k]
            if value[f] == 0.0:
                value[f] = matrix.at(k)
            elif matrix.at(k) != value[f] and matrix.at(k) != 0.0:
                return None
    return values


cdef class Products:
    """Products(matrix, rows): base class, for the targets ``rows`` of ``matrix``.

    ``fill(row, begin, end, out)``: products of row ``row`` of the matrix with targets [begin, end); ``begin`` is a
    multiple of ``tile``, ``end`` at most the next one. OUT ``out``: (tile,).

    ``dots(nnz, index, value, begin, end, out)``: ``fill`` for any row, given by its nonzeros at features below
    ``width``; not in ``GivenValues`` and ``IntegerProducts``.

    ``distances(nnz, place, value, begin, end, out)``: squared distances from any row as in LIBSVM's prediction, the sum
    of (x_f - z_f)^2 over ascending features; only with panels and postings. OUT ``out``: (2 * tile,). Entry k has
    feature place[k]; if negative, the targets lack its feature, and the next one of theirs is ~place[k].

    ``fill_block(sources, begin, end, out)``: products of the SVMX_SOURCES rows of ``lay_sources``, at
    out[s * BLOCK_TILE + k]; ``begin`` is a multiple of BLOCK_TILE, ``end`` at most the next one. Only if ``blocks``.

    ``value_ns``, ``block_ns``: estimated nanoseconds of a product with a mean row, alone and in a block.
    """

    def __cinit__(self, CsrMatrix matrix, rows, *args):
        self.matrix, self.rows, self.tile = matrix, rows, TILE
        self.n = self.rows.shape[0]
        self.width = 1 + <Py_ssize_t>matrix.max_index
        self.nnz = nnz_of(matrix, &self.rows[0], self.n) if self.n else 0
        # blocks pay if targets are long enough to save fetching them, and the sources fit L2
        self.blocks = self.nnz >= BLOCK_FROM * self.n and self.width <= BLOCK_WIDTH and not matrix.regular

    cdef int fill(self, int64_t row, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef int64_t first = self.matrix.ptr[row]
        return self.dots(self.matrix.ptr[row + 1] - first, self.matrix.features(row), self.matrix.values_from(first),
                         begin, end, out)

    cdef int dots(self, int64_t nnz, const int32_t *index, svmx_numbers value, Py_ssize_t begin, Py_ssize_t end,
                  double *out) noexcept nogil:
        return 0

    cdef int distances(self, int64_t nnz, const int32_t *place, const double *value, Py_ssize_t begin, Py_ssize_t end,
                       double *out) noexcept nogil:
        return 0

    cdef double mean_nonzeros(self) noexcept nogil:
        """Mean nonzeros of a target."""
        return self.nnz / max(1.0, <double>self.n)

    cdef void lay_sources(self, const int64_t *rows, int n, double *sources) noexcept nogil:
        """Write up to SVMX_SOURCES rows of the matrix by feature; OUT ``sources``: (width, SVMX_SOURCES)."""
        cdef int s
        cdef int64_t k
        cdef const int32_t *feature
        memset(sources, 0, self.width * SVMX_SOURCES * sizeof(double))
        for s in range(n):
            feature = self.matrix.features(rows[s]) - self.matrix.ptr[rows[s]]
            for k in range(self.matrix.ptr[rows[s]], self.matrix.ptr[rows[s] + 1]):
                sources[feature[k] * SVMX_SOURCES + s] = self.matrix.at(k)

    cdef int fill_block(self, const double *sources, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef double dots[BLOCK_TILE * SVMX_SOURCES]
        svmx_stream_dots(end - begin, &self.rows[begin], self.matrix.ptr, self.matrix.feature,
                         self.matrix.values_from(0), sources, dots)
        svmx_by_source(end - begin, dots, BLOCK_TILE, out)
        return 0

    cdef double dot(self, int64_t row, Py_ssize_t target) noexcept nogil:
        """A single product."""
        cdef const int64_t *ptr = self.matrix.ptr
        cdef int64_t p = ptr[row], q = ptr[self.rows[target]]
        cdef const int32_t *of_p = self.matrix.features(row) - p
        cdef const int32_t *of_q = self.matrix.features(self.rows[target]) - q
        cdef int64_t p_end = ptr[row + 1], q_end = ptr[self.rows[target] + 1]
        cdef double total = 0.0
        while p < p_end and q < q_end:
            if of_p[p] == of_q[q]:
                total += self.matrix.at(p) * self.matrix.at(q)
                p += 1
                q += 1
            elif of_p[p] < of_q[q]:
                p += 1
            else:
                q += 1
        return total


cdef class StreamedProducts(Products):
    """For only a few rows: targets are read in place, as a layout of their own takes as long as some rows."""

    def __cinit__(self, CsrMatrix matrix, rows, int product=SVMX_DOT):
        self.product = product
        self.source, self.blocks, self.spread = zeros("d", self.width), False, -1

    cdef int fill(self, int64_t row, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef const int64_t *ptr = self.matrix.ptr
        cdef double *source = &self.source[0]
        cdef const int32_t *feature
        cdef Py_ssize_t i
        cdef int64_t k
        cdef double total
        if row != self.spread:
            self.spread_out(row)
        if self.product != SVMX_DOT:
            return self.meet(begin, end, out)
        for i in range(begin, end):
            total = 0.0
            feature = self.matrix.features(self.rows[i]) - ptr[self.rows[i]]
            for k in range(ptr[self.rows[i]], ptr[self.rows[i] + 1]):
                total += source[feature[k]] * self.matrix.at(k)
            out[i - begin] = total
        return 0

    cdef int meet(self, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        """``fill`` for a product other than the dot product, after ``spread_out``."""
        cdef const int64_t *ptr = self.matrix.ptr
        cdef const int32_t *feature
        cdef Py_ssize_t i
        cdef int64_t k
        for i in range(begin, end):
            out[i - begin] = 0.0
            feature = self.matrix.features(self.rows[i]) - ptr[self.rows[i]]
            for k in range(ptr[self.rows[i]], ptr[self.rows[i] + 1]):
                out[i - begin] += svmx_meeting(self.product, self.source[feature[k]], self.matrix.at(k))
        return 0

    cdef void spread_out(self, int64_t row) noexcept nogil:
        """Write the row to ``source``."""
        cdef const int32_t *feature
        cdef int64_t k
        if self.spread >= 0:
            feature = self.matrix.features(self.spread) - self.matrix.ptr[self.spread]
            for k in range(self.matrix.ptr[self.spread], self.matrix.ptr[self.spread + 1]):
                self.source[feature[k]] = 0.0
        feature = self.matrix.features(row) - self.matrix.ptr[row]
        for k in range(self.matrix.ptr[row], self.matrix.ptr[row + 1]):
            self.source[feature[k]] = self.matrix.at(k)
        self.spread = row


ctypedef fused number:
    int16_t
    float
    double


cdef int lay_panels(Products products, number[::1] panels) except -1:
    """Write the targets to ``panels``, which are zeros; some features of a panel at a time, which stay in L1.

    Integers are in pairs of features.
    """
    cdef CsrMatrix matrix = products.matrix
    cdef Py_ssize_t panel, lane, count, f, n_panels = (products.n + SVMX_PANEL - 1) // SVMX_PANEL
    cdef int64_t at[SVMX_PANEL]
    cdef int64_t row, k, end
    cdef const int32_t *feature
    cdef number *to
    for panel in range(n_panels):
        count = min(<Py_ssize_t>SVMX_PANEL, products.n - panel * SVMX_PANEL)
        to = &panels[panel * (panels.shape[0] // n_panels)]
        for lane in range(count):
            at[lane] = matrix.ptr[products.rows[panel * SVMX_PANEL + lane]]
        f = 0
        while f < products.width:
            f += FEATURES_AT_ONCE
            for lane in range(count):
                row = products.rows[panel * SVMX_PANEL + lane]
                k, end = at[lane], matrix.ptr[row + 1]
                feature = matrix.features(row) - matrix.ptr[row]
                while k < end and feature[k] < f:
                    if number is int16_t:
                        to[(feature[k] // 2 * SVMX_PANEL + lane) * 2 + feature[k] % 2] = <number>matrix.at(k)
                    else:
                        to[feature[k] * SVMX_PANEL + lane] = <number>matrix.at(k)
                    k += 1
                at[lane] = k
    return 0


cdef class PanelProducts(Products):
    """Dense data: panels of 16 targets, feature-major, so that a feature of the row is multiplied by 16 targets at
    once.

    Blocks are of dot products only. ``dots`` of rows in double, and ``distances``, need panels in double: of a matrix
    in double, or with ``any_row``.
    """

    def __cinit__(self, CsrMatrix matrix, rows, int product=SVMX_DOT, bint any_row=False):
        cdef Py_ssize_t size = (self.n + SVMX_PANEL - 1) // SVMX_PANEL * SVMX_PANEL * self.width
        self.full = matrix.regular or self.nnz >= FULL_FROM * self.n * self.width
        self.value_ns = OF_PANEL * self.mean_nonzeros()
        self.block_ns = OF_FULL_BLOCK * self.width if self.full else OF_SPARSE_BLOCK * self.mean_nonzeros()
        if matrix.regular:
            self.blocks = self.nnz >= BLOCK_FROM * self.n and self.width <= BLOCK_WIDTH
        self.product = product
        if product != SVMX_DOT:
            self.blocks = False
            self.value_ns = (OF_PANEL_MINIMUM if product == SVMX_MINIMA else OF_PANEL_HARMONIC) * self.mean_nonzeros()
        if matrix.in_float != NULL and size >= FLOATS_FROM and not any_row:
            self.in_float = memory("f", size)
            self.panels.in_float = &self.in_float[0]
            lay_panels(self, self.in_float)
        elif size:
            self.in_double = memory("d", size)
            self.panels.in_double = &self.in_double[0]
            lay_panels(self, self.in_double)

    cdef int dots(self, int64_t nnz, const int32_t *index, svmx_numbers value, Py_ssize_t begin, Py_ssize_t end,
                  double *out) noexcept nogil:
        cdef svmx_numbers panels = svmx_numbers_from(self.panels, begin * self.width)
        cdef Py_ssize_t n_panels = (end - begin + SVMX_PANEL - 1) // SVMX_PANEL
        if self.product == SVMX_DOT:
            svmx_panel_dots(n_panels, self.width, panels, nnz, index, value, out)
        else:
            svmx_panel_meetings(self.product, n_panels, self.width, panels, nnz, index, value, out)
        return 0

    cdef int distances(self, int64_t nnz, const int32_t *place, const double *value, Py_ssize_t begin, Py_ssize_t end,
                       double *out) noexcept nogil:
        svmx_panel_row_distances((end - begin + SVMX_PANEL - 1) // SVMX_PANEL, self.width,
                                 self.panels.in_double + begin * self.width, nnz, place, value, out)
        return 0

    cdef int fill_block(self, const double *sources, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef Py_ssize_t k
        if not self.full:
            return Products.fill_block(self, sources, begin, end, out)
        k = begin
        while k < end:
            svmx_panel_block(self.width, self.panels, k * self.width, sources, BLOCK_TILE, out + k - begin)
            k += SVMX_PANEL
        return 0


cdef class InPlaceProducts(Products):
    """Dense rows of the features 1, 2, …, in place, for RbfPanels; ``fill`` is for rows that they leave, and
    ``fill_block`` is theirs. ``rows`` must be padded, see ``products_of``."""

    def __cinit__(self, CsrMatrix matrix, rows):
        self.blocks = self.width <= BLOCK_WIDTH
        self.value_ns, self.block_ns = OF_PANEL * self.width, OF_FULL_BLOCK * self.width

    cdef int fill(self, int64_t row, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(begin, end):
            out[i - begin] = self.dot(row, i)
        return 0


cdef class IntegerProducts(Products):
    """Small integers: dense panels of 16-bit numbers, in pairs of features."""

    def __cinit__(self, CsrMatrix matrix, rows):
        if matrix.regular:
            self.blocks = self.nnz >= BLOCK_FROM * self.n
        self.value_ns, self.block_ns = OF_INTEGER * self.width, OF_INTEGER_BLOCK * self.width
        self.n_pairs = (self.width + 1) // 2
        self.panels = zeros("h", (self.n + SVMX_PANEL - 1) // SVMX_PANEL * SVMX_PANEL * 2 * self.n_pairs)
        lay_panels(self, self.panels)

    cdef int fill(self, int64_t row, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef int16_t laid[MOST_INTEGERS]
        memset(laid, 0, self.n_pairs * 2 * sizeof(int16_t))
        self.lay(row, 1, laid)
        svmx_integer_dots((end - begin + SVMX_PANEL - 1) // SVMX_PANEL, self.n_pairs,
                          &self.panels[begin * 2 * self.n_pairs], laid, out)
        return 0

    cdef void lay(self, int64_t row, Py_ssize_t step, int16_t *to) noexcept nogil:
        """Write a row to ``to``, which is zeros, with a stride of ``step`` pairs of features."""
        cdef const int32_t *feature = self.matrix.features(row) - self.matrix.ptr[row]
        cdef int64_t k
        for k in range(self.matrix.ptr[row], self.matrix.ptr[row + 1]):
            to[feature[k] // 2 * step * 2 + feature[k] % 2] = <int16_t>self.matrix.at(k)

    cdef void lay_sources(self, const int64_t *rows, int n, double *sources) noexcept nogil:
        cdef int16_t *laid = <int16_t *>sources
        cdef int s
        memset(laid, 0, self.n_pairs * 2 * SVMX_SOURCES * sizeof(int16_t))
        for s in range(n):
            self.lay(rows[s], SVMX_SOURCES, laid + 2 * s)

    cdef int fill_block(self, const double *sources, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef Py_ssize_t k = begin
        while k < end:
            svmx_integer_block(self.n_pairs, &self.panels[k * 2 * self.n_pairs], <const int16_t *>sources, BLOCK_TILE,
                               out + k - begin)
            k += SVMX_PANEL
        return 0


cdef class PostingProducts(Products):
    """Sparse data: for each feature the targets that have it, so that only common nonzeros are read.

    Postings are by tile of targets, whose sums stay in L1; tiles are larger if the table of (tile, feature) would
    outgrow the data.
    """

    def __cinit__(self, CsrMatrix matrix, rows, int product=SVMX_DOT, bint any_row=False):
        cdef const int32_t[::1] chosen = self.rows
        cdef Py_ssize_t i
        cdef int64_t k, cell, n_tiles
        cdef const int32_t *feature
        cdef double pairs, meetings = 0
        while self.tile < LARGEST_TILE and self.width * (self.n // self.tile) > self.nnz:
            self.tile *= 2
        n_tiles = (self.n + self.tile - 1) // self.tile
        self.column = zeros("q", n_tiles * self.width + 2)
        for i in range(self.n):
            cell = i // self.tile * self.width + 1
            feature = matrix.features(chosen[i]) - matrix.ptr[chosen[i]]
            for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
                self.column[cell + feature[k]] += 1
        for k in range(n_tiles * self.width + 1):
            meetings += <double>self.column[k + 1] * self.column[k + 1]
            self.column[k + 1] += self.column[k]
        pairs = self.n // self.tile * <double>self.tile ** 2 + (self.n % self.tile) ** 2  # of targets in the same tile
        self.value_ns = OF_MEETING * meetings / max(pairs, 1.0)
        self.block_ns = OF_SPARSE_BLOCK * self.mean_nonzeros()
        self.product = product
        if product != SVMX_DOT:
            self.blocks = False
            self.value_ns *= OF_SPARSE_MINIMUM if product == SVMX_MINIMA else OF_SPARSE_HARMONIC
        self.place = zeros("H", max(self.nnz, 1))
        if matrix.in_float != NULL and not any_row:
            self.in_float = zeros("f", max(self.nnz, 1))
            self.values.in_float = &self.in_float[0]
        else:
            self.in_double = zeros("d", max(self.nnz, 1))
            self.values.in_double = &self.in_double[0]
        # fill from the back: column[c + 1], the end of cell c, becomes its begin
        for i in range(self.n - 1, -1, -1):
            cell = i // self.tile * self.width + 1
            feature = matrix.features(chosen[i]) - matrix.ptr[chosen[i]]
            for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
                self.column[cell + feature[k]] -= 1
                self.place[self.column[cell + feature[k]]] = <uint16_t>(i % self.tile)
                if self.values.in_float != NULL:
                    self.in_float[self.column[cell + feature[k]]] = matrix.in_float[k]
                else:
                    self.in_double[self.column[cell + feature[k]]] = matrix.at(k)

    cdef int dots(self, int64_t nnz, const int32_t *index, svmx_numbers value, Py_ssize_t begin, Py_ssize_t end,
                  double *out) noexcept nogil:
        cdef const int64_t *start = &self.column[begin // self.tile * self.width + 1]
        cdef int64_t k, first
        cdef int32_t f
        cdef double x
        memset(out, 0, (end - begin) * sizeof(double))
        for k in range(nnz):
            f = index[k]
            first = start[f]
            if first >= start[f + 1]:
                continue
            x = value.in_double[k] if value.in_float == NULL else <double>value.in_float[k]
            if self.product == SVMX_DOT:
                svmx_postings_axpy(start[f + 1] - first, &self.place[first],
                                   svmx_numbers_from(self.values, first), x, out)
            else:
                svmx_postings_meetings(self.product, start[f + 1] - first, &self.place[first],
                                       svmx_numbers_from(self.values, first), x, out)
        return 0

    cdef int distances(self, int64_t nnz, const int32_t *place, const double *value, Py_ssize_t begin, Py_ssize_t end,
                       double *out) noexcept nogil:
        svmx_postings_distances(end - begin, self.width, &self.column[begin // self.tile * self.width + 1],
                                &self.place[0], self.values.in_double, nnz, place, value, out + self.tile, out)
        return 0


cdef class ColumnProducts(Products):
    """Sparse data with one nonzero value per feature: for each feature a bit per target (see svmx_column_words)."""

    def __cinit__(self, CsrMatrix matrix, rows, values):
        cdef Py_ssize_t i
        cdef int64_t k
        cdef const int32_t *feature
        self.value, self.blocks, self.value_ns = values, False, OF_COLUMN * self.mean_nonzeros()
        self.stride = (self.n + 63) // 64
        self.columns = zeros("Q", self.stride * self.width)
        for i in range(self.n):
            feature = matrix.features(self.rows[i]) - matrix.ptr[self.rows[i]]
            for k in range(matrix.ptr[self.rows[i]], matrix.ptr[self.rows[i] + 1]):
                if matrix.at(k) != 0.0:
                    self.columns[feature[k] * self.stride + i // 64] |= <uint64_t>1 << (i % 64)

    cdef int dots(self, int64_t nnz, const int32_t *index, svmx_numbers value, Py_ssize_t begin, Py_ssize_t end,
                  double *out) noexcept nogil:
        svmx_column_words((end - begin + 63) // 64, nnz, index, value, &self.value[0], &self.columns[begin // 64],
                          self.stride, out)
        return 0


cdef class GivenValues(Products):
    """Precomputed kernel: row i holds its serial number at index 0 and K(i, s) at every index s.

    ``transposed``: K(target, row) instead of K(row, target).
    """

    def __cinit__(self, CsrMatrix matrix, rows, bint transposed=False):
        cdef Py_ssize_t i
        self.transposed = transposed and matrix.source is None  # kernels on demand are symmetric
        self.blocks, self.value_ns = False, OF_GIVEN
        self.serial = zeros("i", self.n)
        for i in range(self.n):
            self.serial[i] = <int32_t>matrix.serial_of(self.rows[i])

    cdef int demand(self, const int32_t *rows, int count) noexcept nogil:
        """Compute the missing ones of up to SVMX_SOURCES rows on demand, for ``fill`` until the next call."""
        cdef int k
        for k in range(count):
            if self.found(rows[k]) == NULL:
                break
        else:
            return 0
        with gil:
            self.lent = self.matrix.source.demand(rows, count, self.asked_at, False)
        for k in range(count):
            self.asked[k] = rows[k]
        self.n_asked = count
        return 0

    cdef const void *found(self, int32_t row) noexcept nogil:
        """Values of a row on demand, if computed, else NULL."""
        cdef const void *kept = self.matrix.source.kept_row(row)
        cdef int k
        for k in range(self.n_asked if kept == NULL else 0):
            if self.asked[k] == row:
                return self.asked_at[k]
        return kept

    cdef int fill(self, int64_t row, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef GivenRow given
        cdef int32_t asked = <int32_t>row
        cdef int64_t serial = self.matrix.serial_of(row)
        cdef Py_ssize_t j
        if self.matrix.source is not None:
            self.demand(&asked, 1)
            given = self.matrix.source.row_of_values(self.found(asked))
        else:
            given = self.matrix.given_row(row)
        if self.transposed:
            for j in range(begin, end):
                given = self.matrix.given_row(self.rows[j])
                out[j - begin] = given_value(&given, serial)
        elif given.in_double != NULL:
            for j in range(begin, end):
                out[j - begin] = given.in_double[(self.serial[j] - 1) * given.step]
        else:
            for j in range(begin, end):
                out[j - begin] = given.in_float[(self.serial[j] - 1) * given.step]
        return 0


cdef class RbfPanels:
    """Rows of the RBF kernel over panels, or over dense rows in place, in one pass (_core/loops/rbf.c); values whose
    rounding is in doubt are computed again as LIBSVM does. Made by ``over``."""

    @staticmethod
    cdef RbfPanels over(Products products, CsrMatrix matrix, const int32_t[::1] rows, double[::1] squares,
                        const svmx_kernel *formula, double[::1] of_targets, const int32_t[::1] members):
        """For the targets ``members``, at least one row of the kernel; ``of_targets``: their squares, plus a panel."""
        cdef RbfPanels panels = RbfPanels.__new__(RbfPanels)
        cdef svmx_numbers numbers
        cdef const int32_t *in_place = NULL
        cdef svmx_source farthest
        cdef Py_ssize_t k
        panels.products, panels.matrix, panels.rows, panels.squares = products, matrix, rows, squares
        panels.of_targets, panels.formula, panels.n = of_targets, formula[0], members.shape[0]
        for k in range(panels.n):
            panels.largest = max(panels.largest, of_targets[k])
        panels.block_tile = max(<Py_ssize_t>SVMX_PANEL, min(<Py_ssize_t>SVMX_RBF_BLOCK,
                                BLOCK_VALUES // products.width // SVMX_PANEL * SVMX_PANEL))
        if isinstance(products, InPlaceProducts):
            numbers, in_place, panels.full, panels.in_place = matrix.values_from(0), &products.rows[0], True, True
        else:
            numbers, panels.full = (<PanelProducts>products).panels, (<PanelProducts>products).full
        panels.targets = svmx_rbf_targets(products.width, numbers, in_place, &of_targets[0], formula.gamma)
        panels.mostly_zero = (panels.doubts(members) * VALUES_PER_DOUBT
                              <= SAMPLED_ROWS * min(panels.n, <Py_ssize_t>SVMX_RBF_TILE))
        panels.suits = (svmx_rbf_source(&panels.targets, panels.largest, panels.largest, &farthest)
                        and (farthest.close or panels.mostly_zero))
        return panels

    cdef int64_t doubts(self, const int32_t[::1] members) except -1:
        """Number of values in doubt, in a sample of rows with the first targets, if rounding is large."""
        cdef float out[SVMX_RBF_TILE]
        cdef int32_t doubtful[SVMX_RBF_TILE]
        cdef svmx_source source
        cdef int64_t found = 0
        cdef int32_t i
        cdef int k
        for k in range(SAMPLED_ROWS):
            i = members[k * (self.n - 1) // (SAMPLED_ROWS - 1)]
            if svmx_rbf_source(&self.targets, self.squares[i], self.largest, &source) and not source.close:
                found += self.tile(i, source, 0, self.n, out, doubtful)
        return found

    cdef bint knows(self, int32_t i, svmx_source *source) noexcept nogil:
        """Whether few values of row i are in doubt; sets ``source``."""
        return (svmx_rbf_source(&self.targets, self.squares[i], self.largest, source)
                and (source.close or self.mostly_zero))

    cdef int64_t tile(self, int32_t i, svmx_source source, Py_ssize_t begin, Py_ssize_t end, float *out,
                      int32_t *doubtful) noexcept nogil:
        """Compute up to SVMX_RBF_TILE values; returns the number in doubt."""
        cdef const int64_t *ptr = self.matrix.ptr + self.rows[i]
        return svmx_rbf_one(&self.targets, begin, min(end - begin, <Py_ssize_t>SVMX_RBF_TILE), ptr[1] - ptr[0],
                            self.matrix.features(self.rows[i]), self.matrix.values_from(ptr[0]), source, out, doubtful)

    cdef bint fill(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, float *out) noexcept nogil:
        """Compute a row; False, and nothing done, if too many values would be in doubt."""
        cdef svmx_source source
        cdef int32_t doubtful[SVMX_RBF_TILE]
        cdef int64_t n_doubtful
        if not self.knows(i, &source):
            return False
        while begin < end:
            n_doubtful = self.tile(i, source, begin, end, out + begin, doubtful)
            self.settle(i, begin, n_doubtful, doubtful, out + begin)
            begin += SVMX_RBF_TILE
        return True

    cdef bint fill_block(self, const int32_t *sources, int count, const double *laid, Py_ssize_t begin, Py_ssize_t end,
                         float **out) noexcept nogil:
        """``fill`` for several rows, ``laid`` out by ``lay_sources``; False, too, if the panels are not ``full``."""
        cdef svmx_source shares[SVMX_SOURCES]
        cdef int64_t n_doubtful[SVMX_SOURCES]
        cdef int32_t doubtful[SVMX_SOURCES * SVMX_RBF_BLOCK]
        cdef int s
        if not self.full:
            return False
        for s in range(count):
            if not self.knows(sources[s], &shares[s]):
                return False
        while begin < end:
            svmx_rbf_block(&self.targets, begin, min(end - begin, self.block_tile), count, laid, shares, out,
                           n_doubtful, doubtful)
            for s in range(count):
                self.settle(sources[s], begin, n_doubtful[s], &doubtful[s * SVMX_RBF_BLOCK], out[s] + begin)
            begin += self.block_tile
        return True

    cdef void settle(self, int32_t i, Py_ssize_t begin, int64_t n_doubtful, const int32_t *doubtful,
                     float *out) noexcept nogil:
        """Compute the values in doubt, at places relative to ``begin``, as LIBSVM does."""
        cdef int64_t k
        cdef Py_ssize_t t
        for k in range(n_doubtful):
            t = begin + doubtful[k]
            out[doubtful[k]] = <float>svmx_kernel_value(
                &self.formula, self.squares[i] + self.of_targets[t] - 2 * self.products.dot(self.rows[i], t))

"""Kernel values between test rows and support vectors, in double: LIBSVM's, or about LIBSVM's with a bound.

LIBSVM's RBF of prediction sums (x_f - z_f)^2 over ascending features of either row; training uses norms and a dot
product instead, and the two differ in the last bits. A panel of test rows meets one support vector at a time: the
lanes are test rows, so every sum keeps its order.

Distances by dot products are many times cheaper, since features that the vector lacks cost nothing. Where all values
are integers (one-hot data above all) they are the same numbers, any order of sums being exact, and a table holds the
exponentials. Elsewhere they serve to tell signs, with a bound on how far K is from LIBSVM's.

How far such values may be from LIBSVM's says the kernel function (``about_error`` in kernel_functions.c), given X = |x|,
R = max |z|, and as the number of terms the nonzeros of x plus the most of any z. Products below the least double are
lost in both ways of summing: X and R are increased by 1e-150, so that 2^-53 (X + R)^2 covers them. Where anything
overflows the bound is infinite or no number, and tells nothing.
"""

from libc.math cimport HUGE_VAL, floor, sqrt
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from libsvmx._core.kernel_functions cimport (
    SVMX_DISTANCE, SVMX_DOT, SVMX_GIVEN, SVMX_HARMONIC, SVMX_PRODUCT, svmx_kernel, svmx_kernel_arguments,
    svmx_kernel_function, svmx_kernel_function_of, svmx_kernel_value, svmx_kernel_with_itself, svmx_meeting)
from libsvmx._core.matrix cimport CsrMatrix, GivenRow, first_at_least, given_value
from libsvmx._core.numbers cimport svmx_numbers
from libsvmx._core.test_panels cimport (
    SVMX_LINE, SVMX_TESTS, svmx_aligned, svmx_panel_distances, svmx_panel_products, svmx_panel_table,
    svmx_test_meetings)
from libsvmx._kernels.kernel_matrix cimport set_formula
from libsvmx._kernels.products cimport Products

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.matrix import compacted, distinct_features
from libsvmx._kernels.products import products_of

# Largest squared distance with a table entry: 32 kB of exponentials.
cdef double TABLE_END = 4095

# What a panel's values with one vector cost, in elements worked on: for each of its entries, and as many more for the kernel
# function; and a piece of work between two questions.
cdef int64_t ENTRY = 4, VALUE = 16
cdef int64_t PIECE = 1 << 22

# How distances are computed.
cdef enum:
    SUMS_OF_SQUARES     # exact, LIBSVM's order
    INTEGERS            # exact, by dot products
    BY_PRODUCTS         # approximate
    OF_OTHER_PRODUCTS   # that are not dot products, which they are defined by


cdef int ascending(const void *a, const void *b) noexcept nogil:
    cdef int32_t x = (<const int32_t *>a)[0], y = (<const int32_t *>b)[0]
    return (x > y) - (x < y)


def may_be_approximate(int kind):
    """Whether a CrossKernel of that kind has values that are cheaper than LIBSVM's, with an error bound."""
    cdef const svmx_kernel_function *function = svmx_kernel_function_of(kind)
    return function != NULL and function.about != NULL


def values_with_themselves(squares, int kind, int degree, double gamma, double coef0):
    """K(x, x) of rows with these squares |x|^2 (buffer of float64, shape (n,)): a buffer of the same kind."""
    cdef const double[::1] given = squares
    cdef svmx_kernel formula
    cdef Py_ssize_t i
    set_formula(&formula, kind, degree, gamma, coef0)
    values = zeros("d", given.shape[0])
    cdef double[::1] out = values
    for i in range(given.shape[0]):
        out[i] = svmx_kernel_with_itself(&formula, given[i])
    return values


def squares_of(CsrMatrix matrix, int kind):
    """|x|^2 of each row, of the product that kernel ``kind`` is of: buffer of float64, shape (n_rows,)."""
    cdef svmx_kernel formula
    cdef Py_ssize_t i
    cdef int64_t k
    set_formula(&formula, kind, 0, 0.0, 0.0)
    squares = zeros("d", matrix.n_rows)
    cdef double[::1] out = squares
    for i in range(matrix.n_rows):
        for k in range(matrix.ptr[i], matrix.ptr[i + 1]):
            out[i] += svmx_meeting(formula.function.product, matrix.at(k), matrix.at(k))
    return squares


cdef class CrossKernel:
    """CrossKernel(vectors, kind, degree, gamma, coef0, approximate=False)

    Parameters
    ----------
    vectors : CsrMatrix            support vectors
    kind, degree, gamma, coef0     as in LIBSVM
    approximate : bool             values with an error bound will do, where they are cheaper

    Attributes
    ----------
    exact : bool                   whether the values for the rows last prepared are LIBSVM's own
    """

    def __cinit__(self, CsrMatrix vectors, int kind, int degree, double gamma, double coef0, bint approximate=False):
        cdef Py_ssize_t v
        cdef int64_t k
        cdef double x
        self.vectors = vectors
        set_formula(&self.formula, kind, degree, gamma, coef0)
        cdef const svmx_kernel_function *function = self.formula.function
        self.given, self.of_distance = function.argument == SVMX_GIVEN, function.argument == SVMX_DISTANCE
        self.product = function.product
        self.of_squares = function.argument not in (SVMX_GIVEN, SVMX_PRODUCT)
        self.approximate = approximate and function.about != NULL and function.about_error(1, &self.formula, 0.0) < HUGE_VAL
        self.slot_of, self.table = zeros("i", 0), zeros("d", 0)
        self.slot_feature, self.panel_memory, self.squares_memory = zeros("i", 0), zeros("d", 0), zeros("d", 0)
        self.square_z = zeros("d", max(vectors.n_rows, 1))
        self.whole = True
        for v in range(vectors.n_rows):
            self.longest = max(self.longest, vectors.ptr[v + 1] - vectors.ptr[v])
            for k in range(vectors.ptr[v], vectors.ptr[v + 1]):
                x = vectors.at(k)
                self.square_z[v] += svmx_meeting(self.product, x, x)
                self.whole = self.whole and x == floor(x)
            self.largest_square = max(self.largest_square, self.square_z[v])

    def prepare(self, CsrMatrix tests, rows):
        """Get ready for panels of the given rows (buffer of int32) of ``tests``, which must stay as they are."""
        cdef const int32_t[::1] chosen = rows
        cdef Py_ssize_t i, width, size
        cdef int64_t k, longest = 1
        cdef double x, square, largest = 0.0
        cdef bint whole = self.whole
        self.exact = not self.approximate
        self.tests = tests
        if self.given:
            return
        self.numbered, self.tests = compacted(self.vectors, tests)
        tests = self.tests
        self.entries.ptr, self.entries.index = self.numbered.ptr, self.numbered.feature
        self.entries.value, self.entries.regular = self.numbered.values_from(0), self.numbered.regular
        for i in range(chosen.shape[0]):
            square = 0.0
            longest = max(longest, tests.ptr[chosen[i] + 1] - tests.ptr[chosen[i]])
            for k in range(tests.ptr[chosen[i]], tests.ptr[chosen[i] + 1]):
                x = tests.at(k)
                square += svmx_meeting(self.product, x, x)
                whole = whole and x == floor(x)
            largest = max(largest, square)
        if self.of_distance:
            self.distances = (BY_PRODUCTS if self.approximate else SUMS_OF_SQUARES if self.product == SVMX_DOT
                              else OF_OTHER_PRODUCTS)
            if whole and self.has_table(largest):
                self.distances = INTEGERS
                self.exact = True
                self.tabulate(largest)
        width = 1 + <Py_ssize_t>max(tests.max_index, self.numbered.max_index)
        size = min(width, SVMX_TESTS * longest)
        self.clear_slots()
        if self.slot_of.shape[0] < width:
            self.slot_of = zeros("i", width)
        if self.slot_feature.shape[0] < size + 2:
            self.slot_feature = zeros("i", size + 2)
            self.panel_memory = zeros("d", SVMX_TESTS * (size + 1) + SVMX_LINE)
            self.panel = svmx_aligned(&self.panel_memory[0])
        size = self.panel_memory.shape[0]
        if self.of_distance and self.distances == SUMS_OF_SQUARES and self.squares_memory.shape[0] < size:
            self.squares_memory = zeros("d", size)
            self.squares = svmx_aligned(&self.squares_memory[0])

    cdef void release(self) noexcept:
        """Let go of the rows prepared for, which are the caller's."""
        self.tests, self.rows, self.lent = None, NULL, None

    cdef bint has_table(self, double square) noexcept nogil:
        """Whether there is a table for integers, given the largest |x|^2."""
        return self.product != SVMX_HARMONIC and 2.0 * (square + self.largest_square) <= TABLE_END  # (|x| + |z|)^2 at most

    cdef int tabulate(self, double square) except -1:
        """table[d] = K of squared distance d, for all that there can be."""
        cdef Py_ssize_t d, n = <Py_ssize_t>(2.0 * (square + self.largest_square)) + 1
        if self.table.shape[0] < n:
            self.table = zeros("d", n)
            for d in range(n):
                self.table[d] = svmx_kernel_value(&self.formula, d)
        return 0

    cdef void clear_slots(self) noexcept nogil:
        cdef Py_ssize_t s
        for s in range(1, self.n_slots + 1):
            self.slot_of[self.slot_feature[s]] = 0
        self.n_slots = 0

    cdef int load(self, const int32_t *rows, Py_ssize_t n) noexcept nogil:
        """Put n <= 32 of the rows prepared for into the panel; ``rows`` must live until the next call."""
        cdef Py_ssize_t r, s
        cdef int64_t k
        cdef int32_t f
        cdef double x
        cdef const int32_t *feature
        self.rows, self.n = rows, n
        if self.given and self.tests.row_at != NULL and not self.tests.keeps_all:
            with gil:
                self.lent = self.tests.demand(rows, <int>n, self.asked_at, False)
        if self.given:
            return 0
        self.clear_slots()
        for r in range(n):
            feature = self.tests.features(rows[r]) - self.tests.ptr[rows[r]]
            for k in range(self.tests.ptr[rows[r]], self.tests.ptr[rows[r] + 1]):
                f = feature[k]
                if self.slot_of[f] == 0:
                    self.n_slots += 1
                    self.slot_of[f] = 1
                    self.slot_feature[self.n_slots] = f
        qsort(&self.slot_feature[1], self.n_slots, sizeof(int32_t), ascending)
        self.slot_feature[self.n_slots + 1] = INT32_MAX
        for s in range(1, self.n_slots + 1):
            self.slot_of[self.slot_feature[s]] = <int32_t>s
        memset(self.panel, 0, (self.n_slots + 1) * SVMX_TESTS * sizeof(double))
        for r in range(SVMX_TESTS):
            self.square_x[r] = self.margin[r] = 0.0
        for r in range(n):
            feature = self.tests.features(rows[r]) - self.tests.ptr[rows[r]]
            for k in range(self.tests.ptr[rows[r]], self.tests.ptr[rows[r] + 1]):
                x = self.tests.at(k)
                self.panel[self.slot_of[feature[k]] * SVMX_TESTS + r] = x
                self.square_x[r] += svmx_meeting(self.product, x, x)
            if not self.exact:
                self.margin[r] = self.error_bound(self.square_x[r], self.tests.ptr[rows[r] + 1] - self.tests.ptr[rows[r]])
        if self.of_distance and self.distances == SUMS_OF_SQUARES:
            for k in range((self.n_slots + 1) * SVMX_TESTS):
                self.squares[k] = self.panel[k] * self.panel[k]
        return 0

    cdef double error_bound(self, double square, int64_t nonzeros) noexcept nogil:
        """How far K(x, z) may be from LIBSVM's for any vector z, given |x|^2 and the number of entries of x."""
        cdef double reach = sqrt(square) + sqrt(self.largest_square) + 2e-150
        return self.formula.function.about_error(nonzeros + self.longest, &self.formula, reach)

    cdef int fill(self, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        """out[(v - begin) * 32 + r] = K(row r of the panel, vector v); lanes without a row are of no use."""
        cdef Py_ssize_t v, r
        cdef GivenRow given
        if self.given and self.tests.row_at != NULL and not self.tests.keeps_all:
            for v in range(begin, end):
                for r in range(self.n):
                    out[(v - begin) * SVMX_TESTS + r] = self.asked_at[r][self.vectors.serial_of(v) - 1]
            return 0
        if self.given and self.tests.row_at != NULL:  # of a symmetric kernel, rows of vectors are there already
            for v in range(begin, end):
                given = self.tests.given_row(self.vectors.serial_of(v) - 1)
                for r in range(self.n):
                    out[(v - begin) * SVMX_TESTS + r] = given_value(&given, self.rows[r] + 1)
            return 0
        if self.given:
            for r in range(self.n):
                given = self.tests.given_row(self.rows[r])
                for v in range(begin, end):
                    # the caller has checked that every serial number is there
                    out[(v - begin) * SVMX_TESTS + r] = given_value(&given, self.vectors.serial_of(v))
            return 0
        if self.of_distance and self.distances == SUMS_OF_SQUARES:
            svmx_panel_distances(&self.entries, begin, end, self.n_slots, &self.slot_feature[0], self.panel,
                                 self.squares, out)
            self.apply(end - begin, out)
            return 0
        if self.product != SVMX_DOT:
            svmx_test_meetings(self.product, &self.entries, begin, end, &self.slot_of[0], self.panel, out)
        else:
            svmx_panel_products(&self.entries, begin, end, &self.slot_of[0], self.panel,
                                &self.square_z[0] if self.of_distance else NULL, self.square_x, out)
        if self.of_squares and (self.product != SVMX_DOT or not self.of_distance):
            for v in range(begin, end):
                svmx_kernel_arguments(SVMX_TESTS, &self.formula, self.square_x, self.square_z[v],
                                      out + (v - begin) * SVMX_TESTS)
        if self.of_distance and self.distances == INTEGERS:
            svmx_panel_table(end - begin, &self.table[0], out)
        elif self.approximate:
            self.formula.function.about((end - begin) * SVMX_TESTS, &self.formula, out)
        else:
            self.apply(end - begin, out)
        return 0

    cdef void apply(self, Py_ssize_t n_vectors, double *values) noexcept nogil:
        """The kernel function, in place; only of lanes that have a row, if each costs as much as the first."""
        cdef Py_ssize_t v
        if self.formula.function.values == NULL:
            return
        if self.n == SVMX_TESTS or self.formula.function.in_lanes:
            self.formula.function.values(n_vectors * SVMX_TESTS, &self.formula, values)
            return
        for v in range(n_vectors):
            self.formula.function.values(self.n, &self.formula, values + v * SVMX_TESTS)

    def block(self, CsrMatrix tests, rows, asking=None):
        """Kernel values of at most 32 rows (buffer of int32) of ``tests``. ``asking`` is told of the work.

        Returns
        -------
        values : buffer of float64, shape (n_vectors * 32,)     K(row r, vector v) at v * 32 + r
        margins : list of float                                 how far a row's values may be from LIBSVM's
        """
        cdef const int32_t[::1] chosen = rows
        cdef Py_ssize_t begin = 0, end, n = self.vectors.n_rows
        cdef int64_t work
        values = zeros("d", max(n, 1) * SVMX_TESTS)
        cdef double[::1] out = values
        if not 0 < chosen.shape[0] <= SVMX_TESTS:
            raise ValueError(f"{chosen.shape[0]} rows do not make a panel")
        self.prepare(tests, rows)
        with nogil:
            self.load(&chosen[0], chosen.shape[0])
        while begin < n:
            end, work = begin, 0
            while end < n and work < PIECE:
                work += (self.vectors.ptr[end + 1] - self.vectors.ptr[end] + VALUE) * ENTRY
                end += 1
            with nogil:
                self.fill(begin, end, &out[begin * SVMX_TESTS])
            if asking is not None:
                asking.ask(work)
            begin = end
        return values, [self.margin[r] for r in range(chosen.shape[0])]


# ---- A single test row -----------------------------------------------------------------------------
#
# Kernel values between a single test row and support vectors, the same numbers as of a panel.
#
# A panel of 32 rows costs the same with one row in it. Here lanes are vectors: their products with a row come from what
# gives training its kernel rows (products.pyx), kept with the vectors. That takes the room of the vectors once more.

cdef class CrossRow:
    """CrossRow(kernel): of the vectors and the function of a CrossKernel.

    ``load(tests, row)``, then ``fill(begin, end)`` puts K(row, vector) of the vectors [begin, end) at ``room``; ``begin``
    is a multiple of ``tile``, ``end`` at most the next one.

    Attributes
    ----------
    exact : bool           whether the values for the row last loaded are LIBSVM's own
    margin : float         how far they may be from LIBSVM's
    """

    def __cinit__(self, CrossKernel kernel):
        if kernel.given:
            raise ValueError("values of a precomputed kernel are given")
        self.kernel = kernel
        self.numbered = compacted(kernel.vectors)[0]
        self.renumbered = self.numbered is not kernel.vectors
        self.feature = distinct_features(kernel.vectors) if self.renumbered else zeros("i", 0)
        self.met, self.met_value, self.place, self.value = zeros("i", 1), zeros("d", 1), zeros("i", 1), zeros("d", 1)
        self.memory = zeros("d", 0)

    cdef int load(self, CsrMatrix tests, Py_ssize_t row) except -1:
        """Get ready for a row of ``tests``."""
        cdef CrossKernel kernel = self.kernel
        cdef int64_t k, first = tests.ptr[row], p = 0
        cdef Py_ssize_t width
        cdef const int32_t *feature = tests.features(row)
        cdef bint whole = kernel.whole, found
        cdef double x
        self.n, self.n_met, self.square = tests.ptr[row + 1] - first, 0, 0.0
        if self.place.shape[0] < self.n:
            self.met, self.met_value = zeros("i", self.n), zeros("d", self.n)
            self.place, self.value = zeros("i", self.n), zeros("d", self.n)
        width = 1 + <Py_ssize_t>self.numbered.max_index
        for k in range(self.n):
            x = self.value[k] = tests.at(first + k)
            self.square += svmx_meeting(kernel.product, x, x)
            whole = whole and x == floor(x)
            p = feature[k]
            if self.renumbered:
                p = first_at_least(self.feature, feature[k], 0)
                found = p < width and self.feature[p] == feature[k]
            else:
                found = p < width
                p = min(p, width)
            self.place[k] = <int32_t>(p if found else ~p)
            if found:
                self.met[self.n_met], self.met_value[self.n_met] = <int32_t>p, x
                self.n_met += 1
        self.table = kernel.of_distance and whole and kernel.has_table(self.square)
        self.exact = self.table or not kernel.approximate
        self.margin = 0.0 if self.exact else kernel.error_bound(self.square, self.n)
        if self.table:
            kernel.tabulate(self.square)
        return self.choose(kernel.of_distance and kernel.product == SVMX_DOT and self.exact and not self.table)

    cdef int choose(self, bint distances) except -1:
        """Products that give distances, or dots; made when they are needed first."""
        cdef Products chosen = self.for_distances if distances else self.for_dots
        if chosen is None:
            chosen = products_of(self.numbered, ramp(self.numbered.n_rows), distances, False, self.kernel.product, True)
            if distances:
                self.for_distances = chosen
            else:
                self.for_dots = chosen
            if self.memory.shape[0] < 2 * chosen.tile:
                self.memory = zeros("d", 2 * chosen.tile)
                self.room = &self.memory[0]
        self.products, self.tile, self.by_distances = chosen, chosen.tile, distances
        return 0

    cdef int fill(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        cdef const svmx_kernel *formula = &self.kernel.formula
        cdef double *t = self.room
        cdef Py_ssize_t v, n = end - begin
        cdef svmx_numbers met
        if self.by_distances:
            self.products.distances(self.n, &self.place[0], &self.value[0], begin, end, t)
        else:
            met.in_double, met.in_float = &self.met_value[0], NULL
            self.products.dots(self.n_met, &self.met[0], met, begin, end, t)
            if self.kernel.of_squares and (self.kernel.product != SVMX_DOT or not self.kernel.of_distance):
                svmx_kernel_arguments(n, formula, &self.kernel.square_z[begin], self.square, t)
            elif self.kernel.of_distance:
                for v in range(n):
                    t[v] = self.square + self.kernel.square_z[begin + v] - 2.0 * t[v]
        if self.table:
            for v in range(n):
                t[v] = self.kernel.table[<int64_t>t[v]]
        elif self.kernel.approximate:
            formula.function.about(n, formula, t)
        elif formula.function.values != NULL:
            formula.function.values(n, formula, t)
        return 0

    def values(self, CsrMatrix tests, Py_ssize_t row):
        """K(row of ``tests``, vector) of all vectors: buffer of float64, shape (n_vectors,)."""
        cdef Py_ssize_t begin, end, n = self.numbered.n_rows
        out_ = zeros("d", n)
        cdef double[::1] out = out_
        if not 0 <= row < tests.n_rows:
            raise IndexError(f"row {row} of {tests.n_rows}")
        self.load(tests, row)
        for begin in range(0, n, self.tile):
            end = min(begin + self.tile, n)
            self.fill(begin, end)
            memcpy(&out[begin], self.room, (end - begin) * sizeof(double))
        return out_


# ---- Rows that are predicted again and again -------------------------------------------------------
#
# All kernel values of some rows as predictions have them, for those that are predicted again and again.
#
# Folds of permuted labels predict every row by models of nearly all others, over and over. Values that have been computed once
# are read from a table, the same bits.

cdef class CrossTable(CrossKernel):
    """CrossTable(vectors, kind, degree, gamma, coef0): a CrossKernel whose test rows are the ``vectors`` themselves.

    After ``prepare``, panel by panel, and in any order: ``begin``, then ``tabulate_with`` each row from ``at`` on: of the
    others they are copies. After all of them ``load`` and ``fill``, which read the table.
    """

    def __cinit__(self, *_):
        self.everyone = ramp(self.vectors.n_rows)

    cdef void share(self, double[::1] entry) noexcept:
        """The table, float64, shape (n_rows, n_rows), of all threads that fill it."""
        self.entry = entry

    cdef bint begin(self, int64_t panel) noexcept nogil:
        """Rows of a panel of the table are next; False if there is none of this number."""
        self.at = panel * SVMX_TESTS
        if self.at >= self.everyone.shape[0]:
            return False
        CrossKernel.load(self, &self.everyone[self.at], min(<Py_ssize_t>SVMX_TESTS, self.everyone.shape[0] - self.at))
        return True

    cdef void tabulate_with(self, Py_ssize_t row, double *values) noexcept nogil:
        """K of these with another one, either way; ``values``: room for SVMX_TESTS."""
        cdef Py_ssize_t r, n = self.everyone.shape[0]
        CrossKernel.fill(self, row, row + 1, values)
        for r in range(self.n):
            self.entry[(self.at + r) * n + row] = self.entry[row * n + self.at + r] = values[r]

    cdef int load(self, const int32_t *rows, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t r
        self.n = n
        for r in range(n):
            self.of_row[r] = &self.entry[rows[r] * self.everyone.shape[0]]
        return 0

    cdef int fill(self, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef Py_ssize_t v, r
        for v in range(begin, end):
            for r in range(self.n):
                out[(v - begin) * SVMX_TESTS + r] = self.of_row[r][v]
        return 0

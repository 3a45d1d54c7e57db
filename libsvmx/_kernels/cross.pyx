"""Kernel values between test rows and support vectors, in double: LIBSVM's, or approximate with an error bound.

In prediction, LIBSVM's RBF sums (x_f - z_f)^2 over ascending features; in training it uses norms and a dot product,
which differ in the last bits. Here a panel of test rows is combined with one support vector at a time: lanes are test
rows, so every sum keeps LIBSVM's order.

Distances by dot products are many times cheaper, since features missing from the vector cost nothing. If all values are
integers (such as one-hot data), sums are exact in any order and give the same numbers, and a table holds the
exponentials. Otherwise they decide signs, with a bound on |K - LIBSVM's K|.

The bound is the kernel function's (``about_error`` in kernel_functions.c), for X = |x|, R = max |z|, and as many terms
as x and the longest z have nonzeros. X and R are increased by 1e-150, so that 2^-53 (X + R)^2 covers underflow, which
loses products in both ways of summing. With overflow the bound is infinite or nan, and decides nothing.
"""

from libc.math cimport HUGE_VAL, floor, sqrt
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from libsvmx._core.dispatch cimport (
    SVMX_DISTANCE, SVMX_DOT, SVMX_GIVEN, SVMX_HARMONIC, SVMX_LINE, SVMX_PRODUCT, SVMX_TESTS, svmx_aligned, svmx_kernel,
    svmx_kernel_arguments, svmx_kernel_function, svmx_kernel_function_of, svmx_kernel_value, svmx_kernel_with_itself,
    svmx_meeting, svmx_panel_distances, svmx_panel_products, svmx_panel_table, svmx_test_meetings)
from libsvmx._core.matrix cimport CsrMatrix, GivenRow, ascending, first_at_least, given_value
from libsvmx._core.numbers cimport svmx_numbers
from libsvmx._kernels.kernel_matrix cimport set_formula
from libsvmx._kernels.products cimport Products

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.matrix import compacted, distinct_features
from libsvmx._kernels.products import products_of

# Largest squared distance with a table entry: 32 kB of exponentials.
cdef double TABLE_END = 4095

# Work of a panel with one vector, in elements: per entry of the vector, and for the kernel function; and work between
# two checks for a stop.
cdef int64_t ENTRY = 4, VALUE = 16
cdef int64_t PIECE = 1 << 22

cdef int32_t[::1] NO_INTS = zeros("i", 0)
cdef double[::1] NO_DOUBLES = zeros("d", 0)

# Ways to compute distances.
cdef enum:
    SUMS_OF_SQUARES     # exact, LIBSVM's order
    INTEGERS            # exact, by dot products
    BY_PRODUCTS         # approximate
    OF_OTHER_PRODUCTS   # by a product of the kernel other than the dot product


def may_be_approximate(int kind):
    """Whether a CrossKernel of that kind has cheaper approximate values, with an error bound."""
    cdef const svmx_kernel_function *function = svmx_kernel_function_of(kind)
    return function != NULL and function.about != NULL


def values_with_themselves(squares, int kind, int degree, double gamma, double coef0):
    """K(x, x) of rows with given |x|^2; both float64, shape (n,)."""
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
    """|x|^2 of each row, in the product of kernel ``kind``; float64, shape (n_rows,)."""
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
    approximate : bool             allow values with an error bound, if cheaper

    Attributes
    ----------
    exact : bool                   whether values of the rows last prepared are LIBSVM's
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
        self.approximate = (approximate and function.about != NULL
                            and function.about_error(1, &self.formula, 0.0) < HUGE_VAL)
        self.slot_of = self.slot_feature = NO_INTS
        self.table = self.panel_memory = self.squares_memory = NO_DOUBLES
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
        """Prepare for panels of ``rows`` (int32) of ``tests``; both must not change meanwhile."""
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
        """Release the prepared rows, which are the caller's."""
        self.tests, self.rows, self.lent = None, NULL, None

    cdef bint has_table(self, double square) noexcept nogil:
        """Whether a table covers integer distances, given the largest |x|^2."""
        # (|x| + |z|)^2 at most
        return self.product != SVMX_HARMONIC and 2.0 * (square + self.largest_square) <= TABLE_END

    cdef int tabulate(self, double square) except -1:
        """Set table[d] = K of squared distance d, for all possible d."""
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
        """Load n <= 32 of the prepared rows into the panel; ``rows`` must live until the next call."""
        cdef Py_ssize_t r, s
        cdef int64_t k
        cdef int32_t f
        cdef double x
        cdef const int32_t *feature
        self.rows, self.n = rows, n
        if self.given and self.tests.source is not None and not self.tests.source.keeps_all:
            with gil:
                self.lent = self.tests.source.demand(rows, <int>n, self.asked_at, False)
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
                self.margin[r] = self.error_bound(self.square_x[r],
                                                  self.tests.ptr[rows[r] + 1] - self.tests.ptr[rows[r]])
        if self.of_distance and self.distances == SUMS_OF_SQUARES:
            for k in range((self.n_slots + 1) * SVMX_TESTS):
                self.squares[k] = self.panel[k] * self.panel[k]
        return 0

    cdef double error_bound(self, double square, int64_t nonzeros) noexcept nogil:
        """Bound of |K - LIBSVM's K| for any vector z, given |x|^2 and the number of entries of x."""
        cdef double reach = sqrt(square) + sqrt(self.largest_square) + 2e-150
        return self.formula.function.about_error(nonzeros + self.longest, &self.formula, reach)

    cdef int fill(self, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        """out[(v - begin) * 32 + r] = K(row r of the panel, vector v); lanes without a row are undefined."""
        cdef Py_ssize_t v, r
        cdef GivenRow given
        # the kernel is symmetric, and the vectors' rows are computed
        if self.given and self.tests.source is not None and self.tests.source.keeps_all:
            for v in range(begin, end):
                given = self.tests.given_row(self.vectors.serial_of(v) - 1)
                for r in range(self.n):
                    out[(v - begin) * SVMX_TESTS + r] = given_value(&given, self.rows[r] + 1)
            return 0
        if self.given:
            for r in range(self.n):
                given = (self.tests.given_row(self.rows[r]) if self.tests.source is None
                         else self.tests.source.row_of_values(self.asked_at[r]))
                for v in range(begin, end):
                    # the caller has checked the serial numbers
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
        """Apply the kernel function in place; only to lanes with a row, if it is not vectorised."""
        cdef Py_ssize_t v
        if self.formula.function.values == NULL:
            return
        if self.n == SVMX_TESTS or self.formula.function.in_lanes:
            self.formula.function.values(n_vectors * SVMX_TESTS, &self.formula, values)
            return
        for v in range(n_vectors):
            self.formula.function.values(self.n, &self.formula, values + v * SVMX_TESTS)

    def block(self, CsrMatrix tests, rows, asking=None):
        """Kernel values of at most 32 ``rows`` (int32) of ``tests``. ``asking``: a Token that counts the work.

        Returns
        -------
        values : buffer of float64, shape (n_vectors * 32,)     K(row r, vector v) at v * 32 + r
        margins : list of float                                 bound of |K - LIBSVM's K| of each row
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
# The same kernel values as in a panel, which costs the same with one row as with 32. Here lanes are vectors: their
# products with a row are those of training's kernel rows (products.pyx), with a second copy of the vectors.

cdef class CrossRow:
    """CrossRow(kernel): for the vectors and the function of a CrossKernel.

    After ``load(tests, row)``, ``fill(begin, end)`` writes K(row, vector) of vectors [begin, end) to ``room``;
    ``begin`` is a multiple of ``tile``, ``end`` at most the next one.

    Attributes
    ----------
    exact : bool           whether values of the row last loaded are LIBSVM's
    margin : float         bound of |K - LIBSVM's K| of that row
    """

    def __cinit__(self, CrossKernel kernel):
        if kernel.given:
            raise ValueError("values of a precomputed kernel are given")
        self.kernel = kernel
        self.numbered = compacted(kernel.vectors)[0]
        self.renumbered = self.numbered is not kernel.vectors
        self.feature = distinct_features(kernel.vectors) if self.renumbered else NO_INTS
        self.met, self.met_value, self.memory = NO_INTS, NO_DOUBLES, NO_DOUBLES
        self.place, self.value = NO_INTS, NO_DOUBLES

    cdef int load(self, CsrMatrix tests, Py_ssize_t row) except -1:
        """Load a row of ``tests``."""
        cdef CrossKernel kernel = self.kernel
        cdef int64_t k, first = tests.ptr[row], p = 0
        cdef Py_ssize_t width
        cdef const int32_t *feature = tests.features(row)
        cdef bint whole = kernel.whole, found
        cdef double x
        self.n, self.n_met, self.square = tests.ptr[row + 1] - first, 0, 0.0
        if self.place.shape[0] <= self.n:  # room for one more: ``fill`` takes addresses, also of an empty row
            self.met, self.met_value = zeros("i", self.n + 1), zeros("d", self.n + 1)
            self.place, self.value = zeros("i", self.n + 1), zeros("d", self.n + 1)
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
        """Select the products for distances, or for dots; made on first use."""
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
        """K(row of ``tests``, vector) of all vectors; float64, shape (n_vectors,)."""
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

"""Kernel rows K(i, .) over chosen targets, without labels, C or folds.

Values are computed in double and rounded once to float, as in LIBSVM's cache. Storage of the data (panels, postings,
given matrix, bits) and kernel function are composed.
"""

from cpython.memoryview cimport PyMemoryView_FromObject
from libc.float cimport DBL_MAX as DOUBLE_MAX, FLT_MAX as FLOAT_MAX
from libc.math cimport fabs, sqrt
from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t

from libsvmx._core.arrays cimport Memory, int32_of, memory
from libsvmx._core.dispatch cimport (
    SVMX_BIT_BLOCK, SVMX_COSINE, SVMX_DISTANCE, SVMX_DOT, SVMX_GIVEN, SVMX_PANEL, SVMX_PLANES, SVMX_SOURCES, SVMX_TABLE,
    SVMX_TANIMOTO, svmx_axpy, svmx_bit_row, svmx_kernel, svmx_kernel_doubles, svmx_kernel_function_of, svmx_kernel_row,
    svmx_kernel_value, svmx_kernel_with_itself, svmx_meeting, svmx_tanimoto_row)
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._core.process cimport ThreadPool
from libsvmx._kernels.products cimport (
    BLOCK_TILE, TILE, GivenValues, InPlaceProducts, PanelProducts, Products, RbfPanels)

from libsvmx._core.arrays import ramp, take_float64, take_int32
from libsvmx._core.buffers import filled, table, zeros
from libsvmx._kernels.products import StreamedProducts, products_of
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError

# Binary rows are kept as bits up to this many bits per one: columns then take at most twice the memory of sparse rows
# (12 bytes per one).
cdef double BITS_PER_ONE = 192

# Largest values that are kept as integers of 16 bits, and bound of their sums.
cdef double MAX_16_BITS = 32767.0
cdef double MAX_32_BITS = 2147483648.0

# Words of 64 bits in a cache line.
cdef Py_ssize_t LINE = 8

# Rows of at least so many nanoseconds are divided into more parts than there are threads, so that a late thread costs
# little.
cdef double LONG_NS = 400000.0
cdef Py_ssize_t PARTS_PER_THREAD = 2

# Estimated nanoseconds: a value without its dot product; a value of bit rows, plus per one of the row, plus a quotient
# in double or float; layout of a target, and per nonzero.
cdef double VALUE_NS = 0.65, BITS_NS = 0.1, ONE_NS = 0.01, QUOTIENT_NS = 1.0, FLOAT_QUOTIENT_NS = 0.2
cdef double TARGET_NS = 10.0, NONZERO_NS = 1.5
# A value of a kernel in Python, where a call costs more than the values of a row, alone and in a block (a quarter of
# the prefetched rows must be used), and gathered from kept rows, which all solves share.
cdef double PYTHON_NS = 100.0, PYTHON_BLOCK_NS = 30.0, GATHER_NS = 0.5
cdef double[::1] NO_DOUBLES = zeros("d", 0)
cdef float[::1] NO_FLOATS = zeros("f", 0)


def function_names():
    """Names of the kernel functions by kernel number, equal to those of libsvmx.enums.KernelType."""
    names = []
    while svmx_kernel_function_of(len(names)) != NULL:
        names.append(svmx_kernel_function_of(len(names)).name.decode())
    return names


cdef int set_formula(svmx_kernel *formula, int kind, int degree, double gamma, double coef0) except -1:
    formula.function = svmx_kernel_function_of(kind)
    if formula.function == NULL:
        raise ValueError(f"kernel {kind} of {len(function_names())}")
    formula.degree, formula.gamma, formula.coef0 = degree, gamma, coef0
    return 0


cdef class Kernel:
    """Kernel(matrix, rows, kind, degree, gamma, coef0)

    Parameters
    ----------
    matrix : CsrMatrix
    rows : buffer of int32, shape (n,)     rows of ``matrix``, in the order of the problem
    kind : int                             LIBSVM's kernel number, see libsvmx.enums.KernelType
    degree, gamma, coef0                   as in LIBSVM; unused ones are ignored

    Attributes
    ----------
    n : int
    diagonal : buffer of float64, shape (n,)      K(i, i), not rounded to float
    given : bool                                  a precomputed kernel: values are in the matrix
    binary : bool                                 rows are kept as bits: all features are 0 or 1
    integers : bool                               features are integers of 16 bits with |x|^2 < 2^31 (dot products only)
    values_computed : int                         updated by the callers of Targets

    Raises
    ------
    DataError            a kernel value that overflows a float
    """

    def __cinit__(self, CsrMatrix matrix, rows, int kind, int degree, double gamma, double coef0, Kernel whole=None,
                  members=None):
        self.matrix, self.rows = matrix, rows
        self.n = self.rows.shape[0]
        self.kind, self.degree, self.gamma, self.coef0 = kind, degree, gamma, coef0
        set_formula(&self.formula, kind, degree, gamma, coef0)
        self.given = self.formula.function.argument == SVMX_GIVEN
        self.of_distance = self.formula.function.argument == SVMX_DISTANCE
        self.of_quotient = self.formula.function.argument in (SVMX_COSINE, SVMX_TANIMOTO)
        if whole is None:
            self.measure(0)
        else:
            self.take(whole, members)

    @property
    def row_numbers(self):
        """``rows``: buffer of int32, shape (n,)."""
        return self.rows

    cdef int measure(self, Py_ssize_t begin) except -1:
        """Compute squares and diagonal, ``binary`` and ``integers``, which are known of the rows before ``begin``."""
        cdef Py_ssize_t i
        cdef int64_t k
        cdef double square, x
        cdef int product = self.formula.function.product
        cdef bint known = begin > 0
        cdef bint binary = not (known or self.given or self.matrix.regular)  # the caller's own data may change
        cdef bint integers = self.integers if known else not self.given and product == SVMX_DOT
        cdef double most = 0.0, total = 0.0
        cdef CsrMatrix matrix = self.matrix
        cdef bint of_tangent = self.kind == KernelType.SIGMOID
        cdef double of_0 = svmx_kernel_with_itself(&self.formula, 0.0) if self.of_distance else 0.0
        cdef double most_square = sqrt(DOUBLE_MAX) / 2 if self.of_quotient else DOUBLE_MAX / 4
        if not known:
            self.squares, self.diagonal = memory("d", self.n), zeros("d", self.n)
        cdef double[::1] diagonal = self.diagonal
        for i in range(begin, self.n):
            if self.given:
                diagonal[i] = matrix.with_itself(self.rows[i])
                continue
            square = 0.0
            for k in range(matrix.ptr[self.rows[i]], matrix.ptr[self.rows[i] + 1]):
                x = matrix.at(k)
                square += svmx_meeting(product, x, x)
                binary = binary and (x == 1.0 or x == 0.0)
                integers = integers and fabs(x) <= MAX_16_BITS and x == <double><int16_t>x
            self.squares[i] = square
            most, total = max(most, square), total + square
            diagonal[i] = of_0 if self.of_distance else svmx_kernel_with_itself(&self.formula, square)
        for i in range(begin, self.n):
            # |<x, z>| <= max |x|^2 bounds all values, except for a polynomial kernel with coef0 < 0. FLT_MAX / 2, since
            # 2 K_ij is formed; DBL_MAX / 4 for the sum in RBF, and its root for products of two. tanh of infinity is 1.
            if not (fabs(diagonal[i]) <= FLOAT_MAX / 2 and (self.squares[i] <= most_square or of_tangent)):
                raise DataError("the kernel value of the row with itself overflows: scale the data, "
                                "or choose smaller kernel parameters", self.rows[i])
        self.binary = (binary and most < 1 << SVMX_PLANES
                       and self.n * (1.0 + matrix.max_index) <= BITS_PER_ONE * total)
        self.integers = integers and most < MAX_32_BITS
        if self.binary:
            self.keep_ones(<int64_t>most)
        return 0

    cdef int take(self, Kernel whole, members) except -1:
        """``measure``, with the first rows being ``members`` of ``whole``."""
        cdef const int32_t[::1] chosen = members
        cdef Py_ssize_t i, known = chosen.shape[0]
        self.binary, self.integers = whole.binary, whole.integers
        self.squares, self.diagonal = zeros("d", self.n), zeros("d", self.n)
        cdef double[::1] squares = self.squares, diagonal = self.diagonal
        cdef const double[::1] known_squares = whole.squares, known_diagonal = whole.diagonal
        for i in range(known):
            squares[i], diagonal[i] = known_squares[chosen[i]], known_diagonal[chosen[i]]
        if known < self.n:
            return self.measure(known)
        if self.binary:
            self.ones, self.table, self.n_table = whole.ones, whole.table, whole.n_table
            self.n_ones, self.first_one = take_int32(whole.n_ones, members), zeros("q", self.n)
            for i in range(self.n):
                self.first_one[i] = whole.first_one[chosen[i]]
        return 0

    cdef int keep_ones(self, int64_t most) except -1:
        """Set ``ones``, and the table of all values of the kernel (svmx_bit_row)."""
        cdef Py_ssize_t i
        cdef int64_t k, n = 0
        cdef bint constant = True
        cdef const int32_t *feature
        self.first_one, self.n_ones = zeros("q", self.n), zeros("i", self.n)
        for i in range(self.n):
            self.first_one[i], self.n_ones[i] = n, <int32_t>self.squares[i]
            n += self.n_ones[i]
        self.ones = zeros("i", n)
        n = 0
        for i in range(self.n):
            feature = self.matrix.features(self.rows[i]) - self.matrix.ptr[self.rows[i]]
            for k in range(self.matrix.ptr[self.rows[i]], self.matrix.ptr[self.rows[i] + 1]):
                if self.matrix.at(k) == 1.0:
                    if n == self.ones.shape[0]:
                        raise ValueError("X was changed while it was read")
                    self.ones[n] = feature[k]
                    n += 1
        self.n_table = <int>(2 * most + 1)
        self.table = zeros("f", max(self.n_table, SVMX_TABLE))
        if self.of_quotient:
            for k in range(most + 1):
                self.table[2 * (most - k)] = <float>k
        elif self.of_distance:
            for k in range(self.table.shape[0]):
                self.table[k] = <float>svmx_kernel_value(&self.formula, k)
                constant = constant and (k < 31 or self.table[k] == self.table[31])
            if constant:
                self.n_table = 32
        else:
            for k in range(most + 1):  # ones that two rows share
                self.table[2 * (most - k)] = <float>svmx_kernel_value(&self.formula, k)
        return 0

    def part(self, members):
        """The kernel of the rows ``members``, a buffer of int32 (kept); cheaper than a new one."""
        check_members(members, self.n)
        return Kernel(self.matrix, take_int32(self.rows, members), self.kind, self.degree, self.gamma, self.coef0, self,
                      members)

    def moved(self, CsrMatrix matrix, rows, members):
        """The kernel of ``rows`` of another matrix, the first of which are the rows ``members`` of this kernel, and are
        not read; buffers of int32. Neither given nor ``binary``."""
        check_members(members, self.n)
        return Kernel(matrix, rows, self.kind, self.degree, self.gamma, self.coef0, self, members)

    def targets(self, members, bint transposed=False):
        """Targets ``members``: buffer of int32, rows of the problem.

        ``transposed``: K(target, i) instead of K(i, target), for an asymmetric given matrix.
        """
        if self.binary:
            return BitTargets(self, members)
        return DotTargets(self, members, transposed)

    def double_targets(self, members=None, bint few=False):
        """Targets with ``fill_doubles``; ``members``: None for all rows; ``few``: for computing a few rows only,
        without a layout. Equal bits."""
        return DotTargets(self, ramp(self.n) if members is None else members, False, None, few, True)

    def tabulated(self, asking):
        """The same, symmetric, kernel as a given matrix of doubles, for many paths. ``asking`` counts the work."""
        cdef Targets targets = self.double_targets()
        cdef Py_ssize_t i, j, first, n = self.n
        values_ = table("d", n, n)
        cdef double[:, ::1] values = values_
        cdef double *row
        for i in range(n):
            row = &values[i, 0]
            with nogil:
                first = i // targets.tile * targets.tile
                targets.fill_doubles(<int32_t>i, first, n, row)
                for j in range(first):
                    row[j] = values[j, i]
            self.values_computed += n - first
            asking.ask(4 * n)
        starts = filled("q", range(0, (n + 1) ** 2, n + 1))
        matrix = CsrMatrix(starts, ramp(n + 1), values_, copy=False, regular=True)
        return Kernel(matrix, ramp(n), KernelType.PRECOMPUTED, self.degree, self.gamma, self.coef0)

    def times(self, const double[::1] weights, asking):
        """K ``weights`` in double: buffer of float64, shape (n,). ``asking`` counts the work; raises Stopped."""
        cdef Py_ssize_t i, n = self.n
        if weights.shape[0] != n:
            raise ValueError(f"{weights.shape[0]} weights of {n} rows")
        cdef Targets targets = self.double_targets()
        cdef double[::1] values = zeros("d", n)
        sums_ = zeros("d", n)
        cdef double[::1] sums = sums_
        for i in range(n):
            if weights[i] != 0.0:
                with nogil:
                    targets.fill_doubles(<int32_t>i, 0, n, &values[0])
                    svmx_axpy(n, weights[i], &values[0], &sums[0])
                asking.ask(4 * n)
        return sums_

    def block(self, const int32_t[::1] sources, const int32_t[::1] members, double[::1, :] out, asking,
              bint lower=False):
        """K(source, member) in double into column ``source`` of ``out``, shape (members, sources), in Fortran order.

        ``lower``: what is above the diagonal may be left undefined. ``asking`` counts the work; raises Stopped.
        """
        check_members(sources, self.n)
        check_members(members, self.n)
        cdef Targets targets = self.double_targets(members)
        cdef Py_ssize_t k, first = 0, n = members.shape[0]
        if out.shape[0] != n or out.shape[1] != sources.shape[0]:
            raise ValueError(f"{n} x {sources.shape[0]} values, and a matrix of {out.shape[0]} x {out.shape[1]}")
        for k in range(sources.shape[0]):
            if n:
                first = k // targets.tile * targets.tile if lower else 0
                with nogil:
                    targets.fill_doubles(sources[k], first, n, &out[0, k])
                asking.ask(4 * (n - first))

    def row(self, Py_ssize_t i):
        """K(i, .) over the whole problem as a buffer of float32, shape (n,)."""
        if not 0 <= i < self.n:
            raise IndexError(f"row {i} of {self.n}")
        out = zeros("f", self.n)
        cdef float[::1] values = out
        cdef Targets targets = self.targets(ramp(self.n))
        with nogil:
            targets.fill(<int32_t>i, 0, self.n, &values[0])
        return out


def values_of_products(const double[:, ::1] products, int kind, double gamma):
    """Kernel values from the Gram matrix ``products``: buffer of float64, shape (n, n), n > 0."""
    cdef svmx_kernel formula
    cdef Py_ssize_t i, n = products.shape[0]
    set_formula(&formula, kind, 0, gamma, 0.0)
    values, squares_ = table("d", n, n), zeros("d", n)
    cdef double[:, ::1] out = values
    cdef double[::1] squares = squares_
    if products.shape[1] != n:
        raise ValueError(f"products of {n} rows with {products.shape[1]}")
    with nogil:
        for i in range(n):
            squares[i] = products[i, i]
        for i in range(n):
            svmx_kernel_doubles(n, &formula, &products[i, 0], &squares[0], squares[i], &out[i, 0])
    return values


def check_members(members, Py_ssize_t n):
    """Raise IndexError unless all ``members`` (buffer of int32) are in [0, n)."""
    cdef const int32_t[::1] chosen = members
    cdef Py_ssize_t k
    for k in range(chosen.shape[0]):
        if not 0 <= chosen[k] < n:
            raise IndexError(f"row {chosen[k]} of {n}")


cdef class Targets:
    """Base: the columns of computed kernel rows.

    ``fill(i, begin, end, out)``: K(i, target) of the targets [begin, end), ``begin`` a multiple of ``tile``.
    ``fill_block(sources, count, begin, end, out)``: the same for up to SVMX_SOURCES rows, row s into out[s], after
    ``lay_block(sources, count)``; faster than row by row if ``blocks``.

    ``fill_rows(sources, count, n, out, pool)``: one row or a block over the first n targets, by all threads of a pool
    if that is enough work. Returns the number of values computed.

    ``fill_doubles(i, begin, end, out)``: ``fill`` without rounding to float; only of ``double_targets``.

    ``value_ns``, ``block_ns``, ``again_ns``: nanoseconds of a value in a single row, in a block, and in a row computed
    before; ``layout_ns``: of the layout of a target. Estimates by counts, equal in every run.

    ``kept``: computed rows are stored elsewhere; ``has(i)``: whether row i is.

    For one thread at a time; ``of_thread()``: an object over the same memory for another thread.
    """

    cdef Targets of_thread(self):
        raise NotImplementedError(f"{type(self).__name__} for another thread")

    cdef bint has(self, int32_t i) noexcept nogil:
        return False

    cdef int fill(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, float *out) noexcept nogil:
        return 0

    cdef void lay_block(self, const int32_t *sources, int count) noexcept nogil:
        pass

    cdef int fill_block(self, const int32_t *sources, int count, Py_ssize_t begin, Py_ssize_t end,
                        float **out) noexcept nogil:
        cdef int s
        for s in range(count):
            self.fill(sources[s], begin, end, out[s])
        return 0

    cdef int fill_doubles(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        return 0

    cdef int64_t fill_rows(self, const int32_t *sources, int count, Py_ssize_t n, float **out,
                           ThreadPool pool) noexcept nogil:
        cdef FillJob job
        cdef double work_ns = (self.value_ns if count == 1 else self.block_ns) * count * n
        cdef Py_ssize_t parts = pool.parts(work_ns)
        if parts > 1 and work_ns >= LONG_NS:
            parts *= PARTS_PER_THREAD
        if count > 1:
            self.lay_block(sources, count)
        job.targets, job.sources, job.count, job.n, job.out = <void *>self, sources, count, n, out
        job.size = ((n + parts - 1) // parts + self.tile - 1) // self.tile * self.tile
        pool.run(_fill_part, &job, (n + job.size - 1) // job.size if n else 0, work_ns)
        return count * n

    def rows(self, sources, ThreadPool pool=None):
        """K(i, .) over all targets for each i of ``sources``, in blocks: list of buffers of float32."""
        cdef float *out[SVMX_SOURCES]
        cdef int32_t chosen[SVMX_SOURCES]
        cdef float[::1] values
        cdef int s, count
        computed = [zeros("f", self.n) for _ in sources]
        for start in range(0, len(sources), SVMX_SOURCES):
            count = min(SVMX_SOURCES, len(sources) - start)
            for s in range(count):
                if not 0 <= sources[start + s] < self.kernel.n:
                    raise IndexError(f"row {sources[start + s]} of {self.kernel.n}")
                values = computed[start + s]
                chosen[s], out[s] = sources[start + s], &values[0]
            if pool is not None:
                self.fill_rows(chosen, count, self.n, out, pool)
                continue
            with nogil:
                self.lay_block(chosen, count)
                self.fill_block(chosen, count, 0, self.n, out)
        return computed


cdef struct FillJob:
    void *targets
    const int32_t *sources
    int count
    Py_ssize_t n
    Py_ssize_t size
    float **out


cdef void _fill_part(void *context, int64_t part) noexcept nogil:
    cdef FillJob *job = <FillJob *>context
    cdef Py_ssize_t begin = part * job.size, end = min(job.n, begin + job.size)
    if job.count == 1:
        (<Targets>job.targets).fill(job.sources[0], begin, end, job.out[0])
    else:
        (<Targets>job.targets).fill_block(job.sources, job.count, begin, end, job.out)


cdef class DotTargets(Targets):
    """Values from dot products (or from a given matrix)."""

    def __cinit__(self, Kernel kernel, members, bint transposed=False, DotTargets like=None, bint few=False,
                  bint doubles=False):
        if like is not None:
            self.kernel, self.n, self.products, self.squares = kernel, like.n, like.products, like.squares
            self.panels = like.panels
            if kernel.matrix.source is not None:  # with its own rows
                self.products = GivenValues(kernel.matrix, like.products.rows)
        else:
            self.lay_out(kernel, members, transposed, few, doubles)
        self.tile, self.on_demand = self.products.tile, kernel.matrix.source is not None
        # a row of the matrix counts as kept if it will be: the row store stores only the others
        self.blocks = self.products.blocks or self.on_demand
        self.kept = self.on_demand and kernel.matrix.source.keeps_all
        self.value_ns = self.again_ns = VALUE_NS + self.products.value_ns
        self.block_ns = VALUE_NS + self.products.block_ns if self.products.blocks else self.value_ns
        if self.on_demand:
            self.value_ns, self.block_ns = PYTHON_NS, PYTHON_BLOCK_NS
            self.again_ns = GATHER_NS if kernel.matrix.source.keeps_all else PYTHON_NS
        self.layout_ns = TARGET_NS
        if not isinstance(self.products, InPlaceProducts):
            self.layout_ns += NONZERO_NS * self.products.mean_nonzeros()
        self.sources, self.scratch = NO_DOUBLES, NO_DOUBLES
        if self.products.blocks:
            self.sources = memory("d", self.products.width * SVMX_SOURCES)
        if self.tile > TILE:
            self.scratch = memory("d", self.n)

    cdef Targets of_thread(self):
        return DotTargets(self.kernel, None, False, self)

    cdef bint has(self, int32_t i) noexcept nogil:
        return self.kept and self.kernel.matrix.source.kept_row(self.kernel.rows[i]) != NULL

    cdef int64_t fill_rows(self, const int32_t *sources, int count, Py_ssize_t n, float **out,
                           ThreadPool pool) noexcept nogil:
        if self.on_demand:  # by this thread only
            self.demand(sources, count)
        return Targets.fill_rows(self, sources, count, n, out, pool)

    cdef void demand(self, const int32_t *sources, int count) noexcept nogil:
        """Let Python compute rows of its kernel."""
        cdef int32_t rows[SVMX_SOURCES]
        cdef int s
        for s in range(count):
            rows[s] = self.kernel.rows[sources[s]]
        (<GivenValues>self.products).demand(rows, count)

    cdef int lay_out(self, Kernel kernel, members, bint transposed, bint few, bint doubles) except -1:
        """Set the read-only data that threads share."""
        cdef Py_ssize_t k
        cdef const int32_t *chosen = int32_of(members, &self.n)
        self.kernel = kernel
        # both padded to the last panel
        cdef Memory padded = memory("i", self.n + SVMX_PANEL)
        cdef int32_t *rows = <int32_t *>padded.items
        self.squares, rows_ = memory("d", self.n + SVMX_PANEL), PyMemoryView_FromObject(padded)[:self.n]
        cdef int product = kernel.formula.function.product
        cdef bint one_pass = self.n and kernel.formula.function.one_pass
        for k in range(self.n):
            rows[k] = kernel.rows[chosen[k]]
            self.squares[k] = kernel.squares[chosen[k]]
        self.products = (GivenValues(kernel.matrix, rows_, transposed) if kernel.given
                         else StreamedProducts(kernel.matrix, rows_, product) if few
                         else products_of(kernel.matrix, rows_, False, kernel.integers, product, False,
                                          one_pass and not doubles))
        if one_pass and isinstance(self.products, (InPlaceProducts, PanelProducts)):
            self.lay_panels(members)
        if self.panels is not None and isinstance(self.products, InPlaceProducts) and not self.panels.suits:
            self.products = PanelProducts(kernel.matrix, rows_)
            self.lay_panels(members)
        return 0

    cdef int lay_panels(self, members) except -1:
        """Set ``panels``, over the products."""
        self.panels = RbfPanels.over(self.products, self.kernel.matrix, self.kernel.rows, self.kernel.squares,
                                     &self.kernel.formula, self.squares, members)
        return 0

    cdef int fill(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, float *out) noexcept nogil:
        cdef double near[TILE]
        cdef double *dots
        cdef Py_ssize_t stop
        if self.panels is not None and self.panels.fill(i, begin, end, out):
            return 0
        while begin < end:
            stop = min(begin + self.tile, end)
            dots = &near[0] if self.tile == TILE else &self.scratch[begin]
            self.products.fill(self.kernel.rows[i], begin, stop, dots)
            self.finish(i, begin, stop, dots, out + begin)
            begin = stop
        return 0

    cdef void lay_block(self, const int32_t *sources, int count) noexcept nogil:
        cdef int64_t rows[SVMX_SOURCES]
        cdef int s
        if self.on_demand:
            self.demand(sources, count)
        elif self.blocks:
            for s in range(count):
                rows[s] = self.kernel.rows[sources[s]]
            self.products.lay_sources(rows, count, &self.sources[0])

    cdef int fill_block(self, const int32_t *sources, int count, Py_ssize_t begin, Py_ssize_t end,
                        float **out) noexcept nogil:
        cdef double dots[BLOCK_TILE * SVMX_SOURCES]
        cdef Py_ssize_t stop
        cdef int s
        if not self.products.blocks:
            return Targets.fill_block(self, sources, count, begin, end, out)
        if self.panels is not None and self.panels.fill_block(sources, count, &self.sources[0], begin, end, out):
            return 0
        if self.panels is not None and self.panels.in_place:
            return Targets.fill_block(self, sources, count, begin, end, out)
        while begin < end:
            stop = min(begin + BLOCK_TILE, end)
            self.products.fill_block(&self.sources[0], begin, stop, dots)
            for s in range(count):
                self.finish(sources[s], begin, stop, &dots[s * BLOCK_TILE], out[s] + begin)
            begin = stop
        return 0

    cdef void finish(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, const double *dots, float *out) noexcept nogil:
        """Apply the kernel function to the dot products of a tile."""
        svmx_kernel_row(end - begin, &self.kernel.formula, dots, &self.squares[begin], self.kernel.squares[i], out)

    cdef int fill_doubles(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        """K(i, .) in double: symmetric to the last bit, and 1 for equal rows in RBF."""
        cdef double near[TILE]
        cdef double *dots
        cdef Py_ssize_t stop
        while begin < end:
            stop = min(begin + self.tile, end)
            dots = &near[0] if self.tile == TILE else &self.scratch[begin]
            self.products.fill(self.kernel.rows[i], begin, stop, dots)
            svmx_kernel_doubles(stop - begin, &self.kernel.formula, dots, &self.squares[begin], self.kernel.squares[i],
                                out + begin)
            begin = stop
        return 0


cdef class BitTargets(Targets):
    """Values of binary rows by the number of shared ones: from a table, or a quotient."""

    def __cinit__(self, Kernel kernel, members):
        cdef const int32_t[::1] chosen = members
        cdef Py_ssize_t k
        cdef int64_t at, n_ones = 0
        self.kernel, self.n, self.tile = kernel, chosen.shape[0], TILE
        self.base = 2 * ((kernel.n_table - 1) // 2)
        self.stride = (self.n + SVMX_BIT_BLOCK - 1) // SVMX_BIT_BLOCK * (SVMX_BIT_BLOCK // 64)
        # an odd number of cache lines, so that the columns of a target are in different sets of L1
        self.stride += LINE if self.stride // LINE % 2 == 0 else 0
        self.columns = zeros("Q", self.stride * (1 + <Py_ssize_t>kernel.matrix.max_index))
        self.offset = zeros("i", self.stride * 64)
        self.squares, self.ones_of = NO_DOUBLES, NO_FLOATS
        if kernel.formula.function.argument == SVMX_COSINE:
            self.squares = take_float64(kernel.squares, members)
        elif kernel.of_quotient:
            self.ones_of = zeros("f", self.n)
            for k in range(self.n):
                self.ones_of[k] = kernel.n_ones[chosen[k]]
        with nogil:
            for k in range(self.n):
                for at in range(kernel.first_one[chosen[k]], kernel.first_one[chosen[k]] + kernel.n_ones[chosen[k]]):
                    self.columns[kernel.ones[at] * self.stride + k // 64] |= <uint64_t>1 << (k % 64)
                n_ones += kernel.n_ones[chosen[k]]
                if kernel.of_distance:
                    self.offset[k] = kernel.n_ones[chosen[k]]
        self.value_ns = self.block_ns = self.again_ns = BITS_NS + ONE_NS * n_ones / max(1.0, <double>self.n)
        if kernel.of_quotient:
            self.value_ns = self.block_ns = self.again_ns = (
                self.value_ns + (QUOTIENT_NS if self.squares.shape[0] else FLOAT_QUOTIENT_NS))
        self.layout_ns = TARGET_NS + NONZERO_NS * n_ones / max(1.0, <double>self.n)

    cdef Targets of_thread(self):
        return self  # read-only

    cdef int fill(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, float *out) noexcept nogil:
        cdef int64_t first = self.kernel.first_one[i]
        svmx_bit_row(end - begin, self.kernel.n_ones[i], &self.kernel.ones[0] + first, &self.columns[0] + begin // 64,
                     self.stride, &self.offset[0] + begin,
                     self.kernel.n_ones[i] if self.kernel.of_distance else self.base, &self.kernel.table[0],
                     self.kernel.n_table, out + begin)
        if self.kernel.of_quotient:
            self.divide(i, begin, end, out + begin)
        return 0

    cdef void divide(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, float *out) noexcept nogil:
        """Turn numbers of shared ones of row i into values, INOUT; out[0] is of target ``begin``."""
        cdef double shared[TILE]
        cdef Py_ssize_t k, n
        if self.ones_of.shape[0]:
            svmx_tanimoto_row(end - begin, self.kernel.n_ones[i], &self.ones_of[begin], out)
            return
        while begin < end:
            n = min(<Py_ssize_t>TILE, end - begin)
            for k in range(n):
                shared[k] = out[k]
            svmx_kernel_row(n, &self.kernel.formula, shared, &self.squares[begin], self.kernel.squares[i], out)
            begin, out = begin + n, out + n

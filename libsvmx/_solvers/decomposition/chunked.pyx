"""Chunked decomposition: working sets of hundreds or thousands of variables, each solved in cache.

    repeat   choose a working set W among the free variables and those that violate optimality   (selection.pyx)
             solve the problem over W alone to a share of the present gap                         (chunk.pyx)
             V -= sum_{W} (beta_j - beta_j before) K_j          until the gap over all variables < eps

Where iterations, not kernel values, are the cost, a pair step over a thousand variables in cache takes the place of one over
all of them. The objective falls with every round, since the start of each subproblem is feasible. (Osuna, Freund & Girosi
1997; Joachims 1999; Perez-Cruz et al. 2000.)

Positions, shrinking, warm starts and the scores of what was put aside are those of smo.pyx and warm.pyx.
"""

from libc.math cimport HUGE_VAL, fabs, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free, malloc

from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.buffers import zeros
from libsvmx._core.vectors cimport svmx_axpy
from libsvmx._core.subproblem_steps cimport svmx_add_float_rows
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._kernels.sharedrows cimport SharedKernel
from libsvmx._problem.certificate cimport FREE, Certificate, bound_state
from libsvmx._problem.dual cimport DualProblem, DualSolution
from libsvmx._solvers.decomposition.subproblem cimport Chunk
from libsvmx._solvers.control cimport MARK_STEP, MARK_UNSHRINK, Control
from libsvmx._solvers.decomposition.working_set cimport Selection
from libsvmx._solvers.smo.smo cimport Smo
from libsvmx._solvers.smo.warm cimport WarmSmo

from libsvmx.enums import SolveStatus

# A working set has so many variables, or, where more are free, these times as many.
cdef Py_ssize_t USUAL_SIZE = 1024
cdef double OF_FREE = 1.5
# However little memory there is.
cdef Py_ssize_t LEAST_SIZE = 64
# The largest working set for IRWLS, which factors a matrix of most of it.
cdef double MOST_FACTORED = 2048
# The chunk's matrix takes at most this share of the memory for kernel rows.
cdef double SHARE_OF_CHUNK = 0.5
# A working set is solved until its gap is this share of that of the whole.
cdef double TIGHTNESS = 0.1
cdef int SHRINK_EVERY = 4
# Rows of so many nonzeros are kept in the row store, if it can hold such a share of them; others are computed when they
# move scores, and forgotten.
cdef double EXPENSIVE_NONZEROS = 64
cdef double WORTH_KEEPING = 0.1
# A chunk's steps are over few variables: so many of them are allowed for one of LIBSVM's.
cdef int64_t STEPS_FOR_ONE = 10
# Rounds over all variables without a gap that is smaller by a tenth before it is asked whether the objective still falls, by
# more than this share of what it has fallen.
cdef int64_t PATIENCE = 50
cdef double LITTLE = 1e-10
cdef int64_t PATIENCE_EXACT = 15
# A path's factor may take so many bytes in any case.
cdef double LEAST_FACTOR = 1 << 25
# Of kernel values in float, relative to K(i, i); how much larger than expected what comes of it may be; what it may be.
cdef double FLOAT_ERROR = 6e-8
cdef double SAFETY = 4.0
cdef double SHARE_OF_EPS = 0.1
cdef Py_ssize_t PARTS_PER_THREAD = 2


def solve(DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads, settings):
    """Solve ``problem`` over the rows of ``kernel``; from its ``scores`` if it has them. Returns a DualSolution.

    The solution depends on ``settings``, Chunked or IRWLS, within eps, and not on ``n_threads``.

    Raises
    ------
    KeyboardInterrupt, or what else a signal handler raises; MemoryError
    """
    solver = Chunked(problem, kernel, budget_bytes, control, n_threads, settings)
    if not settings.least_squares:
        solution = solver.run()
    else:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, "blas"):  # of more threads, sums would depend on how many there are
            solution = solver.run()
    if settings.precision != "float" and (solution.status == SolveStatus.ROUNDING or
                                          (solution.status == SolveStatus.ITERATION_LIMIT and control.max_iter == 0)):
        return finished(problem, kernel, budget_bytes, control, solution)
    return solution


cdef object finished(DualProblem problem, Kernel kernel, double budget_bytes, Control control, DualSolution found):
    """The exact optimum near ``found``, from where pair steps lead no further or not soon, by a path; ``found`` itself where there is none."""
    cdef const double[::1] lower = problem.lower, upper = problem.upper, beta = found.beta
    cdef DualSolution exact
    cdef Py_ssize_t v
    cdef double n_free = 0
    for v in range(problem.size):
        if lower[v] >= upper[v]:
            return found
        n_free += bound_state(beta[v], lower[v], upper[v], 0.0) == FREE
    if problem.groups == 2 or kernel.given or n_free * n_free * sizeof(double) > max(budget_bytes, LEAST_FACTOR):
        return found
    from libsvmx._solvers.path.path import PathLost
    from libsvmx._solvers.path.removal import path_of, solution_without

    try:
        path = path_of(problem, kernel, budget_bytes, found.beta, control)
        exact = solution_without(path, problem, zeros("i", 0), path.state.total, control)
    except (PathLost, TimeoutError):
        return found
    return DualSolution(
        beta=exact.beta, scores=exact.scores, rho=exact.rho, r=exact.r, objective=exact.objective,
        iterations=exact.iterations + found.iterations, rows_computed=exact.rows_computed,
        values_computed=exact.values_computed, chunks=found.chunks, fallbacks=found.fallbacks, status=exact.status)


cdef struct AddJob:
    void *targets
    const int32_t *sources
    const double *coef
    int count
    float **rows
    double *doubles
    Py_ssize_t n
    Py_ssize_t size
    double *V


cdef void _add_part(void *context, int64_t part) noexcept nogil:
    cdef AddJob *job = <AddJob *>context
    cdef Py_ssize_t begin = part * job.size, end = min(job.n, begin + job.size)
    cdef int s
    if job.doubles == NULL:
        svmx_add_float_rows(end - begin, job.count, job.coef, <const float **>job.rows, begin, job.V + begin)
        return
    for s in range(job.count):
        (<Targets>job.targets).fill_doubles(job.sources[s], begin, end, job.doubles)
        svmx_axpy(end - begin, job.coef[s], job.doubles + begin, job.V + begin)


cdef class Chunked(WarmSmo):
    cdef bint cold                  # the scores at the start are not known
    cdef const double[::1] first_beta      # where the scores of variables that take no part are right
    cdef const double[::1] first_scores
    cdef Chunk chunk
    cdef Selection selection
    cdef Py_ssize_t least_size      # of a working set
    cdef Py_ssize_t most_size
    cdef int64_t rounds
    cdef int32_t[::1] working       # positions of the working set, later of those that have moved
    cdef int32_t[::1] last          # by position: the round in which it was last in the working set
    cdef double[::1] coef           # by place in ``working``: how far beta falls
    cdef Targets within             # the working set
    cdef Targets targets            # the active positions
    cdef bint moved                 # they have changed
    cdef float[::1] values          # a block of rows over them
    cdef int32_t[::1] sources       # of the block
    cdef float **block
    cdef bint keeps                 # rows are kept in the store
    # rounding
    cdef bint may_be_exact
    cdef bint exact                 # scores are moved by kernel values in double
    cdef double[::1] doubles        # a row of them
    cdef double value_error         # of a kernel value in float
    cdef double travelled           # sum of squares of all that beta has moved
    cdef bint stalled

    def __init__(self, DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads, settings):
        cdef Py_ssize_t p
        cdef double fitting = sqrt(SHARE_OF_CHUNK * budget_bytes / sizeof(float))
        self.cold = problem.scores is None
        if self.cold:
            problem = problem.changed(scores=problem.linear)
        self.last, self.rounds = zeros("i", problem.size), 1
        WarmSmo.__init__(self, problem, kernel, (1.0 - SHARE_OF_CHUNK) * budget_bytes, control, n_threads)
        if settings.least_squares:
            fitting = min(fitting, MOST_FACTORED)
        self.most_size = min(settings.working_set or max(LEAST_SIZE, <Py_ssize_t>fitting), self.size)
        self.least_size = min(settings.working_set or USUAL_SIZE, self.most_size)
        self.selection = Selection(self.total, settings.working_set_rule, settings.keep_share, settings.random_state)
        engine = None
        if settings.least_squares:
            from libsvmx._solvers.decomposition.irwls import solve as engine  # SciPy takes its time to load
        # an engine is given the whole working set
        self.chunk = Chunk(self.most_size, self.groups, self.most_size if engine else 0, engine,
                           (settings.working_set_rule, settings.keep_share, settings.random_state), control)
        self.working, self.coef = zeros("i", max(self.most_size, 1)), zeros("d", max(self.most_size, 1))
        self.moved = True
        self.sources = zeros("i", SVMX_SOURCES)
        self.block = <float **>malloc(SVMX_SOURCES * sizeof(float *))
        if self.block == NULL:
            raise MemoryError("a block of rows")
        self.may_be_exact, self.exact = settings.precision != "float", settings.precision == "double"
        self.value_error = FLOAT_ERROR
        for p in range(self.size):
            self.value_error = max(self.value_error, FLOAT_ERROR * fabs(self.QD[p]))
        self.keeps = self.rows_are_dear() and self.store.capacity >= WORTH_KEEPING * self.total

    def __dealloc__(self):
        free(self.block)

    cdef object starting_order(self, DualProblem problem):
        order = WarmSmo.starting_order(self, problem)
        self.first_beta, self.first_scores = self.start_beta, self.start_scores
        if self.cold:  # V is not right yet
            self.active = self.size
        return order

    cdef int add_start(self) except -1 nogil:
        WarmSmo.add_start(self)
        if self.cold:
            self.add_all()
        return 0

    cdef int remember(self, bint everywhere) except -1:
        """The present beta and V become what scores put aside are brought up to date from; with ``everywhere`` V is right
        for the variables that take no part, too."""
        cdef Py_ssize_t p
        beta_, scores_ = zeros("d", self.total), zeros("d", self.total)
        cdef double[::1] beta = beta_, scores = scores_
        for p in range(self.total):
            beta[self.variable[p]], scores[self.variable[p]] = self.y[p] * self.alpha[p], self.V[p]
        self.start_beta, self.start_scores = beta_, scores_
        if everywhere:
            self.first_beta, self.first_scores = beta_, scores_
        return 0

    # ---- the iteration ------------------------------------------------------------------------

    cdef int iterate(self, int64_t limit) except -1 nogil:
        """1 when optimal, 0 when a limit ended it."""
        cdef double gap, best = HUGE_VAL, gained = 0.0
        cdef Certificate found[2]
        cdef Py_ssize_t n
        cdef int64_t since = 0          # rounds without a smaller gap
        cdef bint going = True
        if self.control.max_iter == 0:
            limit *= STEPS_FOR_ONE
        while self.iterations < limit and not self.control.expired:
            gap = self.certify(found)
            since += 1
            if gap < 0.9 * best:
                best, since, gained = gap, 0, self.chunk.gained
            if since > self.patience():
                going = not self.exact and self.chunk.gained - gained > LITTLE * self.chunk.gained
                since, gained = 0, self.chunk.gained
            if gap < self.aim() or not going:
                if self.active < self.size:
                    self.unshrink()
                    self.control.mark(MARK_UNSHRINK)
                elif self.may_be_off():
                    self.begin_exact()
                elif gap < self.aim():
                    return 1
                elif self.exact:
                    self.stalled = True
                    return 0
                else:  # the same matrix, but V in double
                    return Smo.iterate(self, limit)
                best, since, going = HUGE_VAL, 0, True
                continue
            self.rounds += 1
            n = self.choose()
            self.load(n)
            self.chunk.solve(max(0.5 * self.aim(), TIGHTNESS * gap), limit - self.iterations)
            self.iterations = self.chunk.steps
            going = self.absorb()
            self.control.mark(MARK_STEP)
            self.control.poll()
            if self.control.shrinking and not self.exact and self.rounds % SHRINK_EVERY == 0:
                self.shrink()
        if self.active < self.size:
            self.unshrink()
            self.control.mark(MARK_UNSHRINK)
        return 0

    cdef int64_t patience(self) noexcept nogil:
        """Rounds that may pass without a gap that is smaller by a tenth; small working sets need many to see all variables."""
        return (PATIENCE_EXACT if self.exact else PATIENCE) * (1 + self.active // self.least_size)

    cdef object unfinished(self):
        return SolveStatus.ROUNDING if self.stalled else SolveStatus.ITERATION_LIMIT

    cdef double aim(self) noexcept nogil:
        """The gap to come to: eps, less what rounding of kernel values may hide."""
        return self.control.eps if self.exact or not self.may_be_exact else (1.0 - SHARE_OF_EPS) * self.control.eps

    # ---- rounding -----------------------------------------------------------------------------

    cdef bint may_be_off(self) noexcept nogil:
        """Whether rounding of kernel values may have changed scores by more than a share of eps.

        Each value is off by about ``value_error``, one way or the other, so the scores by that times the root of the sum
        of squares of all that has moved.
        """
        if self.exact or not self.may_be_exact:
            return False
        return SAFETY * self.value_error * sqrt(self.travelled) > SHARE_OF_EPS * self.control.eps

    cdef int begin_exact(self) except -1 nogil:
        """All scores anew from kernel values in double, which move them from now on."""
        cdef Py_ssize_t p
        self.exact = True
        for p in range(self.total):
            self.V[p] = self.linear[p]
        self.add_all()
        return 0

    cdef int add_all(self) except -1 nogil:
        """V -= sum_j beta_j K_j of all variables, those that take no part included; all are active afterwards."""
        cdef Py_ssize_t p, n = 0, size = self.size
        self.size = self.active = self.total
        self.moved = True
        for p in range(self.total):
            if self.alpha[p] != 0:
                self.working[n], self.coef[n] = <int32_t>p, -self.y[p] * self.alpha[p]
                n += 1
            if n == self.working.shape[0] or (p == self.total - 1 and n):
                self.move(n)
                n = 0
        self.size = self.active = size
        self.moved = True
        with gil:
            self.remember(True)
        return 0

    # ---- a round ------------------------------------------------------------------------------

    cdef Py_ssize_t choose(self) noexcept nogil:
        """Fill ``working``; returns how many there are."""
        cdef Py_ssize_t p, size, n_free = 0
        for p in range(self.active):
            n_free += self.is_free(p)
        size = min(self.most_size, max(self.least_size, <Py_ssize_t>(OF_FREE * n_free)))
        return self.selection.choose(self.active, self.groups, &self.V[0], &self.up[0, 0], &self.low[0, 0], self.total,
                                     &self.last[0], <int32_t>self.rounds, size, &self.working[0])

    cdef int load(self, Py_ssize_t n) except -1 nogil:
        """The first n of ``working`` become the chunk."""
        cdef Py_ssize_t k, p
        cdef int s, count
        cdef bint positive
        with gil:
            self.within = self.store.kernel.targets(self.rows_of(n, True))
        self.chunk.begin(n)
        for k in range(n):
            p = self.working[k]
            positive = self.y[p] > 0
            self.chunk.put(k, self.V[p], self.y[p] * self.alpha[p], 0.0 if positive else -self.C[p],
                           self.C[p] if positive else 0.0, self.QD[p], 0 if self.groups == 1 or positive else 1)
        k = 0
        while k < n:
            count = <int>min(<Py_ssize_t>SVMX_SOURCES, n - k)
            for s in range(count):
                self.sources[s] = self.store.index[self.working[k + s]]
                self.block[s] = &self.chunk.K[(k + s) * self.chunk.stride]
            self.store.kernel.values_computed += self.within.fill_rows(&self.sources[0], count, n, self.block,
                                                                       self.store.pool, True)
            k += count
        for k in range(n):  # as the rows have it, so that steps fit them
            self.chunk.diagonal[k] = self.chunk.K[k * self.chunk.stride + k]
        return 0

    cdef bint absorb(self) except -1 nogil:
        """Take over what the chunk has become; False if nothing has changed."""
        cdef Py_ssize_t k, p, n = 0
        cdef double beta
        for k in range(self.chunk.size):
            p = self.working[k]
            beta = self.y[p] * self.alpha[p]
            if self.chunk.beta[k] != beta:
                self.working[n], self.coef[n] = <int32_t>p, beta - self.chunk.beta[k]
                self.alpha[p] = fabs(self.chunk.beta[k])
                self.set_sides(p)
                n += 1
        self.move(n)
        return n > 0

    cdef int move(self, Py_ssize_t n) except -1 nogil:
        """V += sum_k coef_k K_k over the first n positions of ``working``."""
        cdef Py_ssize_t k
        cdef int s, count
        if self.keeps and not self.exact and self.active == self.store.active:
            return self.move_kept(n)
        if self.moved:
            with gil:
                self.follow_positions()
        k = 0
        while k < n:
            count = <int>min(<Py_ssize_t>SVMX_SOURCES, n - k)
            for s in range(count):
                self.sources[s] = self.store.index[self.working[k + s]]
                self.travelled += self.coef[k + s] * self.coef[k + s]
            self.add_block(count, &self.coef[k])
            self.store.kernel.values_computed += count * self.active
            self.control.worked(4 * count * self.active)
            k += count
        return 0

    cdef int move_kept(self, Py_ssize_t n) except -1 nogil:
        """``move`` by rows of the store."""
        cdef const float *row
        cdef Py_ssize_t k, at
        cdef int count
        for k in range(n):
            self.travelled += self.coef[k] * self.coef[k]
            if self.store.to_compute(self.store.index[self.working[k]]) and self.store.together() > 1:
                at, count = k, 0
                while at < n and count < self.store.together():
                    if self.store.to_compute(self.store.index[self.working[at]]):
                        self.sources[count] = self.store.index[self.working[at]]
                        count += 1
                    at += 1
                self.store.take(&self.sources[0], count)
            row = self.store.row(self.working[k])
            svmx_add_float_rows(self.active, 1, &self.coef[k], &row, 0, &self.V[0])
            self.control.worked(8 * self.active)
        return 0

    cdef int add_block(self, int count, const double *coef) except -1 nogil:
        """V += the rows of so many ``sources``, by all threads; each sum is in the order of the sources."""
        cdef int s
        cdef AddJob job
        for s in range(count):
            self.block[s] = NULL if self.exact else &self.values[s * self.active]
        if not self.exact:
            self.targets.fill_rows(&self.sources[0], count, self.active, self.block, self.store.pool, True)
        job.targets, job.sources, job.coef, job.count = <void *>self.targets, &self.sources[0], coef, count
        job.rows, job.n, job.V = self.block, self.active, &self.V[0]
        job.doubles = &self.doubles[0] if self.exact else NULL
        job.size = (self.active // (PARTS_PER_THREAD * self.store.pool.n) // self.targets.tile + 1) * self.targets.tile
        self.store.pool.run(_add_part, &job, (self.active + job.size - 1) // job.size)
        return 0

    cdef int follow_positions(self) except -1:
        """Targets of the active positions."""
        rows = self.rows_of(self.active, False)
        if self.exact:
            self.targets, self.doubles = self.store.kernel.double_targets(rows), zeros("d", self.active + 1)
        else:
            self.targets = self.store.kernel.targets(rows)
            self.values = zeros("f", SVMX_SOURCES * self.active + 1)
        self.moved = False
        return 0

    cdef bint rows_are_dear(self):
        """Whether a kernel value takes much longer than to fetch one."""
        cdef Kernel kernel = self.store.kernel
        cdef int64_t nnz = 0
        cdef Py_ssize_t i
        if kernel.binary or kernel.given or isinstance(kernel, SharedKernel):
            return False
        for i in range(kernel.n):
            nnz += kernel.matrix.ptr[kernel.rows[i] + 1] - kernel.matrix.ptr[kernel.rows[i]]
        return nnz >= EXPENSIVE_NONZEROS * kernel.n

    cdef object rows_of(self, Py_ssize_t n, bint working):
        """The kernel row of each of the first n positions, or of the first n of ``working``: buffer of int32."""
        cdef Py_ssize_t k
        rows_ = zeros("i", n)
        cdef int32_t[::1] rows = rows_
        for k in range(n):
            rows[k] = self.store.index[self.working[k] if working else k]
        return rows_

    # ---- shrinking ----------------------------------------------------------------------------

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        self.last[a], self.last[b] = self.last[b], self.last[a]
        return Smo.swap(self, a, b)

    cdef int shrink(self) except -1 nogil:
        cdef Py_ssize_t before = self.active
        Smo.shrink(self)
        self.moved |= self.active != before
        return 0

    cdef int unshrink(self) except -1 nogil:
        self.moved |= self.active < self.size
        Smo.unshrink(self)
        with gil:
            self.remember(False)
        return 0

    cdef object solution(self, status, int64_t chunks=0, int64_t fallbacks=0):
        self.start_beta, self.start_scores = self.first_beta, self.first_scores
        return WarmSmo.solution(self, status, self.chunk.chunks, self.chunk.fallbacks)

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

from libsvmx._core.blocks cimport SVMX_SOURCES
from libsvmx._core.buffers import zeros
from libsvmx._core.leaf_lanes cimport svmx_add_float_rows
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._problem.dual cimport DualProblem
from libsvmx._solvers.chunk cimport Chunk
from libsvmx._solvers.control cimport MARK_STEP, MARK_UNSHRINK, Control
from libsvmx._solvers.selection cimport Selection
from libsvmx._solvers.smo cimport Smo
from libsvmx._solvers.warm cimport WarmSmo

from libsvmx._solvers.chunking import Chunking

# A working set has so many variables, or, where more are free, these times as many.
cdef Py_ssize_t USUAL_SIZE = 1024
cdef double OF_FREE = 1.5
# The largest working set for IRWLS, which factors a matrix of most of it.
cdef double MOST_FACTORED = 2048
# The chunk's matrix takes at most this share of the memory for kernel rows.
cdef double SHARE_OF_CHUNK = 0.5
# A working set is solved until its gap is this share of that of the whole.
cdef double TIGHTNESS = 0.1
cdef int SHRINK_EVERY = 4


def solve(DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads=1, chunking=None):
    """Solve ``problem`` over the rows of ``kernel``; from its ``scores`` if it has them. Returns a DualSolution.

    The solution depends on ``chunking`` within eps, and not on ``n_threads``.

    Raises
    ------
    KeyboardInterrupt, or what else a signal handler raises; MemoryError
    """
    return Chunked(problem, kernel, budget_bytes, control, n_threads, chunking or Chunking()).run()


cdef class Chunked(WarmSmo):
    cdef bint cold                  # the scores at the start are not known
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

    def __init__(self, DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads, chunking):
        cdef double fitting = sqrt(SHARE_OF_CHUNK * budget_bytes / sizeof(float))
        self.cold = problem.scores is None
        if self.cold:
            problem = DualProblem(problem.y, problem.linear, problem.C, problem.alpha, problem.index, problem.split,
                                  problem.linear)
        self.last = zeros("i", problem.size)
        WarmSmo.__init__(self, problem, kernel, budget_bytes, control, n_threads)
        if chunking.engine == "irwls":
            fitting = min(fitting, MOST_FACTORED)
        self.most_size = min(chunking.working_set or max(USUAL_SIZE, <Py_ssize_t>fitting), self.size)
        self.least_size = min(chunking.working_set or USUAL_SIZE, self.most_size)
        self.selection = Selection(self.total, chunking.rule, chunking.kept, chunking.seed)
        engine = None
        if chunking.engine == "irwls":
            from libsvmx._solvers.irwls import solve as engine  # SciPy takes its time to load
        # an engine is given the whole working set
        self.chunk = Chunk(self.most_size, self.groups, self.most_size if engine else 0, engine, (chunking.rule, chunking.kept, chunking.seed))
        self.working, self.coef = zeros("i", max(self.most_size, 1)), zeros("d", max(self.most_size, 1))
        self.moved = True

    cdef object starting_order(self, DualProblem problem):
        order = WarmSmo.starting_order(self, problem)
        if self.cold:  # V is not right yet
            self.active = self.size
        return order

    cdef int add_start(self) except -1 nogil:
        cdef Py_ssize_t p, n = 0
        WarmSmo.add_start(self)
        if not self.cold:
            return 0
        for p in range(self.total):
            if self.alpha[p] != 0:
                self.working[n], self.coef[n] = <int32_t>p, -self.y[p] * self.alpha[p]
                n += 1
            if n == self.working.shape[0] or (p == self.total - 1 and n):
                self.move(n)
                n = 0
        with gil:
            self.remember()
        return 0

    cdef int remember(self) except -1:
        """The present alpha and V become what scores put aside are brought up to date from."""
        cdef Py_ssize_t p
        alpha_, scores_ = zeros("d", self.total), zeros("d", self.total)
        cdef double[::1] alpha = alpha_, scores = scores_
        for p in range(self.total):
            alpha[self.variable[p]], scores[self.variable[p]] = self.alpha[p], self.V[p]
        self.start_alpha, self.start_scores = alpha_, scores_
        return 0

    # ---- the iteration ------------------------------------------------------------------------

    cdef int iterate(self, int64_t limit) except -1 nogil:
        """1 when optimal, 0 when a limit ended it."""
        cdef double gap
        cdef Py_ssize_t n
        cdef bint going = True
        while self.iterations < limit and not self.control.expired:
            gap = self.gap()
            if gap < self.control.eps or not going:
                if self.active == self.size:
                    return gap < self.control.eps
                self.unshrink()
                self.control.mark(MARK_UNSHRINK)
                gap = self.gap()
                if gap < self.control.eps:
                    return 1
            self.rounds += 1
            n = self.choose()
            self.load(n)
            self.chunk.solve(max(0.5 * self.control.eps, TIGHTNESS * gap), limit - self.iterations)
            self.iterations = self.chunk.steps
            going = self.absorb()
            self.control.mark(MARK_STEP)
            self.control.poll()
            if self.control.shrinking and self.rounds % SHRINK_EVERY == 0:
                self.shrink()
        if self.active < self.size:
            self.unshrink()
            self.control.mark(MARK_UNSHRINK)
        return 0

    cdef double gap(self) noexcept nogil:
        """The KKT gap over the active variables."""
        cdef double top, bottom, gap = -HUGE_VAL
        cdef Py_ssize_t p
        cdef int g
        for g in range(self.groups):
            top, bottom = -HUGE_VAL, HUGE_VAL
            for p in range(self.active):
                top = max(top, self.V[p] + self.up[g, p])
                bottom = min(bottom, self.V[p] + self.low[g, p])
            gap = max(gap, top - bottom)
        return gap

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
        cdef int32_t rows[SVMX_SOURCES]
        cdef float *out[SVMX_SOURCES]
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
            count = <int>min(SVMX_SOURCES, n - k)
            for s in range(count):
                rows[s] = self.store.index[self.working[k + s]]
                out[s] = &self.chunk.K[(k + s) * self.chunk.stride]
            self.store.kernel.values_computed += self.within.fill_rows(rows, count, n, out, self.store.crew, True)
            k += count
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
                self.alpha[p] = self.y[p] * self.chunk.beta[k]
                self.set_sides(p)
                n += 1
        self.move(n)
        return n > 0

    cdef int move(self, Py_ssize_t n) except -1 nogil:
        """V += sum_k coef_k K_k over the first n positions of ``working``."""
        cdef int32_t rows[SVMX_SOURCES]
        cdef const float *found[SVMX_SOURCES]
        cdef float *out[SVMX_SOURCES]
        cdef Py_ssize_t k
        cdef int s, count
        if self.moved:
            with gil:
                self.targets = self.store.kernel.targets(self.rows_of(self.active, False))
                self.values = zeros("f", SVMX_SOURCES * self.active)
            self.moved = False
        k = 0
        while k < n:
            count = <int>min(SVMX_SOURCES, n - k)
            for s in range(count):
                rows[s], out[s] = self.store.index[self.working[k + s]], &self.values[s * self.active]
                found[s] = out[s]
            self.store.kernel.values_computed += self.targets.fill_rows(rows, count, self.active, out, self.store.crew, True)
            svmx_add_float_rows(self.active, count, &self.coef[k], found, 0, &self.V[0])
            self.control.worked(2 * count * self.active)
            k += count
        return 0

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
            self.remember()
        return 0

    cdef object solution(self, str status):
        solution = WarmSmo.solution(self, status)
        solution.chunks, solution.fallbacks = self.chunk.chunks, self.chunk.fallbacks
        return solution

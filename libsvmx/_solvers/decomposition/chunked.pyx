"""Chunked decomposition: working sets of hundreds or thousands of variables, each solved in cache.

    repeat   choose a working set W among the free variables and those that violate optimality   (subproblem.pyx)
             solve the problem over W alone to a share of the present gap                         (subproblem.pyx)
             V -= sum_{W} (beta_j - beta_j before) K_j                                            (ScoreUpdates)
    until    the gap over all variables < eps

(Osuna, Freund & Girosi 1997; Joachims 1999; Perez-Cruz et al. 2000.) Faster than SMO where iterations, not kernel
values, are the cost: a pair step reads a thousand variables in cache instead of all. The objective falls in every
round, since each subproblem starts feasible. IRWLS begins with LIBSVM's steps, faster on easy problems
(``begin_by_pairs``). A stalled solve, or one slower than a path of exact optima, is finished by such a path
(``finished``).

ChunkedSmo is a WarmSmo (smo/warm.pyx) that overrides ``iterate``. A cold start first computes its scores.
"""

from libc.math cimport HUGE_VAL, fabs, log, sqrt
from libc.stdint cimport int32_t, int64_t

from libsvmx._core.dispatch cimport SVMX_SOURCES, svmx_add_float_rows, svmx_axpy
from libsvmx._core.stopping cimport MARK_STEP, Control
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets
from libsvmx._kernels.rowstore cimport RowStore
from libsvmx._kernels.sharedrows cimport SharedKernel
from libsvmx._solvers.decomposition.subproblem cimport Selection, Subproblem
from libsvmx._solvers.dual cimport FREE, Certificate, DualProblem, DualSolution, bound_state, score_rounding
from libsvmx._solvers.smo.smo cimport Smo
from libsvmx._solvers.smo.warm cimport WarmSmo

from libsvmx._core.buffers import zeros
from libsvmx._core.memory import load_blas, require
from libsvmx._solvers.dual import kkt_gap
from libsvmx._solvers.path.from_small_cost import LEAST_FACTOR, decades, expected_ns, leads_there
from libsvmx.enums import SolveStatus


# ---- Scores after a working set has moved ----------------------------------------------------------
#
#     V_p += sum_k coef_k K(k, p)        coef_k = beta_k before - beta_k
#
# by blocks of kernel rows, in the order of k for any number of threads (each has some of the positions p). Rows are in
# float, as LIBSVM's, until their estimated rounding error is too large, then in double.

# The row store keeps rows with at least this many nonzeros on average, if it can hold this share of them; others are
# computed at each use.
cdef double EXPENSIVE_NONZEROS = 64
cdef double WORTH_KEEPING = 0.1
cdef Py_ssize_t PARTS_PER_THREAD = 2
# Adding a value of a row, in nanoseconds.
cdef double ADD_NS = 0.1


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


cdef class ScoreUpdates:
    """ScoreUpdates(store, size, in_double, control): V at the positions of ``store``; the first ``size`` may move."""

    cdef RowStore store
    cdef Control control
    cdef readonly bint in_double    # V by kernel values in double
    cdef bint keeps                 # rows are kept in the store
    cdef bint stale                 # ``targets`` no longer match the active positions
    cdef Targets targets            # the active positions
    cdef float[::1] values          # SVMX_SOURCES rows over them
    cdef double[::1] doubles        # or one row in double
    cdef double largest             # kernel value

    def __cinit__(self, RowStore store, Py_ssize_t size, bint in_double, Control control):
        cdef Py_ssize_t p
        cdef const double[::1] diagonal = store.kernel.diagonal
        self.store, self.control, self.in_double, self.stale = store, control, in_double, True
        self.largest = 0.0
        for p in range(size):
            self.largest = max(self.largest, fabs(diagonal[store.index[p]]))
        self.keeps = is_expensive(store.kernel) and store.capacity >= WORTH_KEEPING * store.size

    cdef double rounding(self, double squares) noexcept nogil:
        return score_rounding(self.largest, squares)

    cdef int add(self, Py_ssize_t n, const int32_t *positions, const double *coef, Py_ssize_t active_size,
                 double *V) except -1 nogil:
        """V += sum_k coef_k K_k over n positions."""
        cdef int32_t sources[SVMX_SOURCES]
        cdef Py_ssize_t k = 0
        cdef int s, count
        if self.keeps and not self.in_double and active_size == self.store.active:
            return self.add_kept(n, positions, coef, active_size, V)
        if self.stale:
            with gil:
                self.take_positions(active_size)
        while k < n:
            count = <int>min(<Py_ssize_t>SVMX_SOURCES, n - k)
            for s in range(count):
                sources[s] = self.store.index[positions[k + s]]
            self.add_block(sources, coef + k, count, active_size, V)
            self.store.kernel.values_computed += count * active_size
            self.control.worked(4 * count * active_size)
            k += count
        return 0

    cdef int add_kept(self, Py_ssize_t n, const int32_t *positions, const double *coef, Py_ssize_t active_size,
                      double *V) except -1 nogil:
        """``add`` by rows of the store."""
        cdef int32_t sources[SVMX_SOURCES]
        cdef const float *row
        cdef Py_ssize_t k, at
        cdef int count
        for k in range(n):
            if self.store.to_compute(self.store.index[positions[k]]) and self.store.together(True) > 1:
                at, count = k, 0
                while at < n and count < self.store.together(True):
                    if self.store.to_compute(self.store.index[positions[at]]):
                        sources[count] = self.store.index[positions[at]]
                        count += 1
                    at += 1
                self.store.take(sources, count, True)
            row = self.store.row(positions[k])
            svmx_add_float_rows(active_size, 1, coef + k, &row, 0, V)
            self.control.worked(8 * active_size)
        return 0

    cdef int add_block(self, const int32_t *sources, const double *coef, int count, Py_ssize_t n,
                       double *V) except -1 nogil:
        """V += coef times the rows of ``count`` sources, by all threads."""
        cdef float *rows[SVMX_SOURCES]
        cdef int s
        cdef double work_ns
        cdef AddJob job
        if not self.in_double:
            for s in range(count):
                rows[s] = &self.values[s * n]
            self.targets.fill_rows(sources, count, n, rows, self.store.pool)
        job.targets, job.sources, job.coef, job.count = <void *>self.targets, sources, coef, count
        job.rows, job.n, job.V = rows, n, V
        job.doubles = &self.doubles[0] if self.in_double else NULL
        work_ns = (self.targets.value_ns if self.in_double else ADD_NS) * count * n
        job.size = n // (PARTS_PER_THREAD * self.store.pool.parts(work_ns))
        job.size = (job.size // self.targets.tile + 1) * self.targets.tile
        self.store.pool.run(_add_part, &job, (n + job.size - 1) // job.size, work_ns)
        return 0

    cdef int take_positions(self, Py_ssize_t active_size) except -1:
        """Set ``targets`` to the active positions."""
        rows = kernel_rows(self.store, NULL, active_size)
        if self.in_double:
            self.targets, self.doubles = self.store.kernel.double_targets(rows), zeros("d", active_size + 1)
        else:
            self.targets = self.store.kernel.targets(rows)
            self.values = zeros("f", SVMX_SOURCES * active_size + 1)
        self.stale = False
        return 0


cdef object kernel_rows(RowStore store, const int32_t *positions, Py_ssize_t n):
    """The kernel row at each of n positions, by default the first: buffer of int32."""
    cdef Py_ssize_t k
    rows_ = zeros("i", n)
    cdef int32_t[::1] rows = rows_
    for k in range(n):
        rows[k] = store.index[k if positions == NULL else positions[k]]
    return rows_


cdef bint is_expensive(Kernel kernel):
    """Whether a kernel value takes much longer than to fetch one."""
    cdef int64_t nnz = 0
    cdef Py_ssize_t i
    if kernel.binary or kernel.given or isinstance(kernel, SharedKernel):
        return False
    for i in range(kernel.n):
        nnz += kernel.matrix.ptr[kernel.rows[i] + 1] - kernel.matrix.ptr[kernel.rows[i]]
    return nnz >= EXPENSIVE_NONZEROS * kernel.n


# ---- The rounds ------------------------------------------------------------------------------------

# Variables of a working set: the larger of this and 1.5 times the free variables; the least with little memory; and the
# most for IRWLS, which factors a matrix of most of them.
cdef Py_ssize_t USUAL_SIZE = 1024
cdef double PER_FREE = 1.5
cdef Py_ssize_t SMALLEST_SIZE = 64
cdef double MAX_FACTORED = 2048
# The subproblem's matrix takes at most this share of the memory for kernel rows.
cdef double SHARE_OF_SUBPROBLEM = 0.5
# A working set is solved to this share of the gap over all variables.
cdef double TIGHTNESS = 0.1
cdef int SHRINK_EVERY = 4
# IRWLS begins with LIBSVM's steps: max(this, variables / 4), and goes on with them while, at the rate since then, at
# most this many more per variable reach eps. (Right for all of 21 trainings, 11 of which end within these.)
cdef int64_t MIN_FIRST_STEPS = 100
cdef double MAX_STEPS_LEFT = 4.0
# Steps over a subproblem's few variables that count as one of LIBSVM's.
cdef int64_t STEPS_FOR_ONE = 10
# But at most so many per variable, which bounds fewer than 1,000: between equal rows of both classes a step changes beta
# by about 1e12, so that a C of 1e300 is never reached.
cdef int64_t MOST_STEPS = 100_000
# After this many rounds over all variables in which the gap did not fall by a tenth, the objective must still have
# fallen by this share of its whole decrease.
cdef int64_t STALL_ROUNDS = 50
cdef int64_t STALL_ROUNDS_IN_DOUBLE = 15
cdef double MIN_DECREASE = 1e-10
# Flops in a nanosecond, and per variable in a pair step.
cdef double FLOPS = 8
cdef double PER_VARIABLE = 8
# Working sets must halve the gap within this share of the expected work of a path from a small C (and at least
# MIN_FLOPS), and bring it to eps within MAX_HALVES times that. The margin of the path is estimated from the least
# number of free rows.
cdef double PATH_SHARE = 0.375
cdef double MARGIN_PER_FREE = 1.5
cdef double MAX_HALVES = 6.0
cdef double MIN_FLOPS = 1e8
# Kernel values between two checks of the limits: some milliseconds.
cdef Py_ssize_t VALUES_AT_ONCE = 1 << 22
# Share of eps that rounding of kernel values may hide.
cdef double SHARE_OF_EPS = 0.1
# IRWLS switches to double if rounding may hide this share of the gap, a working set in float has left more than this
# share of it, and at most this many variables are free: factors cost their cube.
cdef double SHARE_OF_GAP = 0.1
cdef double STUCK = 0.5
cdef Py_ssize_t FEW_FREE = 1024
# Bytes per pair of variables of IRWLS's matrix in double, its factor and columns; of the subproblem's in double.
cdef double LEAST_SQUARES = 16
cdef double IN_DOUBLE = 8


def solve(DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads, settings):
    """Solve ``problem`` over the rows of ``kernel``, warm if it has ``scores``. Returns a DualSolution.

    ``settings``: Chunked or IRWLS. The solution does not depend on ``n_threads``.

    Raises
    ------
    KeyboardInterrupt, or what else a signal handler raises; MemoryError
    """
    solver = ChunkedSmo(problem, kernel, budget_bytes, control, n_threads, settings)
    solution = solver.run()
    if settings.precision != "float" and (solution.status == SolveStatus.ROUNDING or
                                          (solution.status == SolveStatus.ITERATION_LIMIT and control.max_iter == 0)):
        far = solver.far or solution.status == SolveStatus.ITERATION_LIMIT
        return finished(problem, kernel, budget_bytes, control, n_threads, settings.name, solution, far)
    return solution


cdef object finished(DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads, name,
                     DualSolution found, bint far):
    """The exact optimum by a path from ``found`` or from a small C; the latter first if ``found`` is ``far`` from the
    optimum. ``found`` itself where neither exists."""
    from libsvmx._core.stopping import Stopped
    from libsvmx._solvers.path import from_small_cost
    from libsvmx._solvers.path.path import PathLost

    cdef double most_bytes = max(budget_bytes, LEAST_FACTOR)
    cdef DualSolution exact
    for from_small in (far, not far):
        try:
            if not from_small:
                exact = path_from(problem, kernel, budget_bytes, most_bytes, control, found)
            elif from_small_cost.leads_there(problem, kernel):
                exact = from_small_cost.solve(problem, kernel, budget_bytes, most_bytes, control, n_threads)
            else:
                continue
        except PathLost:
            continue
        except Stopped as stop:
            return ended(found, found, stop.status, "")
        gap = kkt_gap(exact.beta, exact.scores, problem.lower, problem.upper, problem.group)
        return ended(exact, found, exact.status if gap <= control.eps else SolveStatus.ROUNDING, f"{name}, path")
    return found


cdef object path_from(DualProblem problem, Kernel kernel, double budget_bytes, double most_bytes, Control control,
                      DualSolution found):
    """The exact optimum near ``found``. Raises PathLost, also where no path exists; Stopped."""
    from libsvmx._solvers.path.path import PathLost, path_of, solution_without

    cdef const double[::1] lower = problem.lower, upper = problem.upper, beta = found.beta
    cdef Py_ssize_t v
    cdef double n_free = 0
    for v in range(problem.size):
        if lower[v] >= upper[v]:
            raise PathLost("rows are held out")
        n_free += bound_state(beta[v], lower[v], upper[v], 0.0) == FREE
    if problem.groups == 2 or kernel.given or n_free * n_free * sizeof(double) > most_bytes:
        raise PathLost("no path exists")
    path = path_of(problem, kernel, budget_bytes, found.beta, control)
    return solution_without(path, problem, zeros("i", 0), path.state.totals, control)


cdef object ended(DualSolution best, DualSolution found, status, chosen):
    """``best``, with the work of ``found`` added."""
    if best is not found:
        best = best.with_work_of(found)
    return best.changed(status=status, chosen=chosen)


cdef class ChunkedSmo(WarmSmo):
    cdef bint cold                          # the start has no scores
    cdef bint rounded                       # it has none, or those of kernel values in float, all of K beta
    cdef const double[::1] first_beta       # beta for which the scores of fixed variables are right
    cdef const double[::1] first_scores
    cdef object settings                    # Chunked or IRWLS
    cdef Subproblem subproblem              # None before the first working set
    cdef Selection selection
    cdef ScoreUpdates updates
    cdef Py_ssize_t min_size                # of a working set
    cdef Py_ssize_t max_size
    cdef bint may_have_doubles              # least squares may solve working sets alone, in double; and do
    cdef bint has_doubles
    cdef bint begins_by_pairs               # with LIBSVM's steps, and their number
    cdef int64_t first_steps
    cdef int64_t rounds
    cdef int32_t[::1] working               # positions of the working set, later of those that have moved
    cdef int32_t[::1] last                  # by position: the round in which it was last in the working set
    cdef double[::1] coef                   # by place in ``working``: how far beta falls
    cdef Targets within                     # the working set
    cdef bint may_switch_to_double          # if rows in float hide too much
    cdef readonly bint far                  # from the optimum, and a path from a small C is faster
    cdef double path_decades                # decades of C on such a path; 0: none exists
    cdef Py_ssize_t min_free                # least number of free variables between two working sets so far
    cdef double half                        # of the gap after ``flops_then``
    cdef double flops_then

    def __init__(self, DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads,
                 settings):
        cdef double fitting
        self.cold = problem.scores is None or (problem.rounded and settings.precision == "double")
        self.rounded = self.cold or problem.rounded
        if self.cold:
            problem = problem.changed(scores=problem.linear)
        self.last, self.rounds = zeros("i", problem.size), 1
        WarmSmo.__init__(self, problem, kernel, (1.0 - SHARE_OF_SUBPROBLEM) * budget_bytes, control, n_threads)
        self.may_switch_to_double = settings.precision != "float"
        # one group: a path can finish if that stalls, too
        self.may_have_doubles = settings.least_squares and self.may_switch_to_double and self.groups == 1
        self.has_doubles = self.far = False
        self.min_free, self.half, self.flops_then, self.path_decades = problem.size, HUGE_VAL, 0.0, 0.0
        if (settings.least_squares and self.may_switch_to_double and control.max_iter == 0
                and leads_there(problem, kernel)):
            self.path_decades = decades(problem, kernel)
        fitting = sqrt(SHARE_OF_SUBPROBLEM * budget_bytes /
                       (sizeof(float) + (IN_DOUBLE if self.may_have_doubles else 0)))
        if settings.least_squares:
            fitting = min(fitting, MAX_FACTORED)
        self.max_size = min(settings.working_set or max(SMALLEST_SIZE, <Py_ssize_t>fitting), self.size)
        self.min_size = min(settings.working_set or USUAL_SIZE, self.max_size)
        self.selection = Selection(self.total, settings.working_set_rule, settings.keep_share, settings.random_state)
        self.settings = settings
        self.begins_by_pairs = settings.least_squares and not settings.working_set and self.cold
        self.working, self.coef = zeros("i", max(self.max_size, 1)), zeros("d", max(self.max_size, 1))
        self.updates = ScoreUpdates(<RowStore>self.store, self.size, settings.precision == "double", control)

    cdef int make_subproblem(self) except -1:
        """Allocate ``subproblem``, at the first working set."""
        settings, engine = self.settings, None
        if settings.least_squares:
            load_blas()
            from libsvmx._solvers.decomposition.irwls import LeastSquares  # SciPy takes its time to load

            engine = LeastSquares()
            per_pair = LEAST_SQUARES + (IN_DOUBLE if self.may_have_doubles else 0)
            require(per_pair * self.max_size ** 2, f"a working set of {self.max_size} variables",
                    "; a smaller --working-set needs less")
        selection = settings.working_set_rule, settings.keep_share, settings.random_state
        self.subproblem = Subproblem(self.max_size, self.groups, 0, engine, selection, self.control)
        return 0

    cdef object starting_order(self, DualProblem problem):
        order = WarmSmo.starting_order(self, problem)
        self.first_beta, self.first_scores = self.start_beta, self.start_scores
        if self.cold:  # V is not right yet
            self.active_size = self.size
        return order

    cdef int add_start(self) except -1 nogil:
        WarmSmo.add_start(self)
        if self.cold:
            self.add_all(True)
        return 0

    cdef int remember(self, bint everywhere) except -1:
        """Make the present beta and V the reference from which scores of shrunk variables are updated; with
        ``everywhere``, V is right for the fixed variables, too."""
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
        """1 at the optimum, 0 at a limit."""
        cdef double gap, before = HUGE_VAL, best = HUGE_VAL, gained = 0.0
        cdef Certificate found[2]
        cdef Py_ssize_t n
        cdef int64_t since = 0          # rounds without a smaller gap
        cdef int64_t steps = limit
        cdef bint going = True
        if self.begins_by_pairs and not self.updates.in_double and self.begin_by_pairs(limit):
            return 1
        if self.control.max_iter == 0:
            limit = min(limit * STEPS_FOR_ONE, MOST_STEPS * self.size)
        while self.iterations < limit and not self.control.expired:
            gap = self.control.gap = self.certify(found)
            since += 1
            if gap < 0.9 * best:
                best, since, gained = gap, 0, self.gained()
            if since > self.stall_rounds():
                going = not self.updates.in_double and self.gained() - gained > MIN_DECREASE * self.gained()
                since, gained = 0, self.gained()
            if gap < self.aim() or not going:
                if self.active_size < self.size:
                    self.bring_back()
                elif self.may_be_off():
                    self.switch_to_double()
                elif gap < self.aim():
                    return 1
                elif self.may_have_doubles and self.updates.in_double and not self.has_doubles:
                    self.has_doubles = True
                elif self.updates.in_double:
                    self.stalled = True
                    return 0
                else:  # the same matrix, but V in double
                    return Smo.iterate(self, limit)
                best, since, going = HUGE_VAL, 0, True
                continue
            if self.subproblem is None:
                with gil:
                    self.make_subproblem()
            if self.path_decades > 0:
                with gil:
                    steps = self.steps_before_path(gap)
                if steps <= 0:
                    self.far = True
                    break
            if self.is_stuck_in_float(gap, before):
                self.has_doubles = True
                if not self.updates.in_double:
                    self.bring_back()
                    self.switch_to_double()
                    continue
            before = gap
            self.rounds += 1
            n = self.choose()
            self.load(n)
            if self.control.expired:
                break
            self.subproblem.solve(max(0.5 * self.aim(), TIGHTNESS * gap), min(limit - self.iterations, steps))
            self.stepped += n * (self.first_steps + self.subproblem.steps - self.iterations)
            self.iterations = self.first_steps + self.subproblem.steps
            going = self.absorb()
            self.control.mark(MARK_STEP)
            self.control.poll()
            if self.control.shrinking and not self.updates.in_double and self.rounds % SHRINK_EVERY == 0:
                self.shrink()
        self.bring_back()
        return 0

    cdef bint begin_by_pairs(self, int64_t limit) except -1 nogil:
        """LIBSVM's steps as long as they are fast; whether they have reached the optimum.

        On easy problems the gap decays geometrically; on hard ones it stalls.
        """
        cdef double eps = self.control.eps, first, gap
        cdef int64_t first_steps = max(MIN_FIRST_STEPS, self.size // 4), since, steps = first_steps
        cdef Certificate found[2]
        self.control.eps = self.aim()
        try:
            if Smo.iterate(self, min(limit, first_steps)):
                return not self.may_be_off()
            first = self.certify(found)
            while self.iterations < limit and not self.control.expired:
                if Smo.iterate(self, min(limit, self.iterations + steps)):
                    return not self.may_be_off()
                gap, since, steps = self.certify(found), self.iterations - first_steps, self.size
                if not since * log(gap / self.control.eps) < MAX_STEPS_LEFT * self.size * log(first / gap):
                    break
            return False
        finally:
            self.control.eps = eps
            self.first_steps = self.iterations - (0 if self.subproblem is None else self.subproblem.steps)

    cdef double gained(self) noexcept nogil:
        """Decrease of the objective by working sets."""
        return 0.0 if self.subproblem is None else self.subproblem.gained

    cdef int64_t stall_rounds(self) noexcept nogil:
        """Rounds in which the gap need not fall by a tenth; small working sets need many to reach all variables."""
        cdef int64_t rounds = STALL_ROUNDS_IN_DOUBLE if self.updates.in_double else STALL_ROUNDS
        return rounds * (1 + self.active_size // self.min_size)

    cdef int64_t steps_before_path(self, double gap) except *:
        """Steps for the next working set before a path from a small C would be faster; also limits the flops.

        Rows that are free only for a time are not in the margin of the path, hence the least number of free rows.
        """
        cdef double flops = PER_VARIABLE * self.min_size * self.subproblem.steps + self.subproblem.engine.flops
        cdef double most, left
        self.min_free = min(self.min_free, self.count_free())
        if gap <= self.half:
            self.half, self.flops_then = 0.5 * gap, flops
        most = expected_ns((<RowStore>self.store).kernel.n, MARGIN_PER_FREE * self.min_free, self.path_decades)
        most = max(PATH_SHARE * FLOPS * most, MIN_FLOPS)
        left = min(self.flops_then + most, MAX_HALVES * most) - flops
        self.subproblem.engine.max_flops = self.subproblem.engine.flops + left
        return <int64_t>(left / (PER_VARIABLE * self.min_size))

    cdef object unfinished(self):
        return SolveStatus.ROUNDING if self.stalled or self.far else SolveStatus.ITERATION_LIMIT

    # ---- rounding of kernel values ------------------------------------------------------------

    cdef double aim(self) noexcept nogil:
        """The gap to reach: eps, less what rounding may hide."""
        if self.updates.in_double or not self.may_switch_to_double:
            return self.control.eps
        return (1.0 - SHARE_OF_EPS) * self.control.eps

    cdef bint may_be_off(self) noexcept nogil:
        """Whether rounding may hide more than its share of eps."""
        if self.updates.in_double or not self.may_switch_to_double:
            return False
        return self.updates.rounding(self.squares()) > SHARE_OF_EPS * self.control.eps

    cdef bint is_stuck_in_float(self, double gap, double before) noexcept nogil:
        """Whether least squares need the kernel in double; ``before``: the gap before the last working set."""
        return (self.may_have_doubles and not self.has_doubles and gap > STUCK * before and
                self.updates.rounding(self.squares()) > SHARE_OF_GAP * gap and
                self.count_free() <= min(FEW_FREE, self.max_size / PER_FREE))

    cdef double squares(self) noexcept nogil:
        """Squared distance of beta from the beta whose scores are known without rounding."""
        cdef Py_ssize_t p
        cdef double difference, total = 0.0
        for p in range(self.size):
            difference = self.y[p] * self.alpha[p] - (0.0 if self.rounded else self.first_beta[self.variable[p]])
            total += difference * difference
        return total

    cdef int switch_to_double(self) except -1 nogil:
        """Recompute all scores in double, and update them in double from now on."""
        cdef Py_ssize_t p
        self.updates.in_double = True
        for p in range(self.total):
            self.V[p] = self.linear[p]
        self.add_all(False)
        return 0

    cdef int add_all(self, bint may_end) except -1 nogil:
        """V -= sum_j beta_j K_j over all variables, fixed ones included; all are active afterwards.

        ``may_end``: stop early at a limit.
        """
        cdef Py_ssize_t p, n = 0, size = self.size
        cdef Py_ssize_t most = min(self.working.shape[0],
                                   SVMX_SOURCES * (1 + VALUES_AT_ONCE // (SVMX_SOURCES * self.total)))
        self.size = self.active_size = self.total
        self.updates.stale = True
        for p in range(self.total):
            if self.alpha[p] != 0:
                self.working[n], self.coef[n] = <int32_t>p, -self.y[p] * self.alpha[p]
                n += 1
            if n == most or (p == self.total - 1 and n):
                self.move(n)
                n = 0
                if may_end and self.control.expired:
                    break
        self.size = self.active_size = size
        self.updates.stale = True
        with gil:
            self.remember(True)
        return 0

    # ---- a round ------------------------------------------------------------------------------

    cdef Py_ssize_t choose(self) noexcept nogil:
        """Fill ``working``; returns its size."""
        cdef Py_ssize_t size = min(self.max_size, max(self.min_size, <Py_ssize_t>(PER_FREE * self.count_free())))
        return self.selection.choose(self.active_size, self.groups, &self.V[0], &self.up[0, 0], &self.low[0, 0],
                                     self.total, &self.last[0], <int32_t>self.rounds, size, &self.working[0])

    cdef int load(self, Py_ssize_t n) except -1 nogil:
        """Load the first n of ``working`` into the subproblem; only partly where a stop is due."""
        cdef int32_t sources[SVMX_SOURCES]
        cdef float *rows[SVMX_SOURCES]
        cdef Py_ssize_t k, p
        cdef int s, count
        cdef bint positive
        self.subproblem.begin(n)
        for k in range(n):
            p = self.working[k]
            positive = self.y[p] > 0
            self.subproblem.put(k, self.V[p], self.y[p] * self.alpha[p], 0.0 if positive else -self.C[p],
                                self.C[p] if positive else 0.0, self.QD[p], 0 if self.groups == 1 or positive else 1)
        with gil:
            places = kernel_rows(<RowStore>self.store, &self.working[0], n)
            if self.has_doubles:
                self.subproblem.lay_doubles(self.store.kernel.double_targets(places), places)
                return 0
            self.within = self.store.kernel.targets(places)
        k = 0
        while k < n:
            count = <int>min(<Py_ssize_t>SVMX_SOURCES, n - k)
            for s in range(count):
                sources[s] = self.store.index[self.working[k + s]]
                rows[s] = &self.subproblem.K[(k + s) * self.subproblem.stride]
            self.store.kernel.values_computed += self.within.fill_rows(sources, count, n, rows, self.store.pool)
            k += count
            self.control.worked(4 * count * n)
            if self.control.expired:
                return 0
        for k in range(n):  # as in the rows, so that steps fit them
            self.subproblem.diagonal[k] = self.subproblem.K[k * self.subproblem.stride + k]
        return 0

    cdef bint absorb(self) except -1 nogil:
        """Take over the subproblem's solution; False if nothing has changed."""
        cdef Py_ssize_t k, p, n = 0
        cdef double beta
        for k in range(self.subproblem.size):
            p = self.working[k]
            beta = self.y[p] * self.alpha[p]
            if self.subproblem.beta[k] != beta:
                self.working[n], self.coef[n] = <int32_t>p, beta - self.subproblem.beta[k]
                self.alpha[p] = fabs(self.subproblem.beta[k])
                self.update_status(p)
                n += 1
        self.move(n)
        return n > 0

    cdef int move(self, Py_ssize_t n) except -1 nogil:
        """V += sum_k coef_k K_k over the first n positions of ``working``."""
        return self.updates.add(n, &self.working[0], &self.coef[0], self.active_size, &self.V[0])

    # ---- shrinking ----------------------------------------------------------------------------

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        self.last[a], self.last[b] = self.last[b], self.last[a]
        return Smo.swap(self, a, b)

    cdef int shrink(self) except -1 nogil:
        cdef Py_ssize_t before = self.active_size
        Smo.shrink(self)
        self.updates.stale |= self.active_size != before
        return 0

    cdef int unshrink(self) except -1 nogil:
        self.updates.stale |= self.active_size < self.size
        Smo.unshrink(self)
        with gil:
            self.remember(False)
        return 0

    cdef object solution(self, status, int64_t subproblems=0, int64_t fallbacks=0):
        self.start_beta, self.start_scores = self.first_beta, self.first_scores
        if self.subproblem is None:
            return WarmSmo.solution(self, status)
        return WarmSmo.solution(self, status, self.subproblem.subproblems, self.subproblem.fallbacks)

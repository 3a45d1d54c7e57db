from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.stopping cimport Control
from libsvmx._solvers.path.path_state cimport PathState


cdef struct Numbers:    # growing array
    double *at
    Py_ssize_t size
    Py_ssize_t room


cdef class Trace:
    cdef readonly bint keeps            # coefficients, by variable
    cdef readonly bint has_targets      # losses are summed, squares or, with tau >= 0, pinball losses
    cdef double tau
    cdef readonly Py_ssize_t n_lines
    cdef double first, last             # C at eta = 0 and at eta = 1
    cdef Numbers lines, sets, members, crossings
    cdef int8_t[::1] seen               # the set of each variable on the last line
    cdef int32_t[::1] test_of           # by tag: number of a test row, -1 for others
    cdef int32_t[::1] position          # of each test row
    cdef const double[::1] target
    cdef int8_t[::1] positive           # whether its decision value is, -1: not known yet
    cdef int begin(self, PathState s, double first, double last) except -1
    cdef int line(self, PathState s, const double *velocity, const double *dF, double eta, double begin, double length,
                  double rho, double drho, bint resting) except -1 nogil
    cdef int keep(self, PathState s, const double *velocity, const double *dF, double begin, double length,
                  bint resting) except -1 nogil
    cdef int test(self, PathState s, const double *dF, double begin, double length, double rho, double drho, double C,
                  double end) except -1 nogil
    cdef int cross(self, double C, Py_ssize_t k, bint positive) except -1 nogil


cdef class Motion:
    cdef readonly PathState state
    cdef Control control
    cdef Trace trace                        # records the lines, or None
    # counts since ``begin``
    cdef readonly int64_t breakpoints       # variables that changed sets
    cdef readonly int64_t steps             # straight lines of length > 0
    cdef readonly int64_t exchanges         # along a null direction
    cdef readonly int64_t repairs           # paths in the linear term
    cdef readonly double work               # as ``Control`` counts it
    cdef double most_work                   # limit of the work of a fold's path, extrapolated
    cdef double glimpse                     # share of that, or of ``most_cost``, after which it is extrapolated
    cdef double cost                        # of the lines, in half nanoseconds, without kernel rows
    cdef int64_t rows_before                # ``rows_computed`` then
    cdef double most_cost                   # of another way, and how much of it falls to 0 as the path is followed
    cdef double falling_cost
    cdef double cost_before                 # ``total_cost`` before the path: a repair follows another path
    cdef double speed_before                # ``speed_outside`` at its begin
    cdef int64_t breakpoints_before
    cdef double many_values                 # K_:M, from which shrinking is tried
    cdef double far                         # distance of shrunk rows, in lengths of the path at their own speed,
    cdef double far_at_mean                 # and at the mean speed of all rows, if > 0
    cdef const char *lost                   # why the path cannot be followed, or NULL
    # per unit of eta
    cdef double eta
    cdef double wanted[2]                   # of the sum of beta over each group
    cdef double sum_residual[2]             # the same without the moving set: to come from the margin
    cdef double dlevel[2]
    cdef double speed_outside               # sum |velocity|
    cdef double speed                       # the same with d beta_M
    cdef bint directed                      # ``direction`` is up to date
    cdef bint bounds_move
    cdef bint linear_moves
    cdef bint others_move                   # or have moved: beta outside the margin
    cdef double[::1] velocity               # of beta outside the margin, by variable
    cdef double[::1] dlinear
    cdef double[::1] dlower
    cdef double[::1] dupper
    cdef double[::1] W                      # sum of velocity K, by row
    cdef double blur                        # bound on the rounding errors of W
    cdef double[::1] dF
    cdef double[::1] relative               # two groups: linear and dlinear minus the levels
    cdef double[::1] drelative
    cdef double[::1] final_linear           # the linear term at the end if it moves, else None
    cdef double[::1] start_beta             # when rows were shrunk
    cdef int8_t[::1] near                   # by row, scratch: whether it stays active
    # scales
    cdef double mass                        # sum |beta|, and the initial sum |velocity|
    cdef double typical                     # the largest |beta| within its bounds
    cdef double rounded                     # rounding of a sum of beta, which one variable may have to absorb
    cdef double scale                       # of V
    cdef double sharpness                   # tolerance of V
    cdef double slowest                     # speeds of V below it are rounding
    cdef void reset_counts(self, double most_work) noexcept nogil
    cdef double total_cost(self) noexcept nogil
    cdef double line_cost(self, double active) noexcept nogil
    cdef double row_cost(self) noexcept nogil
    cdef int make_room(self) except -1
    cdef int reset(self) except -1 nogil
    cdef int tick(self, int64_t amount) except -1 nogil
    cdef int need_sums(self) except -1 nogil
    cdef int start_moving(self, Py_ssize_t v, double velocity) except -1 nogil
    cdef int stop_moving(self, Py_ssize_t v) except -1 nogil
    cdef int resum_if_stale(self) except -1 nogil
    cdef int fix_at_bound(self, Py_ssize_t v, bint upper) except -1 nogil
    cdef void round_to(self, Py_ssize_t v, double beta) noexcept nogil
    cdef int direction(self) except -1 nogil
    cdef void solve_margin(self) noexcept nogil
    cdef void advance(self, double step) noexcept nogil
    cdef double near_bound(self, Py_ssize_t v) noexcept nogil
    cdef bint is_free(self, Py_ssize_t v) noexcept nogil
    cdef double tolerance(self) noexcept nogil


cdef enum:
    AT_END = -2     # the line ends at eta = 1

cdef Py_ssize_t next_breakpoint(Motion motion, PathState s, double *step) noexcept nogil

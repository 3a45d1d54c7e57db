from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.fold_change cimport FoldStart, StartRows


cpdef double most_in_star(double from_nothing) noexcept nogil
cdef double most_of_auto(double from_nothing, double steps, double m, double margin, double leaving) noexcept nogil


cdef class PathBudget:
    cdef readonly double to_beat    # work of a fold from a start that costs next to nothing, negative: not known yet
    cdef double scale
    cdef int wait, next_wait
    cdef void start(self, double n_folds) noexcept nogil
    cdef double most(self, double from_nothing) noexcept nogil
    cdef void note(self, bint along_path, bint whole, double path_work, double solve_work) noexcept nogil


cdef class AtoPath:
    # what tests and reports read
    cdef readonly double eta
    cdef readonly Py_ssize_t lines
    cdef readonly double work
    cdef readonly bint whole         # it came to its end, before what was mended
    # by variable
    cdef int8_t[::1] where, violating
    cdef double[::1] before, nothing
    cdef double folds_to_come        # among which the work of a factor from nothing is shared
    cdef double[::1] velocity, W, dV
    cdef int32_t[::1] place          # among the near ones, -1: far
    cdef int32_t[::1] variable_of    # by column, for ``keep``
    # of the near ones
    cdef Py_ssize_t n_near
    cdef int32_t[::1] near
    cdef double[::1] near_V, near_W, near_dF
    # of the margin, in the order of the factor
    cdef Cholesky factor
    cdef int32_t[::1] member, member_column, slot
    cdef double[::1] x, first, second, column, coef
    cdef const double **rows         # scratch: those of ``direction``
    cdef int32_t[::1] free_slots
    cdef Py_ssize_t n_free_slots, n_slots
    cdef double *values              # K of members with the near ones, (n_slots, n_near)
    cdef Py_ssize_t room_for_values
    cdef int n_members[2]
    cdef double shift, ridge
    cdef double d_level[2]
    cdef double level[2]
    cdef double sum_residual[2]
    cdef int reserve(self, Py_ssize_t m, Py_ssize_t columns) except -1
    cdef int forget(self) noexcept nogil
    cdef bint follow(self, FoldStart *at, StartRows rows, Control control, double most_work,
                     double *scores) except -1 nogil
    cdef bint violates(self, FoldStart *at, Control control) noexcept nogil
    cdef bint go(self, FoldStart *at, StartRows rows, Control control, double most_work, double glimpse) except -1 nogil
    cdef int begin(self, FoldStart *at, StartRows rows, Control control) except -1 nogil
    cdef bint keep_factor(self, FoldStart *at, StartRows rows, Control control, double most_work) except -1 nogil
    cdef void scale_by(self, double diagonal) noexcept nogil
    cdef bint append(self, FoldStart *at, StartRows rows, Py_ssize_t v) except -1 nogil
    cdef void remove(self, Py_ssize_t k) noexcept nogil
    cdef bint direction(self, FoldStart *at, bint everywhere) noexcept nogil
    cdef int spread(self, FoldStart *at, StartRows rows, Control control) except -1 nogil
    cdef bint choose_near(self, FoldStart *at, StartRows rows) except -1 nogil
    cdef int take_slot(self, FoldStart *at, StartRows rows, Py_ssize_t k) except -1 nogil
    cdef Py_ssize_t breakpoint(self, FoldStart *at, double *step) noexcept nogil
    cdef void advance(self, FoldStart *at, double step) noexcept nogil
    cdef bint leave_margin(self, FoldStart *at, StartRows rows, Py_ssize_t k) except -1 nogil
    cdef bint join_margin(self, FoldStart *at, StartRows rows, Py_ssize_t v) except -1 nogil
    cdef int stop_moving(self, FoldStart *at, StartRows rows, Py_ssize_t v) except -1 nogil
    cdef Py_ssize_t first_to_answer(self, FoldStart *at, int g, Py_ssize_t n, const int32_t *among,
                                    const double *V) noexcept nogil
    cdef bint answer(self, FoldStart *at, StartRows rows, Py_ssize_t v, double V) except -1 nogil
    cdef int finish(self, FoldStart *at, StartRows rows) except -1 nogil

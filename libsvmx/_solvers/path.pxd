from libc.stdint cimport int64_t

from libsvmx._solvers.control cimport Control
from libsvmx._solvers.pathstate cimport PathState


cdef class Path(PathState):
    cdef readonly int64_t breakpoints       # of the last path: a variable changed sets
    cdef readonly int64_t steps             # straight lines of length > 0
    cdef readonly int64_t pivots            # exchanges along a null direction
    cdef readonly int64_t polished          # paths in the linear term that repaired drift
    cdef readonly double drift              # bound on what rounding has done to F since it was last computed
    cdef readonly bint rough                # left by SMO: no exact optimum, no path from here
    cdef Control control
    cdef double eta
    cdef double lack                        # what the sum still misses per unit of eta, to come from the margin
    cdef double dlevel
    cdef bint moving                        # bounds move
    # by variable, per unit of eta
    cdef double[::1] velocity               # of beta outside the margin
    cdef double[::1] dlinear
    cdef double[::1] dlow
    cdef double[::1] dhigh
    # by row
    cdef double[::1] W                      # sum of velocity K
    cdef double[::1] dF
    cdef double scale                       # of V
    cdef double sharpness                   # V is compared to within it
    cdef double slowest                     # speeds of V below it are rounding
    cdef int prepare(self) except -1
    cdef int follow(self) except -1
    cdef int direction(self) except -1
    cdef double speed(self, Py_ssize_t v, double *distance, double *sharpness) noexcept nogil
    cdef Py_ssize_t breakpoint(self, double *step) noexcept nogil
    cdef void advance(self, double step) noexcept nogil
    cdef int turn(self, Py_ssize_t v) except -1
    cdef int enter(self, Py_ssize_t v, double rate) except -1
    cdef int exchange(self, Py_ssize_t v, double sign) except -1
    cdef int rest(self, Py_ssize_t v, bint high) except -1
    cdef int drive(self, Py_ssize_t v, double velocity) except -1
    cdef int halt(self, Py_ssize_t v) except -1
    cdef bint fill_margin(self) except -1
    cdef double open_interval(self, double h, Py_ssize_t *below, Py_ssize_t *above) noexcept nogil
    cdef void level_of_free(self) noexcept nogil
    cdef void loosen(self) noexcept nogil
    cdef int refresh(self, bint everywhere) except -1
    cdef void centre(self) noexcept nogil
    cdef int gather_margin(self) except -1
    cdef int polish_once(self) except -1

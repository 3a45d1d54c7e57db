from libc.stdint cimport int64_t

from libsvmx._solvers.control cimport Control
from libsvmx._solvers.path.path_state cimport PathState


cdef class Walk(PathState):
    cdef readonly int64_t breakpoints       # of the last path: a variable changed sets
    cdef readonly int64_t steps             # straight lines of length > 0
    cdef readonly int64_t pivots            # exchanges along a null direction
    cdef Control control
    cdef double eta
    cdef double lack                        # what the sum still misses per unit of eta, to come from the margin
    cdef double dlevel
    cdef double driven                      # sum |velocity|
    cdef double reach                       # the same with d beta_M
    cdef double mass                        # sum |beta|, and of what moved at first
    cdef double typical                     # the largest |beta| within its bounds
    cdef bint moving                        # bounds move
    # by variable, per unit of eta
    cdef double[::1] velocity               # of beta outside the margin
    cdef double[::1] dlinear
    cdef double[::1] dlow
    cdef double[::1] dhigh
    cdef double[::1] given                  # linear term to come to in the end, if it changes
    cdef double[::1] start_beta             # when rows were put aside
    # by row
    cdef double[::1] W                      # sum of velocity K
    cdef double[::1] dF
    cdef double scale                       # of V
    cdef double sharpness                   # V is compared to within it
    cdef double slowest                     # speeds of V below it are rounding
    cdef int prepare(self) except -1
    cdef int follow(self) except -1
    cdef int tick(self, int64_t amount) except -1
    cdef int direction(self) except -1
    cdef double speed(self, Py_ssize_t k, double *distance) noexcept nogil
    cdef Py_ssize_t breakpoint(self, double *step) noexcept nogil
    cdef void advance(self, double step) noexcept nogil
    cdef int turn(self, Py_ssize_t v) except -1
    cdef int enter(self, Py_ssize_t v, double rate) except -1
    cdef bint is_regular(self, double pivot) except -1
    cdef double near_bound(self, Py_ssize_t v) noexcept nogil
    cdef int exchange(self, Py_ssize_t v, double sign) except -1
    cdef int rest(self, Py_ssize_t v, bint high) except -1
    cdef int drive(self, Py_ssize_t v, double velocity) except -1
    cdef int halt(self, Py_ssize_t v) except -1
    cdef bint fill_margin(self) except -1
    cdef double open_interval(self, double h, Py_ssize_t *below, Py_ssize_t *above) noexcept nogil
    cdef void centre(self) noexcept nogil
    cdef int put_aside(self) except -1
    cdef void exchange_numbers(self, Py_ssize_t v, Py_ssize_t w) noexcept nogil
    cdef int bring_back(self) except -1

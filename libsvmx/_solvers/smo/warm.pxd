from libsvmx._core.stopping cimport Control
from libsvmx._solvers.dual cimport Dual, DualProblem
from libsvmx._solvers.path.path_state cimport PathState
from libsvmx._solvers.smo.smo cimport Smo


cdef class WarmSmo(Smo):
    cdef const double[::1] start_beta       # by variable
    cdef const double[::1] start_scores
    cdef int make_current(self, Py_ssize_t begin, Py_ssize_t end) except -1 nogil


cdef class QueuedWarmSmo(WarmSmo):
    pass


cdef class GrowingSmo(WarmSmo):
    cdef double[::1] kept_beta      # by variable; start_beta and start_scores from the second C on
    cdef double[::1] kept_scores
    cdef double[::1] linear_of      # by variable, like the next two
    cdef double[::1] lower
    cdef double[::1] upper
    cdef Dual box                   # views of linear_of, lower and upper
    cdef DualProblem given          # the first problem, with the rows to predict
    cdef object optimum(self, began=*)
    cdef int enlarge(self, double growth) except -1


cdef int smo_in_double(PathState state, double eps, Control control) except -1
cdef bint restore_sums(PathState state) except -1

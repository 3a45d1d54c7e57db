from libsvmx._solvers.control cimport Control
from libsvmx._solvers.path.path_state cimport PathState

cdef int smo_in_double(PathState state, double eps, Control control) except -1
cdef bint restore_sums(PathState state) except -1

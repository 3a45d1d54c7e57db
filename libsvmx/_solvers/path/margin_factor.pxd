from libsvmx._solvers.path.path_state cimport PathState

cdef double border_margin(PathState s, Py_ssize_t v) except? -1.0 nogil
cdef void append_to_margin(PathState s, Py_ssize_t v, double schur) noexcept nogil
cdef void remove_from_margin(PathState s, Py_ssize_t v) noexcept nogil
cdef void clear_margin(PathState s) noexcept nogil
cdef int add_margin_rows(PathState s, const double *coef, Py_ssize_t n, double *out) except -1 nogil
cdef int rescale_shift(PathState s) except -1

from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.arrays cimport Memory
from libsvmx._core.dispatch cimport svmx_pairing
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.kernel_matrix cimport Kernel
from libsvmx._kernels.rowstore cimport KernelRows


cdef class AlphaForm:
    cdef readonly double[::1] alpha
    cdef readonly double[::1] C
    cdef readonly int8_t[::1] y


cdef class Positions:
    cdef Py_ssize_t total       # variables
    cdef Py_ssize_t size        # positions [0, size) are optimised; in a cold start all
    cdef Py_ssize_t active_size    # positions [0, active_size) are not shrunk
    cdef int groups             # 1 or 2
    cdef bint unit_diagonal     # K_ii = 1 throughout
    # by position
    cdef double[::1] V
    cdef double[::1] alpha
    cdef double[::1] C
    cdef double[::1] QD
    cdef double[::1] linear
    cdef int8_t[::1] y
    cdef int32_t[::1] variable
    cdef float[:, ::1] up       # (groups, size): 0 in I_up of the group, -inf outside
    cdef float[:, ::1] low      # (groups, size): 0 in I_low of the group, +inf outside
    cdef int hold(self, Py_ssize_t m, int groups) except -1
    cdef void clear(self, Py_ssize_t m, int groups) noexcept nogil
    cdef void put(self, Py_ssize_t p, int32_t v, double linear, double alpha, double C, int8_t y,
                  double diagonal) noexcept nogil
    cdef void update_status(self, Py_ssize_t p) noexcept nogil
    cdef void close(self, Py_ssize_t p) noexcept nogil
    cdef bint is_free(self, Py_ssize_t p) noexcept nogil
    cdef void exchange(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil


cdef class PositionsWithRows(Positions):
    cdef KernelRows store
    cdef const float *violator_row(self, Py_ssize_t i, int g) except NULL nogil
    cdef const float *partner_row(self, Py_ssize_t j, int g, Py_ssize_t i, const float *K_i) except NULL nogil
    cdef int before_rows(self) except -1 nogil
    cdef int fetch_likely(self, Py_ssize_t p, int g, Py_ssize_t i, const float *K_i) except -1 nogil
    cdef int fetch_next(self, Py_ssize_t p) except -1 nogil


cdef struct Part:
    int64_t found               # last position of the largest value, -1: none
    double largest
    double gap
    char apart[64]              # padding against false sharing


cdef class Scans:
    cdef ThreadPool pool
    cdef float[::1] tops        # scratch of svmx_partner
    cdef Part *parts
    # arguments of the current pass
    cdef Py_ssize_t n
    cdef Py_ssize_t n_parts
    cdef double *V
    cdef const float *K_i
    cdef const float *K_j
    cdef const float *up
    cdef double dbeta_i
    cdef double dbeta_j
    cdef const svmx_pairing *pair
    cdef double eps
    cdef int64_t update_max_violator(self, Py_ssize_t n, double *V, const float *K_i, const float *K_j, double dbeta_i,
                                     double dbeta_j, const float *up, double *maximum) noexcept nogil
    cdef int64_t partner(self, const svmx_pairing *pair, Py_ssize_t n, double eps, double *largest,
                         double *gap) noexcept nogil
    cdef Py_ssize_t cut(self, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t begin(self, int64_t part) noexcept nogil
    cdef int64_t join(self, double *largest) noexcept nogil
    cdef void update_part(self, int64_t number) noexcept nogil
    cdef void partner_of_part(self, int64_t number) noexcept nogil


cdef class DeferredUpdates:
    cdef int32_t *source
    cdef double *coef
    cdef const float **row          # scratch: stored row of each update's source
    cdef readonly int64_t n
    cdef int64_t room
    cdef int add(self, int32_t source, double coef) except -1 nogil
    cdef int apply(self, int64_t first, KernelRows store, const int32_t *positions, Py_ssize_t n, double *scores,
                   bint transposed, Control control) except -1 nogil
    cdef int apply_by_row(self, int64_t first, KernelRows store, const int32_t *positions, Py_ssize_t n, double *scores,
                          bint transposed, Control control) except -1
    cdef bint are_stored(self, int64_t first, KernelRows store) except -1 nogil
    cdef int apply_rows(self, int64_t first, ThreadPool pool, const int32_t *positions, Py_ssize_t n, double *scores,
                        Control control) except -1 nogil
    cdef int apply_shared(self, int64_t first, KernelRows store, rows, double *scores, Control control) except -1
    cdef int apply_blocks(self, int64_t first, KernelRows store, const int32_t *positions, const int32_t[::1] rows,
                          double *scores, bint transposed, bint usable, Control control) except -1


cdef class GBar:
    cdef readonly DeferredUpdates updates
    cdef Py_ssize_t n               # kernel rows
    cdef Memory memory              # of the arrays: typed memoryviews would take as long as a dozen steps
    cdef double *scores
    cdef int64_t *seen              # number of updates that scores[row] includes
    cdef unsigned char *sources     # by row: whether it is the source of a pending update
    cdef bint level                 # no pending update is in any score
    cdef int64_t limit
    # scratch of make_current
    cdef int32_t *every
    cdef int32_t *late
    cdef double *sums
    cdef void begin(self, Py_ssize_t n) noexcept nogil
    cdef int add(self, int32_t row, double coef, KernelRows store, Control control) except -1 nogil
    cdef int before_rows(self, KernelRows store, Control control) except -1 nogil
    cdef int clear(self, KernelRows store, Control control) except -1 nogil
    cdef bint make_stored(self, KernelRows store, Control control) except -1 nogil
    cdef int make_current(self, KernelRows store, const int32_t *positions, Py_ssize_t n,
                          Control control) except -1 nogil

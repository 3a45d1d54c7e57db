from libc.stdint cimport int64_t

from libsvmx._core.smo_steps cimport svmx_pairing
from libsvmx._core.thread_pool cimport ThreadPool


cdef struct Part:
    int64_t found               # the last position of the largest value, -1 if there is none
    double largest
    double gap
    char apart[64]              # threads write to parts side by side


cdef class Scans:
    cdef ThreadPool pool
    cdef float[::1] tops        # of svmx_partner
    cdef Part *parts
    # what the parts are of
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

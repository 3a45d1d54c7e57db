from libc.stdint cimport int32_t, int64_t

from libsvmx._kernels.gram cimport KernelValues, Slab


cdef class ClassValues(KernelValues):
    cdef readonly object starts     # list of int: first row of each class, and the end
    cdef readonly bint for_threads
    cdef object targets             # the rows of each class, of which ``target`` has the addresses
    cdef void **target
    cdef Slab own_slab              # values of each class with itself, or none; ``own`` has their addresses
    cdef float **own
    cdef int64_t[::1] start
    cdef int32_t[::1] class_of


cdef class PairValues(KernelValues):
    cdef ClassValues classes        # keeps what these are:
    cdef const int64_t *start
    cdef const int32_t *class_of
    cdef void **target
    cdef float **own
    cdef Slab slab
    cdef float *values              # (rows of two classes, stride), of ``slab``, in the order in which they are asked for
    cdef int32_t[::1] slot_of       # of each place, -1 if its row was not asked for
    cdef int32_t n_slots
    cdef Py_ssize_t stride
    cdef int32_t a                  # the classes, a < b
    cdef int32_t b
    cdef Py_ssize_t n_a
    cdef Py_ssize_t n_b
    cdef void fill(self, int32_t row, int32_t c, float *values) noexcept nogil

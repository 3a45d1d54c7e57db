from libc.stdint cimport int32_t


cdef void *take_slab(size_t bytes) noexcept nogil
cdef void give_slab(void *slab, size_t bytes) noexcept nogil
cdef void give_slabs(float **slabs, Py_ssize_t n, size_t bytes) noexcept nogil


cdef class Memory:
    cdef str kind
    cdef void *items
    cdef Py_ssize_t n
    cdef Py_ssize_t size            # of an item
    cdef int ndim
    cdef Py_ssize_t shape[2]
    cdef Py_ssize_t strides[2]


# ``zeros`` or ``empty``, and ``table``, for typed memoryviews: without Python's memoryview in between, they take half
# the time.
cdef Memory memory(str kind, Py_ssize_t n, bint zeroed=*)
cdef Memory memory_table(str kind, Py_ssize_t rows, Py_ssize_t columns)


# The items of a buffer, and their number, as long as it is there and nobody else has the GIL: a typed memoryview takes
# five times as long. They raise, as that does, for a buffer of another kind.
cdef const int32_t *int32_of(values, Py_ssize_t *n) except NULL
cdef const double *float64_of(values, Py_ssize_t *n) except NULL

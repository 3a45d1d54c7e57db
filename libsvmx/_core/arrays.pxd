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


# ``zeros`` or ``empty``, and ``table``, for typed memoryviews: without Python's memoryview in between, they take half the
# time.
cdef Memory memory(str kind, Py_ssize_t n, bint zeroed=*)
cdef Memory memory_table(str kind, Py_ssize_t rows, Py_ssize_t columns)

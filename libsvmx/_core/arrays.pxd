cdef void *take_slab(size_t bytes) noexcept nogil
cdef void give_slab(void *slab, size_t bytes) noexcept nogil
cdef void give_slabs(float **slabs, Py_ssize_t n, size_t bytes) noexcept nogil

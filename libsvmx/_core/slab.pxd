cdef extern from "slab.h" nogil:
    void *svmx_take_slab(size_t bytes) noexcept
    void svmx_give_slab(void *slab, size_t bytes) noexcept
    void svmx_give_slabs(float **slabs, Py_ssize_t n, size_t bytes) noexcept
    void svmx_drop_slabs() noexcept
    size_t SVMX_SLAB

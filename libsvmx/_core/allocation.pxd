from libc.stdlib cimport realloc


cdef inline int reallocate(void **items, size_t n_bytes, const char *what) except -1 nogil:
    """Resize an array, keeping its items. ``what``: text of MemoryError."""
    cdef void *resized = realloc(items[0], n_bytes)
    if resized == NULL:
        with gil:
            raise MemoryError(what.decode("ascii"))
    items[0] = resized
    return 0


cdef inline int reserve(void **items, Py_ssize_t *room, Py_ssize_t n, size_t size, const char *what) except -1 nogil:
    """Make room for n items of ``size`` bytes in an array with ``room`` for as many, doubling it if needed."""
    cdef Py_ssize_t more = max(n, 2 * room[0] + 64)
    if n > room[0]:
        reallocate(items, more * size, what)
        room[0] = more
    return 0

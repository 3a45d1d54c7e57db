cdef int fit(Py_ssize_t l, const double *dec, const double *y, double *t, double *A_out, double *B_out) noexcept nogil

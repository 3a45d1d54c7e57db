cdef extern from "clock.h" nogil:
    double svmx_nanoseconds() noexcept

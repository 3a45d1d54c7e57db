cpdef double most_in_star(double from_nothing) noexcept nogil
cdef double most_of_auto(double from_nothing, double steps, double m, double margin, double leaving) noexcept nogil


cdef class PathBudget:
    cdef readonly double to_beat    # work of a fold from a start that costs next to nothing, negative: not known yet
    cdef double scale
    cdef int wait, next_wait
    cdef void start(self, double n_folds) noexcept nogil
    cdef double most(self, double from_nothing) noexcept nogil
    cdef void note(self, bint along_path, bint whole, double path_work, double solve_work) noexcept nogil

# How a fold is begun.
cdef enum StartKind:
    COLD            # from alpha = 0, or as LIBSVM
    SEEDED          # a seeder passes on what leaves, in one step
    PATH            # it follows a path


# The paths, by what a value of them costs.
cdef enum PathKind:
    OWN_FACTOR      # of a star: begins with its own factor
    KEPT_FACTOR     # of a chain: keeps that of the fold before
    IN_DOUBLE       # the exact one, from a factor that is there
    SHARED_FACTOR   # of a star: begins with that of the optimum over all rows


# What earlier solves have taken.
cdef struct Taken:
    double by[3]            # by StartKind, start and solve; negative: unknown
    int wait[3]             # folds until a start that did not pay is tried again
    int next_wait[3]


cdef void begin(Taken *taken) noexcept nogil
cdef void average(Taken *taken, int kind, double work) noexcept nogil
cdef void note(Taken *taken, int kind, double work) noexcept nogil
cdef StartKind choose(const Taken *taken, double cold, double seeded, double path) noexcept nogil
cpdef double work_of_start(double n, double n_changed) noexcept nogil
cpdef double expected_seeded(double cold, double n, double n_changed, bint chained) noexcept nogil
cpdef bint share_too_few(double n, double n_changed) noexcept nogil
cpdef double expected_path(int kind, double m, double margin, double moving, double shared=*) noexcept nogil
cpdef double expected_paths(double n, double n_sv, double margin) noexcept nogil
cpdef bint pilots_pay(double cold, double paths) noexcept nogil
cpdef double work_of_path(int kind, double m, double values, double lines, double margin=*) noexcept nogil
cpdef double most_values(int kind, double work, double m=*, double margin=*) noexcept nogil

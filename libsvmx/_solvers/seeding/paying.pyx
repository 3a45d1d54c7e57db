"""How a fold is begun: by the start that is expected to take the least work, together with the solve.

    start       work expected, before a fold has shown it
    COLD        what the last cold start took, by its number of rows
    SEEDED      the start, and of a cold start's work the share that is left if so many rows change
    PATH        lines and their cost, by the margin and the rows that leave or enter

Once earlier folds of the list have had such a start, it is what these have taken:

* in a chain the folds before, on average. A start that took more than another is left out for the next fold, then for 2, 4,
  … folds, and then expected anew;
* in a star of a queue its pilots, the first two folds, or four of many. One of them, or two of four, follow a path if
  that is expected to take less than a cold start; the other two of four do not.

So a fold depends only on solves that come earlier in the list, and threads change nothing. A path ends where it has taken
what a cold start takes. A seeder by name has no path, but for ato, which is auto in a star.

Work is counted, not timed, in values: a third of what a step of SMO takes for a variable. SMO counts the active
variables of its steps (``work`` of Smo), a start its rows, a path the values that it reads and its lines.
"""

from libc.math cimport HUGE_VAL, cbrt

# Cost of a value, of a line, of a variable, and of a path besides, by PathKind. Measured on 9 sets of 400 and 900 rows: a
# path of a star takes 0.2 to 0.5 ns a value and 1.5 us a line, where a value of SMO takes 0.28; in a chain 0.2 to 0.3 ns a
# value; in double, on folds of 900 to 3,000 rows with margins of 17 to 380, 0.2 to 0.5 ns a value, 15 us a line, and 0.3 ms.
# A variable takes 150 to 580 values, in leave-one-out of abalone and random classes, 240 to 2,400 variables; with a shared
# factor about 350, in that of two sets of 300 rows.
cdef double VALUE[4]
cdef double LINE[4]
cdef double VARIABLE[4]
cdef double BESIDES[4]
VALUE[:] = [1.6, 0.8, 1.25, 0.9]
LINE[:] = [6e3, 4e3, 54e3, 4e3]
VARIABLE[:] = [150, 0, 0, 350]
BESIDES[:] = [36e3, 36e3, 1.1e6, 36e3]
# Of a path with a shared factor: for each value of the kernel rows of its margin, which it copies with the factor. Sets of
# 400 to 900 rows with margins of 77 to 450: a path of few lines took 4 and 5 ms with more than 400.
cdef double COPIED = 20.0
# Expected lines: constant, and per row with a coefficient that leaves or enters; and the share of all variables that they
# are followed for. Medians of the same sets, with a tenth and a hundredth of the rows held out: there were 0.2 to 20 times
# as many lines.
cdef double LINES_BESIDES = 10.0
cdef double LINES_OF_A_ROW = 5.0
cdef double NEAR_SHARE = 0.35

# Leave-one-out: share of the work expected of an exact path, which took .2 to .53 on abalone and random classes; and the
# work of a training, in such paths, from which on they are taken at once, since pilots would take long, too.
cdef double ONE_ROW = 0.38
cdef double LONG_TRAINING = 100.0

# Work of a start: constant, per row, and per row and row that leaves or enters. Measured on 11,500 folds of 30 to 860
# rows.
cdef double START_BESIDES = 8e3
cdef double START_OF_A_ROW = 100.0
cdef double START_OF_A_CHANGE = 2.0
# What it leaves of a cold start's work is expected to grow as the cubic root of the share of rows that change, up to all of
# it with this share, as with three folds of a chain. On 14 sets of 400 rows, two choices of parameters each, NEAR and AVG
# left 0 to 0.6 of the steps with a hundredth, 0.4 to 0.85 with a tenth.
cdef double CHANGES_ALL = 0.9


cpdef double work_of_start(double n, double n_changed) noexcept nogil:
    """Of a fold of n rows, in regression 2 n, of which ``n_changed`` leave or enter."""
    return START_BESIDES + n * (START_OF_A_ROW + START_OF_A_CHANGE * n_changed)


cpdef double expected_seeded(double cold, double n, double n_changed, bint chained) noexcept nogil:
    """Work of start and solve where a cold start takes ``cold``; in a chain, where one fold shows it to the next, of the
    start alone."""
    cdef double share = n_changed / max(1.0, CHANGES_ALL * n)
    if not chained:
        share = cbrt(share)
    elif share < 1.0:
        share = 0.0
    return work_of_start(n, n_changed) + (cold * share if share > 0 else 0.0)


cdef double besides(int kind, double m, double margin) noexcept nogil:
    """Cost of a path besides its values and lines."""
    return BESIDES[kind] + VARIABLE[kind] * m + (COPIED * margin * m if kind == SHARED_FACTOR else 0.0)


cpdef bint share_too_few(double n, double n_changed) noexcept nogil:
    """Whether nothing of a start is left in a chain, where ``n_changed`` rows leave or enter: no path is followed,
    either."""
    return n_changed >= CHANGES_ALL * max(1.0, n)


cpdef double expected_path(int kind, double m, double margin, double moving, double shared=0.0) noexcept nogil:
    """``m``: variables; ``margin``: free ones; ``moving``: rows with a coefficient that leave or enter; ``shared``: its
    part in a shared factor."""
    cdef double lines = LINES_BESIDES + LINES_OF_A_ROW * moving
    cdef double values = lines * margin * (margin + (1.0 if kind == IN_DOUBLE else NEAR_SHARE) * m)
    values += (1.0 if kind == OWN_FACTOR else shared) * margin ** 3 / 6
    return work_of_path(kind, m, values, lines, margin)


cpdef double expected_paths(double n, double n_sv, double margin) noexcept nogil:
    """Leave-one-out of n rows by the exact paths of those with a coefficient."""
    return n_sv * ONE_ROW * expected_path(IN_DOUBLE, n, margin, n_sv / max(1.0, n))


cpdef bint pilots_pay(double cold, double paths) noexcept nogil:
    """Whether pilots show if leave-one-out takes less than ``paths``; ``cold``: work of as many cold starts."""
    return cold <= LONG_TRAINING * paths


cpdef double work_of_path(int kind, double m, double values, double lines, double margin=0.0) noexcept nogil:
    return VALUE[kind] * values + LINE[kind] * lines + besides(kind, m, margin)


cpdef double most_values(int kind, double work, double m=0.0, double margin=0.0) noexcept nogil:
    """Values of a path that takes ``work`` at most."""
    return max(0.0, work - besides(kind, m, margin)) / VALUE[kind]


# ---- What earlier folds have taken -----------------------------------------------------------------

cdef void begin(Taken *taken) noexcept nogil:
    """Nothing is known."""
    cdef int kind
    for kind in range(3):
        taken.by[kind], taken.wait[kind], taken.next_wait[kind] = -1.0, 0, 1


cdef void average(Taken *taken, int kind, double work) noexcept nogil:
    taken.by[kind] = 0.5 * (taken.by[kind] + work) if taken.by[kind] >= 0 else work


cdef void note(Taken *taken, int kind, double work) noexcept nogil:
    """Note what the next fold of a chain has taken, its start included."""
    cdef int other
    cdef bint pays = True
    average(taken, kind, work)
    for other in range(3):
        if other != kind:
            pays = pays and not 0 <= taken.by[other] < taken.by[kind]
            if taken.wait[other] > 0:
                taken.wait[other] -= 1
                if taken.wait[other] == 0:
                    taken.by[other] = -1.0
    if kind != COLD and not pays:
        taken.wait[kind], taken.next_wait[kind] = taken.next_wait[kind], min(64, 2 * taken.next_wait[kind])
    elif pays:
        taken.next_wait[kind] = 1


cdef StartKind choose(const Taken *taken, double cold, double seeded, double path) noexcept nogil:
    """The start of the next fold.

    Arguments: work expected of each start before it is known; HUGE_VAL: there is no such start, or of ``cold``, nothing is
    known.
    """
    cdef double expected[3]
    cdef int kind, best = COLD
    expected[0], expected[1], expected[2] = cold, seeded, path
    if cold == HUGE_VAL:
        return SEEDED
    for kind in range(3):
        if taken.wait[kind] > 0:
            expected[kind] = HUGE_VAL
        elif taken.by[kind] >= 0:
            expected[kind] = taken.by[kind]
        if expected[kind] < expected[best]:
            best = kind
    return <StartKind>best


cdef class Account:
    """Account(): what the folds of a chain have taken, for Python."""

    cdef Taken taken

    def __cinit__(self):
        begin(&self.taken)

    def note(self, int kind, double work):
        """See ``note`` above."""
        note(&self.taken, kind, work)

    def choose(self, double cold, double seeded, double path):
        """See ``choose`` above."""
        return <int>choose(&self.taken, cold, seeded, path)


STARTS = (COLD, SEEDED, PATH)
PATHS = (OWN_FACTOR, KEPT_FACTOR, IN_DOUBLE)

"""How much work a path of ATO is worth.

In a chain, the first fold that is seeded starts as SIR has it, which costs next to nothing: what the solver takes from
there is what a path must beat. After a path that did not, one fold, then two, four … start as SIR has it before the next
one is tried. So the paths that do not pay are few, and ATO takes little more than SIR where its path is long.
"""

from libc.math cimport HUGE_VAL

# Of the work of a solve without it, what a path may take.
cdef double PATH_SHARE = 0.8
# What a path works on takes longer than what SMO does: each line reads the factor twice. Measured on folds of 200 to 1,600
# rows, where a value took 0.13 to 0.2 ns in SMO and 0.2 to 0.3 ns on a path.
cdef double COST_OF_A_VALUE = 1.6
# In a chain of fewer folds a path that does not pay would cost too much of the whole: the first must pay sooner.
cdef double MANY_FOLDS = 40.0

# In a star, where folds do not know of each other, what a path may take is a part of the work of a solve from nothing.
cdef double STAR_SHARE = 0.4
# There auto tries it where such a solve takes so many steps for each variable (else seeds save less, and a path as much),
cdef double MANY_STEPS = 3.0
# and where it is expected to take no more than this part of its time.
cdef double EXPECTED_SHARE = 0.6
# Lines of such a path, for each row with a coefficient that leaves, and besides; and the part of all variables that lines
# are followed for. Measured on folds of 80 to 1,600 rows, a tenth and a hundredth of all.
cdef double LINES_OF_A_ROW = 2.5
cdef double LINES_BESIDES = 10.0
cdef double NEAR_SHARE = 0.6


cpdef double most_in_star(double from_nothing) noexcept nogil:
    """What a path that was asked for may take in a star."""
    return STAR_SHARE * from_nothing


cdef double most_of_auto(double from_nothing, double steps, double m, double margin, double leaving) noexcept nogil:
    """The same where auto may try one; 0: it had better not.

    A solve from nothing takes ``steps`` for each of the m variables, if it is known (else HUGE_VAL); ``margin`` of them are within their bounds, and
    ``leaving`` rows with a coefficient leave.
    """
    cdef double a_line = margin * (margin + NEAR_SHARE * m)
    cdef double expected = margin ** 3 / 6 + (LINES_BESIDES + LINES_OF_A_ROW * leaving) * a_line
    if from_nothing == HUGE_VAL or steps < MANY_STEPS or COST_OF_A_VALUE * expected > EXPECTED_SHARE * from_nothing:
        return 0.0
    return most_in_star(from_nothing)


cdef class PathBudget:
    """PathBudget(n_folds): of a chain of about so many folds. Work is in values, as ``Control`` counts it."""

    def __cinit__(self, double n_folds=MANY_FOLDS):
        self.start(n_folds)

    cdef void start(self, double n_folds) noexcept nogil:
        """A new chain."""
        self.to_beat, self.scale, self.wait, self.next_wait = -1.0, min(1.0, n_folds / MANY_FOLDS), 0, 1

    cdef double most(self, double from_nothing) noexcept nogil:
        """What the path of the next fold may take; 0: none is to be tried. ``from_nothing``: work of a fold from nothing."""
        if self.to_beat < 0 or self.wait > 0:
            return 0.0
        return PATH_SHARE / COST_OF_A_VALUE * self.scale * min(self.to_beat, from_nothing)

    cdef void note(self, bint along_path, bint whole, double path_work, double solve_work) noexcept nogil:
        """A fold is solved; ``whole``: its path came to its end."""
        cdef double work = COST_OF_A_VALUE * path_work + solve_work if along_path else solve_work
        if not along_path:
            self.to_beat = work if self.to_beat < 0 else 0.5 * (work + self.to_beat)
            self.wait = max(0, self.wait - 1)
        elif whole and work <= self.to_beat:
            self.scale, self.next_wait = min(1.0, 2.0 * self.scale), 1
        else:
            self.wait, self.next_wait = self.next_wait, min(64, 2 * self.next_wait)

    # ---- from Python ---------------------------------------------------------------------------

    def allowed(self, double from_nothing):
        """As ``most``."""
        return self.most(from_nothing)

    def solved(self, bint along_path, bint whole, double path_work, double solve_work):
        """As ``note``."""
        self.note(along_path, whole, path_work, solve_work)

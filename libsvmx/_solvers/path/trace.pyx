"""What is written down of a path on which C grows, line by line: all that is needed to know every point of it.

On each straight line everything is linear in C: beta of the margin, beta on bounds, rho, F = K beta, and with them the
decision value of any row (Hastie, Rosset, Tibshirani & Zhu, The entire regularization path for the support vector
machine, JMLR 5, 2004, section 3). So of a line there are kept

    C and rho at its begin and end, the objective there as a quadratic function of C, and of each member of the margin
    beta at begin and end; the others are on bounds, and which, is kept where it changes.

Rows that have left, the tests of a fold, have their F up to date on the path: their decision value is F - rho. There are
kept where its sign changes, or, for regression, the sum of squares of what it misses of the target: on a line a quadratic
function of C, too.
"""

from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from libsvmx._core.buffers import filled, zeros
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, MARGIN, PathState

# Numbers of an entry: C, rho and what follows, see ``line``; variable, beta, beta; line, variable, set; C, test, sign.
LINE, MEMBER, SET, CROSSING = 11, 3, 3, 3

cdef enum:
    OF_LINE = 11
    OF_OTHERS = 3

# An eta so near 1 is 1.
cdef double AT_END = 1.0 - 1e-15


cdef class Trace:
    """Trace(n_tags, keeps=False, tests=None, targets=None)

    Parameters
    ----------
    n_tags : int                rows of the path are tagged 0, 1, … n_tags - 1
    keeps : bool                whether coefficients and objectives are kept
    tests : buffer of int32     tags of rows that have left, whose decision values are followed
    targets : buffer of float64, shape (tests,)        of regression; None: signs are followed
    """

    def __cinit__(self, Py_ssize_t n_tags, bint keeps=False, tests=None, targets=None):
        cdef const int32_t[::1] chosen = tests if tests is not None else zeros("i", 0)
        cdef Py_ssize_t k
        self.keeps, self.squares = keeps, targets is not None
        self.test_of = filled("i", [-1] * n_tags)
        self.position = zeros("i", chosen.shape[0])
        self.positive = filled("b", [-1] * chosen.shape[0])
        self.target = targets if self.squares else zeros("d", 0)
        if self.squares and self.target.shape[0] != chosen.shape[0]:
            raise ValueError("tests and targets do not fit together")
        for k in range(chosen.shape[0]):
            if not 0 <= chosen[k] < n_tags:
                raise IndexError(f"row {chosen[k]} of {n_tags}")
            self.test_of[chosen[k]] = <int32_t>k
        self.seen = None

    def __dealloc__(self):
        free(self.lines.at)
        free(self.sets.at)
        free(self.members.at)
        free(self.crossings.at)

    @property
    def n_bytes(self):
        """Of memory."""
        return 8.0 * (self.lines.room + self.sets.room + self.members.room + self.crossings.room)

    # ---- what others see: buffers of float64, entry by entry, copies ----------------------------

    def lines_of(self):
        """(C, C at the end, rho, rho at the end, objective, its first and second derivative along the line, from 0 to 1,
        squares: three coefficients of a polynomial in the same, where the first entry of ``members_of`` is)."""
        return of_pile(&self.lines)

    def members_of(self):
        """(variable, beta, beta at the end) of the margin, line by line; variables are per_row * tag + 0 or 1."""
        return of_pile(&self.members)

    def sets_of(self):
        """(line, variable, set as of PathState) of variables that are in another set than before."""
        return of_pile(&self.sets)

    def crossings_of(self):
        """(C, test, 1 where its decision value is positive from there on, else 0)."""
        return of_pile(&self.crossings)

    # ---- what a path tells ------------------------------------------------------------------------

    cdef int begin(self, PathState s, double first, double last) except -1:
        """A path begins that leads from C ``first`` to ``last``."""
        cdef Py_ssize_t p
        self.first, self.last = first, last
        if self.seen is None:
            self.seen = filled("b", [-1] * (s.per_row * self.test_of.shape[0]))
        for p in range(s.n):
            if self.test_of[s.tag[p]] >= 0:
                self.position[self.test_of[s.tag[p]]] = <int32_t>p
        return 0

    cdef int line(self, PathState s, const double *velocity, const double *dF, double eta, double begin, double length,
                  double rho, double drho, bint resting) except -1 nogil:
        """A straight line from eta + begin on, of such a length; all derivatives are per unit of eta. ``resting``: the margin
        stays on bounds."""
        cdef double at_begin = eta + begin, at_end = eta + begin + length
        cdef double C = self.first + at_begin * (self.last - self.first)
        cdef double end = self.last if at_end > AT_END else self.first + at_end * (self.last - self.first)
        cdef double *entry = more(&self.lines, OF_LINE)
        cdef Py_ssize_t k
        for k in range(OF_LINE):
            entry[k] = 0.0
        entry[0], entry[1], entry[2], entry[3] = C, end, rho, rho + length * drho
        entry[OF_LINE - 1] = self.members.size // OF_OTHERS
        if self.keeps:
            self.keep(s, velocity, dF, begin, length, resting)
        self.test(s, dF, begin, length, rho, drho, C, end)
        self.n_lines += 1
        return 0

    cdef int keep(self, PathState s, const double *velocity, const double *dF, double begin, double length,
                  bint resting) except -1 nogil:
        """Coefficients, and the objective 1/2 beta'F - linear'beta."""
        cdef Py_ssize_t p, v, variable
        cdef int where
        cdef double beta, change, F, objective = 0.0, first = 0.0, second = 0.0
        cdef double *entry
        for v in range(s.per_row * s.n):
            p = v // s.per_row
            variable = s.per_row * s.tag[p] + v % s.per_row
            change = s.dbeta[s.place[v]] if s.where[v] == MARGIN else velocity[v]
            beta, F = s.beta[v] + begin * change, s.F[p] + begin * dF[p]
            objective += beta * (0.5 * F - s.linear[v])
            first += change * (F - s.linear[v])
            second += change * dF[p]
            where = s.where[v]
            if where == MARGIN and resting:
                where = AT_UPPER if s.upper[v] - s.beta[v] < s.beta[v] - s.lower[v] else AT_LOWER
            if where != self.seen[variable]:
                self.seen[variable] = <int8_t>where
                entry = more(&self.sets, OF_OTHERS)
                entry[0], entry[1], entry[2] = self.n_lines, variable, where
            if where == MARGIN:
                entry = more(&self.members, OF_OTHERS)
                entry[0], entry[1], entry[2] = variable, beta, beta + length * change
        entry = self.lines.at + self.lines.size - OF_LINE
        entry[4], entry[5], entry[6] = objective, length * first, length * length * second
        return 0

    cdef int test(self, PathState s, const double *dF, double begin, double length, double rho, double drho, double C,
                  double end) except -1 nogil:
        """Decision values of the tests: f at the begin, f + change at the end."""
        cdef Py_ssize_t k, p
        cdef double f, change, missed
        cdef bint positive
        cdef double *entry = self.lines.at + self.lines.size - OF_LINE
        for k in range(self.position.shape[0]):
            p = self.position[k]
            f, change = s.F[p] + begin * dF[p] - rho, length * (dF[p] - drho)
            if self.squares:
                missed = f - self.target[k]
                entry[7] += missed * missed
                entry[8] += 2.0 * missed * change
                entry[9] += change * change
                continue
            positive = f > 0.0
            if self.positive[k] != positive:
                self.cross(C, k, positive)
            if (f + change > 0.0) != positive:
                self.cross(min(C + (end - C) * fabs(f / change), end), k, not positive)
        return 0

    cdef int cross(self, double C, Py_ssize_t k, bint positive) except -1 nogil:
        """The decision value of a test has another sign from there on."""
        cdef double *entry = more(&self.crossings, OF_OTHERS)
        entry[0], entry[1], entry[2] = C, k, positive
        self.positive[k] = positive
        return 0


cdef double *more(Pile *pile, Py_ssize_t n) except NULL nogil:
    """The place of n further numbers."""
    cdef Py_ssize_t room
    cdef void *grown
    if pile.size + n > pile.room:
        room = max(256, 2 * pile.room)
        grown = realloc(pile.at, room * sizeof(double))
        if grown == NULL:
            with gil:
                raise MemoryError("the lines of a path")
        pile.at, pile.room = <double *>grown, room
    pile.size += n
    return pile.at + pile.size - n


cdef of_pile(const Pile *pile):
    """A copy as a buffer."""
    out_ = zeros("d", pile.size)
    cdef double[::1] out = out_
    if pile.size:
        memcpy(&out[0], pile.at, pile.size * sizeof(double))
    return out_

"""Tolerance, limits and callbacks of a solve."""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int64_t
from libc.stdlib cimport free

from libsvmx._core.allocation cimport reserve
from libsvmx._core.stopping cimport Token
from libsvmx._core.tickets cimport svmx_tickets_over

from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped

# LIBSVM's characters of progress; ``on_progress`` decides what to print
MARKS = (".", "*", "few free")


cdef class Control(Token):
    """Control(eps, shrinking=True, max_iter=0, time_limit=0.0, on_progress=None, should_stop=None, on_gap=None,
    parent=None)

    The Token of a solve, with

    Parameters
    ----------
    eps : float              stop at max_{I_up} V - min_{I_low} V < eps
    shrinking : bool
    max_iter : int           0: LIBSVM's limit, max(10^7, 100 m); -1: no step
    time_limit : float       seconds from now on, 0: none
    on_progress : callable(str) or None      '.', '*' or 'few free'
    on_gap : callable(float) or None         called at each check with the last KKT gap

    Attributes
    ----------
    by_r : bool              of nu-SVC, whose decision values are divided by r: go on to the tolerance eps r
    """

    def __init__(self, double eps, bint shrinking=True, int64_t max_iter=0, double time_limit=0.0, on_progress=None,
                 should_stop=None, on_gap=None, parent=None):
        Token.__init__(self, time_limit, should_stop, 0.0, parent)
        self.eps, self.shrinking, self.max_iter = eps, shrinking, max_iter
        self.on_progress, self.on_gap, self.gap, self.tells = on_progress, on_gap, HUGE_VAL, on_progress is not None

    cdef int mark(self, int kind) except -1 nogil:
        if self.tells:
            with gil:
                self.on_progress(MARKS[kind])
        return 0

    cdef int poll(self) except -1 nogil:
        if not self.expired and self.gap < HUGE_VAL:
            with gil:
                if self.on_gap is not None:
                    self.on_gap(self.gap)
        return Token.poll(self)

    def part(self, double eps, int64_t max_iter, on_progress=None):
        """A Control for a solve within this one, which stops with it."""
        return self.handed_to(Control(eps, self.shrinking, max_iter, on_progress=on_progress, on_gap=self.on_gap,
                                      parent=self))

    cdef Control handed_to(self, Control part):
        part.by_r = self.by_r and part.eps == self.eps
        return part

    def tell(self, mark):
        """Call ``on_progress``."""
        if self.on_progress is not None:
            self.on_progress(mark)

    def read_out(self):
        """Report the marks that were kept until the end of the solve."""


cdef class ThreadControl(Control):
    """ThreadControl(eps, shrinking, max_iter, on_progress=None): for one of several concurrent solves, stopped by the
    Token given by ``of``.

    It makes no checks and keeps marks for ``read_out``, so it does not need the interpreter during the solve.
    """

    def __dealloc__(self):
        free(self.marks)

    def of(self, Token end):
        """Set the Token that stops it; returns itself."""
        self.parent = end
        return self

    cdef int mark(self, int kind) except -1 nogil:
        reserve(<void **>&self.marks, &self.room, self.n_marks + 1, 1, b"marks of progress")
        self.marks[self.n_marks] = <char>kind
        self.n_marks += 1
        return 0

    cdef int poll(self) except -1 nogil:
        if svmx_tickets_over(&self.parent.over):
            with gil:
                if self.parent.abandoned:
                    raise Stopped(SolveStatus.INTERRUPTED)
                if not self.expired:
                    self.stopped, self.expired = self.parent.stopped, True
        return 0

    def part(self, double eps, int64_t max_iter, on_progress=None):
        return self.handed_to(ThreadControl(eps, self.shrinking, max_iter, on_progress=on_progress).of(self.parent))

    def read_out(self):
        cdef Py_ssize_t k
        if self.on_progress is not None:
            for k in range(self.n_marks):
                self.on_progress(MARKS[self.marks[k]])
        self.n_marks = 0

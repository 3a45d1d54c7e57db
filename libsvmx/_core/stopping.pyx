"""Checks for a stop: work is done in pieces of some milliseconds, in C, Python, BLAS and LAPACK, counted by a Token.

The Token of a solve is its Control, which has its tolerance, limits and callbacks, too.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport PyThread_get_thread_ident
from libc.math cimport HUGE_VAL
from libc.stdlib cimport free

from libsvmx._core.allocation cimport reserve
from libsvmx._core.tickets cimport svmx_begin_tickets, svmx_end_tickets, svmx_tickets_over

from math import inf

from libsvmx._core.machine import machine
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped  # of the callers, too


# Flops of a dense matrix product in the time of one element elsewhere, about a nanosecond.
FLOPS = 8
# Elements elsewhere in the time of one in memory that may be touched for the first time.
TOUCHED = 8
# Flops of a piece: some milliseconds to tens of milliseconds.
PIECE = 1 << 27
# Elements between two checks of signals and clock: a few milliseconds.
cdef int64_t POLL_WORK = 4000000


cdef class Token:
    """Token(seconds=0.0, should_stop=None, deadline=0.0, parent=None, steps=True): says when to stop.

    Work in C and Python is counted here, and after enough of it signals (Ctrl-C raises here), clock and observer are
    checked.

    Parameters
    ----------
    seconds : float          time limit from now on, 0: none
    should_stop : callable() -> bool, or None      the observer; not called again after True
    deadline : float         by ``machine.monotonic``, 0: none
    parent : Token or None   of the enclosing call: stops this one, too
    steps : bool             False: each solve ends at its start, as at an iteration limit

    Attributes
    ----------
    stopped : SolveStatus or None      TIME_LIMIT or INTERRUPTED once work has to stop

    Only the thread that has made the Token calls the observer; others see the result.
    """

    def __cinit__(self, *args, **more):
        self.owner, self.poll_work = PyThread_get_thread_ident(), POLL_WORK
        svmx_begin_tickets(&self.over)

    def __init__(self, double seconds=0.0, should_stop=None, double deadline=0.0, Token parent=None, bint steps=True):
        self.deadline = machine.monotonic() + seconds if seconds > 0 else deadline
        self.should_stop, self.parent, self.steps = should_stop, parent, steps

    def __reduce__(self):
        """In another process, a Token that never stops."""
        return Token, ()

    def stop(self, status):
        """Stop all work."""
        self.stopped, self.expired = status, True
        svmx_end_tickets(&self.over)

    def abandon(self):
        """Stop all threads, since this one raises an exception. In threads of a ThreadControl, each further question
        raises Stopped."""
        self.abandoned = self.expired = True
        svmx_end_tickets(&self.over)

    def look(self):
        """Check now; returns ``stopped``."""
        self.poll()
        return self.stopped

    def interrupted(self):
        """Whether the observer stops the work; it is called now, in any thread."""
        if self.parent is not None:
            self.poll()
        elif not self.expired and self.should_stop is not None and self.should_stop():
            self.stop(SolveStatus.INTERRUPTED)
        return self.stopped == SolveStatus.INTERRUPTED

    def ask(self, int64_t amount):
        """Count work on ``amount`` elements; raises Stopped once work has to stop."""
        self.note(amount)
        if self.expired:
            raise Stopped(self.stopped or SolveStatus.INTERRUPTED)

    def note(self, int64_t amount):
        """As ``ask``, for work that must be finished: raises only what signal handlers and the observer raise."""
        if PyThread_get_thread_ident() == self.owner:
            self.worked(amount)
        else:  # counted at the owner's next check
            self.work += amount

    cdef int worked(self, int64_t amount) except -1 nogil:
        """``note`` in the owner's thread."""
        self.work += amount
        # a kernel in Python has seen the end of the call: its next rows may take long
        if self.work > self.poll_work or (self.parent is not None and self.parent.urgent and not self.expired):
            self.work = 0
            self.poll()
        return 0

    cdef int asked(self, int64_t amount) except -1 nogil:
        """``ask`` in the owner's thread."""
        self.worked(amount)
        if self.expired:
            with gil:
                raise Stopped(self.stopped or SolveStatus.INTERRUPTED)
        return 0

    cdef int poll(self) except -1 nogil:
        with gil:
            PyErr_CheckSignals()
            if self.expired:
                return 0
            if self.parent is not None:
                status = self.parent.look()
                if status is not None or self.parent.abandoned:
                    self.stop(status or SolveStatus.INTERRUPTED)
            elif self.deadline > 0 and machine.monotonic() > self.deadline:
                self.stop(SolveStatus.TIME_LIMIT)
            elif self.should_stop is not None and PyThread_get_thread_ident() == self.owner and self.should_stop():
                self.stop(SolveStatus.INTERRUPTED)
        return 0


class Leeway(Token):
    """Leeway(token, left=inf): a Token for work that must, or may, be finished after a stop.

    ``left``: elements that may still be worked on before Stopped is raised; None: no leeway.
    """

    def __init__(self, token, left=inf):
        super().__init__(parent=token)
        self.token, self.left = token, left

    def look(self):
        return self.token.look()

    def ask(self, amount):
        if self.left is None:
            self.token.ask(amount)
            return
        self.token.note(amount)
        self.left -= amount
        if self.left < 0:
            raise Stopped(self.token.stopped or SolveStatus.INTERRUPTED)

    def note(self, amount):
        self.token.note(amount)

    def abandon(self):
        self.token.abandon()


# Never stops; for any thread.
NOBODY = Leeway(Token())


def pieces(begin, end, flops, most=PIECE):
    """[begin, end) in ascending, non-empty intervals of about ``most`` flops, with ``flops`` per index."""
    size = max(1, most // max(flops, 1))
    for first in range(begin, end, size):
        yield first, min(first + size, end)


# ---- of a solve --------------------------------------------------------------------------------------

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

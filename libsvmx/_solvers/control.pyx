"""What every solver is told besides the problem: tolerance, limits, whom to tell of progress."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport PyThread_get_thread_ident
from libc.math cimport HUGE_VAL
from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc

from libsvmx._core.tickets cimport svmx_begin_tickets, svmx_end_tickets, svmx_tickets_over

from libsvmx._core.machine import machine
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped

# Elements worked on between two looks at signals and clock: a few milliseconds.
cdef int64_t POLL_WORK = 4000000

# the characters LIBSVM's users know; the reporter decides what becomes of them
MARKS = (".", "*", "few free")


cdef class Control:
    """Control(eps, shrinking=True, max_iter=0, time_limit=0.0, on_progress=None, should_stop=None, deadline=0.0,
    on_gap=None)

    Parameters
    ----------
    eps : float              stop at max_{I_up} V - min_{I_low} V < eps
    shrinking : bool
    max_iter : int           0: LIBSVM's limit, max(10^7, 100 m); -1: no step at all
    time_limit : float       seconds from now, 0 for none; checked a few times a second
    on_progress : callable(str) or None      '.', '*' or 'few free'
    should_stop : callable() -> bool, or None      asked whenever the clock is looked at
    deadline : float         of the call that the solve is part of, by ``machine.monotonic``; 0 for none
    on_gap : callable(float) or None      told whenever the clock is looked at: ``gap``, the KKT gap that the solver saw last

    ``stopped`` becomes SolveStatus.TIME_LIMIT or INTERRUPTED when the solver must come to an end. Signals are let in, and
    ``should_stop`` is asked, by the thread that has made the Control; others only see what has come of it.
    """

    def __cinit__(self, double eps, bint shrinking=True, int64_t max_iter=0, double time_limit=0.0, on_progress=None,
                  should_stop=None, double deadline=0.0, on_gap=None):
        self.eps, self.shrinking, self.max_iter, self.time_limit = eps, shrinking, max_iter, time_limit
        self.on_progress, self.should_stop, self.on_gap, self.gap = on_progress, should_stop, on_gap, HUGE_VAL
        self.deadline = machine.monotonic() + time_limit if time_limit > 0 else deadline
        self.expired, self.owner = False, PyThread_get_thread_ident()

    cdef int mark(self, int kind) except -1 nogil:
        with gil:
            if self.on_progress is not None:
                self.on_progress(MARKS[kind])
        return 0

    cdef int worked(self, int64_t amount) except -1 nogil:
        """Note that so many elements were worked on, and poll now and then."""
        self.work += amount
        if self.work > POLL_WORK:
            self.work = 0
            self.poll()
        return 0

    def look(self):
        """Poll now; returns ``stopped``. For solvers in Python, once an iteration."""
        self.poll()
        return self.stopped

    cdef int asked(self, int64_t amount) except -1 nogil:
        """As ``ask``, in the thread that has made the Control."""
        self.worked(amount)
        if self.expired:
            with gil:
                raise Stopped(self.stopped or SolveStatus.INTERRUPTED)
        return 0

    def part(self, double eps, int64_t max_iter, on_progress=None):
        """A Control under the same clock and the same ``should_stop``, for a solve that is part of the work."""
        cdef Control other = Control(eps, self.shrinking, max_iter, 0.0, on_progress, self.should_stop, on_gap=self.on_gap)
        other.time_limit, other.deadline = self.time_limit, self.deadline
        return other

    def tell(self, mark):
        """Tell ``on_progress`` of a mark."""
        if self.on_progress is not None:
            self.on_progress(mark)

    def read_out(self):
        """Tell of the marks that were kept for the end of the solve."""

    # ---- as a libsvmx._core.stopping.Asking --------------------------------------------------------

    def ask(self, int64_t amount):
        """After a piece of work on so many elements: raises Stopped once ``stopped`` is set."""
        self.note(amount)
        if self.expired:
            raise Stopped(self.stopped or SolveStatus.INTERRUPTED)

    def note(self, int64_t amount):
        """As ``ask``, but only what signal handlers and ``should_stop`` raise gets through."""
        if PyThread_get_thread_ident() == self.owner:
            self.worked(amount)
        else:  # for the owner's next question
            self.work += amount

    def abandon(self):
        """Whatever thread asks next is to stop: in this one, an exception is on its way."""
        self.expired = True

    cdef int poll(self) except -1 nogil:
        """Let signals in (Ctrl-C raises here) and look at the clock."""
        with gil:
            PyErr_CheckSignals()
            if self.expired:
                return 0
            if self.on_gap is not None and self.gap < HUGE_VAL:
                self.on_gap(self.gap)
            if self.deadline > 0 and machine.monotonic() > self.deadline:
                self.stopped, self.expired = SolveStatus.TIME_LIMIT, True
            elif self.should_stop is not None and self.should_stop():
                self.stopped, self.expired = SolveStatus.INTERRUPTED, True
        return 0


cdef class End:
    """End(): of the solves of several threads, told by the one that asks for all of them.

    Attributes
    ----------
    status : SolveStatus or None      once they are to end
    """

    def __cinit__(self):
        svmx_begin_tickets(&self.tickets)

    def come(self, status):
        """It is here."""
        self.status = status
        svmx_end_tickets(&self.tickets)


cdef class ThreadControl(Control):
    """ThreadControl(eps, shrinking, max_iter, on_progress=None): of a solve that is one of several at a time; ``of(end)``
    says when they end.

    It asks nobody, and tells of marks when it is told to. So it needs nothing of Python while the solve goes on, which
    would wait for whoever has the interpreter.
    """

    def __dealloc__(self):
        free(self.marks)

    def of(self, End end):
        """Itself, under this end."""
        self.end = end
        return self

    cdef int mark(self, int kind) except -1 nogil:
        cdef void *grown
        if self.n_marks == self.room:
            grown = realloc(self.marks, 2 * self.room + 64)
            if grown == NULL:
                with gil:
                    raise MemoryError("marks of progress")
            self.marks, self.room = <char *>grown, 2 * self.room + 64
        self.marks[self.n_marks] = <char>kind
        self.n_marks += 1
        return 0

    cdef int poll(self) except -1 nogil:
        if svmx_tickets_over(&self.end.tickets) and not self.expired:
            with gil:
                self.stopped, self.expired = self.end.status, True
        return 0

    def part(self, double eps, int64_t max_iter, on_progress=None):
        return ThreadControl(eps, self.shrinking, max_iter, on_progress=on_progress).of(self.end)

    def read_out(self):
        cdef Py_ssize_t k
        if self.on_progress is not None:
            for k in range(self.n_marks):
                self.on_progress(MARKS[self.marks[k]])
        self.n_marks = 0

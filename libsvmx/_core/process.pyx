"""What a process asks of its system: whether to stop, helper threads of one solve, threads that are left behind, and last
words when a signal ends it."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport PyThread_get_thread_ident

from libsvmx._core.tickets cimport svmx_begin_tickets, svmx_end_tickets

from libsvmx._core.machine import machine
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped


# ---- Whether to stop -------------------------------------------------------------------------------

# Elements worked on between two looks at signals and clock: a few milliseconds.
cdef int64_t POLL_WORK = 4000000


cdef class Token:
    """Token(seconds=0.0, should_stop=None, deadline=0.0, parent=None, steps=True): says when work has to come to an end.

    Whoever works on something, in C or in Python, tells it of each piece, and of much work it asks itself: signals, which
    are let in (Ctrl-C raises here), the clock, and the observer.

    Parameters
    ----------
    seconds : float          from now on, 0 for no limit
    should_stop : callable() -> bool, or None      the observer; once it has said so, it is not asked again
    deadline : float         by ``machine.monotonic``, 0 for none
    parent : Token or None   of the call that the work is part of: it ends with it
    steps : bool             False: each solve ends where it starts, as at an iteration limit

    Attributes
    ----------
    stopped : SolveStatus or None      TIME_LIMIT or INTERRUPTED, once the work has to come to its end

    The observer is asked by the thread that has made the Token; others only see what has come of it.
    """

    def __cinit__(self, *args, **more):
        self.owner, self.poll_work = PyThread_get_thread_ident(), POLL_WORK
        svmx_begin_tickets(&self.over)

    def __init__(self, double seconds=0.0, should_stop=None, double deadline=0.0, Token parent=None, bint steps=True):
        self.deadline = machine.monotonic() + seconds if seconds > 0 else deadline
        self.should_stop, self.parent, self.steps = should_stop, parent, steps

    def __reduce__(self):
        """In another process, one that never stops: nobody would tell it."""
        return Token, ()

    def stop(self, status):
        """The end is here, for all who ask."""
        self.stopped, self.expired = status, True
        svmx_end_tickets(&self.over)

    def abandon(self):
        """Whatever thread asks next is to stop, as nobody waits for what it does: in this one, an exception is on its way.
        In threads of their own (ThreadControl) Stopped is raised at each question from now on."""
        self.abandoned = self.expired = True
        svmx_end_tickets(&self.over)

    def look(self):
        """Ask now; returns ``stopped``."""
        self.poll()
        return self.stopped

    def interrupted(self):
        """Whether the observer has ended the work, which is asked now, whatever thread this is."""
        if self.parent is not None:
            self.poll()
        elif not self.expired and self.should_stop is not None and self.should_stop():
            self.stop(SolveStatus.INTERRUPTED)
        return self.stopped == SolveStatus.INTERRUPTED

    def ask(self, int64_t amount):
        """After a piece of work on so many elements: raises Stopped once the work has to come to its end."""
        self.note(amount)
        if self.expired:
            raise Stopped(self.stopped or SolveStatus.INTERRUPTED)

    def note(self, int64_t amount):
        """As ``ask``, for work that has to be done in any case: only what signal handlers and the observer raise gets
        through."""
        if PyThread_get_thread_ident() == self.owner:
            self.worked(amount)
        else:  # for the owner's next question
            self.work += amount

    cdef int worked(self, int64_t amount) except -1 nogil:
        """As ``note``, in the thread that has made the Token."""
        self.work += amount
        # a kernel in Python has seen the end of the call: its next rows may take as long as all that there were
        if self.work > self.poll_work or (self.parent is not None and self.parent.urgent and not self.expired):
            self.work = 0
            self.poll()
        return 0

    cdef int asked(self, int64_t amount) except -1 nogil:
        """As ``ask``, in that thread."""
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


# ---- Helper threads of one solve (see thread_pool.h) -----------------------------------------------

# Whether this was built with threads. Without them, what threads would share is not safe for those of Python, either.
HAS_THREADS = SVMX_HAS_THREADS == 1


cdef class ThreadPool:
    """ThreadPool(n_threads): so many threads, the caller included, while the object lives.

    Attributes
    ----------
    n : int      threads there are, the caller included
    """

    def __cinit__(self, int n_threads):
        self.threads = svmx_pool_new(n_threads)
        self.n = 1 if self.threads == NULL else 1 + self.threads.n_helpers

    def __dealloc__(self):
        svmx_pool_free(self.threads)

    cdef int ready(self) noexcept nogil:
        """How many threads would work on a job now: 1 while helpers rest, since they were not prompt."""
        return svmx_pool_ready(self.threads)

    cdef void run(self, svmx_job job, void *context, int64_t n_parts, svmx_pause_call idle=NULL) noexcept nogil:
        """job(context, part) for all parts, in any order; returns when all are done.

        ``idle(context)`` is called now and then by the thread that waits here for the others.
        """
        svmx_pool_run(self.threads, job, context, n_parts, idle)

    cdef void run_short(self, svmx_job job, void *context, int64_t n_parts) noexcept nogil:
        """The same for parts of a few microseconds: without helpers for a while where they turn out not to be prompt."""
        svmx_pool_run_short(self.threads, job, context, n_parts)

    def count(self, int64_t n_parts, int64_t times):
        """How often each of ``n_parts`` parts was run in ``times`` jobs, for tests: a list."""
        cdef int64_t[256] seen
        cdef int64_t k
        if not 0 <= n_parts <= 256:
            raise ValueError(f"{n_parts} parts")
        for k in range(n_parts):
            seen[k] = 0
        with nogil:
            for k in range(times):
                self.run(_count_part, seen, n_parts)
        return [seen[k] for k in range(n_parts)]


cdef void _count_part(void *context, int64_t part) noexcept nogil:
    (<int64_t *>context)[part] += 1


# ---- Threads that are left behind ------------------------------------------------------------------

cdef extern from "left_behind.h" nogil:
    enum: SVMX_ENDS_BEFORE
    void svmx_go_behind()
    void svmx_come_back()
    int svmx_count_behind()


def end_of(function, arguments):
    """What ``function(*arguments)`` returns, and None; or None, and what it raises."""
    try:
        return function(*arguments), None
    except BaseException as error:
        return None, error


def run_behind(function, arguments, news):
    """Put ``end_of(function, arguments)`` into ``news``, for a thread that nobody may wait for: a process that ends while it
    is here ends at once."""
    svmx_go_behind()
    end = end_of(function, arguments)
    svmx_come_back()
    news.put(end)


def wait_behind():
    """Wait for all of them."""
    from time import sleep
    while svmx_count_behind():
        sleep(0.02)


if not SVMX_ENDS_BEFORE:
    import atexit
    atexit.register(wait_behind)


# ---- Last words ------------------------------------------------------------------------------------
#
# What a process says on standard error when a signal ends it, while whatever it does goes on until then.
#
# A handler in Python runs only when the interpreter comes to it, which can take as long as a solver's step. This one is
# C: the signal ends the process as at once as it would without it, and by the signal, so that a shell sees it.

cdef extern from "last_words.h" nogil:
    int svmx_set_last_words(int signum, const char *text, size_t length)


def say_on(int signum, bytes text not None):
    """From now on ``signum`` prints ``text``, at most 1024 bytes of it, and ends the process.

    ``signal.getsignal`` knows nothing of it, and ``signal.signal`` takes its place.
    """
    if svmx_set_last_words(signum, text, len(text)) != 0:
        raise OSError(f"no handler for signal {signum}")

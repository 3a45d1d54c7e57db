"""Process control: stopping, worker threads of a solve, threads left behind at exit, and a message when a signal ends
the process."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport PyThread_get_thread_ident

from libsvmx._core.tickets cimport svmx_begin_tickets, svmx_end_tickets

from libsvmx._core.machine import machine
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped


# ---- Whether to stop -------------------------------------------------------------------------------

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


# ---- Worker threads of a solve (thread_pool.h) -----------------------------------------------------

# Whether this was built with threads. Without them, shared objects are not safe for threads of Python, either.
HAS_THREADS = SVMX_HAS_THREADS == 1


cdef class ThreadPool:
    """ThreadPool(n_threads): threads, the caller included, that live as long as the object.

    Attributes
    ----------
    n : int      threads at most, the caller included
    """

    def __cinit__(self, int n_threads):
        self.threads = svmx_pool_new(n_threads)
        self.n = 1 if self.threads == NULL else 1 + self.threads.n_workers

    def __dealloc__(self):
        svmx_pool_free(self.threads)

    cdef int parts(self, double work) noexcept nogil:
        """Number of parts into which a job of ``work`` estimated nanoseconds is divided."""
        return svmx_pool_parts(self.threads, work)

    cdef void run(self, svmx_job job, void *context, int64_t n_parts, double work,
                  svmx_pause_call idle=NULL) noexcept nogil:
        """job(context, part) for all parts, in any order; returns when all are done. Workers that lose time rest.

        ``idle(context)`` is called at intervals while the caller waits for the others, which always work.
        """
        svmx_pool_run(self.threads, job, context, n_parts, work, idle)

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
                self.run(_count_part, seen, n_parts, 0, _do_nothing)  # so workers never rest
        return [seen[k] for k in range(n_parts)]


cdef void _do_nothing(void *context) noexcept nogil:
    pass


cdef void _count_part(void *context, int64_t part) noexcept nogil:
    (<int64_t *>context)[part] += 1


# ---- Threads left behind at exit -------------------------------------------------------------------

cdef extern from "left_behind.h" nogil:
    enum: SVMX_ENDS_BEFORE
    void svmx_go_behind()
    void svmx_come_back()
    int svmx_count_behind()


def end_of(function, arguments):
    """(result, None) or (None, exception) of ``function(*arguments)``."""
    try:
        return function(*arguments), None
    except BaseException as error:
        return None, error


def run_behind(function, arguments, news):
    """Put ``end_of(function, arguments)`` into ``news``, in a thread that does not delay the exit of the process."""
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


# ---- Message at the end by a signal ----------------------------------------------------------------
#
# A handler in Python runs only between bytecodes, which can take as long as a solver's step. This one is in C: the
# signal ends the process at once, and by the signal, so that a shell sees it.

cdef extern from "last_words.h" nogil:
    int svmx_set_last_words(int signum, const char *text, size_t length)


def say_on(int signum, bytes text not None):
    """Let ``signum`` print ``text`` (at most 1024 bytes) on standard error, and end the process.

    ``signal.getsignal`` does not show it, and ``signal.signal`` replaces it.
    """
    if svmx_set_last_words(signum, text, len(text)) != 0:
        raise OSError(f"no handler for signal {signum}")

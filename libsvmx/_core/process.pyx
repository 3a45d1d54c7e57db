"""What a process asks of its system: helper threads of one solve, threads that are left behind, and last words when a signal
ends it."""


# ---- Helper threads of one solve (see thread_pool.h) -----------------------------------------------
#
# Helper threads of one solve (see thread_pool.h).

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

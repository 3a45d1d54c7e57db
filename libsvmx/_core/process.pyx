"""Worker threads of a solve, threads left behind at exit, and a message when a signal ends the process."""

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

"""What a process says on standard error when a signal ends it, while whatever it does goes on until then.

A handler in Python runs only when the interpreter comes to it, which can take as long as a solver's step. This one is
C: the signal ends the process as at once as it would without it, and by the signal, so that a shell sees it.
"""


cdef extern from "last_words.h" nogil:
    int svmx_set_last_words(int signum, const char *text, size_t length)


def say_on(int signum, bytes text not None):
    """From now on ``signum`` prints ``text``, at most 1024 bytes of it, and ends the process.

    ``signal.getsignal`` knows nothing of it, and ``signal.signal`` takes its place.
    """
    if svmx_set_last_words(signum, text, len(text)) != 0:
        raise OSError(f"no handler for signal {signum}")

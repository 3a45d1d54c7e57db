"""The end of a command's process: at once, by a signal, or after its temporary files are removed."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from libsvmx._core.contexts import contextmanager, suppress
from libsvmx._typing import TYPE_CHECKING
from libsvmx.io.outputs import ending_signals

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator
    from typing import NoReturn
else:
    import _signal as signal  # as in process.py


def leave(code: int) -> None:
    """End the process, without Python's finalization if nothing depends on it: an eighth of a small training."""
    if not _needs_finalization():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):  # closed by the caller
                stream.flush()
        os._exit(code)
    gc.unfreeze()  # objects frozen by start.py
    sys.exit(code)


def leave_fork(code: int) -> NoReturn:
    """End a fork: finalize as Python would, but without returning to callers, which belong to the parent's work."""
    threading = sys.modules.get("threading")
    try:
        if threading is not None:
            threading._shutdown()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):
                stream.flush()
    finally:
        os._exit(code)


def _needs_finalization() -> bool:
    """Whether threads, functions of ``atexit``, tracers or debuggers need Python's finalization."""
    watched = sys.gettrace() is not None or sys.getprofile() is not None or sys.flags.inspect or sys.flags.dev_mode
    return bool(watched) or "threading" in sys.modules or getattr(atexit, "_ncallbacks", lambda: 1)() > 0


RETRY_AFTER = 0.02  # seconds


class Interrupts:
    """The effect of a second Ctrl-C: it kills, except in a fork of svmx-batch, which may receive the first one twice,
    from the terminal and from svmx-batch. There a second Ctrl-C at svmx-batch kills."""

    handed_on = False

    def after_first(self) -> None:
        """Called at the first Ctrl-C."""
        signal.signal(signal.SIGINT, _nothing if self.handed_on else signal.SIG_DFL)


def _nothing(signum: int, frame: object) -> None:
    """A handler that ignores; unlike SIG_IGN it may replace one whose signal is pending."""


interrupts = Interrupts()


class Ended(BaseException):
    """Raised by a signal that ends the process while files are being written."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@contextmanager
def tidy_end() -> Iterator[None]:
    """While files are being written, a signal that ends the process raises Ended, so temporary files are removed first.

    The exception may get lost: an import of a C module turns it into an ImportError, a callback of a library drops it.
    The process ends all the same.
    """
    received: list[int] = []

    def end(signum: int, frame: object) -> None:
        received.append(signum)
        if signum == signal.SIGINT and interrupts.handed_on:
            interrupts.after_first()  # also after the block, where a report is written
        raise Ended(signum)

    previous = {}
    try:
        for signum in ending_signals():
            # ignored signals stay ignored, and other handlers (StopFlag, an outer block) stay
            if signal.getsignal(signum) in (signal.SIG_DFL, signal.default_int_handler):
                with suppress(ValueError):  # not in the main thread, the only one that handles signals
                    previous[signum] = signal.signal(signum, end)
        yield
        if received:
            raise Ended(received[0])
    except Exception:
        if received:
            raise Ended(received[0]) from None
        raise
    finally:
        for signum, handler in previous.items():
            if signal.getsignal(signum) is not end:  # the block has set another handler to stay
                continue
            signal.signal(signum, handler)
            if handler == signal.SIG_DFL:
                last_words.arm(signum)


def come_again(end: Ended) -> None:
    """Raise ``end`` once more by a timer: Python dropped it, since the signal came in a destructor or the callback of a
    weak reference, which cannot raise."""
    if not hasattr(signal, "setitimer"):
        return

    def again(signum: int, frame: object) -> None:
        signal.signal(signum, previous)
        raise Ended(end.signum)

    previous = signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, RETRY_AFTER)


class LastWords:
    """The text that a signal prints before it ends the process."""

    wanted = False  # True in a process that is a command's own
    text = b""  # for Ctrl-C
    erasing = b""  # erases the progress line

    def arm(self, signum: int) -> None:
        """Install the C handler that prints; again after a Python handler has replaced it."""
        said = self.erasing + (self.text if signum == signal.SIGINT else b"")
        if said:
            from libsvmx._core.process import say_on

            say_on(signum, said)

    def begin(self) -> None:
        """Install it for signals with the default handler; ``tidy_end`` does so for its own at its end."""
        for signum in ending_signals():
            if signal.getsignal(signum) == signal.SIG_DFL:
                self.arm(signum)

    def erase(self, text: str) -> None:
        """Print ``text`` first, which erases the progress line."""
        if self.wanted:
            self.erasing = text.encode()
            self.begin()


last_words = LastWords()


def on_interrupt_say(command: str, text: str) -> None:
    """Set the text that Ctrl-C prints, '' for none. No effect if it is ignored, or if a program has called the
    command."""
    if not text:
        last_words.text = b""
    elif last_words.wanted:
        terminal = sys.stderr is not None and sys.stderr.isatty()  # it shows ^C in the line
        last_words.text = f"{chr(10) * terminal}{command}: {text}\n".encode(errors="surrogateescape")
        last_words.begin()


def die_by(signum: int, end: BaseException) -> None:
    """End by the signal itself, so that a shell sees it.

    Frees the frames of ``end`` first, and so removes temporary files that were open before their block began.
    """
    end.__traceback__ = end.__context__ = None
    signal.signal(signum, signal.SIG_DFL)
    end_workers()
    last_words.arm(signum)
    os.kill(os.getpid(), signum)


def end_workers() -> None:
    """Kill worker processes and free semaphores, as Python would do at exit."""
    multiprocessing, util = sys.modules.get("multiprocessing"), sys.modules.get("multiprocessing.util")
    if multiprocessing is not None and util is not None:
        for child in multiprocessing.active_children():
            with suppress(OSError):
                os.kill(child.pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # workers of joblib have no kill()
        util._run_finalizers()


def ignored(signum: int) -> bool:
    """Whether the caller ignores the signal, as a shell script does for commands started with ``&``."""
    return signal.getsignal(signum) == signal.SIG_IGN

"""How the process of a command ends: at once, by a signal, or first without the files that it was writing."""

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
    """End the process: at once where Python would only take itself down, which is an eighth of a small training."""
    if not _others_are_waiting():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):  # closed by the caller
                stream.flush()
        os._exit(code)
    gc.unfreeze()  # what start.py has set apart
    sys.exit(code)


def leave_fork(code: int) -> NoReturn:
    """End a fork, whose callers are those of another process: with what Python would do first, but without them."""
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


def _others_are_waiting() -> bool:
    """Whether somebody wants to know that Python ends: threads, functions of ``atexit``, who traces or debugs it."""
    watched = sys.gettrace() is not None or sys.getprofile() is not None or sys.flags.inspect or sys.flags.dev_mode
    return bool(watched) or "threading" in sys.modules or getattr(atexit, "_ncallbacks", lambda: 1)() > 0


SOON = 0.02  # seconds


class Interrupts:
    """What a second Ctrl-C does: it kills, but not in a fork of svmx-batch, which may get the first one twice: from the
    terminal, and from svmx-batch, which cannot know of that. There a second one for svmx-batch kills."""

    handed_on = False

    def after_first(self) -> None:
        """The first has been heard."""
        signal.signal(signal.SIGINT, _nothing if self.handed_on else signal.SIG_DFL)


def _nothing(signum: int, frame: object) -> None:
    """Unlike SIG_IGN it may take the place of a handler whose signal is already there."""


interrupts = Interrupts()


class Ended(BaseException):
    """Raised where a signal asks the process to end while files are being written."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@contextmanager
def tidy_end() -> Iterator[None]:
    """While files are being written: a signal that ends the process raises, so temporary files are removed first.

    What raises may be taken for something else on its way: a module of C that is being imported makes an ImportError of
    it, a callback of a library drops it. The process ends all the same.
    """
    received: list[int] = []

    def end(signum: int, frame: object) -> None:
        received.append(signum)
        if signum == signal.SIGINT and interrupts.handed_on:
            interrupts.after_first()  # also behind the block, where a report is written
        raise Ended(signum)

    previous = {}
    try:
        for signum in ending_signals():
            # one that is ignored stays so, and who listens already (StopFlag, an outer block) goes on
            if signal.getsignal(signum) in (signal.SIG_DFL, signal.default_int_handler):
                with suppress(ValueError):  # not the main thread, which is the one that signals go to
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
            if signal.getsignal(signum) is not end:  # the block has said what holds from now on
                continue
            signal.signal(signum, handler)
            if handler == signal.SIG_DFL:
                last_words.arm(signum)


def come_again(end: Ended) -> None:
    """Have it raised once more, soon: Python has dropped it, since the signal came while a destructor or the callback
    of a weak reference ran, which cannot raise."""
    if not hasattr(signal, "setitimer"):
        return

    def again(signum: int, frame: object) -> None:
        signal.signal(signum, previous)
        raise Ended(end.signum)

    previous = signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, SOON)


class LastWords:
    """What a signal prints before it ends the process."""

    wanted = False  # only a process that is a command's own
    text = b""  # of Ctrl-C
    erasing = b""  # the progress line

    def arm(self, signum: int) -> None:
        """Have them said from now on; to be called again when a handler of Python's has been in their place."""
        said = self.erasing + (self.text if signum == signal.SIGINT else b"")
        if said:
            from libsvmx._core.process import say_on

            say_on(signum, said)

    def begin(self) -> None:
        """Have them said, unless the signal is ignored, or an end that tidies up comes first, then these."""
        for signum in ending_signals():
            if signal.getsignal(signum) == signal.SIG_DFL:
                self.arm(signum)

    def erase(self, text: str) -> None:
        """There is a progress line, which ``text`` takes away."""
        if self.wanted:
            self.erasing = text.encode()
            self.begin()


last_words = LastWords()


def on_interrupt_say(command: str, text: str) -> None:
    """What Ctrl-C says from now on, or ''. Nothing where it is ignored, or where the command is called by a program."""
    if not text:
        last_words.text = b""
    elif last_words.wanted:
        terminal = sys.stderr is not None and sys.stderr.isatty()  # which shows ^C in the line
        last_words.text = f"{chr(10) * terminal}{command}: {text}\n".encode(errors="surrogateescape")
        last_words.begin()


def die_by(signum: int, end: BaseException) -> None:
    """End as the signal would have ended the process, so that a shell sees it.

    What the frames of ``end`` hold open, such as a temporary file that a signal found before its block, goes with them.
    """
    end.__traceback__ = end.__context__ = None
    signal.signal(signum, signal.SIG_DFL)
    end_workers()
    last_words.arm(signum)
    os.kill(os.getpid(), signum)


def end_workers() -> None:
    """What Python does at an exit, which there is none of: no process goes on, and semaphores are given back."""
    multiprocessing, util = sys.modules.get("multiprocessing"), sys.modules.get("multiprocessing.util")
    if multiprocessing is not None and util is not None:
        for child in multiprocessing.active_children():
            with suppress(OSError):
                os.kill(child.pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # workers of joblib have no kill()
        util._run_finalizers()


def ignored(signum: int) -> bool:
    """Whether the caller wants it ignored, as a shell script does for what it starts with ``&``."""
    return signal.getsignal(signum) == signal.SIG_IGN

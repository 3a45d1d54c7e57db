"""How a command lives and ends: exit codes, signals, messages on standard error."""

from __future__ import annotations

import atexit
import codecs
import gc
import os
import sys
from time import monotonic

from libsvmx import BEGUN
from libsvmx._core.contexts import contextmanager, suppress
from libsvmx._typing import TYPE_CHECKING
from libsvmx.cli.options import HelpRequested, UsageError, text_of
from libsvmx.exceptions import SvmxError
from libsvmx.io.files import STANDARD_OUTPUT

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator

    from libsvmx.cli.options import Usage
else:
    import _signal as signal  # without the names of its numbers, which cost a tenth of a start

FAILURE = 1  # LIBSVM's only exit code besides 0
BETWEEN_COUNTS = 0.5  # seconds
LEAST_SECONDS = 1e-9  # of a time limit that is over
ENDING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


def run(command: str, main: Callable[[list[str]], int], usage: Usage) -> None:
    """Run ``main`` on the arguments of the process and leave with its exit code."""
    _limits.counts_imports = True
    # results must not depend on the threads of BLAS, so it is given one: each takes address space
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # die by the signal, at once and without a traceback, as a C program does
    if not _ignored(signal.SIGINT):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _last_words.wanted = True
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    _print_names_as_typed()
    sys.unraisablehook = _tell_of_unraisable
    code = guarded(command, main, usage, sys.argv[1:])
    _end_workers()  # which Python would wait for, until each has ended as it would itself
    leave(code)


def leave(code: int) -> None:
    """End the process: at once where Python would only take itself down, which is an eighth of a small training."""
    if not _others_are_waiting():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):  # closed by the caller
                stream.flush()
        os._exit(code)
    gc.unfreeze()  # what start.py has set apart
    sys.exit(code)


def _others_are_waiting() -> bool:
    """Whether somebody wants to know that Python ends: threads, functions of ``atexit``, who traces or debugs it."""
    watched = sys.gettrace() is not None or sys.getprofile() is not None or sys.flags.inspect or sys.flags.dev_mode
    return bool(watched) or "threading" in sys.modules or getattr(atexit, "_ncallbacks", lambda: 1)() > 0


def guarded(command: str, main: Callable[[list[str]], int], usage: Usage, argv: list[str]) -> int:
    """``main(argv)``, with every expected error turned into a message and exit code 1."""
    try:
        code, text = _answered(command, main, usage, argv)
        write(text)
        return code
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        complain(command, f"{name}{error.strerror or error}")
        return FAILURE
    except SvmxError as error:
        complain(command, str(error))
        return FAILURE
    except MemoryError as error:
        complain(command, f"out of memory{f': {error}' if str(error) else ''}")
        return FAILURE
    except SystemError as error:
        # NumPy forgets to say so where it has no memory for the rows that an array of numbers picks
        if "without exception set" not in str(error) and "without setting an exception" not in str(error):
            raise
        complain(command, "out of memory")
        return FAILURE
    except ImportError as error:
        # of a module that is loaded when it is wanted: the loader's words where it has no memory for one
        if "failed to map segment" not in str(error) and "annot allocate memory" not in str(error):
            raise
        complain(command, "out of memory")
        return FAILURE
    except KeyboardInterrupt:
        die_by(signal.SIGINT)
    except Ended as end:
        die_by(end.signum)
    finally:
        _counter.clear()
        _drop_unwritable_output()
    return FAILURE


def _answered(command: str, main: Callable[[list[str]], int], usage: Usage, argv: list[str]) -> tuple[int, str]:
    """Exit code and what is still to be printed on standard output: help, usage or nothing.

    As LIBSVM's do, a command alone prints its usage. A wrong option gets a line on standard error, and nothing on
    standard output, where a script would take it for a result.
    """
    try:
        return main(argv), ""
    except HelpRequested as request:
        return 0, as_wide_as_the_terminal(request.args[0])
    except UsageError as error:
        if not str(error):
            return FAILURE, as_wide_as_the_terminal(text_of(usage))
        complain(command, str(error))
        _say(f"see {command} --help\n")
        return FAILURE, ""


def as_wide_as_the_terminal(text: str) -> str:
    """A usage, with no line longer than the terminal."""
    width = columns()
    if width is None or all(len(line) <= width for line in text.splitlines()):
        return text
    from libsvmx.cli.helptext import fitted  # not worth its time where nothing is too long

    return fitted(text, width)


def columns() -> int | None:
    """How wide lines may be: COLUMNS, or the terminal that they go to; None where nothing says."""
    text = os.environ.get("COLUMNS", "")
    if text.isdecimal() and int(text) > 0:
        return int(text)
    try:
        return os.get_terminal_size(1).columns or None if sys.stdout is not None and sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None


def _drop_unwritable_output() -> None:
    """Keep the interpreter from failing again, with a traceback, on output that could not be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def complain(command: str, message: str) -> None:
    """An error on standard error."""
    _say(f"{command}: error: {printable(message)}\n")


def warn(message: str) -> None:
    """A remark on standard error."""
    _say(f"warning: {printable(message)}\n")


def printable(message: str) -> str:
    """Control characters by their codes: what a file says is not to steer a terminal."""
    return "".join(c if " " <= c < "\x7f" or c > "\x9f" or c in "\n\t" else ascii(c)[1:-1] for c in message)


def _say(text: str) -> None:
    # where standard error is closed or full, the exit code has to do
    _counter.clear()
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(text)


class Counter:
    """Counter(): ``row 12 of 270`` on standard error, for who watches a terminal; nothing where it is none.

    The line takes the place of the one before, and is gone at the end. Where standard output goes to a terminal, too,
    it is a line among those.
    """

    def __init__(self) -> None:
        self.shown, self.last = False, 0.0

    def show(self, what: str, done: int, total: int) -> None:
        """So many are done; not told more often than a reader follows."""
        if sys.stderr is None or not sys.stderr.isatty() or monotonic() - self.last < BETWEEN_COUNTS:
            return
        self.last = monotonic()
        own = sys.stdout is not None and sys.stdout.isatty()
        with suppress(OSError):
            sys.stderr.write(f"{what} {done} of {total}\n" if own else f"\r\x1b[K{what} {done} of {total}")
            sys.stderr.flush()
            self.shown = not own

    def clear(self) -> None:
        """Before anything else is written there, and at the end."""
        if self.shown:
            self.shown = False
            with suppress(OSError):
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()


_counter = Counter()
count_on_terminal = _counter.show


def write(text: str) -> None:
    """To standard output, at once: progress is watched. Nowhere if the caller closed it."""
    if sys.stdout is None:
        return
    try:
        if text:  # writing nothing, unbuffered, would still fail on a full disk
            sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        error.filename = "standard output"
        raise


def _tell_of_unraisable(
    error: sys.UnraisableHookArgs,
    memory: type = MemoryError,
    of_kind: Callable[[type, type], bool] = issubclass,
    down: Callable[[], bool] = sys.is_finalizing,
    otherwise: Callable[[sys.UnraisableHookArgs], object] = sys.__unraisablehook__,
) -> None:
    """A line where memory was out in what cannot raise, such as a destructor of matplotlib.

    Python that takes itself down may call this when modules and builtins have lost their names: hence the defaults.
    """
    if not of_kind(error.exc_type, memory):
        otherwise(error)
    elif not down():  # else it has done its work
        name = getattr(error.object, "__qualname__", type(error.object).__name__)
        if error.object is None and error.err_msg:  # from Python 3.14 on: "... deallocator <function NAME at ...>"
            name = error.err_msg.partition("<function ")[2].partition(" at ")[0] or "a destructor"
        warn(f"out of memory in {name}, which cannot tell its caller")


def note(text: str) -> None:
    """To standard error, what would stand on standard output if that did not go to a file's reader."""
    _say(text)


def printer(*outputs: str | None) -> Callable[[str], None]:
    """Where a command prints: on standard error if one of its output files is standard output, ``-``."""
    return note if STANDARD_OUTPUT in outputs else write


def _print_names_as_typed() -> None:
    """File names come out by the bytes they came in by, whatever the locale."""
    codecs.register_error(AS_TYPED, _as_typed)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # closed by the caller
            stream.reconfigure(errors=AS_TYPED)  # type: ignore[union-attr]


AS_TYPED = "libsvmx.as_typed"


def _as_typed(error: UnicodeError) -> tuple[bytes, int]:
    """Bytes that are no text of this locale as they were; characters that it lacks by their codes."""
    assert isinstance(error, UnicodeEncodeError)
    characters = error.object[error.start : error.end]
    parts = (
        bytes([ord(c) - 0xDC00]) if "\udc80" <= c <= "\udcff" else c.encode("ascii", "backslashreplace")
        for c in characters
    )
    return b"".join(parts), error.end


class _LastWords:
    """What Ctrl-C prints before it ends the process."""

    wanted = False  # only a process that is a command's own, and listens to Ctrl-C
    text = b""

    def arm(self) -> None:
        """Have them said from now on; to be called again when a handler of Python's has been in their place."""
        if self.text:
            from libsvmx._core import last_words

            last_words.say_on(signal.SIGINT, self.text)


_last_words = _LastWords()


def on_interrupt_say(command: str, text: str) -> None:
    """What Ctrl-C says from now on. Nothing where it is ignored, or where the command is called by a program."""
    if _last_words.wanted:
        terminal = sys.stderr is not None and sys.stderr.isatty()  # which shows ^C in the line
        _last_words.text = f"{chr(10) * terminal}{command}: {text}\n".encode(errors="surrogateescape")
        if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:  # else an end that tidies up comes first, then these
            _last_words.arm()


def die_by(signum: int) -> None:
    """End as the signal would have ended the process, so that a shell sees it."""
    signal.signal(signum, signal.SIG_DFL)
    _end_workers()
    if signum == signal.SIGINT:
        _last_words.arm()
    os.kill(os.getpid(), signum)


def _end_workers() -> None:
    """What Python does at an exit, which there is none of: no process goes on, and semaphores are given back."""
    multiprocessing, util = sys.modules.get("multiprocessing"), sys.modules.get("multiprocessing.util")
    if multiprocessing is not None and util is not None:
        for child in multiprocessing.active_children():
            with suppress(OSError):
                os.kill(child.pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # workers of joblib have no kill()
        util._run_finalizers()


def _ignored(signum: int) -> bool:
    """Whether the caller wants it ignored, as a shell script does for what it starts with ``&``."""
    return signal.getsignal(signum) == signal.SIG_IGN


class _Limits:
    """Whether imports count: in a process that is a command's own."""

    counts_imports = False


_limits = _Limits()


def time_left(seconds: float) -> float:
    """What is left of a command's time limit. Its imports count, which take a second on a busy machine; 0 is no limit.

    The process may be older: a script that ends in ``exec svmx-train`` has run in it before.
    """
    if seconds <= 0 or not _limits.counts_imports:
        return seconds
    return max(seconds - (monotonic() - BEGUN), LEAST_SECONDS)


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
        raise Ended(signum)

    previous = {}
    try:
        for signum in ENDING:
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
            signal.signal(signum, handler)
            if signum == signal.SIGINT and handler == signal.SIG_DFL:
                _last_words.arm()


class StopFlag:
    """Ctrl-C asks to stop; a second one kills."""

    def __init__(self) -> None:
        self.raised = False

    def listen(self) -> None:
        """From now on."""
        signal.signal(signal.SIGINT, self._raise)

    def _raise(self, signum: int, frame: object) -> None:
        self.raised = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def available(module: str) -> bool:
    """Whether a module can be imported."""
    from importlib.util import find_spec

    return find_spec(module) is not None

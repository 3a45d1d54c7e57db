"""How a command lives: exit codes, messages on standard error, what its progress line and its report are told."""

from __future__ import annotations

import os
import sys

from libsvmx import BEGUN
from libsvmx._core.contexts import contextmanager, suppress
from libsvmx._core.machine import machine
from libsvmx._typing import TYPE_CHECKING
from libsvmx.cli.ending import Ended, come_again, die_by, end_workers, ignored, last_words, leave, tidy_end
from libsvmx.cli.options import REPORT, HelpRequested, UsageError, as_wide_as_the_terminal, short_usage
from libsvmx.exceptions import SvmxError
from libsvmx.io.files import STANDARD_OUTPUT, print_names_as_typed
from libsvmx.io.outputs import ending_signals

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator

    from libsvmx._train.observer import Observer
    from libsvmx.cli.options import Usage
    from libsvmx.cli.progress import Progress
    from libsvmx.cli.report import Report
else:
    import _signal as signal  # without the names of its numbers, which cost a tenth of a start

FAILURE = 1  # LIBSVM's only exit code besides 0
RED, YELLOW = "1;31", "1;33"  # of terminals
LEAST_SECONDS = 1e-9  # of a time limit that is over


def run(command: str, main: Callable[[list[str]], int], usage: Usage) -> None:
    """Run ``main`` on the arguments of the process and leave with its exit code."""
    _watched.counts_imports = True
    # results must not depend on the threads of BLAS, so it is given one: each takes address space
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    last_words.wanted = True
    # die by the signal, at once and without a traceback, as a C program does
    if not ignored(signal.SIGINT):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    print_names_as_typed(sys.stdout, sys.stderr)
    sys.unraisablehook = _tell_of_unraisable
    code = guarded(command, main, usage, sys.argv[1:])
    end_workers()  # which Python would wait for, until each has ended as it would itself
    leave(code)


def guarded(command: str, main: Callable[[list[str]], int], usage: Usage, argv: list[str]) -> int:
    """``main(argv)``, with every expected error turned into a message and exit code 1, and the report if asked for."""
    code, of_interrupts = FAILURE, signal.getsignal(signal.SIGINT)
    try:
        code, text = _answered(command, main, usage, argv)
        write(text)
    except Exception as error:
        code, message = FAILURE, _message_of(error)
        if message is None:
            tell("failure", repr(error))
            raise
        if isinstance(error, FileNotFoundError) and error.filename:
            from libsvmx.cli.missing import instead_of

            message += instead_of(os.fsdecode(error.filename))
        complain(command, message, error)
    except (KeyboardInterrupt, Ended) as end:
        signum = end.signum if isinstance(end, Ended) else signal.SIGINT
        _end_report(128 + signum)
        die_by(signum, end)
    finally:
        clear()
        if not _end_report(code):
            code = FAILURE
        forget()
        _drop_unwritable_output()
        if signal.getsignal(signal.SIGINT) != of_interrupts is not None:  # --on-interrupt save, called by a program
            with suppress(ValueError):  # not the main thread
                signal.signal(signal.SIGINT, of_interrupts)
    return code


def _answered(command: str, main: Callable[[list[str]], int], usage: Usage, argv: list[str]) -> tuple[int, str]:
    """Exit code and what is still to be printed on standard output: help, usage or nothing.

    A command without arguments prints its usage, as LIBSVM's do. A wrong option gets a line on standard error and
    nothing on standard output, where a script would take it for a result.
    """
    try:
        with _reported(command, argv):
            return main(argv), ""
    except HelpRequested as request:
        return 0, as_wide_as_the_terminal(request.args[0])
    except UsageError as error:
        if not str(error):
            return FAILURE, as_wide_as_the_terminal(short_usage(usage, command))
        complain(command, str(error), error)
        _say(f"see {command} --help\n")
        return FAILURE, ""


def _message_of(error: Exception) -> str | None:
    """What a command says of an expected error; None of others."""
    if isinstance(error, OSError):
        name = "" if error.filename is None else f"{error.filename or repr('')}: "
        return f"{name}{error.strerror or error}"
    if isinstance(error, SvmxError):
        return str(error)
    said = str(error)
    if isinstance(error, MemoryError):
        return f"out of memory{f': {said}' if said else ''}"
    # NumPy forgets to say so where it has no memory for the rows that an array of numbers picks
    if isinstance(error, SystemError) and ("without exception set" in said or "without setting an exception" in said):
        return "out of memory"
    # of a module that is loaded when it is wanted: the loader's words where it has no memory for one
    if isinstance(error, ImportError) and ("failed to map segment" in said or "annot allocate memory" in said):
        return "out of memory"
    return None


def _drop_unwritable_output() -> None:
    """Keep the interpreter from failing again, with a traceback, on output that could not be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def complain(command: str, message: str, error: Exception | None = None) -> None:
    """An error on standard error, and what the report says of it."""
    _say(f"{command}: {_coloured('error:', RED)} {printable(message)}\n")
    if _watched.report is not None:
        _watched.report.failed(message, error)


def warn(message: str) -> None:
    """A remark on standard error. With ``-q`` only the report has it: scripts take what stands there for an error."""
    insist(message, not _watched.quiet)


def insist(message: str, said: bool = True) -> None:
    """The same whatever ``-q`` says, of what LIBSVM writes there in any case."""
    if said:
        _say(f"{_coloured('warning:', YELLOW)} {printable(message)}\n")
    if _watched.report is not None:
        _watched.report.warnings.append(message)


def _coloured(word: str, colour: str) -> str:
    """A word on a terminal, if nobody has said that it is to have no colours (no-color.org)."""
    if sys.stderr is None or not sys.stderr.isatty():
        return word
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return word
    return f"\x1b[{colour}m{word}\x1b[m"


def printable(message: str, kept: str = "\n\t") -> str:
    """Control characters by their codes, but for those ``kept``: what a file says is not to steer a terminal."""
    return "".join(c if " " <= c < "\x7f" or c > "\x9f" or c in kept else ascii(c)[1:-1] for c in message)


def _say(text: str) -> None:
    # where standard error is closed or full, the exit code has to do
    clear()
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(text)
        if _watched.progress is not None:
            _watched.progress.before(text)


def write(text: str) -> None:
    """To standard output, at once: progress is watched. Nowhere if the caller closed it."""
    if _watched.report is not None and _watched.report.path == STANDARD_OUTPUT:
        _say(text)
        return
    if _watched.progress is not None and _watched.progress.shared:
        _watched.progress.before(text)
    if sys.stdout is None:
        return
    try:
        if text:  # writing nothing, unbuffered, would still fail on a full disk
            sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        error.filename = "standard output"
        raise


# ---- what somebody sees of the command, or reads of it later ----------------------------------------


class _Watched:
    """The progress line of the command at hand, and its report; None where nobody asks for them."""

    progress: Progress | None = None
    report: Report | None = None
    phase, within = "", 0.0  # the present part, and the seconds of those within it
    quiet = False  # whether nothing but errors is to be said
    counts_imports = False  # of a time limit: in a process that is a command's own

    def forget(self) -> None:
        self.progress = self.report = None
        self.quiet = False


_watched = _Watched()


def watch(quiet: bool = False, *outputs: str | None) -> None:
    """Once the options are known: from now on there is a progress line, if standard error is a terminal. ``outputs``:
    the files that the command writes. Raises UsageError where one of them is that of the report."""
    report, _watched.report, _watched.quiet = _watched.report, None, quiet
    if report is not None:
        report.keep_apart(outputs)  # else it is not written
    _watched.report = report
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return
    from libsvmx.cli import progress

    shared = progress.on_one_terminal()
    if progress.wanted() and not (shared and STANDARD_OUTPUT in outputs):
        _watched.progress = progress.Progress(sys.stderr, shared)
        last_words.erase(_watched.progress.erasing)


def begin_again(heard: list[int]) -> None:
    """In a fork that does another command: it begins now, and nothing is told of the one before. The signals ``heard``
    end it, whatever the command before has made of them: it ignores them once its report is written."""
    for signum in heard:
        signal.signal(signum, signal.SIG_DFL)  # also in the place of last words
    _watched.forget()
    _watched.counts_imports = False
    last_words.text = last_words.erasing = b""


def forget() -> None:
    """What a program has called as a function is over."""
    clear()
    _watched.forget()


@contextmanager
def phase(name: str, of: str = "") -> Iterator[None]:
    """A part of the command: ``name`` is a key of the report's seconds, ``of`` what the progress line says besides. The
    time of a part within another is not the other's."""
    began, outer, within = machine.monotonic(), _watched.phase, _watched.within
    _watched.phase, _watched.within = f"{name} {of}" if of else name, 0.0
    if _watched.progress is not None:
        _watched.progress.begin(printable(_watched.phase, ""))
    try:
        yield
    finally:
        clear()
        seconds = machine.monotonic() - began
        if _watched.report is not None:
            _watched.report.took(name, seconds - _watched.within)
        _watched.phase, _watched.within = outer, within + seconds
        if _watched.progress is not None:
            _watched.progress.begin(printable(outer, ""))


def counted(what: str, done: int, total: int) -> None:
    """So many of the present phase are done."""
    if _watched.progress is not None:
        _watched.progress.count(what, done, total)


def bytes_read() -> Callable[[int, int], object] | None:
    """What a reader of files tells of its bytes; None where nobody looks on."""
    return None if _watched.progress is None else _watched.progress.bytes


def follow(observer: Observer) -> None:
    """Have the progress line tell what an observer hears."""
    if _watched.progress is not None:
        _watched.progress.follow(observer)


def gap_ends_at(eps: Callable[[], float]) -> None:
    """Have the progress line tell where the gap ends; 0 if there is more than one solve."""
    if _watched.progress is not None:
        _watched.progress.eps = eps()


def tick() -> None:
    """Something goes on."""
    if _watched.progress is not None:
        _watched.progress.tick()


def tell(what: str, *facts: object) -> None:
    """For the report: ``what`` is a function of libsvmx.cli.results."""
    if _watched.report is not None:
        _watched.report.add(what, *facts)


def clear() -> None:
    """The progress line, before anything else is written."""
    if _watched.progress is not None:
        _watched.progress.clear()


@contextmanager
def _reported(command: str, argv: list[str]) -> Iterator[None]:
    """The block, of which a report is made if the arguments ask for one: then Ctrl-C comes as an exception."""
    if not any(word.partition("=")[0] == REPORT for word in argv):
        yield
        return
    from libsvmx.cli.report import begun

    # called by a program, it begins now
    began, cpu = (BEGUN, 0.0) if _watched.counts_imports else (machine.monotonic(), machine.process_time())
    with tidy_end():
        _watched.report = begun(command, argv, began, cpu)
        yield


def _end_report(code: int) -> bool:
    """Write the report, if there is one that is not written. Whether that has gone well."""
    report, _watched.report = _watched.report, None
    if report is None:
        return True
    try:
        with tidy_end():
            report.write(code)
            if last_words.wanted:  # what is written says how the process ends
                for signum in ending_signals():
                    signal.signal(signum, signal.SIG_IGN)
    except Ended as end:
        die_by(end.signum, end)
    except Exception as error:
        complain(report.command, _message_of(error) or f"{type(error).__name__}: {error}")
        return False
    return True


def _tell_of_unraisable(
    error: sys.UnraisableHookArgs,
    memory: type = MemoryError,
    of_kind: Callable[[type, type], bool] = issubclass,
    down: Callable[[], bool] = sys.is_finalizing,
    otherwise: Callable[[sys.UnraisableHookArgs], object] = sys.__unraisablehook__,
) -> None:
    """A line where memory was out in what cannot raise, such as a destructor of matplotlib; a signal comes again.

    Python that takes itself down may call this when modules and builtins have lost their names: hence the defaults.
    """
    if isinstance(error.exc_value, Ended):
        come_again(error.exc_value)
    elif not of_kind(error.exc_type, memory):
        otherwise(error)
    elif not down():  # else it has done its work
        name = getattr(error.object, "__qualname__", type(error.object).__name__)
        if error.object is None and error.err_msg:  # from Python 3.14 on: "... deallocator <function NAME at ...>"
            name = error.err_msg.partition("<function ")[2].partition(" at ")[0] or "a destructor"
        insist(f"out of memory in {name}, which cannot tell its caller")


def note(text: str) -> None:
    """To standard error, what would stand on standard output if that did not go to a file's reader."""
    _say(text)


def printer(*outputs: str | None) -> Callable[[str], None]:
    """Where a command prints: on standard error if one of its output files is standard output, ``-``."""
    return note if STANDARD_OUTPUT in outputs else write


def time_left(seconds: float) -> float:
    """What is left of a command's time limit. Its imports count, which take a second on a busy machine; 0 is no limit.

    The process may be older: a script that ends in ``exec svmx-train`` has run in it before.
    """
    if seconds <= 0 or not _watched.counts_imports:
        return seconds
    return max(seconds - (machine.monotonic() - BEGUN), LEAST_SECONDS)

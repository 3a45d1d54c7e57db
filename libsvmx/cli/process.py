"""The process of a command: exit codes, messages on standard error, and calls to its progress line and report."""

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
    import _signal as signal  # signal itself makes enumerations, which take a tenth of a start

FAILURE = 1  # LIBSVM's only exit code besides 0
RED, YELLOW = "1;31", "1;33"  # of terminals
MOST_NAMES = 10_000  # of the folder of a missing file, that are compared
LEAST_SECONDS = 1e-9  # for a time limit that has expired; 0 would be none


def run(command: str, main: Callable[[list[str]], int], usage: Usage) -> None:
    """Run ``main`` on the arguments of the process and leave with its exit code."""
    _watched.counts_imports = True
    # results do not depend on the threads of BLAS; more than one would only take address space
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    last_words.wanted = True
    # end by the signal at once, without a traceback, like a C program
    if not ignored(signal.SIGINT):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    print_names_as_typed(sys.stdout, sys.stderr)
    sys.unraisablehook = _tell_of_unraisable
    code = guarded(command, main, usage, sys.argv[1:])
    end_workers()  # else Python would wait for them
    leave(code)


def entry_of(command: str, main: Callable[[list[str]], int], usage: Usage) -> Callable[[], None]:
    """The function that ``run`` is for a command, as its console script calls it."""
    return lambda: run(command, main, usage)


def guarded(command: str, main: Callable[[list[str]], int], usage: Usage, argv: list[str]) -> int:
    """``main(argv)``, with expected errors turned into messages and exit code 1; writes the report, if any."""
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
    """Exit code, and text for standard output: help, usage or nothing.

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
        note(f"see {command} --help\n")
        return FAILURE, ""


def _message_of(error: Exception) -> str | None:
    """The message for an expected error; None for others."""
    if isinstance(error, OSError):
        name = "" if error.filename is None else f"{error.filename or repr('')}: "
        return f"{name}{error.strerror or error}"
    if isinstance(error, SvmxError):
        return str(error)
    said = str(error)
    if isinstance(error, MemoryError):
        return f"out of memory{f': {said}' if said else ''}"
    # NumPy's error, without a message, when memory is out in indexing by an array
    if isinstance(error, SystemError) and ("without exception set" in said or "without setting an exception" in said):
        return "out of memory"
    # the dynamic loader's error when memory is out on a late import
    if isinstance(error, ImportError) and ("failed to map segment" in said or "annot allocate memory" in said):
        return "out of memory"
    return None


def instead_of(path: str) -> str:
    """``; did you mean NAME?`` if the folder has a similar name."""
    from libsvmx._core.suggestions import nearest

    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry, _ in zip(entries, range(MOST_NAMES), strict=False)]
    except OSError:
        return ""
    found = nearest(name, names)
    return f"; did you mean {os.path.join(folder, found)}?" if found else ""


def _drop_unwritable_output() -> None:
    """Keep the interpreter from failing at exit, with a traceback, on output that cannot be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def complain(command: str, message: str, error: Exception | None = None) -> None:
    """Write an error to standard error and to the report."""
    note(f"{command}: {_coloured('error:', RED)} {printable(message)}\n")
    if _watched.report is not None:
        _watched.report.failed(message, error)


def warn(message: str) -> None:
    """Write a warning to standard error, with ``-q`` only to the report: scripts take text there for an error."""
    insist(message, not _watched.quiet)


def insist(message: str, said: bool = True) -> None:
    """``warn`` despite ``-q``, as LIBSVM does for some warnings."""
    if said:
        note(f"{_coloured('warning:', YELLOW)} {printable(message)}\n")
    if _watched.report is not None:
        _watched.report.warnings.append(message)


def _coloured(word: str, colour: str) -> str:
    """A word in colour on a terminal, unless the environment forbids colours (no-color.org)."""
    if sys.stderr is None or not sys.stderr.isatty():
        return word
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return word
    return f"\x1b[{colour}m{word}\x1b[m"


def printable(message: str, kept: str = "\n\t") -> str:
    """Control characters, except those in ``kept``, as escapes: text of a file must not control the terminal."""
    return "".join(c if " " <= c < "\x7f" or c > "\x9f" or c in kept else ascii(c)[1:-1] for c in message)


def note(text: str) -> None:
    """Write to standard error; if it is closed or full, the exit code must suffice."""
    clear()
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(text)
        if _watched.progress is not None:
            _watched.progress.before(text)


def write(text: str) -> None:
    """Write to standard output and flush; nothing if the caller closed it."""
    if _watched.report is not None and _watched.report.path == STANDARD_OUTPUT:
        note(text)
        return
    if _watched.progress is not None and _watched.progress.shared:
        _watched.progress.before(text)
    if sys.stdout is None:
        return
    try:
        if text:  # an empty unbuffered write would still fail on a full disk
            sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        error.filename = "standard output"
        raise


# ---- progress line and report ------------------------------------------------------------------------


class _Watched:
    """Progress line and report of the running command; None if not wanted."""

    progress: Progress | None = None
    report: Report | None = None
    phase, within = "", 0.0  # the current phase, and the seconds of phases within it
    quiet = False  # print errors only
    counts_imports = False  # whether a time limit includes the imports: in a command's own process

    def forget(self) -> None:
        self.progress = self.report = None
        self.quiet = False


_watched = _Watched()


def watch(quiet: bool = False, *outputs: str | None) -> None:
    """Begin the progress line, if standard error is a terminal. Called once the options are known; ``outputs``: files
    that the command writes. Raises UsageError if the report is one of them."""
    report, _watched.report, _watched.quiet = _watched.report, None, quiet
    if report is not None:
        report.keep_apart(outputs)  # if it raises, no report is written
    _watched.report = report
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return
    from libsvmx.cli import progress

    shared = progress.on_one_terminal()
    if progress.wanted() and not (shared and STANDARD_OUTPUT in outputs):
        _watched.progress = progress.Progress(sys.stderr, shared)
        last_words.erase(_watched.progress.erasing)


def begin_again(heard: list[int]) -> None:
    """Reset all this in a fork that runs its next command. The signals ``heard`` end it again: a command ignores them
    once its report is written."""
    for signum in heard:
        signal.signal(signum, signal.SIG_DFL)  # also replaces the handler of last words
    _watched.forget()
    _watched.counts_imports = False
    last_words.text = last_words.erasing = b""


def forget() -> None:
    """Reset all this after a command that a program has called as a function."""
    clear()
    _watched.forget()


@contextmanager
def phase(name: str, of: str = "") -> Iterator[None]:
    """A phase of the command: ``name`` is its key in the report's seconds, ``of`` an addition for the progress line.
    Nested phases do not count as time of the outer one."""
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
    """Tell the progress line how much of the phase is done."""
    if _watched.progress is not None:
        _watched.progress.count(what, done, total)


def bytes_read() -> Callable[[int, int], object] | None:
    """A callback for the bytes read of a file; None without a progress line."""
    return None if _watched.progress is None else _watched.progress.bytes


def follow(observer: Observer) -> None:
    """Show the events of an observer in the progress line."""
    if _watched.progress is not None:
        _watched.progress.follow(observer)


def gap_ends_at(eps: Callable[[], float]) -> None:
    """Tell the progress line the gap at the end; 0 for more than one solve."""
    if _watched.progress is not None:
        _watched.progress.eps = eps()


def tick() -> None:
    """Redraw the progress line."""
    if _watched.progress is not None:
        _watched.progress.tick()


def tell(what: str, *facts: object) -> None:
    """Add facts to the report by ``what``, a function of libsvmx.cli.results."""
    if _watched.report is not None:
        _watched.report.add(what, *facts)


def clear() -> None:
    """Clear the progress line, before other text is written."""
    if _watched.progress is not None:
        _watched.progress.clear()


@contextmanager
def _reported(command: str, argv: list[str]) -> Iterator[None]:
    """Make a report of the block if the arguments ask for one; Ctrl-C then raises an exception."""
    if not any(word.partition("=")[0] == REPORT for word in argv):
        yield
        return
    from libsvmx.cli.report import begun

    # without counts_imports a program has called the command, which begins now
    began, cpu = (BEGUN, 0.0) if _watched.counts_imports else (machine.monotonic(), machine.process_time())
    with tidy_end():
        _watched.report = begun(command, argv, began, cpu)
        yield


def _end_report(code: int) -> bool:
    """Write the report, unless there is none or it is written. Returns whether that succeeded."""
    report, _watched.report = _watched.report, None
    if report is None:
        return True
    try:
        with tidy_end():
            report.write(code)
            if last_words.wanted:  # the process must now end as the report says
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
    """Report that memory was out where no exception can be raised, as in a destructor of matplotlib; raise signals
    again.

    At exit Python may call this after modules and builtins have lost their names: hence the default arguments.
    """
    if isinstance(error.exc_value, Ended):
        come_again(error.exc_value)
    elif not of_kind(error.exc_type, memory):
        otherwise(error)
    elif not down():  # at exit the work is done
        name = getattr(error.object, "__qualname__", type(error.object).__name__)
        if error.object is None and error.err_msg:  # Python >= 3.14: "... deallocator <function NAME at ...>"
            name = error.err_msg.partition("<function ")[2].partition(" at ")[0] or "a destructor"
        insist(f"out of memory in {name}, which cannot tell its caller")


def printer(*outputs: str | None) -> Callable[[str], None]:
    """The command's print function: to standard error if one of its output files is standard output, ``-``."""
    return note if STANDARD_OUTPUT in outputs else write


def time_left(seconds: float) -> float:
    """The rest of a command's time limit, from which its imports are subtracted: a second on a busy machine; 0: no
    limit.

    The age of the process would be wrong: a script may end in ``exec svmx-train``.
    """
    if seconds <= 0 or not _watched.counts_imports:
        return seconds
    return max(seconds - (machine.monotonic() - BEGUN), LEAST_SECONDS)

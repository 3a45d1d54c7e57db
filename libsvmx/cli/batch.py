"""svmx-batch: many commands, in turn or in parallel, with a single start of Python.

All their imports are loaded first. Then forks of this process, one for each parallel job, run them; a fork that ends
with its command, for example by a signal, is replaced.
"""

from __future__ import annotations

import gc
import os
import re
import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass
from select import select
from struct import Struct
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NoReturn

from libsvmx._core.machine import machine
from libsvmx._core.suggestions import did_you_mean
from libsvmx.cli.ending import Ended, end_workers, ignored, interrupts, leave_fork, tidy_end
from libsvmx.cli.options import UsageError, count, parse
from libsvmx.cli.process import begin_again, complain, counted, entry_of, guarded, note, phase, tell, watch
from libsvmx.cli.scale import write_output
from libsvmx.exceptions import FormatError, SvmxError
from libsvmx.io.files import name_of_input, read_bytes
from libsvmx.io.outputs import ending_signals

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
else:
    import _signal as signal  # as in process.py

USAGE = """\
usage: svmx-batch [options] commands_file

Runs the command lines of a file (- for standard input), such as svmx-train -c 4 data model, one in a
line, as a shell would, but starts Python once for all of them. Blank lines and # comments are left out.
LIBSVM's names, svm-train, svm-predict and svm-scale, mean the commands that replace them. There is no
shell: nothing is expanded, and there are no pipes and no redirections (svmx-scale has --output).

Each command prints what it prints, in the order of the lines. A command that fails is told on standard
error, and the others go on; the exit code is that of the first that failed, in the order of the lines.

options:
  --jobs N       number of commands run in parallel (1), each with its share of the processors
  --stop         begin no other command when one has failed
  --report FILE  write a report of results and times, as JSON
  --help, --version

With --jobs a command does not wait for those before it. A line with the word wait does: what stands
below it begins when all above it has ended.
"""

# LIBSVM's commands, and ours in their place.
REPLACED = {"svm-train": "svmx-train", "svm-predict": "svmx-predict", "svm-scale": "svmx-scale"}
NAMES = [f"svmx-{name}" for name in ("train", "predict", "scale", "grid", "easy", "subset", "checkdata")]
NAMES += [f"svmx-{name}" for name in ("update", "compress", "export")]
TRAINING = ("svmx-train", "svmx-grid", "svmx-easy")
WAIT = "wait"
OPERATORS = frozenset("|&;<>()")  # of a shell
# Text before a comment: words, plain, quoted or escaped, within which # is an ordinary character.
IN_WORD = r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'"\\]"""
WORDS = re.compile(rf"(?:\s*(?!#)(?:{IN_WORD})+)*\s*")
NUMBER, END = Struct("=i"), Struct("=id")  # to a fork: number of a command; from it: exit code and seconds


@dataclass
class Command:
    """One line of the batch.

    Attributes
    ----------
    line : int               its number in the file
    words : list of str      the name of the command, and its arguments
    stage : int              commands of a stage wait for those of the stage before
    exit_code : int or None  as in a shell, 128 + signal if one ended it; None: not ended
    printed : tuple of bytes           standard output and error, held back until earlier commands have printed
    """

    line: int
    words: list[str]
    stage: int
    exit_code: int | None = None
    seconds: float = 0.0
    printed: tuple[bytes, bytes] = (b"", b"")


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    jobs, stop = 1, False

    def set_jobs(option: str, text: str) -> None:
        nonlocal jobs
        jobs = count(option, text)
        if jobs < 1:
            raise UsageError(f"option {option}: at least one command has to run at a time")

    def set_stop() -> None:
        nonlocal stop
        stop = True

    files = parse(argv, {}, {}, {"--jobs": set_jobs}, {"--stop": set_stop}, USAGE, "svmx-batch")
    if len(files) != 1:
        raise UsageError("one file of command lines is needed" if argv else "")
    if not hasattr(os, "fork"):
        raise SvmxError("svmx-batch needs a system that can fork a process, which this one cannot")
    commands = read_commands(files[0])
    watch(jobs == 1)  # a single command at a time has the terminal
    with phase("running"):
        load({command.words[0] for command in commands})
        Batch(commands, jobs, stop).run()
    tell("commands", commands)
    return next((command.exit_code for command in commands if command.exit_code), 0)


def read_commands(path: str) -> list[Command]:
    """The commands of a file, with their names checked. Raises FormatError, OSError."""
    name = name_of_input(path)
    found, stage = [], 0
    for number, line in enumerate(os.fsdecode(read_bytes(path)).split("\n"), 1):
        try:
            line = without_comment(line)
            words = shlex.split(line)
            pieces = shlex.shlex(line, posix=True, punctuation_chars="".join(OPERATORS))
            pieces.whitespace_split, pieces.commenters = True, ""
            operator = next((piece for piece in pieces if piece and OPERATORS.issuperset(piece)), None)
        except ValueError as error:
            raise FormatError(name, number, 0, f"{error}".lower()) from None
        if operator is not None:
            raise FormatError(name, number, line.find(operator) + 1, f"{operator!r} needs a shell, and there is none")
        if words == [WAIT]:
            stage += 1
        elif words:
            base = os.path.basename(words[0])
            words[0] = REPLACED.get(base, base)
            if words[0] not in NAMES:
                known = did_you_mean(base, [*NAMES, *REPLACED])
                raise FormatError(name, number, 1, f"{base!r} is not a command that is allowed here{known}")
            found.append(Command(number, words, stage))
    return found


def without_comment(line: str) -> str:
    """The line without a shell comment: a # that begins a word, and all after it."""
    words = WORDS.match(line)
    assert words is not None
    return line[: words.end()] if line.startswith("#", words.end()) else line


def load(names: set[str]) -> None:
    """Import the modules of the commands, late imports included, and freeze them: forks need not search them for
    garbage."""
    for name in names:
        __import__(module_of(name))
    if not names.isdisjoint(TRAINING):
        import libsvmx._solvers.smo.smo
        import libsvmx._train.queue.trainings
        import libsvmx._train.validation.cross_validation  # noqa: F401
    gc.collect()
    gc.freeze()


def module_of(name: str) -> str:
    return f"libsvmx.cli.{name.removeprefix('svmx-')}"


class Batch:
    """Batch(commands, jobs, stop): runs commands in forks and prints their output in order."""

    def __init__(self, commands: Sequence[Command], jobs: int, stop: bool) -> None:
        self.commands, self.jobs, self.stop = commands, jobs, stop
        self.forks: list[Fork] = []
        self.told = 0  # number of commands, from the first one, whose output is printed
        self.failed = False

    def run(self) -> None:
        """Run all commands. No fork is left at the end."""
        stage, signum = 0, 0
        with tidy_end():
            try:
                for number, command in enumerate(self.commands):
                    while self.busy() and (len(self.busy()) >= self.jobs or command.stage > stage):
                        self.await_ends()
                    if self.failed and self.stop:
                        break
                    stage = command.stage
                    self.idle().begin(number)
                while self.busy():
                    self.await_ends()
            except BaseException as end:
                signum = end.signum if isinstance(end, Ended) else signal.SIGTERM
                raise
            finally:
                self.end(signum)

    def end(self, signum: int) -> None:
        """End all forks, by a signal if it is not 0. At Ctrl-C some save a model first; a second signal ends them."""
        try:
            for fork in self.forks:
                fork.hand_on(signum)
            for fork in self.forks:
                fork.end()
        except Ended:
            for fork in self.forks:
                fork.hand_on(signal.SIGTERM)
            raise

    def busy(self) -> list[Fork]:
        return [fork for fork in self.forks if fork.number is not None]

    def idle(self) -> Fork:
        """An idle fork, a new one if there is none."""
        for fork in self.forks:
            if fork.number is None:
                return fork
        self.forks.append(Fork(self.commands, self.jobs, self.forks))
        return self.forks[-1]

    def await_ends(self) -> None:
        """Wait for the end of a command, and print the output whose turn it is."""
        for fork in select(self.busy(), [], [])[0]:
            assert fork.number is not None
            command = self.commands[fork.number]
            command.exit_code, command.seconds, command.printed = fork.ended()
            self.failed = self.failed or command.exit_code != 0
            if fork.number is not None:  # the fork has ended with its command
                self.forks.remove(fork)
        while self.told < len(self.commands) and self.commands[self.told].exit_code is not None:
            self.print_of(self.commands[self.told])
            self.told += 1
        counted("command", self.told, len(self.commands))

    def print_of(self, command: Command) -> None:
        output, errors = command.printed
        command.printed = (b"", b"")
        if output:
            write_output(output)
        if errors:
            note(os.fsdecode(errors))
        if command.exit_code:
            complain("svmx-batch", f"line {command.line} ended with {command.exit_code}: {shlex.join(command.words)}")


class Fork:
    """Fork(commands, jobs, others): a fork of this process that runs commands in turn.

    Attributes
    ----------
    number : int or None     of its present command
    """

    def __init__(self, commands: Sequence[Command], jobs: int, others: Sequence[Fork]) -> None:
        self.number: int | None = None
        self.printed = [TemporaryFile(buffering=0) for _ in range(2 if jobs > 1 else 0)]  # noqa: SIM115  see end()
        numbers, self.numbers = os.pipe()
        self.ends, ends = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()  # else both processes would write what is in the buffer
        self.began = machine.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            for descriptor in (self.numbers, self.ends, *(d for other in others for d in (other.numbers, other.ends))):
                os.close(descriptor)  # or a pipe would stay open whose process has ended
            serve(commands, jobs, self.printed, numbers, ends)
        os.close(numbers)
        os.close(ends)

    def fileno(self) -> int:
        """What can be read when a command has ended."""
        return self.ends

    def begin(self, number: int) -> None:
        self.number, self.began = number, machine.monotonic()
        os.write(self.numbers, NUMBER.pack(number))

    def ended(self) -> tuple[int, float, tuple[bytes, bytes]]:
        """Exit code, seconds, and what was printed, of the command that has ended; ``number`` is None then, unless the
        fork has ended, too."""
        found = os.read(self.ends, END.size)
        if found:
            code, seconds = END.unpack(found)
            self.number = None
        else:
            status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            code, seconds = status if status >= 0 else 128 - status, machine.monotonic() - self.began
            self.pid = 0
        printed = []
        for file in self.printed:
            file.seek(0)
            printed.append(file.read())
            file.truncate(0)
        if self.pid == 0:
            self.end()
        return code, seconds, (printed[0], printed[1]) if printed else (b"", b"")

    def hand_on(self, signum: int) -> None:
        if self.pid and signum:
            with suppress(OSError):
                os.kill(self.pid, signum)

    def end(self) -> None:
        """Wait until it has ended."""
        os.close(self.numbers)  # end of file ends it
        if self.pid:
            with suppress(OSError):
                os.waitpid(self.pid, 0)
            self.pid = 0
        os.close(self.ends)
        for file in self.printed:
            file.close()


def serve(commands: Sequence[Command], jobs: int, printed: Sequence[IO[bytes]], numbers: int, ends: int) -> NoReturn:
    """The work of a fork: run the commands whose numbers it reads, until end of file."""
    code = 1
    try:
        heard = [signum for signum in ending_signals() if not ignored(signum)]
        begin_again(heard)
        interrupts.handed_on = True
        if jobs > 1:
            os.environ.setdefault("OMP_NUM_THREADS", str(max(1, machine.processors() // jobs)))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin = open(0)  # noqa: SIM115
        for descriptor, file in enumerate(printed, 1):
            os.dup2(file.fileno(), descriptor)
        while number := os.read(numbers, NUMBER.size):
            for file in printed:
                file.seek(0)
            began, code = machine.monotonic(), 1
            code = done(commands[NUMBER.unpack(number)[0]].words)
            begin_again(heard)  # before the exit code is sent: later signals are for the next command
            os.write(ends, END.pack(code, machine.monotonic() - began))
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        end_workers()
        leave_fork(code)


def done(words: Sequence[str]) -> int:
    """Run a command as in a process of its own; returns its exit code."""
    module = sys.modules[module_of(words[0])]
    try:
        return guarded(words[0], module.main, getattr(module, "usage", None) or module.USAGE, list(words[1:]))
    except Exception:  # a bug of ours, which the report of the command names
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):
                stream.flush()


entry = entry_of("svmx-batch", main, USAGE)

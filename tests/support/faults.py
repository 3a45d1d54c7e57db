"""Failing system calls, in this process and in commands, which may also be killed, and the files left behind."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from math import inf
from pathlib import Path

import pytest

from support.commands import PATIENCE
from support.data import DATA
from support.gridengine import result_lines, rows

FOLDER = Path(__file__).parents[1] / "faults"
COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]
HEART = DATA / "heart_scale"
OLD = b"OLD\n"
# Python's objects come from malloc, so that the shim can fail them, and count towards the size of the process.
OBJECTS_FROM_MALLOC = getattr(sys, "_is_gil_enabled", lambda: True)()
objects_from_malloc = pytest.mark.skipif(not OBJECTS_FROM_MALLOC, reason="free-threaded Python has its own allocator")
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT, "hup": signal.SIGHUP}


@contextmanager
def system_call(name, does):
    """Within the block, this process calls ``does(true, *arguments)`` instead of ``true``, which is ``os.NAME`` or
    ``fcntl.flock``."""
    module = __import__("fcntl") if name == "flock" else os
    true = getattr(module, name)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(module, name, lambda *arguments, **more: does(true, *arguments, **more))
        yield


def failing(name, number, after=0, times=inf):
    """``system_call`` succeeds ``after`` times, then fails ``times`` times with this error number; errors name files
    like the original's."""
    calls = count()

    def does(true, *arguments, **more):
        if not after <= next(calls) < after + times:
            return true(*arguments, **more)
        names = {"open": arguments[:1], "replace": (arguments[0], None, *arguments[1:])}.get(name, ())
        raise OSError(number, os.strerror(number), *names)

    return system_call(name, does)


@contextmanager
def largest_file(n_bytes):
    """No file of this process may grow beyond this: a disk that fills up during a write."""
    resource = pytest.importorskip("resource", reason="not on Windows")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


STACK = 1 << 28  # bytes


@contextmanager
def few_threads(given):
    """This process can start only ``given`` more threads: there is no address space for another stack."""
    if not sys.platform.startswith("linux"):
        pytest.skip("limits of address space that are kept")
    import resource

    before, size = resource.getrlimit(resource.RLIMIT_AS), threading.stack_size(STACK)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + given * STACK + STACK // 2, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        threading.stack_size(size)


def built_shim(folder):
    """The library of shim.c; skips without a compiler."""
    if not sys.platform.startswith("linux") or shutil.which(COMPILER) is None:
        pytest.skip("the shim needs Linux and a C compiler")
    built = folder / "shim.so"
    done = subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-O1", "-o", built, FOLDER / "shim.c", "-ldl"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"the shim does not compile here: {done.stderr[:200]}")
    return built


@dataclass(frozen=True)
class Done:
    """The end of a command: its exit code, or minus the signal that killed it; ``calls``: number of calls of this
    kind."""

    code: int
    out: str
    err: str
    calls: int


class Server:
    """Server(folder): runs commands, each in a child of one process that has imported everything (server.py)."""

    def __init__(self, folder):
        self.folder, self.library, self.process = folder, built_shim(folder), None

    def run(self, words, folder, seconds=0.0, **settings):
        """A finished command. ``settings`` are those of shim.c, in lower case and without FAULT_."""
        if self.process is None:
            self.start()
        count, found = self.folder / "count", {f"FAULT_{name.upper()}": value for name, value in settings.items()}
        job = {
            "words": words.split() if isinstance(words, str) else words,
            "folder": str(folder),
            "settings": {"FAULT_COUNT": count, **found},
            "seconds": seconds,
        }
        self.process.stdin.write(json.dumps(job, default=str) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.stop()
            pytest.fail(f"{job} hangs")
        answer = self.process.stdout.readline()
        assert answer, f"{job}: the server died"
        return Done(**json.loads(answer), calls=int.from_bytes(count.read_bytes(), sys.byteorder))

    def start(self):
        environment = {**os.environ, "LD_PRELOAD": str(self.library), "OPENBLAS_NUM_THREADS": "1"}
        # -B: byte code of modules must not appear among the files
        self.process = subprocess.Popen(
            [sys.executable, "-B", FOLDER / "server.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def stop(self):
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)  # also a hanging child
            self.process.communicate()
            self.process = None


@dataclass(frozen=True)
class Command:
    """A command under test.

    Attributes
    ----------
    words : str
    outputs : tuple of str     in the order in which they are replaced
    copies : dict              files recreated before each run: {name: file of the ground to copy}
    again : tuple of (str, str)     (words, file): how to resume after an early end, if that file exists by then
    steps : bool               outputs are replaced one by one, and any of them may be new or old
    rounded : bool             with less memory its numbers may be rounded differently
    """

    words: str
    outputs: tuple[str, ...] = ("out",)
    copies: dict[str, str] = field(default_factory=dict)
    again: tuple[str, str] | None = None
    steps: bool = False
    rounded: bool = False


GRID = "svmx-grid -log2c 0,2,1 -log2g -2,-4,-1 -v 3 -png null -out out --csv table --json list"
COMMANDS = {
    "train": Command("svmx-train -q heart out"),
    "estimates": Command("svmx-train -q -b 1 heart out"),
    "chunked": Command("svmx-train -q --solver chunked heart out"),
    "irwls": Command("svmx-train -q --solver irwls heart out"),
    "crsvm": Command("svmx-train -q --solver crsvm --rank 20 heart out"),
    "linear": Command("svmx-train -q --solver crsvm -t 0 heart out"),
    "predict": Command("svmx-predict -q heart model out"),
    "probabilities": Command("svmx-predict -q -b 1 heart model out"),
    "scale": Command("svmx-scale -s out heart"),
    "subset": Command("svmx-subset --random-state 3 heart 100 out rest", ("out", "rest")),
    "update": Command(
        "svmx-update -q --state state --save-state state --add more out",
        ("out", "state"),
        {"state": "old state"},
        rounded=True,
    ),
    "from model": Command("svmx-update -q --save-state state --add more first m out", ("out", "state"), rounded=True),
    "window": Command(
        "svmx-update -q --window 150 --step 60 heart out predictions", ("predictions", "out"), rounded=True
    ),
    "grid": Command(f"{GRID} heart", ("out", "table", "list"), again=(f"{GRID} -resume out heart", "out"), steps=True),
    "easy": Command(
        "svmx-easy few more",
        ("few.range", "few.scale", "few.scale.out", "few.model", "more.scale", "more.predict"),
        again=("svmx-easy --resume few more", "few.scale.out"),
        steps=True,
    ),
}


def make_ground(folder, server):
    """The files before a command."""
    lines = HEART.read_bytes().splitlines(keepends=True)
    for name, part in (("heart", lines), ("first", lines[:200]), ("more", lines[200:]), ("few", lines[:40])):
        (folder / name).write_bytes(b"".join(part))
    for words in (
        "svmx-train -q -b 1 heart model",
        "svmx-train -q first m",
        "svmx-update -q --save-state s first m m2",
    ):
        done = server.run(words, folder)
        assert done.code == 0, done
    (folder / "s").rename(folder / "old state")
    return folder


class Case:
    """Case(name, ground, folder, server, kind): a command in its own folder, with an old file in place of each output.

    Attributes
    ----------
    old, new : dict of str to bytes      outputs before, and after an undisturbed run
    calls : list of str                  calls of that run, of ``kind``; not known for memory
    n_calls : int
    """

    def __init__(self, name, ground, folder, server, kind="file"):
        self.command = COMMANDS[name]
        self.ground, self.folder, self.server, self.kind = ground, folder, server, kind
        log = folder.parent / "calls"
        self.prepare()
        self.old = self.contents()
        log.unlink(missing_ok=True)
        done = server.run(self.command.words, folder, kind=kind, log=log)
        assert done.code == 0, done.err
        self.n_calls, self.printed = done.calls, done.out
        self.new = self.contents()
        self.calls = log.read_text().split() if log.exists() else []
        assert all(self.new[name] != self.old[name] for name in self.command.outputs)

    def prepare(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.ground, self.folder)
        for name in self.command.outputs:
            source = self.command.copies.get(name)
            (self.folder / name).write_bytes((self.ground / source).read_bytes() if source else OLD)

    def contents(self):
        """The outputs; for a grid their ``meaning``."""
        found = {}
        for name in self.command.outputs:
            content = (self.folder / name).read_bytes() if (self.folder / name).exists() else b""
            found[name] = meaning(name, content) if self.command.steps else content
        return found

    def run(self, number, act, **settings):
        """Run the command with one failing call; returns the finished command and ``n_new``."""
        self.prepare()
        done = self.server.run(self.command.words, self.folder, kind=self.kind, call=number, act=act, **settings)
        return done, self.n_new(done)

    def n_new(self, done):
        """Number of new outputs; each is entirely old or new, and the new ones come first."""
        assert "Traceback" not in done.err, done.err
        found, outputs = self.contents(), self.command.outputs
        if self.kind == "memory" and self.command.rounded and done.code == 0:
            assert numbers(found["out"]) == pytest.approx(numbers(self.new["out"]), rel=1e-6, abs=1e-9)
            return len(outputs)
        is_new = [found[name] == self.new[name] for name in outputs]
        if not self.command.steps:
            assert all(found[name] in (self.old[name], self.new[name]) for name in outputs), "half written"
            assert is_new == sorted(is_new, reverse=True), "out of order"
        return sum(is_new)

    def words(self):
        """Run the command, or the one that resumes its work."""
        again = self.command.again
        begun = again and (self.folder / again[1]).exists() and (self.folder / again[1]).read_bytes() not in (b"", OLD)
        return again[0] if begun else self.command.words

    def again(self):
        """Repeating or resuming the command gives the result of an undisturbed run."""
        done = self.server.run(self.words(), self.folder)
        assert done.code == 0, done
        assert self.contents() == self.new
        assert self.left() == []

    def left(self):
        return [path.name for path in self.folder.rglob(".*.tmp")]


def numbers(content):
    """All numbers of a text."""
    return [float(word) for word in re.findall(rb"(?<![\w.])[-+]?\d[\d.]*(?:e[-+]?\d+)?", content)]


def meaning(name, content):
    """The content of a grid's output without times and order of points; other files unchanged."""
    if not content.endswith(b"\n") or content == OLD:
        return content
    if name == "table":
        return rows(content)
    if name == "list":
        return re.sub(rb'"seconds": [^,}]*', b"", content)
    return sorted(result_lines(content)) if name.endswith("out") else content

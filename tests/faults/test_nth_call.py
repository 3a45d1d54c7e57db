"""Each n-th call of the system fails, is short, or is where the process is killed: nothing is lost.

Grids, which go on where they were, have tests of their own (tests/cli/test_grid_resume.py).
A small library that is loaded before the C library counts the calls (shim.c).
"""

import errno
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.commands import arguments
from support.data import DATA

COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]
HEART = DATA / "heart_scale"
# words of each command, what it writes in the order in which the files take their places, and copies to start from
COMMANDS = {
    "train": ("svmx-train -q heart out", ("out",), {}),
    "predict": ("svmx-predict -q heart model out", ("out",), {}),
    "scale": ("svmx-scale -s out heart", ("out",), {}),
    "subset": ("svmx-subset --random-state 3 heart 100 out rest", ("out", "rest"), {}),
    "update": (
        "svmx-update -q --state state --save-state state --add more out",
        ("out", "state"),
        {"state": "old state"},
    ),
    "window": ("svmx-update -q --window 150 --step 60 heart out predictions", ("predictions", "out"), {}),
}
FAILURES = {"no space": errno.ENOSPC, "I/O error": errno.EIO}
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT, "hup": signal.SIGHUP}
SAMPLE = 3  # calls of each command and act in a usual run: the first, the last, one between


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if not sys.platform.startswith("linux") or shutil.which(COMPILER) is None:
        pytest.skip("the shim needs Linux and a C compiler")
    built = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("shim.c")
    done = subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-O1", "-o", built, source, "-ldl"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"the shim does not compile here: {done.stderr[:200]}")
    return built


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    """A folder with what commands start from."""
    folder = tmp_path_factory.mktemp("ground")
    lines = HEART.read_bytes().splitlines(keepends=True)
    (folder / "heart").write_bytes(b"".join(lines))
    (folder / "first").write_bytes(b"".join(lines[:200]))
    (folder / "more").write_bytes(b"".join(lines[200:]))
    for words in ("svmx-train -q heart model", "svmx-train -q first m", "svmx-update -q --save-state s first m m2"):
        run(words, folder)
    (folder / "s").rename(folder / "old state")
    return folder


def run(words, folder, before="pass", **faults):
    """A finished command; ``faults`` are the shim's settings, ``before`` is run when its modules are imported."""
    command, *rest = words.split()
    environment = {**os.environ, **{key: str(value) for key, value in faults.items()}}
    # -B: byte code of modules is none of the files in question
    found = arguments(command, *rest, before=before)
    found.insert(1, "-B")
    return subprocess.run(found, cwd=folder, env=environment, capture_output=True, text=True, check=False)


class Case:
    """A command in a folder of its own, with an old file in the place of each output."""

    def __init__(self, name, ground, folder, shim):
        self.words, self.outputs, self.copies = COMMANDS[name]
        self.ground, self.folder, self.shim = ground, folder, shim
        log = folder.parent / "calls"
        self.prepare()
        self.old = self.contents()
        done = run(self.words, folder, LD_PRELOAD=shim, FAULT_LOG=log)
        assert done.returncode == 0, done.stderr
        self.new, self.calls = self.contents(), log.read_text().split()
        assert all(self.new[name] != self.old[name] for name in self.outputs)

    def prepare(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.ground, self.folder)
        for name in self.outputs:
            source = self.copies.get(name)
            content = (self.ground / source).read_bytes() if source else b"OLD\n"
            (self.folder / name).write_bytes(content)

    def contents(self):
        return {name: (self.folder / name).read_bytes() for name in self.outputs}

    def run(self, number, act):
        """The command with one call that goes wrong; how many outputs are new, which must be the first ones."""
        self.prepare()
        done = run(self.words, self.folder, LD_PRELOAD=self.shim, FAULT_CALL=number, FAULT_ACT=act)
        assert "Traceback" not in done.stderr
        found = self.contents()
        is_new = [found[name] == self.new[name] for name in self.outputs]
        assert all(found[name] in (self.old[name], self.new[name]) for name in self.outputs), "half written"
        assert is_new == sorted(is_new, reverse=True), "out of order"
        return done, sum(is_new)

    def left(self):
        return [path.name for path in self.folder.rglob(".*.tmp")]


def numbers(case, exhaustive):
    n = len(case.calls)
    return range(1, n + 1) if exhaustive else sorted({1, n // 2, n} - {0})[:SAMPLE]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_call_that_fails(name, failure, ground, shim, tmp_path, exhaustive):
    """Exit code 1 and the cause, unless what failed does not matter (keeping the rights of a file)."""
    case = Case(name, ground, tmp_path / "work", shim)
    for number in numbers(case, exhaustive):
        done, _ = case.run(number, FAILURES[failure])
        if case.calls[number - 1] != "chmod":
            assert done.returncode == 1, (number, case.calls[number - 1], done.stderr)
            assert os.strerror(FAILURES[failure]) in done.stderr
        assert case.left() == [], (number, case.calls[number - 1])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_write_that_is_short(name, ground, shim, tmp_path, exhaustive):
    case = Case(name, ground, tmp_path / "work", shim)
    writes = [number for number, call in enumerate(case.calls, 1) if call == "write"]
    for number in writes if exhaustive else writes[:2]:
        done, n_new = case.run(number, "short")
        assert (done.returncode, n_new) == (0, len(case.outputs)), (number, done.stderr)


@pytest.mark.parametrize("act", SIGNALS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_a_call(name, act, ground, shim, tmp_path, exhaustive):
    """The process ends by the signal, and the same command then does what it would have done."""
    case = Case(name, ground, tmp_path / "work", shim)
    for number in numbers(case, exhaustive):
        done, n_new = case.run(number, act)
        late = n_new == len(case.outputs)  # all was in place when the signal was looked at
        assert done.returncode == -SIGNALS[act] or (late and done.returncode == 0), (number, done)
        assert act == "kill" or case.left() == [], (number, case.calls[number - 1])
        if not late:
            assert run(case.words, case.folder).returncode == 0
            assert case.contents() == case.new
            assert case.left() == []


MEMORY = {
    "train": "svmx-train -q heart out",
    "estimates": "svmx-train -q -b 1 heart out",
    "folds": "svmx-train -q -v 3 heart",
    "predict": "svmx-predict -q heart model out",
    "chunked": "svmx-train -q --solver chunked heart out",
}
# all that is imported when it is chosen: CPython itself takes some failing allocations of an import for errors of ours
IMPORTED = (
    "import libsvmx._train.probability, libsvmx._train.validation.cross_validation, "
    "libsvmx._train.validation.leave_one_out, libsvmx._solvers.decomposition.chunked"
)


@pytest.mark.parametrize("name", MEMORY)
def test_an_allocation_that_fails(name, ground, shim, tmp_path, exhaustive):
    """'out of memory' and exit code 1, or the same result with less; never a crash or a half-written file."""
    folder = tmp_path / "work"
    shutil.copytree(ground, folder)
    output = folder / "out"
    plain = run(MEMORY[name], folder)
    expected = output.read_bytes() if output.exists() else plain.stdout
    settings = {
        "LD_PRELOAD": shim,
        "FAULT_KIND": "memory",
        "FAULT_AFTER": "heart",
        "FAULT_BYTES": 2000,
        "FAULT_ACT": 12,
    }
    refused = 0
    for number in range(1, 400, 1 if exhaustive else 37):
        output.write_bytes(b"OLD\n")
        done = run(MEMORY[name], folder, IMPORTED, FAULT_CALL=number, **settings)
        assert "Traceback" not in done.stderr, (number, done.stderr)
        if done.returncode == 0:
            found = output.read_bytes() if "out" in MEMORY[name].split() else done.stdout
            assert found == expected, number
        else:
            assert done.returncode == 1, (number, done)
            assert "out of memory" in done.stderr, (number, done.stderr)
            assert output.read_bytes() == b"OLD\n"
            refused += 1
    assert refused

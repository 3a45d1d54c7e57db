"""A folder in which commands run in this process, and a count of the cases that pass the checks of their input."""

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from math import exp, log
from pathlib import Path

import pytest
from support.commands import MODULES
from support.data import DATA
from support.faults import system_call
from support.machine import Clock, machine_with
from support.seeds import SEED
from support.wild import Wild

from libsvmx.cli.process import guarded

# With a smaller chance a generator no longer reaches the code under test.
ACCIDENT = 1e-9
CASES = int(os.environ.get("LIBSVMX_FUZZ_CASES", "0"))


class Cases:
    """Cases(exhaustive): generators of cases, and the number accepted."""

    def __init__(self, exhaustive):
        self.exhaustive, self.tried, self.accepted = exhaustive, 0, 0

    def each(self, usual):
        """A Wild for each seed; ten times the usual number in an exhaustive run, else a third of it.

        A failure names its seed.
        """
        n = CASES or (usual * 10 if self.exhaustive else usual // 3)
        for seed in range(SEED, SEED + n):
            print(f"seed {seed}", flush=True)  # shown if the case fails
            self.tried += 1
            yield Wild(seed)

    def count(self, accepted):
        """Counts whether a case was accepted; returns it."""
        self.accepted += bool(accepted)
        return accepted

    def check(self, share):
        """At least this share of the cases is accepted in the long run: a smaller number is not an accident."""
        print(f"accepted {self.accepted} of {self.tried}")
        assert chance_of_fewer(self.accepted, self.tried, share) > ACCIDENT


def chance_of_fewer(accepted, tried, share):
    """A bound on the chance that at most ``accepted`` of ``tried`` cases are accepted, each with probability ``share``.

    Chernoff's: exp(-n D), D the divergence of the observed share from the expected one.
    """
    if accepted >= share * tried:
        return 1.0
    found = accepted / tried
    divergence = (1 - found) * log((1 - found) / (1 - share)) + (found * log(found / share) if found else 0.0)
    return exp(-tried * divergence)


@pytest.fixture
def cases(exhaustive):
    return Cases(exhaustive)


class Place:
    """A folder with the input files of the cases, in which commands run."""

    def __init__(self):
        self.lines = (DATA / "heart_scale").read_bytes().splitlines(keepends=True)
        iris = (DATA / "iris.scale").read_bytes().splitlines(keepends=True)
        mpg = (DATA / "mpg").read_bytes().splitlines(keepends=True)
        self.models = {}
        sets = {"-b 1": self.lines[:60], "-b 1 -c 2": iris[::4], "-s 3 -b 1": mpg[:50], "-s 2 -b 1": self.lines[:60]}
        for options, lines in {**sets, "-t 1": self.lines[:50], "-s 1": self.lines[:50]}.items():
            self.put("rows", b"".join(lines))
            self.call("svmx-train", *options.split(), "-q", "rows", "model")
            self.models[options] = self.get("model"), b"".join(lines)
        self.put("rows", b"".join(self.lines[:80]))
        self.call("svmx-train", "-q", "rows", "model")
        self.call("svmx-update", "-q", "--save-state", "state", "rows", "model", "other")
        self.state = self.get("state")
        self.call("svmx-scale", "-s", "ranges", "rows")
        self.ranges = self.get("ranges")

    def put(self, name, content):
        Path(name).write_bytes(content)

    def get(self, name):
        return Path(name).read_bytes()

    def call(self, command, *words):
        """(exit code, standard output); fails on a traceback, a refusal without a message, and a file left behind."""
        out, errors = (
            io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace", write_through=True),
            io.StringIO(),
        )
        module, clock = MODULES[command], {}
        if command == "svmx-toy":  # it ends after an hour without requests, which has passed at the next reading
            words, clock = ("--no-browser", *words), {"monotonic": Clock(step=3600.0)}
        with redirect_stdout(out), redirect_stderr(errors), machine_with(**clock):
            try:
                code = guarded(command, module.main, module.USAGE, list(words))
            except SystemExit as end:
                code = end.code
        said = out.buffer.getvalue()
        assert code in (0, 1)
        assert code == 0 or errors.getvalue().strip() or b"usage" in said or command == "svmx-checkdata"
        assert not list(Path().glob(".*.tmp"))
        return code, said


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with system_call("fsync", lambda fsync, handle: None):  # it takes most of the time of a case
        yield Place()

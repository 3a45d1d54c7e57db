"""Whole commands by number of threads, and trainings by CPU target: how well a run uses the machine."""

import sys
import tempfile
from functools import partial
from typing import ClassVar

from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import all_threads, command
from tools.bench.protocol import TIMES, Found, Job, remarks, rows_of
from tools.bench.report import Table, text
from tools.bench.turns import Run, take_turns

THREADS, TARGETS = "threads", "targets"
TARGET_NAMES = ("avx512", "avx2", "baseline")
GRID = "svmx-grid"
CASES = (
    Case("a9a", "a9a", "-g 0.05", part=THREADS),
    Case("w7a", "w7a", "-c 64 -g 7.8125", part=THREADS),
    Case("elec2", "elec2", "-c 1 -g 1", part=THREADS),
    Case("a9a -b 1", "a9a", "-g 0.05 -b 1", part=THREADS),
    Case("cpusmall -v 5", "cpusmall", "-s 3", part=THREADS, note="-v 5"),
    Case("splice --loo", "splice", part=THREADS, note="--loo"),
    Case("svmx-grid a4a", "a4a", part=THREADS, note=GRID),
    Case("a9a", "a9a", "-c 1 -g 0.05", part=TARGETS),
    Case("madelon", "madelon", "-c 1 -g 0.7071", part=TARGETS),
    Case("letter", "letter.scale", "-c 16 -g 2", part=TARGETS),
    Case("cpusmall", "cpusmall", "-s 3", part=TARGETS),
)
COLUMNS = {**TIMES, "first / run": lambda found, run: text(found.ratio(found.runs[0].name, run.name), ".2f")}


class Commands(Job):
    name = "commands"
    explained = "Seconds by the clock of whole commands, start and reading included."
    parts: ClassVar = {THREADS: "By number of threads", TARGETS: "By CPU target, one thread"}

    def every_case(self, options):
        return list(CASES)

    def run(self, case, options):
        path = datasets.plain_text(datasets.find(options.data, case.data), options.cache).resolve()
        grid = case.note == GRID
        program = [sys.executable, "-c", f"from libsvmx.cli.{'grid' if grid else 'train'} import entry; entry()"]
        given = ["-png", "null", path] if grid else ["-q", *case.options.split(), *case.note.split(), path]
        found = Found(case)
        with tempfile.TemporaryDirectory() as folder:
            for name, threads, before in ways(case.part):
                words = [*before, *program, "--threads", str(threads), *given]
                found.runs.append(Run(name, partial(command, words, threads, options.timeout, folder=folder)))
            take_turns(found.runs, options.repeat, options.max_seconds_once)
        return found

    def table(self, found):
        return Table(found.title(), rows_of(found, COLUMNS), remarks(self, found))


def ways(part):
    """(name, threads, words before the command) of each run."""
    if part == TARGETS:
        return [(name, 1, ["env", f"LIBSVMX_CPU={name}"]) for name in TARGET_NAMES]
    most = all_threads()
    return [(str(n), n, []) for n in sorted({1, *(2**k for k in range(1, most.bit_length())), most})]


JOBS = {"commands": Commands()}

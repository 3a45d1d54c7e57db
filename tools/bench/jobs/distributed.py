"""Training over a Dask cluster: equal results, memory of each process, and the cost of an iteration.

Every process of a local cluster reports its peak memory. Network traffic is counted where the solver sends and
receives: arguments of steps, which go to every block, and replies.
"""

import os
import pickle
import signal
from functools import partial
from time import perf_counter
from typing import ClassVar

import numpy as np

import libsvmx
from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import Unavailable, peak_bytes, timed
from tools.bench.protocol import Found, Job, remarks, rows_of
from tools.bench.report import Table
from tools.bench.turns import Run, take_turns

KILLED_AT = 6  # iteration
DIFFERENT = 1e-8  # relative difference of decision values
FILES = 6
EQUAL = ("undisturbed", f"a worker killed at iteration {KILLED_AT}")
EQUAL_COLUMNS = {
    "iterations": lambda found, run: str(run.last["iterations"]),
    "s": lambda found, run: f"{run.seconds:.1f}",
    "objective": lambda found, run: f"{run.last['objective']:.8f}",
    "gap": lambda found, run: f"{run.last['gap']:.1e}",
    "decision values off by, relatively": lambda found, run: f"{run.last['difference']:.1e}",
}
COST_COLUMNS = {
    "blocks": lambda found, run: str(run.last["blocks"]),
    "iterations": lambda found, run: f"{run.last['iterations']} ({run.last['status']}, gap {run.last['gap']:.0e})",
    "s an iteration": lambda found, run: f"{run.seconds / run.last['iterations']:.2f}",
    "Q last": lambda found, run: f"{run.last['last_rows']:,}",
    "kB sent": lambda found, run: f"{run.last['sent_bytes'] / run.last['iterations'] / 1e3:.0f}",
    "received, an iteration": lambda found, run: f"{run.last['received_bytes'] / run.last['iterations'] / 1e3:.0f}",
    "most GB: workers; client": lambda found, run: ", ".join(f"{most:.2f}" for most in run.last["most_gigabytes"]),
}


class Distributed(Job):
    name = "distributed"
    explained = "Rows on a local Dask cluster of processes with one thread each; seconds by the clock, one run each."
    parts: ClassVar = {"equal": f"a9a in {FILES} files", "cost": "What an iteration costs"}
    repeat = 1

    def options(self, parser):
        usual = ["5000000x50"]
        parser.add_argument("--size", nargs="+", default=usual, metavar="MxN", help="generated rows x features")
        parser.add_argument("--block", type=int, default=250_000, metavar="ROWS", help="of a block (250,000)")
        parser.add_argument("--workers", type=int, default=2, metavar="K", help="processes (2)")
        parser.add_argument("--memory", default="8GB", metavar="SIZE", help="limit of a worker (8GB)")

    def every_case(self, options):
        sizes = [Case(size, "generated", part="cost") for size in options.size]
        return [Case("a9a", "a9a", "-t 0", part="equal"), *sizes]

    def run(self, case, options):
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise Unavailable("distributed is not installed") from None
        found = Found(case)
        shape = {"n_workers": options.workers, "threads_per_worker": 1, "memory_limit": options.memory}
        # a cluster for each: peak memory is measured
        with LocalCluster(**shape, dashboard_address=None) as cluster, Client(cluster) as client:
            if case.part == "equal":
                paths, X, alone = parts_of(case, options)
                found.runs = [Run(name, partial(equal, client, paths, X, alone, name != EQUAL[0])) for name in EQUAL]
            else:
                rows, features = map(int, case.name.split("x"))
                rows = min(rows, 10_000) if options.quick else rows
                found.runs = [Run(case.name, partial(cost, client, rows, features, options.block))]
            take_turns(found.runs, options.repeat, options.max_seconds_once)
        return found

    def table(self, found):
        columns = EQUAL_COLUMNS if found.case.part == "equal" else COST_COLUMNS
        return Table(found.title(), rows_of(found, columns), remarks(self, found))

    def wrong(self, found):
        differ = [run.name for run in found.runs if run.last.get("difference", 0) > DIFFERENT]
        return [f"{name}: DIFFERS from one process" for name in differ]


class Watching(libsvmx.Observer):
    """Records iterations and the report; kills a process at a given iteration."""

    def __init__(self, victim=0):
        self.victim, self.lines, self.report = victim, [], None

    def iterated(self, line):
        self.lines.append(line)
        if self.victim and line.number == KILLED_AT:
            os.kill(self.victim, signal.SIGKILL)

    def solved(self, report):
        self.report = report

    def told(self):
        return {name: getattr(self.report, name) for name in ("iterations", "status", "objective", "gap")}


def parts_of(case, options):
    """(files, rows, decision values of one process)"""
    source = datasets.plain_text(datasets.find(options.data, case.data), options.cache)
    lines = source.read_text().splitlines(keepends=True)
    options.cache.mkdir(parents=True, exist_ok=True)
    paths = [options.cache / f"{case.data}.part{k}" for k in range(FILES)]
    for k, path in enumerate(paths):
        path.write_text("".join(lines[k * len(lines) // FILES : (k + 1) * len(lines) // FILES]))
    X, y = libsvmx.read_problem(str(source))
    alone = libsvmx.train(X, y, solver="crsvm", **datasets.keywords(case.options, X.max_index))
    return paths, X, libsvmx.decision_values(alone, X)


def equal(client, paths, X, alone, killed):
    """A training from files, with or without a killed worker: decision values beside those of one process."""
    from libsvmx import dask

    data = dask.read_problem([str(path) for path in paths], client)
    watching, model = Watching(next(iter(client.run(os.getpid).values())) if killed else 0), []
    seconds = timed(lambda: model.append(dask.train(data, observer=watching)), perf_counter)
    difference = abs(libsvmx.decision_values(model[0], X) - alone).max() / abs(alone).max()
    return {"seconds": seconds, "difference": float(difference), **watching.told()}


def cost(client, rows, features, block):
    """A training over rows generated by the workers."""
    from dask import array

    from libsvmx import dask
    from libsvmx._train.cluster.row_blocks import DistributedRowBlocks

    sizes = tuple(min(block, rows - begin) for begin in range(0, rows, block))
    numbers, of = array.arange(len(sizes), chunks=1), (block, rows, features)
    X = numbers.map_blocks(normal_rows, *of, dtype=float, new_axis=1, chunks=(sizes, (features,)))
    data = dask.from_arrays(X, numbers.map_blocks(labels_of, *of, dtype=float, chunks=(sizes,)), client)
    watching = Watching()
    with Traffic(DistributedRowBlocks) as traffic:
        seconds = timed(lambda: dask.train(data, observer=watching), perf_counter)
    most = [value / 1e9 for value in (*client.run(peak_bytes).values(), peak_bytes())]
    told = {"blocks": len(sizes), "last_rows": watching.lines[-1].rows}
    told |= {"sent_bytes": traffic.sent, "received_bytes": traffic.received, "most_gigabytes": most}
    return {"seconds": seconds, **told, **watching.told()}


def normal_rows(numbers, block, rows, features):
    """A block of normally distributed rows."""
    k = int(numbers[0])
    return np.random.default_rng(k + 1).standard_normal((min(block, rows - k * block), features))


def labels_of(numbers, block, rows, features):
    """Their labels, from a plane with noise: about a tenth are on the wrong side."""
    X, plane = normal_rows(numbers, block, rows, features), np.random.default_rng(0).standard_normal(features)
    noise = 0.3 * np.sqrt(features) * np.random.default_rng([0, int(numbers[0])]).standard_normal(len(X))
    return np.where(X @ plane + noise > 0, 1.0, -1.0)


class Traffic:
    """While entered, counts the bytes that steps send and receive, per block."""

    def __init__(self, blocks):
        self.blocks, self.run, self.sent, self.received = blocks, blocks.run, 0, 0

    def __enter__(self):
        def counting(blocks, step, *common, **more):
            replies = self.run(blocks, step, *common, **more)
            self.sent += len(blocks.blocks) * len(pickle.dumps(common)) + len(pickle.dumps(more.get("each", ())))
            self.received += sum(len(pickle.dumps(reply)) for reply in replies)
            return replies

        self.blocks.run = counting
        return self

    def __exit__(self, *_):
        self.blocks.run = self.run


JOBS = {"distributed": Distributed()}

"""Training over a Dask cluster: equal results, memory of each process, and what an iteration costs.

Every process of a local cluster says how much memory it ever had. What goes through the network is counted where the
solver sends and receives it: arguments of steps, which go to every block, and replies.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._train.cluster.row_blocks import DistributedRowBlocks
from libsvmx._train.observer import Observer
from tools.bench import datasets

if TYPE_CHECKING:
    from pathlib import Path

GIGABYTE = 1e9
KILLED_AT = 6  # iteration
DIFFERENT = 1e-8  # relative difference of decision values


@dataclass
class Cost:
    """A training over so many generated rows of so many features."""

    rows: int
    features: int
    blocks: int
    workers: int
    iterations: int = 0
    status: str = ""
    gap: float = 0.0
    loading: float = 0.0
    seconds: float = 0.0
    sent_bytes: int = 0
    received_bytes: int = 0
    used_rows: list[int] = field(default_factory=list)
    most_gigabytes: dict[str, float] = field(default_factory=dict)
    resting_gigabytes: dict[str, float] = field(default_factory=dict)


class Traffic:
    """While entered, counts the bytes that steps send and receive: those of each block."""

    def __enter__(self) -> Traffic:
        self.sent = self.received = 0
        self.run = DistributedRowBlocks.run

        def counting(parts: DistributedRowBlocks, step: Any, *common: Any, **more: Any) -> list[Any]:
            replies = self.run(parts, step, *common, **more)
            self.sent += len(parts.blocks) * len(pickle.dumps(common)) + len(pickle.dumps(more.get("each", ())))
            self.received += sum(len(pickle.dumps(reply)) for reply in replies)
            return replies

        DistributedRowBlocks.run = counting  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        DistributedRowBlocks.run = self.run  # type: ignore[method-assign]


class Watching(Observer):
    """Keeps iterations and the report; kills a process at an iteration."""

    def __init__(self, victim: int = 0):
        self.victim, self.lines, self.report = victim, [], None

    def iterated(self, line):
        self.lines.append(line)
        if self.victim and line.number == KILLED_AT:
            os.kill(self.victim, signal.SIGKILL)

    def solved(self, report):
        self.report = report


def most_memory() -> float:
    """Gigabytes that this process ever had at a time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIGABYTE


def memory_now() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / GIGABYTE


def rows_of(seed: int, count: int, features: int) -> Any:
    """Generated rows: normal ones, labels by a plane with noise, so that about a tenth is on the wrong side."""
    from libsvmx._train.cluster.problem import DataBlock

    random = np.random.default_rng(seed)
    X = random.standard_normal((count, features))
    plane = np.random.default_rng(0).standard_normal(features)
    noise = 0.3 * np.sqrt(features) * random.standard_normal(count)
    return DataBlock(X, np.where(X @ plane + noise > 0, 1.0, -1.0))


def large(client: Any, rows: int, features: int, block: int) -> Cost:
    """Train over rows that the workers generate."""
    import libsvmx.dask
    from libsvmx._train.cluster.problem import problem_of

    counts = [min(block, rows - begin) for begin in range(0, rows, block)]
    cost = Cost(rows, features, len(counts), len(client.scheduler_info()["workers"]))
    begun = time.perf_counter()
    blocks = client.map(rows_of, range(1, len(counts) + 1), counts, [features] * len(counts))
    problem = problem_of(client, blocks, [f"block {k}" for k in range(len(counts))])
    cost.loading = time.perf_counter() - begun
    watching = Watching()
    begun = time.perf_counter()
    with Traffic() as traffic:
        libsvmx.dask.train(problem, observer=watching)
    cost.seconds = time.perf_counter() - begun
    cost.iterations, cost.status, cost.gap = watching.report.iterations, watching.report.status, watching.report.gap
    cost.used_rows = [line.rows for line in watching.lines[1:]]
    cost.sent_bytes, cost.received_bytes = traffic.sent, traffic.received
    cost.most_gigabytes = memory_of(client, most_memory)
    cost.resting_gigabytes = memory_of(client, memory_now)
    return cost


def memory_of(client: Any, measure: Any) -> dict[str, float]:
    """Of each process: workers, the one that holds client and scheduler."""
    workers = {f"worker {k}": value for k, value in enumerate(client.run(measure).values())}
    return {**workers, "client and scheduler": measure()}


def equal(client: Any, folder: Path, cache: Path) -> list[dict[str, Any]]:
    """a9a from six files: w beside that of one process; and the same with a worker killed on the way."""
    import libsvmx
    import libsvmx.dask

    found_at = datasets.find(folder, "a9a")
    if found_at is None:
        raise SystemExit(f"there is no a9a in {folder}")
    source = datasets.plain_text(found_at, cache)
    lines = source.read_text().splitlines(keepends=True)
    paths = [cache / f"a9a.part{k}" for k in range(6)]
    for k, path in enumerate(paths):
        path.write_text("".join(lines[k * len(lines) // 6 : (k + 1) * len(lines) // 6]))
    X, y = libsvmx.read_problem(str(source))
    alone = libsvmx.train(X, y, solver="crsvm", kernel_type=libsvmx.KernelType.LINEAR)
    values = libsvmx.decision_values(alone, X)
    found = []
    for killed in (False, True):
        problem = libsvmx.dask.read_problem([str(path) for path in paths], client)
        watching = Watching(next(iter(client.run(os.getpid).values())) if killed else 0)
        begun = time.perf_counter()
        model = libsvmx.dask.train(problem, observer=watching)
        found.append(
            {
                "killed": killed,
                "seconds": time.perf_counter() - begun,
                "iterations": watching.report.iterations,
                "objective": watching.report.objective,
                "gap": watching.report.gap,
                "difference": float(abs(libsvmx.decision_values(model, X) - values).max() / abs(values).max()),
            }
        )
    return found


def markdown(equals: list[dict[str, Any]], costs: list[Cost]) -> str:
    text = []
    if equals:
        text += [
            "| a9a in 6 files, 2 workers | iterations | s | objective | gap | decision values off by, relatively |",
            "|---|---|---|---|---|---|",
            *(
                f"| {'a worker killed at iteration 6' if one['killed'] else 'undisturbed'} | {one['iterations']} "
                f"| {one['seconds']:.1f} | {one['objective']:.8f} | {one['gap']:.1e} | {one['difference']:.1e} |"
                for one in equals
            ),
            "",
        ]
    if costs:
        text += [
            "| rows | features | blocks | iterations | s an iteration | Q last | kB sent, received an iteration "
            "| most GB: workers; client and scheduler |",
            "|---|---|---|---|---|---|---|---|",
            *(row(cost) for cost in costs),
            "",
        ]
    return "\n".join(text)


def row(cost: Cost) -> str:
    n = max(cost.iterations, 1)
    *workers, here = cost.most_gigabytes.values()
    return (
        f"| {cost.rows:,} | {cost.features} | {cost.blocks} | {cost.iterations} ({cost.status}, gap {cost.gap:.0e}) "
        f"| {cost.seconds / n:.2f} | {cost.used_rows[-1] if cost.used_rows else 0:,} "
        f"| {cost.sent_bytes / n / 1e3:.0f}, {cost.received_bytes / n / 1e3:.0f} "
        f"| {', '.join(f'{worker:.2f}' for worker in workers)}; {here:.2f} |"
    )


def run(options: Any) -> tuple[str, dict[str, Any]]:
    """The parts that are asked for: their tables, and everything raw."""
    from distributed import Client, LocalCluster

    equals: list[dict[str, Any]] = []
    costs: list[Cost] = []
    options.cache.mkdir(parents=True, exist_ok=True)
    sizes = [tuple(int(number) for number in size.split("x")) for size in options.size]
    for size in [None, *sizes] if options.equal else sizes:
        # a cluster of its own for each: memory is measured
        with (
            LocalCluster(
                n_workers=options.workers, threads_per_worker=1, memory_limit=options.memory, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            if size is None:
                equals = equal(client, options.data, options.cache)
            else:
                costs.append(large(client, *size, block=options.block))
        print(markdown(equals, costs[-1:]), flush=True)
    return markdown(equals, costs), {"equal": equals, "costs": [asdict(cost) for cost in costs]}

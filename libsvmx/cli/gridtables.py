"""The lines that svmx-grid prints during a search, and its tables and picture at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from libsvmx._train.validation.grid import Best, Point, param_at
from libsvmx._train.validation.grid_search import Search
from libsvmx.cli import gridplot, results
from libsvmx.cli.gridjob import Job
from libsvmx.cli.process import counted, warn
from libsvmx.cli.report import json_of
from libsvmx.exceptions import SvmxError
from libsvmx.io.outputs import atomic_write


class PointLines:
    """PointLines(regression, total, say): prints grid.py's line for each point by ``say``, and counts for the progress
    line."""

    def __init__(self, regression: bool, total: int, say: Callable[[str], None]) -> None:
        self.best = Best(regression)
        self.say = say
        self.done, self.total = 0, total

    def add(self, worker: str, point: Point) -> None:
        best = self.best.add(point)
        values = " ".join(str(v) for v in point.key if v is not None)
        powers = [(n, v) for n, v in (("c", best.log2c), ("g", best.log2g)) if v is not None]
        chosen = "".join(f"{name}={2.0**value}, " for name, value in powers)
        self.say(f"[{worker}] {values} {point.rate} (best {chosen}rate={best.rate})\n")
        if worker != "resumed":
            self.done += 1
            counted("point", self.done, self.total)


def rows_of(search: Search) -> Iterator[dict[str, Any]]:
    """The table of a finished search, a mapping for each point."""
    error = "mse" if search.plan.param.quantile is None else "pinball_loss"
    for point in search.points:
        param = param_at(search.plan.param, point.key)
        rates = {error: point.rate, "scc": point.scc} if search.plan.is_regression else {"rate": point.rate}
        yield {
            "log2c": None if point.log2c is None else float(point.log2c),
            "log2g": None if point.log2g is None else float(point.log2g),
            "C": param.C,
            "gamma": param.gamma,
            **rates,
            "seconds": point.seconds,
            "iterations": point.iterations,
        }


def write_tables(job: Job, search: Search) -> None:
    """Write the files at the end, each atomically."""
    rows = list(rows_of(search))
    if job.csv is not None:
        lines = [",".join(rows[0]), *(",".join("" if v is None else str(v) for v in row.values()) for row in rows)]
        with atomic_write(job.csv) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    if job.json is not None:
        with atomic_write(job.json) as file:
            file.write(json_of({"dataset": job.dataset, **results.search(search, rows)["search"]}))
    grid = search.plan.grid
    flat = len(grid.c_values or ()) < 2 or len(grid.g_values or ()) < 2
    if job.png is not None and (job.png_asked or not flat):  # as in grid.py, no picture of a single line
        try:
            gridplot.load()
        except SvmxError as error:  # the picture was not asked for
            warn(f"no picture: {error}")
            return
        gridplot.draw(job.png, search.points, search.best, job.title, search.plan.param.svm_type)

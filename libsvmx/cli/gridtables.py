"""What svmx-grid prints of a search while it runs, and the tables and the picture that it writes at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any

from libsvmx._train.parameter import flat_fields
from libsvmx._train.validation.grid import Best, param_at
from libsvmx.cli import gridplot
from libsvmx.cli.process import available, warn
from libsvmx.exceptions import SvmxError
from libsvmx.io.files import atomic_write

if TYPE_CHECKING:
    from libsvmx._train.validation.grid import Point
    from libsvmx._train.validation.grid_search import Search
    from libsvmx.cli.gridjob import Job


class Progress:
    """grid.py's lines on standard output, and a bar on standard error where that is a terminal."""

    def __init__(self, title: str, regression: bool, total: int, say: Callable[[str], None]) -> None:
        self.best = Best(regression)
        self.say = say
        self.bar = None
        if sys.stderr is not None and sys.stderr.isatty() and available("tqdm"):
            from tqdm import tqdm

            self.bar = tqdm(total=total, unit="point", desc=title, file=sys.stderr, dynamic_ncols=True)

    def add(self, worker: str, point: Point) -> None:
        best = self.best.add(point)
        values = " ".join(str(v) for v in point.key if v is not None)
        powers = [(n, v) for n, v in (("c", best.log2c), ("g", best.log2g)) if v is not None]
        chosen = "".join(f"{name}={2.0**value}, " for name, value in powers)
        line = f"[{worker}] {values} {point.rate} (best {chosen}rate={best.rate})\n"
        if self.bar is None:
            self.say(line)
            return
        with self.bar.external_write_mode():
            self.say(line)
        if worker != "resumed":
            self.bar.update()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def rows_of(search: Search) -> Iterator[dict[str, Any]]:
    """The table of a finished search, a mapping for each point."""
    for point in search.points:
        param = param_at(search.plan.param, point.key)
        rates = {"mse": point.rate, "scc": point.scc} if search.plan.is_regression else {"rate": point.rate}
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
    """The files that are written at the end, each whole or not at all."""
    rows = list(rows_of(search))
    if job.csv is not None:
        lines = [",".join(rows[0]), *(",".join("" if v is None else str(v) for v in row.values()) for row in rows)]
        with atomic_write(job.csv) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    if job.json is not None:
        best = next(row for row, point in zip(rows, search.points, strict=True) if point is search.best)
        content = {
            "dataset": job.dataset,
            "folds": search.plan.n_folds,
            "seeder": search.plan.seeding.seeder,
            "parameters": flat_fields(search.plan.param),
            "best": best,
            "points": rows,
        }
        with atomic_write(job.json) as file:
            file.write(json.dumps(finite(content), indent=1, allow_nan=False).encode() + b"\n")
    grid = search.plan.grid
    flat = len(grid.c_values or ()) < 2 or len(grid.g_values or ()) < 2
    if job.png is not None and (job.png_asked or not flat):  # grid.py draws no single line
        try:
            gridplot.load()
        except SvmxError as error:  # nobody asked for a picture
            warn(f"no picture: {error}")
            return
        gridplot.draw(job.png, search.points, search.best, job.title, search.plan.is_regression)


def finite(content: Any) -> Any:
    """JSON has no nan or inf: null stands for them, however deep they are."""
    if isinstance(content, dict):
        return {name: finite(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [finite(value) for value in content]
    return None if isinstance(content, float) and not isfinite(content) else content

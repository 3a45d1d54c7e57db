"""svmx-grid with and without seeding, beside LIBSVM's svm-train -v at the points of the grid."""

import random
import re
import sys
import tempfile
from functools import partial
from itertools import product
from pathlib import Path

from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import command
from tools.bench.protocol import TIMES, Found, Job, remarks, rows_of
from tools.bench.report import Table, text
from tools.bench.turns import Run, mark, sampled, take_turns

ORACLE, SEEDED, EXACT = "LIBSVM", "svmx-grid", "svmx-grid, none"
COMMAND = "from libsvmx.cli.grid import entry; entry()"
NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
LINE = rf"log2c={NUMBER}\s+log2g={NUMBER}\s+rate={NUMBER}"  # of the file written by grid.py
COLUMNS = {
    **TIMES,
    "LIBSVM / run": lambda found, run: mark(found.last(ORACLE)) + text(found.ratio(ORACLE, run.name), ".2f"),
    "points": lambda found, run: str(len(found.told["right"][run.name])),
    "rates unlike LIBSVM": lambda found, run: said(found, run.name, ORACLE),
    "unlike none": lambda found, run: said(found, run.name, EXACT),
}


class Grid(Job):
    """``told["right"]``: for each run, [log2 C, log2 gamma, number of correct predictions] of its points."""

    name = "grid"
    explained = """\
One thread; svmx-grid is a whole command, LIBSVM its trainings alone. LIBSVM / run: LIBSVM's time as a multiple of the
run's. ~ is extrapolated from the points measured, see the notes."""
    megabytes, seconds = 100.0, 600.0

    def options(self, parser):
        parser.add_argument("--log2c", default="-5,13,2", metavar="A,B,STEP", help="as --log2c=-5,13,2")
        parser.add_argument("--log2g", default="3,-15,-2", metavar="A,B,STEP", help="as --log2g=3,-15,-2")
        parser.add_argument("--fold", type=int, default=5, metavar="K", help="(5)")

    def every_case(self, options):
        return [Case("splice", "splice"), Case("a4a", "a4a")]

    def run(self, case, options):
        points = spread(steps(options.log2c), steps(options.log2g))
        npz = datasets.prepare(case, options.data, options.cache)
        path = datasets.plain_text(datasets.find(options.data, case.data), options.cache).resolve()
        dataset = datasets.load(npz)
        n = len(dataset.targets)
        found = Found(case, "", n, int(dataset.indices.max(initial=1)), note=f"grid of {len(points)} points")
        job = {"call": "jobs.validators:libsvm_points", "npz": str(npz), "folds": options.fold, "points": points}
        job |= {"options": f"{case.options} -m {options.megabytes:g}", "seconds": options.seconds}
        arguments = ["-log2c", options.log2c, "-log2g", options.log2g, "-v", str(options.fold)]
        arguments += ["-m", f"{options.megabytes:g}", str(path)]
        found.runs = [
            Run(ORACLE, partial(sampled, job, len(points), options.timeout)),
            Run(SEEDED, partial(svmx_grid, arguments, n, options.timeout)),
            Run(EXACT, partial(svmx_grid, ["--seeder", "none", *arguments], n, options.timeout)),
        ]
        take_turns(found.runs, options.repeat, options.max_seconds_once)
        found.told["right"] = {run.name: right(run) for run in found.runs if run.results}
        return found

    def table(self, found):
        return Table(found.title(), rows_of(found, COLUMNS), remarks(self, found, "points"))

    def wrong(self, found):
        differs = (unlike(found, EXACT, ORACLE) or {}).get("unlike")
        return ["DIFFER: LIBSVM's path does not come to LIBSVM's rates"] if differs else []


def unlike(found, name, other):
    """Common points, those whose rates differ, and the largest difference in rows."""
    told = found.told.get("right", {})
    if name == other or name not in told or other not in told:
        return None
    mine, theirs = ({(C, gamma): count for C, gamma, count in told[key]} for key in (name, other))
    gaps = [abs(mine[point] - theirs[point]) for point in mine.keys() & theirs.keys()]
    return {"points": len(gaps), "unlike": sum(gap > 0 for gap in gaps), "rows": max(gaps, default=0)}


def said(found, name, other):
    told = unlike(found, name, other)
    return f"{told['unlike']} of {told['points']}, {told['rows']} rows at most" if told else ""


def right(run):
    if run.name == ORACLE:
        return [[*record["point"], record["right"]] for record in run.last["records"]]
    return run.last["right"]


def steps(span):
    """The numbers of begin,end,step, end included, as in grid.py."""
    begin, end, step = map(float, span.split(","))
    if step == 0 or (end - begin) / step < 0:
        raise ValueError(f"{span}: no step leads from begin to end")
    return [begin + i * step for i in range(int((end - begin) / step + 1e-9) + 1)]  # 1e-9: steps such as 0.1


def spread(rows, columns):
    """Every point once, in a fixed random order, so that the first few represent the rest."""
    points = list(product(rows, columns))
    random.Random(1).shuffle(points)
    return points


def svmx_grid(arguments, n_rows, timeout):
    """The installed svmx-grid as a whole command, in its own folder, with one thread."""
    with tempfile.TemporaryDirectory() as folder:
        told = command([sys.executable, "-c", COMMAND, *arguments], 1, timeout, folder=folder)
        written = "".join(path.read_text(encoding="utf-8") for path in Path(folder).glob("*.out"))
    if "cannot" in told:
        return told
    rates = read_rates(written)
    if not rates:
        return {"cannot": "svmx-grid told no rate"}
    counts = [[*point, round(rate * n_rows / 100)] for point, rate in rates.items()]
    return {"seconds": told["seconds"], "right": counts}


def read_rates(content):
    """{(log2 C, log2 gamma): rate in percent} from the file written by grid.py."""
    return {(float(log2c), float(log2g)): float(rate) for log2c, log2g, rate in re.findall(LINE, content)}


JOBS = {"grid": Grid()}

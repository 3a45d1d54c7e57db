"""Solver auto beside the solvers it chooses from, over sets, numbers of rows and C.

A cell is a set, a number of rows and a C. In each, auto should be about as fast as the best solver, never much slower.
"""

from typing import ClassVar

from tools.bench.cases import Case, Way
from tools.bench.jobs.trainings import excess, judged, trained
from tools.bench.peers import CONVERGED
from tools.bench.protocol import TIMES, Job, remarks, rows_of
from tools.bench.report import Table, text

NAMES = ("auto", "smo", "chunked", "irwls", "crsvm")
WAYS = {name: Way(name, settings={"solver": name}) for name in NAMES}
KERNEL, LINEAR = NAMES[:4], ("auto", "smo", "crsvm")
SIZES, LARGE = (500, 3000), 20_000
COSTS, LARGE_COSTS, LINEAR_COSTS = (0.1, 10.0, 1e3, 1e5, 1e6), (1.0, 100.0, 1e4), (0.1, 10.0, 1e3)
WRONG_GAP, WRONG = 2.0, 1e-4  # times eps or the best gap; relative excess over the best objective
EPS = 1e-3
NEAR, NEAREST_SECONDS = 1.15, 1e-3  # auto wins a cell within this factor of the best time, or this many seconds


def of_set(name, gamma, data="", formulation=0, **change):
    """All cells of a set; ``change`` are fields of Case."""
    data = data or name
    whole = {"every": 1, **change}

    def cell(n, C, part, kernel, names):
        options = f"-s {formulation} {kernel} -c {C:g} -m 200"
        ways = tuple(WAYS[one] for one in names)
        return Case(f"{name}-{n}-{C:g}", data, options, rows=n, part=part, ways=ways, **whole)

    rbf = f"-t 2 -g {gamma:g}"
    yield from (cell(n, C, "rbf", rbf, KERNEL) for n in SIZES for C in COSTS)
    yield from (cell(LARGE, C, "large", rbf, KERNEL) for C in LARGE_COSTS)
    if not formulation:
        yield from (cell(n, C, "linear", "-t 0", LINEAR) for n in SIZES for C in LINEAR_COSTS)


CASES = (
    *of_set("a9a", 0.05),
    *of_set("w8a", 0.05, every=2),
    *of_set("elec2", 0.1, standard=True),
    *of_set("svmguide1", 1.0, standard=True),
    *of_set("mnist", 0.02, "mnist.scale", parity=True),
    *of_set("skin-like", 10.0),
    *of_set("covtype-like", 0.5),
    *of_set("cpusmall", 0.1, formulation=3, standard=True),
)
COLUMNS = {
    **TIMES,
    "iterations": lambda found, run: f"{run.last['iterations']:,}",
    "SV": lambda found, run: f"{judged(found, run.name)['n_sv']:,}",
    "gap": lambda found, run: f"{judged(found, run.name)['gap']:.1e}",
    "above smo": lambda found, run: text(excess(found, run.name, "smo"), ".1e"),
    "status": lambda found, run: run.last["status"],
}


class Choosing(Job):
    name = "choosing"
    explained = """\
CPU seconds of the training alone, one thread, one process for each; what a solver needs is loaded before. Gaps and
objectives are computed from data and coefficients. > S: not done by then; a limit of iterations counts as such."""
    parts: ClassVar = {
        "rbf": "RBF kernel",
        "large": f"RBF kernel, {LARGE:,} rows",
        "linear": "Linear kernel",
    }
    limit, max_seconds_once = 20.0, 1.0

    def every_case(self, options):
        return list(CASES)

    def run(self, case, options):
        return trained(case, case.ways, options)

    def table(self, found):
        return Table(found.title(), rows_of(found, COLUMNS), remarks(self, found))

    def tables(self, results):
        """A line for each cell, and a summary of auto."""
        names = list(dict.fromkeys(way.name for found in results for way in found.case.ways))
        rows, shares = [("", "n", *names, "auto / best")], []
        for found in results:
            share = beside_best(found)
            shares += [] if share is None else [(share, found)]
            rows.append(
                (found.case.name, str(found.n_rows), *(cell(found, name) for name in names), text(share, ".2f"))
            )
        none = sum(not any(ended(found, name) for name in names) for found in results)
        notes = [f"{none} cells that no solver has ended"] if none else []
        if shares:
            won = sum(is_near(share, found) for share, found in shares)
            worst = max(share for share, _ in shares)
            notes.insert(
                0, f"auto within {NEAR - 1:.0%} of the best in {won} of {len(shares)} cells, at worst {worst:.2f} times"
            )
        return [Table("CPU seconds", rows, notes)]

    def wrong(self, found):
        """Solvers that report convergence but are not at the optimum."""
        told = {run.name: judged(found, run.name) for run in found.runs if ended(found, run.name)}
        gap = max(EPS, min((one["gap"] for one in told.values()), default=0.0))
        best = min((one["objective"] for one in told.values()), default=0.0)
        return [
            f"NOT OPTIMAL: {name}"
            for name, one in told.items()
            if one["gap"] > WRONG_GAP * gap and one["objective"] - best > WRONG * abs(best)
        ]


def ended(found, name):
    """Whether a solver has converged."""
    return found.last(name).get("status") == CONVERGED


def beside_best(found):
    """Time of auto as a multiple of the best; None if no solver converged, infinite if only auto did not."""
    times = [found.run(way.name).seconds for way in found.case.ways if ended(found, way.name)]
    if not times:
        return None
    return found.run("auto").seconds / min(times) if ended(found, "auto") else float("inf")


def is_near(share, found):
    own = found.run("auto").seconds if found.run("auto") else 0.0
    return share <= NEAR or (share < float("inf") and own - own / share <= NEAREST_SECONDS)


def cell(found, name):
    """Seconds, or why there are none."""
    run = found.run(name)
    if not run:
        cannot = next((one.cannot for one in found.runs if one.name == name), "")
        return f"> {cannot.split()[3]}" if cannot.startswith("not done after") else "-"
    return f"{run.seconds:.3f}" if ended(found, name) else f"({run.seconds:.3g})"


JOBS = {"choosing": Choosing()}

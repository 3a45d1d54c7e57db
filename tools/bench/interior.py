"""The interior-point method beside LIBSVM and LIBLINEAR: figures and tables of Jung, O'Leary & Tits (2008).

interiorcases.py says what is solved, interiorruns.py what is timed; interiortables.py shows it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tools.bench import datasets, interiortables
from tools.bench.cases import Case
from tools.bench.chunked import limited
from tools.bench.interiorcases import (
    ADULT,
    C1,
    COMPARED,
    FACTORS,
    GAUSSIAN,
    LARGEST,
    LOGGED,
    PARTS,
    QUICK_ROWS,
    STANDARD,
    TIGHT,
    TOLERANCES,
    UNREDUCED,
    USUAL,
    VARIANTS,
)
from tools.bench.mapped import PROBLEMS
from tools.bench.turns import Run, take_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

Result = dict[str, Any]

# So far may an objective be above the best one found, relatively, of a run that says it has converged.
WRONG = 1e-6
MEGABYTES = 1000  # of kernel rows, for the peers


@dataclass
class Found:
    """A problem or a set in one part: what was run, or why nothing could be; ``told``: what is compared."""

    part: str
    name: str
    cannot: str = ""
    n_rows: int = 0
    n_columns: int = 0
    note: str = ""
    runs: list[Run] = field(default_factory=list)
    told: Result = field(default_factory=dict)

    def run(self, name: str) -> Run | None:
        return next((run for run in self.runs if run.name == name), None)

    def last(self, name: str) -> Result:
        """What a run came to, {} if it did not."""
        run = self.run(name)
        return run.results[-1] if run and run.results else {}

    def measured(self) -> bool:
        return any(run.results for run in self.runs)

    def wrong(self) -> list[str]:
        """Runs of the interior-point method that say they have converged, and are not at the optimum."""
        if self.part in ("problems", "variants", "log"):
            tried = [(f"{r['family']}, {r['upper']:g}", r) for r in self.last("crsvm").get("runs", ())]
        elif self.part == "lowrank":
            tried = []  # each has an optimum of its own
        else:
            tried = [(name, self.last(name)) for name in ("crsvm", "libsvm", "smo") if self.last(name)]
        best = min((r["objective"] for _, r in tried), default=0.0)
        return [
            name
            for name, r in tried
            if name not in ("libsvm", "smo")
            and r["status"] == "converged"
            and r["objective"] - best > WRONG * max(abs(best), 1e-300)
        ]

    def raw(self) -> Result:
        kept = {name: getattr(self, name) for name in ("part", "name", "cannot", "n_rows", "n_columns", "note", "told")}
        return {**kept, "runs": [run.raw() for run in self.runs]}


def interior(options: Any) -> Iterator[list[Found]]:
    """Results so far, after each problem or set."""
    results: list[Found] = []
    for part, title in PARTS.items():
        if options.part and part not in options.part:
            continue
        print(f"\n{title}", flush=True)
        for name in NAMES[part]:
            if options.case and name not in options.case:
                continue
            results.append(RUN[part](name, options))
            results[-1].part = part
            print("\n" + interiortables.long_table(results[-1]), flush=True)
            yield results
        of_part = [found for found in results if found.part == part]
        if of_part:
            print("\n" + interiortables.summary(of_part, part), flush=True)


def job_of(kind: str, limit: float, **more: Any) -> Result:
    return {"task": "interior", "kind": kind, "threads": 1, "limit": limit, **more}


# ---- mapped problems -----------------------------------------------------------------------------


def problem(name: str, options: Any, variants: Any, repeat: int) -> Found:
    """Variants of the reduction on a mapped problem, all in one process."""
    found = Found("", name)
    settings = [variant.settings() for variant in variants]
    more = {"problem": name, "data": str(options.data), "rows": QUICK_ROWS if options.quick else 0}
    job = job_of("variants", options.limit, **more, settings=settings, repeat=repeat)
    found.runs.append(Run("crsvm", lambda: with_seconds(limited(job, options))))
    take_turns(found.runs, 1, options.max_seconds_once)
    told = found.last("crsvm")
    if not told:
        found.cannot = found.runs[0].cannot
        return found
    found.n_rows, found.n_columns, found.note = told["rows"], told["features"], told["note"]
    for variant, run in zip(variants, told["runs"], strict=True):
        run |= {"family": variant.family, "upper": variant.upper, "median": float(np.median(run["seconds"]))}
        # in the same round, so that what slows the machine for a while slows both
        run["ratio"] = float(np.median(np.divide(told["runs"][0]["seconds"], run["seconds"])))
    return found


def with_seconds(told: Result) -> Result:
    if "cannot" not in told:
        told["seconds"] = sum(sum(run["seconds"]) for run in told["runs"])
    return told


def problems(name: str, options: Any) -> Found:
    return problem(name, options, (UNREDUCED, USUAL), 1)


def variants(name: str, options: Any) -> Found:
    return problem(name, options, VARIANTS, options.repeat)


def log(name: str, options: Any) -> Found:
    return problem(name, options, LOGGED, 1)


# ---- sets ----------------------------------------------------------------------------------------


def prepared(name: str, options: Any) -> tuple[Path | None, Found]:
    """The arrays of a set, None if it is not there."""
    found = Found("", name)
    rows = QUICK_ROWS if options.quick else 0
    data = name.removesuffix(STANDARD)
    source = datasets.find(options.data, data)
    if source is None and name in ADULT:
        source, rows = datasets.find(options.data, LARGEST), min(ADULT[name], rows or ADULT[name])
        found.note = f"the first rows of {LARGEST}"
    if source is None:
        found.cannot = f"{data} is not in {options.data}"
        return None, found
    case = Case(name, source.name.removesuffix(".xz"), rows=rows, standard=data != name)
    npz = datasets.prepare(case, source, options.cache)
    dataset = datasets.load(npz)
    found.n_rows, found.n_columns = datasets.scipy_matrix(dataset).shape
    return npz, found


def adult(name: str, options: Any) -> Found:
    """Trainings by LIBSVM, LIBLINEAR and the interior-point method, which take turns."""
    npz, found = prepared(name, options)
    if npz is None:
        return found
    given = {"npz": str(npz), "options": f"{C1} -m {MEGABYTES}"}
    job = job_of("adult", options.limit, **given)
    jobs = {"crsvm": {**job, "solver": "crsvm"}, "libsvm": {**job, "solver": "libsvm"}}
    if name == LARGEST:
        jobs["crsvm"]["tolerances"] = TOLERANCES
        jobs["liblinear"] = {**job, "solver": "liblinear"}
    found.runs = [Run(way, lambda job=job: limited(job, options)) for way, job in jobs.items()]
    take_turns(found.runs[1:], 1, options.max_seconds_once)
    take_turns(found.runs[:1], options.repeat, options.max_seconds_once)
    return found


def lowrank(name: str, options: Any) -> Found:
    """Factors of the kernel matrix, and what their classifiers and the kernel's own predict."""
    npz, found = prepared(name, options)
    test, other = prepared(f"{name}.t", options)
    if npz is None or test is None:
        found.cannot = found.cannot or other.cannot
        return found
    given = {"npz": str(npz), "test": str(test), "options": f"{GAUSSIAN} -m {MEGABYTES}"}
    job = job_of("lowrank", options.limit, **given)
    for method, rank in FACTORS:
        mine = {**job, "solver": "crsvm", "low_rank": method, "rank": min(rank, found.n_rows)}
        found.runs.append(Run(f"{method}, rank {rank}", lambda mine=mine: limited(mine, options)))
    for solver in ("smo", "libsvm"):
        found.runs.append(Run(solver, lambda solver=solver: limited({**job, "solver": solver}, options)))
    take_turns(found.runs, 1, options.max_seconds_once)
    return found


def oracle(name: str, options: Any) -> Found:
    """The optimum beside LIBSVM's at a tight tolerance; where LIBSVM is stopped, beside that of the same steps."""
    npz, found = prepared(name, options)
    if npz is None:
        return found
    with tempfile.TemporaryDirectory() as folder:
        for solver in ("crsvm", "libsvm", "smo"):
            if solver == "smo" and found.last("libsvm"):
                continue
            given = {"npz": str(npz), "options": f"{C1} -e {TIGHT} -m {MEGABYTES}", "solver": solver}
            job = job_of("oracle", options.limit, **given, arrays=str(Path(folder, f"{solver}.npz")))
            found.runs.append(Run(solver, lambda job=job: limited(job, options)))
            take_turns(found.runs[-1:], 1, options.max_seconds_once)
        found.told = compared(found, Path(folder))
    return found


def compared(found: Found, folder: Path) -> Result:
    """Objective above the peer's, and the largest difference of decision values; both relative."""
    peer = next((name for name in ("libsvm", "smo") if found.last(name)), "")
    if not (peer and found.last("crsvm")):
        return {}
    values, theirs = (np.load(folder / f"{name}.npz")["values"] for name in ("crsvm", peer))
    best = found.last(peer)["objective"]
    return {
        "peer": peer,
        "excess": (found.last("crsvm")["objective"] - best) / max(abs(best), 1e-300),
        "difference": float(abs(values - theirs).max() / max(abs(theirs).max(), 1e-300)),
        "otherwise": int(np.count_nonzero((values > 0) != (theirs > 0))),
    }


NAMES = {
    **dict.fromkeys(("problems", "variants", "log"), tuple(PROBLEMS)),
    "adult": tuple(ADULT),
    "lowrank": (LARGEST,),
    "oracle": COMPARED,
}
RUN = {
    "problems": problems,
    "variants": variants,
    "log": log,
    "adult": adult,
    "lowrank": lowrank,
    "oracle": oracle,
}

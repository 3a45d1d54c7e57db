"""Chunked decomposition beside the exact solver and LIBSVM: the paper's tables, targets, rules of choice, and a map.

chunkedcases.py says what is trained, solvings.py what is timed; chunkedtables.py shows it.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tools.bench import chunkedcases, chunkedtables, datasets, generated
from tools.bench.certificate import AT_BOUND, Certificate, certify
from tools.bench.chunkedcases import PARTS, SMO
from tools.bench.measure import all_threads, measure
from tools.bench.solvings import CONVERGED
from tools.bench.training import load_solution
from tools.bench.turns import Run, take_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.bench.chunkedcases import Part, Trial, Way

Result = dict[str, Any]

SIGXCPU = getattr(signal, "SIGXCPU", 0)
CHUNKS = ("chunked", "irwls")
EPS = 1e-3  # the tolerance of every training
WRONG_GAP = 1.1  # times eps, or times the exact solver's where rounding of its rows has left it more
WRONG = 1e-5  # so may its objective be above the exact solver's, relatively


@dataclass(frozen=True)
class Judgement:
    """``certificate``, and support vectors; ``excess``: objective above the exact solver's, relatively."""

    certificate: Certificate
    n_sv: int
    n_bounded: int
    excess: float | None = None


@dataclass
class Found:
    """A trial, its runs by the names of its ways, and what the last of each came to."""

    part: str
    trial: Trial
    cannot: str = ""
    n_rows: int = 0
    n_columns: int = 0
    runs: list[Run] = field(default_factory=list)
    judged: dict[str, Judgement] = field(default_factory=dict)

    def run(self, way: str) -> Run | None:
        return next((run for run in self.runs if run.name == way), None)

    def way(self, name: str) -> Way:
        return next(way for way in self.trial.ways if way.name == name)

    def measured(self) -> bool:
        return any(run.results for run in self.runs)

    def wrong(self) -> list[str]:
        """Ways in chunks that say they have converged, and are not at the optimum."""
        exact = self.judged.get(SMO.name)
        limit = WRONG_GAP * max(EPS, exact.certificate.gap if exact else 0.0)
        return [
            name
            for name, judged in self.judged.items()
            if self.way(name).solver in CHUNKS
            and self.run(name).results[-1]["status"] == CONVERGED
            and (judged.certificate.gap > limit or (judged.excess or 0) > WRONG)
        ]

    def raw(self) -> Result:
        told = {name: getattr(self, name) for name in ("part", "cannot", "n_rows", "n_columns")}
        judged = {name: asdict(judgement) for name, judgement in self.judged.items()}
        return {**told, "trial": asdict(self.trial), "runs": [r.raw() for r in self.runs], "judged": judged}


def chunked(options: Any) -> Iterator[list[Found]]:
    """Results so far, after each trial."""
    results: list[Found] = []
    for part in chosen(options):
        print(f"\n{part.title}", flush=True)
        stopped: dict[tuple[str, ...], list[tuple[int, float]]] = {}
        for trial in part.trials:
            results.append(run(part, trial, options, stopped))
            print("\n" + chunkedtables.long_table(results[-1]), flush=True)
            yield results
        print("\n" + chunkedtables.summary([f for f in results if f.part == part.name], part), flush=True)


def chosen(options: Any) -> list[Part]:
    """Parts with the trials asked for."""
    parts = [p for p in PARTS if not options.part or p.name in options.part]
    if options.quick:
        parts = [chunkedcases.quick(part) for part in parts]
    if options.working_set:
        parts = [replace(p, trials=tuple(resized(t, options.working_set) for t in p.trials)) for p in parts]
    wanted = [replace(p, trials=tuple(t for t in p.trials if asked_for(t, options))) for p in parts]
    return [part for part in wanted if part.trials]


def resized(trial: Trial, working_set: int) -> Trial:
    return replace(trial, ways=tuple(chunkedcases.sized(way, working_set) for way in trial.ways))


def asked_for(trial: Trial, options: Any) -> bool:
    return trial.case.name in options.case if options.case else options.large or not trial.large


def run(part: Part, trial: Trial, options: Any, stopped: dict[tuple[str, ...], list[tuple[int, float]]]) -> Found:
    """Measure every way of a trial, in turn, then judge what they found.

    stopped : (data, way) -> (rows, C) where it was stopped, IN and OUT; in a map it is not tried where both are no less
    """
    found = Found(part.name, trial)
    npz = prepared(trial, options)
    if npz is None:
        return Found(part.name, trial, f"{trial.case.data} is not in {options.data}")
    dataset = datasets.load(npz)
    X = datasets.scipy_matrix(dataset)
    found.n_rows, found.n_columns = X.shape
    with tempfile.TemporaryDirectory() as folder:
        for way in trial.ways:
            job = job_of(way, trial, npz, options) | {"arrays": str(Path(folder, f"{len(found.runs)}.npz"))}
            found.runs.append(Run(way.name, lambda job=job: limited(job, options)))
            key = (trial.case.data, str(trial.case.factor), way.name)
            if part.grid and any(n <= found.n_rows and C <= trial.C for n, C in stopped.get(key, ())):
                found.runs[-1].cannot = "it was stopped at fewer rows or a smaller C"
        take_turns(found.runs, options.repeat, options.max_seconds_once)
        known: dict[bytes, Judgement] = {}
        for k, done in enumerate(found.runs):
            if done.results:
                found.judged[done.name] = judged(X, dataset.targets, trial, Path(folder, f"{k}.npz"), options, known)
            elif "CPU seconds" in done.cannot:
                key = (trial.case.data, str(trial.case.factor), done.name)
                stopped.setdefault(key, []).append((found.n_rows, trial.C))
    compare(found)
    return found


def prepared(trial: Trial, options: Any) -> Path | None:
    """The arrays of the trial's set; None if its file is not there."""
    if trial.generated:
        return generated.prepare(trial.case.data, trial.case.rows, options.cache)
    source = datasets.find(options.data, trial.case.data)
    return source and datasets.prepare(trial.case, source, options.cache)


def job_of(way: Way, trial: Trial, npz: Path, options: Any) -> Result:
    job = {"task": "solve", "npz": str(npz), "options": trial.options(options.megabytes), "way": asdict(way)}
    return {**job, "threads": way.threads or all_threads(), "limit": options.limit}


def limited(job: Result, options: Any) -> Result:
    """As ``measure``, of a process that is stopped after ``options.limit`` CPU seconds."""
    told = measure(job, job["threads"], options.timeout)
    stopped = told.get("cannot", "").startswith(f"exit code {-SIGXCPU}:")
    return {"cannot": f"not done after {job['limit']:g} CPU seconds"} if stopped else told


def judged(X: Any, targets: Any, trial: Trial, path: Path, options: Any, known: dict[bytes, Judgement]) -> Judgement:
    """``known`` has what was judged of these data before, by coefficients, IN and OUT."""
    solution = load_solution(path)
    key = solution.rows.tobytes() + solution.coef.tobytes()
    if key not in known:
        param = datasets.parameter(trial.options(options.megabytes), X.shape[1])
        size = np.abs(solution.coef).ravel()  # of one row, or none where there is one class
        bounded = int(np.sum(size >= trial.C * (1 - AT_BOUND)))
        known[key] = Judgement(certify(X, targets, param, solution), len(size), bounded)
    return known[key]


def compare(found: Found) -> None:
    """Objectives beside that of the exact solver."""
    exact = found.judged.get(SMO.name)
    if exact is None:
        return
    best = exact.certificate.objective
    for name, judgement in found.judged.items():
        excess = (judgement.certificate.objective - best) / max(abs(best), sys.float_info.min)
        found.judged[name] = replace(judgement, excess=excess)

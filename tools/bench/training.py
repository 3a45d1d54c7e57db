"""The main job: cases x solvers, in turn, several times."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tools.bench import datasets
from tools.bench.certificate import Certificate, certify
from tools.bench.measure import all_threads, measure
from tools.bench.peers import SOLVERS, Solution, Solver
from tools.bench.roofline import Limit, limit

if TYPE_CHECKING:
    from tools.bench.cases import Case

OURS, ORACLE = "libsvmx", "libsvm"


@dataclass(frozen=True)
class Settings:
    """How to measure; seconds but for ``repeat``."""

    data: Path
    cache: Path
    repeat: int = 3
    max_seconds_once: float = 120.0
    timeout: float = 3600.0


@dataclass
class Entry:
    """One solver on one case: all times, and what the last run came to."""

    solver: Solver
    threads: int
    times: list[float] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)
    certificate: Certificate | None = None
    cannot: str = ""

    @property
    def seconds(self) -> float | None:
        return statistics.median(self.times) if self.times else None


@dataclass
class CaseResult:
    """All solvers on one case; ``cannot`` if the case itself cannot be run."""

    case: Case
    cannot: str = ""
    n_rows: int = 0
    n_columns: int = 0
    entries: list[Entry] = field(default_factory=list)
    limit: Limit | None = None

    def entry(self, name: str) -> Entry | None:
        """The entry of a solver, if it was measured."""
        return next((e for e in self.entries if e.solver.name == name and e.times), None)

    def ratio(self, entry: Entry) -> float | None:
        """Time of ``entry`` as a multiple of libsvmx's with one thread."""
        ours = self.entry(OURS)
        return entry.seconds / ours.seconds if ours and entry.seconds is not None else None

    def equality(self, entry: Entry) -> str:
        """'equal' or 'DIFFER' beside the model file of LIBSVM with one thread; '' where there is nothing to compare."""
        oracle = self.entry(ORACLE)
        mine = entry.result.get("model_hash")
        if oracle is None or mine is None or entry is oracle:
            return ""
        return "equal" if mine == oracle.result["model_hash"] else "DIFFER"

    def raw(self) -> dict[str, Any]:
        """Everything, for JSON."""
        entries = [
            {**asdict(e), "median": e.seconds, "ratio": self.ratio(e), "model": self.equality(e)} for e in self.entries
        ]
        return {
            **{name: asdict(getattr(self, name)) if getattr(self, name) else None for name in ("case", "limit")},
            **{name: getattr(self, name) for name in ("cannot", "n_rows", "n_columns")},
            "entries": entries,
        }


def run_case(case: Case, solvers: list[Solver], settings: Settings) -> CaseResult:
    """Measure every solver on one case, alternating, then certify what they found."""
    source = datasets.find(settings.data, case.data)
    if source is None:
        return CaseResult(case, cannot=f"{case.data} is not in {settings.data}")
    npz = datasets.prepare(case, source, settings.cache)
    dataset = datasets.load(npz)
    X = datasets.scipy_matrix(dataset)
    param = datasets.parameter(case.options, X.shape[1])
    found = CaseResult(case, "", *X.shape)
    found.entries = [Entry(s, all_threads() if s.all_threads else 1) for s in solvers]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(settings.repeat):
            for entry in found.entries:
                if entry.cannot or (entry.times and max(entry.times) > settings.max_seconds_once):
                    continue
                run_once(entry, case, npz, Path(folder), settings.timeout)
        known: dict[bytes, Certificate] = {}
        for entry in found.entries:
            if entry.times:
                solution = load_solution(arrays_path(Path(folder), entry))
                key = solution.rows.tobytes() + solution.coef.tobytes()
                if key not in known:
                    known[key] = certify(X, dataset.targets, param, solution)
                entry.certificate = known[key]
    ours = found.entry(OURS)
    if ours and len(ours.result["rho"]) == 1:
        found.limit = limit(dataset, param, ours.result)
    return found


def run_once(entry: Entry, case: Case, npz: Path, folder: Path, timeout: float) -> None:
    job = {
        "task": "train",
        "npz": str(npz),
        "options": case.options,
        "module": entry.solver.module,
        "dense": entry.solver.dense,
        "arrays": str(arrays_path(folder, entry)),
    }
    result = measure(job, entry.threads, timeout)
    if "cannot" in result:
        entry.cannot = result["cannot"]
    else:
        entry.times.append(result["seconds"])
        entry.result = result


def arrays_path(folder: Path, entry: Entry) -> Path:
    return folder / f"{entry.solver.name}.npz"


def load_solution(path: Path) -> Solution:
    with np.load(path) as arrays:
        return Solution(**arrays)


def chosen_solvers(names: list[str] | None) -> list[Solver]:
    return [s for s in SOLVERS if names is None or s.name in names]

"""The grid job: svmx-grid with and without seeding, beside LIBSVM's svm-train -v at the points of the grid."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from math import gcd
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.bench import datasets
from tools.bench.cases import SEARCHING
from tools.bench.measure import environment
from tools.bench.report import aligned
from tools.bench.seeding import chosen, pipes, text
from tools.bench.turns import Result, Run, extrapolation, mark, refusals, sampled, take_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.bench.cases import Case

ORACLE, SEEDED, EXACT = "LIBSVM", "svmx-grid", "svmx-grid, none"
MODULE = "libsvmx.cli.grid"
COMMAND = f"from {MODULE} import entry; entry()"
GOLDEN = 0.618  # a step of this share of a cycle spreads any first few steps over the cycle
NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
# a line of the file that grid.py writes, and a line that it prints; groups: log2 C, log2 gamma, rate
FORMS = (rf"log2c={NUMBER}\s+log2g={NUMBER}\s+rate={NUMBER}", rf"\[[^]]*\]\s+{NUMBER}\s+{NUMBER}\s+{NUMBER}")


@dataclass
class Search:
    """All runs over one grid. ``right`` has for each run {(log2 C, log2 gamma): rows predicted as they should be}."""

    case: Case
    points: list[tuple[float, float]] = field(default_factory=list)
    cannot: str = ""
    n_rows: int = 0
    runs: list[Run] = field(default_factory=list)
    right: dict[str, dict[tuple[float, float], int]] = field(default_factory=dict)

    def run(self, name: str) -> Run | None:
        return next((run for run in self.runs if run.name == name and run.results), None)

    def ratio(self, run: Run) -> float | None:
        """LIBSVM's time as a multiple of this run's."""
        oracle = self.run(ORACLE)
        return oracle.seconds / run.seconds if oracle and run is not oracle and run.seconds else None

    def unlike(self, name: str, other: str) -> Result | None:
        """Points that both have, those whose rates differ, and by how many rows at most."""
        mine, theirs = self.right.get(name), self.right.get(other)
        if mine is None or theirs is None or name == other:
            return None
        gaps = [abs(mine[point] - theirs[point]) for point in mine.keys() & theirs.keys()]
        return {"points": len(gaps), "unlike": sum(gap > 0 for gap in gaps), "rows": max(gaps, default=0)}

    def differs(self) -> bool:
        """Whether LIBSVM's path is not LIBSVM's."""
        return bool((self.unlike(EXACT, ORACLE) or {}).get("unlike"))

    def raw(self) -> dict[str, Any]:
        return {
            "case": asdict(self.case),
            **{name: getattr(self, name) for name in ("points", "cannot", "n_rows")},
            "right": {name: [[*point, count] for point, count in found.items()] for name, found in self.right.items()},
            "runs": [
                {
                    **run.raw(),
                    "ratio": self.ratio(run),
                    "unlike_oracle": self.unlike(run.name, ORACLE),
                    "unlike_exact": self.unlike(run.name, EXACT),
                }
                for run in self.runs
            ],
        }


def searching(options: Any) -> Iterator[list[Search]]:
    """Searches so far, after each case."""
    results: list[Search] = []
    for case in chosen(SEARCHING, options.case):
        results.append(search(case, options))
        print("\n" + table(results[-1]), flush=True)
        yield results


def steps(span: str) -> list[float]:
    """The numbers of begin,end,step, the end included, as grid.py counts them."""
    begin, end, step = map(float, span.split(","))
    if step == 0 or (end - begin) / step < 0:
        raise ValueError(f"{span}: no step leads from begin to end")
    return [begin + i * step for i in range(int((end - begin) / step + 1e-9) + 1)]  # 1e-9: steps such as 0.1


def spread(rows: list[float], columns: list[float]) -> list[tuple[float, float]]:
    """Every point once, so that any first few lie evenly: each cycle has every row once and columns far apart."""
    n, m = len(rows), len(columns)
    order = [i * stride(n) % n for i in range(n)]
    return [(rows[r], columns[(r + turn) * stride(m) % m]) for turn in range(m) for r in order]


def stride(n: int) -> int:
    """Closest to a golden step of those that meet all of 0..n-1."""
    return min((s for s in range(1, n + 1) if gcd(s, n) == 1), key=lambda s: abs(s - GOLDEN * n))


def search(case: Case, options: Any) -> Search:
    points = spread(steps(options.log2c), steps(options.log2g))
    source = datasets.find(options.data, case.data)
    if source is None:
        return Search(case, points, f"{case.data} is not in {options.data}")
    npz = datasets.prepare(case, source, options.cache)
    path = datasets.plain_text(source, options.cache).resolve()
    found = Search(case, points, "", len(datasets.load(npz).targets))
    job = {
        "task": "cross_validate",
        "validator": "libsvm_points",
        "npz": str(npz),
        "options": f"{case.options} -m {options.megabytes:g}",
        "folds": options.fold,
        "points": points,
        "seconds": options.seconds,
    }
    arguments = [
        "-log2c",
        options.log2c,
        "-log2g",
        options.log2g,
        "-v",
        str(options.fold),
        "-m",
        f"{options.megabytes:g}",
    ]
    found.runs = [
        Run(ORACLE, lambda: sampled(job, len(points), options.timeout)),
        Run(SEEDED, lambda: command([*arguments, str(path)], found.n_rows, options.timeout)),
        Run(EXACT, lambda: command(["--seeder", "none", *arguments, str(path)], found.n_rows, options.timeout)),
    ]
    take_turns(found.runs, options.repeat, options.max_seconds_once)
    for run in found.runs:
        if run.results:
            last = run.results[-1]
            right = [(r["point"], r["right"]) for r in last["records"]] if run.name == ORACLE else last["right"]
            found.right[run.name] = {tuple(point): count for point, count in right}
    return found


def command(arguments: list[str], n_rows: int, timeout: float) -> Result:
    """svmx-grid of the installed package as a whole command, in a folder of its own, with one thread."""
    if find_spec(MODULE) is None:
        return {"cannot": "this libsvmx has no svmx-grid"}
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-c", COMMAND, *arguments],
                capture_output=True,
                text=True,
                env=environment(1),
                timeout=timeout,
                cwd=folder,
            )
        except subprocess.TimeoutExpired:
            return {"cannot": f"not done after {timeout:g} s"}
        seconds = time.perf_counter() - start
        written = [path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("*.out"))]
    if done.returncode:
        return {"cannot": f"exit code {done.returncode}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"}
    rates = read_rates([*written, done.stdout])
    if not rates:
        return {"cannot": "svmx-grid told no rate"}
    return {
        "seconds": seconds,
        "right": [[point, round(rate * n_rows / 100)] for point, rate in rates.items()],
    }


def read_rates(texts: list[str]) -> dict[tuple[float, float], float]:
    """{(log2 C, log2 gamma): rate in percent} of what grid.py writes or prints."""
    rates = {}
    for content in texts:
        for form in FORMS:
            for log2c, log2g, rate in re.findall(form, content):
                rates[float(log2c), float(log2g)] = float(rate)
    return rates


COLUMNS = ("run", "median s", "min-max", "LIBSVM / run", "points", "rates unlike LIBSVM", "rows at most", "unlike none")


def cells(found: Search, run: Run) -> tuple[str, ...]:
    times, oracle = [r["seconds"] for r in run.results], found.run(ORACLE)
    beside, exact = found.unlike(run.name, ORACLE), found.unlike(run.name, EXACT)
    about = mark(oracle.results[-1]) if oracle else ""
    return (
        run.name,
        f"{mark(run.results[-1])}{run.seconds:.3f}",
        f"{min(times):.3f}-{max(times):.3f}" if len(times) > 1 else "once",
        "" if run is oracle else about + text(found.ratio(run), ".2f"),
        str(len(found.right[run.name])),
        f"{beside['unlike']} of {beside['points']}" if beside else "",
        str(beside["rows"]) if beside else "",
        f"{exact['unlike']} of {exact['points']}, {exact['rows']} rows at most" if exact else "",
    )


def title(found: Search) -> str:
    return f"{found.case.name}: {found.case.data}, grid of {len(found.points)} points"


def table(found: Search) -> str:
    if found.cannot:
        return f"{title(found)}\n  NOT RUN: {found.cannot}"
    rows = [COLUMNS, *(cells(found, run) for run in found.runs if run.results)]
    return "\n".join([f"{title(found)} ({found.n_rows:,} rows)", *aligned(rows), *(f"  {r}" for r in remarks(found))])


def remarks(found: Search) -> list[str]:
    lines = [*extrapolation(found.run(ORACLE), "points"), *refusals(found.runs)]
    if found.differs():
        lines.append("DIFFER: LIBSVM's path does not come to LIBSVM's rates")
    return lines


def markdown(results: list[Search]) -> str:
    rows = [("set", *COLUMNS)]
    rows += [(found.case.name, *cells(found, run)) for found in results for run in found.runs if run.results]
    notes = []
    for found in results:
        said = [f"not run: {found.cannot}"] if found.cannot else remarks(found)
        notes += [f"- {title(found)}: " + ("; ".join(said) or "as the table says")]
    return "\n".join([*pipes(rows), "", *notes]) + "\n"

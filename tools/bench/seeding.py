"""Cross-validation and leave-one-out: LIBSVM, libsvmx on LIBSVM's path, and libsvmx with its seeders.

Rebuilds tables 1 and 3 of Wen et al., "Improving efficiency of SVM k-fold cross-validation by alpha seeding" (2017).
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tools.bench import datasets
from tools.bench.cases import LEAVING, SEEDING
from tools.bench.measure import measure
from tools.bench.report import aligned
from tools.bench.turns import Result, Run, extrapolation, mark, refusals, sampled, take_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tools.bench.cases import Case

ORACLE, EXACT, LEAVE_ONE_OUT = "LIBSVM", "none", "leave-one-out"
SEEDERS = ("sir", "mir", "ato", "avg", "top")
ORIGINS = ("chain", "star")
# on the command line; a name without an origin stands for both
CHOICES = ("libsvm", EXACT, *SEEDERS, *(f"{s}-{o}" for s in SEEDERS for o in ORIGINS), "auto")
FOLDS = (3, 10, 100)

# Seconds of LIBSVM and of SIR in table 3 of the paper; its MNIST has 60,000 rows
PAPER = {
    ("adult", 3): (733, 683),
    ("adult", 10): (6783, 3762),
    ("adult", 100): (41288, 33877),
    ("heart", 3): (0.09, 0.08),
    ("heart", 10): (0.36, 0.25),
    ("heart", 100): (3.39, 1.17),
    ("madelon", 3): (8.8, 7.8),
    ("madelon", 10): (54.5, 14.7),
    ("madelon", 100): (620, 19.5),
    ("mnist", 3): (29692, 22296),
    ("mnist", 10): (172816, 37822),
    ("mnist", 100): (2508684, 61016),
    ("webdata", 3): (3941, 2342),
    ("webdata", 10): (24689, 12034),
    ("webdata", 100): (190817, 31918),
}


@dataclass
class Comparison:
    """All runs of one case with so many folds; ``folds`` 0 stands for leave-one-out.

    ``found`` has for each run: accuracy (None where rows are missing), accuracy_there (over the rows that LIBSVM
    predicted), unlike_exact (of all rows) and unlike_oracle (of LIBSVM's rows), numbers of rows predicted otherwise.
    """

    case: Case
    folds: int
    cannot: str = ""
    n_rows: int = 0
    n_columns: int = 0
    runs: list[Run] = field(default_factory=list)
    found: dict[str, Result] = field(default_factory=dict)
    disagreed: int = 0  # rows that not all complete runs predict alike

    def run(self, name: str) -> Run | None:
        return next((run for run in self.runs if run.name == name and run.results), None)

    def ratio(self, run: Run) -> float | None:
        """LIBSVM's time as a multiple of this run's."""
        oracle = self.run(ORACLE)
        if oracle is None or run is oracle or run.seconds is None:
            return None
        return oracle.seconds / run.seconds

    def differs(self) -> bool:
        """Whether LIBSVM's path is not LIBSVM's."""
        return bool(self.found.get(EXACT, {}).get("unlike_oracle"))

    def raw(self) -> dict[str, Any]:
        return {
            "case": asdict(self.case),
            **{name: getattr(self, name) for name in ("folds", "cannot", "n_rows", "n_columns", "disagreed", "found")},
            "paper": PAPER.get((self.case.name, self.folds)),
            "runs": [{**run.raw(), "ratio": self.ratio(run)} for run in self.runs],
        }


def seeding(options: Any) -> Iterator[list[Comparison]]:
    """Comparisons so far, after each case and number of folds."""
    results: list[Comparison] = []
    for case in chosen(SEEDING, options.case):
        for k in options.folds:
            results.append(compare(case, k, options, options.seeder))
            print("\n" + table(results[-1]), flush=True)
            yield results
    print("\n" + summary(results))


def leaving(options: Any) -> Iterator[list[Comparison]]:
    """As ``seeding``, for leave-one-out."""
    results: list[Comparison] = []
    for case in chosen(LEAVING, options.case):
        results.append(compare(case, 0, options, ["libsvm", LEAVE_ONE_OUT]))
        print("\n" + table(results[-1]), flush=True)
        yield results


def chosen(cases: tuple[Case, ...], names: list[str] | None) -> list[Case]:
    return [case for case in cases if names is None or case.name in names]


def compare(case: Case, k: int, options: Any, names: list[str] | None) -> Comparison:
    source = datasets.find(options.data, case.data)
    if source is None:
        return Comparison(case, k, f"{case.data} is not in {options.data}")
    npz = datasets.prepare(case, source, options.cache)
    dataset = datasets.load(npz)
    n = len(dataset.targets)
    job = {
        "task": "cross_validate",
        "npz": str(npz),
        "options": f"{case.options} -m {options.megabytes:g}",
        "folds": min(k, n) or n,
    }
    comparison = Comparison(case, k, "", n, int(dataset.indices.max(initial=1)))
    with tempfile.TemporaryDirectory() as folder:
        comparison.runs = [run_of(name, job, Path(folder), options) for name in expanded(names)]
        take_turns(comparison.runs, options.repeat, options.max_seconds_once)
        judge(comparison, dataset.targets, Path(folder))
    return comparison


def expanded(names: list[str] | None) -> list[str]:
    """Every run asked for, once, with its origin."""
    wanted = []
    for name in names or ["libsvm", EXACT, *SEEDERS, "auto"]:
        wanted += [f"{name}-{origin}" for origin in ORIGINS] if name in SEEDERS else [name]
    return list(dict.fromkeys(wanted))


def run_of(name: str, job: Result, folder: Path, options: Any) -> Run:
    if name == "libsvm":
        oracle = {**job, "validator": "libsvm_folds", "seconds": options.seconds}
        return Run(ORACLE, lambda: sampled(oracle, job["folds"], options.timeout))
    seeder, _, origin = name.partition("-")
    mine = {**job, "validator": "svmx_folds", "seeder": seeder, "scheme": origin}
    if name == LEAVE_ONE_OUT:
        mine = {**job, "validator": "svmx_leave_one_out"}
    mine["predictions"] = str(folder / f"{name}.npy")
    return Run(name, lambda: with_rest(measure(mine, 1, options.timeout)))


def with_rest(result: Result) -> Result:
    """The time that is neither seeding nor the training over all rows of a star: folds, training and prediction."""
    if "cannot" not in result:
        result["rest_seconds"] = result["seconds"] - result["seeding_seconds"] - (result["whole_seconds"] or 0)
    return result


def judge(comparison: Comparison, targets: NDArray[Any], folder: Path) -> None:
    """Compare the predictions of all runs, row by row."""
    predicted = {}
    for run in comparison.runs:
        if run.results:
            predicted[run.name] = (
                of_records(run.results[-1]["records"], len(targets))
                if run.name == ORACLE
                else np.load(folder / f"{run.name}.npy")
            )
    there = np.isfinite(predicted.get(ORACLE, targets))
    for name, values in predicted.items():
        comparison.found[name] = {
            "accuracy": None if np.isnan(values).any() else percent(values == targets),
            "accuracy_there": percent((values == targets)[there]),
            "unlike_exact": unlike(values, predicted.get(EXACT)),
            "unlike_oracle": unlike(values, predicted.get(ORACLE)),
        }
    complete = [values for values in predicted.values() if not np.isnan(values).any()]
    if complete:
        comparison.disagreed = int(np.any([values != complete[0] for values in complete], axis=0).sum())


def of_records(records: list[Result], n: int) -> NDArray[Any]:
    """Predictions by row; nan where a fold was not measured."""
    values = np.full(n, np.nan)
    for record in records:
        values[record["rows"]] = record["predictions"]
    return values


def percent(right: NDArray[Any]) -> float:
    return 100 * float(np.mean(right))


def unlike(values: NDArray[Any], others: NDArray[Any] | None) -> int | None:
    """Rows that both predicted, and otherwise."""
    if others is None:
        return None
    return int(np.sum((values != others) & np.isfinite(values) & np.isfinite(others)))


COLUMNS = {
    "run": "run",
    "seconds": "median s",
    "range": "min-max",
    "whole": "all rows s",
    "seeding": "init s",
    "rest": "the rest s",
    "iterations": "iterations",
    "retrained": "retrained",
    "accuracy": "accuracy %",
    "there": "on LIBSVM's folds",
    "ratio": "LIBSVM / run",
    "unlike": "rows unlike none",
    "unlike_oracle": "unlike LIBSVM",
}


def columns(comparison: Comparison) -> list[str]:
    hidden = {"retrained"} if comparison.folds else {"unlike"}
    return [name for name in COLUMNS if name not in hidden]


def cells(comparison: Comparison, run: Run) -> dict[str, str]:
    result, found, about = run.results[-1], comparison.found[run.name], mark(run.results[-1])
    times = [r["seconds"] for r in run.results]
    return {
        "run": run.name,
        "seconds": f"{about}{run.seconds:.3f}",
        "range": f"{min(times):.3f}-{max(times):.3f}" if len(times) > 1 else "once",
        "whole": text(run.median("whole_seconds"), ".3f"),
        "seeding": text(run.median("seeding_seconds"), ".3f"),
        "rest": text(run.median("rest_seconds"), ".3f"),
        "iterations": about + text(result["iterations"], ","),
        "retrained": text(result.get("retrained"), ","),
        "accuracy": text(found["accuracy"], ".3f"),
        "there": text(found["accuracy_there"], ".3f"),
        "ratio": (mark_of(comparison) if run.name != ORACLE else "") + text(comparison.ratio(run), ".2f"),
        "unlike": text(found["unlike_exact"], ","),
        "unlike_oracle": "" if run.name == ORACLE else text(found["unlike_oracle"], ","),
    }


def text(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def mark_of(comparison: Comparison) -> str:
    oracle = comparison.run(ORACLE)
    return mark(oracle.results[-1]) if oracle else ""


def title(comparison: Comparison) -> str:
    case = comparison.case
    folds = f"{comparison.folds} folds" if comparison.folds else "leave-one-out"
    cut = f", first {case.rows} rows" if case.rows else ""
    return f"{case.name}: {case.data}{cut}, {case.options or 'defaults'}, {folds}"


def table(comparison: Comparison) -> str:
    if comparison.cannot:
        return f"{title(comparison)}\n  NOT RUN: {comparison.cannot}"
    shown = columns(comparison)
    rows = [tuple(COLUMNS[name] for name in shown)]
    for run in comparison.runs:
        if run.results:
            found = cells(comparison, run)
            rows.append(tuple(found[name] for name in shown))
    heading = f"{title(comparison)} ({comparison.n_rows:,} x {comparison.n_columns:,})"
    return "\n".join([heading, *aligned(rows), *(f"  {line}" for line in remarks(comparison))])


def remarks(comparison: Comparison) -> list[str]:
    """What the columns cannot say."""
    lines = [*extrapolation(comparison.run(ORACLE), "folds"), *refusals(comparison.runs)]
    for run in comparison.runs:
        unfinished = run.results[-1].get("unfinished", 0) if run.results else 0
        if unfinished:
            lines.append(f"{run.name}: {unfinished:,} rounds did not converge")
        told = others(run)
        if told:
            lines.append(f"{run.name}: rounds by " + ", ".join(f"{name} {count}" for name, count in told.items()))
    if comparison.differs():
        lines.append("DIFFER: LIBSVM's path does not predict as LIBSVM does")
    if sum(found["accuracy"] is not None for found in comparison.found.values()) > 1:
        lines.append(f"rows that not all runs over all rows predict alike: {comparison.disagreed:,}")
    return lines


def others(run: Run) -> Result:
    """{seeder: rounds} of those that a run was not asked for; the first round of a chain has nothing to start from."""
    requested = run.name.partition("-")[0]
    if not run.results or requested not in (*SEEDERS, "auto"):
        return {}
    last = run.results[-1]
    counts = {**last["seeders"], requested: 0}
    if last["scheme"] == "chain":
        counts[EXACT] = counts.get(EXACT, 0) - 1
    return {name: count for name, count in counts.items() if count > 0}


def names_of(results: list[Comparison]) -> list[str]:
    """Every run that has a time somewhere, in order."""
    return list(dict.fromkeys(run.name for found in results for run in found.runs if run.results))


def summary(results: list[Comparison]) -> str:
    """Table 3: seconds of all runs, and how many times LIBSVM takes."""
    return "\n".join(aligned(summary_rows(results)))


def summary_rows(results: list[Comparison]) -> list[tuple[str, ...]]:
    names = names_of(results)
    rows = [("seconds (LIBSVM / run)", "folds", *names, "paper: LIBSVM", "SIR")]
    for found in results:
        line = []
        for name in names:
            run = found.run(name)
            ratio = found.ratio(run) if run else None
            about = mark(run.results[-1]) if run else ""
            line.append(about + short(run.seconds) + (f" ({ratio:.1f})" if ratio else "") if run else "-")
        paper = PAPER.get((found.case.name, found.folds))
        theirs = (f"{paper[0]:g}", f"{paper[1]:g} ({paper[0] / paper[1]:.1f})") if paper else ("", "")
        rows.append((found.case.name, str(found.folds or "n"), *line, *theirs))
    return rows


def short(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}" if seconds < 100 else f"{seconds:,.0f}"


def markdown(results: list[Comparison]) -> str:
    """Table 1 for every number of folds, then table 3."""
    lines = []
    for k in dict.fromkeys(found.folds for found in results):
        group = [found for found in results if found.folds == k]
        shown = columns(group[0])
        rows = [("set", *(COLUMNS[name] for name in shown))]
        for found in group:
            for run in found.runs:
                if run.results:
                    told = cells(found, run)
                    rows.append((found.case.name, *(told[name] for name in shown)))
        lines += [f"### {k} folds" if k else "### Leave-one-out", "", *pipes(rows), ""]
        for found in group:
            notes = [f"not run: {found.cannot}"] if found.cannot else remarks(found)
            lines.append(f"- {title(found)}: " + ("; ".join(notes) or "as the table says"))
        lines.append("")
    return "\n".join([*lines, *pipes(summary_rows(results))]) + "\n"


def pipes(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows of a table in Markdown, the first one its heading."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]

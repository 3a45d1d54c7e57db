"""Cross-validation and leave-one-out: LIBSVM, libsvmx on LIBSVM's path, and libsvmx with its seeders.

The sets are those of Wen et al., "Improving efficiency of SVM k-fold cross-validation by alpha seeding" (2017), table
2: Heart and Madelon unscaled; MNIST scaled, its first 10,000 rows.
"""

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import measure
from tools.bench.protocol import TIMES, Found, Job, remarks, rows_of
from tools.bench.report import Table, short, text
from tools.bench.turns import Run, mark, sampled, take_turns

SEEDING = (
    Case("heart", "heart", "-c 2182 -g 0.2"),
    Case("madelon", "madelon", "-c 1 -g 0.7071"),
    Case("mnist", "mnist.scale", "-c 10 -g 0.125", rows=10_000, parity=True),
    Case("webdata", "w8a", "-c 64 -g 7.8125"),
    Case("adult", "a9a", "-c 100 -g 0.5"),
)
LEAVING = (
    Case("heart_scale", "heart_scale"),
    Case("splice", "splice"),
    Case("a1a", "a1a"),
    Case("a9a-c1", "a9a", "-c 1 -g 0.05"),
    Case("a9a-c100", "a9a", "-c 100 -g 0.5"),
)
ORACLE, EXACT, LEAVE_ONE_OUT = "LIBSVM", "none", "leave-one-out"
SEEDERS = ("sir", "mir", "ato", "avg", "top")
SCHEMES = ("chain", "star")
# on the command line; a name without a scheme means both
CHOICES = (ORACLE, EXACT, *SEEDERS, *(f"{seeder}-{scheme}" for seeder in SEEDERS for scheme in SCHEMES), "auto")
COLUMNS = {
    **TIMES,
    "all rows s": lambda found, run: text(run.median("whole_seconds"), ".3f"),
    "init s": lambda found, run: text(run.median("seeding_seconds"), ".3f"),
    "the rest s": lambda found, run: text(run.median("rest_seconds"), ".3f"),
    "iterations": lambda found, run: f"{mark(run.last)}{run.last['iterations']:,}",
    "retrained": lambda found, run: text(run.last.get("retrained"), ","),
    "accuracy %": lambda found, run: text(found.told[run.name]["accuracy"], ".3f"),
    "on LIBSVM's folds": lambda found, run: text(found.told[run.name]["accuracy_there"], ".3f"),
    "LIBSVM / run": lambda found, run: mark(found.last(ORACLE)) + text(found.ratio(ORACLE, run.name), ".2f"),
    "rows unlike none": lambda found, run: text(found.told[run.name]["unlike_exact"], ","),
    "unlike LIBSVM": lambda found, run: text(found.told[run.name]["unlike_oracle"], ","),
}


class Seeding(Job):
    """``told`` has for each run: accuracy (None if rows are missing), accuracy_there (over the rows that LIBSVM
    predicted), unlike_exact (of all rows) and unlike_oracle (of LIBSVM's rows), numbers of rows predicted differently;
    and, as "disagreed", the rows on which complete runs differ."""

    name = "seeding"
    explained = """\
One thread, one process for each run; data are read before the clock starts. LIBSVM / run: LIBSVM's time as a multiple
of the run's. ~ is extrapolated from the folds measured, see the notes."""
    megabytes = 100.0
    seconds = 600.0

    def options(self, parser):
        parser.add_argument("--folds", nargs="+", type=int, default=(3, 10, 100), metavar="K", help="(3 10 100)")
        parser.add_argument("--seeder", nargs="+", choices=CHOICES, metavar="NAME", help=f"of {' '.join(CHOICES)}")

    def every_case(self, options):
        return [replace(case, folds=k, note=f"{k} folds") for case in SEEDING for k in options.folds]

    def runs(self, options):
        return expanded(options.seeder)

    def run(self, case, options):
        npz = datasets.prepare(case, options.data, options.cache)
        dataset = datasets.load(npz)
        n = len(dataset.targets)
        job = {"npz": str(npz), "options": f"{case.options} -m {options.megabytes:g}", "folds": min(case.folds, n) or n}
        found = Found(case, "", n, int(dataset.indices.max(initial=1)))
        with tempfile.TemporaryDirectory() as folder:
            found.runs = [run_of(name, job, Path(folder), options) for name in self.runs(options)]
            take_turns(found.runs, options.repeat, options.max_seconds_once)
            found.told = judged(found.runs, dataset.targets, Path(folder))
        return found

    def table(self, found):
        notes = remarks(self, found, "folds")
        for run in found.runs:
            if run.last.get("unfinished"):
                notes.append(f"{run.name}: {run.last['unfinished']:,} rounds did not converge")
            if others(run):
                notes.append(f"{run.name}: rounds by " + ", ".join(f"{k} {count}" for k, count in others(run).items()))
        notes.append(f"rows that not all runs over all rows predict alike: {found.told['disagreed']:,}")
        return Table(found.title(), rows_of(found, COLUMNS), notes)

    def tables(self, results):
        """Seconds of all runs, and LIBSVM's time as a multiple."""
        names = list(dict.fromkeys(run.name for found in results for run in found.runs if run.results))
        rows = [("seconds (LIBSVM / run)", "folds", *names)]
        for found in results:
            rows.append((found.case.name, str(found.case.folds or "n"), *(seconds(found, name) for name in names)))
        return [Table("Seconds", rows)]

    def wrong(self, found):
        differs = found.told.get(EXACT, {}).get("unlike_oracle")
        return ["DIFFER: LIBSVM's path does not predict as LIBSVM does"] if differs else []


class LeavingOneOut(Seeding):
    name = "loo"

    def options(self, parser):
        pass

    def every_case(self, options):
        return [replace(case, note="leave-one-out") for case in LEAVING]

    def runs(self, options):
        return [ORACLE, LEAVE_ONE_OUT]


def expanded(names):
    """Every requested run once, with its scheme."""
    wanted = []
    for name in names or [ORACLE, EXACT, *SEEDERS, "auto"]:
        wanted += [f"{name}-{scheme}" for scheme in SCHEMES] if name in SEEDERS else [name]
    return list(dict.fromkeys(wanted))


def run_of(name, job, folder, options):
    if name == ORACLE:
        oracle = {**job, "call": "jobs.validators:libsvm_folds", "seconds": options.seconds}
        return Run(ORACLE, partial(sampled, oracle, job["folds"], options.timeout))
    seeder, _, scheme = name.partition("-")
    call = "svmx_leave_one_out" if name == LEAVE_ONE_OUT else "svmx_folds"
    mine = {**job, "call": f"jobs.validators:{call}", "seeder": seeder, "scheme": scheme}
    return Run(name, partial(measure, {**mine, "predictions": str(folder / f"{name}.npy")}, 1, options.timeout))


def judged(runs, targets, folder):
    """Compare the predictions of all runs, row by row; nan for folds that were not measured."""
    predicted = {}
    for run in runs:
        if run.name == ORACLE and run.results:
            predicted[ORACLE] = of_records(run.last["records"], len(targets))
        elif run.results:
            predicted[run.name] = np.load(folder / f"{run.name}.npy")
    there = np.isfinite(predicted.get(ORACLE, targets))
    told = {}
    for name, values in predicted.items():
        right = values == targets
        told[name] = {
            "accuracy": None if np.isnan(values).any() else 100 * float(right.mean()),
            "accuracy_there": 100 * float(right[there].mean()),
            "unlike_exact": unlike(values, predicted.get(EXACT)),
            "unlike_oracle": unlike(values, predicted.get(ORACLE)),
        }
    complete = [values for values in predicted.values() if not np.isnan(values).any()]
    told["disagreed"] = int(np.any([values != complete[0] for values in complete], axis=0).sum()) if complete else 0
    return told


def of_records(records, n):
    """Predictions by row; nan for folds that were not measured."""
    values = np.full(n, np.nan)
    for record in records:
        values[record["rows"]] = record["predictions"]
    return values


def unlike(values, others):
    """Number of rows that both predicted, but differently."""
    if others is not None:
        return int(np.sum((values != others) & np.isfinite(values) & np.isfinite(others)))


def seconds(found, name):
    """'~12.3 (4.5)'"""
    run, ratio = found.run(name), found.ratio(ORACLE, name)
    if run is None:
        return "-"
    return mark(run.last) + short(run.seconds) + (f" ({ratio:.1f})" if ratio and name != ORACLE else "")


def others(run):
    """{seeder: rounds} of seeders other than the requested one; the first round of a chain has no start."""
    requested = run.name.partition("-")[0]
    if not run.results or requested not in (*SEEDERS, "auto"):
        return {}
    counts = {**run.last["seeders"], requested: 0}
    if run.last["scheme"] == "chain":
        counts[EXACT] = counts.get(EXACT, 0) - 1
    return {name: count for name, count in counts.items() if count > 0}


JOBS = {"seeding": Seeding(), "loo": LeavingOneOut()}

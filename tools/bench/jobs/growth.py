"""Training times by number of rows: growing parts of a set, by libsvmx, LIBSVM, scikit-learn and oneDAL.

A slow peer skips the larger parts, so that everything takes minutes. ``--saved`` draws the results that ``--json``
has written, and measures nothing.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from tools.bench.cases import Case, Way
from tools.bench.jobs.trainings import excess, judged, trained
from tools.bench.measure import Unavailable
from tools.bench.protocol import TIMES, Found, Job, remarks, rows_of
from tools.bench.report import Table, short, text
from tools.bench.turns import Run
from tools.figures import growth
from tools.figures.figure import rounded

OURS, OURS_ON_ALL, ORACLE = "libsvmx", "libsvmx-all", "libsvm"
SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000)
GROWS = 4.0  # expected factor in time for twice the rows
CERTIFIED = 4000  # with more rows, the kernel matrix of a certificate takes longer than the trainings
WRONG = 1e-3  # relative excess over LIBSVM's objective


@dataclass(frozen=True)
class Part(Case):
    """The first rows of a set; ``--quick`` takes a sixteenth of them, so that times still grow."""

    def quick(self):
        return replace(self, rows=self.rows // 16)


WAYS = (
    Way(OURS),
    Way(OURS_ON_ALL, threads=0),
    Way(ORACLE, "libsvm"),
    Way("sklearn-dense", "sklearn", {"dense": True}),
    Way("sklearnex", "sklearn", {"library": "sklearnex"}, threads=0),
    Way("sklearnex-dense", "sklearn", {"library": "sklearnex", "dense": True}, threads=0),
)
TITLES = {
    "a9a": "a9a, C = 1, gamma = 0.05",
    "elec2": "elec2, C = 1, gamma = 1",
    "mnist": "mnist, even/odd, C = 10, gamma = 0.02",
}


def of_set(part, data, options, **change):
    """All parts of a set."""
    for n in SIZES:
        yield Part(f"{part}-{n}", data, f"{options} -m 100", rows=n, part=part, ways=WAYS, **change)


CASES = (
    *of_set("a9a", "a9a", "-c 1 -g 0.05"),
    *of_set("elec2", "elec2", "-c 1 -g 1", standard=True),
    *of_set("mnist", "mnist.scale", "-c 10 -g 0.02", parity=True),
)
COLUMNS = {
    **TIMES,
    "iterations": lambda found, run: f"{run.last['iterations']:,}",
    "SV": lambda found, run: f"{run.last['n_sv']:,}",
    "gap": lambda found, run: text(judged(found, run.name).get("gap"), ".1e"),
}


class Growth(Job):
    name = "growth"
    explained = """\
Wall seconds of the training alone, one process for each; data, and what a library loads on first use, are ready
before the clock starts. What takes over 0.1 s runs once. libsvmx-all and sklearnex (oneDAL) have all threads, the
others one."""
    parts: ClassVar = TITLES
    max_seconds_once = 0.1

    def __init__(self):
        self.too_slow = {}  # (part, name of a way): why it skips larger parts

    def options(self, parser):
        told = f"a way that would take longer, {GROWS:g} times as long for twice the rows, is not asked (40)"
        parser.add_argument("--most-seconds", type=float, default=40.0, metavar="X", help=told)
        parser.add_argument("--saved", type=Path, metavar="FILE", help="what --json has written; measure nothing")

    def every_case(self, options):
        return list(CASES)

    def run(self, case, options):
        if options.saved:
            return self.read(case, options.saved)
        asked = [way for way in case.ways if (case.part, way.name) not in self.too_slow]
        if not asked:
            raise Unavailable("no way is fast enough")
        found = trained(case, asked, options, clock="wall", certified=case.rows <= CERTIFIED)
        for run in found.runs:
            if run.results and run.seconds * GROWS > options.most_seconds:
                reason = f"not asked, {found.n_rows:,} rows took {short(run.seconds)} s"
                self.too_slow[case.part, run.name] = reason
        left = [way for way in case.ways if way not in asked]
        found.runs += [Run(way.name, None, cannot=self.too_slow[case.part, way.name]) for way in left]
        return found

    def read(self, case, path):
        """The results of a case in a file of --json. Raises Unavailable."""
        saved = json.loads(path.read_text(encoding="utf-8"))
        self.machine = saved["machine"]
        for raw in saved["results"]:
            if (raw["case"]["name"], raw["case"]["part"]) == (case.name, case.part):
                return Found.of_raw(raw, replace(case, rows=raw["case"]["rows"]))
        raise Unavailable(f"{case.name} is not in {path}")

    def table(self, found):
        return Table(found.title(), rows_of(found, COLUMNS), remarks(self, found))

    def tables(self, results):
        """Seconds of each solver, one line per number of rows."""
        names = list(dict.fromkeys(run.name for found in results for run in found.runs))
        rows = [("rows", *names)]
        for found in results:
            runs = [found.run(name) for name in names]
            rows.append((f"{found.n_rows:,}", *(short(run.seconds) if run else "" for run in runs)))
        return [Table("Seconds", rows)] if results else []

    def wrong(self, found):
        """Models of libsvmx that differ from LIBSVM's, and objectives above LIBSVM's."""
        hashes = {name: found.last(name).get("model_hash") for name in (OURS, OURS_ON_ALL, ORACLE)}
        lines = [
            f"{name}: its model is not LIBSVM's: DIFFER"
            for name in (OURS, OURS_ON_ALL)
            if hashes[name] and hashes[ORACLE] and hashes[name] != hashes[ORACLE]
        ]
        above = {run.name: excess(found, run.name, ORACLE) for run in found.runs}
        return lines + [f"NOT OPTIMAL: {name}" for name, more in above.items() if more is not None and more > WRONG]

    def draw(self, folder, results):
        (figure,) = growth.FIGURES
        numbers = {"sets": series(results), "measured": told_of(self.machine)}
        return f"figure: {figure.write(numbers, folder)}"


def series(results):
    """For each set and peer the numbers of rows, and the median seconds of its fastest variant."""
    sets = {}
    for found in results:
        best = {}
        for run in found.runs:
            if run.results:
                peer = run.name.removesuffix("-dense")
                best[peer] = min(best.get(peer, run.seconds), run.seconds)
        of_set = sets.setdefault(TITLES.get(found.case.part, found.case.part), {})
        for peer, seconds in best.items():
            of_peer = of_set.setdefault(peer, {"rows": [], "seconds": []})
            of_peer["rows"].append(found.n_rows)
            of_peer["seconds"].append(rounded(seconds, 4))
    return sets


def told_of(here):
    """The machine, its load at the start, and the versions, in two lines."""
    names = ("libsvmx", "libsvm-official", "scikit-learn", "scikit-learn-intelex")
    versions = ", ".join(f"{name} {here['packages'][name]}" for name in names if here["packages"][name])
    load = f", load {here['load'][0]:.1f}" if here["load"] else ""
    return f"{here['processor']}, {here['threads']} threads{load}\n{versions}"


JOBS = {"growth": Growth()}

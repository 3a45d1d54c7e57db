"""Rows that join and leave a trained state, beside cold starts.

Reproduces figures 4 to 6 of Karasuyama & Takeuchi, "Multiple incremental decremental learning of support vector
machines" (2009), and measures a sliding window over a stream and single rows of a large set. ways_to_update.py
explains the methods compared.
"""

import statistics
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from tools.bench import datasets, figures, generated
from tools.bench.cases import Case
from tools.bench.measure import measure
from tools.bench.protocol import Found, Job, remarks, rows_of
from tools.bench.report import MEGABYTE, Table, milliseconds, text
from tools.bench.turns import Run, take_turns

MID, SID, LIBSVM = "MID", "SID", "LIBSVM 1e-3"
TIGHT = ("LIBSVM 1e-6", "LIBSVM 1e-9")
COLD, SEEDED = "cold 1e-3", "seeded 1e-6"
WAYS = (MID, SID, LIBSVM, *TIGHT, COLD, SEEDED)
WRONG = 1e-6  # relative excess over another path's objective that means a missed optimum
WRONG_GAP = 1e-3  # the same for the KKT gap: LIBSVM's tolerance
STREAM = {
    "updates": lambda found, run: f"{run.last['updates']:,}",
    "path s": lambda found, run: f"{run.last['path']:.2f}",
    "ms each": lambda found, run: f"{1e3 * run.last['path'] / run.last['updates']:.2f}",
    "LIBSVM s": lambda found, run: f"{run.last['libsvm']:.2f}",
    "cold s": lambda found, run: f"{run.last['cold']:.2f}",
    "LIBSVM / path": lambda found, run: f"{run.last['libsvm'] / run.last['path']:.1f}",
    "cold / path": lambda found, run: f"{run.last['cold'] / run.last['path']:.2f}",
    "breakpoints each": lambda found, run: f"{run.last['breakpoints'] / run.last['updates']:.0f}",
    "errors %": lambda found, run: f"{100 * run.last['errors'] / run.last['predicted']:.2f}",
    "unlike LIBSVM": lambda found, run: f"{len(run.last['doubts'])} of {run.last['predicted']:,}",
    "alike at 1e-6": lambda found, run: str(sum((d["path"] > 0) == (d["tight"] > 0) for d in run.last["doubts"])),
}
SINGLE = {
    "add, ms": lambda found, run: milliseconds(statistics.median(run.last["add"])),
    "most": lambda found, run: milliseconds(max(run.last["add"])),
    "remove, ms": lambda found, run: milliseconds(statistics.median(run.last["remove"])),
    "with breakpoints": lambda found, run: f"{len(moving(run))} of {len(run.last['breakpoints'])}",
    "ms": lambda found, run: milliseconds(statistics.median([s for s, _ in moving(run)] or [0])),
    "breakpoints": lambda found, run: f"{statistics.median([b for _, b in moving(run)] or [0]):.0f}",
    "free": lambda found, run: f"{run.last['free']:,}",
    "state s": lambda found, run: f"{run.last['training']:.2f}",
    "cold s": lambda found, run: f"{run.last['cold']:.2f}",
    "LIBSVM s": lambda found, run: text(run.last["libsvm"], ".2f"),
    "data MB": lambda found, run: f"{run.last['data_bytes'] / MEGABYTE:,.0f}",
    "state MB": lambda found, run: f"{run.last['state_bytes'] / MEGABYTE:,.0f}",
    "peak MB": lambda found, run: f"{run.last['peak_bytes'] / MEGABYTE:,.0f}",
}


def moving(run):
    """(seconds, breakpoints) of updates with any breakpoints; the others change nothing: alpha = 0 before and after."""
    last = run.last
    return [(s, b) for s, b in zip(last["add"] + last["remove"], last["breakpoints"], strict=True) if b]


@dataclass(frozen=True)
class Update:
    """A case: rows that join or leave, ``counts`` at a time, for each pair of C and gamma in ``settings``.

    ``part`` : 'artificial', figures 4 and 5, see ways_to_update.artificial; the paper does not give its C and gamma.
    'window', figure 6. 'stream': a window of n slides over the first ``rows``. 'single': single rows
    """

    name: str
    part: str
    what: str
    counts: tuple[int, ...]
    n: int = 0
    settings: tuple[tuple[float, float], ...] = ((1.0, 1.0),)
    data: str = ""
    rows: int = 0
    scenario: str = ""

    def title(self):
        return f"{self.name}: {self.what}"

    def quick(self):
        """The same case, cut so that it takes seconds."""
        if self.part == "window":
            return replace(self, settings=tuple((C, gamma) for gamma in (0.01, 1.0) for C in (1.0, 1e3)))
        if self.part == "stream":
            return replace(self, rows=self.n + 20 * self.counts[0], settings=self.settings[:1])
        return replace(self, counts=self.counts[::3], rows=4000)


PLANE = "500 rows in the plane, one Gaussian against a mixture of two, C=1, gamma=1; m of those with alpha = C"
FISHER = "1,423 rows, columns scaled to [0, 1]; the next 30 join, the oldest leave"
ELEC = "a window of 2,000 rows, columns scaled to [0, 1]; 20 rows are predicted, join, and the oldest 20 leave"
ONE = "a window of 2,000 rows, columns scaled to [0, 1]; one row is predicted, joins, and the oldest leaves"
A9A = "20 rows join the others one by one, then leave one by one; C=1, gamma=0.05"
GRID = tuple((10.0**c, 10.0**g) for g in range(-3, 1) for c in range(-1, 6))
WINDOWED = ("elec2", "banana", "covtype-like")
LADDER = (1, 2, 5, 10, 20, 30, 40, 50)
CASES = (
    Update("artificial-add", "artificial", f"{PLANE} join", LADDER, 500, scenario="add"),
    Update("artificial-remove", "artificial", f"{PLANE} leave", LADDER, 500, scenario="remove"),
    Update("artificial-both", "artificial", f"{PLANE} join, m leave", (1, 2, 5, 10, 15, 20, 25), 500, scenario="both"),
    Update("fisher", "window", FISHER, (30,), 1423, GRID, "fisher"),
    Update("elec2", "stream", ELEC, (20,), 2000, ((1.0, 1.0), (100.0, 1.0)), "elec2", 10_000),
    *(Update(f"{name}-one", "stream", ONE, (1,), 2000, ((10.0, 1.0),), name, 2300) for name in WINDOWED),
    Update("a9a", "single", A9A, (20,), settings=((1.0, 0.05),), data="a9a"),
)


class Updating(Job):
    name = "updating"
    explained = """\
One thread; medians of CPU time until there is a model, data are in memory before. MID: all rows along one path;
SID: one by one; LIBSVM and cold (libsvmx): a cold start to the tolerance named; seeded: libsvmx's SMO from
the old optimum. theory: breakpoints of SID times ||d||_2 / ||d||_1, d the changes of alpha asked for."""
    parts: ClassVar = {
        "artificial": "Rows with alpha = C join and leave",
        "window": "A window moves on once",
        "stream": "A window slides over a stream",
        "single": "Single rows of a large set",
    }
    repeat, max_seconds_once, limit = 5, 20.0, 60.0

    def options(self, parser):
        parser.add_argument("--tight", action="store_true", help="fisher: LIBSVM at 1e-6 and 1e-9, too")
        parser.add_argument("--libsvm", action="store_true", help="a9a: LIBSVM's training, too")

    def every_case(self, options):
        return list(CASES)

    def run(self, case, options):
        found = Found(case)
        common = {"n": case.n, "rows": case.rows, "npz": "", "limit": None, "libsvm": options.libsvm}
        if case.data:
            whole = case.part != "single" and case.data not in generated.SETS
            cut = Case(case.name, case.data, rows=0 if whole else case.rows)
            common["npz"] = str(datasets.prepare(cut, options.data, options.cache))
        for C, gamma in case.settings:
            for count in case.counts:
                place = {"m": count} if case.part == "artificial" else {"gamma": gamma, "C": C}
                for job in children(case, {**common, "C": C, "gamma": gamma, "count": count}, options):
                    name = ", ".join([*job.get("ways", ()), *(f"{key}={value:g}" for key, value in place.items())])
                    about = {"place": place, "ways": job.get("ways", ())}
                    found.runs.append(Run(name, partial(measure, job, 1, options.timeout), about=about))
        take_turns(found.runs, 1, options.max_seconds_once)
        return found

    def table(self, found):
        notes, columns = remarks(self, found), {"stream": STREAM, "single": SINGLE}.get(found.case.part)
        if columns is None:
            points = points_of(found)
            return Table(found.title(), point_rows(points), notes + point_notes(points))
        for run in found.runs:
            for doubt in run.last.get("doubts", ()):
                notes.append(
                    f"{run.name}: LIBSVM predicts row {doubt['row'] + 1} as {doubt['libsvm']:+g}; decision value "
                    f"{doubt['path']:+.2e} of the path, {doubt['tight']:+.2e} of a training at 1e-6"
                )
        return Table(found.title(), rows_of(found, columns), notes)

    def wrong(self, found):
        """Paths that did not end at the optimum."""
        points = points_of(found)
        gaps = values(points, MID, "gap") + values(points, SID, "gap")
        gaps += [run.last["gap"] for run in found.runs if "gap" in run.last]
        told = ["NOT OPTIMAL: a path's KKT gap"] if any(gap > WRONG_GAP for gap in gaps) else []
        return told + [f"NOT OPTIMAL: MID beside {w}" for w in WAYS if min(excess(points, w), default=0) < -WRONG]

    def draw(self, folder, results):
        told = [(found, points) for found in results if (points := points_of(found))]
        return "\n".join(figures.updates(folder / f"{f.case.name}.png", f.title(), points) for f, points in told)


def children(case, job, options):
    """Child jobs at a place. LIBSVM and the seeded SMO, which take long for large C, run in their own
    processes with a time limit; the seeded SMO first makes a cold start to the same tolerance,
    before its clock starts."""
    if case.part in ("stream", "single"):
        return [{**job, "call": f"jobs.streams:{case.part}"}]
    job |= {"call": "jobs.ways_to_update:changes", "subject": case.part, "scenario": case.scenario}
    job |= {"repeat": options.repeat, "max_seconds_once": options.max_seconds_once}
    if case.part == "artificial":
        return [{**job, "ways": WAYS}]
    once = min(options.max_seconds_once, options.limit / (options.repeat + 1))
    stopped = {**job, "limit": options.limit, "max_seconds_once": once}
    alone = (SEEDED, LIBSVM, *(TIGHT if options.tight else ()))
    return [{**job, "ways": (MID, SID, COLD)}, *({**stopped, "ways": (way,)} for way in alone)]


@dataclass
class Point:
    """All runs at one place: one m, or one C and gamma."""

    place: dict
    runs: list = field(default_factory=list)
    expected: float | None = None  # breakpoints of MID / those of SID, by theory
    stopped: set = field(default_factory=set)

    def median(self, way, key="seconds"):
        found = values([self], way, key)
        return statistics.median(found) if found else None

    def ratio(self, way, other):
        """Median of one way as a multiple of another's."""
        a, b = self.median(way), self.median(other)
        return a / b if a is not None and b else None

    def theory(self):
        """Breakpoints of MID predicted from those of SID."""
        of_sid = self.median(SID, "breakpoints")
        return None if of_sid is None or self.expected is None else of_sid * self.expected


def points_of(found):
    points = []
    for run in found.runs if found.case.part in ("artificial", "window") else ():
        if not points or points[-1].place != run.about["place"]:
            points.append(Point(run.about["place"]))
        points[-1].runs += run.last.get("runs", ())
        points[-1].stopped |= set(run.about["ways"]) if run.cannot else set()
        points[-1].expected = run.last.get("ratio") or points[-1].expected
    return points


def values(points, way, key):
    return [run[key] for point in points for run in point.runs if run["way"] == way]


def excess(points, way):
    """Relative excess of a way's objectives over those of MID."""
    names = (MID, way)
    pairs = [zip(*(values([point], name, "objective") for name in names), strict=False) for point in points]
    return [(b - a) / abs(a) for pair in pairs for a, b in pair]


def point_rows(points):
    ways = [way for way in WAYS if any(p.median(way) is not None or way in p.stopped for p in points)]
    heading = (*points[0].place, *(f"{way}, ms" for way in ways), "free", "breakpoints", "of SID", "theory", "/ theory")
    rows = [(*heading, "SID / MID", "LIBSVM / MID")]
    for point in points:
        measured, theory = point.median(MID, "breakpoints"), point.theory()
        counts = (point.median(MID, "free"), measured, point.median(SID, "breakpoints"), theory)
        ratios = (measured / theory if measured and theory else None, point.ratio(SID, MID), point.ratio(LIBSVM, MID))
        times = ("stopped" if way in point.stopped else milliseconds(point.median(way)) for way in ways)
        rounded = (*(text(count, ".0f") for count in counts), *(text(ratio, ".2f") for ratio in ratios))
        rows.append((*(f"{value:g}" for value in point.place.values()), *times, *rounded))
    return rows


def point_notes(points):
    above = {way: excess(points, way) for way in WAYS if way != MID}
    gaps = {way: values(points, way, "gap") for way in WAYS}
    return [
        "objective, from the data, above that of MID, relatively: "
        + ", ".join(f"{way} {min(e):.0e} to {max(e):.0e}" for way, e in above.items() if e),
        "largest KKT gap, from the data: " + ", ".join(f"{way} {max(g):.0e}" for way, g in gaps.items() if g),
        f"{sum(values(points, MID, 'repairs') + values(points, SID, 'repairs'))} repairs of paths",
    ]


JOBS = {"updating": Updating()}

"""Rows that join and leave a trained state, beside trainings from nothing.

Rebuilds figures 4 to 6 of Karasuyama & Takeuchi, "Multiple incremental decremental learning of support vector machines"
(2009), and measures a window that slides over a stream and single rows of a large set. updaters.py says what is
compared.
"""

from __future__ import annotations

import signal
import statistics
import sys
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tools.bench import datasets, updateplot
from tools.bench.cases import Case
from tools.bench.measure import measure
from tools.bench.report import MEGABYTE, aligned
from tools.bench.seeding import pipes

if TYPE_CHECKING:
    from collections.abc import Iterator

Result = dict[str, Any]

MID, SID, LIBSVM = "MID", "SID", "LIBSVM 1e-3"
TIGHT = ("LIBSVM 1e-6", "LIBSVM 1e-9")
COLD, SEEDED = "cold 1e-3", "seeded 1e-6"
WAYS = (MID, SID, LIBSVM, *TIGHT, COLD, SEEDED)
SIGXCPU = getattr(signal, "SIGXCPU", 0)
MILLI = 1e3
WRONG = 1e-6  # a path whose objective is so much above another's, relatively, has missed the optimum
WRONG_GAP = 1e-3  # and so has one with this KKT gap, LIBSVM's tolerance


DOES = {"add": "join", "remove": "leave", "both": "join and m leave"}
STREAM_COLUMNS = (
    *("C", "gamma", "updates", "path s", "ms each", "LIBSVM s", "cold s", "LIBSVM / path", "cold / path"),
    *("breakpoints each", "errors %", "unlike LIBSVM", "unlike cold", "alike at 1e-6"),
)
SINGLE_COLUMNS = (
    *("add, ms", "min-max", "remove, ms", "min-max", "with breakpoints", "ms", "breakpoints", "free"),
    *("state s", "cold s", "LIBSVM s", "LIBSVM / add", "data MB", "state MB", "peak MB"),
)


# ---- what is measured --------------------------------------------------------------------------


@dataclass(frozen=True)
class Artificial:
    """Figures 4 and 5: ``count`` rows of ``ladder`` join n others ("add"), leave them ("remove"), or both.

    The paper does not say its C and gamma.
    """

    name: str
    scenario: str
    ladder: tuple[int, ...]
    n: int = 500
    C: float = 1.0
    gamma: float = 1.0
    repeat: int | None = None
    data: str = ""
    rows: int = 0

    def title(self) -> str:
        return (
            f"{self.name}: {self.n} rows in the plane, one Gaussian against a mixture of two, m of those with "
            f"alpha = C {DOES[self.scenario]}; C={self.C:g}, gamma={self.gamma:g}; medians over draws"
        )


@dataclass(frozen=True)
class Window:
    """Figure 6: the next ``count`` rows join, the oldest ``count`` of n leave."""

    name: str
    data: str
    n: int
    count: int
    costs: tuple[float, ...] = tuple(10.0**k for k in range(-1, 6))
    gammas: tuple[float, ...] = tuple(10.0**k for k in range(-3, 1))
    repeat: int | None = None
    rows: int = 0

    def title(self) -> str:
        return f"{self.name}: {self.n:,} rows, columns scaled to [0, 1]; the next {self.count} join, the oldest leave"


@dataclass(frozen=True)
class Stream:
    """A window that slides over the first ``rows`` rows; ``settings`` are pairs of C and gamma."""

    name: str
    data: str
    rows: int
    window: int
    step: int
    settings: tuple[tuple[float, float], ...] = ((1.0, 1.0), (100.0, 1.0))

    def title(self) -> str:
        return (
            f"{self.name}: a window of {self.window:,} rows over the first {self.rows:,}, columns scaled to [0, 1]; "
            f"{self.step} rows are predicted, join, and the oldest {self.step} leave"
        )


@dataclass(frozen=True)
class Single:
    """``count`` rows join all the others one by one, and leave again."""

    name: str
    data: str
    C: float
    gamma: float
    count: int
    rows: int = 0

    def title(self) -> str:
        return (
            f"{self.name}: {self.count} rows join the others one by one, then leave one by one; "
            f"C={self.C:g}, gamma={self.gamma:g}"
        )


CASES = (
    Artificial("artificial-add", "add", (1, 2, 5, 10, 20, 30, 40, 50)),
    Artificial("artificial-remove", "remove", (1, 2, 5, 10, 20, 30, 40, 50)),
    Artificial("artificial-both", "both", (1, 2, 5, 10, 15, 20, 25)),
    Window("fisher", "fisher", 1423, 30),
    Stream("elec2", "elec2", 10_000, 2000, 20),
    Single("a9a", "a9a", 1.0, 0.05, 20),
)


def quick(case: Any) -> Any:
    """The case in seconds."""
    if isinstance(case, Artificial):
        return replace(case, ladder=case.ladder[::3], repeat=3)
    if isinstance(case, Window):
        return replace(case, costs=(1.0, 1e3), gammas=(0.01, 1.0), repeat=2)
    if isinstance(case, Stream):
        return replace(case, rows=case.window + 20 * case.step, settings=case.settings[:1])
    return replace(case, rows=4000, count=5)


@dataclass
class Point:
    """All runs at one place of a case: of one ``count``, or of one C and gamma."""

    place: dict[str, float]
    runs: list[Result] = field(default_factory=list)
    expected: float | None = None  # breakpoints of MID / those of SID, in theory
    cannot: dict[str, str] = field(default_factory=dict)

    def median(self, way: str, key: str = "seconds") -> float | None:
        found = [run[key] for run in self.runs if run["way"] == way]
        return statistics.median(found) if found else None

    def ratio(self, way: str, other: str, key: str = "seconds") -> float | None:
        """One median as a multiple of another."""
        a, b = self.median(way, key), self.median(other, key)
        return a / b if a is not None and b else None

    def theory(self) -> float | None:
        """Breakpoints of MID as expected of those of SID."""
        of_sid = self.median(SID, "breakpoints")
        return None if of_sid is None or self.expected is None else of_sid * self.expected

    def add(self, told: Result, ways: tuple[str, ...]) -> None:
        if "cannot" in told:
            self.cannot |= dict.fromkeys(ways, told["cannot"])
            return
        self.runs += told["runs"]
        if told["ratio"] is not None:
            self.expected = told["ratio"]


@dataclass
class Found:
    """What came of a case: ``points`` of Artificial and Window, ``told`` for each setting of Stream and Single."""

    case: Any
    cannot: str = ""
    points: list[Point] = field(default_factory=list)
    told: list[Result] = field(default_factory=list)

    def raw(self) -> Result:
        return asdict(self)

    def measured(self) -> bool:
        return any(point.runs for point in self.points) or any("cannot" not in told for told in self.told)

    def excess(self, way: str) -> list[float]:
        """How far objectives of a way are above those of MID, relatively."""
        found = []
        for point in self.points:
            exact = [run["objective"] for run in point.runs if run["way"] == MID]
            others = [run["objective"] for run in point.runs if run["way"] == way]
            found += [(b - a) / abs(a) for a, b in zip(exact, others, strict=False)]
        return found

    def values(self, way: str, key: str) -> list[float]:
        return [run[key] for point in self.points for run in point.runs if run["way"] == way]

    def differs(self) -> bool:
        """Whether a path ended elsewhere than at the optimum."""
        gaps = [gap for way in (MID, SID) for gap in self.values(way, "gap")]
        gaps += [told["gap"] for told in self.told if "gap" in told]
        return any(gap > WRONG_GAP for gap in gaps) or any(min(self.excess(way), default=0) < -WRONG for way in WAYS)


# ---- how -----------------------------------------------------------------------------------------


def updating(options: Any) -> Iterator[list[Found]]:
    """Results so far, after each case."""
    results: list[Found] = []
    for case in CASES:
        if options.case and case.name not in options.case:
            continue
        results.append(run(quick(case) if options.quick else case, options))
        print("\n" + table(results[-1]), flush=True)
        if options.figures:
            print(updateplot.save(options.figures, results[-1]), flush=True)
        yield results


def run(case: Any, options: Any) -> Found:
    found, npz = Found(case), ""
    if case.data:
        source = datasets.find(options.data, case.data)
        if source is None:
            return Found(case, f"{case.data} is not in {options.data}")
        cut = case.rows if isinstance(case, Single) else 0
        npz = str(datasets.prepare(Case(case.name, case.data, rows=cut), source, options.cache))
    MEASURES[type(case)](case, npz, options, found)
    return found


def job_of(case: Any, options: Any, **what: Any) -> Result:
    repeat = getattr(case, "repeat", None) or options.repeat
    told = {"task": "update", "repeat": repeat, "max_seconds_once": options.max_seconds_once, "limit": None}
    return {**told, **what}


def limited(job: Result, options: Any) -> Result:
    """As ``measure``, of a process that is stopped after ``options.limit`` CPU seconds."""
    once = min(options.max_seconds_once, options.limit / (job["repeat"] + 1))
    told = measure({**job, "limit": options.limit, "max_seconds_once": once}, 1, options.timeout)
    stopped = told.get("cannot", "").startswith(f"exit code {-SIGXCPU}:")
    return {"cannot": f"not done after {options.limit:g} CPU seconds"} if stopped else told


def measure_artificial(case: Artificial, npz: str, options: Any, found: Found) -> None:
    told = {name: getattr(case, name) for name in ("scenario", "n", "C", "gamma")}
    for count in case.ladder:
        job = job_of(case, options, updater="changes", subject="artificial", count=count, ways=WAYS, **told)
        point = Point({"m": count})
        point.add(measure(job, 1, options.timeout), WAYS)
        found.points.append(point)


def measure_window(case: Window, npz: str, options: Any, found: Found) -> None:
    """LIBSVM and the seeded SMO, which take long where C is large, have processes of their own, which can be stopped;
    that of the seeded SMO trains, from nothing to the same tolerance, before its clock starts."""
    for gamma in case.gammas:
        for C in case.costs:
            job = job_of(case, options, updater="changes", subject="window", npz=npz, C=C, gamma=gamma)
            job |= {"n": case.n, "count": case.count}
            point = Point({"gamma": gamma, "C": C})
            ours = (MID, SID, COLD)
            point.add(measure({**job, "ways": ours}, 1, options.timeout), ours)
            for way in (SEEDED, LIBSVM, *(TIGHT if options.tight else ())):
                point.add(limited({**job, "ways": [way]}, options), (way,))
            found.points.append(point)
            print(".", end="", file=sys.stderr, flush=True)


def measure_stream(case: Stream, npz: str, options: Any, found: Found) -> None:
    for C, gamma in case.settings:
        job = {"task": "update", "updater": "slide", "npz": npz, "C": C, "gamma": gamma, "every": options.every}
        job |= {"rows": case.rows, "window": case.window, "step": case.step}
        found.told.append({"C": C, "gamma": gamma, **measure(job, 1, options.timeout)})


def measure_single(case: Single, npz: str, options: Any, found: Found) -> None:
    job = {"task": "update", "updater": "single", "npz": npz, "C": case.C, "gamma": case.gamma, "count": case.count}
    found.told.append(measure({**job, "libsvm": options.libsvm}, 1, options.timeout))


MEASURES = {
    Artificial: measure_artificial,
    Window: measure_window,
    Stream: measure_stream,
    Single: measure_single,
}


# ---- tables ------------------------------------------------------------------------------------


def table(found: Found) -> str:
    if found.cannot:
        return f"{found.case.title()}\n  NOT RUN: {found.cannot}"
    rows = rows_of(found)
    return "\n".join([found.case.title(), *(aligned(rows) if rows else ()), *("  " + line for line in remarks(found))])


def markdown(results: list[Found]) -> str:
    lines = []
    for found in results:
        lines += [f"### {found.case.title()}", ""]
        notes = [f"not run: {found.cannot}"] if found.cannot else remarks(found)
        rows = rows_of(found)
        lines += [*pipes(rows), "", *(f"- {note}" for note in notes), ""] if rows else [*notes, ""]
    return "\n".join(lines)


def rows_of(found: Found) -> list[tuple[str, ...]]:
    """The table, its heading first; empty if there is nothing to show."""
    if found.points:
        return point_rows(found)
    kind = stream_rows if isinstance(found.case, Stream) else single_rows
    told = [t for t in found.told if "cannot" not in t]
    return kind(told) if told else []


def point_rows(found: Found) -> list[tuple[str, ...]]:
    ways = [way for way in WAYS if any(p.median(way) is not None or way in p.cannot for p in found.points)]
    places = list(found.points[0].place)
    heading = (*places, *(f"{way}, ms" for way in ways), "free", "breakpoints", "of SID", "theory", "/ theory")
    rows = [(*heading, "SID / MID", "LIBSVM / MID")]
    for point in found.points:
        measured, theory = point.median(MID, "breakpoints"), point.theory()
        rows.append(
            (
                *(f"{point.place[name]:g}" for name in places),
                *(milliseconds(point.median(way), point.cannot.get(way)) for way in ways),
                text(point.median(MID, "free"), ".0f"),
                text(measured, ".0f"),
                text(point.median(SID, "breakpoints"), ".0f"),
                text(theory, ".0f"),
                text(measured / theory if measured is not None and theory else None, ".2f"),
                text(point.ratio(SID, MID), ".2f"),
                text(point.ratio(LIBSVM, MID), ".2f"),
            )
        )
    return rows


def stream_rows(told: list[Result]) -> list[tuple[str, ...]]:
    """Seconds of all updates; ~ is extrapolated from the windows trained on."""
    rows = [STREAM_COLUMNS]
    for t in told:
        whole, about = t["updates"] / t["trained"], "~" if t["trained"] < t["updates"] else ""
        rows.append(
            (
                f"{t['C']:g}",
                f"{t['gamma']:g}",
                f"{t['updates']:,}",
                f"{t['path']:.2f}",
                f"{MILLI * t['path'] / t['updates']:.2f}",
                f"{about}{t['libsvm'] * whole:.2f}",
                f"{about}{t['cold'] * whole:.2f}",
                f"{t['libsvm'] / t['path_there']:.1f}",
                f"{t['cold'] / t['path_there']:.2f}",
                f"{t['breakpoints'] / t['updates']:.0f}",
                f"{100 * t['errors'] / t['predicted']:.2f}",
                f"{t['unlike']:,} of {t['asked']:,}",
                f"{t['unlike_cold']:,}",
                f"{t['alike_tight']:,} of {t['unlike']:,}",
            )
        )
    return rows


def single_rows(told: list[Result]) -> list[tuple[str, ...]]:
    rows = [SINGLE_COLUMNS]
    for t in told:
        # the others change nothing: alpha = 0 before and after
        moving = [(s, b) for s, b in zip(t["add"] + t["remove"], t["breakpoints"], strict=True) if b]
        add, remove = statistics.median(t["add"]), statistics.median(t["remove"])
        rows.append(
            (
                *(milliseconds(add), "-".join(milliseconds(f(t["add"])) for f in (min, max))),
                *(milliseconds(remove), "-".join(milliseconds(f(t["remove"])) for f in (min, max))),
                f"{len(moving)} of {len(t['breakpoints'])}",
                milliseconds(statistics.median([s for s, _ in moving]) if moving else None),
                f"{statistics.median([b for _, b in moving] or [0]):.0f}",
                f"{t['free']:,}",
                f"{t['training']:.2f}",
                f"{t['cold']:.2f}",
                text(t["libsvm"], ".2f"),
                text(t["libsvm"] / add if t["libsvm"] else None, ",.0f"),
                *(f"{t[name] / MEGABYTE:,.0f}" for name in ("data_bytes", "state_bytes", "peak_bytes")),
            )
        )
    return rows


def remarks(found: Found) -> list[str]:
    lines = [f"NOT RUN: {told['cannot']}" for told in found.told if "cannot" in told]
    if found.points:
        excess = {way: found.excess(way) for way in WAYS if way != MID}
        parts = [f"{way} {min(e):.0e} to {max(e):.0e}" for way, e in excess.items() if e]
        lines.append("objective, from the data, above that of MID, relatively: " + ", ".join(parts))
        gaps = {way: found.values(way, "gap") for way in WAYS}
        lines.append(
            "largest KKT gap, from the data: " + ", ".join(f"{way} {max(g):.0e}" for way, g in gaps.items() if g)
        )
        repairs = sum(found.values(MID, "repairs") + found.values(SID, "repairs"))
        lines.append(f"{repairs} repairs of paths")
        reasons: dict[str, list[str]] = {}
        for point in found.points:
            for way, reason in point.cannot.items():
                reasons.setdefault(f"{way}: NOT RUN: {reason}", []).append(place(point))
        lines += [f"{reason} ({'; '.join(places)})" for reason, places in reasons.items()]
    for told in found.told:
        for doubt in told.get("doubts", ()):
            lines.append(
                f"C={told['C']:g}: LIBSVM predicts row {doubt['row'] + 1} as {doubt['libsvm']:+g}; decision value "
                f"{doubt['path']:+.2e} of the path, {doubt['tight']:+.2e} of a training at 1e-6"
            )
    return lines


def place(point: Point) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in point.place.items())


def milliseconds(seconds: float | None, cannot: str | None = None) -> str:
    """Three digits."""
    if seconds is None:
        return "stopped" if cannot else ""
    value = seconds * MILLI
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def text(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)

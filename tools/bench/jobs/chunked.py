"""Chunked decomposition beside the exact solver and LIBSVM.

Table 3 is that of Perez-Cruz, Alarcon-Diana, Navia-Vazquez & Artes-Rodriguez, "Fast training of support vector
classifiers" (NIPS 2000). Its kernel exp(-|x - z|^2 / (2 sigma^2)) is ours with gamma = 1 / (2 sigma^2).
"""

from dataclasses import replace
from typing import ClassVar

from tools.bench.cases import Case, Way
from tools.bench.jobs.trainings import excess, judged, trained
from tools.bench.peers import CONVERGED
from tools.bench.protocol import TIMES, Job, remarks, rows_of
from tools.bench.report import Table, text

EPS = 1e-3  # the tolerance of every training
WRONG_GAP = 1.1  # times eps, or times the exact solver's gap if rounding of its rows has left more
WRONG = 1e-5  # allowed excess over the exact solver's objective, relative
QUICK_SET = 60  # variables in a working set, so that there are several sets


def chunks(name, solver="chunked", working_set=0, rule="random", kept=0.0, threads=1):
    """A chunked solver; 0: it chooses the size."""
    settings = {"solver": solver, "working_set": working_set, "working_set_rule": rule, "keep_share": kept}
    return Way(name, settings=settings, threads=threads)


def trial(name, data, C, gamma, ways, part, **more):
    return Case(name, data, f"-s 0 -t 2 -c {C!r} -g {gamma!r}", ways=ways, part=part, **more)


def width(sigma):
    """gamma for a kernel of width sigma."""
    return 1 / (2 * sigma**2)


SMO, LIBSVM = Way("smo"), Way("LIBSVM", "libsvm")
CHUNKED, IRWLS = chunks("chunked"), chunks("irwls", "irwls")
USUAL = (IRWLS, CHUNKED, SMO, LIBSVM)


def paper(name, data, C, sigma, q, n_sv, note="", **change):
    """A row of Table 3: at the paper's size q of working sets, and at ours."""
    ways = tuple(chunks(f"{solver}, paper's q", solver, q) for solver in ("irwls", "chunked"))
    return trial(name, data, C, width(sigma), (*ways, *USUAL), "table3", paper_sv=f"{n_sv:,}", note=note, **change)


PART_OF_WEB = "every 20th row of w8a, which is sorted, stands for Platt's Web1"
ALIKE = "generated, a look-alike of Raetsch's"
PAPER = (
    paper("adult6", "a6a", 1.0, 10, 150, 4477),
    paper("adult9", "a9a", 1.0, 10, 130, 12181),
    paper("adult1", "a1a", 1000.0, 10, 100, 630),
    paper("web1", "w8a", 5.0, 10, 100, 224, PART_OF_WEB, rows=2477, every=20),
    paper("web7", "w7a", 5.0, 10, 150, 1444),
    paper("gauss-m-c1", "gauss-m", 1.0, 1, 70, 1736, "generated", rows=4000),
    paper("gauss-m-c100", "gauss-m", 100.0, 1, 100, 1516, "generated", rows=4000),
    paper("banana-400", "banana", 316.2, 1, 40, 80, ALIKE, rows=400),
    paper("banana-4900", "banana", 316.2, 1, 70, 1084, ALIKE, rows=4900),
    paper("diabetes", "diabetes", 10.0, 2, 40, 409, "columns of mean 0 and deviation 1, as Raetsch's", standard=True),
    paper("splice", "splice.t", 1000.0, 70, 150, 525),
)
CHOICES = tuple(
    chunks(rule + ", kept" * bool(kept), rule=rule, kept=kept)
    for rule in ("random", "largest", "mixed")
    for kept in (0.0, 0.5)
)
RULES = (
    trial("gauss-m-c100", "gauss-m", 100.0, width(1), (*CHOICES, SMO), "rules", rows=4000),
    trial("banana-4900", "banana", 316.2, width(1), (*CHOICES, SMO), "rules", rows=4900),
    trial("a1a-c1000", "a1a", 1000.0, width(10), (*CHOICES, SMO), "rules"),
    trial("splice-c1000", "splice.t", 1000.0, width(70), (*CHOICES, SMO), "rules"),
)
TARGETS = (
    trial("a9a-c100", "a9a", 100.0, 0.05, USUAL, "targets"),
    trial("gauss-m-c100", "gauss-m", 100.0, width(1), USUAL, "targets", rows=4000),
    trial("splice-c1000", "splice.t", 1000.0, width(70), USUAL, "targets"),
    trial("skin-like", "skin-like", 100.0, 10.0, USUAL, "targets", rows=60_000),
    trial("covtype-like", "covtype-like", 100.0, 0.5, USUAL, "targets", rows=40_000),
    trial("elec2-c1000", "elec2", 1e3, 0.1, USUAL, "targets", rows=3000, standard=True),
    trial("elec2-c10000", "elec2", 1e4, 0.1, USUAL, "targets", rows=3000, standard=True),
    trial("elec2-c100000", "elec2", 1e5, 0.1, USUAL, "targets", rows=3000, standard=True),
    trial("svmguide1-c1000000", "svmguide1", 1e6, 1.0, USUAL, "targets", rows=3000, standard=True),
)
STRESS = (trial("a9a-c10000", "a9a", 1e4, 0.05, (CHUNKED, SMO, LIBSVM), "stress"),)
COLUMNS = {
    "q": lambda found, run: str(run.about["settings"].get("working_set", "")),
    **TIMES,
    "subproblems": lambda found, run: text(run.last["counts"].get("subproblems"), ","),
    "iterations": lambda found, run: f"{run.last['iterations']:,}",
    "SV": lambda found, run: f"{judged(found, run.name)['n_sv']:,}",
    "bounded": lambda found, run: f"{judged(found, run.name)['n_bounded']:,}",
    "gap": lambda found, run: f"{judged(found, run.name)['gap']:.2e}",
    "above smo": lambda found, run: text(excess(found, run.name, SMO.name), ".1e"),
    "status": lambda found, run: run.last["status"],
}


class Chunked(Job):
    name = "chunked"
    explained = """\
Medians of CPU time of the training alone, one thread, one process for each. chunked: working sets
by pair steps, irwls: by iterated least squares, smo: the exact solver; q: the size of working sets. Gap, objective and
support vectors are computed from data and coefficients; above smo: the objective, relatively. > S: not done by then."""
    parts: ClassVar = {
        "table3": "Table 3: the paper's problems",
        "rules": "Rules of choosing working sets (kept: half of one stays for the next)",
        "targets": "Large C, one thread",
        "stress": "C = 10^4",
    }
    limit, megabytes = 600.0, 100.0

    def options(self, parser):
        parser.add_argument("--working-set", type=int, default=0, metavar="Q", help="its size, wherever there is one")

    def every_case(self, options):
        return [*PAPER, *RULES, *TARGETS, *STRESS]

    def run(self, case, options):
        size = min(options.working_set or QUICK_SET, QUICK_SET) if options.quick else options.working_set
        ways = [sized(way, size) for way in case.ways]
        return trained(case, ways, options)

    def table(self, found):
        return Table(found.title(), rows_of(found, COLUMNS), remarks(self, found))

    def tables(self, results):
        """One line per case with the median of every solver."""
        ways = list(dict.fromkeys(way.name for found in results for way in found.case.ways))
        rows = [("", "n", "options", "SV", "in the paper", "bounded", *ways)]
        for found in results:
            best = next((judged(found, run.name) for run in reversed(found.runs) if run.results), {})
            sizes = (best.get("n_sv", ""), found.case.paper_sv, best.get("n_bounded", ""))
            cells = (cell(found, way) for way in ways)
            rows.append((found.case.name, str(found.n_rows), found.case.options, *map(str, sizes), *cells))
        return [Table("Seconds (subproblems)", rows)]

    def wrong(self, found):
        """Chunked solvers that report convergence but are not at the optimum."""
        exact = judged(found, SMO.name).get("gap", 0.0)
        return [
            f"NOT OPTIMAL: {run.name}"
            for run in found.runs
            if run.last.get("status") == CONVERGED
            and "solver" in run.about["settings"]
            and (
                judged(found, run.name)["gap"] > WRONG_GAP * max(EPS, exact)
                or (excess(found, run.name, SMO.name) or 0) > WRONG
            )
        ]


def sized(way, working_set):
    """The same with another working set size, if it has one."""
    if not working_set or "solver" not in way.settings:
        return way
    return replace(way, settings={**way.settings, "working_set": working_set})


def cell(found, way):
    """Seconds, and the number of subproblems; '> 60': not finished after 60 s."""
    run = next((run for run in found.runs if run.name == way), None)
    if run is None:
        return ""
    if run.seconds is None:
        return f"> {run.cannot.split()[3]}" if run.cannot.startswith("not done after") else "-"
    count = run.last["counts"].get("subproblems")
    return f"{run.seconds:.3g}" + (f" ({count})" if count else "")


JOBS = {"chunked": Chunked()}

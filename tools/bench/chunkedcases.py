"""What ``python -m tools.bench chunked`` trains, as data: parts, their cases, and the solvers of each.

Tables 2 and 3 are those of Perez-Cruz, Alarcon-Diana, Navia-Vazquez & Artes-Rodriguez, "Fast training of support vector
classifiers" (NIPS 2000). Its kernel exp(-|x - z|^2 / (2 sigma^2)) is ours with gamma = 1 / (2 sigma^2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tools.bench.cases import Case
from tools.bench.generated import SETS

QUICK_ROWS = 200
QUICK_SET = 60  # variables of a working set, so that there is more than one of them


@dataclass(frozen=True)
class Way:
    """A solver and its settings.

    Attributes
    ----------
    name : str           in the tables
    solver : str         'smo', 'chunked', 'irwls': of libsvmx; 'libsvm', 'sklearnex'
    working_set, rule, kept : int, str, float      as of libsvmx's Parameter; 0: it chooses
    threads : int        0 for all
    dense : bool         storage, of sklearnex
    """

    name: str
    solver: str
    working_set: int = 0
    rule: str = "random"
    kept: float = 0.0
    threads: int = 1
    dense: bool = False


SMO, LIBSVM = Way("smo", "smo"), Way("LIBSVM", "libsvm")
CHUNKED, IRWLS = Way("chunked", "chunked"), Way("irwls", "irwls")
USUAL = (IRWLS, CHUNKED, SMO, LIBSVM)


@dataclass(frozen=True)
class Trial:
    """A case and the ways that are compared on it; ``paper_sv``: support vectors that the paper found, 0: none told."""

    case: Case
    C: float
    gamma: float
    ways: tuple[Way, ...]
    paper_sv: int = 0
    note: str = ""
    large: bool = False

    @property
    def generated(self):
        return self.case.data in SETS

    def options(self, megabytes):
        return f"-s 0 -t 2 -c {self.C!r} -g {self.gamma!r} -m {megabytes:g}"


@dataclass(frozen=True)
class Part:
    """``grid``: shown as a table of the fastest over C."""

    name: str
    title: str
    trials: tuple[Trial, ...]
    grid: bool = False


def width(sigma):
    """gamma of a kernel's width."""
    return 1 / (2 * sigma**2)


def generated(name, data, rows):
    return Case(name, data, rows=rows)


# ---- Tables 2 and 3 ----------------------------------------------------------------------------


def engines(*sizes):
    """Both engines at equal selection: the largest violations, as SVM-light's in the paper."""
    return tuple(
        Way(f"{solver}, q={q}", solver, working_set=q, rule="largest") for q in sizes for solver in ("chunked", "irwls")
    )


def paper(name, data, C, sigma, q, n_sv, note="", **change):
    """A row of Table 3: at the paper's size q of working sets, and at ours."""
    ways = tuple(Way(f"{solver}, paper's q", solver, working_set=q) for solver in ("irwls", "chunked"))
    return Trial(Case(name, data, **change), C, width(sigma), (*ways, *USUAL), n_sv, note)


PAPER_2 = (
    Trial(Case("adult4", "a4a"), 1.0, width(10), (*engines(20, 40, 70), SMO, LIBSVM)),
    Trial(Case("splice", "splice.t"), 1000.0, width(70), (*engines(20, 40, 70), SMO, LIBSVM)),
)
PART_OF_WEB = "every 20th row of w8a, which is sorted, stands for Platt's Web1"
ALIKE = "generated, a look-alike of Raetsch's"
PAPER_3 = (
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

# ---- working sets ------------------------------------------------------------------------------

CHOICES = (
    *(
        Way(f"{rule}{', kept' if kept else ''}", "chunked", rule=rule, kept=kept)
        for rule in ("random", "largest", "mixed")
        for kept in (0.0, 0.5)
    ),
    SMO,
)
GAUSS = generated("gauss-m-c100", "gauss-m", 4000)
RULES = (
    Trial(GAUSS, 100.0, width(1), CHOICES),
    Trial(generated("banana-4900", "banana", 4900), 316.2, width(1), CHOICES),
    Trial(Case("a1a-c1000", "a1a"), 1000.0, width(10), CHOICES),
    Trial(Case("splice-c1000", "splice.t"), 1000.0, width(70), CHOICES),
    Trial(Case("a9a-c100", "a9a"), 100.0, 0.05, CHOICES, large=True),
)

# ---- targets -----------------------------------------------------------------------------------

TARGETS = (
    Trial(Case("a9a-c100", "a9a"), 100.0, 0.05, USUAL),
    Trial(GAUSS, 100.0, width(1), USUAL),
    Trial(Case("splice-c1000", "splice.t"), 1000.0, width(70), USUAL),
    Trial(generated("skin-like", "skin-like", 60_000), 100.0, 10.0, USUAL),
    Trial(generated("covtype-like", "covtype-like", 40_000), 100.0, 0.5, USUAL),
)
TOGETHER = (
    *(replace(way, threads=0) for way in (IRWLS, CHUNKED, SMO)),
    Way("sklearnex, CSR", "sklearnex", threads=0),
    Way("sklearnex, dense", "sklearnex", threads=0, dense=True),
)
THREADS = (
    Trial(Case("a9a-c100-g0.5", "a9a"), 100.0, 0.5, TOGETHER),
    Trial(Case("mnist-parity", "mnist.scale", rows=10_000, parity=True), 10.0, 0.02, TOGETHER),
)
STRESS = (Trial(Case("a9a-c10000", "a9a"), 1e4, 0.05, (CHUNKED, LIBSVM)),)

# ---- the map -----------------------------------------------------------------------------------

COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0, 1e4)
SIZES = (500, 2000, 8000, 32_000)
KINDS = (
    ("dense", "dense", {}),  # 20 columns
    ("sparse", "a9a", {"factor": 0.9}),  # no longer 0/1 data, otherwise the same
    ("0/1", "a9a", {}),
)


def places(sizes, costs):
    """Every place of the map, small ones first."""
    return tuple(
        Trial(Case(f"{kind}-{n}-c{C:g}", data, rows=n, **change), C, 0.05, USUAL)
        for kind, data, change in KINDS
        for n in sizes
        for C in costs
    )


PARTS = (
    Part("table2", "Table 2: two engines at equal selection, by size q of the working sets", PAPER_2),
    Part("table3", "Table 3: the paper's problems", PAPER_3),
    Part("rules", "Rules of choosing working sets (kept: half of one stays for the next)", RULES),
    Part("targets", "Large C, one thread", TARGETS),
    Part("threads", "All threads, seconds on the clock", THREADS),
    Part("stress", "C = 10^4", STRESS),
    Part("map", "The fastest by rows, C and data; gamma = 0.05", places(SIZES, COSTS), grid=True),
)


def quick(part):
    """The part in seconds."""
    if part.grid:
        return replace(part, trials=tuple(quick_trial(t) for t in places((100, QUICK_ROWS), (1.0, 100.0))))
    return replace(part, trials=tuple(quick_trial(trial) for trial in part.trials))


def quick_trial(trial):
    rows = min(trial.case.rows or QUICK_ROWS, QUICK_ROWS)
    ways = tuple(sized(way, min(way.working_set or QUICK_SET, QUICK_SET)) for way in trial.ways)
    return replace(trial, case=replace(trial.case, rows=rows), ways=ways)


def sized(way, working_set):
    """The way with working sets of another size, if it has any."""
    return replace(way, working_set=working_set) if way.solver in ("chunked", "irwls") else way

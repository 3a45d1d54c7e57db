"""The parts of every job: cases, runs, tables. ``__main__`` does the rest."""

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from tools.bench.report import times_range
from tools.bench.turns import Run, extrapolation, mark, refusals


@dataclass
class Found:
    """The results of a case: its runs, and in ``told`` values derived by the job; or why nothing could be run."""

    case: Any
    cannot: str = ""
    n_rows: int = 0
    n_columns: int = 0
    note: str = ""
    runs: list = field(default_factory=list)
    told: dict = field(default_factory=dict)

    def run(self, name):
        """The run of that name, if it was measured."""
        return next((run for run in self.runs if run.name == name and run.results), None)

    def last(self, name):
        """The last result of a run, {} without one."""
        run = self.run(name)
        return run.last if run else {}

    def ratio(self, name, other):
        """Time of one run as a multiple of another's."""
        a, b = self.run(name), self.run(other)
        return a.seconds / b.seconds if a and b and b.seconds else None

    def measured(self):
        return any(run.results for run in self.runs)

    def title(self):
        size = f" ({self.n_rows:,} x {self.n_columns:,})" if self.n_rows else ""
        return self.case.title() + size + (f"; {self.note}" if self.note else "")

    def raw(self):
        """Everything, for JSON."""
        kept = {name: getattr(self, name) for name in ("cannot", "n_rows", "n_columns", "note", "told")}
        return {"case": asdict(self.case), **kept, "runs": [run.raw() for run in self.runs]}

    @classmethod
    def of_raw(cls, raw, case):
        """From the output of ``raw`` for that case."""
        runs = [Run(run["name"], None, run["results"], run["cannot"], run["about"]) for run in raw["runs"]]
        return cls(case, **{name: raw[name] for name in ("cannot", "n_rows", "n_columns", "note", "told")}, runs=runs)


class Job:
    """A job of the benchmarks.

    Attributes
    ----------
    name, explained : str        on the command line; description of the numbers, printed above the tables
    parts : dict                 titles of parts, by name; {} for a single unnamed part
    usual : tuple                parts run by default; () for all
    repeat : int                 runs of each kind
    max_seconds_once : float     a slower run is not repeated
    limit, megabytes, seconds : float or None       defaults of these options, if a job has them: seconds of a single
        process, megabytes of kernel rows, seconds for LIBSVM in each case
    machine : dict               from machine.description
    """

    name = explained = ""
    parts: ClassVar[dict[str, str]] = {}
    usual = ()
    repeat, max_seconds_once = 3, 120.0
    limit = megabytes = seconds = None
    machine: ClassVar[dict] = {}

    def options(self, parser):
        """Adds options of this job only."""

    def every_case(self, options):
        """All cases, in order of their parts; each has name, part, title() and quick()."""
        raise NotImplementedError

    def cases(self, options):
        """The cases selected by the options."""
        parts = options.part or (self.parts if options.case else self.usual or self.parts)
        chosen = [case for case in self.every_case(options) if case.part in parts or not self.parts]
        chosen = [case for case in chosen if not options.case or case.name in options.case]
        return [case.quick() for case in chosen] if options.quick else chosen

    def run(self, case, options):
        """Measures a case and returns its Found. Raises Unavailable."""
        raise NotImplementedError

    def table(self, found):
        """For one case."""
        raise NotImplementedError

    def tables(self, results):
        """For a part, all its cases in one table."""
        return []

    def wrong(self, found):
        """Errors found, in words: exit code 1."""
        return []

    def draw(self, folder, results):
        """Figures; returns a message for the user."""
        return f"no figures of {self.name}"


def remarks(job, found, parts=""):
    """Extrapolations, refusals and errors, for the notes of a table."""
    return [*extrapolation(found.runs, parts), *refusals(found.runs), *job.wrong(found)]


# columns of a table: functions of Found and of a measured run
TIMES = {
    "median s": lambda found, run: f"{mark(run.last)}{run.seconds:.3f}",
    "min-max": lambda found, run: times_range(run.times),
}


def rows_of(found, columns):
    """A heading, and a line for each run."""
    runs = [run for run in found.runs if run.results]
    return [("", *columns), *((run.name, *(cell(found, run) for cell in columns.values())) for run in runs)]

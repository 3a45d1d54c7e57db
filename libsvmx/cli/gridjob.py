"""The command line of svmx-grid: grid.py's options, and svmx-train's for the training at every point."""

from __future__ import annotations

import os

from libsvmx._core.buffers import zeros
from libsvmx._core.packages import available, need
from libsvmx._core.records import field, record
from libsvmx._train.gamma import default_gamma
from libsvmx._train.validation.grid import C_AXIS, G_AXIS, Grid, exponents
from libsvmx._train.validation.grid_search import Plan, usual_seeding
from libsvmx._train.validation.scheme import Seeding
from libsvmx._typing import Buffer
from libsvmx.cli import gridplot
from libsvmx.cli.options import UsageError, check_outputs, count, keep_apart, parse, real, setter
from libsvmx.cli.process import warn
from libsvmx.cli.train import Job as TrainJob
from libsvmx.cli.train import grammar
from libsvmx.exceptions import ParameterError
from libsvmx.io.files import STANDARD_INPUT

NO_TARGETS = zeros("d", 0)  # before the data are read

USAGE = """\
usage: svmx-grid [options] [svmx-train options] dataset

Cross-validates a LIBSVM data file (plain, .gz, .xz, .bz2, or - for standard input) at every point of
a grid of C and gamma and prints the best C, gamma and rate: the highest accuracy, or for regression
the smallest mean squared error, of quantiles the smallest pinball loss.

options, grid.py's:
  -log2c begin,end,step | null   exponents of C (-5,15,2); null leaves C to -c
  -log2g begin,end,step | null   exponents of gamma (3,-15,-2), or of a factor of all gammas where -g has one for each
                                 feature; null leaves gamma to -g
  -v n                           n-fold cross-validation (5)
  -out FILE | null               results, one line for each point (dataset.out)
  -resume [FILE]                 go on from a results file, by default from dataset.out
  -png FILE | null               picture, needs matplotlib (dataset.png where matplotlib is installed)
  -svmtrain FILE, -gnuplot FILE  ignored; -gnuplot null is -png null

options, svmx-train's, for the training at every point: see svmx-train --help

more:
  --csv FILE, --json FILE  table of all points
  --time-limit SECONDS     end the search after that time: finished points stay, -resume goes on
  --workers N              processes that share the points, needs joblib
  --dask ADDRESS           share the points among the workers of a Dask scheduler
  --seeder METHOD          as in svmx-train, and points start from the result for the next smaller C (auto);
                           none follows LIBSVM's path, with exactly the rates of svm-train; so does auto with
                           several classes, up to 1,000 rows or -b 1
  --report FILE            write a report of results and times, as JSON
  --help, --version

As an output file, - is standard output; points and result then go to standard error.
"""

VALUED = ("-log2c", "-log2g", "-v", "-svmtrain", "-gnuplot", "-out", "-png")
NULL = "null"


@record()
class Job(TrainJob):
    """The command line, in addition to a training's options."""

    c_axis: tuple[float, float, float] | None = field(default_factory=lambda: C_AXIS)
    g_axis: tuple[float, float, float] | None = field(default_factory=lambda: G_AXIS)
    out: str | None = None
    png: str | None = None
    png_asked: bool = False
    resume: str | None = None
    csv: str | None = None
    json: str | None = None
    workers: int = 1
    dask: str | None = None
    seeding: Seeding = field(default_factory=lambda: Seeding("auto"))
    dataset: str = ""
    ignored: list[str] = field(default_factory=list)
    command: str = "svmx-grid"
    resume_option: str = "-resume"

    @property
    def title(self) -> str:
        """Name of the data set, the base of grid.py's file names."""
        return "stdin" if self.dataset == STANDARD_INPUT else os.path.basename(self.dataset)

    @property
    def kind(self) -> tuple[tuple[bool, bool], bool]:
        """Whether C and gamma are searched, and whether rates are errors."""
        return (self.c_axis is not None, self.g_axis is not None), self.parameter().svm_type.is_regression

    @property
    def outputs(self) -> list[str]:
        """The output files."""
        return [name for name in (self.out, self.png, self.csv, self.json) if name is not None]

    @property
    def going_on(self) -> str:
        """The option that resumes from the results file."""
        return self.resume_option if self.out == f"{self.title}.out" else f"{self.resume_option} {self.out}"

    def plan(self, max_index: int, targets: Buffer = NO_TARGETS) -> Plan:
        """The search for data with this largest index and these targets. Raises UsageError for contradictory
        options."""
        for axis, name, option in ((self.c_axis, "C", "-log2c"), (self.g_axis, "gamma", "-log2g")):
            if axis is not None and name in self.values and not isinstance(self.values[name], tuple):
                raise UsageError(f"-{name[0].lower()} cannot be combined with {option}; {option} null fixes {name}")
        try:
            axes = (None if axis is None else exponents(*axis) for axis in (self.c_axis, self.g_axis))
            grid = Grid(*axes)
            param = default_gamma(self.parameter(), max_index)
            return Plan(param, grid, self.folds or 5, usual_seeding(self.seeding, param, targets))
        except ParameterError as error:
            raise UsageError(str(error)) from None


def axis(option: str, text: str) -> tuple[float, float, float] | None:
    """``begin,end,step`` or null."""
    if text == NULL:
        return None
    parts = text.split(",")
    if len(parts) != 3:
        raise UsageError(f"option {option} needs begin,end,step or null, not {text!r}")
    begin, end, step = (real(option, part) for part in parts)
    return begin, end, step


def parse_arguments(argv: list[str]) -> Job:
    """The job of a command line. grid.py's options count only as whole words; all others are svmx-train's."""
    job = Job()
    rest = []
    words = argv[:-1]
    given: dict[str, str] = {}
    i = 0
    while i < len(words):
        word = words[i]
        if word in VALUED:
            if i + 1 >= len(words):
                raise UsageError(f"option {word} needs a value, and the data set comes last")
            given[word] = words[i + 1]
            i += 1
        elif word == "-resume":
            given[word] = ""
            if i + 1 < len(words) and not words[i + 1].startswith("-"):
                i += 1
                given[word] = words[i]
        else:
            rest.append(word)
        i += 1
    letters, flags, names, switches = grammar(job, argv)
    names |= {
        "--csv": setter(vars(job), "csv"),
        "--json": setter(vars(job), "json"),
        "--workers": setter(vars(job), "workers", count),
        "--dask": setter(vars(job), "dask"),
    }
    # there is no model to save, and folds are drawn once
    del names["--on-interrupt"], names["--repeats"], switches["--loo"], switches["--explain"]
    files = parse([*rest, *argv[-1:]], letters, flags, names, switches, USAGE, "svmx-grid")
    if len(files) != 1:
        what = f"unexpected argument {files[0]!r}" if files else "no data set: it comes last"
        raise UsageError(what if argv else "")
    job.dataset = files[0]
    take_given(job, given)
    return job


def take_given(job: Job, given: dict[str, str]) -> None:
    """Put grid.py's own options into ``job``, with its default file names."""
    if "-log2c" in given:
        job.c_axis = axis("-log2c", given["-log2c"])
    if "-log2g" in given:
        job.g_axis = axis("-log2g", given["-log2g"])
    if "-v" in given:
        job.set_folds("-v", given["-v"])
    job.ignored = [option for option in ("-svmtrain", "-gnuplot") if given.get(option, NULL) != NULL]
    out = given.get("-out", f"{job.title}.out")
    job.out = None if out == NULL else out
    default_png = NULL if given.get("-gnuplot") == NULL else f"{job.title}.png"
    png = given.get("-png", default_png)
    job.png = None if png == NULL else png
    job.png_asked = "-png" in given
    if "-resume" in given:
        job.resume = given["-resume"] or f"{job.title}.out"


def check(job: Job) -> None:
    """Check the options before the data are read."""
    if job.weight_file == job.dataset == STANDARD_INPUT:
        raise UsageError("rows and weights cannot both come from standard input")
    for option in job.ignored:
        warn(f"option {option} is ignored: nothing but this program is run")
    if job.png is not None:
        if job.png_asked:
            need("matplotlib", "plot", "-png needs")
            gridplot.load()
        elif not available("matplotlib"):
            job.png = None
    if job.resume is not None:
        os.stat(job.resume)
    check_outputs(job.outputs)
    for name in job.outputs:
        keep_apart([job.dataset, job.weight_file, None if name is job.out else job.resume], name, "output")

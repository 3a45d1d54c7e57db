"""svmx-grid: grid.py's options, output and results file, in one process or on many workers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import Parameter, flat_fields
from libsvmx._train.problem import Problem
from libsvmx._train.rowchecks import has_index_zero
from libsvmx._train.training import default_gamma
from libsvmx._train.validation.grid import C_AXIS, G_AXIS, Best, Grid, Point, exponents, param_at
from libsvmx._train.validation.grid_pool import Workers, need
from libsvmx._train.validation.grid_search import Outcome, Plan, Search, usual_seeding
from libsvmx._train.validation.scheme import Seeding
from libsvmx.cli import gridplot
from libsvmx.cli.gridfile import Results, ResultsFile, States, data_digest, read_results
from libsvmx.cli.options import UsageError, count, parse, real
from libsvmx.cli.process import run, tidy_end, warn, write
from libsvmx.cli.solveroptions import asked_solvers
from libsvmx.cli.train import Job as TrainJob
from libsvmx.cli.train import grammar
from libsvmx.cli.version import version_text
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError, ParameterError, SvmxError
from libsvmx.io import transcript
from libsvmx.io.files import STANDARD_INPUT, atomic_write, check_target, same_file
from libsvmx.io.svmlight import DataFile, read_data

USAGE = """\
usage: svmx-grid [options] [svmx-train options] dataset

Cross-validates a LIBSVM data file (plain, .gz, .xz, .bz2, or - for standard input) at every point of
a grid of C and gamma and prints the best C, gamma and rate: the highest accuracy, or for regression
the smallest mean squared error.

options, grid.py's:
  -log2c begin,end,step | null   exponents of C (-5,15,2); null leaves C to -c
  -log2g begin,end,step | null   exponents of gamma (3,-15,-2); null leaves gamma to -g
  -v n                           n-fold cross-validation (5)
  -out FILE | null               results, a line for each point as it comes (dataset.out)
  -resume [FILE]                 go on from a results file, by default from dataset.out
  -png FILE | null               picture, needs matplotlib (dataset.png where matplotlib is installed)
  -svmtrain FILE, -gnuplot FILE  ignored; -gnuplot null is -png null

options, svmx-train's, for the training at every point: see svmx-train --help

more:
  --csv FILE, --json FILE  table of all points
  --workers N              processes that share the points, needs joblib
  --dask ADDRESS           share the points among the workers of a Dask scheduler
  --seeder METHOD          as of svmx-train, and points start from the result for the next smaller C (auto);
                           none is LIBSVM's own path, with exactly the rates of svm-train
  --help, --version
"""

VALUED = ("-log2c", "-log2g", "-v", "-svmtrain", "-gnuplot", "-out", "-png")
NULL = "null"
SEARCHED = "searched"


@dataclass
class Job(TrainJob):
    """What the command line asks for, over a training's options."""

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

    @property
    def title(self) -> str:
        """Name of the data set, as grid.py builds file names of it."""
        return "stdin" if self.dataset == STANDARD_INPUT else os.path.basename(self.dataset)

    @property
    def kind(self) -> tuple[tuple[bool, bool], bool]:
        """Which axes are searched, and whether rates are errors."""
        return (self.c_axis is not None, self.g_axis is not None), self.parameter().svm_type.is_regression

    def plan(self, max_index: int) -> Plan:
        """The search. Raises UsageError for what does not go together."""
        for axis, name, option in ((self.c_axis, "C", "-log2c"), (self.g_axis, "gamma", "-log2g")):
            if axis is not None and name in self.values:
                raise UsageError(f"-{name[0].lower()} has no place beside {option}; {option} null searches no {name}")
        try:
            axes = (None if axis is None else exponents(*axis) for axis in (self.c_axis, self.g_axis))
            grid = Grid(*axes)
            param = default_gamma(self.parameter(), max_index)
            return Plan(param, grid, self.folds or 5, usual_seeding(self.seeding, param))
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
    """The job of a command line. grid.py's options count only as whole words, the rest is svmx-train's."""
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
    letters, flags, names, switches = grammar(job, asked_solvers(argv))
    names |= {
        "--csv": lambda option, text: setattr(job, "csv", text),
        "--json": lambda option, text: setattr(job, "json", text),
        "--workers": lambda option, text: setattr(job, "workers", count(option, text)),
        "--dask": lambda option, text: setattr(job, "dask", text),
    }
    del names["--on-interrupt"], switches["--loo"]  # there is no model to save, and rates are those of folds
    files = parse([*rest, *argv[-1:]], letters, flags, names, switches, USAGE, version_text("svmx-grid"))
    if len(files) != 1:
        what = f"unexpected argument {files[0]!r}" if files else "no data set: it comes last"
        raise UsageError(what if argv else "")
    job.dataset = files[0]
    take_given(job, given)
    return job


def take_given(job: Job, given: dict[str, str]) -> None:
    """grid.py's own options into ``job``, with its default file names."""
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
    """Everything that can be wrong before the data are read."""
    for option in job.ignored:
        warn(f"option {option} is ignored: nothing but this program is run")
    if job.png is not None:
        if job.png_asked:
            need("matplotlib", "plot", "-png")
            gridplot.load()
        elif not available("matplotlib"):
            job.png = None
    if job.resume is not None:
        os.stat(job.resume)
    outputs = [name for name in (job.out, job.png, job.csv, job.json) if name is not None]
    for i, name in enumerate(outputs):
        check_target(name)
        if same_file(name, job.dataset):
            raise UsageError(f"the output file {name} is the data set itself")
        if any(os.path.realpath(name) == os.path.realpath(other) for other in outputs[:i]) and name != os.devnull:
            raise UsageError(f"two outputs are to go to {name}")
        if name is not job.out and job.resume is not None and same_file(name, job.resume):
            raise UsageError(f"the output file {name} is the file to resume from, which would be lost")


def available(module: str) -> bool:
    """Whether a module can be imported."""
    from importlib.util import find_spec

    return find_spec(module) is not None


def description(job: Job, plan: Plan, data: DataFile) -> dict[str, Any]:
    """What identifies the points of a run in its results file."""
    from libsvmx._version import VERSION

    parameters = flat_fields(plan.param)
    for name in ("cache_size", "threads"):  # no result depends on these
        del parameters[name]
    if plan.grid.c_values is not None:
        parameters["C"] = SEARCHED
    if plan.grid.g_values is not None:
        parameters["gamma"] = SEARCHED
    found = {
        "data": data_digest(data.matrix, data.targets),
        "folds": plan.n_folds,
        "seeder": " ".join(filter(None, (plan.seeding.seeder, plan.seeding.scheme))),
        "parameters": parameters,
        "chain": sorted(plan.grid.c_values or ()) if plan.chained else None,
        "version": VERSION,
    }
    normal: dict[str, Any] = json.loads(json.dumps(found))  # tuples and enumerations as a file gives them back
    return normal


class Progress:
    """grid.py's lines on standard output, and a bar on standard error where that is a terminal."""

    def __init__(self, job: Job, regression: bool, total: int, say: Callable[[str], None]) -> None:
        self.best = Best(regression)
        self.say = say
        self.bar = None
        if sys.stderr is not None and sys.stderr.isatty() and available("tqdm"):
            from tqdm import tqdm

            self.bar = tqdm(total=total, unit="point", desc=job.title, file=sys.stderr, dynamic_ncols=True)

    def add(self, worker: str, point: Point) -> None:
        best = self.best.add(point)
        values = " ".join(str(v) for v in point.key if v is not None)
        powers = [(n, v) for n, v in (("c", best.log2c), ("g", best.log2g)) if v is not None]
        chosen = "".join(f"{name}={2.0**value}, " for name, value in powers)
        line = f"[{worker}] {values} {point.rate} (best {chosen}rate={best.rate})\n"
        if self.bar is None:
            self.say(line)
            return
        with self.bar.external_write_mode():
            self.say(line)
        if worker != "resumed":
            self.bar.update()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class Remarks(Observer):
    """Remarks of trainings as warnings."""

    def __init__(self) -> None:
        self.reporter = transcript.TrainingReport(lambda text: None, warn)

    def remark(self, kind: Remark, detail: str = "") -> None:
        self.reporter.remark(kind, detail)


def search_file(job: Job, data: DataFile, say: Callable[[str], None]) -> Search:
    """Search, record, draw and tabulate; progress lines go to ``say``."""
    plan = job.plan(data.matrix.max_index)
    remark_useless(plan)
    identity = description(job, plan, data)
    results = Results() if job.resume is None else resumed(job.resume, job, identity)
    pool = None if job.workers == 1 and job.dask is None else Workers(job.workers, job.dask)
    progress = Progress(job, plan.is_regression, sum(key not in results.found for key in plan.grid.order), say)
    problem = Problem(data.matrix, data.targets)
    try:
        with ExitStack() as stack:
            if pool is not None:
                stack.enter_context(tidy_end())
                stack.enter_context(pool)
            search = Search(plan, problem, pool, results, Remarks())  # refuses before old results are gone
            record, states = outputs(job, identity, stack)
            for point in results.found.values():
                progress.add("resumed", point)
            for outcome in search:
                states.save(outcome)
                record(outcome.point)
                progress.add("local" if job.dask is None else "dask", outcome.point)
    except DataError as error:
        raise data.locate(error) from error
    finally:
        progress.close()
    with tidy_end():
        write_tables(job, search)
        states.clear()
    return search


def resumed(path: str, job: Job, identity: dict[str, Any]) -> Results:
    """What a results file holds, with its remarks made."""
    results = read_results(path, identity, *job.kind)
    results.states = States(f"{path}.state", identity)
    for remark in results.remarks:
        warn(remark)
    return results


def outputs(job: Job, identity: dict[str, Any], stack: ExitStack) -> tuple[Callable[[Point], None], States]:
    """Where points are recorded, and where the starts of columns are kept."""
    if job.out is None:
        return lambda point: None, NoStates()
    keep = job.resume is not None and os.path.isfile(job.out)
    before = Results()
    if keep:
        before = read_results(job.out, identity, *job.kind)
    file = stack.enter_context(ResultsFile(job.out, identity, keep, before.whole, before.continued))
    if not file.regular:
        return file.add, NoStates()
    states = States(f"{job.out}.state", identity)
    if not keep:
        states.clear()
    return file.add, states


class NoStates(States):
    """Keeps nothing."""

    def __init__(self) -> None:
        super().__init__("", {})

    def save(self, outcome: Outcome) -> None:
        pass

    def clear(self) -> None:
        pass


def remark_useless(plan: Plan) -> None:
    """Warn of an axis that changes nothing."""
    param, grid = plan.param, plan.grid
    if grid.g_values is not None and "gamma" not in param.kernel_type.uses:
        warn(f"the {param.kernel_type.name.lower()} kernel has no gamma; -log2g null saves the search for it")
    if grid.c_values is not None and param.svm_type in (SvmType.NU_SVC, SvmType.ONE_CLASS):
        warn(f"{param.svm_type.name} has no C; -log2c null saves the search for it")


def rows_of(search: Search) -> Iterator[dict[str, Any]]:
    """The table of a finished search, a mapping for each point."""
    for point in search.points:
        param = param_at(search.plan.param, point.key)
        rates = {"mse": point.rate, "scc": point.scc} if search.plan.is_regression else {"rate": point.rate}
        yield {
            "log2c": point.log2c,
            "log2g": point.log2g,
            "C": param.C,
            "gamma": param.gamma,
            **rates,
            "seconds": point.seconds,
            "iterations": point.iterations,
        }


def write_tables(job: Job, search: Search) -> None:
    """The files that are written at the end, each whole or not at all."""
    rows = list(rows_of(search))
    if job.csv is not None:
        lines = [",".join(rows[0]), *(",".join("" if v is None else str(v) for v in row.values()) for row in rows)]
        with atomic_write(job.csv) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    if job.json is not None:
        best = next(row for row, point in zip(rows, search.points, strict=True) if point is search.best)
        content = {
            "dataset": job.dataset,
            "folds": search.plan.n_folds,
            "seeder": search.plan.seeding.seeder,
            "parameters": flat_fields(search.plan.param),
            "best": finite(best),
            "points": [finite(row) for row in rows],
        }
        with atomic_write(job.json) as file:
            file.write(json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")
    grid = search.plan.grid
    flat = len(grid.c_values or ()) < 2 or len(grid.g_values or ()) < 2
    if job.png is not None and (job.png_asked or not flat):  # grid.py draws no single line
        try:
            gridplot.load()
        except SvmxError as error:  # nobody asked for a picture
            warn(f"no picture: {error}")
            return
        gridplot.draw(job.png, search.points, search.best, job.title, search.plan.is_regression)


def finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no nan or inf: null stands for them."""
    return {name: None if isinstance(v, float) and v - v != 0 else v for name, v in row.items()}


def read(job: Job, param: Parameter) -> DataFile:
    """The data set, with remarks made."""
    data = read_data(job.dataset, lenient=job.lenient, threads=param.threads or None)
    for remark in data.remarks:
        warn(remark)
    if param.kernel_type != KernelType.PRECOMPUTED and has_index_zero(data.matrix):
        warn(f"{data.path}: there is a feature with index 0; indices should start from 1")
    return data


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = parse_arguments(argv)
    param = job.plan(0).param  # everything wrong with the options shows before the data are read
    check(job)
    best = search_file(job, read(job, param), write).best
    powers = [str(2.0**value) for value in best.key if value is not None]
    write(f"{' '.join(powers)} {best.rate}\n")
    return 0


def entry() -> None:
    """The console script."""
    run("svmx-grid", main, USAGE)

"""svmx-grid: grid.py's options, output and results file, in one process or on many workers."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

from libsvmx._train.limits import limited
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import flat_fields
from libsvmx._train.problem import Problem
from libsvmx._train.validation.grid import Point
from libsvmx._train.validation.grid_pool import Workers
from libsvmx._train.validation.grid_search import Plan, Search
from libsvmx._typing import Buffer
from libsvmx.cli.ending import Ended, die_by, on_interrupt_say, tidy_end
from libsvmx.cli.gridfile import Results, ResultsFile, States, data_digest, read_results
from libsvmx.cli.gridjob import USAGE, Job, check, parse_arguments
from libsvmx.cli.gridtables import PointLines, rows_of, write_tables
from libsvmx.cli.options import REPORT, HelpRequested, UsageError
from libsvmx.cli.process import entry_of, follow, forget, insist, phase, printer, tell, time_left, warn, watch
from libsvmx.cli.train import row_weights, rows_read, warn_of_index_zero, with_factors
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError, StoppedEarly, SvmxError
from libsvmx.io import transcript
from libsvmx.io.svmlight import DataFile

SEARCHED = "searched"


def description(plan: Plan, data: DataFile, sample_weight: Buffer | None) -> dict[str, Any]:
    """The description of a run, which identifies its points in the results file."""
    from libsvmx._version import VERSION

    parameters = flat_fields(plan.param)
    for name in ("cache_size", "threads", "time_limit"):  # results do not depend on these
        del parameters[name]
    if plan.grid.c_values is not None:
        parameters["C"] = SEARCHED
    if plan.grid.g_values is not None:
        parameters["gamma"] = SEARCHED
    found = {
        "data": data_digest(data.matrix, data.targets, *([] if sample_weight is None else [sample_weight])),
        "folds": plan.n_folds,
        "seeder": " ".join(filter(None, (plan.seeding.seeder, plan.seeding.scheme))),
        "parameters": parameters,
        "chain": sorted(map(float, plan.grid.c_values or ())) if plan.chained else None,
        "version": VERSION,
    }
    return json.loads(json.dumps(found))  # tuples and enumerations as JSON returns them


class Remarks(Observer):
    """Prints remarks of trainings as warnings."""

    def __init__(self) -> None:
        self.reporter = transcript.TrainingReport(lambda text: None, warn, insist)

    def remark(self, kind: Remark, detail: str = "") -> None:
        self.reporter.remark(kind, detail)


def search_file(job: Job, data: DataFile, say: Callable[[str], None], observer: Observer) -> Search:
    """Search, record, draw and tabulate; ``say`` prints progress lines, ``observer`` is the command's."""
    plan = job.plan(data.matrix.max_index, data.targets)
    remark_useless(plan)
    weights = row_weights(job.weight_file, data, job.lenient)
    identity = description(plan, data, weights)
    results = Results() if job.resume is None else resumed(job.resume, job, identity)
    pool = None if job.workers == 1 and job.dask is None else Workers(job.workers, job.dask)
    lines = PointLines(plan.is_regression, sum(key not in results.found for key in plan.grid.order), say)
    problem = Problem(with_factors(data, plan.param, needs_all=True), data.targets, sample_weight=weights)
    going_on = ""  # said if the search ends early and can be resumed from a file
    try:
        with data.located(), ExitStack() as stack:
            stack.enter_context(phase("searching"))
            if pool is not None:
                stack.enter_context(tidy_end())
                stack.enter_context(pool)
            search = Search(plan, problem, pool, results, observer)  # raises before old results are replaced
            with tidy_end():
                record, states = outputs(job, plan, identity, stack)
            if states.folder:
                going_on = f"; the same command with {job.going_on} goes on"
                on_interrupt_say(job.command, f"interrupted{going_on}")
            for point in results.found.values():
                lines.add("resumed", point)
            for outcome in search:
                with tidy_end():
                    states.save(outcome)
                    record(outcome.point)
                lines.add("local" if job.dask is None else "dask", outcome.point)
    except StoppedEarly as stop:
        raise SvmxError(f"{stop}{going_on}") from None
    tell("search", search, list(rows_of(search)))
    with phase("writing"), tidy_end():
        write_tables(job, search)
        states.clear()
    return search


def resumed(path: str, job: Job, identity: dict[str, Any]) -> Results:
    """The content of a results file; prints its remarks."""
    results = read_results(path, identity, *job.kind)
    results.states = States(f"{path}.state", identity, warn)
    for remark in results.remarks:
        warn(remark)
    return results


def outputs(job: Job, plan: Plan, identity: dict[str, Any], stack: ExitStack) -> tuple[Callable[[Point], None], States]:
    """The results file, and the states that keep the starts of columns."""
    if job.out is None:
        return lambda point: None, States("", identity, warn)
    keep = job.resume is not None and os.path.isfile(job.out)
    before = Results()
    if keep:
        before = read_results(job.out, identity, *job.kind)
    file = stack.enter_context(ResultsFile(job.out, identity, keep, before.whole, before.continued))
    if not file.regular:
        return file.add, States("", identity, warn)
    states = States(f"{job.out}.state", identity, warn, plan.param.policy.min_recompute_seconds)
    if not keep:
        states.clear()
    return file.add, states


def remark_useless(plan: Plan) -> None:
    """Warn of an axis that has no effect."""
    param, grid = plan.param, plan.grid
    if grid.g_values is not None and "gamma" not in param.kernel_type.uses:
        warn(f"the {param.kernel_type.name.lower()} kernel has no gamma; -log2g null saves the search for it")
    if grid.c_values is not None and param.svm_type in (SvmType.NU_SVC, SvmType.ONE_CLASS):
        warn(f"{param.svm_type.name} has no C; -log2c null saves the search for it")


def searched(argv: list[str]) -> Point:
    """The best point for a command line; prints and writes everything."""
    job = parse_arguments(argv)
    param = job.plan(0).param  # check the options before the data are read
    check(job)
    watch(job.quiet, *job.outputs)
    remarks = Remarks()
    follow(remarks)
    say, observer = printer(*job.outputs), limited(remarks, time_left(param.time_limit))
    data = rows_read(job.dataset, job.lenient, param.threads)
    warn_of_index_zero(data, param)
    best = search_file(job, data, say, observer).best
    powers = [str(2.0**value) for value in best.key if value is not None]
    say(f"{' '.join(powers)} {best.rate}\n")
    return best


def find_parameters(
    dataset_pathname: str | os.PathLike[str], options: str | Iterable[object] = ""
) -> tuple[float, dict[str, float]]:
    """grid.py's function: search C and gamma like the command, which also prints and writes the results.

    Parameters
    ----------
    dataset_pathname : path
    options : str or sequence      those of svmx-grid; a str is split at blanks

    Returns
    -------
    rate : float       of the best point: accuracy in percent, or mean squared error
    param : dict       its ``c`` and ``g``, if searched

    Raises
    ------
    SvmxError, OSError
    """
    words = options.split() if isinstance(options, str) else [str(word) for word in options]
    if any(word.partition("=")[0] == REPORT for word in words):
        raise ParameterError(f"option {REPORT} is one of commands, not of a function")
    try:
        best = searched([*words, os.fspath(dataset_pathname)])
    except (UsageError, HelpRequested) as error:
        raise ParameterError(str(error)) from None
    except Ended as end:
        if end.signum != signal.SIGINT:
            die_by(end.signum, end)
        raise KeyboardInterrupt from None
    finally:
        forget()
    return best.rate, {name: 2.0**v for name, v in (("c", best.log2c), ("g", best.log2g)) if v is not None}


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    searched(argv)
    return 0


entry = entry_of("svmx-grid", main, USAGE)

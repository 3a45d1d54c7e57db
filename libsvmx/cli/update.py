"""svmx-update: rows join a trained model and leave it, once or along a stream, and the optimum is followed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial

from libsvmx._core.memory import TooLittleMemory, load_numpy
from libsvmx._core.records import fields, record
from libsvmx._core.stopping import Stopped
from libsvmx._solvers.registry import SOLVERS, names_of, solver_class, solver_classes
from libsvmx._train.limits import ask, limited
from libsvmx._train.metrics import Scores
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.cli.ending import tidy_end
from libsvmx.cli.options import UsageError, check_outputs, count, keep_apart, parse, setter
from libsvmx.cli.process import entry_of, follow, insist, phase, printer, tell, time_left, warn, watch
from libsvmx.cli.solveroptions import asked_solvers, solver_grammar
from libsvmx.cli.train import Job as TrainingJob
from libsvmx.cli.train import grammar, kernel_item, row_weights, rows_read, warn_of_index_zero, with_factors
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError, FormatError, ParameterError, StoppedEarly, SvmxError
from libsvmx.io import transcript
from libsvmx.io.files import STANDARD_INPUT, name_of_input, read_bytes, same_file
from libsvmx.io.modelfile import load_model, model_text
from libsvmx.io.outputs import held, write_files
from libsvmx.io.svmlight import DataFile
from libsvmx.io.textwrite import numbers_text

if TYPE_CHECKING:
    from libsvmx._solvers.solver import Solver
    from libsvmx._train.observer import Observer
    from libsvmx._train.updating.state import State
    from libsvmx.cli.train import Grammar

TEMPLATE = """\
usage: svmx-update [options] training_file model_file [new_model_file]
       svmx-update [options] --state state_file [new_model_file]
       svmx-update --window N [--step M] [options] stream_file model_file [predictions_file]

Adds rows to a trained model and removes rows from it. The new model is the one that a training on the present
rows would reach with a very small -e, found along a path from the old one.

The first form starts from a model of svm-train or svmx-train and the data it was trained on; the new
model takes the place of model_file, or is new_model_file. The second form starts from what
--save-state wrote. The third trains on the first N rows of stream_file; then, again and again, it
predicts the next M rows, adds them, and removes the M oldest; model_file is the last model.
A file that is written may be -, standard output; the report goes to standard error then.

changes:
  --add FILE          rows to add (LIBSVM data)
  --remove ROWS       rows to remove: numbers and ranges such as 1,3,10-20, or a file with one number a line.
                      Rows of the training file count from 1; added rows get the next numbers,
                      which they keep in a state file
  --add-weights FILE  weights of the rows to add, one in a line: 2 counts a row twice, 0 ignores it
  --state FILE        start from a state file; -c C follows the optimum to another C, -n nu to another nu
  --save-state FILE   write a state file, too
  --report FILE       write a report with KKT gaps and a SHA-256 of the rows, as JSON
  --window N          number of rows of the model
  --step M            number of rows added and removed at a time, at most N (1)

options, those of svmx-train (only the letter counts, the last of equal options wins). The first form
needs what a model file does not contain: -c, -wL, -W, -p and -n of its training.
  -s type     0 C-SVC (default), 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR, and quantile
  -t kernel   {kernels}
  -d degree   (3)
  -g gamma    (1 / largest feature index; of the first N rows); or one for each feature, as 0.1,0,2
  -r coef0    (0)
  -c C        (1)
  -n nu       (0.5)
  -p epsilon  (0.1)
  -m MB       memory for kernel rows (100)
  -e eps      tolerance of trainings where a path cannot be followed (0.001)
  -wL weight  multiply C by weight for class L, C-SVC only
  -W file     weights of the rows of training_file or stream_file; a state file has those of its rows
  -q          quiet

more:
  --tau T                of -s quantile (0.5)
  --time-limit SECONDS   give up after that time: nothing is written
  --threads N            threads to use for a training
  --solver NAME          {solvers}, and its options, as in svmx-train: for cold starts, which
                         a path then follows to the optimum: the first N rows, or a new class
  --lenient              skip blank lines and comment lines in the data
  --help, --version
"""

LETTERS = "stdgrnmcepwhbW"  # of svmx-train
# The optimum does not depend on these, nor on the settings of a solver.
OF_A_STATE = ("cache_size", "eps", "time_limit", "threads", "shrinking", "solver")
ROWS = re.compile(r"[0-9]{1,18}(-[0-9]{1,18})?(,[0-9]{1,18}(-[0-9]{1,18})?)*")  # of --remove
FOLLOWED = ("C", "nu")  # may be changed from a state file
PARAMETER_FIELDS = frozenset(f.name for f in fields(Parameter))


def usage() -> str:
    """USAGE, with the kernels and the solvers that keep a state."""
    solvers = names_of([solver for solver in solver_classes() if solver.has_state])
    kernels = [kernel_item(kind, kind.usage.split()[0]) for kind in KernelType]
    return TEMPLATE.replace("{solvers}", solvers).replace("{kernels}", ", ".join(kernels))


def __getattr__(name: str) -> str:
    if name == "USAGE":  # made when it is wanted: only then all solvers are loaded
        return usage()
    raise AttributeError(name)


@record()
class Job(TrainingJob):
    """What the command line asks for."""

    add: str | None = None
    add_weights: str | None = None
    remove: str | None = None
    state: str | None = None
    save_state: str | None = None
    window: int = 0
    step: int = 0

    def once(self, name: str) -> Callable[[str, str], None]:
        """A setter of a file, which cannot be given twice: a second would silently take the place of the first."""

        def put(option: str, text: str) -> None:
            if getattr(self, name) is not None:
                raise UsageError(f"option {option} is given twice")
            setattr(self, name, text)

        return put

    def check(self, files: list[str]) -> None:
        """Raise UsageError for what does not go together."""
        if self.values.get("solver") in SOLVERS:
            try:
                solver_class(self.values["solver"]).require("has_state")
            except ParameterError as error:
                raise UsageError(str(error)) from None
        if self.add_weights and not self.add:
            raise UsageError("option --add-weights needs --add")
        if self.state and self.weight_file:
            raise UsageError("-W cannot be given with --state: the state file has the weights of its rows")
        if self.step and not self.window:
            raise UsageError("option --step needs --window")
        if self.window and (self.add or self.remove or self.state):
            raise UsageError("option --window excludes --add, --remove and --state")
        if self.step > self.window:
            raise UsageError(f"--step {self.step} is more than --window {self.window}")
        most, what = (1, "only a new model file") if self.state else (3, "no further file")
        if len(files) > most:
            raise UsageError(f"{files[most]}: {what} goes with these options")
        if self.state:
            given = [name for name in self.values if name in PARAMETER_FIELDS.difference(OF_A_STATE, FOLLOWED)]
            if given or self.weights:
                raise UsageError(f"{(given or ['a weight'])[0]} cannot be given with --state: the state file has it")
            if not files and not self.save_state:
                raise UsageError("a new model file or --save-state is needed")
        elif len(files) < 2:
            raise UsageError("a data file and a model file are needed")
        elif not (self.window or self.add or self.remove or self.save_state):
            raise UsageError("nothing to do: --add, --remove, --save-state or --window is needed")


def update_grammar(job: Job, asked: Sequence[type[Solver]]) -> Grammar:
    """As ``libsvmx.cli.train.grammar``."""
    letters, flags, names, switches = grammar(job, ())
    own = {
        "--add": job.once("add"),
        "--add-weights": job.once("add_weights"),
        "--remove": job.once("remove"),
        "--state": job.once("state"),
        "--save-state": job.once("save_state"),
        "--window": setter(vars(job), "window", count),
        "--step": setter(vars(job), "step", count),
        "--time-limit": names["--time-limit"],
        "--tau": names["--tau"],
        "--threads": names["--threads"],
    }
    names, more = solver_grammar(job.values, [solver for solver in asked if solver.has_state])
    return {key: letters[key] for key in LETTERS}, flags, own | names, {"--lenient": switches["--lenient"]} | more


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = Job()
    files = parse(argv, *update_grammar(job, asked_solvers(argv)), usage, "svmx-update")
    if not argv:
        raise UsageError("")
    job.check(files)
    param = job.parameter()
    sources, targets = files_of(job, files)
    if sources.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be one of the files only")
    check_outputs(targets)
    watch(job.quiet, *targets)
    try:
        load_numpy()
        with phase("updating"):
            if job.window:
                slide(job, param, files[0], *targets)
            else:
                update(job, param, files, targets)
    except TooLittleMemory:
        raise
    except MemoryError as error:
        raise MemoryError(f"{str(error) or 'updating'}; a smaller -m needs less") from error
    return 0


def files_of(job: Job, files: list[str]) -> tuple[list[str], list[str | None]]:
    """Files to be read; and model, state and predictions to be written, None where there is none."""
    asked = (job.state, job.add, job.add_weights, job.weight_file, removed_file(job.remove))
    read = [name for name in asked if name is not None]
    if job.window:
        return [files[0], *read], [files[1], job.save_state, files[2] if len(files) > 2 else None]
    if job.state:
        return read, [files[0] if files else None, job.save_state, None]
    if files[1] == STANDARD_INPUT and len(files) < 3:
        raise UsageError("a model from standard input needs a new model file")
    return [*files[:2], *read], [files[2] if len(files) > 2 else files[1], job.save_state, None]


# ---- one change --------------------------------------------------------------------------------


def update(job: Job, param: Parameter, files: list[str], targets: list[str | None]) -> None:
    """The first two forms; two updates that replace what they start from take turns."""
    start = job.state or files[1]
    replaced = any(target is not None and same_file(start, target) for target in targets)
    with ExitStack() as stack:
        if replaced:
            wait = f"another process is updating {start}: waiting for its end"
            stack.enter_context(held(start, lambda: warn(wait)))
        update_once(job, param, files, targets)


def update_once(job: Job, param: Parameter, files: list[str], targets: list[str | None]) -> None:
    """One change, from reading what it starts from to writing what becomes of it."""
    from libsvmx._train.updating.state import State
    from libsvmx.io.statefile import load_state

    asked = (job.add, job.add_weights, job.weight_file, removed_file(job.remove))
    # a model or state may take the place of its own start
    keep_apart([*asked, *([job.state] if job.state else files[:1])], targets[0], "model")
    keep_apart([*asked, *files[:2]], targets[1], "state")
    remarks = Remarks((lambda text: None) if job.quiet else printer(*targets), warn, insist)
    follow(remarks)
    observer = limited(remarks, time_left(param.time_limit))
    added = read_rows(job, job.add) if job.add is not None else None
    weights = row_weights(job.add_weights, added, job.lenient) if added else None
    name = removed_file(job.remove)
    if name is not None and name != STANDARD_INPUT and not os.path.exists(name):
        raise SvmxError(f"--remove: {job.remove!r} is neither a list like 1,3,10-20 nor a file")
    if job.state:
        changes = {name: value for name, value in job.values.items() if name not in FOLLOWED}
        state = load_state(job.state, State, observer, warn, **changes)
        what = "rows of the state"
    else:
        state = started(job, param, files[0], files[1], observer)
        what = f"rows of {files[0]}"
    if added:
        warn_of_index_zero(added, state.param)
    remarks.changed("start", state)
    gone = [] if job.remove is None else rows_to_remove(job.remove, state.ids.tolist(), what)
    if "C" in job.values and job.state:
        state.set_cost(param.C, observer)
        remarks.changed(f"C = {param.C:g}", state)
    if "nu" in job.values and job.state:
        state.set_nu(param.nu, observer)
        remarks.changed(f"nu = {param.nu:g}", state)
    if added or gone:
        apply(state, added, weights, gone, observer)
        remarks.changed(f"+{len(added.targets) if added else 0} -{len(gone)}", state)
    observer.total_sv(state.model.n_sv)
    tell("update", state, None)
    write_all(state, targets, b"", job.state or files[1])


def started(job: Job, param: Parameter, training_file: str, model_file: str, observer: Observer) -> State:
    """The state of a model and its training data."""
    from libsvmx._train.updating.from_model import completed, state_of_model
    from libsvmx._train.updating.state import State
    from libsvmx.io.statefile import is_state

    if is_state(model_file):
        raise UsageError(f"{model_file} is a state file: give it with --state, without a training file")
    model = load_model(model_file, warn)
    try:
        param = completed(param, model, job.values)
    except ParameterError as error:
        raise SvmxError(f"{model_file}: {error}") from None
    data = read_rows(job, training_file)
    warn_of_index_zero(data, param)
    matrix = with_factors(data, param, model.vectors.first_index)
    try:
        problem = Problem(matrix, data.targets, sample_weight=row_weights(job.weight_file, data, job.lenient))
        return state_of_model(problem, param, model, observer, State)
    except DataError as error:
        if error.row is not None:
            raise data.locate(error) from error
        raise SvmxError(f"{model_file} with {data.path}: {error}") from error


def apply(state: State, added: DataFile | None, weights: Buffer | None, gone: list[int], observer: Observer) -> None:
    """Rows join and leave along one path."""
    no_rows = memoryview(b"").cast("i")
    there = state.problem.matrix
    matrix = there.take(no_rows) if added is None else with_factors(added, state.param, there.first_index)
    targets = memoryview(b"").cast("d") if added is None else added.targets
    with nullcontext() if added is None else added.located(rows_only=True):
        state.change(matrix, targets, gone, observer, weights)


def read_rows(job: Job, path: str) -> DataFile:
    """A data file with one row at least."""
    threads = job.values.get("threads")
    data = rows_read(path, job.lenient, threads if isinstance(threads, int) else 0)
    if not data.matrix.n_rows:
        raise FormatError(data.path, 0, 0, "no data: there is not a single row")
    return data


# ---- numbers of rows: --remove ------------------------------------------------------------------


def removed_file(remove: str | None) -> str | None:
    """The file with the numbers of rows to remove; None for a list, or without the option."""
    return remove if remove and not ROWS.fullmatch(remove) else None


def rows_to_remove(text: str, ids: list[int], what: str) -> list[int]:
    """The ids of rows given by their numbers, ids + 1, in a list or in a file.

    Raises SvmxError, which names the option, or file and line, for what is no number of a row, or given twice.
    """
    known = set(ids)
    gone: list[int] = []
    taken: set[int] = set()

    def take(first: int, last: int, error: Callable[[str], SvmxError]) -> None:
        if last < first:
            raise error(f"the range {first}-{last} ends before it begins")
        for number in range(first, last + 1):
            if number - 1 not in known:
                raise error(f"there is no row {number} among the {len(known)} {what}")
            if number in taken:
                raise error(f"row {number} is given twice")
            taken.add(number)
            gone.append(number - 1)

    if ROWS.fullmatch(text):
        for part in text.split(","):
            first, _, last = part.partition("-")
            take(int(first), int(last or first), lambda cause: SvmxError(f"--remove: {cause}"))
        return gone
    path = name_of_input(text)
    for line, content in enumerate(read_bytes(text).rstrip().splitlines(), 1):

        def error(cause: str, line: int = line) -> FormatError:
            return FormatError(path, line, 0, cause)

        word = content.strip().decode("ascii", "replace")
        if not (word.isascii() and word.isdigit() and len(word) <= 18):
            raise error(f"not the number of a row: {word[:40]!r}")
        take(int(word), int(word), error)
    return gone


# ---- a stream ----------------------------------------------------------------------------------


def slide(
    job: Job,
    param: Parameter,
    stream_file: str,
    model_file: str | None,
    state_file: str | None,
    predictions_file: str | None,
) -> None:
    """The third form."""
    from libsvmx._core.arrays import ramp
    from libsvmx._train.gamma import default_gamma
    from libsvmx._train.prediction import predict_labels
    from libsvmx._train.updating.precomputed import check_rows
    from libsvmx._train.updating.state import State, check_kept, train_state

    targets = [model_file, state_file, predictions_file]
    for target, what in zip(targets, ("model", "state", "predictions"), strict=True):
        keep_apart([stream_file, job.weight_file], target, what)
    check_kept(param)
    remarks = Remarks((lambda text: None) if job.quiet else printer(*targets), warn, insist)
    follow(remarks)
    observer = limited(remarks, time_left(param.time_limit))
    data = read_rows(job, stream_file)
    warn_of_index_zero(data, param)
    n, every = data.matrix.n_rows, ramp(data.matrix.n_rows)
    if n <= job.window:
        raise FormatError(data.path, 0, 0, f"{n} rows are not more than the window of {job.window}: nothing to predict")
    matrix = with_factors(data, param, needs_all=True)
    problem = Problem(matrix, data.targets, sample_weight=row_weights(job.weight_file, data, job.lenient))
    param = default_gamma(param, data.matrix.take(every[: job.window]).max_index)
    with data.located(rows_only=True):
        check_rows(problem, param)
        state = train_state(problem.take(every[: job.window]), param, observer, State)
    remarks.changed("start", state)
    scores, lines = Scores(), []
    step = job.step or 1
    for begin in range(job.window, n, step):
        rows = every[begin : begin + step]
        try:
            with data.located(begin, rows_only=True):
                labels = predict_labels(state.model, matrix, rows, partial(ask, observer))
        except Stopped as stop:
            raise StoppedEarly(stop.status, f"nothing is written after row {begin} of {n}") from None
        scores.add(labels, data.targets[begin : begin + step])
        lines.append(numbers_text(labels, 1, 17))
        fresh, oldest = problem.take(rows), state.ids[: len(rows)].tolist()
        try:
            with data.located(begin, rows_only=True):
                state.change(matrix.take(rows), fresh.targets, oldest, observer, fresh.sample_weight)
        except ParameterError as error:  # of nu-SVC, say
            raise SvmxError(f"{data.path}: at row {begin + len(rows)}: {error}") from error
        remarks.changed(f"row {begin + len(rows)}: +{len(rows)} -{len(rows)}", state)
        remarks.counted("row", begin + len(rows), n)
    observer.total_sv(state.model.n_sv)
    remarks.write(transcript.prediction(scores, param.svm_type.is_regression))
    tell("update", state, scores)
    write_all(state, targets, b"".join(lines))


# ---- what comes out ----------------------------------------------------------------------------


class Remarks(transcript.TrainingReport):
    """Remarks, and a line for each change."""

    def mark(self, mark: str) -> None:
        """Updates have no marks of progress."""

    def changed(self, what: str, state: State) -> None:
        tell("change", what, state)
        self.write(f"{what}: {len(state)} rows, {transcript.update(state.report)}\n")


def write_all(state: State, targets: list[str | None], predictions: bytes, start: str | None = None) -> None:
    """Predictions, model and state: none of them takes its place before all are written.

    What the update has started from comes last: until then the old one stands, and the same command leads to the same
    files again.
    """
    from libsvmx.io.statefile import state_bytes

    model_file, state_file, predictions_file = targets
    contents = []
    if predictions_file is not None:
        contents.append((predictions_file, predictions))
    if model_file is not None:
        contents.append((model_file, model_text(state.model)))
    if state_file is not None:
        contents.append((state_file, state_bytes(state)))
    contents.sort(key=lambda content: start is not None and same_file(content[0], start))
    with phase("writing"), tidy_end():
        write_files(contents)


entry = entry_of("svmx-update", main, usage)

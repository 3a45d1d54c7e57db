"""svmx-train: svm-train's options, output and model files."""

from __future__ import annotations

import os

from libsvmx._core.matrix import CsrMatrix, has_index_zero
from libsvmx._core.records import field, fields, record, replace
from libsvmx._train.folds import Rand
from libsvmx._train.gamma import default_gamma, scaled_rows
from libsvmx._train.limits import limited
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import Parameter, changed, kernel_named
from libsvmx._train.problem import Problem
from libsvmx._train.training import train_problem
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.cli.ending import interrupts, on_interrupt_say, tidy_end
from libsvmx.cli.options import UsageError, cost, count, integer, keep_apart, parse, real, setter, switch
from libsvmx.cli.process import (
    bytes_read,
    entry_of,
    follow,
    gap_ends_at,
    insist,
    phase,
    printer,
    tell,
    time_left,
    warn,
    watch,
    write,
)
from libsvmx.enums import KernelType, SolveStatus, SvmType
from libsvmx.exceptions import DataError, ParameterError, TooLittleMemory
from libsvmx.io import transcript
from libsvmx.io.files import STANDARD_OUTPUT
from libsvmx.io.modelfile import lost_by_writing, save_model
from libsvmx.io.outputs import check_target
from libsvmx.io.svmlight import DataFile, read_data

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.validation.cross_validation import CrossValidated
    from libsvmx._train.validation.leave_one_out import LeftOneOut
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._train.validation.seeded_inner_folds import SeededInnerFolds
    from libsvmx.cli.options import Setter

    Actions: TypeAlias = dict[str, Callable[[], None]]
    Grammar: TypeAlias = tuple[dict[str, Setter], Actions, dict[str, Setter], Actions]
else:
    import _signal as signal  # as in process.py

DIE, SAVE, ACCEPT = "die", "save", "accept"  # on Ctrl-C
SAVED_EARLY = 3  # exit code of SAVE, so that make does not take the model for a finished one
TEMPLATE = """\
usage: svmx-train [options] training_file [model_file]

Trains a support vector machine on LIBSVM data (plain, .gz, .xz, .bz2, or - for standard input)
and writes a LIBSVM model, by default <name of training_file>.model in the current folder. With -, the
model goes to standard output and other text to standard error.

Used most: -c C, -g gamma, -t kernel (0 linear, 2 RBF), -s 3 for regression, -v 5 for cross-validation,
-b 1 for probabilities, --solver auto for large data, and --explain before a long training.

options, LIBSVM's (only the letter counts, the last of equal options wins):
  -s type     0 C-SVC (default), 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR; and quantile, which LIBSVM lacks
  -t kernel   {kernels}
  -d degree   of the polynomial kernel (3)
  -g gamma    (1 / largest feature index); or one for each feature, as 0.1,0,2
  -r coef0    (0)
  -c C        cost of C-SVC and regressions (1); inf for a hard margin
  -n nu       of nu-SVC, one-class and nu-SVR (0.5)
  -p epsilon  width of the insensitive zone of epsilon-SVR (0.1)
  -m MB       memory for kernel rows, an upper bound (100)
  -e eps      tolerance of the stopping criterion (0.001)
  -h 0|1      shrinking (1)
  -b 0|1      probability estimates (0)
  -wL weight  multiply C by weight for class L, C-SVC only
  -W file     weights of the rows, one in a line: 2 counts a row twice, 0 ignores it
  -v n        n-fold cross-validation instead of a model; with one fold per row, C-SVC retrains only for rows that
              can change the result
  -q          quiet

more:
  --tau T                  of -s quantile: train the curve below which a share T of the targets lies (0.5)
  --repeats N              with -v: draw the folds N times; print each result, mean and standard deviation
{seeder}  --loo                    leave-one-out; retrains only for rows that can change the result
  --explain                train nothing: print what would be run, memory, and warnings about data and options
  --max-iter N             stop each solve after N iterations
  --time-limit SECONDS     stop after that time; a training saves the model so far, -v and --loo give no result
  --threads N              threads to use (OMP_NUM_THREADS, else all processors); results do not depend on it
{solver}  --on-interrupt WHAT      on Ctrl-C: die without a model (default), save the model so far and exit with code 3,
                           or accept it, with exit code 0
  --lenient                skip blank lines and comment lines in the data
  --report FILE            write a report of results and times, as JSON
  --help, --version
{settings}{seeders}"""


def kernel_item(kind: KernelType, text: str) -> str:
    """The usage of a kernel, for LIBSVM's with its number."""
    number = f"{kind.option} " if kind.is_libsvms else ""
    return f"{number}{text}{' (default)' if kind == Parameter().kernel_type else ''}"


def kernel_usage() -> str:
    """The kernels, in lines of at most 120 characters."""
    items = [kernel_item(kind, kind.usage) for kind in KernelType]
    lines = [items[0]]
    for item in items[1:]:
        if 14 + len(lines[-1]) + len(item) + 3 <= 120:
            lines[-1] += f", {item}"
        else:
            lines[-1] += ","
            lines.append(item)
    return ("\n" + 14 * " ").join(lines)


def usage() -> str:
    """The usage, with all kernels, solvers and seeders."""
    from libsvmx.cli.solveroptions import seeder_usage, seeders_usage, settings_usage, solver_usage

    return TEMPLATE.format(
        kernels=kernel_usage(),
        solver=solver_usage(),
        settings=settings_usage(),
        seeder=seeder_usage(),
        seeders=seeders_usage(),
    )


def __getattr__(name: str) -> str:
    if name == "USAGE":  # made on demand, since it loads all solvers
        return usage()
    raise AttributeError(name)


@record()
class Job:
    """The command line."""

    values: dict[str, object] = field(default_factory=dict)
    weights: list[tuple[int, float]] = field(default_factory=list)
    weight_file: str | None = None
    folds: int = 0
    repeats: int | None = None
    leave_one_out: bool = False
    seeding: Seeding | None = None
    quiet: bool = False
    lenient: bool = False
    explains: bool = False
    on_interrupt: str = DIE

    def set_weight(self, option: str, text: str) -> None:
        label = option[2:]
        self.weights.append((integer(option, label) if label else 0, cost(option, text)))

    def set_folds(self, option: str, text: str) -> None:
        self.folds = integer(option, text)
        if self.folds < 2:
            raise UsageError(f"option {option}: cross-validation needs at least 2 folds, not {text}")

    @property
    def validates(self) -> bool:
        """Whether the command validates instead of writing a model."""
        return self.folds > 0 or self.leave_one_out

    def set_seeding(self, option: str, text: str) -> None:
        from libsvmx._train.validation.scheme import Seeding

        part = "seeder" if option == "--seeder" else "scheme"
        try:
            self.seeding = replace(self.seeding or Seeding("auto"), **{part: text})
        except ParameterError as error:
            raise UsageError(f"option {option}: {error}") from None

    def set_interrupt(self, option: str, text: str) -> None:
        if text not in (DIE, SAVE, ACCEPT):
            raise UsageError(f"option {option} needs {DIE}, {SAVE} or {ACCEPT}, not {text!r}")
        self.on_interrupt = text

    def parameter(self) -> Parameter:
        """Raises UsageError."""
        if not self.values.keys() <= {own.name for own in fields(Parameter)}:
            from libsvmx.cli.solveroptions import check_takers

            check_takers(self.values)
        if "tau" in self.values and self.values.get("svm_type") != SvmType.QUANTILE_SVR:
            raise UsageError("option --tau needs -s quantile")
        try:
            param = changed(Parameter(weights=tuple(self.weights)), self.values)
        except ParameterError as error:
            raise UsageError(str(error)) from None
        if param.lacks_features:
            raise UsageError(
                f"solver {param.solver.name} needs explicit features: -t 0, or -t 1 with -d 2 and -r of 0 or more, or "
                "of any kernel a low-rank approximation, --rank N or --rank-error E"
            )
        return param


def grammar(job: Job, argv: Sequence[str]) -> Grammar:
    """Letters, flags, names and switches for ``parse`` that fill in ``job``; solvers' options only if ``argv`` has a
    long one, which saves loading them."""

    def value(name: str, read: Callable[[str, str], object] = real) -> Setter:
        return setter(job.values, name, read)

    def formulation(option: str, text: str) -> None:
        try:
            own = next((one for one in SvmType if one.option == text), None)
            job.values["svm_type"] = integer(option, text) if own is None else own
        except UsageError as error:
            raise UsageError(f"{error}{number_of(text)}") from None

    def kernel(option: str, text: str) -> None:
        found = kernel_named(text)
        if found is None:
            try:
                number = integer(option, text)
            except UsageError:
                number = -1
            found = next((kind for kind in KernelType if kind == number and kind.is_libsvms), None)
        if found is None:
            from libsvmx._core.suggestions import unknown

            known = [kind.keyword for kind in KernelType]
            shown = [f"{kind.option} {kind.keyword}" if kind.is_libsvms else kind.keyword for kind in KernelType]
            raise UsageError(f"option {option}: {unknown('kernel', text, known, shown)}")
        job.values["kernel_type"] = found

    letters: dict[str, Setter] = {
        "s": formulation,
        "t": kernel,
        "d": value("degree", integer),
        "g": value("gamma", numbers),
        "r": value("coef0"),
        "n": value("nu"),
        "m": value("cache_size"),
        "c": value("C", cost),
        "e": value("eps"),
        "p": value("p"),
        "h": value("shrinking", switch),
        "b": value("probability", switch),
        "v": job.set_folds,
        "w": job.set_weight,
        "W": setter(vars(job), "weight_file"),
    }

    names: dict[str, Setter] = {
        "--max-iter": value("max_iter", integer),
        "--time-limit": value("time_limit"),
        "--threads": value("threads", count),
        "--repeats": setter(vars(job), "repeats", count),
        "--seeder": job.set_seeding,
        "--seeder-scheme": job.set_seeding,
        "--on-interrupt": job.set_interrupt,
        "--tau": value("tau"),
        "--solver": setter(job.values, "solver"),
    }
    switches: dict[str, Callable[[], None]] = {
        "--lenient": lambda: setattr(job, "lenient", True),
        "--loo": lambda: setattr(job, "leave_one_out", True),
        "--explain": lambda: setattr(job, "explains", True),
    }
    if any(word.startswith("--") for word in argv):
        from libsvmx.cli.solveroptions import asked_solvers, solver_grammar

        solver_names, solver_switches = solver_grammar(job.values, asked_solvers(argv))
        names |= solver_names
        switches |= solver_switches
    flags = {"q": lambda: setattr(job, "quiet", True)}
    return letters, flags, names, switches


def number_of(text: str) -> str:
    """``; nu-svc is 1`` for the name of a formulation in place of its number; ``svc`` and ``svr`` stand for several."""
    from libsvmx._core.suggestions import nearest

    by_name = {one.name.lower().replace("_", "-"): one for one in SvmType}
    names = [name for name in by_name if name.endswith(f"-{text.lower()}")]
    if not names and (likely := nearest(text, by_name)):
        names = [likely]
    found = ", ".join(f"{name} is {by_name[name].option}" for name in names)
    return f"; {found}" if found else ""


def numbers(option: str, text: str) -> float | tuple[float, ...]:
    """A finite number, or several with commas."""
    return tuple(real(option, word) for word in text.split(",")) if "," in text else real(option, text)


def parse_arguments(argv: list[str]) -> tuple[Job, Parameter, str, str]:
    """Job, parameters, training file and model file of a command line."""
    job = Job()
    letters, flags, names, switches = grammar(job, argv)
    files = parse(argv, letters, flags, names, switches, usage, "svmx-train")
    if not files:
        raise UsageError("no training file" if argv else "")
    if job.weight_file == "-" and files[0] == "-":
        raise UsageError("rows and weights cannot both come from standard input")
    if job.leave_one_out and job.folds:
        raise UsageError("options -v and --loo exclude each other")
    if job.repeats is not None and not job.folds:
        raise UsageError("option --repeats needs -v")
    if job.leave_one_out and job.seeding and job.seeding.seeder == "none":
        raise UsageError("--loo starts from a training over all rows; for cold starts use -v with the number of rows")
    param = job.parameter()
    if job.seeding and not (job.validates or param.probability):
        raise UsageError("options --seeder and --seeder-scheme need -v, --loo or -b 1")
    if job.leave_one_out or (job.seeding and job.seeding.seeder != "none"):
        try:
            param.solver.require("may_be_seeded")
            param.require_finite_cost("seeding or --loo")
        except ParameterError as error:
            raise UsageError(str(error)) from None
    default_model = ("stdin" if files[0] == "-" else os.path.basename(files[0])) + ".model"
    return job, param, files[0], files[1] if len(files) > 1 else default_model


class StopFlag:
    """Ctrl-C asks to stop; a second one kills."""

    def __init__(self) -> None:
        self.raised = False

    def listen(self) -> None:
        signal.signal(signal.SIGINT, self._raise)

    def _raise(self, signum: int, frame: object) -> None:
        self.raised = True
        interrupts.after_first()


# About models of trainings that ended early.
OF_AN_UNFINISHED_MODEL = (
    Remark.TIME_LIMIT,
    Remark.INTERRUPTED,
    Remark.PROBABILITY_UNFINISHED,
    Remark.PAIRS_NOT_BEGUN,
)


class Transcript(transcript.TrainingReport):
    """Transcript(job, say): prints svm-train's transcript by ``say``, and handles Ctrl-C.

    A validation that ends early has no model, so remarks about it are left out.
    """

    def __init__(self, job: Job, say: Callable[[str], None]) -> None:
        super().__init__((lambda text: None) if job.quiet else say, warn, insist)
        self.job, self.flag = job, StopFlag()
        if job.quiet:  # without its own methods no reports are made, of which there may be hundreds of thousands
            for name in ("mark", "solved"):
                setattr(self, name, getattr(Observer, name).__get__(self))

    def should_stop(self) -> bool:
        return self.flag.raised

    def solved_with_marks(self, marks: Sequence[str], report: SolveReport) -> None:
        """Print in one write: there may be hundreds of thousands of solves, and writes take most of the time."""
        say, texts = self.write, list[str]()
        self.write = texts.append
        try:
            super().solved_with_marks(marks, report)
        finally:
            self.write = say
        say("".join(texts))

    def remark(self, kind: Remark, detail: str = "") -> None:
        if not (self.job.validates and kind in OF_AN_UNFINISHED_MODEL):
            super().remark(kind, detail)


def cross_validated(job: Job, problem: Problem, param: Parameter, observer: Observer) -> CrossValidated | LeftOneOut:
    """Predictions of all rows by models trained without them, and a report."""
    # imported on use, which saves time at the start of a training
    from libsvmx._train.validation.cross_validation import cross_validate
    from libsvmx._train.validation.leave_one_out import leave_one_out, replaces_n_folds
    from libsvmx._train.validation.scheme import Seeding

    if job.leave_one_out:
        seeder = job.seeding.seeder if job.seeding else "auto"
        return leave_one_out(problem, param, Rand(), observer, seeder, with_values=False)
    repeats = job.repeats or 1
    if repeats == 1 and not job.seeding and 2 <= len(problem) <= job.folds and replaces_n_folds(param):
        if job.folds > len(problem):
            observer.remark(Remark.MORE_FOLDS_THAN_ROWS, f"{job.folds} {len(problem)}")
        return leave_one_out(problem, param, Rand(), observer, with_values=False, exact=True)
    seeding = job.seeding or Seeding()
    return cross_validate(problem, param, job.folds, Rand(), observer, seeding, with_values=False, repeats=repeats)


def inner_folds_of(job: Job, param: Parameter) -> SeededInnerFolds | None:
    """Warm starts of the inner folds of probability estimates, if asked for."""
    if not job.seeding:
        return None
    from libsvmx._train.validation.seeded_inner_folds import seeded_inner_folds

    return seeded_inner_folds(job.seeding, param)


def rows_read(path: str, lenient: bool, threads: int) -> DataFile:
    """Read a data file, and print its remarks."""
    with phase("reading", path):
        data = read_data(path, lenient=lenient, threads=threads or None, told=bytes_read())
    tell("data", data)
    for remark in data.remarks:
        warn(remark)
    return data


def with_factors(data: DataFile, param: Parameter, first_index: int = 1, needs_all: bool = False) -> CsrMatrix:
    """The rows, each feature scaled by its factor of gamma if there are several; see ``scaled_rows``. Raises
    FormatError."""
    with data.located():
        return scaled_rows(data.matrix, param, first_index, needs_all)


def warn_of_index_zero(data: DataFile, param: Parameter) -> None:
    """Warn of a feature with index 0, unless the kernel is precomputed."""
    if param.kernel_type != KernelType.PRECOMPUTED and has_index_zero(data.matrix):
        warn(f"{data.path}: there is a feature with index 0; indices should start from 1")


def row_weights(path: str | None, data: DataFile, lenient: bool) -> Buffer | None:
    """The weights of the rows of ``data``; None without a file, or if all are 1. Raises OSError, FormatError."""
    if path is None:
        return None
    from libsvmx.io.weightfile import read_weights

    return read_weights(path, data.matrix.n_rows, lenient=lenient)


def gap_at_end(problem: Problem, param: Parameter) -> float:
    """The gap at the end of a training with a single solve; else 0."""
    if param.probability or (param.svm_type.is_classification and len(set(problem.targets)) > 2):
        return 0.0
    return param.eps


def explain(job: Job, problem: Problem, param: Parameter, training_file: str, model_file: str) -> None:
    """Print the text of --explain."""
    from libsvmx._core.memory import load_numpy
    from libsvmx.cli.plan import text_of_plan

    load_numpy()
    from libsvmx._train.advice import plan_of

    with phase("explaining"):
        plan = plan_of(problem, param)
    tell("explanation", plan.as_dict())
    more = ["-q"] if job.quiet else []
    more += ["--lenient"] if job.lenient else []
    more += ["--on-interrupt", job.on_interrupt] if job.on_interrupt != DIE else []
    more += ["-W", job.weight_file] if job.weight_file else []
    more += ["-v", str(job.folds)] if job.folds else ["--loo"] if job.leave_one_out else []
    more += ["--repeats", str(job.repeats)] if job.repeats is not None else []
    if job.seeding:
        more += ["--seeder", job.seeding.seeder]
        more += ["--seeder-scheme", job.seeding.scheme] if job.seeding.scheme else []
    write(text_of_plan(plan, training_file, more, [] if job.validates else [model_file]))


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job, param, training_file, model_file = parse_arguments(argv)
    if not (job.validates or job.explains):
        check_target(model_file)
        keep_apart([training_file, job.weight_file], model_file, "model")
    say = printer(None if job.validates or job.explains else model_file)
    watch(job.quiet, None if job.validates or job.explains else model_file)
    if not (job.validates or job.explains or job.quiet) and (lost := lost_by_writing(model_file)):
        warn(f"{model_file} is {lost}, and the model is going to replace it")
    printed = Transcript(job, say)
    follow(printed)
    observer = limited(printed, time_left(param.time_limit))
    data = rows_read(training_file, job.lenient, param.threads)
    warn_of_index_zero(data, param)
    matrix = with_factors(data, param, needs_all=True)
    problem = Problem(matrix, data.targets, sample_weight=row_weights(job.weight_file, data, job.lenient))
    param = default_gamma(param, data.matrix.max_index)
    gap_ends_at(lambda: 0.0 if job.validates else gap_at_end(problem, param))
    if job.on_interrupt != DIE:
        printed.flag.listen()
    elif not (job.validates or job.explains or model_file == STANDARD_OUTPUT):
        kept = "is as it was" if os.path.lexists(model_file) else "is not written"
        on_interrupt_say("svmx-train", f"interrupted: {model_file} {kept}")
    try:
        if job.explains:
            explain(job, problem, param, training_file, model_file)
            return 0
        if job.validates:
            from libsvmx._train.metrics import scores_of_repeats

            with phase("validating"):
                found = cross_validated(job, problem, param, observer)
            scores = scores_of_repeats(found.predicted, data.targets, param.quantile)
            # one-class counts as classification, as in LIBSVM
            say(transcript.cross_validation(scores, param.svm_type.is_regression))
            tell("validation", found, param, data.targets)
            return 0
        with phase("training"):
            inner = inner_folds_of(job, param)
            model = train_problem(problem, param, Rand(), observer, inner=inner)
    except DataError as error:
        raise data.locate(error) from error
    except TooLittleMemory:
        raise
    except MemoryError as error:
        raise MemoryError(f"{str(error) or 'training'}; a smaller -m needs less") from error
    tell("training", model)
    on_interrupt_say("svmx-train", "")  # from now on the model may be written
    with phase("writing"), tidy_end():
        save_model(model_file, model)
    # Ctrl-C after the last solve has no effect on the model
    lacking = SolveStatus.INTERRUPTED in model.statuses or model.param.probability != param.probability
    return SAVED_EARLY if printed.flag.raised and lacking and job.on_interrupt == SAVE else 0


entry = entry_of("svmx-train", main, usage)

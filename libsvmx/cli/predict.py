"""svmx-predict: svm-predict's options, output and files."""

from __future__ import annotations

from itertools import chain

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.records import record
from libsvmx._core.threads import thread_count
from libsvmx._train.gamma import scaled_rows
from libsvmx._train.metrics import Scores
from libsvmx._train.observer import Remark
from libsvmx._train.prediction import Predictor, predict_probability
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.cli.ending import tidy_end
from libsvmx.cli.options import UsageError, count, keep_apart, parse, setter, switch
from libsvmx.cli.process import counted, entry_of, phase, printer, tell, tick, warn, watch
from libsvmx.exceptions import SvmxError
from libsvmx.io import transcript
from libsvmx.io.files import STANDARD_INPUT, size_of
from libsvmx.io.modelfile import load_model
from libsvmx.io.outputs import atomic_write, check_target
from libsvmx.io.svmlight import PART_BYTES, BatchReader
from libsvmx.io.textwrite import numbers_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._train.model import Model

USAGE = """\
usage: svmx-predict [options] test_file model_file output_file

Predicts the rows of a LIBSVM data file (plain, .gz, .xz, .bz2, or - for standard input) with a
LIBSVM model and writes one prediction a line. output_file - is standard output; what else would be
printed there goes to standard error then.

options, LIBSVM's:
  -b 0|1   probability estimates, for a model trained with -b 1 (0)
  -q       quiet

more:
  --threads N    threads to use (OMP_NUM_THREADS, else all processors); the output does not depend on it
  --unlabeled    lines of the test file have no label; no accuracy is printed
  --lenient      skip blank lines and comment lines in the data
  --report FILE  write a report of results and times, as JSON
  --help, --version
"""


# Number of decision values held at a time, 32 MB.
SLICE_VALUES = 1 << 22


@record()
class Job:
    """The command line, and the size of the work."""

    probability: bool = False
    quiet: bool = False
    lenient: bool = False
    unlabeled: bool = False
    threads: int | None = None
    slice_values: int = SLICE_VALUES
    part_bytes: int = PART_BYTES


def main(argv: list[str], job: Job | None = None) -> int:
    """The command, given its arguments and further messages; returns its exit code."""
    job = job or Job()
    files = parse(
        argv,
        {"b": setter(vars(job), "probability", switch)},
        {"q": lambda: setattr(job, "quiet", True)},
        {"--threads": setter(vars(job), "threads", count)},
        {
            "--unlabeled": lambda: setattr(job, "unlabeled", True),
            "--lenient": lambda: setattr(job, "lenient", True),
        },
        USAGE,
        "svmx-predict",
    )
    if len(files) < 3:
        raise UsageError("a test file, a model file and an output file are needed" if argv else "")
    test_file, model_file, output_file = files[:3]
    if test_file == model_file == STANDARD_INPUT:
        raise UsageError("standard input can be the test file or the model file, not both")
    check_target(output_file)
    keep_apart([test_file, model_file], output_file, "output")
    watch(job.quiet, output_file)
    with phase("reading", model_file):
        model = load_model(model_file, warn)
    if job.probability and not model.has_probability:
        raise SvmxError(f"{model_file}: the model has no probability estimates; train it with -b 1")
    # labels are only compared with predictions, so nan is accepted, as in LIBSVM
    reader = BatchReader(
        test_file, lenient=job.lenient, unlabeled=job.unlabeled, part_bytes=job.part_bytes, any_label=True
    )
    batches = iter(reader)
    first = next(batches)  # errors of a small file come before anything is printed or written
    info = (lambda text: None) if job.quiet else printer(output_file)
    if model.has_probability and not job.probability:
        info(transcript.PROBABILITY_UNUSED)
    elif job.probability and model.param.svm_type.is_regression:
        info(transcript.LAPLACE.format(space="", sigma=model.sigmoid_a[0]))  # type: ignore[index]
    predictions = Predictions(model, job)
    scores, n_rows, n_bytes = Scores(), 0, size_of(test_file)
    with phase("predicting", test_file), tidy_end(), atomic_write(output_file) as output:
        output.write(predictions.header)
        for batch in chain([first], batches):
            with batch.located():
                matrix = scaled_rows(batch.matrix, model.param, model.vectors.first_index)
            for rows in slices(matrix.n_rows, predictions.slice_rows):
                with batch.located(rows[0]):
                    labels, lines = predictions.of(matrix, rows)
                output.write(lines)
                n_rows += len(rows)
                if not job.unlabeled:
                    targets = batch.targets[rows[0] : rows[0] + len(rows)]
                    scores.add(labels, targets)
                    predictions.compare(targets)
            counted("", min(reader.bytes_read, n_bytes), n_bytes)
    for remark in reader.remarks:
        warn(remark)
    if predictions.unfinished:
        warn(transcript.REMARKS[Remark.COUPLING_LIMIT].format(detail=predictions.unfinished))
    if not job.unlabeled:
        info(transcript.prediction(scores, model.param.svm_type.is_regression))
        if scores.total and not predictions.known_label:
            known = " ".join(map(str, model.class_labels or ()))
            warn(f"{test_file}: no row has a label of the model, which knows {known}: the accuracy says nothing")
    tell("prediction", test_file, model_file, scores, n_rows, model.param.svm_type.is_regression)
    return 0


class Predictions:
    """Predictions(model, job): lines of the output file for rows.

    Attributes
    ----------
    header : bytes         first line of the output file, or nothing
    slice_rows : int       number of rows to read at a time
    unfinished : int       number of rows so far whose pairwise coupling met its iteration limit
    known_label : bool     whether a row so far has a label of the model (True for a model without labels)
    """

    def __init__(self, model: Model, job: Job) -> None:
        self.model = model
        self.predictor = Predictor(model, thread_count(job.threads), tick)
        self.estimate = job.probability and not model.param.svm_type.is_regression
        self.unfinished = 0
        self.known_label = model.class_labels is None
        self.slice_rows = max(1, job.slice_values // max(1, len(model.offsets)))
        self.header = b""
        if self.estimate:
            names = model.class_labels
            words = ["label", "normal", "outlier"] if names is None else ["labels", *map(str, names)]
            self.header = " ".join(words).encode("ascii") + b"\n"

    def compare(self, targets: Buffer) -> None:
        """Record the labels of rows in the data."""
        self.known_label = self.known_label or not set(self.model.class_labels or ()).isdisjoint(targets)

    def of(self, matrix: CsrMatrix, rows: Buffer) -> tuple[Buffer, bytes]:
        """Labels or targets of rows, and their lines: by %.17g, or label and probabilities by %g."""
        if not self.estimate:
            labels = self.predictor.labels(matrix, rows)
            return labels, numbers_text(labels, 1, 17)
        labels, estimates, unfinished = predict_probability(self.model, matrix, rows, self.predictor)
        self.unfinished += unfinished
        k = self.model.nr_class
        table = zeros("d", len(labels) * (k + 1))
        for i, label in enumerate(labels):
            table[i * (k + 1)] = label
            table[i * (k + 1) + 1 : (i + 1) * (k + 1)] = estimates[i * k : (i + 1) * k]
        return labels, numbers_text(table, k + 1, 6)


def slices(n: int, size: int) -> Iterator[Buffer]:
    """The numbers 0, 1, …, n-1 in buffers of int32 of at most ``size``."""
    every = ramp(n)
    for begin in range(0, n, size):
        yield every[begin : begin + size]


entry = entry_of("svmx-predict", main, USAGE)

"""svmx-predict: svm-predict's options, output and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from libsvmx._core.buffers import zeros
from libsvmx._train.metrics import Scores
from libsvmx._train.prediction import predict_labels, predict_probability
from libsvmx._train.problem import Problem
from libsvmx.cli import report
from libsvmx.cli.options import UsageError, parse, switch
from libsvmx.cli.process import run, tidy_interrupt, warn, write
from libsvmx.cli.version import version_text
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, SvmxError
from libsvmx.io.files import STANDARD_INPUT, atomic_write, check_target, same_file
from libsvmx.io.modelfile import load_model
from libsvmx.io.svmlight import read_data
from libsvmx.io.textwrite import numbers_text

if TYPE_CHECKING:
    from libsvmx._train.model import Model
    from libsvmx._typing import Buffer

USAGE = """\
usage: svmx-predict [options] test_file model_file output_file

Predicts the rows of a LIBSVM data file (plain, .gz, .xz, .bz2, or - for standard input) with a
LIBSVM model and writes one prediction a line.

options, LIBSVM's:
  -b 0|1   probability estimates, for a model trained with -b 1 (0)
  -q       quiet

more:
  --unlabeled   lines of the test file have no label; no accuracy is printed
  --lenient     skip blank lines and comment lines in the data
  --help, --version
"""


@dataclass
class Job:
    """What the command line asks for."""

    probability: bool = False
    quiet: bool = False
    lenient: bool = False
    unlabeled: bool = False

    def set_probability(self, option: str, text: str) -> None:
        self.probability = switch(option, text)


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = Job()
    files = parse(
        argv,
        {"b": job.set_probability},
        {"q": lambda: setattr(job, "quiet", True)},
        {},
        {
            "--unlabeled": lambda: setattr(job, "unlabeled", True),
            "--lenient": lambda: setattr(job, "lenient", True),
        },
        USAGE,
        version_text("svmx-predict"),
    )
    if len(files) < 3:
        raise UsageError("a test file, a model file and an output file are needed" if argv else "")
    test_file, model_file, output_file = files[:3]
    if test_file == model_file == STANDARD_INPUT:
        raise UsageError("standard input can be the test file or the model file, not both")
    check_target(output_file)
    for name in (test_file, model_file):
        if same_file(name, output_file):
            raise UsageError(f"the output file is the same as {name}, which would be lost")
    model = load_model(model_file)
    if job.probability and not model.has_probability:
        raise SvmxError(f"{model_file}: the model has no probability estimates; train it with -b 1")
    data = read_data(test_file, lenient=job.lenient, unlabeled=job.unlabeled)
    for remark in data.remarks:
        warn(remark)
    info = (lambda text: None) if job.quiet else write
    if model.has_probability and not job.probability:
        info(report.PROBABILITY_UNUSED)
    elif job.probability and model.param.svm_type.is_regression:
        info(report.LAPLACE.format(space="", sigma=model.sigmoid_a[0]))  # type: ignore[index]
    rows = Problem(data.matrix, data.targets).rows
    try:
        if job.probability:
            labels, estimates, unfinished = predict_probability(model, data.matrix, rows)
            if unfinished:
                warn(report.REMARKS["coupling limit"].format(detail=unfinished))
        else:
            labels = predict_labels(model, data.matrix, rows)
            estimates = None
    except DataError as error:
        raise data.locate(error) from error
    with tidy_interrupt(), atomic_write(output_file) as output:
        output.write(output_text(model, labels, estimates))
    if not job.unlabeled:
        scores = Scores()
        scores.add(labels, data.targets)
        info(report.prediction(scores, model.param.svm_type.is_regression))
    return 0


def output_text(model: Model, labels: Buffer, estimates: Buffer | None) -> bytes:
    """The output file: labels by %.17g, or a header and rows of label and probabilities by %g."""
    if estimates is None or model.param.svm_type.is_regression:
        return numbers_text(labels, 1, 17)
    k, n = model.nr_class, len(labels)
    if model.param.svm_type == SvmType.ONE_CLASS:
        head = "label normal outlier\n"
    else:
        head = "labels" + "".join(f" {label}" for label in model.class_labels or ()) + "\n"
    table = zeros("d", n * (k + 1))
    for i in range(n):
        table[i * (k + 1)] = labels[i]
        table[i * (k + 1) + 1 : (i + 1) * (k + 1)] = estimates[i * k : (i + 1) * k]
    return head.encode("ascii") + numbers_text(table, k + 1, 6)


def entry() -> None:
    """The console script."""
    run("svmx-predict", main, USAGE)

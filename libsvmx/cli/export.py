"""svmx-export: a model as a program, or for one: C, JSON, ONNX."""

from __future__ import annotations

from libsvmx._core import memory
from libsvmx._core.records import record
from libsvmx.cli.ending import tidy_end
from libsvmx.cli.options import UsageError, count, keep_apart, parse, setter
from libsvmx.cli.process import entry_of, phase, tell, warn, watch
from libsvmx.io.exporting import DTYPES, check_format, export_model, format_of
from libsvmx.io.modelfile import load_model
from libsvmx.io.outputs import check_target

USAGE = """\
usage: svmx-export [options] model_file output_file

Writes a LIBSVM model (- for standard input) as a program in C99, or as JSON or ONNX (- is standard
output).

options:
  --format c|json|onnx      by default what output_file ends with, .json or .onnx, else c
  --dtype float64|float32   numbers of tables and sums in C and ONNX (float64)
  --name NAME               functions in C are NAME_predict, NAME_decision_values, … (model)
  --features N              rows have N features; by default as many as the support vectors need
  --report FILE             write a report of results and times, as JSON
  --help, --version
"""


@record()
class Job:
    """What the command line asks for."""

    format: str = ""
    dtype: str = DTYPES[0]
    name: str = "model"
    features: int | None = None


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = Job()
    names = {f"--{word}": setter(vars(job), word) for word in ("format", "dtype", "name")}
    names["--features"] = setter(vars(job), "features", count)
    files = parse(argv, {}, {}, names, {}, USAGE, "svmx-export")
    if len(files) != 2:
        raise UsageError("a model file and an output file are needed" if argv else "")
    model_file, output_file = files
    format = job.format or format_of(output_file)
    check_format(format, job.dtype, job.name)
    check_target(output_file)
    keep_apart([model_file], output_file, "output")
    watch(False, output_file)
    with phase("reading", model_file):
        model = load_model(model_file, warn)
    if format == "onnx":
        memory.load_numpy()
    with phase("writing"), tidy_end():
        export_model(model, output_file, format, job.dtype, job.name, job.features)
    tell("exported", model, output_file, format, job.dtype)
    return 0


entry = entry_of("svmx-export", main, USAGE)

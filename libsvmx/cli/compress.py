"""svmx-compress: a model with fewer support vectors, and a bound on the change."""

from __future__ import annotations

from libsvmx._core import memory
from libsvmx._core.records import record
from libsvmx.cli.ending import tidy_end
from libsvmx.cli.options import UsageError, count, keep_apart, parse, real, setter
from libsvmx.cli.process import entry_of, phase, printer, tell, warn, watch
from libsvmx.io import transcript
from libsvmx.io.modelfile import load_model, save_model
from libsvmx.io.outputs import check_target

USAGE = """\
usage: svmx-compress --max-sv N | --tol X [options] model_file output_file

Writes a LIBSVM model (- for standard input) again with fewer support vectors (- is standard output),
and prints a bound on the change of any decision value; with kernels other than RBF, multiply it by
sqrt(K(x, x)).

options:
  --max-sv N     keep at most N support vectors
  --tol X        or: as few as possible with a bound of at most X
  --threads N    threads to use (OMP_NUM_THREADS, else all processors); the model does not depend on it
  --report FILE  write a report of results and times, as JSON
  --help, --version
"""


@record()
class Job:
    """The command line."""

    max_sv: int | None = None
    tol: float | None = None
    threads: int = 0


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = Job()
    names = {
        "--max-sv": setter(vars(job), "max_sv", count),
        "--tol": setter(vars(job), "tol", real),
        "--threads": setter(vars(job), "threads", count),
    }
    files = parse(argv, {}, {}, names, {}, USAGE, "svmx-compress")
    if len(files) != 2:
        raise UsageError("a model file and an output file are needed" if argv else "")
    model_file, output_file = files
    if (job.max_sv is None) == (job.tol is None):
        raise UsageError("either --max-sv or --tol is needed")
    check_target(output_file)
    keep_apart([model_file], output_file, "output")
    watch(False, output_file)
    with phase("reading", model_file):
        model = load_model(model_file, warn)
    memory.load_blas()
    from libsvmx.api.compressing import compress

    with phase("compressing"):
        found = compress(model, max_sv=job.max_sv, tol=job.tol, threads=job.threads)
    with phase("writing"), tidy_end():
        save_model(output_file, found.model)
    bound = float(max(found.bounds, default=0.0))
    tell("compression", found.n_before, found.model.n_sv, bound)
    printer(output_file)(transcript.COMPRESSED.format(before=found.n_before, after=found.model.n_sv, bound=bound))
    return 0


entry = entry_of("svmx-compress", main, USAGE)

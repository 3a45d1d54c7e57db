"""svm_train of LIBSVM's Python module and of libsvmx.svmutil on small sets, where a call costs as much as training."""

import hashlib
import statistics
import tempfile
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import ClassVar

from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import Unavailable, measure, timed
from tools.bench.protocol import Found, Job, remarks, rows_of
from tools.bench.report import Table, milliseconds
from tools.bench.turns import Run, take_turns

ORACLE, OURS = "libsvm", "libsvmx"
CALLS = {"train": "", "-b 1": "-b 1", "-v 10": "-v 10", "-v 5 -b 1": "-v 5 -b 1"}
ALL, BEST_OF = "-q -c 4 -g 0.1", 5
SETS = ("iris.scale", "wine.scale", "glass.scale", "vowel.scale", "svmguide2", "heart_scale", "sonar_scale")
SETS += ("ionosphere_scale", "australian", "diabetes")
COLUMNS = {f"{call} ms": lambda found, run, call=call: milliseconds(run.median(call)) for call in CALLS}


class Small(Job):
    name = "small"
    explained = f"""\
CPU milliseconds of svm_train(problem, parameter) with {ALL}, both made before, one thread: the best of {BEST_OF} calls.
Accuracies of cross-validation, and model files, are compared."""
    parts: ClassVar = {}

    def every_case(self, options):
        return [Case(name, name) for name in SETS]

    def run(self, case, options):
        npz = datasets.prepare(case, options.data, options.cache)
        dataset = datasets.load(npz)
        found = Found(case, "", len(dataset.targets), int(dataset.indices.max(initial=1)))
        for way in (ORACLE, OURS):
            job = {"call": "jobs.small:calls", "npz": str(npz), "way": way}
            found.runs.append(Run(way, partial(measure, job, 1, options.timeout)))
        take_turns(found.runs, options.repeat, options.max_seconds_once)
        return found

    def table(self, found):
        return Table(found.title(), rows_of(found, COLUMNS), remarks(self, found))

    def tables(self, results):
        """LIBSVM's time as a multiple of libsvmx's."""
        rows = [("LIBSVM / libsvmx", *CALLS)]
        rows += [(found.case.name, *(f"{times(found, call):.2f}" for call in CALLS)) for found in results]
        rows.append(("geometric mean", *(f"{mean_of_times(results, [call]):.2f}" for call in CALLS)))
        return [Table("Times as fast", rows)]

    def wrong(self, found):
        ours, theirs = found.last(OURS).get("said"), found.last(ORACLE).get("said")
        return ["DIFFER: models or rates are not LIBSVM's"] if ours and theirs and ours != theirs else []


def times(found, call):
    """LIBSVM's time of a call as a multiple of libsvmx's."""
    return found.run(ORACLE).median(call) / found.run(OURS).median(call)


def mean_of_times(results, calls=tuple(CALLS)):
    return statistics.geometric_mean(times(found, call) for found in results for call in calls)


def calls(job):
    """In a child: {npz, way}"""
    try:
        svmutil = import_module(f"{job['way']}.svmutil")
    except ImportError:
        raise Unavailable(f"{job['way']} is not installed") from None
    dataset = datasets.load(job["npz"])
    ends = list(zip(dataset.indptr[:-1], dataset.indptr[1:], strict=True))
    x = [dict(zip(dataset.indices[a:b].tolist(), dataset.values[a:b].tolist(), strict=True)) for a, b in ends]
    problem = svmutil.svm_problem(dataset.targets.tolist(), x)
    parameters = {call: svmutil.svm_parameter(f"{ALL} {options}") for call, options in CALLS.items()}
    trainings = {call: partial(svmutil.svm_train, problem, own) for call, own in parameters.items()}
    # compared first: the folds of a call depend on the random numbers used before
    said = repr([said_by(train(), svmutil) for train in trainings.values()])
    told = {call: min(timed(train) for _ in range(BEST_OF)) for call, train in trainings.items()}
    return {"seconds": told["train"], **told, "said": hashlib.sha256(said.encode()).hexdigest()}


def said_by(found, svmutil):
    """The result to compare: the accuracy of a cross-validation, or the model file."""
    if isinstance(found, float):
        return found
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        svmutil.svm_save_model(str(path), found)
        return path.read_bytes()


JOBS = {"small": Small()}

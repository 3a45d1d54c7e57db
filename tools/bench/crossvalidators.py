"""Cross-validations in a child: LIBSVM's fold by fold within a time budget, libsvmx's by one call.

Each takes (dataset, job) and returns the result. LIBSVM appends a line of JSON to the file ``job["records"]`` after
every fold or grid point, so that one that has to be stopped leaves what it has.
"""

from __future__ import annotations

import ctypes
import json
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from tools.bench.datasets import csr_matrix, parameter

SUMMED = ("iterations", "seeding_seconds", "solving_seconds", "rows_computed", "values_computed")
TOLD = (*SUMMED, "objective", "rho", "n_sv", "seeder", "gap", "status")
MAX_FOLDS_TOLD = 100  # of more, as in leave-one-out, only sums are told


def timed(work):
    """CPU seconds: all run on one thread, for minutes, beside whatever else the machine does."""
    start = time.process_time()
    work()
    return time.process_time() - start


def folds_of(targets, n_folds):
    """(order, bounds) of LIBSVM's folds for labels ``targets``: fold f is order[bounds[f]:bounds[f+1]]."""
    from libsvmx._core.rand import Rand
    from libsvmx._train import folds

    if n_folds < len(targets):
        order, bounds = folds.stratified_folds(targets, n_folds, Rand(1))
    else:
        order, bounds = folds.plain_folds(len(targets), len(targets), Rand(1))
    return np.asarray(order), bounds


def libsvm_folds(dataset, job):
    """{folds, seconds}: as many folds as fit into ``seconds``, at least one, each trained and predicted by itself.

    A line {fold, seconds, iterations, rows, predictions} for each.
    """
    from tools.bench.peers import libsvm as peer

    training = peer.Training(dataset, job["options"])
    order, bounds = folds_of(dataset.targets, job["folds"])
    predictions = []
    spent = 0.0

    def fold(problem, held_out):
        model = peer.toPyModel(peer.libsvm.svm_train(problem, training.param))
        predictions.extend(peer.libsvm.svm_predict(model, training.nodes.pointers[row]) for row in held_out)

    for done, (begin, end) in enumerate(pairwise(bounds)):
        if done and spent + spent / done > job["seconds"]:
            break
        held_out = order[begin:end].tolist()
        problem = training.part(dataset, np.concatenate([order[:begin], order[end:]]))
        predictions.clear()
        training.printed.clear()
        seconds = timed(lambda problem=problem, held_out=held_out: fold(problem, held_out))
        spent += seconds
        line = {"fold": done, "seconds": seconds, "iterations": training.iterations()}
        write_line(job, {**line, "rows": held_out, "predictions": predictions})
    return {}


def libsvm_points(dataset, job):
    """{folds, seconds, points}: svm_cross_validation at as many points (log2 C, log2 gamma) as fit into ``seconds``.

    A line {point, seconds, iterations, right} for each; ``right`` counts rows predicted as they should be.
    """
    from tools.bench.peers import libsvm as peer

    training = peer.Training(dataset, job["options"])
    predicted = (ctypes.c_double * len(dataset.targets))()
    spent = 0.0
    for done, (log2c, log2g) in enumerate(job["points"]):
        if done and spent + spent / done > job["seconds"]:
            break
        training.param.C, training.param.gamma = 2.0**log2c, 2.0**log2g
        training.printed.clear()
        ctypes.CDLL(None).srand(1)  # a process for each point, as svm-train is started
        seconds = timed(
            lambda: peer.libsvm.svm_cross_validation(training.problem, training.param, job["folds"], predicted)
        )
        spent += seconds
        line = {"point": [log2c, log2g], "seconds": seconds, "iterations": training.iterations()}
        write_line(job, {**line, "right": int(np.sum(np.asarray(predicted) == dataset.targets))})
    return {}


def write_line(job, line):
    with Path(job["records"]).open("a", encoding="utf-8") as records:
        records.write(json.dumps(line) + "\n")


def svmx_folds(dataset, job):
    """{folds, seeder, scheme, predictions}: predictions of all rows go into the .npy file of that name.

    ``seeder`` is "none" for LIBSVM's path; ``scheme`` is "chain", "star", or "" for the library's own choice.
    """
    import libsvmx

    choice = {"seeder": job["seeder"], "scheme": job["scheme"]}
    return called(dataset, job, libsvmx.cross_validate, job["folds"], **choice)


def svmx_leave_one_out(dataset, job):
    """{predictions}"""
    import libsvmx

    return called(dataset, job, libsvmx.leave_one_out)


def called(dataset, job, call, *arguments, **choice):
    """Times the call, and tells of its trainings: those of the folds and that over all rows, if there is one."""
    matrix = csr_matrix(dataset)
    choice["param"] = replace(parameter(job["options"], matrix.max_index), threads=1)
    found = []
    seconds = timed(lambda: found.append(call(matrix, dataset.targets, *arguments, **choice)))
    result = found[0]
    np.save(job["predictions"], np.asarray(result.predictions))
    folds, whole = result.folds, getattr(result, "whole", None)
    seeders = [f.seeder for f in folds]
    retrained = getattr(result, "retrained", None)  # rows, or their number
    return {
        "seconds": seconds,
        **{name: sum(getattr(f, name) for f in (*folds, *([whole] if whole else []))) for name in SUMMED},
        "whole_seconds": whole.seeding_seconds + whole.solving_seconds if whole else None,
        "whole": told(whole) if whole else None,
        "seeder": getattr(result, "seeder", None),
        "scheme": getattr(result, "scheme", None),
        "seeders": {name: seeders.count(name) for name in dict.fromkeys(seeders)},
        "unfinished": sum(f.status != "converged" for f in folds),
        "retrained": retrained if retrained is None or isinstance(retrained, int) else len(retrained),
        "folds": [told(f) for f in folds] if len(folds) <= MAX_FOLDS_TOLD else [],
    }


def told(fold):
    """The record of a fold for JSON; what belongs to several problems becomes a list."""
    values = {name: getattr(fold, name) for name in TOLD}
    return {k: list(v) if hasattr(v, "__iter__") and not isinstance(v, str) else v for k, v in values.items()}


VALIDATORS = {
    "libsvm_folds": libsvm_folds,
    "libsvm_points": libsvm_points,
    "svmx_folds": svmx_folds,
    "svmx_leave_one_out": svmx_leave_one_out,
}

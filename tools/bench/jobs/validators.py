"""Cross-validations in a child: LIBSVM's part by part within a time budget, libsvmx's in one call.

LIBSVM's child appends a line of JSON to the file ``job["records"]`` after every fold or grid point, so that a stopped
run keeps its results; ``job["seconds"]`` is the budget for all, and at least one is measured.
"""

import ctypes
import json
from itertools import pairwise
from pathlib import Path

import numpy as np

import libsvmx
from tools.bench.datasets import csr_matrix, keywords, load, part_of
from tools.bench.measure import timed
from tools.bench.peers import CONVERGED

SUMMED = ("iterations", "seeding_seconds", "solving_seconds", "rows_computed", "values_computed")
TOLD = (*SUMMED, "objective", "rho", "n_sv", "seeder", "gap", "status")
MAX_FOLDS_TOLD = 100  # with more, as in leave-one-out, only sums are reported


def libsvm_folds(job):
    """{npz, options, folds}: each fold trained and predicted separately; lines {fold, rows, predictions, ...}."""
    from tools.bench.peers import libsvm as peer

    dataset = load(job["npz"])
    gamma = keywords(job["options"], int(dataset.indices.max()))["gamma"]  # from all rows
    order, bounds = folds_of(dataset.targets, job["folds"])

    def parts():
        for number, (begin, end) in enumerate(pairwise(bounds)):
            kept, predictions = np.concatenate([order[:begin], order[end:]]), []
            training = peer.Training(part_of(dataset, kept), f"{job['options']} -g {gamma!r}")
            predict = training.predictor(part_of(dataset, order[begin:end]))
            yield (
                training,
                lambda training=training, predict=predict, predictions=predictions: (
                    training.train(),
                    predictions.extend(predict().tolist()),
                ),
            )
            yield {"fold": number, "rows": order[begin:end].tolist(), "predictions": predictions}

    return within_budget(job, parts())


def libsvm_points(job):
    """{npz, options, folds, points}: svm_cross_validation at points (log2 C, log2 gamma); lines {point, right, ...}.

    ``right`` counts correct predictions.
    """
    from tools.bench.peers import libsvm as peer

    dataset = load(job["npz"])
    training = peer.Training(dataset, job["options"])
    predicted = (ctypes.c_double * len(dataset.targets))()

    def parts():
        for point in job["points"]:
            training.param.C, training.param.gamma = (2.0**power for power in point)
            ctypes.CDLL(None).srand(1)  # as in a new svm-train process for each point
            arguments = training.problem, training.param, job["folds"], predicted
            yield training, lambda arguments=arguments: peer.libsvm.svm_cross_validation(*arguments)
            yield {"point": list(point), "right": int(np.sum(np.asarray(predicted) == dataset.targets))}

    return within_budget(job, parts())


def within_budget(job, parts):
    """``parts`` yields a training and its work, then the outcome: runs as many as fit, and writes a line for each."""
    spent, done = 0.0, 0
    for training, work in parts:
        if done and spent + spent / done > job["seconds"]:
            break
        training.printed.clear()
        seconds = timed(work)
        spent, done = spent + seconds, done + 1
        line = {"seconds": seconds, "iterations": training.iterations(), **next(parts)}
        with Path(job["records"]).open("a", encoding="utf-8") as records:
            records.write(json.dumps(line) + "\n")
    return {}


def folds_of(targets, n_folds):
    """(order, bounds) of LIBSVM's folds for ``targets``: fold f is order[bounds[f]:bounds[f+1]]."""
    from libsvmx._train import folds
    from libsvmx._train.folds import Rand

    n = len(targets)
    stratified = n_folds < n
    order, bounds = (
        folds.stratified_folds(targets, n_folds, Rand(1)) if stratified else folds.plain_folds(n, n, Rand(1))
    )
    return np.asarray(order), bounds


def svmx_folds(job, cross_validate=libsvmx.cross_validate):
    """{npz, options, folds, seeder, scheme, predictions}: predictions of all rows go into the .npy file of that name.

    ``seeder`` is "none" for LIBSVM's path; ``scheme`` is "chain", "star", or "" for the library's own choice.
    """
    return called(job, cross_validate, job["folds"], seeder=job["seeder"], scheme=job["scheme"])


def svmx_leave_one_out(job):
    """{npz, options, predictions}"""
    return called(job, libsvmx.leave_one_out)


def called(job, call, *arguments, **choice):
    """Times the call, and reports its trainings: the folds and, if there is one, that over all rows."""
    dataset = load(job["npz"])
    matrix = csr_matrix(dataset)
    choice |= {**keywords(job["options"], matrix.max_index), "threads": 1}
    found = []
    seconds = timed(lambda: found.append(call(matrix, dataset.targets, *arguments, **choice)))
    result = found[0]
    np.save(job["predictions"], np.asarray(result.predictions))
    folds, whole = result.folds, getattr(result, "whole", None)
    seeders, retrained = [f.seeder for f in folds], getattr(result, "retrained", None)
    summed = {name: sum(getattr(f, name) for f in (*folds, *([whole] if whole else []))) for name in SUMMED}
    whole_seconds = whole.seeding_seconds + whole.solving_seconds if whole else None
    return {
        "seconds": seconds,
        **summed,
        "whole_seconds": whole_seconds,
        # excludes seeding and a star's training over all rows: folds, training and prediction
        "rest_seconds": seconds - summed["seeding_seconds"] - (whole_seconds or 0),
        "whole": told(whole) if whole else None,
        "scheme": getattr(result, "scheme", None),
        "seeders": {name: seeders.count(name) for name in dict.fromkeys(seeders)},
        "unfinished": sum(f.status != CONVERGED for f in folds),
        "retrained": None if retrained is None else len(retrained),
        "folds": [told(f) for f in folds] if len(folds) <= MAX_FOLDS_TOLD else [],
    }


def told(fold):
    """The record of a fold for JSON; values of several problems become a list."""
    values = {name: getattr(fold, name) for name in TOLD}
    return {k: list(v) if hasattr(v, "__iter__") and not isinstance(v, str) else v for k, v in values.items()}

"""One measurement in a process of its own: a job (JSON) from standard input, its result to standard output.

A job names a task and what it needs; the result says ``cannot`` with the reason if it cannot be done here.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np

from tools.bench import datasets
from tools.bench.peers import Unavailable

KILOBYTE = 1024


def train(job):
    """{npz, options, module, dense, arrays}: the solution goes into the .npz file ``arrays``."""
    module = import_module(f"tools.bench.peers.{job['module']}")
    dataset = datasets.load(job["npz"])
    choice = {"dense": job["dense"]} if job["module"].startswith("sklearn") else {}
    training = module.Training(dataset, job["options"], **choice)
    loaded = resident_bytes()
    reset_peak()
    seconds = timed(training.train)
    peak = peak_bytes()
    outcome = training.outcome()
    solution = {key: value for key, value in vars(outcome.solution).items() if value is not None}
    np.savez(job["arrays"], **solution)
    told = {key: value for key, value in vars(outcome).items() if key != "solution"}
    sizes = {"n_sv": len(outcome.solution.rows), "peak_bytes": peak, "training_bytes": max(0, peak - loaded)}
    return {"seconds": seconds, **sizes, **told}


def read(job):
    """{reader, path}"""
    if job["reader"] == "libsvmx":
        from libsvmx.io.svmlight import read_data

        return {"seconds": timed(lambda: read_data(job["path"]))}
    try:
        from sklearn.datasets import load_svmlight_file
    except ImportError:
        raise Unavailable("scikit-learn is not installed") from None
    return {"seconds": timed(lambda: load_svmlight_file(job["path"]))}


def predict(job):
    """{predictor, npz, model, labels}: decision values and labels of every row; rows and model are in memory before."""
    predictor = import_module("tools.bench.predictors").PREDICTORS[job["predictor"]]
    prediction = predictor(datasets.load(job["npz"]), job["model"])
    seconds = timed(prediction.run)
    np.save(job["labels"], prediction.labels)
    return {"seconds": seconds}


def cross_validate(job):
    """{validator, npz, options, ...}: see crossvalidators."""
    validator = import_module("tools.bench.crossvalidators").VALIDATORS[job["validator"]]
    return validator(datasets.load(job["npz"]), job)


def update(job):
    """{updater, ...}: see updaters and streams."""
    from tools.bench import streams, updaters

    return {"changes": updaters.changes, "slide": streams.slide, "single": streams.single}[job["updater"]](job)


def solve(job):
    """{npz, options, way, ...}: see solvings."""
    from tools.bench import solvings

    return solvings.solve(job)


def interior(job):
    """{kind, ...}: see interiorruns."""
    from tools.bench import interiorruns

    return interiorruns.interior(job)


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def reset_peak():
    """Begin a new peak: what reading and converting the data took is not the solver's."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return  # not Linux: the peak is that of the whole process


def peak_bytes():
    """Peak resident memory. Not ru_maxrss where /proc is: that one starts at what the parent process had."""
    found = status_bytes("VmHWM")
    if found is None:
        import resource

        found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else KILOBYTE)
    return found


def resident_bytes():
    found = status_bytes("VmRSS")
    return peak_bytes() if found is None else found


def status_bytes(key):
    """A line of /proc/self/status, or None where there is none."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1]) * KILOBYTE
    return None


TASKS = {
    "train": train,
    "read": read,
    "predict": predict,
    "cross_validate": cross_validate,
    "update": update,
    "solve": solve,
    "interior": interior,
}


def main():
    job = json.load(sys.stdin)
    try:
        result = TASKS[job["task"]](job)
    except Unavailable as reason:
        result = {"cannot": str(reason)}
    json.dump(result, sys.stdout)

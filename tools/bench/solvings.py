"""One training in a child by one of several solvers, on CPU time: what chunked.py compares."""

from __future__ import annotations

import time
from importlib import import_module

import numpy as np

from tools.bench.datasets import load
from tools.bench.peers import Unavailable
from tools.bench.updaters import limit_cpu

OURS = ("smo", "chunked", "irwls")
CONVERGED = "converged"


def solve(job):
    """{npz, options, way, threads, limit, arrays}: the solution goes into the .npz file ``arrays``.

    ``way`` has the fields of chunkedcases.Way; the process ends by SIGXCPU after ``limit`` CPU seconds of training.

    Returns
    -------
    seconds, cpu, wall : float      of the training; the first is ``cpu`` with one thread, ``wall`` with more
    iterations, chunks : int          0 where there are none
    own_gap, values_computed : of libsvmx: the gap as the solver sees it, and kernel values
    status : str
    """
    training = prepared(load(job["npz"]), job["options"], job["way"])
    limit_cpu(job["limit"])
    wall, cpu = time.perf_counter(), time.process_time()
    training.train()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    outcome = training.outcome()
    solution = {key: value for key, value in vars(outcome.solution).items() if value is not None}
    np.savez(job["arrays"], **solution)
    reports = training.observer.reports if job["way"]["solver"] in OURS else ()
    return {
        "seconds": cpu if job["threads"] == 1 else wall,
        "cpu": cpu,
        "wall": wall,
        "iterations": outcome.iterations,
        "chunks": sum(report.subproblems for report in reports),
        "own_gap": max((report.gap for report in reports), default=None),
        "values_computed": outcome.counts.get("values_computed"),
        "status": outcome.note or CONVERGED,
    }


def prepared(dataset, options, way):
    if way["solver"] == "libsvm":
        return import_module("tools.bench.peers.libsvm").Training(dataset, options)
    if way["solver"] == "sklearnex":
        return import_module("tools.bench.peers.sklearnex").Training(dataset, options, dense=way["dense"])
    training = import_module("tools.bench.peers.svmx").Training(dataset, options)
    training.param = asked(training.param, way)
    return training


def asked(param, way):
    """``param`` with the solver of a way."""
    from libsvmx._train.parameter import changed

    if way["solver"] == "smo":
        return param
    modules = ["chunked", *(["irwls"] if way["solver"] == "irwls" else [])]
    for name in modules:  # loaded before the clock starts: SciPy takes a sixth of a second
        try:
            import_module(f"libsvmx._solvers.decomposition.{name}")
        except ImportError as error:
            raise Unavailable(f"{way['solver']} cannot be loaded: {error}") from None
    rule = {"working_set": way["working_set"], "working_set_rule": way["rule"], "keep_share": way["kept"]}
    return changed(param, {"solver": way["solver"], **rule})

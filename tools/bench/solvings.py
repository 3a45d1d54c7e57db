"""One training in a child by one of several solvers, on CPU time: what chunked.py compares."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib import import_module

import numpy as np

from tools.bench.datasets import load
from tools.bench.peers import Unavailable
from tools.bench.updaters import limit_cpu

CONVERGED = "converged"


def solve(job):
    """{npz, options, way, threads, limit, arrays}: the solution goes into the .npz file ``arrays``.

    ``way`` has the fields of chunkedcases.Way; the process ends by SIGXCPU after ``limit`` CPU seconds of training.

    Returns
    -------
    seconds, cpu, wall : float      of the training; the first is ``cpu`` with one thread, ``wall`` with more
    iterations, chunks : int or None
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
    reports = getattr(training.observer, "reports", ()) if hasattr(training, "observer") else ()
    chunks = [report.chunks for report in reports if getattr(report, "chunks", None) is not None]
    return {
        "seconds": cpu if job["threads"] == 1 else wall,
        "cpu": cpu,
        "wall": wall,
        "iterations": outcome.iterations,
        "chunks": sum(chunks) if chunks else None,
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
    if way["solver"] == "smo":
        return param
    if hasattr(param, "solver"):
        rule = {"working_set": way["working_set"], "working_set_rule": way["rule"], "kept_share": way["kept"]}
        return replace(param, solver=way["solver"], **rule)
    return stand_in(param, way)


def stand_in(param, way):
    """Where Parameter knows of no solvers yet: the chunked solver takes the place of the SMO in this process."""
    from types import SimpleNamespace

    from libsvmx._solvers import chunked
    from libsvmx._solvers.chunking import Chunking
    from libsvmx._train import training

    engine = {"chunked": "smo", "irwls": "irwls"}[way["solver"]]
    if engine == "irwls":
        try:
            import_module("libsvmx._solvers.irwls")
        except ImportError:
            raise Unavailable("this libsvmx has no irwls") from None
    chunking = Chunking(engine, way["working_set"], way["rule"], way["kept"])
    counts, report = [], training.SolveReport

    def solved(*arguments):
        solution = chunked.solve(*arguments, chunking)
        counts.append(solution.chunks)
        return solution

    class Report(report):
        @property
        def chunks(self):
            return sum(counts)

    training.smo, training.SolveReport = SimpleNamespace(solve=solved), Report
    return param

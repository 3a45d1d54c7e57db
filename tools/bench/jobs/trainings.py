"""A case trained by several solvers in turns, each run in its own process; then all results are certified."""

import tempfile
import time
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np

import libsvmx
from tools.bench import datasets
from tools.bench.certificate import AT_BOUND, certify
from tools.bench.measure import all_threads, limit_seconds, measure, peak_bytes, reset_peak, resident_bytes
from tools.bench.peers import Solution
from tools.bench.protocol import Found
from tools.bench.turns import Run, take_turns


def trained(case, ways, options, *, npz=None, clock="cpu", certified=True, **more):
    """The results as Found. ``clock``: of runs with one thread; runs with several use wall time.

    told["judged"] : for each way gap, objective, infeasibility, n_sv, and n_bounded for two classes
    """
    megabytes = getattr(options, "megabytes", None)
    text = f"{case.options} -m {megabytes:g}" if megabytes else case.options
    npz = npz or datasets.prepare(case, options.data, options.cache)
    dataset = datasets.load(npz)
    X = datasets.scipy_matrix(dataset)
    param = datasets.parameter(text, X.shape[1])
    found = Found(case, "", *X.shape)
    known, told = {}, found.told.setdefault("judged", {})
    with tempfile.TemporaryDirectory() as folder:
        for k, way in enumerate(ways):
            threads = way.threads or all_threads()
            job = {"call": "jobs.trainings:train", "npz": str(npz), "options": text, "peer": way.peer, **more}
            job |= {"settings": way.settings, "clock": clock if threads == 1 else "wall"}
            job |= {"limit": getattr(options, "limit", None), "arrays": str(Path(folder, f"{k}.npz"))}
            about = {"settings": way.settings, "threads": way.threads}
            found.runs.append(Run(way.name, partial(measure, job, threads, options.timeout), about=about))
        take_turns(found.runs, options.repeat, options.max_seconds_once)
        for k, run in enumerate(found.runs):
            if run.results and certified:
                with np.load(Path(folder, f"{k}.npz")) as arrays:
                    solution = Solution(**arrays)
                key = solution.rows.tobytes() + solution.coef.tobytes()
                if key not in known:
                    known[key] = asdict(certify(X, dataset.targets, param, solution))
                    known[key]["n_sv"] = len(solution.rows)
                    known[key]["n_bounded"] = int(np.sum(abs(solution.coef) >= param.C * (1 - AT_BOUND)))
                told[run.name] = known[key]
    return found


def judged(found, name):
    """The certificate of a way, {} without one."""
    return found.told.get("judged", {}).get(name, {})


def excess(found, name, best):
    """Relative excess of one way's objective over another's; None if one is missing."""
    own, other = (judged(found, way).get("objective") for way in (name, best))
    return None if own is None or other is None else (own - other) / max(abs(other), 1e-300)


def train(job):
    """In a child: {npz, options, peer, settings, clock, limit, arrays}; the solution goes into the .npz ``arrays``.

    Returns
    -------
    seconds : float           by job["clock"], 'cpu' or 'wall'; of the training alone, data in memory
    peak_bytes, training_bytes : int      peak memory, and the part added by the training
    n_sv, iterations, objective, rho, model_hash, counts, status, note : see peers.Outcome
    factor_seconds, solve_seconds : float    of a low-rank factor, and of crsvm's iterations, if there are any
    accuracy : float          accuracy of libsvmx's model on the set job["test"]
    """
    dataset = datasets.load(job["npz"])
    training = import_module(f"tools.bench.peers.{job['peer']}").Training(dataset, job["options"], **job["settings"])
    loaded = resident_bytes()
    reset_peak()
    limit_seconds(job["limit"])
    wall, cpu = time.perf_counter(), time.process_time()
    training.train()
    seconds = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    peak = peak_bytes()
    outcome = training.outcome()
    np.savez(job["arrays"], **{key: value for key, value in vars(outcome.solution).items() if value is not None})
    told = {key: value for key, value in vars(outcome).items() if key != "solution"}
    if "factor_at" in outcome.counts:
        told["factor_seconds"] = outcome.counts["factor_at"] - cpu
    told["solve_seconds"] = outcome.counts.get("solve_seconds")
    if job.get("test") and job["peer"] == "svmx":
        test = datasets.load(job["test"])
        labels = libsvmx.predict(training.model, datasets.csr_matrix(test))
        told["accuracy"] = float(np.mean(np.asarray(labels) == test.targets))
    sizes = {"n_sv": len(outcome.solution.rows), "peak_bytes": peak, "training_bytes": max(0, peak - loaded)}
    return {"seconds": seconds[job["clock"]], **seconds, **sizes, **told}

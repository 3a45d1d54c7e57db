"""States updated repeatedly, in a child: a sliding window, and single rows of a large set.

CPU seconds include updates or trainings and their predictions; data are in memory and converted
beforehand.
"""

import gc
from importlib import import_module

import numpy as np

import libsvmx
from tools.bench.datasets import csr_matrix, dense_dataset, load, part_of
from tools.bench.jobs.ways_to_update import kept_state, options_of, scaled, sizes
from tools.bench.measure import peak_bytes, reset_peak, resident_bytes, timed

TIGHT_EPS = 1e-6  # of the training that decides where two predictions differ


def trained(peer, dataset, options, rows, asked):
    """(seconds of a training by a module of peers and of its predictions, the training, the labels)"""
    training = import_module(f"tools.bench.peers.{peer}").Training(part_of(dataset, rows), options)
    predict, labels = training.predictor(part_of(dataset, asked)), []
    return timed(lambda: (training.train(), labels.extend(predict()))), training, np.array(labels)


def favour(model, dataset):
    """Decision values, positive for the label 1."""
    values = np.asarray(libsvmx.decision_values(model, csr_matrix(dataset))).ravel()
    return values if model.labels[0] == 1 else -values


def stream(job):
    """{npz, rows, n, count, C, gamma}: ``count`` rows are predicted, then they join a window of n and the oldest leave.

    Returns
    -------
    updates : int                 windows
    path, libsvm, cold : float    seconds, of all windows
    breakpoints, predicted, errors : int      of the path
    doubts : list of {row, path, tight, libsvm}       of rows that path and LIBSVM predict differently: decision values
        of the path and of a training to TIGHT_EPS, LIBSVM's label
    """
    X, y = scaled(load(job["npz"]))
    X, y = X[: job["rows"]], y[: job["rows"]]
    n, step, options = job["n"], job["count"], options_of(job["C"], job["gamma"], 1e-3)
    dataset = dense_dataset(X, y)
    state = kept_state(X[:n], y[:n], job["C"], job["gamma"])
    told = dict.fromkeys(("updates", "breakpoints", "predicted", "errors", "path", "libsvm", "cold"), 0)
    doubts = []
    for begin in range(0, len(y) - n - step + 1, step):
        rows, asked, labels = np.arange(begin, begin + n), np.arange(begin + n, begin + n + step), []
        told["path"] += timed(lambda asked=asked, labels=labels: labels.extend(state.predict(X[asked])))
        values, gone = favour(state.model, part_of(dataset, asked)), state.ids[:step]
        told["path"] += timed(lambda asked=asked, gone=gone: state.update(add=(X[asked], y[asked]), remove=gone))
        seconds, _, theirs = trained("libsvm", dataset, options, rows, asked)
        told["libsvm"] += seconds
        told["cold"] += trained("svmx", dataset, options, rows, asked)[0]
        told["updates"] += 1
        told["predicted"] += step
        told["breakpoints"] += state.report.breakpoints
        told["errors"] += int(np.sum(labels != y[asked]))
        for k in np.flatnonzero(labels != theirs):
            tight = trained("svmx", dataset, options_of(job["C"], job["gamma"], TIGHT_EPS), rows, [])[1].model
            tight = favour(tight, part_of(dataset, asked[[k]]))[0]
            doubts.append({"row": int(asked[k]), "path": values[k], "tight": tight, "libsvm": theirs[k]})
    return {"seconds": told["path"], **told, "gap": state.gap, "doubts": doubts}


def single(job):
    """{npz, count, C, gamma, libsvm}: ``count`` rows join a state of all the others one by one, and leave again.

    Returns
    -------
    training : float              seconds of the state's training
    add, remove : list of float   seconds of each update
    breakpoints, free : list of int, int
    data_bytes, state_bytes, peak_bytes : int      resident with the data, with the state, and at most
    cold, libsvm : float or None  seconds of a cold start, on all rows
    """
    dataset, C = load(job["npz"]), job["C"]
    n, options = len(dataset.targets), options_of(C, job["gamma"], 1e-3)
    chosen = np.random.default_rng(n).permutation(n)[: job["count"]]
    kept = part_of(dataset, np.setdiff1d(np.arange(n), chosen))
    X, rows = csr_matrix(kept), [(csr_matrix(part_of(dataset, [r])), dataset.targets[[r]]) for r in chosen]
    gc.collect()
    told = {"data_bytes": resident_bytes(), "add": [], "remove": [], "breakpoints": []}
    reset_peak()
    found, ids = [], []
    told["training"] = timed(lambda: found.append(kept_state(X, kept.targets, C, job["gamma"])))
    state = found[0]
    for row in rows:
        told["add"].append(timed(lambda row=row: ids.extend(state.update(add=row))))
        told["breakpoints"].append(state.report.breakpoints)
    for i in ids:
        told["remove"].append(timed(lambda i=i: state.update(remove=[i])))
        told["breakpoints"].append(state.report.breakpoints)
    told |= {"state_bytes": resident_bytes(), "peak_bytes": peak_bytes(), "gap": state.gap}
    alpha, every = sizes(state.model, len(state)), np.arange(n)
    told["free"] = int(np.sum((alpha > 0) & (alpha < C)))
    told["cold"] = trained("svmx", dataset, options, every, [])[0]
    told["libsvm"] = trained("libsvm", dataset, options, every, [])[0] if job["libsvm"] else None
    return {"seconds": told["training"] + sum(told["add"] + told["remove"]), **told}

"""States that are updated again and again, in a child: a window that slides, and single rows of a large set.

Each job returns what updating.py shows. CPU seconds count updates or trainings together with the predictions asked of
them; data are in memory and converted before.
"""

from __future__ import annotations

import gc

import numpy as np

from tools.bench import updaters
from tools.bench.child import peak_bytes, reset_peak, resident_bytes
from tools.bench.crossvalidators import timed
from tools.bench.datasets import csr_matrix, dense_dataset, load, parameter, part_of
from tools.bench.updaters import TIGHT_EPS, scaled

DOUBTS_TOLD = 20  # of more rows that are predicted differently only the number is told
COUNTS = ("updates", "trained", "breakpoints", "predicted", "errors", "unlike", "unlike_cold", "asked")
SECONDS = ("path", "path_there", "libsvm", "cold")


class Trainings:
    """Trainings(dataset, C, gamma): of any of its rows, from nothing, by LIBSVM and by libsvmx."""

    def __init__(self, dataset, C, gamma):
        from tools.bench.peers import libsvm, svmx

        self.change = updaters.Change(np.zeros((0, 0)), np.zeros(0), 0, np.zeros(0, int), C, gamma)
        self.dataset, self.peer = dataset, libsvm
        self.theirs = libsvm.Training(dataset, self.change.options())
        self.ours = svmx.Training(dataset, self.change.options())

    def libsvm(self, rows, asked):
        """(seconds, labels of the rows ``asked``)"""
        problem = self.theirs.part(self.dataset, rows)
        labels = []
        self.theirs.printed.clear()

        def work():
            model = self.peer.toPyModel(self.peer.libsvm.svm_train(problem, self.theirs.param))
            labels.extend(self.peer.libsvm.svm_predict(model, self.theirs.nodes.pointers[row]) for row in asked)

        return timed(work), np.array(labels)

    def cold(self, rows, asked, eps=1e-3):
        """(seconds, labels, decision values in favour of label 1)"""
        import libsvmx
        from libsvmx._core.rand import Rand
        from libsvmx._train.training import train_problem

        problem = self.ours.problem.take(np.asarray(rows, dtype=np.int32).data)
        features = csr_matrix(part_of(self.dataset, asked))
        param = parameter(self.change.options(eps), self.ours.problem.matrix.max_index)
        found = []

        def work():
            found.append(train_problem(problem, param, Rand(1), self.ours.observer))
            found.append(libsvmx.predict(found[0], features))

        seconds = timed(work)
        return seconds, np.asarray(found[1]), favour(found[0], features)


def favour(model, features):
    """Decision values, positive for the label 1."""
    import libsvmx

    values = np.asarray(libsvmx.decision_values(model, features)).ravel()
    return values if model.labels[0] == 1 else -values


def slide(job):
    """{npz, rows, window, step, C, gamma, every}: ``step`` rows are predicted, then they join and the oldest leave.

    Others train on every ``every``-th window only.

    Returns
    -------
    updates, trained : int        windows, and those that others were trained on
    path, libsvm, cold : float    seconds; of the path over all windows
    path_there : float            of the path over windows that others were trained on
    breakpoints, predicted, errors : int      of the path, over all windows
    unlike, unlike_cold, asked : int      rows predicted otherwise than by LIBSVM, and by libsvmx cold, of how many
    doubts : list of {row, path, tight, ...}      decision values of rows that path and LIBSVM predict differently:
        the path's, and of a training to TIGHT_EPS
    """
    X, y = scaled(load(job["npz"]))
    X, y = X[: job["rows"]], y[: job["rows"]]
    n, step, C, gamma = job["window"], job["step"], job["C"], job["gamma"]
    trainings = Trainings(dense_dataset(X, y), C, gamma)
    state = updaters.kept_state(X[:n], y[:n], C, gamma)
    told = dict.fromkeys(COUNTS, 0) | dict.fromkeys(SECONDS, 0.0)
    doubts = []
    oldest = np.arange(step)
    for begin in range(0, len(y) - n - step + 1, step):
        rows, asked = np.arange(begin, begin + n), np.arange(begin + n, begin + n + step)
        labels = []
        seconds = timed(lambda asked=asked, labels=labels: labels.extend(state.predict(X[asked])))
        values = favour(state.model, X[asked])
        seconds += timed(lambda asked=asked, gone=oldest: state.update(add=(X[asked], y[asked]), remove=gone))
        oldest = state.ids[:step]
        told["breakpoints"] += state.report.breakpoints
        told["predicted"] += step
        told["errors"] += int(np.sum(labels != y[asked]))
        told["path"] += seconds
        if told["updates"] % job["every"] == 0:
            told["trained"] += 1
            told["asked"] += step
            told["path_there"] += seconds
            theirs, their_labels = trainings.libsvm(rows, asked)
            cold, cold_labels, _ = trainings.cold(rows, asked)
            told["libsvm"] += theirs
            told["cold"] += cold
            unlike = labels != their_labels
            told["unlike"] += int(unlike.sum())
            told["unlike_cold"] += int(np.sum(labels != cold_labels))
            if unlike.any():
                _, _, tight = trainings.cold(rows, asked, TIGHT_EPS)
                columns = asked[unlike], values[unlike], tight[unlike], their_labels[unlike]
                names = ("row", "path", "tight", "libsvm")
                lines = zip(*(column.tolist() for column in columns), strict=True)
                doubts += [dict(zip(names, line, strict=True)) for line in lines]
        told["updates"] += 1
    told["alike_tight"] = sum((d["path"] > 0) == (d["tight"] > 0) for d in doubts)
    return {**told, "gap": state.gap, "doubts": doubts[:DOUBTS_TOLD]}


def single(job):
    """{npz, count, C, gamma, libsvm}: ``count`` rows join a state of all the others one by one, and leave again.

    Returns
    -------
    training : float              seconds of the state's training
    add, remove : list of float   seconds of each update
    breakpoints, free : list of int, int
    data_bytes, state_bytes, peak_bytes : int      resident with the data, with the state, and at most
    cold, libsvm : float or None  seconds of a training from nothing, on all rows
    """
    dataset = load(job["npz"])
    n, count = len(dataset.targets), job["count"]
    chosen = np.random.default_rng(n).permutation(n)[:count]
    rest = np.setdiff1d(np.arange(n), chosen)
    trainings = Trainings(dataset, job["C"], job["gamma"])
    kept = part_of(dataset, rest)
    X, rows = csr_matrix(kept), [(csr_matrix(part_of(dataset, [r])), dataset.targets[[r]]) for r in chosen]
    gc.collect()
    data_bytes = resident_bytes()
    reset_peak()
    found, ids, adds, removes, breakpoints = [], [], [], [], []

    def training():
        found.append(updaters.kept_state(X, kept.targets, job["C"], job["gamma"]))

    seconds = timed(training)
    state = found[0]
    for row in rows:
        adds.append(timed(lambda row=row: ids.extend(state.update(add=row))))
        breakpoints.append(state.report.breakpoints)
    for i in ids:
        removes.append(timed(lambda i=i: state.update(remove=[i])))
        breakpoints.append(state.report.breakpoints)
    state_bytes, most = resident_bytes(), peak_bytes()
    alpha = updaters.sizes(state.model, len(state))
    every = np.arange(n)
    return {
        "training": seconds,
        "add": adds,
        "remove": removes,
        "breakpoints": breakpoints,
        "free": int(np.sum((alpha > 0) & (alpha < job["C"]))),
        "gap": state.gap,
        "data_bytes": data_bytes,
        "state_bytes": state_bytes,
        "peak_bytes": most,
        "cold": trainings.cold(every, chosen)[0],
        "libsvm": trainings.libsvm(every, [])[0] if job["libsvm"] else None,
    }

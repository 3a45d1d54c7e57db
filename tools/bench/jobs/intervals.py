"""Jackknife+ and CV+ intervals beside MAPIE, which trains scikit-learn's SVR for each row or fold."""

from functools import partial
from typing import ClassVar

import numpy as np

import libsvmx
from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import Unavailable, measure, timed
from tools.bench.protocol import TIMES, Found, Job, remarks, rows_of
from tools.bench.report import Table, text
from tools.bench.turns import Run, take_turns

OURS, THEIRS = "libsvmx", "MAPIE"
ALPHA, FOLDS = 0.1, 10
COLUMNS = {
    **TIMES,
    "MAPIE / run": lambda found, run: text(found.ratio(THEIRS, run.name), ".1f"),
    "covered": lambda found, run: f"{run.last['covered']:.1%}",
    "mean width": lambda found, run: f"{run.last['width']:.4g}",
}


class Intervals(Job):
    name = "intervals"
    explained = """\
CPU seconds of one thread, training included: even rows train, odd ones are new; alpha is 0.1. Folds of CV+ are each
one's own. jackknife+ of both is that of the same models, trained to eps, so widths differ in late digits."""
    parts: ClassVar[dict[str, str]] = {"jackknife": "jackknife+", "cv": f"CV+, {FOLDS} folds"}
    repeat, max_seconds_once = 3, 30.0

    def every_case(self, options):
        sets = (
            ("pyrim", "-s 3 -c 0.13 -p 0.013", 0),
            ("mpg", "-s 3 -c 7.8 -p 0.78", 0),
            ("abalone", "-s 3 -c 3.2 -p 0.32", 2000),
        )
        return [
            Case(name, "abalone_scale" if name == "abalone" else name, words, rows, standard=True, part=part)
            for part in self.parts
            for name, words, rows in sets
        ]

    def run(self, case, options):
        npz = datasets.prepare(case, options.data, options.cache)
        dataset = datasets.load(npz)
        n, columns = len(dataset.targets), int(dataset.indices.max(initial=1))
        found = Found(case, "", n, columns, note=self.parts[case.part])
        for way in (OURS, THEIRS):
            job = {"call": "jobs.intervals:covered", "way": way, "npz": str(npz), "options": case.options}
            found.runs.append(Run(way, partial(measure, {**job, "part": case.part}, 1, options.timeout)))
        take_turns(found.runs, options.repeat, options.max_seconds_once)
        return found

    def table(self, found):
        return Table(found.title(), rows_of(found, COLUMNS), remarks(self, found))

    def wrong(self, found):
        ours, theirs = found.last(OURS), found.last(THEIRS)
        if found.case.part == "cv" or not (ours and theirs):
            return []
        differ = abs(ours["width"] - theirs["width"]) > 0.02 * ours["width"]
        return [f"DIFFER: widths of {ours['width']:.4g} and {theirs['width']:.4g}"] if differ else []


def covered(job):
    """In a child: {way, part, npz, options}"""
    dataset = datasets.load(job["npz"])
    X, y = datasets.scipy_matrix(dataset).toarray(), dataset.targets
    param = datasets.parameter(job["options"] + " -m 100", X.shape[1])
    intervals = (ours if job["way"] == OURS else theirs)(job["part"], param)
    intervals(X[:20], y[:20], X[:20])  # loads what is loaded on first use
    ends = []
    seconds = timed(lambda: ends.extend(intervals(X[::2], y[::2], X[1::2])))
    lower, upper = ends
    inside = (lower <= y[1::2]) & (y[1::2] <= upper)
    return {"seconds": seconds, "covered": float(inside.mean()), "width": float(np.mean(upper - lower))}


def ours(part, param):
    def intervals(X, y, new):
        if part == "cv":
            found = libsvmx.cv_plus(X, y, new, FOLDS, ALPHA, param, threads=1)
        else:
            state = libsvmx.train(X, y, param, keep_state=True, threads=1)
            found = libsvmx.jackknife_plus(state, new, ALPHA, threads=1)
        return found.lower, found.upper

    return intervals


def theirs(part, param):
    try:
        from mapie.regression import CrossConformalRegressor
        from sklearn.model_selection import KFold, LeaveOneOut
        from sklearn.svm import SVR
    except ImportError as reason:
        raise Unavailable(f"MAPIE is not installed: {reason}") from None

    def intervals(X, y, new):
        svr = SVR(C=param.C, gamma=param.gamma, epsilon=param.p, tol=param.eps)
        cv = KFold(FOLDS, shuffle=True, random_state=0) if part == "cv" else LeaveOneOut()
        found = CrossConformalRegressor(svr, confidence_level=1 - ALPHA, method="plus", cv=cv)
        ends = found.fit_conformalize(X, y).predict_interval(new)[1]
        return ends[:, 0, 0], ends[:, 1, 0]

    return intervals


JOBS = {"intervals": Intervals()}

"""One call of a function or an estimator of libsvmx, beside the same result by refits and by scikit-learn."""

import warnings
from functools import partial
from typing import ClassVar

import numpy as np

import libsvmx
from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import Unavailable, measure, timed
from tools.bench.protocol import TIMES, Found, Job, remarks, rows_of
from tools.bench.report import Table
from tools.bench.turns import Run, take_turns

NO_WAY = "there is nothing like it"
OURS, REFITS, THEIRS = "libsvmx", "refits", "scikit-learn"
FOLDS, LABELLINGS, LABELS = 5, 20, 20
LEAST_C, MOST_C, POINTS = 1e-3, 1e3, 30
CASES = tuple(
    Case(f"{part} {data} {options}", data, options, rows, part=part)
    for part, sets in {
        "path": (("diabetes", "-g 0.25", 0), ("a1a", "-g 0.0168", 0), ("splice", "-g 0.0333", 0)),
        "permutation": (("heart_scale", "-c 1", 0), ("sonar_scale", "-c 1", 0), ("splice", "-c 1", 0)),
        "many": (("heart_scale", "-c 1", 0), ("sonar_scale", "-c 1", 0), ("splice", "-c 1", 0)),
        "influence": (("heart_scale", "-c 1", 0), ("splice", "-c 1 -g 0.01", 500)),
        "labels": (("splice", "-c 1", 0),),
        "elimination": (("sonar_scale", "-t 0 -c 1 -e 1e-6", 0), ("splice", "-t 0 -c 0.01 -e 1e-6", 0)),
        "linear": (("a9a", "-c 1", 0), ("a9a", "-c 100", 0)),
    }.items()
    for data, options, rows in sets
)


class Functions(Job):
    name = "functions"
    explained = "CPU seconds of one call on one thread. refits: a call of libsvmx's own for each training."
    parts: ClassVar = {
        "path": f"c_path with 10 folds; refits: grid_search at {POINTS} values of C, as GridSearchCV",
        "permutation": f"permutation_test, {LABELLINGS} labellings, {FOLDS} folds",
        "many": f"fit_many, {LABELLINGS} labellings",
        "influence": "influence of all rows on themselves",
        "labels": f"OneVsRestSVC, {LABELS} labels",
        "elimination": "SVMRFE, one feature at a time",
        "linear": "LinearSVC with the hinge loss",
    }

    def every_case(self, options):
        return list(CASES)

    def run(self, case, options):
        npz = datasets.prepare(case, options.data, options.cache)
        dataset = datasets.load(npz)
        found = Found(case, "", len(dataset.targets), int(dataset.indices.max(initial=1)))
        job = {"call": "jobs.functions:called", "npz": str(npz), "options": case.options, "part": case.part}
        for way in (OURS, REFITS, THEIRS):
            found.runs.append(Run(way, partial(measure, {**job, "way": way}, 1, options.timeout)))
        take_turns(found.runs, options.repeat, options.max_seconds_once)
        return found

    def table(self, found):
        return Table(found.title(), rows_of(found, TIMES), remarks(self, found))


# ---- in a child ----------------------------------------------------------------------------------


def called(job):
    """{part, way, npz, options}: seconds of the call, after modules loaded on first use have been loaded."""
    try:
        import sklearn
    except ImportError:
        raise Unavailable("scikit-learn is not installed") from None
    dataset = datasets.load(job["npz"])
    X, y = datasets.scipy_matrix(dataset).toarray(), dataset.targets
    work = WAYS[job["part"]].get(job["way"])
    if work is None:
        raise Unavailable(NO_WAY)
    param = datasets.parameter(job["options"], X.shape[1])
    warnings.simplefilter("ignore")  # where a search or a linear machine reaches its iteration limit
    few = np.r_[np.flatnonzero(y == y[0])[:15], np.flatnonzero(y != y[0])[:15]]
    work(X[few], y[few], param)
    return {"seconds": timed(partial(work, X, y, param)), "sklearn": sklearn.__version__}


def classifier(module, param, **changes):
    """An SVC of libsvmx or sklearn.svm."""
    kernel = "linear" if param.kernel_type == libsvmx.KernelType.LINEAR else "rbf"
    return module.SVC(**{"C": param.C, "gamma": param.gamma, "kernel": kernel, "tol": param.eps} | changes)


def costs():
    return np.geomspace(LEAST_C, MOST_C, POINTS)


def shuffled(y, n):
    """Permuted labels, one column each."""
    random = np.random.default_rng(0)
    return np.stack([random.permutation(y) for _ in range(n)], axis=1)


def path_refits(X, y, param):
    ends = np.log2([LEAST_C, MOST_C])
    step = (ends[1] - ends[0]) / (POINTS - 1)
    axis = (ends[0], ends[1] + step / 2, step)  # half a step more: rounding must not drop the last point
    return libsvmx.grid_search(X, y, axis, None, 10, gamma=param.gamma, threads=1)


def path_theirs(X, y, param):
    from sklearn import model_selection, svm

    model_selection.GridSearchCV(svm.SVC(gamma=param.gamma), {"C": costs()}, cv=10, refit=False).fit(X, y)


def permutation_theirs(X, y, param):
    from sklearn import model_selection, svm

    model_selection.permutation_test_score(classifier(svm, param), X, y, cv=FOLDS, n_permutations=LABELLINGS)


def many_theirs(X, y, param):
    from sklearn import svm

    for column in shuffled(y, LABELLINGS).T:
        classifier(svm, param).fit(X, column)


def many_refits(X, y, param):
    for column in shuffled(y, LABELLINGS).T:
        libsvmx.train(X, column, param, threads=1)


def influence_refits(X, y, param):
    model = libsvmx.train(X, y, param, threads=1)
    for row in np.asarray(model.sv_indices) - 1:
        others = np.delete(np.arange(len(y)), row)
        libsvmx.decision_values(libsvmx.train(X[others], y[others], param, threads=1), X, threads=1)


def influence_ours(X, y, param):
    libsvmx.influence(libsvmx.train(X, y, param, keep_state=True, threads=1), X, y, threads=1)


def labels(module, X, y, param):
    """With scikit-learn's wrapper."""
    from sklearn.multiclass import OneVsRestClassifier

    OneVsRestClassifier(classifier(module, param)).fit(X, shuffled(y == y[0], LABELS))


def elimination_theirs(X, y, param):
    from sklearn import feature_selection, svm

    feature_selection.RFE(classifier(svm, param), n_features_to_select=1).fit(X, y)


def linear(module, X, y, param):
    module.LinearSVC(loss="hinge", C=param.C, dual=True).fit(X, y)


def of_sklearn(work):
    """``work`` with sklearn.svm in place of libsvmx."""

    def theirs(X, y, param):
        from sklearn import svm

        work(svm, X, y, param)

    return theirs


WAYS = {
    "path": {
        OURS: lambda X, y, p: libsvmx.c_path(X, y, LEAST_C, MOST_C, cv=10, gamma=p.gamma, threads=1),
        REFITS: path_refits,
        THEIRS: path_theirs,
    },
    "permutation": {
        OURS: lambda X, y, p: libsvmx.permutation_test(X, y, LABELLINGS, FOLDS, p, threads=1),
        THEIRS: permutation_theirs,
    },
    "many": {
        OURS: lambda X, y, p: libsvmx.fit_many(X, shuffled(y, LABELLINGS), p, threads=1),
        REFITS: many_refits,
        THEIRS: many_theirs,
    },
    "influence": {OURS: influence_ours, REFITS: influence_refits},
    "labels": {
        OURS: lambda X, y, p: libsvmx.OneVsRestSVC(C=p.C, gamma=p.gamma).fit(X, shuffled(y == y[0], LABELS)),
        REFITS: partial(labels, libsvmx),
        THEIRS: of_sklearn(labels),
    },
    "elimination": {
        OURS: lambda X, y, p: libsvmx.SVMRFE(classifier(libsvmx, p), n_features_to_select=1).fit(X, y),
        THEIRS: elimination_theirs,
    },
    "linear": {OURS: partial(linear, libsvmx), THEIRS: of_sklearn(linear)},
}
JOBS = {"functions": Functions()}

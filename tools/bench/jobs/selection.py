"""Model selection by TorchKM's published protocol: 50 values of C, 10 folds, then the fit at the best C.

Its scripts sweep lambda, C = 1 / (2 n lambda): 1e-3 to 1e3 over mixtures of normal distributions (table 2), 1e-5 to
1e-1 over LIBSVM's sets (table 3). gamma is kernlab's sigest of the rows: twice that for TorchKM, whose kernel is
exp(-2 sigest d^2), and in table 2 for ThunderSVM and scikit-learn, too; in table 3 ThunderSVM has sigest and a
tolerance of 1e-8. No claim is made for other values of C. The published times are from an NVIDIA L40S
(https://github.com/YikaiZhang95/torchkm, benchmarks/); those in table 3 exclude the kernel matrix.
"""

import time
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from tools.bench import datasets, generated
from tools.bench.cases import Case
from tools.bench.measure import Unavailable, measure
from tools.bench.protocol import TIMES, Found, Job, remarks, rows_of
from tools.bench.report import Table
from tools.bench.turns import Run, take_turns

N_COSTS, FOLDS = 50, 10
MEGABYTES = 1000  # of kernel values; TorchKM keeps the whole matrix, 800 MB of 10,000 rows
LAMBDAS, LAMBDAS_OF_MIXTURES = (1e-5, 1e-1), (1e-3, 1e3)
# seconds on an L40S; scikit-learn's on a CPU
PUBLISHED = {
    "w7a": {"TorchKM": 135.1, "ThunderSVM": 203.1},
    "a9a-16100": {"TorchKM": 48.5, "ThunderSVM": 108.5},
    "mixture-10": {"TorchKM": 23.3, "ThunderSVM": 38.0, "scikit-learn": 1131.0},
    "mixture-100": {"TorchKM": 17.9, "ThunderSVM": 62.7, "scikit-learn": 1975.0},
}
OURS, OURS_TWICE, ORACLE = "SVCCV, sigest", "SVCCV, 2 sigest", "GridSearchCV, sigest"
TORCH = "TorchKM, 2 sigest"
WAYS = {"checked": {OURS: 1.0, ORACLE: 1.0}, "gpu": {OURS: 1.0, OURS_TWICE: 2.0, TORCH: 2.0}}  # sigest times this
COLUMNS = {
    **TIMES,
    "CPU s": lambda found, run: f"{run.median('cpu'):.2f}",
    "gamma": lambda found, run: f"{run.last['gamma']:.3g}",
    "best C": lambda found, run: f"{run.last['best'][0]:.3g}",
    "score": lambda found, run: f"{run.last['best'][1]:.4f}",
}


class Selection(Job):
    name = "selection"
    explained = f"""\
Seconds by the clock of the whole search on --threads threads: {N_COSTS} values of C, {FOLDS} folds, the last fit.
Seconds of other programs are those that TorchKM publishes, of an NVIDIA L40S (scikit-learn: a CPU)."""
    parts: ClassVar = {
        "benchmarks": "TorchKM's table 3: w7a, and 16,100 rows of a9a in the place of a7a",
        "mixtures": "TorchKM's table 2: mixtures of 10,000 rows",
        "gpu": "the same, beside TorchKM on the GPU of this machine; kernel matrix included",
        "checked": "beside GridSearchCV with scikit-learn's SVC",
    }
    usual = ("benchmarks", "mixtures")

    def options(self, parser):
        parser.add_argument("--threads", type=int, default=2, metavar="N", help="(2)")

    def every_case(self, options):
        published = [
            Case("w7a", "w7a", part="benchmarks"),
            Case("a9a-16100", "a9a", rows=16_100, part="benchmarks"),
            Case("mixture-10", "mixture-10", rows=10_000, part="mixtures"),
            Case("mixture-100", "mixture-100", rows=10_000, part="mixtures"),
        ]
        return [
            *published,
            *(replace(case, part="gpu") for case in published),
            Case("mixture-10-1500", "mixture-10", rows=1500, part="checked"),
        ]

    def run(self, case, options):
        npz = datasets.prepare(case, options.data, options.cache)
        dataset = datasets.load(npz)
        found = Found(case, "", len(dataset.targets), int(dataset.indices.max(initial=1)))
        found.told["published"] = PUBLISHED.get(case.name, {})
        job = {"call": "jobs.selection:select", "npz": str(npz), "dense": case.data in generated.SETS}
        job |= {"lambdas": LAMBDAS_OF_MIXTURES if job["dense"] else LAMBDAS, "threads": options.threads}
        ways = WAYS.get(case.part, {OURS: 1.0, OURS_TWICE: 2.0})
        for way, factor in ways.items():
            once = partial(measure, {**job, "way": way, "factor": factor}, options.threads, options.timeout)
            found.runs.append(Run(way, once, about={"threads": options.threads}))
        take_turns(found.runs, options.repeat, options.max_seconds_once)
        ours, theirs = found.last(OURS), found.last(ORACLE)
        if ours and theirs:
            apart = np.max(np.abs(np.subtract(ours["scores"], theirs["scores"])))
            found.told["rows_apart"] = round(float(apart) * found.n_rows)
        return found

    def table(self, found):
        notes = [f"{who}: {seconds:,} s, published" for who, seconds in found.told["published"].items()]
        if "rows_apart" in found.told:
            notes.append(f"mean scores of all C differ by at most {found.told['rows_apart']} rows")
        return Table(found.title(), rows_of(found, COLUMNS), [*notes, *remarks(self, found)])

    def wrong(self, found):
        return ["DIFFER: scores are not those of GridSearchCV"] if found.told.get("rows_apart", 0) > 1 else []


def sigest(X):
    """kernlab's estimate of gamma: the mean of 1 / d^2 at the 10 % and the 90 % quantile of d^2, over n / 2 random
    pairs of the n rows of X, float64, shape (n, d)."""
    random, n = np.random.default_rng(1), len(X)
    squares = ((X[random.integers(n, size=n // 2)] - X[random.integers(n, size=n // 2)]) ** 2).sum(axis=1)
    return float(np.mean(1.0 / np.quantile(squares[squares > 0], [0.1, 0.9])))


def select(job):
    """In a child: {npz, dense, lambdas, way, factor, threads}"""
    try:
        from sklearn.model_selection import GridSearchCV, StratifiedKFold
        from sklearn.svm import SVC

        from libsvmx import SVCCV
    except ImportError as reason:
        raise Unavailable(str(reason)) from None
    dataset = datasets.load(job["npz"])
    X, y = datasets.scipy_matrix(dataset), dataset.targets
    gamma = job["factor"] * sigest(X.toarray())
    X = X.toarray() if job["dense"] else X
    costs = 1.0 / (2.0 * len(y) * np.geomspace(*job["lambdas"][::-1], N_COSTS))
    cv = StratifiedKFold(FOLDS, shuffle=True, random_state=1)  # shuffled, because w7a is sorted
    given = {"cv": cv, "n_jobs": job["threads"]}
    if job["way"] == TORCH:
        return {"gamma": gamma} | by_torchkm(X if job["dense"] else X.toarray(), y, gamma, costs, cv)
    if job["way"] == ORACLE:
        search = GridSearchCV(SVC(gamma=gamma, cache_size=MEGABYTES), {"C": costs}, **given)
    else:
        search = SVCCV(Cs=costs, gammas=[gamma], cache_size=MEGABYTES, **given)
        SVCCV(Cs=[1.0, 2.0], gammas=[gamma], cv=2).fit(np.eye(8), [0, 1] * 4)  # loads what it needs
    wall, cpu = time.perf_counter(), time.process_time()
    search.fit(X, y)
    seconds = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    best = [float(search.best_params_["C"]), float(search.best_score_)]
    return {**seconds, "gamma": gamma, "best": best, "scores": search.cv_results_["mean_test_score"].tolist()}


def by_torchkm(X, y, gamma, costs, cv):
    """The same search by TorchKM's estimator on a GPU, kernel matrix included; its kernel is exp(-2 sigma d^2)."""
    try:
        import torch
        from torchkm.estimators import TorchKMSVC
    except ImportError as reason:
        raise Unavailable(str(reason)) from None
    if not torch.cuda.is_available():
        raise Unavailable("PyTorch finds no GPU")
    folds = np.empty(len(y), dtype=np.int64)
    for number, (_, held) in enumerate(cv.split(X, y), start=1):
        folds[held] = number
    small = {"Cs": [1.0, 2.0], "nC": 2, "cv": 2, "rbf_sigma": 1.0, "device": "cuda"}
    TorchKMSVC(**small).fit(np.random.default_rng(1).normal(size=(40, 2)), [0, 1] * 20)  # loads what it needs
    search = TorchKMSVC(Cs=costs, nC=len(costs), cv=FOLDS, foldid=folds, rbf_sigma=gamma / 2, device="cuda")
    wall, cpu = time.perf_counter(), time.process_time()
    search.fit(X, y)
    seconds = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    scores = 1.0 - np.asarray(search.cv_mis_)
    unfinished = None if search.converged_ is None else int(np.sum(~np.asarray(search.converged_, dtype=bool)))
    found = {"best": [float(search.best_C_), float(scores.max())], "scores": scores.tolist(), "unfinished": unfinished}
    return {**seconds, **found, "device": torch.cuda.get_device_name()}


JOBS = {"selection": Selection()}

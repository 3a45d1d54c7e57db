"""The estimators beside those of scikit-learn and scikit-learn-intelex: fit, predict, predict_proba, and searches."""

import hashlib
import statistics
import time
import warnings
from functools import partial
from importlib import import_module
from math import prod

from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.measure import Unavailable, all_threads, measure, timed
from tools.bench.peers.sklearn import PACKAGES
from tools.bench.protocol import TIMES, Found, Job, remarks, rows_of
from tools.bench.report import Table, milliseconds, text
from tools.bench.turns import Run, take_turns

OURS, ORACLE = "libsvmx", "sklearn"
SMALL_SECONDS = 0.2  # calls are repeated for this long, and the median counts
COSTS, GAMMAS = [2.0**c for c in range(-5, 15, 2)], [2.0**g for g in range(-15, 5, 2)]
CALLS = ("fit", "predict", "predict_proba")
CASES = (
    *(Case(name, name, options, part="calls") for name, options in (
        ("iris.scale", "-c 1 -g 0.25"), ("wine.scale", "-c 1 -g 0.1"), ("heart_scale", "-c 1 -g 0.1"),
        ("ionosphere_scale", "-c 4 -g 0.1"), ("australian", "-c 8 -g 0.00003"), ("splice", "-c 1 -g 0.02"),
        ("vowel.scale", "-c 8 -g 1"), ("a1a", "-c 1 -g 0.05"), ("svmguide1", "-c 10 -g 0.001"),
        ("segment.scale", "-c 8 -g 0.5"), ("satimage.scale", "-c 8 -g 0.5"), ("a4a", "-c 1 -g 0.05"),
        ("letter.scale", "-c 10 -g 0.5"), ("w7a", "-c 10 -g 0.01"), ("a9a", "-c 1 -g 0.05"),
    )),
    *(Case(f"grid {name}", name, part="search") for name in ("iris.scale", "wine.scale", "heart_scale", "vowel.scale",
                                                            "ionosphere_scale", "australian")),
    Case("grid splice", "splice", part="search", rows=500),
    Case("grid a1a", "a1a", part="search", rows=800),
    Case("grid letter", "letter.scale", part="search", rows=1000),
)  # fmt: skip
COLUMNS = {
    "calls": {
        **{f"{call} ms": lambda found, run, call=call: milliseconds(run.median(call)) for call in CALLS},
        **{
            f"sklearn / run, {call}": lambda found, run, call=call: text(times(found, run, call), ".1f")
            for call in CALLS
        },
        "models": lambda found, run: found.told.get(run.name, ""),
    },
    "search": {
        **TIMES,
        "sklearn / run": lambda found, run: text(found.ratio(oracle(run), run.name), ".1f"),
        "best C, gamma, score": lambda found, run: "{:g}, {:g}, {:.4f}".format(*run.last["best"]),
        "models": lambda found, run: found.told.get(run.name, ""),
    },
}


class Estimators(Job):
    name = "estimators"
    explained = (
        "Dense rows. CPU seconds with one thread, by the clock with more. A search is GridSearchCV of scikit-learn, or "
        "libsvmx's SVCCV, over 100 points and 5 folds, without the last fit. sklearn / run: scikit-learn's time with "
        "as many threads as a multiple of the run's."
    )
    parts = {"calls": "Fit, predict, predict_proba", "search": "100 points, 5 folds"}  # noqa: RUF012
    usual = ("calls",)

    def options(self, parser):
        usual = sorted({1, all_threads()})
        parser.add_argument("--threads", nargs="+", type=int, default=usual, help=" ".join(map(str, usual)))

    def every_case(self, options):
        return list(CASES)

    def run(self, case, options):
        npz = datasets.prepare(case, options.data, options.cache)
        dataset = datasets.load(npz)
        found = Found(case, "", len(dataset.targets), int(dataset.indices.max(initial=1)))
        if prod((found.n_rows, found.n_columns)) > 10**8:
            raise Unavailable("dense rows would take more than 800 MB")
        job = {"npz": str(npz), "options": case.options, "call": f"jobs.estimators:{case.part}"}
        ways = [*PACKAGES, OURS, *(["SVCCV"] if case.part == "search" else [])]
        for threads in options.threads:
            for way in ways:
                about = {"way": way, "threads": threads}
                once = partial(measure, {**job, **about}, threads, options.timeout)
                found.runs.append(Run(f"{way}, {threads}", once, about=about))
        take_turns(found.runs, options.repeat, options.max_seconds_once)
        for run in found.runs:
            theirs = found.run(oracle(run))
            if run.results and theirs and run.about["way"] != ORACLE:
                found.told[run.name] = "equal" if run.last["said"] == theirs.last["said"] else "differ"
        return found

    def table(self, found):
        return Table(found.title(), rows_of(found, COLUMNS[found.case.part]), remarks(self, found))

    def wrong(self, found):
        ours = (OURS, "SVCCV")
        return [f"{name} DIFFERS" for name, told in found.told.items() if told == "differ" and name.startswith(ours)]


def oracle(run):
    """scikit-learn's run with the same number of threads."""
    return f"{ORACLE}, {run.about['threads']}"


def times(found, run, call):
    """scikit-learn's time of a call as a multiple of the run's."""
    theirs, own = found.run(oracle(run)), run.median(call)
    known = theirs.median(call) if theirs else None
    return known / own if known and own else None


# ---- in a child ----------------------------------------------------------------------------------


def loaded(job):
    """Dense rows and targets, the class, and the keywords of its parameters."""
    dataset = datasets.load(job["npz"])
    sparse, way = datasets.scipy_matrix(dataset), job["way"]
    try:
        module = import_module("libsvmx" if way in (OURS, "SVCCV") else f"{way}.svm")
    except ImportError:
        raise Unavailable(f"{PACKAGES.get(way, 'scikit-learn')} is not installed") from None
    warnings.simplefilter("ignore")  # newer versions warn of probability=True
    given = {"n_jobs": job["threads"]} if way in (OURS, "SVCCV") else {}
    return sparse.toarray(), dataset.targets, module, given


def calls(job):
    """Seconds of fit, predict and predict_proba over the same rows."""
    X, y, module, given = loaded(job)
    param = datasets.parameter(job["options"], X.shape[1])
    clock = time.process_time if job["threads"] == 1 else time.perf_counter
    plain, sure = (module.SVC(C=param.C, gamma=param.gamma, probability=p, **given) for p in (False, True))
    tests = X[:2000]
    seconds = {
        "fit": repeated(partial(plain.fit, X, y), clock),
        "predict": repeated(partial(plain.predict, tests), clock),
    }
    if seconds["fit"] < 5:
        sure.fit(X, y)
        seconds["predict_proba"] = repeated(partial(sure.predict_proba, tests), clock)
    said = hashlib.sha256(plain.predict(tests).tobytes()).hexdigest()
    return {"seconds": seconds["fit"], **seconds, "said": said}


def repeated(work, clock=time.process_time):
    """The median of as many calls as fit into SMALL_SECONDS, after one that does not count."""
    total, each = timed(work, clock), []
    if total > SMALL_SECONDS:
        return total
    while sum(each) < SMALL_SECONDS:
        each.append(timed(work, clock))
    return statistics.median(each)


def search(job):
    """Seconds of a whole search, and its best point."""
    from sklearn.model_selection import GridSearchCV

    X, y, module, given = loaded(job)
    if job["way"] == "SVCCV":
        found = module.SVCCV(Cs=COSTS, gammas=GAMMAS, refit=False, **given)
    else:
        grid = {"C": COSTS, "gamma": GAMMAS}
        found = GridSearchCV(module.SVC(), grid, refit=False, n_jobs=job["threads"])
    clock = time.process_time if job["threads"] == 1 else time.perf_counter
    seconds = timed(partial(found.fit, X, y), clock)
    best = [*found.best_params_.values(), found.best_score_]
    return {"seconds": seconds, "best": best, "said": [round(value, 9) for value in best]}


JOBS = {"estimators": Estimators()}

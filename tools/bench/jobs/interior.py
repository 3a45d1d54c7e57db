"""The interior-point method with and without constraint reduction, beside LIBSVM and LIBLINEAR.

Figures and tables follow Jung, O'Leary & Tits, "Adaptive constraint reduction for training support vector
machines" (ETNA 31, 2008).
"""

import warnings
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from tools.bench import datasets, mapped
from tools.bench.cases import Case, Way
from tools.bench.jobs.trainings import excess, judged, trained
from tools.bench.measure import Unavailable, measure, timed
from tools.bench.peers import CONVERGED
from tools.bench.protocol import TIMES, Job, remarks, rows_of
from tools.bench.report import Table, text

WRONG = 1e-6  # allowed excess over the best objective, relative, of a run that reports convergence
CRSVM = Way("crsvm", settings={"solver": "crsvm"})
LOOSE = Way("crsvm, 1e-2", settings={"solver": "crsvm", "tolerance": 1e-2})
LIBSVM, SMO, LIBLINEAR = Way("LIBSVM", "libsvm"), Way("smo"), "LIBLINEAR"

# Rows of Adult; missing sets are cut from the last one.
ADULT = {"a1a": 1605, "a2a": 2265, "a3a": 3185, "a4a": 4781, "a5a": 6414, "a6a": 11_220, "a7a": 16_100, "a8a": 22_696}
LARGEST = "a9a"
LINEAR = "-s 0 -t 0 -c 1 -m 1000"
REGRESSION = "-s 3 -t 0 -p 0.1 -m 1000"
RBF = f"-s 0 -t 2 -c 1 -g {1 / 123!r} -m 1000"
ACCURACIES = (1e-3, 1e-4, 1e-6)
MOST_DOUBLINGS, SETTLED = 22, 1e-8  # passes of LIBLINEAR: 1, 2, 4, ...
FACTORS = (("eigen", 64), ("cholesky", 300), ("rpcholesky", 300), ("nystrom", 300))
BY_FACTOR = ", by the factor"
CASES = (
    *(Case(name, name, LINEAR, part="variants") for name in mapped.PROBLEMS),
    *(Case(name, name, LINEAR, rows, part="linear", ways=(CRSVM, LIBSVM)) for name, rows in ADULT.items()),
    Case(LARGEST, LARGEST, LINEAR, part="linear", ways=(CRSVM, LOOSE, LIBSVM)),
    # LIBSVM to a tight tolerance, as reference
    *(
        Case(n, n, f"{LINEAR} -e 1e-7", part="tight", ways=(CRSVM, LIBSVM))
        for n in ("a1a", "w7a", "mushrooms", "splice")
    ),
    *(
        Case(f"C = {C}", "abalone_scale", f"{REGRESSION} -c {C}", part="regression", ways=(CRSVM, SMO, LIBSVM))
        for C in (0.01, 1, 100, 10_000)
    ),
    Case(LARGEST, LARGEST, RBF, part="lowrank"),
)
COLUMNS = {
    **TIMES,
    "iterations": lambda found, run: f"{run.last['iterations']:,}",
    "/ crsvm": lambda found, run: text(found.ratio(run.name, CRSVM.name), ".1f"),
    "objective": lambda found, run: f"{judged(found, run.name)['objective']:.9g}",
    "above crsvm": lambda found, run: text(excess(found, run.name, CRSVM.name), ".1e"),
    "gap": lambda found, run: f"{judged(found, run.name)['gap']:.1e}",
    "infeasibility": lambda found, run: f"{judged(found, run.name)['infeasibility']:.1e}",
    "status": lambda found, run: run.last["status"],
}
VARIANTS = {
    "solve s": lambda found, run: f"{run.median('solve_seconds'):.3f}",
    "x": lambda found, run: f"{found.runs[0].median('solve_seconds') / run.median('solve_seconds'):.2f}",
    **COLUMNS,
}
LOW_RANK = {
    **TIMES,
    "of the factor": lambda found, run: text(run.last.get("factor_seconds"), ".3f"),
    "trace error": lambda found, run: text(run.last["counts"].get("trace_error"), ".2e"),
    "iterations": lambda found, run: f"{run.last['iterations']:,}",
    "SV": lambda found, run: f"{run.last['n_sv']:,}",
    "accuracy": lambda found, run: text(run.last.get("accuracy"), ".3%") or same_model(found),
}


class Interior(Job):
    name = "interior"
    explained = """\
One thread; medians of CPU time of the whole training, one process for each, data in memory before. solve s: from the
first iteration to the end of the solve; x: times as fast as unreduced. Objectives and gaps are computed from data and
coefficients; above crsvm: relatively."""
    parts: ClassVar = {
        "variants": "Adaptive constraint reduction, at most q_U rows",
        "linear": "Linear kernel, C = 1",
        "tight": "Linear kernel, C = 1, LIBSVM to 1e-7",
        "regression": "Epsilon-SVR, linear kernel, epsilon = 0.1",
        "lowrank": "RBF kernel, gamma = 1/123, C = 1",
    }
    limit, max_seconds_once = 600.0, 20.0

    def every_case(self, options):
        return list(CASES)

    def run(self, case, options):
        return {"variants": variants, "lowrank": lowrank}.get(case.part, linear)(case, options)

    def table(self, found):
        notes, curve = remarks(self, found), found.told.get("curve")
        if curve:
            told = (f"{accuracy:.0e} in {reached(curve, accuracy):.3f} s" for accuracy in ACCURACIES)
            notes.append(f"{LIBLINEAR}, whose bias is regularized, above its own best: {', '.join(told)}")
        columns = {"variants": VARIANTS, "lowrank": LOW_RANK}.get(found.case.part, COLUMNS)
        return Table(found.title(), rows_of(found, columns), notes)

    def tables(self, results):
        if not results or results[0].case.part not in ("linear", "tight"):
            return []
        rows = [("", "m", "crsvm s", "iterations", "LIBSVM s", "LIBSVM's objective above ours")]
        for found in results:
            times = [f"{run.seconds:.3f}" if (run := found.run(way.name)) else "-" for way in (CRSVM, LIBSVM)]
            above = text(excess(found, LIBSVM.name, CRSVM.name), ".1e")
            ours = str(found.last(CRSVM.name).get("iterations", ""))
            rows.append((found.case.name, f"{found.n_rows:,}", times[0], ours, times[1], above))
        powers = {way.name: exponent(results, way.name) for way in (CRSVM, LIBSVM)}
        told = ", ".join(f"{name} m^{power:.2f}" for name, power in powers.items() if power is not None)
        return [Table("Sets", rows, [f"time grows as {told}"] if told else [])]

    def wrong(self, found):
        """Interior-point runs that report convergence but are not at the optimum."""
        told = [(run, judged(found, run.name)["objective"]) for run in found.runs if judged(found, run.name)]
        best = min((objective for _, objective in told), default=0.0)
        return [
            f"NOT OPTIMAL: {run.name}"
            for run, objective in told
            if run.name != LIBSVM.name
            and run.last["status"] == CONVERGED
            and objective - best > WRONG * max(abs(best), 1e-300)
        ]


def variants(case, options):
    """With at most q_U of the m rows in the normal matrix."""
    npz = mapped.prepare(case, options.data, options.cache)
    m = len(datasets.load(npz).targets)
    ways = [Way("unreduced", settings={**CRSVM.settings, "reduction": "none"})]
    for k in (1, 2, 4, 8, 16):
        ways.append(Way(f"q_U = m/{k}", settings={**CRSVM.settings, "most_rows": -(-m // k) if k > 1 else 0}))
    return trained(case, ways, options, npz=npz)


def linear(case, options):
    """On the largest set, with LIBLINEAR's times to looser objectives."""
    try:
        found = trained(case, case.ways, options)
    except Unavailable:
        if case.name not in ADULT:
            raise
        found = trained(replace(case, data=LARGEST), case.ways, options)
        found.note = f"the first rows of {LARGEST}"
    if LOOSE in case.ways:
        npz = datasets.prepare(case, options.data, options.cache)
        job = {"call": "jobs.interior:by_passes", "npz": str(npz), "limit": options.limit}
        told = measure(job, 1, options.timeout)
        found.told["curve"] = told.get("curve")
        found.note = f"{LIBLINEAR}: NOT RUN: {told['cannot']}" if "cannot" in told else ""
    return found


def by_passes(job):
    """In a child: {npz, limit}: points (seconds, primal objective) of LIBLINEAR by number of passes.

    Dual coordinate descent for 1, 2, 4, ... passes until nothing changes any more, or the limit is near. Its problem
    has a column of ones instead of the bias b, so that the bias is regularized like the weights:
    1/2 |w|^2 + 1/2 b^2 + the sum of the hinge losses, C = 1.
    """
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC
    except ImportError:
        raise Unavailable("scikit-learn is not installed") from None
    dataset, curve = datasets.load(job["npz"]), []
    X = datasets.scipy_matrix(dataset)
    y = np.where(dataset.targets == dataset.targets.max(), 1.0, -1.0)
    for k in range(MOST_DOUBLINGS):
        estimator = LinearSVC(C=1.0, loss="hinge", dual=True, tol=1e-12, max_iter=1 << k, random_state=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds = timed(partial(estimator.fit, X, y))
        w, bias = estimator.coef_[0], float(estimator.intercept_[0])
        losses = np.maximum(0.0, 1 - y * (X @ w + bias))
        curve.append((seconds, float(w @ w + bias**2) / 2 + float(losses.sum())))
        best, spent = min(primal for _, primal in curve), sum(seconds for seconds, _ in curve)
        settled = k > 5 and max(primal for _, primal in curve[-3:]) <= best * (1 + SETTLED)
        if settled or 2 * seconds + spent > job["limit"]:
            break
    return {"seconds": spent, "curve": curve}


def reached(curve, accuracy):
    """The fewest seconds of a point at or below (1 + accuracy) times the best objective."""
    best = min(primal for _, primal in curve)
    return min(s for s, primal in curve if primal <= best * (1 + accuracy))


def exponent(results, way):
    """p of the least-squares fit of log seconds by p log m + q; None for fewer than 3 sets."""
    points = [(found.n_rows, found.run(way).seconds) for found in results if found.run(way)]
    if len({m for m, _ in points}) < 3:
        return None
    m, times = np.log(np.array(points)).T
    return float(np.polyfit(m, times, 1)[0])


def lowrank(case, options):
    """Low-rank factors of the kernel matrix; test predictions with the kernel and with the factor."""
    test = datasets.prepare(replace(case, data=f"{case.data}.t"), options.data, options.cache)
    ways = []
    for method, rank in FACTORS:
        settings = {**CRSVM.settings, "low_rank": method, "rank": min(rank, case.rows or rank)}
        ways.append(Way(f"{method}, rank {rank}", settings=settings))
        ways.append(Way(f"{method}, rank {rank}{BY_FACTOR}", settings={**settings, "predict_with": "factor"}))
    return trained(case, (*ways, SMO, LIBSVM), options, test=str(test), certified=False)


def same_model(found):
    """LIBSVM's run, whose predictions are those of smo if the models are the same."""
    same = found.last(SMO.name).get("model_hash") == found.last(LIBSVM.name).get("model_hash")
    return "as smo" if same else "smo has ANOTHER model"


JOBS = {"interior": Interior()}

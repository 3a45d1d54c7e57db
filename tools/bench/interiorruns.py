"""What a child does for interior.py: solves by the interior-point method, and its peers, on CPU time.

Variants of the reduction are solves of mapped problems, in turn in one process, so that what else runs on the machine
slows all of them alike. The peers and what they are compared with are whole trainings.
"""

from __future__ import annotations

import time
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench import datasets, mapped
from tools.bench.peers import Unavailable, svmx
from tools.bench.updaters import limit_cpu

Result = dict[str, Any]

# Passes of LIBLINEAR that are tried: 1, 2, 4, ...
MOST_DOUBLINGS = 22
SETTLED = 1e-8


def interior(job: Result) -> Result:
    """{kind, ...}: see the function of that name."""
    return KINDS[job["kind"]](job)


# ---- mapped problems -----------------------------------------------------------------------------


def variants(job: Result) -> Result:
    """{problem, data, rows, settings, repeat}: every variant so many times, in turn.

    ``settings`` are keywords of CRSVM for each variant; ``most_rows`` is a share of the rows here, 0 for all.

    Returns
    -------
    rows, positive, inputs, features : int      of the problem; note : str
    runs : list of {seconds, walls, iterations, status, objective, gap, n_sv, n_free, log}, one for each variant
        ``seconds``: all CPU times; ``n_sv`` and ``n_free``: of the classes +1 and -1; ``log``: (mu, |Q|) by iteration
    """
    from libsvmx._kernels.featurerows import DenseRows
    from libsvmx._solvers.interior_point.settings import CRSVM

    problem = mapped.load(job["problem"], Path(job["data"]), job["rows"])
    rows, m = DenseRows(problem.X), len(problem.y)
    settings = [CRSVM(**{**s, "most_rows": int(np.ceil(s.get("most_rows", 0) * m))}) for s in job["settings"]]
    runs: list[Result] = [{"seconds": []} for _ in settings]
    limit_cpu(job["limit"])
    solved(rows, problem.y, settings[0])  # what is done once in a process: libraries, pages of memory
    for _ in range(job["repeat"]):
        for run, chosen in zip(runs, settings, strict=True):
            seconds, told = solved(rows, problem.y, chosen)
            run["seconds"].append(seconds)
            run.update(told)
    return {
        "rows": m,
        "positive": int(np.count_nonzero(problem.y > 0)),
        "inputs": problem.inputs,
        "features": rows.n,
        "note": problem.note,
        "runs": runs,
    }


def solved(rows: Any, y: Any, settings: Any) -> tuple[float, Result]:
    """CPU seconds of one solve with C = 1, and what it came to."""
    from threadpoolctl import threadpool_limits

    from libsvmx._solvers.interior_point import predictor_corrector
    from libsvmx._solvers.interior_point.row_blocks import LocalRowBlocks

    log: list[Any] = []
    C = np.ones(len(y))
    with threadpool_limits(1, "blas"):
        start = time.process_time()
        with LocalRowBlocks(rows, y, C) as blocks:
            found = predictor_corrector.solve(blocks, settings, lambda line: log.append(line))
        seconds = time.process_time() - start
        alpha = np.concatenate([state.alpha for state in blocks.states])
        w = (y * alpha) @ rows.X
    free = (alpha > 0) & (alpha < 1)
    return seconds, {
        "iterations": found.iterations,
        "status": found.status,
        "objective": float(w @ w) / 2 - float(alpha.sum()),
        "gap": found.vertex.gap if found.vertex else None,
        "n_sv": [int(np.count_nonzero((alpha > 0) & (y * sign > 0))) for sign in (1, -1)],
        "n_free": [int(np.count_nonzero(free & (y * sign > 0))) for sign in (1, -1)],
        "log": [(line.mu, line.rows) for line in log],
    }


# ---- whole trainings -----------------------------------------------------------------------------


def adult(job: Result) -> Result:
    """{npz, options, solver, limit, tolerances}: one training, or with 'liblinear' its curve.

    Returns
    -------
    seconds : float           CPU time of the training, data in memory
    iterations : int, objective : float         of the dual, as the solver tells it; primal : float, exact
    status : str
    curve : list of (seconds, primal) by tolerance, or by number of passes, None where there is none
    """
    dataset = datasets.load(job["npz"])
    if job["solver"] == "liblinear":
        return liblinear(dataset, job)
    limit = job["limit"]
    if job["solver"] == "libsvm":
        limit_cpu(limit)
        return trained(import_module("tools.bench.peers.libsvm").Training(dataset, job["options"]), dataset)
    told = trained(ours(dataset, job["options"]), dataset)
    curve = [trained(ours(dataset, job["options"], tolerance=t), dataset) for t in job.get("tolerances", ())]
    return {**told, "curve": [(found["seconds"], found["primal"]) for found in curve]}


def ours(dataset: Any, options: str, **change: Any) -> Any:
    """A training by crsvm; what it needs is loaded before the clock starts."""
    import_module("libsvmx._train.feature_map")
    import_module("libsvmx._kernels.lowrank")
    changed = import_module("libsvmx._train.parameter").changed
    training = svmx.Training(dataset, options)
    training.param = changed(training.param, {"solver": "crsvm", **change})
    return training


def trained(training: Any, dataset: Any) -> Result:
    start = time.process_time()
    training.train()
    seconds = time.process_time() - start
    outcome = training.outcome()
    w, rho, y = separator(dataset, outcome)
    return {
        "seconds": seconds,
        "iterations": outcome.iterations,
        "objective": outcome.objective,
        "primal": primal(dataset, w, -rho, y),
        "status": outcome.note or "converged",
        "n_sv": len(outcome.solution.rows),
    }


def separator(dataset: Any, outcome: Any) -> tuple[Any, float, Any]:
    """w and rho of the one linear function of a model, and +1 for its first class: shapes (d,), (), (m,)."""
    X, solution = datasets.scipy_matrix(dataset), outcome.solution
    w = X[solution.rows].T @ solution.coef[0]
    return w, float(outcome.rho[0]), np.where(dataset.targets == solution.labels[0], 1.0, -1.0)


def primal(dataset: Any, w: Any, bias: float, y: Any, of_bias: float = 0.0) -> float:
    """1/2 |w|^2 + 1/2 of_bias bias^2 + the sum of the hinge losses, C = 1."""
    losses = np.maximum(0.0, 1 - y * (datasets.scipy_matrix(dataset) @ w + bias))
    return float(w @ w + of_bias * bias**2) / 2 + float(losses.sum())


def liblinear(dataset: Any, job: Result) -> Result:
    """Dual coordinate descent for 1, 2, 4, ... passes until nothing changes any more, or the limit is near.

    Its problem has a column of ones in place of the bias, whose weight it regularizes with the others.
    """
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC
    except ImportError:
        raise Unavailable("scikit-learn is not installed") from None
    X = datasets.scipy_matrix(dataset)
    y = np.where(dataset.targets == dataset.targets.max(), 1.0, -1.0)
    curve: list[tuple[float, float]] = []
    for k in range(MOST_DOUBLINGS):
        estimator = LinearSVC(C=1.0, loss="hinge", dual=True, tol=1e-12, max_iter=1 << k, random_state=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = time.process_time()
            estimator.fit(X, y)
            seconds = time.process_time() - start
        curve.append((seconds, primal(dataset, estimator.coef_[0], float(estimator.intercept_[0]), y, 1.0)))
        best = min(found for _, found in curve)
        if k > 5 and max(found for _, found in curve[-3:]) <= best * (1 + SETTLED):
            break
        if 2 * seconds + sum(spent for spent, _ in curve) > job["limit"]:
            break
    return {"seconds": curve[-1][0], "iterations": 1 << k, "primal": best, "curve": curve, "status": "converged"}


def lowrank(job: Result) -> Result:
    """{npz, test, options, solver, low_rank, rank, limit}: a training, and what it predicts of another set.

    Returns
    -------
    seconds, factor_seconds : float       CPU time of all, and of the factor
    trace_error : float                  relative
    accuracy : dict of float          'kernel', and with a factor 'factor'
    iterations, objective, status, rank, n_sv, model_hash
    """
    dataset, test = datasets.load(job["npz"]), datasets.load(job["test"])
    if job["solver"] == "libsvm":
        limit_cpu(job["limit"])
        training = import_module("tools.bench.peers.libsvm").Training(dataset, job["options"])
    elif job["solver"] == "smo":
        training = svmx.Training(dataset, job["options"])
    else:
        training = ours(dataset, job["options"], low_rank=job["low_rank"], rank=job["rank"])
        training.observer = Factored()
    start = time.process_time()
    training.train()
    seconds = time.process_time() - start
    outcome = training.outcome()
    told = {"seconds": seconds, "iterations": outcome.iterations, "objective": outcome.objective}
    told |= {
        "status": outcome.note or "converged",
        "n_sv": len(outcome.solution.rows),
        "model_hash": outcome.model_hash,
    }
    if job["solver"] == "libsvm":
        return told
    told["accuracy"] = {"kernel": accuracy(training.model, test)}
    if job["solver"] == "crsvm":
        observer = training.observer
        told |= {"factor_seconds": observer.at - start, "trace_error": observer.error, "rank": observer.rank}
        by_factor = ours(dataset, job["options"], low_rank=job["low_rank"], rank=job["rank"], predict_with="factor")
        by_factor.train()
        told["accuracy"]["factor"] = accuracy(by_factor.model, test)
    return told


class Factored(svmx.Reports):
    """Keeps what the factor came to, too, and when."""

    def factorized(self, rank, trace_error, trace):
        self.at, self.rank, self.error = time.process_time(), rank, trace_error / trace


def accuracy(model: Any, test: Any) -> float:
    """Share of the rows predicted right."""
    from libsvmx._core.arrays import ramp
    from libsvmx._train.prediction import predict

    labels, _ = predict(model, datasets.csr_matrix(test), ramp(len(test.targets)))
    return float(np.mean(np.asarray(labels) == test.targets))


# ---- beside LIBSVM at a tight tolerance --------------------------------------------------------------


def oracle(job: Result) -> Result:
    """{npz, options, solver, limit, arrays}: f(x) = w'x - rho over the rows and the objective go into ``arrays``.

    The options are LIBSVM's. All that is told is computed in double from the data and the coefficients.

    Returns
    -------
    seconds, iterations, status
    """
    dataset = datasets.load(job["npz"])
    if job["solver"] == "crsvm":
        training = ours(dataset, job["options"])
    else:
        peer = import_module("tools.bench.peers.libsvm") if job["solver"] == "libsvm" else svmx
        training = peer.Training(dataset, job["options"])
    limit_cpu(job["limit"])
    start = time.process_time()
    training.train()
    seconds = time.process_time() - start
    outcome = training.outcome()
    w, rho, y = separator(dataset, outcome)
    beta = np.zeros(len(y))
    beta[outcome.solution.rows] = outcome.solution.coef[0]
    told = residuals(dataset, beta, y)
    if job["solver"] == "crsvm":
        told["w"] = float(abs(solver_w(dataset, y) - w).max())
    np.savez(job["arrays"], values=datasets.scipy_matrix(dataset) @ w - rho)
    told |= {"seconds": seconds, "iterations": outcome.iterations, "status": outcome.note or "converged"}
    return told | {"objective": float(w @ w) / 2 - float(abs(beta).sum())}


def solver_w(dataset: Any, y: Any) -> Any:
    """The w that the solver itself keeps, shape (d,)."""
    from libsvmx._core.arrays import ramp
    from libsvmx._core.matrix import distinct_features
    from libsvmx._kernels.featurerows import feature_rows
    from libsvmx._solvers.interior_point import predictor_corrector
    from libsvmx._solvers.interior_point.row_blocks import LocalRowBlocks
    from libsvmx._solvers.interior_point.settings import CRSVM

    matrix = datasets.csr_matrix(dataset)
    with LocalRowBlocks(feature_rows(matrix, ramp(len(y))), y, np.ones(len(y))) as blocks:
        found = predictor_corrector.solve(blocks, CRSVM(), lambda line: None)
    w = np.zeros(datasets.scipy_matrix(dataset).shape[1])
    w[np.asarray(distinct_features(matrix)) - 1] = found.w
    return w


def residuals(dataset: Any, beta: Any, y: Any) -> Result:
    """KKT residuals of coefficients beta = y alpha, C = 1, over all rows.

    Returns
    -------
    sum : |y'alpha|;  box : how far alpha leaves [0, 1];  gap : max_{I_up} V - min_{I_low} V with V = y - X w
    """
    X = datasets.scipy_matrix(dataset)
    scores = y - X @ (X.T @ beta)
    alpha = y * beta
    up = np.where(y > 0, alpha < 1, alpha > 0)
    low = np.where(y > 0, alpha > 0, alpha < 1)
    gap = scores[up].max(initial=-np.inf) - scores[low].min(initial=np.inf)
    return {
        "sum": abs(float(beta.sum())),
        "box": max(0.0, -float(alpha.min()), float(alpha.max()) - 1),
        "gap": float(gap),
    }


KINDS = {"variants": variants, "adult": adult, "lowrank": lowrank, "oracle": oracle}

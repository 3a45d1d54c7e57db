"""Updates of a trained state in a child: along a path, and by other ways to the same optimum.

Rows A join an optimum and rows R leave it (Karasuyama & Takeuchi, "Multiple incremental decremental learning of support
vector machines", 2009, section 4). The ways to the optimum of the rows that are left:

    MID             one path for all of them: state.update
    SID             one path for each: state.update with single rows, alternately one of A and one of R
    LIBSVM e        svm_train of LIBSVM on those rows, a cold start, to tolerance e
    cold e          libsvmx on LIBSVM's path, a cold start
    seeded e        libsvmx's SMO from the old optimum: sum over R of beta_j is spread evenly over the free variables
                    (section 4, third paragraph); scores of the rows that stay move by the changed beta only

Rows are in memory and converted before the clock starts. CPU seconds are counted until there is a model (seeded:
until there are coefficients). Kernel rows kept by a trained state are available, as for any later update.
"""

from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib import import_module

import numpy as np

import libsvmx
from tools.bench.certificate import certify
from tools.bench.datasets import csr_matrix, dense_dataset, load, parameter, scipy_matrix
from tools.bench.measure import limit_seconds, timed
from tools.bench.peers import Solution, solution_of

MEGABYTES = 500  # of kernel rows, for each way: enough for every row of all sets but a9a
NONE_LEFT = 1e-9  # of C: a sum that is rounding error

# Two classes in the plane with equal priors: one Gaussian, and two on either side of it, all with the same deviation.
# Centres 1.41 apart are 2 deviations of 0.7 apart, so about a fifth of the rows are on the wrong side.
CENTRE = (0.5, 1.0)
CENTRES = ((-0.5, 0.0), (1.5, 2.0))
DEVIATION = 0.7


def changes(job):
    """{subject, ways, repeat, max_seconds_once, limit, ...}: every way ``repeat`` times, in turn; ``limit``: seconds
    of the whole process, None for no limit.

    Returns
    -------
    runs : list of {way, seconds, objective, ...}
    ratio : median of ||d||_2 / ||d||_1 with the requested changes d of alpha: the breakpoints of MID over those of
        SID as section 3.4 predicts them
    """
    runs, ratios, before = [], [], None
    limit_seconds(job["limit"])
    for repetition in range(job["repeat"]):
        if before is None or job["subject"] == "artificial":  # the others have only one change
            before = Before(CHANGES[job["subject"]](job, repetition))
        # in alternating order: the first in a turn finds cold processor caches
        for name in job["ways"][:: -1 if repetition % 2 else 1]:
            if any(run["way"] == name and run["seconds"] > job["max_seconds_once"] for run in runs):
                continue
            work, outcome = way(name, before)
            run = {"way": name, "seconds": timed(work), **outcome()}
            joined = run.pop("joined", None)
            if name == "MID":
                left = sizes(before.state.model, before.change.n)[before.change.gone]
                ratios.append(expected(np.concatenate([joined, left])))
            runs.append(run)
    ratio = float(np.median(ratios)) if ratios else None
    return {"seconds": sum(run["seconds"] for run in runs), "runs": runs, "ratio": ratio}


def expected(asked):
    """||d||_2 / ||d||_1 (section 3.4): sqrt(m) / m if all m alpha move the whole way between 0 and C."""
    total = np.abs(asked).sum()
    return float(np.linalg.norm(asked) / total) if total else 1.0


# ---- data --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """Rows X, y: the first ``n`` are trained on, the rest join, and ``gone``, among the first, leave.

    X : float64, shape (n + joining, d)     y : float64, of 1 and -1, shape (n + joining,)     gone : int64, ascending
    """

    X: np.ndarray
    y: np.ndarray
    n: int
    gone: np.ndarray
    C: float
    gamma: float

    @property
    def left(self):
        """Rows after the change: the old ones that stay, then the new ones."""
        return np.setdiff1d(np.arange(len(self.y)), self.gone)

    def options(self, eps=1e-3):
        return options_of(self.C, self.gamma, eps)


def options_of(C, gamma, eps):
    return f"-s 0 -t 2 -c {C!r} -g {gamma!r} -e {eps!r} -m {MEGABYTES}"


def drawn(n, random):
    """(X, y): n rows of the two classes."""
    y = np.where(random.random(n) < 0.5, 1.0, -1.0)
    second = (random.random(n) < 0.5).astype(int)
    centres = np.where((y > 0)[:, None], CENTRE, np.array(CENTRES)[second])
    return centres + DEVIATION * random.standard_normal((n, 2)), y


def artificial(job, repetition):
    """{n, scenario, count, C, gamma}: joining rows have alpha = C in the optimum with all rows, leaving rows in that
    before the change."""
    joining = job["count"] if job["scenario"] in ("add", "both") else 0
    leaving = job["count"] if job["scenario"] in ("remove", "both") else 0
    n, C, gamma = job["n"], job["C"], job["gamma"]
    random = np.random.default_rng([job["count"], repetition])
    X, y = drawn(n + joining, random)
    if joining:
        chosen = random.permutation(at_bound(X, y, C, gamma))[:joining]
        order = np.concatenate([np.setdiff1d(np.arange(n + joining), chosen), chosen])
        X, y = X[order], y[order]
    gone = random.permutation(at_bound(X[:n], y[:n], C, gamma))[:leaving] if leaving else np.zeros(0, int)
    return Change(X, y, n, np.sort(gone), C, gamma)


def at_bound(X, y, C, gamma):
    """Rows with alpha = C."""
    found = np.flatnonzero(sizes(kept_state(X, y, C, gamma).model, len(y)) >= C)
    assert len(found)
    return found


def window(job, repetition):
    """{npz, n, count, C, gamma}: the next ``count`` rows join, the oldest leave."""
    X, y = scaled(load(job["npz"]))
    n, count = job["n"], job["count"]
    return Change(X[: n + count], y[: n + count], n, np.arange(count), job["C"], job["gamma"])


def scaled(dataset):
    """(X, y): every column scaled to [0, 1] over all rows."""
    X = scipy_matrix(dataset).toarray()
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    return (X - low) / np.where(width > 0, width, 1.0), dataset.targets


CHANGES = {"artificial": artificial, "window": window}


# ---- ways: (timed function, function that reports the outcome) --------------------------------------


class Before:
    """Before(change): facts about the optimum before the change, computed once on first use."""

    def __init__(self, change):
        self.change = change
        self.seeded = cache(lambda eps: Seeded(change, eps))

    @cached_property
    def state(self):
        change, n = self.change, self.change.n
        return kept_state(change.X[:n], change.y[:n], change.C, change.gamma)


def way(name, before):
    kind, _, eps = name.partition(" ")
    change = before.change
    if kind in ("MID", "SID"):
        return along_paths(change, before.state, kind == "SID")
    if kind == "seeded":
        return before.seeded(float(eps)).work, before.seeded(float(eps)).outcome
    rows, peer = change.left, {"LIBSVM": "libsvm", "cold": "svmx"}[kind]
    dataset = dense_dataset(change.X[rows], change.y[rows])
    training = import_module(f"tools.bench.peers.{peer}").Training(dataset, change.options(float(eps)))
    return training.train, lambda: certified(change, training.outcome().solution)


def kept_state(X, y, C, gamma):
    return libsvmx.train(X, y, keep_state=True, C=C, gamma=gamma, cache_size=MEGABYTES, threads=1)


def sizes(model, n):
    """alpha of every row: float64, shape (n,)"""
    alpha = np.zeros(n)
    alpha[np.asarray(model.sv_indices) - 1] = np.abs(np.asarray(model.sv_coef)[0])
    return alpha


def certified(change, solution):
    """Objective, and KKT gap over all rows, from the data, with a kernel in double precision for every solver."""
    rows = change.left
    matrix = scipy_matrix(dense_dataset(change.X[rows], change.y[rows]))
    return asdict(certify(matrix, change.y[rows], parameter(change.options(), matrix.shape[1]), solution))


def along_paths(change, state, single):
    """MID or, one row at a time, SID."""
    state = state.copy()
    state.check()  # a copy has no kernel rows; this computes those of its support vectors again
    n, X, y, gone = change.n, change.X, change.y, change.gone
    joining, reports = np.arange(n, len(y)), []

    def updated(rows, ids):
        if len(rows) or len(ids):
            state.update(add=(X[rows], y[rows]) if len(rows) else None, remove=ids)
            reports.append(state.report)

    def work():
        for k in range(max(len(joining), len(gone)) if single else 0):
            updated(joining[k : k + 1], ())
            updated((), gone[k : k + 1])
        if not single:
            updated(joining, gone)
        _ = state.model

    def outcome():
        alpha = sizes(state.model, len(state))
        told = {"breakpoints": sum(r.breakpoints for r in reports), "joined": alpha[len(alpha) - len(joining) :]}
        told |= {"repairs": sum(r.repairs + r.retrained for r in reports)}
        free = int(np.sum((alpha > 0) & (alpha < change.C)))
        return {**certified(change, solution_of(state.model)), "free": free, **told}

    return work, outcome


class Seeded:
    """Seeded(change, eps): the optimum to ``eps`` before the change, and SMO started from it.

    libsvmx has no public way to start SMO from a caller's coefficients, so this calls the layers below.
    """

    def __init__(self, change, eps):
        from libsvmx._train.formulation import build_dual

        from libsvmx._core.stopping import Control
        from libsvmx._solvers.smo import smo, warm
        from libsvmx._train.problem import Problem

        self.change, C = change, change.C
        param = parameter(change.options(eps), change.X.shape[1])
        self.problem = Problem(csr_matrix(dense_dataset(change.X, change.y)), np.ascontiguousarray(change.y).data)
        self.dual = lambda rows: build_dual(param, change.y[rows].data, C, C)
        self.solve = lambda solver, dual, kernel: solver.solve(dual, kernel, MEGABYTES << 20, Control(eps), 1)
        self.warm, before = warm, np.arange(change.n, dtype=np.int32)
        self.before = self.solve(smo, self.dual(before), self.kernel().part(before.data))

    def kernel(self):
        """Over all rows, before and after the change."""
        from libsvmx._kernels.kernel_matrix import Kernel

        return Kernel(self.problem.features, self.problem.rows, libsvmx.KernelType.RBF, 3, self.change.gamma, 0.0)

    def work(self):
        change, rows = self.change, self.change.left.astype(np.int32)
        n, y = change.n, change.y
        kernel = self.kernel()
        targets = kernel.targets(rows.data)
        before = np.asarray(self.before.beta)
        beta = np.concatenate([handed_on(before, y[:n], change.C, change.gone), np.zeros(len(y) - n)])
        step = beta[:n] - before
        moved = np.flatnonzero(step)
        V = np.concatenate([self.before.scores, y[n:]])
        V[rows] -= step[moved] @ values_of(targets, moved)
        V[n:] = y[n:] - values_of(targets, np.arange(n, len(y))) @ beta[rows]
        start = self.dual(rows).changed(beta=beta[rows].data, scores=V[rows].data)
        self.solution = self.solve(self.warm, start, kernel.part(rows.data))

    def outcome(self):
        beta = np.asarray(self.solution.beta)
        rows = [np.flatnonzero(beta > 0), np.flatnonzero(beta < 0)]
        used = np.concatenate(rows)
        found = Solution(used, beta[None, used], np.array([1, -1]), np.array([len(r) for r in rows]))
        return {**certified(self.change, found), "iterations": self.solution.iterations}


def values_of(targets, sources):
    """K(source, target): float64, shape (number of sources, number of targets)."""
    return np.array([np.asarray(row) for row in targets.rows(sources.tolist())], dtype=float).reshape(-1, targets.n)


def handed_on(beta, y, C, gone):
    """beta, of sum 0, without the rows ``gone``: their sum is spread evenly over free rows, then over all.

    There is always room: the others sum to minus that, and may all fall to 0.
    """
    beta, lost = beta.copy(), beta[gone].sum()
    lower, upper = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    free = (lower < beta) & (beta < upper)
    beta[gone], free[gone] = 0.0, False
    others = np.ones(len(y), dtype=bool)
    others[gone] = False
    for group in (free, others):
        while abs(lost) > NONE_LEFT * C:
            room = group & ((beta < upper) if lost > 0 else (beta > lower))
            if not room.any():
                break
            after = np.clip(beta[room] + lost / room.sum(), lower[room], upper[room])
            lost -= (after - beta[room]).sum()
            beta[room] = after
    return beta

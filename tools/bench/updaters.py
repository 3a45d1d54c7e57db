"""Updates of a trained state in a child: along a path, and by whatever else leads to the same optimum.

Rows A join an optimum and rows R leave it (Karasuyama & Takeuchi, "Multiple incremental decremental learning of support
vector machines", 2009, section 4). The ways to the optimum of the rows that are left:

    MID             one path for all of them: state.update
    SID             one path for each: state.update with single rows, by turns one of A and one of R
    LIBSVM e        svm_train of LIBSVM on those rows, from nothing, stopped at e
    cold e          libsvmx on LIBSVM's path, from nothing
    seeded e        libsvmx's SMO from the old optimum: sum over R of beta_j is spread evenly over the free variables
                    (section 4, third paragraph); scores of the rows that stay move by the changed beta only

Rows are in memory and converted before the clock starts, CPU seconds are counted until there is a model (seeded: until
there are coefficients), and kernel rows that a trained state has kept are there, as they would be for any later update.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import import_module

import numpy as np

from tools.bench.certificate import certify
from tools.bench.crossvalidators import timed
from tools.bench.datasets import csr_matrix, dense_dataset, load, parameter, scipy_matrix
from tools.bench.peers import Solution

MEGABYTES = 500  # of kernel rows, for all: every row of the sets here but a9a
TIGHT_EPS = 1e-6  # of the retraining that is asked where two predictions differ
NONE_LEFT = 1e-9  # of C: a sum that rounding alone has left over

# Two classes in the plane with equal priors: one Gaussian, and two on either side of it. All have the same spread;
# 1.41 between centres at 0.7 is 2 standard deviations, so about a fifth of the rows is on the wrong side.
CENTRE = (0.5, 1.0)
CENTRES = ((-0.5, 0.0), (1.5, 2.0))
SPREAD = 0.7


# ---- data --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """Rows X, y, of which the first ``n`` are trained on, those behind join, and ``gone`` of the first leave.

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
        """Rows after the change: those that stay, then those that join."""
        return np.setdiff1d(np.arange(len(self.y)), self.gone)

    def options(self, eps=1e-3):
        return f"-s 0 -t 2 -c {self.C!r} -g {self.gamma!r} -e {eps!r} -m {MEGABYTES}"


def drawn(n, random):
    """(X, y): n rows of the two classes."""
    y = np.where(random.random(n) < 0.5, 1.0, -1.0)
    second = (random.random(n) < 0.5).astype(int)
    centres = np.where((y > 0)[:, None], CENTRE, np.array(CENTRES)[second])
    return centres + SPREAD * random.standard_normal((n, 2)), y


def artificial(job, repetition):
    """{n, scenario, count, C, gamma}: rows that join have alpha = C in the optimum with all, those that leave in that
    before."""
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
    """Rows whose alpha is C."""
    found = np.flatnonzero(sizes(kept_state(X, y, C, gamma).model, len(y)) >= C)
    assert len(found)
    return found


def window(job, repetition):
    """{npz, n, count, C, gamma}: the next ``count`` rows join, the oldest leave."""
    X, y = scaled(load(job["npz"]))
    n, count = job["n"], job["count"]
    return Change(X[: n + count], y[: n + count], n, np.arange(count), job["C"], job["gamma"])


def scaled(dataset):
    """(X, y): every column to [0, 1] over all rows."""
    X = scipy_matrix(dataset).toarray()
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    return (X - low) / np.where(width > 0, width, 1.0), dataset.targets


CHANGES = {"artificial": artificial, "window": window}


# ---- ways --------------------------------------------------------------------------------------


def kept_state(X, y, C, gamma):
    import libsvmx

    return libsvmx.train(X, y, keep_state=True, C=C, gamma=gamma, cache_size=MEGABYTES, threads=1)


def sizes(model, n):
    """alpha of every row: float64, shape (n,)"""
    alpha = np.zeros(n)
    alpha[np.asarray(model.sv_indices) - 1] = np.abs(np.asarray(model.sv_coef)[0])
    return alpha


def solution_of(model):
    return Solution(np.asarray(model.sv_indices) - 1, np.asarray(model.sv_coef), model.labels, np.array(model.class_sv))


def certified(change, solution):
    """Objective, and KKT gap over all rows, from the data: both of the kernel in double, whatever the solver's was."""
    rows = change.left
    matrix = scipy_matrix(dense_dataset(change.X[rows], change.y[rows]))
    found = certify(matrix, change.y[rows], parameter(change.options(), matrix.shape[1]), solution)
    return {"objective": found.objective, "gap": found.gap, "infeasibility": found.infeasibility}


def along_paths(change, state, single):
    """(work, outcome) of MID or, one row at a time, SID."""
    state = state.copy()
    state.check()  # a copy has no kernel rows; those of its support vectors are there again
    n, X, y, gone = change.n, change.X, change.y, change.gone
    reports = []

    def updated(rows, ids):
        state.update(add=(X[rows], y[rows]) if len(rows) else None, remove=ids)
        reports.append(state.report)

    def work():
        joining = np.arange(n, len(y))
        if single:
            for k in range(max(len(joining), len(gone))):
                for rows, ids in ((joining[k : k + 1], ()), ((), gone[k : k + 1])):
                    if len(rows) or len(ids):
                        updated(rows, ids)
        else:
            updated(joining, gone)
        _ = state.model

    def outcome():
        told = {name: sum(getattr(r, name) for r in reports) for name in ("breakpoints", "steps", "exchanges")}
        told["repairs"] = sum(r.repairs + r.retrained for r in reports)
        alpha = sizes(state.model, len(state))
        free = int(np.sum((alpha > 0) & (alpha < change.C)))
        joined = alpha[len(alpha) - (len(y) - n) :]
        return {**certified(change, solution_of(state.model)), "free": free, "joined": joined, **told}

    return work, outcome


def retrained(change, peer, eps):
    """(work, outcome) of a training of a module in peers."""
    rows = change.left
    training = peer.Training(dense_dataset(change.X[rows], change.y[rows]), change.options(eps))

    def outcome():
        found = training.outcome()
        return {**certified(change, found.solution), "iterations": found.iterations, "note": found.note}

    return training.train, outcome


class Seeded:
    """Seeded(change, eps): the optimum to ``eps`` before the change, and SMO from there."""

    def __init__(self, change, eps):
        from libsvmx._solvers.control import Control
        from libsvmx._solvers.smo import smo
        from libsvmx._train.problem import Problem

        self.change = change
        self.param = replace(parameter(change.options(eps), change.X.shape[1]), threads=1)
        self.problem = Problem(csr_matrix(dense_dataset(change.X, change.y)), np.ascontiguousarray(change.y).data)
        self.limits = lambda: Control(eps)
        before = np.arange(change.n, dtype=np.int32)
        self.before = smo.solve(self.posed(before), self.kernel().part(before.data), MEGABYTES << 20, self.limits(), 1)

    def kernel(self):
        """Of all rows, before and after."""
        from libsvmx._kernels.kernel import Kernel

        return Kernel(self.problem.features, self.problem.rows, self.param.kernel_type, 3, self.change.gamma, 0.0)

    def posed(self, rows):
        from libsvmx._train.formulation import build_dual

        return build_dual(self.param, self.change.y[rows].data, self.change.C, self.change.C)

    def work(self):
        from libsvmx._solvers.smo import warm

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
        dual = self.posed(rows)
        start = dual.changed(beta=beta[rows].data, scores=V[rows].data)
        self.solution = warm.solve(start, kernel.part(rows.data), MEGABYTES << 20, self.limits(), 1)

    def outcome(self):
        beta = np.asarray(self.solution.beta)
        rows = [np.flatnonzero(beta > 0), np.flatnonzero(beta < 0)]
        used = np.concatenate(rows)
        found = Solution(used, beta[None, used], np.array([1, -1]), np.array([len(r) for r in rows]))
        return {**certified(self.change, found), "iterations": self.solution.iterations}


def values_of(targets, sources):
    """K(source, target): float64, shape (number of sources, number of targets)."""
    values = np.zeros((len(sources), targets.n))
    for row, found in zip(values, targets.rows(sources.tolist()), strict=True):
        row[:] = found
    return values


def handed_on(beta, y, C, gone):
    """beta, of sum 0, without the rows ``gone``: what they had is spread evenly over free rows, then over all.

    There is room: the others have minus that sum, and may all fall to 0.
    """
    beta, lost = beta.copy(), beta[gone].sum()
    low, high = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    free = (low < beta) & (beta < high)
    beta[gone], free[gone] = 0.0, False
    others = np.ones(len(y), dtype=bool)
    others[gone] = False
    for group in (free, others):
        while abs(lost) > NONE_LEFT * C:
            room = group & ((beta < high) if lost > 0 else (beta > low))
            if not room.any():
                break
            after = np.clip(beta[room] + lost / room.sum(), low[room], high[room])
            lost -= (after - beta[room]).sum()
            beta[room] = after
    return beta


class Before:
    """Before(change): what is known of the optimum before the change, computed when it is asked for, once."""

    def __init__(self, change):
        self.change = change
        self.seeded = lru_cache(lambda eps: Seeded(change, eps))

    @cached_property
    def state(self):
        change, n = self.change, self.change.n
        return kept_state(change.X[:n], change.y[:n], change.C, change.gamma)


def way(name, before):
    """(work, outcome) of a way by its name."""
    kind, _, eps = name.partition(" ")
    change = before.change
    if kind in ("MID", "SID"):
        return along_paths(change, before.state, kind == "SID")
    if kind == "seeded":
        seeded = before.seeded(float(eps))
        return seeded.work, seeded.outcome
    peer = import_module("tools.bench.peers." + {"LIBSVM": "libsvm", "cold": "svmx"}[kind])
    return retrained(change, peer, float(eps))


# ---- what a child does -------------------------------------------------------------------------


def limit_cpu(seconds):
    """End this process by SIGXCPU after so many CPU seconds, where that can be had."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), resource.RLIM_INFINITY))


def changes(job):
    """{subject, ways, repeat, max_seconds_once, limit, ...}: every way ``repeat`` times, in turn; ``limit`` is of the
    CPU seconds of the whole process, None for none.

    Returns
    -------
    runs : list of {way, seconds, objective, ...}
    ratio : of the breakpoints of MID to those of SID as section 3.4 expects it, ||d||_2 / ||d||_1 with the changes d of
        alpha that are asked for; a median
    """
    runs, ratios = [], []
    before = None
    if job["limit"] is not None:
        limit_cpu(job["limit"])
    for repetition in range(job["repeat"]):
        if before is None or job["subject"] == "artificial":  # the others have one change only
            before = Before(CHANGES[job["subject"]](job, repetition))
        # to and fro: the first in a turn finds the processor's caches cold
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
    return {"runs": runs, "ratio": float(np.median(ratios)) if ratios else None}


def expected(asked):
    """||d||_2 / ||d||_1 (section 3.4): sqrt(m) / m where all of m alpha go all the way between 0 and C."""
    total = np.abs(asked).sum()
    return float(np.linalg.norm(asked) / total) if total else 1.0

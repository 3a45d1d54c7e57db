"""Cross-validated error as a function of C: exact steps in classification, pieces of parabolas in regression.

The rows of each fold are removed from the optimum over all rows at the smallest C, along the path (Karasuyama &
Takeuchi 2009); then C grows (cost_path.py). Decision values of held-out rows are linear in C between breakpoints, so
their predictions change at known C, squared errors are quadratic in between, and pinball losses bend at known C.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from libsvmx._core.arrays import take_float64
from libsvmx._core.buffers import filled, zeros
from libsvmx._solvers.path.motion import CROSSING, LINE, Trace
from libsvmx._train import folds
from libsvmx._train.limits import ask
from libsvmx._train.observer import Observer
from libsvmx._train.side_by_side import side_by_side
from libsvmx._train.updating.binary_problem import Pair
from libsvmx._train.updating.cost_curve import Curve, bent_lines, curve_of_errors, curve_of_losses
from libsvmx._train.updating.cost_path import PairPath, Ways, path_of_all
from libsvmx._train.zero_weights import nothing_counts, rows_of_state
from libsvmx._typing import Buffer, FloatArray, IntArray


def followed(
    ways: Ways, order: Buffer, bounds: list[int], threads: int, observer: Observer
) -> tuple[dict[Pair, PairPath], Curve | None]:
    """The path of all rows, and the error of the folds ``order``, ``bounds`` (as of ``draw_folds``) along it; None
    without folds.

    Raises
    ------
    PathLost, Stopped, DataError, TooLittleMemory
    """
    n_folds = len(bounds) - 1
    paths: dict[Pair, PairPath] = {}
    curves: list[FloatArray] = []

    def solved(k: int, observer: Observer) -> Any:
        ask(observer)
        return path_of_all(ways, observer) if k == 0 else fold_curve(ways, order, bounds[k - 1], bounds[k], observer)

    for k, found in enumerate(side_by_side(solved, 1 + n_folds, threads, observer)):
        if k == 0:
            paths = found
        else:
            curves.append(found)
            observer.counted("fold", k, n_folds)
    if not curves:
        return paths, None
    curve_of = curve_of_errors if ways.state.param.svm_type.is_classification else curve_of_losses
    return paths, curve_of(curves, len(order), ways.ends[0], ways.ends[-1])


def fold_curve(ways: Ways, order: Buffer, begin: int, end: int, observer: Observer) -> FloatArray:
    """The error of a fold: in classification (C, change of the number of errors), in regression entries of lines.

    Raises PathLost, Stopped, DataError.
    """
    state = ways.state
    problem, param = state.problem, state.param
    tests = np.asarray(order)[begin:end]
    counts = np.zeros(len(problem), dtype=bool)
    counts[rows_of_state(problem, param)] = True
    rest = np.asarray(folds.all_but(order, begin, end))
    rest = rest[counts[rest]]
    if not len(rest):
        raise nothing_counts(problem.sample_weight)
    if not param.svm_type.is_classification:
        trace = trace_without(ways, None, tests, observer, take_float64(problem.targets, tests.data))
        lines = np.asarray(trace.lines_of()).reshape(-1, LINE)
        return lines if param.quantile is None else bent_lines(lines, np.asarray(trace.crossings_of()))
    labels = folds.group_classes(take_float64(problem.targets, rest.data))[0]
    crossings = []
    for i, j in combinations(range(len(labels)), 2):
        pair, turned = (labels[i], labels[j]), False
        if pair not in state.binaries:
            pair, turned = pair[::-1], True
        found = np.asarray(trace_without(ways, pair, tests, observer).crossings_of()).reshape(-1, CROSSING)
        for C, test, positive in found.tolist():
            crossings.append((C, int(test), *((i, j) if bool(positive) != turned else (j, i))))
    return errors_of(crossings, labels, np.asarray(problem.targets)[tests], ways.ends[0])


def trace_without(ways: Ways, pair: Pair, tests: IntArray, observer: Observer, targets: Buffer | None = None) -> Trace:
    """The path of a pair without the rows ``tests``, with their decision values recorded."""
    path = ways.copy_of(pair, observer)
    own = np.asarray(path.state.tags)
    others = tests[~np.isin(tests, own)]
    if len(others):
        nothing = zeros("d", path.state.per_row * len(others))
        kernel = ways.kernel.part(np.concatenate([own, others]).astype(np.int32).data)
        path.state.append(kernel, others.astype(np.int64).data, nothing, nothing, nothing, ways.control(observer))
    gone = np.flatnonzero(np.isin(np.asarray(path.state.tags), tests)).astype(np.int32)
    path.update(0, gone.data, (0.0,), ways.control(observer))
    lower, upper = (bound.copy() for bound in ways.bounds[pair])
    lower[tests] = upper[tests] = 0.0
    tau = ways.state.param.quantile
    trace = Trace(len(ways.state.problem), tests=filled("i", tests.tolist()), targets=targets, tau=tau)
    ways.follow(path, (lower, upper), trace, observer)
    return trace


def errors_of(
    crossings: list[tuple[float, int, int, int]], labels: list[int], targets: FloatArray, C_min: float
) -> FloatArray:
    """(C, change of the number of errors) from (C, test, class that a pair votes for from there on, the other
    class)."""
    votes = np.zeros((len(targets), len(labels)), dtype=int).tolist()
    begun: set[tuple[int, ...]] = set()
    wrong = [labels[0] != target for target in targets.tolist()]
    changes = [(C_min, sum(wrong))]
    for C, test, winner, loser in sorted(crossings, key=lambda crossing: crossing[0]):
        own, duel = votes[test], (test, *sorted((winner, loser)))
        if duel in begun:
            own[loser] -= 1
        begun.add(duel)
        own[winner] += 1
        now = labels[own.index(max(own))] != targets[test]
        if now != wrong[test]:
            wrong[test] = now
            changes.append((C, 1 if now else -1))
    return np.array(changes, dtype=float)

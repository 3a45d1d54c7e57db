"""C-SVC over rows that are on the workers of a Dask cluster, by the interior-point solver.

The solver is that of _solvers.interior_point. Rows and all vectors over rows stay on the workers; each step of an
iteration sends a few vectors of the length of w there, and returns sums. No process holds all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.machine import machine
from libsvmx._solvers.interior_point import predictor_corrector, vertex_steps
from libsvmx._solvers.interior_point.solver import CRSVM
from libsvmx._train.cluster.features import DistributedFeatures, LinearFunction
from libsvmx._train.cluster.problem import DistributedProblem
from libsvmx._train.cluster.row_blocks import DistributedRowBlocks
from libsvmx._train.limits import control_of
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import Parameter, class_costs
from libsvmx._train.solve_dual import announced
from libsvmx._train.solve_report import SolveReport
from libsvmx._train.zero_weights import without_classes
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import DataError


def train_distributed(
    problem: DistributedProblem,
    features: DistributedFeatures,
    param: Parameter,
    observer: Observer,
    every_label: Sequence[int] = (),
) -> tuple[Model, tuple[SolveReport, ...]]:
    """The model of all pairs of classes, and a report of each.

    Parameters
    ----------
    problem : DistributedProblem      rows of weight > 0
    features : of ``problem``
    every_label : sequence of int     also those of rows of weight 0

    Raises
    ------
    DataError, ParameterError
    SvmxError                       the cluster gives up
    """
    labels = problem.labels
    dropped = set(every_label) - set(labels)
    for label in sorted(dropped):
        observer.remark(Remark.CLASS_DROPPED, str(label))
    if len(labels) < 2:
        raise DataError(f"there is one class only, {labels[0]}: at least two classes are needed", classes=(labels[0],))
    costs = class_costs(labels, without_classes(param, dropped), observer)
    functions = []
    for (i, positive), (j, negative) in combinations(enumerate(labels), 2):
        blocks = features.blocks(positive, negative, (costs[i], costs[j]))
        row_blocks = DistributedRowBlocks(problem.client, blocks, features.n)
        functions.append(solve_pair(row_blocks, param, observer))
    model = features.model(param, labels, functions)
    observer.total_sv(model.n_sv)
    return model, tuple(one.report for one in functions)


def solve_pair(blocks: DistributedRowBlocks, param: Parameter, observer: Observer) -> LinearFunction:
    """The optimum of one pair of classes."""
    assert isinstance(param.solver, CRSVM)
    control, began = control_of(param, observer), machine.monotonic()
    blocks.asking.token = control

    def watch(line: predictor_corrector.Iteration) -> SolveStatus | None:
        observer.iterated(line)
        return control.look()

    with one_blas_thread():
        found = predictor_corrector.solve(blocks, param.solver, watch, param.max_iter)
    counts: list[vertex_steps.SupportCounts] = blocks.run(vertex_steps.count_support)
    alpha, n_sv, n_bsv = (sum(column) for column in zip(*counts, strict=True))
    # if a solve was stopped, w is the last one, not that of these alpha
    objective = float(found.w @ found.w) / 2 - alpha if found.vertex else -found.primal
    gap = found.vertex.gap if found.vertex else float("inf")
    status = found.certified(gap, alpha, n_sv, param.eps)
    report = SolveReport(
        iterations=found.iterations,
        objective=objective,
        rho=found.rho,
        n_sv=n_sv,
        n_bsv=n_bsv,
        status=status,
        gap=gap,
        seconds=machine.monotonic() - began,
    )
    return LinearFunction(found.w, found.rho, announced(report, observer))

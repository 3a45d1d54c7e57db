"""The model of binary problems, equal to that of a training on their rows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from libsvmx._core.records import replace
from libsvmx._train import folds
from libsvmx._train.assembly import assemble_classifier, assemble_single, joined_betas
from libsvmx._train.model import Model
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.solve_report import SolveReport
from libsvmx._train.updating.binary_problem import Pair
from libsvmx._train.zero_weights import rows_of_state
from libsvmx._typing import Buffer, Ids


class Solved(Protocol):
    """A binary problem, perhaps at another C."""

    @property
    def ids(self) -> Ids: ...
    @property
    def coefficients(self) -> Any: ...
    def report(self, eps: float) -> SolveReport: ...


def model_of(param: Parameter, problem: Problem, ids: Ids, binaries: Mapping[Pair, Solved]) -> Model:
    """The model of all rows of weight > 0; ``ids``: of the rows of ``problem``."""
    rows = rows_of_state(problem, param)
    if len(rows) == len(problem):
        return assembled(param, problem, ids, binaries)
    model = assembled(param, problem.take(rows.data), ids[rows], binaries)
    assert model.row_numbers is not None
    return replace(model, row_numbers=(rows + 1)[np.asarray(model.row_numbers) - 1].data)


def assembled(
    param: Parameter,
    problem: Problem,
    ids: Ids,
    binaries: Mapping[Pair, Solved],
    classes: tuple[list[int], list[int], Buffer] | None = None,
) -> Model:
    """The model of ``problem``, whose rows have these ``ids`` and weights > 0.

    ``classes``: as of ``folds.group_classes``, in the order wanted; None: LIBSVM's order.
    """
    if not param.svm_type.is_classification:
        binary = binaries[None]
        beta, report = coefficients_of(binary, ids), binary.report(param.eps)
        return assemble_single(problem, param, beta, report)
    labels, start, order = classes or folds.group_classes(problem.targets)
    betas, reports = [], []
    for i, j in combinations(range(len(labels)), 2):
        turned = (labels[i], labels[j]) not in binaries
        binary = binaries[(labels[j], labels[i]) if turned else (labels[i], labels[j])]
        members = np.concatenate([order[start[i] : start[i + 1]], order[start[j] : start[j + 1]]])
        beta = coefficients_of(binary, ids[members])
        report = binary.report(param.eps)
        # + 0.0 turns -0.0 into 0.0
        betas.append((-np.asarray(beta) + 0.0).data if turned else beta)
        reports.append(replace(report, rho=-report.rho + 0.0) if turned else report)
    return assemble_classifier(problem, param, (labels, start, order), joined_betas(betas), reports)


def coefficients_of(binary: Solved, ids: Ids) -> Buffer:
    """beta of the binary problem in the order of ``ids``: buffer of float64, shape (rows,)."""
    own = binary.ids
    order = np.argsort(own)
    return np.ascontiguousarray(binary.coefficients[order[np.searchsorted(own[order], ids)]]).data

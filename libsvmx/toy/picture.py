"""The content of the picture of a model: decision values on a grid, marks of support vectors, and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from libsvmx._train.metrics import Scores
from libsvmx._train.model import Model, by_function
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import decision_values, predict
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError
from libsvmx.toy.rows import Row, plane_of, problem_of

NO_SV, MARGIN_SV, BOUND_SV = 0, 1, 2  # marks of rows
MOST_NODES = 120_000  # of a grid
AT_BOUND = 1 - 1e-9  # share of its bound from which on a coefficient is at it


class View:
    """View(x0, x1, y0, y1, nx, ny): a grid over a rectangle of the plane, edges included.

    Raises
    ------
    DataError      no rectangle, or too many nodes
    """

    def __init__(self, x0: float, x1: float, y0: float, y1: float, nx: int, ny: int) -> None:
        edges = np.array([x0, x1, y0, y1], dtype=np.float64)
        if not (np.isfinite(edges).all() and x0 < x1 and y0 < y1):
            raise DataError("a view must be a rectangle: x0 < x1 and y0 < y1")
        if not (nx >= 2 and ny >= 2 and nx * ny <= MOST_NODES):
            raise DataError(f"a grid has at least 2 nodes each way, and at most {MOST_NODES} in all")
        self.x: FloatArray = np.linspace(x0, x1, nx)
        self.y: FloatArray = np.linspace(y0, y1, ny)


def grid_values(model: Model, view: View) -> FloatArray:
    """All decision functions, shape (functions, ny, nx); of a regression over one feature, shape (1, 1, nx)."""
    if model.param.svm_type.is_regression:
        return decision_values(model, view.x[:, None]).T[:, None, :]
    if model.param.kernel_type == KernelType.RBF:
        return rbf_values(model, view)
    points = np.stack(np.meshgrid(view.x, view.y), axis=-1).reshape(-1, 2)
    return decision_values(model, points).T.reshape(len(model.offsets), len(view.y), len(view.x))


def rbf_values(model: Model, view: View) -> FloatArray:
    """The same of the RBF kernel, which is a product of one factor along x and one along y.

    exp(-g |u - v|^2) = exp(-g (u1 - v1)^2) exp(-g (u2 - v2)^2), so the whole grid is one matrix product.
    """
    vectors, gamma = plane_of(model.vectors, "support vectors"), model.param.gamma
    along_x = np.exp(-gamma * (view.x[:, None] - vectors[:, 0]) ** 2)
    along_y = np.exp(-gamma * (view.y[:, None] - vectors[:, 1]) ** 2)
    beta = by_function(model.sv_coef, model.class_sv)
    return (beta[:, None, :] * along_y) @ along_x.T - model.rho[:, None, None]


def marks_of(model: Model, order: Sequence[int]) -> dict[int, int]:
    """MARGIN_SV or BOUND_SV for each support vector, by key of its row; ``order`` as in ``Follower``."""
    if model.row_numbers is None:
        return {}
    beta, tau = by_function(model.sv_coef, model.class_sv), model.param.quantile
    sides = 1.0 if tau is None else np.where(beta > 0, tau, 1 - tau)
    at_bound = np.any(abs(beta) >= AT_BOUND * bounds_of(model)[:, None] * sides, axis=0).tolist()
    numbers = np.asarray(model.row_numbers).tolist()
    return {order[i - 1]: BOUND_SV if full else MARGIN_SV for i, full in zip(numbers, at_bound, strict=True)}


def bounds_of(model: Model) -> FloatArray:
    """The bound of the coefficients of each function: C, in nu-SVC the equivalent C, in one-class 1."""
    C = model.param.C if model.param.svm_type.has_cost else 1.0
    return np.array([report.value if report.quantity == "C" else C for report in model.reports])


def score_of(model: Model, rows: Mapping[int, Row]) -> dict[str, Any] | None:
    """Name and value of the score of a model on rows; None if it is not finite."""
    regression = model.param.svm_type.is_regression
    problem, scores = problem_of(rows.values(), regression), Scores(model.param.quantile)
    predicted = predict(model, problem.matrix)
    if model.param.svm_type == SvmType.ONE_CLASS:
        return {"name": "inside", "value": 100 * float((predicted > 0).mean())}
    scores.add(np.ascontiguousarray(predicted).data, problem.targets)
    if model.param.quantile is not None:
        return {"name": "pinball loss", "value": scores.pinball_loss} if isfinite(scores.pinball_loss) else None
    if regression:
        error = scores.mean_squared_error
        return {"name": "mean squared error", "value": error} if isfinite(error) else None
    return {"name": "accuracy", "value": scores.accuracy}

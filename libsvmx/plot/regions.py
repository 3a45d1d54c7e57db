"""Pictures of a model of two features, or of a regression over one feature."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from libsvmx._core.records import replace
from libsvmx._solvers.solver import converted
from libsvmx._train.model import Model, tube_of
from libsvmx._typing import FloatArray, Ids
from libsvmx.api.arrays import Fitted, decision_values, model_of, numbers_of, predict, tests_of
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError, ParameterError
from libsvmx.plot.axes import COLOURS, axes_of, look_of, pale

BORDER = 0.08  # margin around the rows, as a share of their range
SHADES = 20  # of decision values, ten of each sign
SHADED = 2.0  # margins from the boundary; colours are constant beyond
TINY = 2.0**-1022
PART = 1 << 14  # points per call of ``leads``
PALE = 0.5  # share of the class colour in its shaded region; the rest is white
ROW = {"s": 22, "linewidths": 0.5, "edgecolors": "white", "zorder": 2}
RING = {"s": 62, "facecolors": "none", "edgecolors": "black", "linewidths": 0.9, "zorder": 3}


def boundary(model: Model | Fitted, X: Any = None, y: Any = None, *, resolution: int = 200, ax: Any = None) -> Any:
    """Draw the predictions of a model at every point, rows, and rings around its support vectors.

    ============================ ===================================================================================
    two classes                  shaded decision values; the boundary, 0, as a line, and the margins, -1 and 1, dashed
    more classes                 shaded classes, and lines between them
    one-class                    shaded decision values, and the boundary
    regression, two features     shaded predictions, with a colour bar
    regression, one feature      the predictions as a line, and the tube in which errors cost nothing
    ============================ ===================================================================================

    Parameters
    ----------
    model : Model
        With two features, in regression also one; any kernel except a precomputed one.
    X
        n rows to draw, as in ``predict``, such as the training rows. None: the support vectors alone determine the part
        of the plane that is drawn.
    y : array of float, shape (n,)
        Their labels or targets; regression over one feature draws rows only with them.
    resolution : int
        Number of points along each axis, 2 or more.
    ax : matplotlib Axes
        Axes to draw in; None: those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    TypeError
        Not a Model, or not Axes.
    ParameterError
        The model has other features or a precomputed kernel; y without X; resolution.
    DataError
        As in ``predict``; a wrong number of labels, or one that is not finite; no row and no support vector.
    SvmxError
        matplotlib is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> import libsvmx.plot
    >>> axes = libsvmx.plot.boundary(libsvmx.train(X, y, C=10, gamma=0.5), X, y)
    >>> axes.figure.savefig("boundary.png")
    """
    model = model_of(model)
    width, regression = _width(model), model.param.svm_type.is_regression
    if (resolution := converted("resolution", resolution, int)) < 2:
        raise ParameterError(f"resolution must be at least 2, not {resolution}")
    if X is None and y is not None:
        raise ParameterError("y is given, but not X")
    vectors = model.support_vectors.toarray()
    rows = np.zeros((0, width)) if X is None else _rows(model, X, width)
    targets = None if y is None else numbers_of(y, "y")
    if targets is not None and targets.shape != (len(rows),):
        raise DataError(f"X has {len(rows)} rows, but y has shape {targets.shape}")
    if targets is not None and (bad := np.flatnonzero(~np.isfinite(targets))).size:
        raise DataError(f"{targets[bad[0]]:g} in y is not finite", int(bad[0]))
    if not len(rows) + len(vectors):
        raise DataError("there is nothing to draw: the model has no support vectors, and no rows are given")
    ends = _ends(np.concatenate([rows, vectors]))
    axes = axes_of(ax)
    if width == 1:
        _tube(axes, model, rows, targets, np.linspace(*ends[0], resolution))
        return axes
    across, up = (np.linspace(*end, resolution) for end in ends)
    points = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    shape = len(up), len(across)
    if regression:
        shown = axes.pcolormesh(across, up, predict(model, points).reshape(shape), shading="gouraud", cmap="cividis")
        axes.figure.colorbar(shown, ax=axes, label="prediction")
    elif model.param.svm_type == SvmType.ONE_CLASS or model.nr_class == 2:
        _values(axes, model, across, up, decision_values(model, points).reshape(shape))
    else:
        parts = np.array_split(points, 1 + len(points) // PART)
        found = [leads(decision_values(model, part), model.nr_class) for part in parts]
        _classes(axes, across, up, np.concatenate(found, axis=1).reshape(-1, *shape))
    _scatter(axes, model, rows, targets)
    axes.scatter(*vectors.T, **RING, label="support vectors")
    axes.set(xlim=ends[0], ylim=ends[1], xlabel="feature 1", ylabel="feature 2")
    axes.legend(loc="best")
    return axes


def _width(model: Model) -> int:
    """Number of features. Raises ParameterError for a model that cannot be drawn."""
    kind = model.param.svm_type
    if model.param.kernel_type == KernelType.PRECOMPUTED:
        raise ParameterError("a model with a precomputed kernel has no features to draw it over")
    if model.vectors.first_index == 0 or model.n_features not in ((1, 2) if kind.is_regression else (2,)):
        few = "one or two features, with indices from 1" if kind.is_regression else "two features, with indices 1 and 2"
        raise ParameterError(f"boundary draws a model of {few}; this one has {model.n_features}")
    if kind.is_classification and model.nr_class < 2:
        raise ParameterError("a model of one class has no boundary")
    return model.n_features


def _rows(model: Model, X: Any, width: int) -> FloatArray:
    """Rows as an array, shape (n, width). Raises DataError."""
    unscaled = replace(model, param=replace(model.param, gammas=()))
    table: FloatArray = tests_of(unscaled, X).toarray()
    if table.shape[1] > width:
        raise DataError(f"X has {table.shape[1]} features, but the model has {width}")
    return np.pad(table, ((0, 0), (0, width - table.shape[1])))


def _ends(points: FloatArray) -> list[tuple[float, float]]:
    """Limits of each axis."""
    low, high = points.min(axis=0), points.max(axis=0)
    more = np.where(high > low, BORDER * (high - low), 1.0)
    return list(zip((low - more).tolist(), (high + more).tolist(), strict=True))


def _values(axes: Any, model: Model, across: FloatArray, up: FloatArray, values: FloatArray) -> None:
    """Draw shaded decision values, positive for the first class, and their contours at 0, -1 and 1."""
    from matplotlib.colors import LinearSegmentedColormap

    most = SHADED
    if model.param.svm_type == SvmType.ONE_CLASS:  # no margins at -1 and 1: scale to the values
        most = 2 * float(values.max()) if values.max() > 0 else -float(values.min()) or 1.0
    colours: Any = [pale(COLOURS[1], PALE), "white", pale(COLOURS[0], PALE)]
    shades = LinearSegmentedColormap.from_list("", colours)
    axes.contourf(across, up, values, np.linspace(-most, most, SHADES + 1), cmap=shades, extend="both")
    margins = [-1.0, 1.0] if model.param.svm_type.is_classification else []
    for levels, line in (([0.0], {"linewidths": 1.5}), (margins, {"linewidths": 1.0, "linestyles": "dashed"})):
        there = [level for level in levels if values.min() < level < values.max()]  # contour() warns of others
        if there:
            axes.contour(across, up, values, there, colors="black", **line)


def _classes(axes: Any, across: FloatArray, up: FloatArray, values: FloatArray) -> None:
    """Draw shaded classes, and lines between them; ``values``: the leads of each class."""
    for k, own in enumerate(values):
        if own.max() > 0:
            axes.contourf(across, up, own, [0.0, own.max()], colors=[pale(look_of(k)["color"], PALE)])
        if own.min() < 0 < own.max():
            axes.contour(across, up, own, [0.0], colors="black", linewidths=1.0)


def leads(values: FloatArray, k: int) -> FloatArray:
    """For each of k classes, a continuous function that is positive exactly where the class is predicted.

    With f_ij = -f_ji, the decision value by which class i beats j, class i has r votes or more where the r-th largest
    of f_i1, …, f_ik is positive: call that s_i(r). It is predicted where for some r it has r votes or more, no class
    before it has as many, and no class behind it has more. With the smallest for "and", the largest for "or", and the
    sign for "no", that is

        max_r min( s_c(r), -s_j(r) of each j < c, -s_j(r + 1) of each j > c ),      r = 1, …, k - 1

    which is 0 on the border of two regions, and near it mostly the decision value of their pair.

    Parameters
    ----------
    values : (n, k (k - 1) / 2)     decision values, in LIBSVM's order

    Returns
    -------
    ndarray, shape (k, n)
    """
    values = np.nan_to_num(values)
    values = np.where(values > 0, values, np.minimum(values, -TINY))  # 0 is a vote for the second class
    duels = np.full((k, k, len(values)), -np.inf)
    for pair, (i, j) in enumerate(combinations(range(k), 2)):
        duels[i, j], duels[j, i] = values[:, pair], -values[:, pair]
    s = -np.sort(-duels, axis=1)  # s[i, r - 1] is s_i(r)
    found = np.empty((k, len(values)))
    for c in range(k):
        before = s[:c, :-1].max(axis=0, initial=-np.inf)
        behind = s[c + 1 :, 1:].max(axis=0, initial=-np.inf)
        found[c] = np.min([s[c, :-1], -before, -behind], axis=0).max(axis=0)
    return found


def _scatter(axes: Any, model: Model, rows: FloatArray, targets: FloatArray | None) -> None:
    """Draw rows, with colour and marker by class."""
    kind = model.param.svm_type
    if not len(rows):
        return
    if targets is None or not (kind.is_classification or kind == SvmType.ONE_CLASS):
        axes.scatter(*rows.T, color="0.35", **ROW, label="rows")
        return
    known = model.class_labels or (1, -1)
    for k, label in enumerate((*known, *sorted(set(targets.tolist()).difference(known)))):
        own = targets == label
        if own.any():
            axes.scatter(*rows[own].T, **look_of(k), **ROW, label=f"label {label:g}")


# ---- regression over one feature ---------------------------------------------------------------


def _tube(axes: Any, model: Model, rows: FloatArray, targets: FloatArray | None, across: FloatArray) -> None:
    """Draw the predictions over one feature, and the epsilon tube around them."""
    values, epsilon = predict(model, across[:, None]), tube_of(model)
    if epsilon is not None:
        axes.fill_between(
            across, values - epsilon, values + epsilon, color=COLOURS[0], alpha=0.2, label=f"tube, ± {epsilon:.3g}"
        )
    axes.plot(across, values, color=COLOURS[0], label="prediction")
    if targets is not None:
        axes.scatter(rows[:, 0], targets, color="0.35", **ROW, label="rows")
        own = _positions(model, rows)
        if len(own):
            axes.scatter(rows[own, 0], targets[own], **RING, label="support vectors")
    axes.set(xlim=(across[0], across[-1]), xlabel="feature 1", ylabel="target")
    axes.legend(loc="best")


def _positions(model: Model, rows: FloatArray) -> Ids:
    """Row indices of the support vectors if ``rows`` are the training rows, else empty: no known targets."""
    numbers = model.sv_indices
    if numbers is None or not len(numbers) or numbers.max() > len(rows):
        return np.zeros(0, dtype=np.int64)
    own = numbers.astype(np.int64) - 1
    same = np.array_equal(rows[own], model.support_vectors.toarray())
    return own if same else own[:0]

"""Training over rows that one machine does not hold: Dask arrays, or many LIBSVM files, on a distributed cluster.

    from distributed import Client
    import libsvmx.dask

    client = Client("tcp://scheduler:8786")
    problem = libsvmx.dask.read_problem("part-*.svm")           # or from_arrays(X, y), X a dask.array
    model = libsvmx.dask.train(problem, C=1.0)                  # a linear model
    labels = libsvmx.dask.predict(model, X)

Names and options are those of libsvmx itself. But as the rows stay on the workers, a problem is one object there, not X
and y; and arrays are dask.arrays.

Needs the extra ``dask`` here and on the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob
from typing import Any

import numpy as np

from libsvmx._core.packages import need
from libsvmx._core.records import replace
from libsvmx._solvers.interior_point.solver import CRSVM
from libsvmx._train.cluster.features import LinearFeatures
from libsvmx._train.cluster.low_rank import LowRankFeatures
from libsvmx._train.cluster.problem import DataBlock, DistributedProblem, problem_of
from libsvmx._train.cluster.training import train_distributed
from libsvmx._train.limits import limited
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx.api import arrays
from libsvmx.api.arrays import as_matrix, numbers_of, parameter_of
from libsvmx.api.warned import early_stops_warned, warn_of_weights
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError, ParameterError, SvmxError
from libsvmx.io import svmlight
from libsvmx.io.weightfile import read_weights

__all__ = ["DistributedProblem", "decision_values", "from_arrays", "predict", "read_problem", "train"]


def from_arrays(X: Any, y: Any, client: Any = None, *, sample_weight: Any = None) -> DistributedProblem:
    """Rows of a dask.array, which are computed and stay on the workers that do it.

    Parameters
    ----------
    X : dask.array of shape (m, n)
        Its chunks of rows are the blocks of the training; NumPy or scipy.sparse rows. About 10^7 values are a good
        size.
    y : dask.array or array of shape (m,)
        Class labels.
    client : distributed.Client
        By default the current one.
    sample_weight : dask.array or array of shape (m,)
        Weights of the rows, >= 0; None: 1 each.

    Returns
    -------
    DistributedProblem

    Raises
    ------
    DataError, SvmxError
    """
    from dask.delayed import delayed

    client = client_of(client)
    X = by_rows(X)
    if np.isnan(X.shape[0]):
        raise DataError("the sizes of the chunks of X are not known: call X.compute_chunk_sizes() first")
    columns = [column_of(y, "y", X)]
    if sample_weight is not None:
        columns.append(column_of(sample_weight, "sample_weight", X))
    parts = [X.to_delayed().ravel(), *(column.to_delayed().ravel() for column in columns)]
    blocks = client.compute([delayed(block_of)(*part) for part in zip(*parts, strict=True)])
    return problem_of(client, blocks, [f"block {k} of X" for k in range(len(blocks))])


def column_of(values: Any, name: str, X: Any) -> Any:
    """A number for each row of X, in chunks as those of X. Raises DataError."""
    import dask.array

    found = dask.array.asarray(values)  # type: ignore[no-untyped-call,unused-ignore]
    if found.ndim != 1:
        raise DataError(f"{name} must have one number for each row, but its shape is {found.shape}")
    if found.shape[0] != X.shape[0]:
        raise DataError(f"X has {X.shape[0]} rows, but {name} has {found.shape[0]}")
    return found.rechunk((X.chunks[0],))


def block_of(rows: Any, targets: Any, weights: Any = None) -> DataBlock:
    """A block of arrays, on its worker."""
    rows = as_matrix(rows) if hasattr(rows, "tocsr") else np.ascontiguousarray(numbers_of(rows, "X"))
    given = None if weights is None else np.ascontiguousarray(numbers_of(weights, "sample_weight"))
    return DataBlock(rows, np.ascontiguousarray(numbers_of(targets, "y")), given)


def read_problem(
    paths: str | Sequence[str],
    client: Any = None,
    *,
    lenient: bool = False,
    weight_paths: str | Sequence[str] | None = None,
) -> DistributedProblem:
    """Rows of LIBSVM data files, one block for each file, read by the workers.

    Parameters
    ----------
    paths : str or sequence of str
        Names, or a glob pattern; workers must see the same files.
    client : distributed.Client
        By default the current one.
    lenient : bool
        Skip blank lines and comment lines.
    weight_paths : str or sequence of str
        Files of weights, as in ``svmx-train -W``, one for each data file in the same order.

    Returns
    -------
    DistributedProblem

    Raises
    ------
    OSError, FormatError, DataError, SvmxError
    """
    client = client_of(client)
    names = named(paths)
    weights: list[str | None] = [None] * len(names) if weight_paths is None else [*named(weight_paths)]
    if len(weights) != len(names):
        raise DataError(f"there are {len(weights)} files of weights for {len(names)} files of rows")
    blocks = client.map(read_block, names, [lenient] * len(names), weights, pure=False, key="svmx-read")
    return problem_of(client, blocks, names)


def named(paths: str | Sequence[str]) -> list[str]:
    """The files of a pattern, or of a list. Raises FileNotFoundError."""
    names = sorted(glob(paths)) if isinstance(paths, str) else list(paths)
    if not names:
        raise FileNotFoundError(f"no file matches {paths!r}")
    return names


def read_block(path: str, lenient: bool, weight_path: str | None = None) -> DataBlock:
    """A data file, on a worker."""
    data = svmlight.read_data(path, lenient=lenient, threads=1)
    weights = None if weight_path is None else read_weights(weight_path, data.matrix.n_rows, lenient=lenient)
    return DataBlock(data.matrix, np.asarray(data.targets), None if weights is None else np.asarray(weights))


def client_of(client: Any) -> Any:
    """``client``, or the current one."""
    if client is not None:
        return client
    need("distributed", "dask", "a Dask cluster needs")
    from distributed import get_client

    try:
        return get_client()  # type: ignore[no-untyped-call,unused-ignore]
    except ValueError:
        raise SvmxError("there is no Dask client: make a distributed.Client first, or give one") from None


def train(
    problem: DistributedProblem, param: Parameter | None = None, *, observer: Observer | None = None, **options: Any
) -> Model:
    """Train C-SVC by the constraint-reduced interior-point solver over the rows of ``problem``.

    Parameters
    ----------
    problem : DistributedProblem
        From ``from_arrays`` or ``read_problem``.
    param : Parameter
        Parameters of the training; its fields may be given as keywords instead.
    observer : Observer
        Told of iterations and solutions.
    **options
        Fields of ``Parameter``; the default kernel is linear, or RBF with ``low_rank``.

    Returns
    -------
    Model
        Without support vectors, which may be too many: a linear model has unit vectors with coefficients w, that of a
        low-rank approximation its pivots.

    Raises
    ------
    DataError, ParameterError
    SvmxError
        The cluster failed. Work of a single lost worker is repeated.
    StoppedEarly
        ``time_limit`` (seconds for the whole call) or the observer ended it before there are features.
    """
    if param is None:
        options = {"solver": CRSVM.name, **options}
        low_rank = getattr(parameter_of(None, options).solver, "low_rank", "")
        usual: dict[str, Any] = {"kernel_type": KernelType.RBF if low_rank else KernelType.LINEAR}
        if low_rank and options["solver"] == CRSVM.name:
            usual["predict_with"] = "factor"
        options = {**usual, **options}
    param = parameter_of(param, options)
    if param.gamma == 0:
        param = replace(param, gamma=1.0 / max(int(problem.features.max(initial=1)), 1))
    solver = param.solver
    if not isinstance(solver, CRSVM):
        raise ParameterError(f"rows on a cluster are trained by solver {CRSVM.name}, not {solver.name}")
    if param.svm_type != SvmType.C_SVC:
        raise ParameterError(f"rows on a cluster are trained for C_SVC, not {param.svm_type.name}")
    if param.probability:
        raise ParameterError("there are no probability estimates of rows on a cluster")
    if not solver.low_rank and param.kernel_type != KernelType.LINEAR:
        raise ParameterError("rows on a cluster have a linear kernel, or a low_rank approximation of another one")
    if solver.low_rank and solver.predict_with != "factor":
        raise ParameterError("rows on a cluster give no model of support vectors: choose predict_with='factor'")
    if param.kernel_type == KernelType.PRECOMPUTED:
        raise ParameterError("rows on a cluster cannot have a precomputed kernel")
    if param.gammas and (problem.columns != len(param.gammas) or 0 in problem.features[:1]):
        n_gammas = len(param.gammas)
        raise DataError(
            f"there are {n_gammas} gammas, one for each feature from 1 on, but rows with {problem.columns} columns"
        )
    warn_of_weights(param, problem.labels)
    with early_stops_warned(observer) as stops:
        told = limited(stops, param.time_limit)
        counting = problem.counting(param)
        features = LowRankFeatures(counting, param, told) if solver.low_rank else LinearFeatures(counting, param)
        model, _ = train_distributed(counting, features, param, told, problem.labels)
    return model


def predict(model: Model, X: Any) -> Any:
    """Predict labels.

    Parameters
    ----------
    model : Model
    X : dask.array of shape (m, n)

    Returns
    -------
    dask.array of float64, shape (m,)
        Not yet computed.

    Raises
    ------
    DataError
    """
    return by_rows(X).map_blocks(_predict_block, model=model, dtype=np.float64, drop_axis=1)


def decision_values(model: Model, X: Any) -> Any:
    """Decision values.

    Parameters
    ----------
    model : Model
    X : dask.array of shape (m, n)

    Returns
    -------
    dask.array of float64, shape (m, n_functions)
        Not yet computed.

    Raises
    ------
    DataError
    """
    rows = by_rows(X)
    chunks = (rows.chunks[0], (len(model.offsets),))
    return rows.map_blocks(_decide_block, model=model, dtype=np.float64, chunks=chunks)


def by_rows(X: Any) -> Any:
    """X with whole rows in its chunks. Raises DataError unless it is a dask.array of rows and columns."""
    if not hasattr(X, "numblocks") or X.ndim != 2:
        raise DataError("X must be a dask.array of rows and columns")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _predict_block(rows: Any, model: Model) -> Any:
    return arrays.predict(model, rows, threads=1)  # the cluster's threads have a block each


def _decide_block(rows: Any, model: Model) -> Any:
    return arrays.decision_values(model, rows, threads=1)

"""Models as ONNX graphs of plain operators, which compute in double.

The operators that ONNX has for support vector machines, SVMClassifier and SVMRegressor of ai.onnx.ml, know float alone.
In a graph of matrix products and elementary functions everything has the type of its input.

    decision values (n, f) = K(x, z) (n, l) beta' (l, f) - rho,     |x - z|^2 = |x|^2 + |z|^2 - 2 x'z  for RBF
    votes (n, k) = won (n, f) (P - Q) + sum of Q's rows,            P[f, i] = 1, Q[f, j] = 1 of pair f = (i, j)
"""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np

from libsvmx._core import memory
from libsvmx._core.packages import need
from libsvmx._train.gamma import feature_factors
from libsvmx._train.model import Model, by_function
from libsvmx._train.parameter import Parameter
from libsvmx._typing import FloatArray
from libsvmx._version import VERSION
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError

# ReduceSum takes its axes as an input from operator set 13 on; this file format came with set 14 of ONNX 1.10.
OPSET, IR_VERSION = 13, 7
BY_FEATURE = (KernelType.LAPLACIAN, KernelType.INTERSECTION, KernelType.CHI2, KernelType.ADDITIVE_CHI2)
OF_SQUARES = (
    *(KernelType.RBF, KernelType.COSINE, KernelType.TANIMOTO, KernelType.RATIONAL_QUADRATIC),
    *(KernelType.MATERN32, KernelType.MATERN52),
)
TINY = 1e-30  # instead of the sum of two zeros
LARGEST = 2**31 - 2**20  # bytes: what protobuf can hold, with room for names


class Graph:
    """Graph(onnx, dtype): nodes and constants of a graph that grows; each function returns the name of its result."""

    def __init__(self, onnx: Any, dtype: str):
        self.onnx, self.dtype = onnx, dtype
        self.type = onnx.TensorProto.DOUBLE if dtype == "float64" else onnx.TensorProto.FLOAT
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any, dtype: str | None = None) -> str:
        name = f"c{len(self.constants)}"
        with np.errstate(over="ignore"):
            array = np.asarray(values).astype(dtype or self.dtype)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise DataError("a number of the model is too large for a float")
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = output or f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name


def onnx_bytes(model: Model, n_features: int, dtype: str) -> bytes:
    """The file: input ``x``, (n, n_features); outputs ``label`` or ``value``, (n,), and ``decision_values``, (n, f).

    Raises SvmxError without the package onnx, and DataError for numbers too large for a float, or too many for a file
    of ONNX.
    """
    need("onnx", "onnx", "format 'onnx' needs")
    onnx = import_module("onnx")
    functions = len(model.offsets)
    size = np.dtype(dtype).itemsize * model.n_sv * (n_features + functions)
    if size > LARGEST:
        raise DataError(f"the model takes {size} bytes as a dense table, and a file of ONNX has {LARGEST} at most")
    memory.require(4.0 * size, f"a graph of {size} bytes", "")  # the table, its transpose, the graph, its bytes
    graph = Graph(onnx, dtype)
    first = model.vectors.first_index
    Z = np.zeros((model.n_sv, n_features))
    for i in range(model.n_sv):
        for index, value in model.vectors.row(i):
            Z[i, index - first] = value
    x = "x"
    if model.param.gammas:
        x = graph.node("Mul", x, graph.constant(feature_factors(model.param)))
    K = kernel(graph, model.param, x, Z)
    beta = by_function(model.sv_coef, model.class_sv)
    product = graph.node("MatMul", K, graph.constant(beta.T))
    values = graph.node("Sub", product, graph.constant(model.rho), output="decision_values")
    info = onnx.helper.make_tensor_value_info
    name, kind = prediction(graph, model, values)
    built = onnx.helper.make_graph(
        graph.nodes,
        "libsvmx",
        [info("x", graph.type, ["n", n_features])],
        [info(name, kind, ["n"]), info(values, graph.type, ["n", functions])],
        graph.constants,
    )
    opset = [onnx.helper.make_opsetid("", OPSET)]
    proto = onnx.helper.make_model(built, producer_name="libsvmx", producer_version=VERSION, opset_imports=opset)
    proto.ir_version = IR_VERSION
    return proto.SerializeToString()


def kernel(graph: Graph, p: Parameter, x: str, Z: FloatArray) -> str:
    """Kernel values of the rows x and the vectors Z."""
    if p.kernel_type in BY_FEATURE:
        return kernel_by_feature(graph, p, x, Z)
    dots = graph.node("MatMul", x, graph.constant(Z.T))
    if p.kernel_type == KernelType.LINEAR:
        return dots
    if p.kernel_type in OF_SQUARES:
        return kernel_of_squares(graph, p, x, Z, dots)
    inner = graph.node("Add", graph.node("Mul", dots, graph.constant(p.gamma)), graph.constant(p.coef0))
    if p.kernel_type == KernelType.SIGMOID:
        return graph.node("Tanh", inner)
    return graph.node("Pow", inner, graph.constant(float(p.degree)))


def kernel_of_squares(graph: Graph, p: Parameter, x: str, Z: FloatArray, dots: str) -> str:
    """A kernel of u'v and the squares of u and v."""
    zero, squared = graph.constant(0.0), (Z * Z).sum(axis=1)
    squares = graph.node("ReduceSum", graph.node("Mul", x, x), graph.constant([1], "int64"), keepdims=1)
    if p.kernel_type == KernelType.COSINE:
        lengths = graph.node("Mul", graph.node("Sqrt", squares), graph.constant(np.sqrt(squared)))
        return graph.node("Where", graph.node("Equal", lengths, zero), zero, graph.node("Div", dots, lengths))
    both = graph.node("Add", squares, graph.constant(squared))
    if p.kernel_type == KernelType.TANIMOTO:
        rest = graph.node("Sub", both, dots)
        return graph.node("Where", graph.node("Equal", rest, zero), graph.constant(1.0), graph.node("Div", dots, rest))
    distance = graph.node("Sub", both, graph.node("Mul", dots, graph.constant(2.0)))
    least = graph.node("Max", distance, zero)  # rounding does not make a distance negative
    if p.kernel_type == KernelType.RBF:
        return graph.node("Exp", graph.node("Mul", least, graph.constant(-p.gamma)))
    one = graph.constant(1.0)
    if p.kernel_type == KernelType.RATIONAL_QUADRATIC:
        return graph.node("Div", one, graph.node("Add", one, graph.node("Mul", least, graph.constant(p.gamma))))
    is_32 = p.kernel_type == KernelType.MATERN32
    s = graph.node("Sqrt", graph.node("Mul", least, graph.constant((6 if is_32 else 10) * p.gamma)))
    sum_ = graph.node("Add", one, s)
    if not is_32:
        sum_ = graph.node("Add", sum_, graph.node("Mul", graph.node("Mul", s, s), graph.constant(1 / 3)))
    return graph.node("Mul", sum_, graph.node("Exp", graph.node("Neg", s)))


def kernel_by_feature(graph: Graph, p: Parameter, x: str, Z: FloatArray) -> str:
    """A kernel of a sum over features, each compared with each: n times as many numbers as Z has."""
    u, v = graph.node("Unsqueeze", x, graph.constant([1], "int64")), graph.constant(Z)

    def summed(values: str) -> str:
        return graph.node("ReduceSum", values, graph.constant([2], "int64"), keepdims=0)

    if p.kernel_type == KernelType.INTERSECTION:
        return summed(graph.node("Min", u, v))
    apart = graph.node("Sub", u, v)
    if p.kernel_type == KernelType.LAPLACIAN:
        distance = summed(graph.node("Abs", apart))
    else:
        total = graph.node("Max", graph.node("Add", u, v), graph.constant(TINY))  # 0 / 0 is 0
        distance = summed(graph.node("Mul", apart, graph.node("Div", apart, total)))
    if p.kernel_type == KernelType.ADDITIVE_CHI2:
        return graph.node("Neg", distance)
    return graph.node("Exp", graph.node("Mul", distance, graph.constant(-p.gamma)))


def prediction(graph: Graph, model: Model, values: str) -> tuple[str, int]:
    """The prediction, by LIBSVM's voting where there are classes: its name, and ONNX's number of its type."""
    if model.param.svm_type.is_regression:
        return graph.node("Reshape", values, graph.constant([-1], "int64"), output="value"), graph.type
    integer: int = graph.onnx.TensorProto.INT64
    won = graph.node("Greater", values, graph.constant(0.0))
    if model.param.svm_type == SvmType.ONE_CLASS:
        less = graph.constant([-1], "int64")
        signs = graph.node("Where", won, graph.constant([1], "int64"), less)
        return graph.node("Reshape", signs, less, output="label"), integer
    k = model.nr_class
    won_by, lost_to = np.zeros((len(model.offsets), k)), np.zeros((len(model.offsets), k))
    for f, (i, j) in enumerate(combinations(range(k), 2)):
        won_by[f, i], lost_to[f, j] = 1, 1
    moved = graph.node("MatMul", graph.node("Cast", won, to=graph.type), graph.constant(won_by - lost_to))
    votes = graph.node("Add", moved, graph.constant(lost_to.sum(axis=0)))
    best = graph.node("ArgMax", votes, axis=1, keepdims=0)  # the first of equals
    return graph.node("Gather", graph.constant(model.labels, "int64"), best, output="label"), integer

"""Rows as arrays of svm_node that end with a node of index -1: made from data, and read."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import Array, Structure, addressof, c_double, c_int, sizeof
from typing import Any, overload

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx.compat.rows import MAX_INDEX, RENUMBER, matrix_of, pairs_of
from libsvmx.exceptions import DataError


class svm_node(Structure):
    """svm_node(index=-1, value=0): one entry of a row; index -1 ends the row. ``(svm_node * n)()`` is an array."""

    _names = ("index", "value")
    _types = (c_int, c_double)
    _fields_ = [("index", c_int), ("value", c_double)]

    index: int
    value: float

    def __init__(self, index: int = -1, value: float = 0):
        super().__init__(index, value)

    def __str__(self) -> str:
        return f"{self.index}:{self.value:g}"

    def __repr__(self) -> str:
        return f"svm_node({self.index}, {self.value!r})"


NODE = np.dtype(svm_node)


def gen_svm_nodearray(xi: Any, feature_max: int | None = None, isKernel: bool | None = False) -> tuple[Any, int]:
    """One row as nodes.

    Parameters
    ----------
    xi : dict, list, tuple, 1-d ndarray, or a pair of ndarrays (columns from 0, values)
    feature_max : int or None
        Entries of larger index are left out.
    isKernel : bool
        A row of a precomputed kernel: zeros stay, columns count from 0.

    Returns
    -------
    nodes : ctypes array of svm_node
        Ascending, and a last one of index -1.
    max_idx : int
        Largest index, 0 without entries.

    Raises
    ------
    TypeError
        Another form, or values that are not numbers.
    DataError
        An index outside 0 .. 2^31 - 1.
    """
    if feature_max is not None and not isinstance(feature_max, int):
        raise TypeError(f"feature_max must be an int, not {feature_max!r}")
    indices, values = pairs_of(xi, bool(isKernel))
    if feature_max:
        kept = [(j, value) for j, value in zip(indices, values, strict=True) if j <= feature_max]
        indices, values = [j for j, _ in kept], [value for _, value in kept]
    n = len(indices)
    if n and not 0 <= indices[0] <= indices[-1] <= MAX_INDEX:
        raise DataError(f"a feature index is outside 0..{MAX_INDEX}; {RENUMBER}")
    nodes = (svm_node * (n + 1))()
    table = _table(nodes)
    table["index"][:n] = indices
    table["value"][:n] = values
    nodes[n].index = -1
    return nodes, int(indices[-1]) if n else 0


def row_of(given: Any) -> dict[int, float]:
    """Index to value of the nodes before the first with index -1.

    Parameters
    ----------
    given : ctypes array of svm_node, its first node, a pointer to it, ``byref`` of either, or a sequence of svm_node
        A row ends with its array if no node ends it; behind a bare pointer a node must, as in C.

    Raises
    ------
    TypeError          anything else
    ValueError         a NULL pointer
    """
    held = getattr(given, "_obj", given)  # of byref
    if isinstance(held, Array) and held._type_ is svm_node:
        table = _table(held)
    elif isinstance(held, svm_node):
        table = _table((svm_node * _room(held)).from_address(addressof(held)))
    elif isinstance(held, ctypes._Pointer) and held._type_ is svm_node:
        table = _behind(held)
    elif isinstance(held, Sequence) and all(isinstance(node, svm_node) for node in held):
        table = np.array([(node.index, node.value) for node in held], NODE)
    else:
        raise TypeError(f"a row is a {type(given).__name__}; it must be an array of svm_node, or a pointer to one")
    ends = np.flatnonzero(table["index"] == -1)
    table = table[: ends[0]] if ends.size else table
    return dict(zip(table["index"].tolist(), table["value"].tolist(), strict=True))


def _table(array: Any) -> Any:
    """A ctypes array of svm_node as a structured ndarray over the same memory."""
    return np.frombuffer(array, NODE)


def _room(node: svm_node) -> int:
    """Nodes from this one to the end of its array."""
    array = node._b_base_
    if not isinstance(array, Array):
        return 1
    return (addressof(array) + sizeof(array) - addressof(node)) // sizeof(svm_node)


def _behind(pointer: Any) -> Any:
    if not pointer:
        raise ValueError("the row is a NULL pointer")
    n = 0
    while pointer[n].index != -1:
        n += 1
    return np.array([(node.index, node.value) for node in pointer[:n]], NODE)


class NodeRows(Sequence[Any]):
    """Rows of a matrix as ctypes arrays of svm_node, made on access; changes to them take effect."""

    def __init__(self, matrix: CsrMatrix):
        self._matrix = matrix
        self._nodes: Any = None  # of all rows, structured array of NODE, shape (nnz + rows,)
        self._given: dict[int, Any] = {}  # rows that were replaced

    def __len__(self) -> int:
        return int(self._matrix.n_rows)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self[i] for i in range(len(self))[at]]
        i = self._position(at)
        if i in self._given:
            return self._given[i]
        if self._nodes is None:
            self._nodes = _nodes_of(self._matrix)
        begin, end = self._matrix.indptr[i] + i, self._matrix.indptr[i + 1] + i + 1
        return (svm_node * (end - begin)).from_buffer(self._nodes, begin * sizeof(svm_node))

    def __setitem__(self, at: int, row: Any) -> None:
        row_of(row)  # raises for an invalid row
        self._given[self._position(at)] = row

    def _position(self, at: int) -> int:
        i = at + len(self) if at < 0 else at
        if not 0 <= i < len(self):
            raise IndexError(f"row {at} of {len(self)}")
        return i

    def __reduce__(self) -> tuple[Any, ...]:
        return NodeRows, (self.matrix(),)

    def matrix(self) -> CsrMatrix:
        """The present rows. Raises DataError for invalid nodes written."""
        if not self._given and (self._nodes is None or np.array_equal(self._nodes, _nodes_of(self._matrix))):
            return self._matrix
        return matrix_of([row_of(row) for row in self], True)[0]


def _nodes_of(matrix: CsrMatrix) -> Any:
    indptr = np.asarray(matrix.indptr)
    nodes = np.zeros(matrix.nnz + matrix.n_rows, NODE)
    nodes["index"] = -1
    at = np.arange(matrix.nnz) + np.repeat(np.arange(matrix.n_rows), np.diff(indptr))
    nodes["index"][at] = matrix.indices
    nodes["value"][at] = matrix.values
    return nodes

"""Data sets for tests: real ones from the project's data folder, cut or relabelled."""

import email
import json
import re
from array import array
from functools import cache
from pathlib import Path

import numpy as np

from libsvmx import CsrMatrix, read_problem

DATA = Path(__file__).parents[2] / "data"


def filled(kind, values):
    """Writable memoryview with a struct code, such as "d" for float64."""
    return memoryview(array(kind, values))


def from_rows(rows):
    """CsrMatrix of lists of (index, value)."""
    indptr, indices, values = [0], [], []
    for row in rows:
        for index, value in row:
            indices.append(index)
            values.append(value)
        indptr.append(len(indices))
    return CsrMatrix(filled("q", indptr), filled("i", indices), filled("d", values))


@cache
def load(name, n=None, relabel=None, only_above=0, factor=1.0):
    """(matrix, targets): every (N/n)-th row; labels mapped; features above ``only_above`` kept; values scaled."""
    if name == "text":
        return standard_library_text()
    matrix, targets = read_problem(DATA / name)
    step = max(1, matrix.n_rows // n) if n else 1
    chosen = range(0, matrix.n_rows, step)[: n or matrix.n_rows]
    rows = [[(j, v * factor) for j, v in matrix.row(i) if j > only_above] for i in chosen]
    targets = targets[list(chosen)].tolist()
    if relabel:
        targets = [dict(relabel)[y] for y in targets]
    return from_rows(rows), targets


def dense_rows(*arguments):
    """``load`` as arrays; column j is index j + 1."""
    matrix, targets = load(*arguments)
    return matrix.toarray(), np.array(targets)


def sparse_rows(name, n=200):
    """``load`` as a SciPy matrix and an array."""
    from scipy.sparse import csr_matrix

    matrix, targets = load(name, n)
    parts = (np.asarray(matrix.values), np.asarray(matrix.indices) - 1, np.asarray(matrix.indptr))
    return csr_matrix(parts, shape=(matrix.n_rows, matrix.max_index)), np.array(targets)


def standard_library_text():
    """Real sparse text: word counts of the functions in two packages of Python's standard library."""
    bags, targets = [], []
    for target, package in ((1.0, email), (-1.0, json)):
        for path in sorted(Path(package.__file__).parent.glob("*.py")):
            for block in re.split(r"\n(?=\s*def )", path.read_text(encoding="utf-8")):
                bags.append(re.findall(r"[a-z]{3,}", block.lower()))
                targets.append(target)
    bags, targets = bags[::2], targets[::2]
    number = {word: k + 1 for k, word in enumerate(sorted({w for bag in bags for w in bag}))}
    rows = []
    for bag in bags:
        counts = {}
        for word in bag:
            counts[number[word]] = counts.get(number[word], 0) + 1
        norm = np.sqrt(sum(c * c for c in counts.values())) or 1.0
        rows.append([(j, counts[j] / norm) for j in sorted(counts)])
    return from_rows(rows), targets


def precomputed(matrix):
    """Linear kernel values of a matrix as rows 0:serial 1:K(row, 1) …"""
    dense = np.zeros((matrix.n_rows, matrix.max_index + 1))
    for i in range(matrix.n_rows):
        for j, v in matrix.row(i):
            dense[i, j] = v
    K = dense @ dense.T
    return from_rows([[(0, i + 1.0), *((j + 1, K[i, j]) for j in range(len(K)))] for i in range(len(K))])

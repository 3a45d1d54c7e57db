"""The four problems of Jung, O'Leary & Tits (2008), section 5.1, as rows of explicit features.

Inputs x become the features of their polynomial kernel (x'z + 1)^2, except for isolet, and the matrix is divided by
its largest absolute value, (5.1) and (5.2). The constant feature, whose role the bias has, is left out: there is
one feature less than in the paper.

    mushrooms      categories as numbers 1, 2, ..., recovered from the 0/1 columns of LIBSVM's set
    letter         letter A against the rest, numbers 0 to 15 as in the original, unscaled from LIBSVM's set
    waveform       the first class against the rest, with columns of noise
    isolet-like    generated: the real set is not available
"""

from pathlib import Path

import numpy as np

from tools.bench import datasets
from tools.bench.cases import Case

# Classes, rows of each, columns; the deviations within a class fall by rank, and each value has its own noise.
ISOLET = (26, 300, 617)
DIRECTIONS, FAR, NOISE = 120, 0.5, 0.2
SEED = 617
FILES = {"mushrooms": ("mushrooms",), "letter": ("letter.scale", "letter.scale.t"), "waveform": ("waveform-noise",)}
PROBLEMS = (*FILES, "isolet-like")


def prepare(case, folder, cache):
    """The arrays of a problem, or of its first rows, in the form of datasets.prepare. Raises Unavailable."""
    path = cache / f"{case.data}-mapped-{case.rows}-{datasets.key_of(Path(__file__).read_bytes())}.npz"
    return datasets.kept(path, lambda: datasets.dense_dataset(*load(case.data, folder, case.rows)))


def load(name, folder, rows=0):
    """X, float64, shape (m, n), and y of +1 and -1, of a problem, or of its first rows. Raises Unavailable."""
    if name not in FILES:
        X, y = isolet()
    else:
        X, labels = dense(folder, FILES[name])
        y = np.where(labels == 1, 1.0, -1.0)
        X = {"mushrooms": categories, "letter": numbers, "waveform": np.asarray}[name](X)
        X = second_order(X)
    return X[: rows or None], y[: rows or None]


def dense(folder, names):
    """Values and labels of several sets, concatenated."""
    found = [datasets.read(datasets.find(folder, name), Case(name, name)) for name in names]
    return np.vstack([datasets.scipy_matrix(d).toarray() for d in found]), np.concatenate([d.targets for d in found])


def categories(X):
    """Numbers 1, 2, ... of the categories encoded by adjacent 0/1 columns: float64, shape (m, attributes).

    Raises
    ------
    ValueError       a row does not have exactly one category of an attribute
    """
    columns, begin = [], 0
    while begin < X.shape[1]:
        covered = np.cumsum(X[:, begin:], axis=1)
        whole = np.flatnonzero((covered == 1).all(axis=0))
        if not len(whole):
            raise ValueError(f"columns from {begin + 1} on are not those of one attribute")
        end = begin + int(whole[0]) + 1
        columns.append(X[:, begin:end] @ np.arange(1.0, end - begin + 1))
        begin = end
    return np.column_stack(columns)


def numbers(X):
    return np.rint((X + 1) * 7.5)


def isolet():
    """The classes, rows and columns of isolet; a row is the mean of its class plus a smooth deviation, in [-1, 1]."""
    classes, each, width = ISOLET
    random = np.random.default_rng(SEED)
    means = random.standard_normal((classes, classes)) @ random.standard_normal((classes, width)) / np.sqrt(classes)
    fall = 1 / np.sqrt(1 + np.arange(DIRECTIONS))
    deviation = fall[:, None] * random.standard_normal((DIRECTIONS, width)) / np.linalg.norm(fall)
    labels = np.repeat(np.arange(classes), each)
    X = FAR * means[labels] + random.standard_normal((len(labels), DIRECTIONS)) @ deviation
    X += NOISE * random.standard_normal(X.shape)
    low, high = X.min(axis=0), X.max(axis=0)
    order = random.permutation(len(labels))
    return (2 * (X - low) / (high - low) - 1)[order], np.where(labels[order] == 0, 1.0, -1.0)


def second_order(X):
    """Features with products (x'z + 1)^2 - 1: x_i^2 and sqrt(2) x_i x_j, row by row, then sqrt(2) x_i; scaled."""
    first, second = np.triu_indices(X.shape[1])
    features = np.hstack([X[:, first] * X[:, second] * np.where(first == second, 1, np.sqrt(2)), np.sqrt(2) * X])
    return features / abs(features).max()

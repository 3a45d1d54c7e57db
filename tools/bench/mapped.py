"""The four problems of Jung, O'Leary & Tits (2008), section 5.1, as rows of explicit features.

Inputs x become the features of their polynomial kernel (x'z + 1)^2, but those of isolet, and the whole matrix is
divided by its largest absolute value, (5.1) and (5.2). The constant feature, which the bias stands for, is left out:
there is one feature less than in the paper.

    mushrooms      categories as numbers 1, 2, ..., put together again from the 0/1 columns of LIBSVM's set
    letter         letter A against the rest, numbers 0 to 15 as in the original, which LIBSVM's set has scaled
    waveform       the first class against the rest, with columns of noise
    isolet-like    generated: the real one cannot be had here
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._kernels.featurerows import DenseRows, second_order_rows
from tools.bench import datasets
from tools.bench.cases import Case
from tools.bench.peers import Unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

# Classes, rows of each, columns; the deviations of a class's rows fall by rank, and each value has noise of its own.
ISOLET = (26, 300, 617)
DIRECTIONS, FAR, NOISE = 120, 0.5, 0.2
SEED = 617


@dataclass(frozen=True)
class Mapped:
    """X: float64, shape (m, n), y: +1 or -1, shape (m,); ``inputs`` were mapped, or not."""

    X: NDArray[Any]
    y: NDArray[Any]
    inputs: int
    note: str = ""


def mushrooms(folder: Path) -> Mapped:
    X, labels = dense(folder, "mushrooms")
    codes = categories(X)
    found = f"{codes.shape[1]} attributes in the set; the paper has 22"
    return second_order(codes, np.where(labels == 1, 1.0, -1.0), found)


def categories(X: NDArray[Any]) -> NDArray[Any]:
    """Numbers 1, 2, ... of the categories whose 0/1 columns stand side by side: float64, shape (m, attributes).

    Raises
    ------
    ValueError       there is a row with no or with more than one category of an attribute
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


def letter(folder: Path) -> Mapped:
    X, labels = dense(folder, "letter.scale", "letter.scale.t")
    X = np.rint((X + 1) * 7.5)
    return second_order(X, np.where(labels == 1, 1.0, -1.0), "A against the rest, both parts of the set")


def waveform(folder: Path) -> Mapped:
    X, labels = dense(folder, "waveform-noise")
    return second_order(X, np.where(labels == 1, 1.0, -1.0), "the first class against the rest")


def isolet(folder: Path) -> Mapped:
    """As many classes, rows and columns; a row is the mean of its class and a smooth deviation, in [-1, 1]."""
    classes, each, width = ISOLET
    random = np.random.default_rng(SEED)
    means = random.standard_normal((classes, classes)) @ random.standard_normal((classes, width)) / np.sqrt(classes)
    fall = 1 / np.sqrt(1 + np.arange(DIRECTIONS))
    spread = fall[:, None] * random.standard_normal((DIRECTIONS, width)) / np.linalg.norm(fall)
    labels = np.repeat(np.arange(classes), each)
    X = FAR * means[labels] + random.standard_normal((len(labels), DIRECTIONS)) @ spread
    X += NOISE * random.standard_normal(X.shape)
    low, high = X.min(axis=0), X.max(axis=0)
    order = random.permutation(len(labels))
    X, labels = (2 * (X - low) / (high - low) - 1)[order], labels[order]
    return Mapped(X, np.where(labels == 0, 1.0, -1.0), width, "generated; inputs are not mapped, as in the paper")


PROBLEMS = {"mushrooms": mushrooms, "letter": letter, "waveform": waveform, "isolet-like": isolet}


def load(name: str, folder: Path, rows: int = 0) -> Mapped:
    """A problem, or its first rows. Raises Unavailable."""
    found = PROBLEMS[name](folder)
    return replace(found, X=found.X[: rows or None], y=found.y[: rows or None])


def dense(folder: Path, *names: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Values and labels of sets, one after the other."""
    X, labels = [], []
    for name in names:
        source = datasets.find(folder, name)
        if source is None:
            raise Unavailable(f"{name} is not in {folder}")
        dataset = datasets.read(source, Case(name, name))
        X.append(datasets.scipy_matrix(dataset).toarray())
        labels.append(dataset.targets)
    return np.vstack(X), np.concatenate(labels)


def second_order(X: NDArray[Any], y: NDArray[Any], note: str) -> Mapped:
    rows = second_order_rows(DenseRows(X), 1.0, 1.0)
    mapped = rows.take(np.arange(rows.m))
    mapped /= abs(mapped).max()
    return Mapped(mapped, y, X.shape[1], note)

"""Sort the classes of a model; in LIBSVM's files they come in the order of their first rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from libsvmx._core.records import replace
from libsvmx._train.model import Model, by_pair, pair_place, places_of
from libsvmx.exceptions import SvmxError


def name_classes(error: BaseException, classes: Any) -> None:
    """Add to an error which classes its codes 0, 1, … stand for; ``classes``: ndarray, indexed by code."""
    numbers = [int(number) for number in error.classes] if isinstance(error, SvmxError) else []
    if not numbers or classes is None or np.array_equal(classes, range(len(classes))):
        return
    names = [f"{number} is {classes.tolist()[number]!r}" for number in numbers]
    error.add_note("Of the classes that the error names by number " + " and ".join(names) + ".")


def pairs_sorted(labels: Sequence[int]) -> tuple[Any, Any]:
    """Index among the pairs of ``labels`` of each pair of sorted classes, and its sign: -1 if the pair is reversed.

    Two ndarrays, int and float64, of shape (number of pairs,).
    """
    found = [pair_place(pair, labels) for pair in combinations(sorted(labels), 2)]
    return np.array([at for at, _ in found], dtype=np.intp), np.array([sign for _, sign in found])


def with_sorted_classes(model: Model) -> Model:
    """The same model, with its classes sorted."""
    labels, sizes = model.class_labels, model.class_sv
    if labels is None or sizes is None or list(labels) == sorted(labels):
        return model
    old = np.argsort(labels).tolist()  # the old place of each class
    ends = np.concatenate([[0], np.cumsum(sizes)])
    order, sorted_sizes = np.concatenate([np.arange(ends[c], ends[c + 1]) for c in old]), [sizes[c] for c in old]
    coef = np.zeros_like(model.sv_coef)
    for places, own in zip(places_of(sorted_sizes), by_pair(model, combinations(sorted(labels), 2)), strict=True):
        for (row, part), (_, of_class) in zip(places, own, strict=True):
            coef[row, part] = of_class
    columns, signs = pairs_sorted(labels)
    sigmoid_a, sigmoid_b = model.sigmoid_a, model.sigmoid_b
    if sigmoid_a is not None and sigmoid_b is not None:  # a reversed pair, 1 - 1 / (1 + exp(A f + B)) at -f: A, -B
        sigmoid_a, sigmoid_b = np.array(sigmoid_a)[columns].data, (np.array(sigmoid_b)[columns] * signs).data
    return replace(
        model,
        vectors=model.vectors.take(order.astype(np.int32).data),
        coef=coef.ravel().data,
        offsets=(model.rho[columns] * signs + 0.0).data,
        class_labels=tuple(sorted(labels)),
        class_sv=tuple(sorted_sizes),
        sigmoid_a=sigmoid_a,
        sigmoid_b=sigmoid_b,
        row_numbers=None if model.row_numbers is None else np.array(model.row_numbers)[order].data,
        reports=(),
    )

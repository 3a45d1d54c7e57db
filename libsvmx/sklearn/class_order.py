"""Models whose classes come in another order than sorted, as those of LIBSVM's files: their sorted form."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.records import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from libsvmx._train.model import Model


def pairs_sorted(labels: Sequence[int]) -> tuple[Any, Any]:
    """Where each pair of the sorted classes is among those of ``labels``, and 1, or -1 where it is the other way round.

    Two ndarrays, int and float64, of shape (number of pairs,).
    """
    k, place = len(labels), {label: at for at, label in enumerate(labels)}
    number = {pair: f for f, pair in enumerate(combinations(range(k), 2))}
    found = [(place[a], place[b]) for a, b in combinations(sorted(labels), 2)]
    columns = [number[min(pair), max(pair)] for pair in found]
    return np.array(columns, dtype=np.intp), np.array([1.0 if a < b else -1.0 for a, b in found])


def with_sorted_classes(model: Model) -> Model:
    """The same decision functions, over classes in sorted order."""
    labels, sizes = model.class_labels, model.class_sv
    if labels is None or sizes is None or list(labels) == sorted(labels):
        return model
    old = np.argsort(labels).tolist()  # the old place of each class
    ends = np.concatenate([[0], np.cumsum(sizes)])
    groups = [np.arange(ends[c], ends[c + 1]) for c in old]
    order, table, starts = np.concatenate(groups), model.sv_coef, np.cumsum([0, *map(len, groups)])
    coef = np.zeros_like(table)
    for a in range(len(old)):
        for b in range(len(old)):
            if a != b:  # the vectors of a have their coefficients against b in row b - (a < b)
                sign = 1.0 if (old[a] < old[b]) == (a < b) else -1.0
                row = table[old[b] - (old[a] < old[b]), groups[a]]
                coef[b - (a < b), starts[a] : starts[a + 1]] = sign * row
    columns, signs = pairs_sorted(labels)
    sigmoid_a, sigmoid_b = model.sigmoid_a, model.sigmoid_b
    if sigmoid_a is not None and sigmoid_b is not None:  # 1 - 1 / (1 + exp(A f + B)) at -f has the same A, and -B
        sigmoid_a, sigmoid_b = np.array(sigmoid_a)[columns].data, (np.array(sigmoid_b)[columns] * signs).data
    return replace(
        model,
        vectors=model.vectors.take(order.astype(np.int32).data),
        coef=coef.ravel().data,
        offsets=(model.rho[columns] * signs + 0.0).data,
        class_labels=tuple(sorted(labels)),
        class_sv=tuple(len(group) for group in groups),
        sigmoid_a=sigmoid_a,
        sigmoid_b=sigmoid_b,
        row_numbers=None,
        reports=(),
    )

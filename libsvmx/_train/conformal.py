"""Intervals, label sets and p-values from scores of rows by models that were trained without them.

A (nonconformity) score measures how badly a model fits a row with its target or label. By the model without row i, or
without its fold, R_i is the score of row i, and E_i(y) that of a new row with target y:

    p(y) = (1 + #{i: R_i >= E_i(y)}) / (n + 1)        y is in the set where p(y) > alpha

Jackknife+ and CV+ (Barber, Candès, Ramdas & Tibshirani, Annals of Statistics 49(1), 2021), and for classes Romano,
Sesia & Candès, NeurIPS 2020. Full conformal has all scores from one model of the n + 1 rows (Vovk, Gammerman & Shafer,
2005). Rows of one group share a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import inf, nan
from typing import Any

import numpy as np

from libsvmx._typing import FloatArray, Ids

# Scores that differ by less, relative to their size or a scale, are equal: scores of rows on the margin differ by
# rounding only. Equal ones count as at least as large, which makes sets larger, not smaller.
TIE = 1e-9
# Number of values sorted between two checks for a stop.
VALUES_OF_BLOCK = 1 << 20


def rank_of(alpha: float, n: int) -> int:
    """floor(alpha (n + 1)) with alpha in decimal: for 0.07 and n + 1 = 100 it is 7."""
    return int(Fraction(repr(alpha)) * (n + 1))


# ---- regression --------------------------------------------------------------------------------


def interval_ends(
    table_of: Callable[[slice], FloatArray],
    m: int,
    group: Ids,
    residuals: FloatArray,
    alpha: float,
    ask: Callable[[], object],
) -> tuple[FloatArray, FloatArray]:
    """The interval of each of m new rows by Barber et al., eq. 1.2 and section 3: two ndarrays, shape (m,).

    From the k-th smallest f_i(x) - R_i to the k-th largest f_i(x) + R_i, k = floor(alpha (n + 1)); infinite if k = 0.

    Parameters
    ----------
    table_of : callable(slice) -> ndarray, shape (groups, rows)      predictions of some of the new rows by the model of
        each group
    group : ndarray, shape (n,)             of each row
    residuals : ndarray, shape (n,)         R_i = |y_i - f_i(x_i)|
    """
    n, k = len(group), rank_of(alpha, len(group))
    lower, upper = np.full(m, -inf), np.full(m, inf)
    step = max(1, VALUES_OF_BLOCK // n)
    for begin in range(0, m if k else 0, step):
        ask()
        part = slice(begin, begin + step)
        values = np.ascontiguousarray(table_of(part).T)[:, group]
        lower[part] = np.partition(values - residuals, k - 1, axis=1)[:, k - 1]
        upper[part] = np.partition(values + residuals, n - k, axis=1)[:, n - k]
    return lower, upper


# ---- classes -----------------------------------------------------------------------------------


def class_scores(values: Any, k: int) -> FloatArray:
    """Minus the smallest decision value for each class against another one.

    ``values``: shape (…, k (k - 1) / 2), decision values of the pairs (0, 1), (0, 2), …, positive for the first class;
    nan for pairs without a model. Returns shape (…, k), inf for a class without a pair.
    """
    scores = np.full((*values.shape[:-1], k), nan)
    for at, (i, j) in enumerate(combinations(range(k), 2)):
        scores[..., i] = np.fmax(scores[..., i], -values[..., at])
        scores[..., j] = np.fmax(scores[..., j], values[..., at])
    return np.where(np.isnan(scores), inf, scores)


def class_numbers(labels: Sequence[int], targets: FloatArray) -> Ids:
    """The index of each target in ``labels``, shape (n,)."""
    numbers: Ids = np.argsort(labels)[np.searchsorted(np.sort(labels), targets)]
    return numbers


def own_scores(values: FloatArray, k: int, class_of: Ids) -> FloatArray:
    """The score of each row with its own class, shape (n,); ``values`` as in ``class_scores``."""
    return np.asarray(class_scores(values, k)[np.arange(len(class_of)), class_of])


def at_least(scores: Any, scale: float = 1.0) -> Any:
    """The smallest value that counts as at least ``scores``; ``scale``: that of their rounding."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(scores), scores, scores - TIE * np.maximum(scale, np.abs(scores)))


def p_values(
    scores_of: Callable[[int], FloatArray], group: Ids, own: FloatArray, ask: Callable[[], object]
) -> FloatArray:
    """p-value of each class for each new row, shape (m, k).

    Parameters
    ----------
    scores_of : callable(g) -> ndarray, shape (m, k)      E of the new rows by the model of group g
    group : ndarray, shape (n,)                           of each row
    own : ndarray, shape (n,)                             R
    """
    order = np.lexsort((own, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    count: Any = 1
    for members in np.split(order, starts[1:]):
        ask()
        count = count + len(members) - np.searchsorted(own[members], at_least(scores_of(int(group[members[0]]))))
    return np.asarray(count / (len(group) + 1))

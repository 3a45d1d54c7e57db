"""Choice of the rows of the normal matrix: constraint reduction (Jung, O'Leary & Tits 2008, section 3.2).

The paper calls rows patterns, and ``share`` rho.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from libsvmx._typing import FloatArray

if TYPE_CHECKING:  # which imports this module
    from libsvmx._solvers.interior_point.solver import CRSVM

# Order statistics in the sketch of a block: the first EXACT_RANKS, then at ranks that grow by 1 %.
EXACT_RANKS = 1024
GROWTH = 1.01


class RankedClass(NamedTuple):
    """For the rows of one class in a block: q_L, and a quantile sketch of their keys."""

    q_lower: int
    sketch: tuple[NDArray[np.int64], FloatArray]


def quantile_sketch(keys: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Ranks (from 1) and values of some order statistics of ``keys``, including the extremes."""
    n = len(keys)
    ranks = np.arange(1, min(n, EXACT_RANKS) + 1)
    if n > EXACT_RANKS:
        steps = int(np.ceil(np.log(n / EXACT_RANKS) / np.log(GROWTH)))
        further = EXACT_RANKS * GROWTH ** np.arange(1, steps + 1)
        ranks = np.unique(np.concatenate([ranks, np.minimum(np.ceil(further).astype(np.int64), n)]))
    return ranks, np.sort(keys)[ranks - 1]


def threshold_of(sketches: Sequence[tuple[NDArray[np.int64], FloatArray]], wanted: int) -> float:
    """A value that at least, and hardly more than, ``wanted`` keys do not exceed; inf if there are fewer keys.

    ``sketches``: of the keys of each block.
    """
    if wanted <= 0:
        return -np.inf
    # passing a value of rank r, with r0 the rank before in its block, adds r - r0 keys
    values = np.concatenate([values for _, values in sketches])
    gained = np.concatenate([np.diff(ranks, prepend=0) for ranks, _ in sketches])
    order = np.argsort(values, kind="stable")
    at = int(np.searchsorted(np.cumsum(gained[order]), wanted))
    return float(values[order[at]]) if at < len(values) else np.inf


def thresholds(
    settings: CRSVM,
    share: float,
    class_sizes: tuple[int, int],
    least_rows: int,
    ranked: Sequence[Sequence[RankedClass]],
) -> tuple[float, float] | None:
    """Largest keys of the rows of +1 and of -1 in the normal matrix; None: all rows.

    Parameters
    ----------
    share, class_sizes       as in ``quotas``
    least_rows : int         least number of rows
    ranked : sequence        for each block, the classes +1 and -1
    """
    of_class = list(zip(*ranked, strict=True))
    needed = [sum(own.q_lower for own in replies) if settings.reduction == "adaptive" else 0 for replies in of_class]
    sketches = [[own.sketch for own in replies] for replies in of_class]
    if settings.balanced:
        quota = quotas(settings, share, class_sizes, (needed[0], needed[1]))
        wanted = [max(quota[c], min(least_rows // 2, class_sizes[c])) for c in range(2)]
        if wanted[0] >= class_sizes[0] and wanted[1] >= class_sizes[1]:
            return None
        return threshold_of(sketches[0], wanted[0]), threshold_of(sketches[1], wanted[1])
    m = sum(class_sizes)
    wanted_both = max(sum(quotas(settings, share, (m, 0), (sum(needed), 0))), least_rows)
    if wanted_both >= m:
        return None
    threshold = threshold_of([*sketches[0], *sketches[1]], wanted_both)
    return threshold, threshold


def quotas(settings: CRSVM, share: float, class_sizes: tuple[int, int], q_lower: tuple[int, int]) -> tuple[int, int]:
    """Numbers of rows of the classes +1 and -1: (3.18), (3.21), (3.22).

    Parameters
    ----------
    share : float                 of the rows: the paper's rho, mu^(1/beta)
    class_sizes : (int, int)      rows of each class
    q_lower : (int, int)          q_L of each class, 0 for a fixed size
    """
    m = sum(class_sizes)
    wanted = min(settings.most_rows or m, m)
    if settings.reduction == "adaptive":
        wanted = min(int(np.ceil(share * m)), wanted)
        wanted = max(wanted, sum(q_lower))
    half = -(-wanted // 2)
    positive, negative = (max(q_lower[k], min(half, class_sizes[k])) for k in range(2))
    # fill up from the other class
    if positive + negative < wanted:
        if positive == class_sizes[0]:
            negative = min(class_sizes[1], wanted - positive)
        else:
            positive = min(class_sizes[0], wanted - negative)
    return positive, negative

"""Which patterns enter the normal matrix: the constraint reduction of Jung, O'Leary & Tits (2008), section 3.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from libsvmx._solvers.interior_point.settings import CRSVM
    from libsvmx._typing import FloatArray

# Order statistics that a block reports of its keys: each of the first, then every 1 % further.
EXACT_RANKS = 1024
GROWTH = 1.01


def ladder(keys: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Ranks (from 1) and values of some order statistics of ``keys``, the least and the largest among them."""
    n = len(keys)
    ranks = np.arange(1, min(n, EXACT_RANKS) + 1)
    if n > EXACT_RANKS:
        steps = int(np.ceil(np.log(n / EXACT_RANKS) / np.log(GROWTH)))
        further = EXACT_RANKS * GROWTH ** np.arange(1, steps + 1)
        ranks = np.unique(np.concatenate([ranks, np.minimum(np.ceil(further).astype(np.int64), n)]))
    return ranks, np.sort(keys)[ranks - 1]


def limit_of(ladders: Sequence[tuple[NDArray[np.int64], FloatArray]], wanted: int) -> float:
    """A value that at least ``wanted`` keys do not exceed, and hardly more; inf if there are not so many.

    ``ladders``: one for the keys of each block.
    """
    if wanted <= 0:
        return -np.inf
    # a key of rank r in its block, and the one before of rank r0: at r the block has so many keys more
    values = np.concatenate([values for _, values in ladders])
    gained = np.concatenate([np.diff(ranks, prepend=0) for ranks, _ in ladders])
    order = np.argsort(values, kind="stable")
    at = int(np.searchsorted(np.cumsum(gained[order]), wanted))
    return float(values[order[at]]) if at < len(values) else np.inf


def quotas(settings: CRSVM, share: float, members: tuple[int, int], least: tuple[int, int]) -> tuple[int, int]:
    """How many patterns of the classes +1 and -1: (3.18), (3.21), (3.22).

    Parameters
    ----------
    share : float       rho
    members : (int, int)     patterns of each class
    least : (int, int)       q_L of each class, 0 of a fixed size
    """
    m = sum(members)
    wanted = min(settings.most_rows or m, m)
    if settings.reduction == "adaptive":
        wanted = min(int(np.ceil(share * m)), wanted)
        wanted = max(wanted, sum(least))
    half = -(-wanted // 2)
    positive, negative = (max(least[k], min(half, members[k])) for k in range(2))
    # what one class has not got is taken from the other, up to the size wanted
    if positive + negative < wanted:
        if positive == members[0]:
            negative = min(members[1], wanted - positive)
        else:
            positive = min(members[0], wanted - negative)
    return positive, negative

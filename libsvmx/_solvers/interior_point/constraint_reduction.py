"""Which rows enter the normal matrix: the constraint reduction of Jung, O'Leary & Tits (2008), section 3.2.

The paper calls rows patterns, and rho what is ``share`` here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from libsvmx._typing import FloatArray

REDUCTIONS = ("adaptive", "fixed", "none")
RULES = ("omega", "distance")


@dataclass(frozen=True, slots=True)
class Reduction:
    """Settings of libsvmx._solvers.interior_point.predictor_corrector.

    Attributes
    ----------
    size : str             'adaptive': |Q| = max(q_L, min(ceil(rho m), q_U)), rho = mu^(1/beta), (3.18); 'fixed': q_U;
        'none': every pattern, the unreduced Mehrotra predictor-corrector
    rule : str             the patterns of smallest 'omega' (rule 2), or of smallest one-sided 'distance' (rule 1)
    balanced : bool        so many of either class, (3.21) and (3.22)
    upper : int            q_U; 0: all patterns
    tolerance : float      of the residuals and of the duality gap, both relative
    beta, theta : float    of rho and of q_L, (3.20)
    seed : int             of the patterns chosen at the first iteration, if fewer than all

    Raises
    ------
    ParameterError
    """

    size: str = "adaptive"
    rule: str = "omega"
    balanced: bool = True
    upper: int = 0
    tolerance: float = 1e-8
    beta: float = 4.0
    theta: float = 100.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name, known in (("size", REDUCTIONS), ("rule", RULES)):
            if getattr(self, name) not in known:
                raise ParameterError(f"unknown {name} {getattr(self, name)!r}: choose one of {', '.join(known)}")
        if not 0 <= self.upper < 2**62:
            raise ParameterError(f"upper must be 0 or the most patterns wanted, not {self.upper}")
        if not 1e-14 <= self.tolerance < 1:
            raise ParameterError(f"tolerance must be at least 1e-14 and below 1, not {self.tolerance}")
        if not (self.beta > 0 and self.theta > 0):
            raise ParameterError(f"beta and theta must be > 0, not {self.beta} and {self.theta}")
        if not 0 <= self.seed < 2**63:
            raise ParameterError(f"seed must be between 0 and 2^63 - 1, not {self.seed}")


# Order statistics that a block reports of its keys: each of the first, then every 1 % further.
EXACT_RANKS = 1024
GROWTH = 1.01


class RankedClass(NamedTuple):
    """Of the rows of one class in a block: q_L, and a quantile sketch of the keys by which they are chosen."""

    q_lower: int
    sketch: tuple[NDArray[np.int64], FloatArray]


def quantile_sketch(keys: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Ranks (from 1) and values of some order statistics of ``keys``, the least and the largest among them."""
    n = len(keys)
    ranks = np.arange(1, min(n, EXACT_RANKS) + 1)
    if n > EXACT_RANKS:
        steps = int(np.ceil(np.log(n / EXACT_RANKS) / np.log(GROWTH)))
        further = EXACT_RANKS * GROWTH ** np.arange(1, steps + 1)
        ranks = np.unique(np.concatenate([ranks, np.minimum(np.ceil(further).astype(np.int64), n)]))
    return ranks, np.sort(keys)[ranks - 1]


def threshold_of(sketches: Sequence[tuple[NDArray[np.int64], FloatArray]], wanted: int) -> float:
    """A value that at least ``wanted`` keys do not exceed, and hardly more; inf if there are not so many.

    ``sketches``: one for the keys of each block.
    """
    if wanted <= 0:
        return -np.inf
    # a key of rank r in its block, and the one before of rank r0: at r the block has so many keys more
    values = np.concatenate([values for _, values in sketches])
    gained = np.concatenate([np.diff(ranks, prepend=0) for ranks, _ in sketches])
    order = np.argsort(values, kind="stable")
    at = int(np.searchsorted(np.cumsum(gained[order]), wanted))
    return float(values[order[at]]) if at < len(values) else np.inf


def thresholds(
    settings: Reduction,
    share: float,
    class_sizes: tuple[int, int],
    least_rows: int,
    ranked: Sequence[Sequence[RankedClass]],
) -> tuple[float, float] | None:
    """Up to which keys the rows of +1 and of -1 enter the normal matrix; None for all rows.

    Parameters
    ----------
    share, class_sizes       as of ``quotas``
    least_rows : int         of the matrix, whatever ``quotas`` says
    ranked : sequence        of each block, the classes +1 and -1
    """
    of_class = list(zip(*ranked, strict=True))
    needed = [sum(own.q_lower for own in replies) if settings.size == "adaptive" else 0 for replies in of_class]
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


def quotas(
    settings: Reduction, share: float, class_sizes: tuple[int, int], q_lower: tuple[int, int]
) -> tuple[int, int]:
    """How many rows of the classes +1 and -1: (3.18), (3.21), (3.22).

    Parameters
    ----------
    share : float                 of the rows, by mu: the paper's rho, mu^(1/beta)
    class_sizes : (int, int)      rows of each class
    q_lower : (int, int)          q_L of each class, 0 of a fixed size
    """
    m = sum(class_sizes)
    wanted = min(settings.upper or m, m)
    if settings.size == "adaptive":
        wanted = min(int(np.ceil(share * m)), wanted)
        wanted = max(wanted, sum(q_lower))
    half = -(-wanted // 2)
    positive, negative = (max(q_lower[k], min(half, class_sizes[k])) for k in range(2))
    # what one class has not got is taken from the other, up to the size wanted
    if positive + negative < wanted:
        if positive == class_sizes[0]:
            negative = min(class_sizes[1], wanted - positive)
        else:
            positive = min(class_sizes[0], wanted - negative)
    return positive, negative

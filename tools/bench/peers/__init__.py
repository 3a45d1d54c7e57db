"""The solvers that are compared.

Each module of this package has ``Training(dataset, options, **settings)``: the constructor prepares everything that is
not timed, ``train()`` is what is timed, ``outcome()`` tells what came of it. Whatever cannot run raises Unavailable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CONVERGED = "converged"


@dataclass(frozen=True)
class Solution:
    """Support vectors and coefficients as LIBSVM arranges them.

    Attributes
    ----------
    rows : ndarray of int, shape (n_sv,)              training rows from 0, grouped by class
    coef : ndarray of float64, shape (k - 1, n_sv)    signed: positive for the first class of a pair
    labels, class_sv : ndarray, shape (k,), or None   label and number of support vectors of each class
    """

    rows: NDArray[Any]
    coef: NDArray[Any]
    labels: NDArray[Any] | None = None
    class_sv: NDArray[Any] | None = None


@dataclass
class Outcome:
    """What a training came to; None where a peer does not tell, ``status`` where it is not 'converged'."""

    solution: Solution
    iterations: int | None = None
    objective: float | None = None
    rho: list[float] = field(default_factory=list)
    model_hash: str | None = None
    counts: dict[str, Any] = field(default_factory=dict)
    status: str = CONVERGED
    note: str = ""


def solution_of(model: Any) -> Solution:
    """Of a model of libsvmx."""
    classify = model.class_sv is not None
    return Solution(
        np.asarray(model.sv_indices) - 1,
        np.asarray(model.sv_coef),
        np.asarray(model.labels) if classify else None,
        np.asarray(model.class_sv) if classify else None,
    )

"""The solvers compared.

Each module of this package has ``Training(dataset, options, **settings)``: the constructor prepares everything that is
not timed, ``train()`` is timed, ``outcome()`` returns the result. A solver that cannot run raises Unavailable.
"""

from dataclasses import dataclass, field

import numpy as np

CONVERGED = "converged"
# Four rows with labels or targets, trained on before the clock starts by peers that load modules on first use.
FOUR_ROWS, FOUR_TARGETS = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.5)), (1.0, -1.0, 1.0, -1.0)


@dataclass(frozen=True)
class Solution:
    """Support vectors and coefficients as LIBSVM arranges them.

    Attributes
    ----------
    rows : ndarray of int, shape (n_sv,)              training rows from 0, grouped by class
    coef : ndarray of float64, shape (k - 1, n_sv)    signed: positive for the first class of a pair
    labels, class_sv : ndarray, shape (k,), or None   label and number of support vectors of each class
    """

    rows: np.ndarray
    coef: np.ndarray
    labels: np.ndarray | None = None
    class_sv: np.ndarray | None = None


@dataclass
class Outcome:
    """The result of a training; None for what a peer does not report, ``status`` if it is not 'converged'."""

    solution: Solution
    iterations: int | None = None
    objective: float | None = None
    rho: list = field(default_factory=list)
    model_hash: str | None = None
    counts: dict = field(default_factory=dict)
    status: str = CONVERGED
    note: str = ""


def solution_of(model):
    """The solution in a model of libsvmx."""
    given = (np.asarray(model.sv_indices) - 1, np.asarray(model.sv_coef))
    return Solution(*given, *(map(np.asarray, (model.labels, model.class_sv)) if model.class_sv is not None else ()))

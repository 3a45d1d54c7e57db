"""The solvers that are compared.

Each module of this package has ``Training(dataset, options)``: the constructor prepares everything that is
not timed, ``train()`` is what is timed, ``outcome()`` tells what came of it. Whatever cannot run raises Unavailable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Unavailable(Exception):
    """A peer that is not installed, or a case that it cannot run; the text says which."""


@dataclass(frozen=True)
class Solver:
    """A row of the tables: a peer, with one thread or all, and the storage that it is given."""

    name: str
    module: str
    label: str
    all_threads: bool = False
    dense: bool = False


SOLVERS = (
    Solver("libsvmx", "svmx", "libsvmx"),
    Solver("libsvmx-all", "svmx", "libsvmx, all threads", all_threads=True),
    Solver("libsvm", "libsvm", "LIBSVM"),
    Solver("libsvm-all", "libsvm", "LIBSVM, OpenMP", all_threads=True),
    Solver("sklearn", "sklearn", "scikit-learn, CSR"),
    Solver("sklearn-dense", "sklearn", "scikit-learn, dense", dense=True),
    Solver("sklearnex", "sklearnex", "scikit-learn-intelex, CSR", all_threads=True),
    Solver("sklearnex-dense", "sklearnex", "scikit-learn-intelex, dense", all_threads=True, dense=True),
)


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
    """What a training came to; None where a peer does not tell."""

    solution: Solution
    iterations: int | None = None
    objective: float | None = None
    rho: list[float] = field(default_factory=list)
    model_hash: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    note: str = ""

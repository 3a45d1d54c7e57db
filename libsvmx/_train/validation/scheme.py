"""How the folds of a cross-validation start: what can be asked for."""

from __future__ import annotations

from math import inf

from libsvmx._core.records import record, replace
from libsvmx._solvers.seeding.registry import SEEDERS
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from libsvmx._train.parameter import Parameter

# Beside the seeders: from nothing, along LIBSVM's path; what is expected to be the fastest; along the exact path.
CHOICES = ("none", "auto", *SEEDERS, "path")
SCHEMES = ("chain", "star")

# What auto is: the fastest on the sets of the benchmark.
AUTO = {"chain": "sir", "star": "near"}
# With so many folds the training over all rows, of which each fold changes little, pays for a star; of folds that are
# linked to those at other values of C, there is one such training for all of them.
STAR_FROM = 10
LINKED_STAR_FROM = 5
# Of a regression, which a start saves less.
REGRESSION_STAR_FROM = 20
# Of nu-SVC: in a queue many of its folds start from nothing all the same, and elsewhere NEAR leaves twice as many
# iterations as SIR does in a chain.
NU_STAR_FROM = 30
# In a queue it pays from so many rows times folds on; solves are so short there that with fewer it takes what it saves.
LEAST_STAR = 2000
# In a queue a chain takes less work than a star, or saves much where that does not pay: with so many folds and fewer.
CHAINED = {SvmType.NU_SVR: (8, inf), SvmType.ONE_CLASS: (8, 30)}
# Chains are solved side by side: there are two, or one for each so many folds.
CHAIN_LENGTH = 10


def scheme_in_queue(param: Parameter, n_rows: int, n_folds: int) -> str:
    """Of auto in a queue: 'star', 'chain', or '' for folds from nothing."""
    fewest, more = CHAINED.get(param.svm_type, (inf, inf))
    if fewest <= n_folds < more:
        return "chain"
    least = REGRESSION_STAR_FROM if param.svm_type.is_regression else star_from(param)
    return "star" if n_folds >= least and n_rows * n_folds >= LEAST_STAR else ""


def chain_length(n_folds: int) -> int:
    """How many folds are in each chain of auto in a queue."""
    return -(-n_folds // max(2, n_folds // CHAIN_LENGTH))


def star_from(param: Parameter) -> int:
    """With how many folds auto is a star."""
    return NU_STAR_FROM if param.svm_type == SvmType.NU_SVC else STAR_FROM


@record(frozen=True, slots=True)
class Seeding:
    """How folds start: a seeder and a scheme.

    Attributes
    ----------
    seeder : str         of CHOICES; 'none' is LIBSVM's own path from nothing; 'path' takes the rows held out away from
        the optimum over all rows along the exact path, where others hand on their coefficients and solve
    scheme : str         'chain': from the fold before; 'star': from the optimum over all rows; '' for the usual one. Of
        an 'auto' that was chosen, '': from nothing, with decision values of the kernel values that are there
    """

    seeder: str = "none"
    scheme: str = ""

    def __post_init__(self) -> None:
        if self.seeder not in CHOICES:
            from libsvmx._core.suggestions import unknown

            raise ParameterError(unknown("seeding method", self.seeder, CHOICES))
        if self.seeder == "path" and self.scheme == "chain":
            raise ParameterError("seeding by path starts from the training over all rows: choose star")
        if self.scheme and self.scheme not in SCHEMES:
            raise ParameterError(f"unknown seeding scheme {self.scheme!r}: choose chain or star")

    def usual(self, n_folds: int, linked: bool = False, star_from: int = STAR_FROM) -> Seeding:
        """With the scheme filled in, and for 'auto' with fewer folds than ``star_from`` a chain: a star has one
        training more.

        ``linked``: to folds at other values of C.
        """
        if self.scheme:
            return self
        if self.seeder == "auto":
            return replace(self, scheme="chain" if n_folds < (LINKED_STAR_FROM if linked else star_from) else "star")
        if self.seeder in SEEDERS:
            return replace(self, scheme=SEEDERS[self.seeder].usual_scheme if n_folds >= STAR_FROM else "chain")
        return replace(self, scheme="star" if self.seeder == "path" else "chain")


def check_seedable(param: Parameter) -> None:
    """Raises ParameterError for what folds that start from a known optimum do not do."""
    param.solver.require("may_be_seeded")
    param.require_finite_cost("seeding or leave-one-out from one training")

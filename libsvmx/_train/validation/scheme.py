"""How the folds of a cross-validation start: the options, and the choices of auto."""

from __future__ import annotations

from math import inf

from libsvmx._core.records import record, replace
from libsvmx._solvers.seeding.registry import SEEDERS
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from libsvmx._train.parameter import Parameter

# Besides the seeders: none, cold starts with LIBSVM's steps; auto, the expected fastest; path, the exact path.
CHOICES = ("none", "auto", *SEEDERS, "path")
SCHEMES = ("chain", "star")

# The seeder of auto: the fastest on the data sets of the benchmark.
AUTO = {"chain": "sir", "star": "near"}
# Number of folds from which the training over all rows pays for a star; for folds linked to those at other values of C,
# which share one such training.
STAR_FROM = 10
LINKED_STAR_FROM = 5
# The same for a regression, and of a seeder by name also in one-class and nu-SVC, where a start saves less.
REGRESSION_STAR_FROM = 20
# The same for nu-SVC: in a queue many of its folds are cold starts anyway, and elsewhere NEAR leaves twice as many
# iterations as SIR in a chain.
NU_STAR_FROM = 30
# Rows times folds from which a star pays in a queue, whose solves are short.
LEAST_STAR = 2000
# Range of folds for which a chain is better than a star in a queue.
CHAINED = {SvmType.NU_SVR: (8, inf), SvmType.ONE_CLASS: (8, 30)}
# Folds per chain, with at least two chains, which are solved side by side.
CHAIN_LENGTH = 10


def scheme_in_queue(param: Parameter, n_rows: int, n_folds: int) -> str:
    """The scheme of auto in a queue: 'star', 'chain', or '' for cold starts."""
    fewest, more = CHAINED.get(param.svm_type, (inf, inf))
    if fewest <= n_folds < more:
        return "chain"
    least = REGRESSION_STAR_FROM if param.svm_type.is_regression else star_from(param)
    return "star" if n_folds >= least and n_rows * n_folds >= LEAST_STAR else ""


def chain_length(n_folds: int) -> int:
    """Folds in each chain of auto in a queue."""
    return -(-n_folds // max(2, n_folds // CHAIN_LENGTH))


def star_from(param: Parameter) -> int:
    """Number of folds from which auto is a star."""
    return NU_STAR_FROM if param.svm_type == SvmType.NU_SVC else STAR_FROM


def named_star_from(param: Parameter) -> int:
    """Number of folds from which a seeder whose usual scheme is a star has one."""
    return STAR_FROM if param.svm_type == SvmType.C_SVC else REGRESSION_STAR_FROM


@record(frozen=True, slots=True)
class Seeding:
    """How folds start: a seeder and a scheme.

    Attributes
    ----------
    seeder : str         of CHOICES; 'none': cold starts with LIBSVM's steps; 'path': held-out rows leave the optimum
        over all rows along the exact path; other seeders redistribute coefficients, and solve
    scheme : str         'chain': from the fold before; 'star': from the optimum over all rows; '': the usual one. After
        auto has chosen, '': cold starts, with decision values from the stored kernel values
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

    def usual(
        self, n_folds: int, linked: bool = False, star_from: int = STAR_FROM, named_from: int = STAR_FROM
    ) -> Seeding:
        """This Seeding with its scheme set; 'auto' is a chain with fewer folds than ``star_from``, and a seeder with
        fewer than ``named_from``, as a star needs one more training.

        ``linked``: to folds at other values of C.
        """
        if self.scheme:
            return self
        if self.seeder == "auto":
            return replace(self, scheme="chain" if n_folds < (LINKED_STAR_FROM if linked else star_from) else "star")
        if self.seeder in SEEDERS:
            return replace(self, scheme=SEEDERS[self.seeder].usual_scheme if n_folds >= named_from else "chain")
        return replace(self, scheme="star" if self.seeder == "path" else "chain")


def check_seedable(param: Parameter) -> None:
    """Raise ParameterError if folds of ``param`` cannot start from a known optimum."""
    param.solver.require("may_be_seeded")
    param.require_finite_cost("seeding or leave-one-out from one training")

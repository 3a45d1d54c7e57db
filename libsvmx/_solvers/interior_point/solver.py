"""The constraint-reduced interior-point solver and its settings."""

from __future__ import annotations

from libsvmx._core.records import record
from libsvmx._kernels.approximation import METHODS, USUAL, Approximation, FactorPolicy
from libsvmx._solvers.solver import Solver, policy_field, setting
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from libsvmx._core.stopping import Control
    from libsvmx._kernels.featurerows import FeatureRows
    from libsvmx._solvers.dual import DualProblem, DualSolution


@record(frozen=True)
class InteriorPolicy:
    """Thresholds of work, and sizes of blocks; tests make small problems go each way.

    Attributes
    ----------
    block_rows, block_elements : int      limits of a row block. Blocks, and so results, do not depend on threads
    dense_speed, sparse_speed : float     how many times faster a flop is in a dense matrix product, and in the sum of
        one triangle of x x' over sparse rows
    choosing_a_row, choosing : float      flops of choosing the rows of a normal matrix, and of refining directions: per
        row, and constant. Measured on 16 problems: elec2 of degree 2 (44 features) gains 1.2 x by reduction, splice
        (60, 1,000 rows) loses 7 %
    crossover_elements : int              limit of the elements of the free rows for a crossover; -1: none
    factor : FactorPolicy
    """

    block_rows: int = 1 << 15
    block_elements: int = 1 << 23
    dense_speed: float = 8.0
    sparse_speed: float = 2.0
    choosing_a_row: float = 200.0
    choosing: float = 1e6
    crossover_elements: int = 1 << 26
    factor: FactorPolicy = USUAL


@record(frozen=True)
class CRSVM(Solver):
    """C-SVC and regression without nu, many rows and few features: a constraint-reduced interior-point method.

    ``rank`` or ``rank_error`` alone mean ``low_rank="cholesky"``; with both, whichever is met first.
    """

    name: ClassVar[str] = "crsvm"
    summary: ClassVar[str] = (
        "C-SVC and regressions without nu of many rows and few features, by an interior-point method"
    )
    formulations: ClassVar[frozenset[SvmType]] = frozenset([SvmType.C_SVC, SvmType.EPSILON_SVR, SvmType.QUANTILE_SVR])
    may_be_seeded: ClassVar[bool] = False
    has_state: ClassVar[bool] = False
    needs_features: ClassVar[bool] = True

    # how many rows make up the normal matrix: |Q| = max(q_L, min(ceil(share m), q_U)), share = mu^(1/beta), (3.18)
    reduction: str = setting(
        "adaptive",
        "how many rows make up the normal matrix: ever fewer as the duality gap falls, where that pays (adaptive), "
        "always most_rows (fixed), or all, which is Mehrotra's method as it is (none)",
        metavar="KIND",
        choices=("adaptive", "fixed", "none"),
    )
    reduction_rule: str = setting(  # rule 2, rule 1
        "omega",
        "which they are: those of smallest omega = s/alpha + xi/u (omega), or nearest to the margin or beyond it "
        "(distance)",
        metavar="RULE",
        choices=("omega", "distance"),
    )
    balanced: bool = setting(  # (3.21), (3.22)
        True, "take rows as they come, not as many of either class", option="--unbalanced"
    )
    most_rows: int = setting(0, "maximum number of rows in the normal matrix; 0: all", at_least=0, below=2**62)
    tolerance: float = setting(
        1e-8, "end at this relative duality gap and these residuals", metavar="T", at_least=1e-14, below=1
    )
    random_state: int = setting(
        1,
        "of the rows taken first, if most_rows are fewer than all, and of random pivots",
        at_least=0,
        below=2**63,
    )
    low_rank: str = setting(
        "",
        "take a low-rank factor of the kernel: pivots of largest residual (cholesky), pivots drawn by residual "
        "(rpcholesky), pivots drawn all alike (nystrom), or the leading eigenvectors (eigen)",
        metavar="METHOD",
        choices=METHODS,
    )
    rank: int = setting(
        0,
        "maximum number of columns of the factor; 0: by rank_error. Alone, it implies low_rank cholesky",
        at_least=0,
        below=2**31,
    )
    rank_error: float = setting(
        0.0,
        "as many columns as leave out this share of the trace of the kernel matrix; 0: what rank gives. Alone, it "
        "means low_rank cholesky",
        metavar="E",
        at_least=0,
        below=1,
    )
    predict_with: str = setting(
        "kernel",
        "the model of a low-rank factor holds support vectors, for the kernel itself (kernel), or the pivots of the "
        "factor (factor)",
        metavar="WHAT",
        choices=("kernel", "factor"),
    )
    beta: float = setting(4.0, "of the share of rows, (3.18)", option=None, above=0)
    theta: float = setting(100.0, "of q_L, (3.20)", option=None, above=0)
    policy: InteriorPolicy = policy_field(InteriorPolicy)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low_rank and (self.rank or self.rank_error):
            object.__setattr__(self, "low_rank", "cholesky")
        if self.low_rank and not (self.rank or self.rank_error):
            raise ParameterError("a low-rank factor needs a rank, or the error that it may have (rank_error)")
        if self.predict_with == "factor" and not self.low_rank:
            raise ParameterError("predict_with 'factor' needs a low-rank factor (low_rank, rank or rank_error)")

    @property
    def makes_features(self) -> bool:
        return bool(self.low_rank)

    def approximation(self) -> Approximation:
        """The low-rank factor of the kernel matrix."""
        return Approximation(self.low_rank, self.rank, self.rank_error, self.random_state, self.policy.factor)

    def solve_features(
        self, dual: DualProblem, rows: FeatureRows, control: Control, threads: int, log: Callable[[Any], object]
    ) -> DualSolution:
        from libsvmx._solvers.interior_point.dual_solver import solve_dual

        return solve_dual(dual, rows, self, control, threads, log)

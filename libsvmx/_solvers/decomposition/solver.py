"""The solvers that go by working sets of many variables, and their settings."""

from __future__ import annotations

from libsvmx._core.records import record
from libsvmx._solvers.solver import Solver, setting
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import ClassVar

    from libsvmx._core.stopping import Control
    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._solvers.dual import DualProblem, DualSolution


@record(frozen=True)
class Decomposition(Solver):
    """What Chunked and IRWLS have in common: libsvmx._solvers.decomposition.chunked.

    Class attributes
    ----------------
    least_squares : bool          working sets are solved by iterated least squares, not by pair steps
    """

    least_squares: ClassVar[bool]

    working_set: int = setting(
        0,
        "variables of a working set, at least 2; 0: 1024, or 1.5 times the free variables if that is more and their "
        "matrix fits half of -m",
        at_least=2,
        below=2**20,
        or_zero=True,
    )
    working_set_rule: str = setting(
        "random",
        "choice of the working set: the largest violator of each kind and others drawn at random (random), the largest "
        "violators (largest), or half of each (mixed)",
        metavar="RULE",
        choices=("random", "mixed", "largest"),
    )
    keep_share: float = setting(
        0.0,
        "share of the working set that is kept for the next one",
        metavar="F",
        at_least=0,
        below=1,
    )
    random_state: int = setting(1, "seed of random draws", at_least=0, below=2**63)
    precision: str = setting(
        "auto",
        "precision of kernel rows: float, as in LIBSVM; double; or double once rounding matters at this -e (auto)",
        metavar="P",
        choices=("auto", "float", "double"),
    )

    def solve(
        self, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int
    ) -> DualSolution:
        from libsvmx._solvers.decomposition.chunked import solve

        return solve(dual, kernel, budget_bytes, control, threads, self)


@record(frozen=True)
class Chunked(Decomposition):
    """Decomposition into working sets of many variables, each solved by pair steps."""

    name: ClassVar[str] = "chunked"
    summary: ClassVar[str] = "large working sets, the same optimum to -e; faster when SMO needs many iterations"
    least_squares: ClassVar[bool] = False


@record(frozen=True)
class IRWLS(Decomposition):
    """Decomposition into working sets of many variables, each solved by iterated re-weighted least squares."""

    name: ClassVar[str] = "irwls"
    summary: ClassVar[str] = "large working sets solved by least squares"
    least_squares: ClassVar[bool] = True

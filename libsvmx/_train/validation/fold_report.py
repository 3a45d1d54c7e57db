"""The report of a fold; each field declares how it combines the values of several solves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from math import nan
from typing import TYPE_CHECKING, Any

from libsvmx._core.records import replace
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from libsvmx._train.solve_report import SolveReport


def _over_solves(combine: Callable[[list[Any]], Any]) -> Any:
    """A field of SolveReport, whose values of all solves ``combine`` turns into one."""
    return field(metadata={"combine": combine})


def _largest_share(values: Sequence[float]) -> float:
    return max(values, default=0.0)


def _worst(values: Sequence[SolveStatus]) -> SolveStatus:
    return next((status for status in values if status != SolveStatus.CONVERGED), SolveStatus.CONVERGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldReport:
    """Report on one fold; sums over the pairs of classes if there are several.

    Attributes
    ----------
    seeder : str
        Seeder of its start; 'none' is a cold start.
    iterations : int
        Solver iterations.
    seeding_seconds, solving_seconds : float
        Seconds for the start and for solving, without prediction.
    objective : float
        Objective of the dual problem.
    rho : float
        Offset; nan with several pairs.
    n_sv : int
        Number of support vectors.
    rows_computed, values_computed : int
        Kernel rows computed by the solver, and kernel values in total.
    gap : float
        Largest KKT gap.
    reach : float
        Largest ``reach`` of a SolveReport.
    status : SolveStatus
        CONVERGED, or the first other status of a solve.
    """

    seeder: str
    iterations: int = _over_solves(sum)
    seeding_seconds: float
    solving_seconds: float
    objective: float = _over_solves(sum)
    rho: float = _over_solves(lambda levels: nan)
    n_sv: int = _over_solves(sum)
    rows_computed: int = _over_solves(sum)
    values_computed: int = _over_solves(sum)
    gap: float = _over_solves(lambda gaps: max(gaps, default=0.0))
    reach: float = _over_solves(_largest_share)
    status: str = _over_solves(_worst)


def fold_report(
    solves: Sequence[SolveReport | FoldReport], *, seeder: str, seeding_seconds: float, solving_seconds: float
) -> FoldReport:
    """The report of a fold with these solves, one for each pair of classes."""
    if len(solves) == 1:  # faster: there may be hundreds of folds in a few milliseconds
        one = solves[0]
        return FoldReport(
            seeder=seeder,
            iterations=one.iterations,
            seeding_seconds=seeding_seconds,
            solving_seconds=solving_seconds,
            objective=one.objective,
            rho=one.rho,
            n_sv=one.n_sv,
            rows_computed=one.rows_computed,
            values_computed=one.values_computed,
            gap=one.gap,
            reach=one.reach,
            status=one.status,
        )
    combined = {name: combine([getattr(solve, name) for solve in solves]) for name, combine in _COMBINED}
    return FoldReport(seeder=seeder, seeding_seconds=seeding_seconds, solving_seconds=solving_seconds, **combined)


def standing(full: FoldReport, seeder: str, without: Sequence[SolveReport] = ()) -> FoldReport:
    """The report of a fold that takes over the optima of ``full``, but for those of the solves ``without``."""
    return replace(
        full,
        seeder=seeder,
        seeding_seconds=0.0,
        solving_seconds=0.0,
        iterations=0,
        rows_computed=0,
        values_computed=0,
        objective=full.objective - sum(solve.objective for solve in without),
        n_sv=full.n_sv - sum(solve.n_sv for solve in without),
    )


_COMBINED = tuple((f.name, f.metadata["combine"]) for f in fields(FoldReport) if "combine" in f.metadata)

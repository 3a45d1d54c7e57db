"""Every training's way from a dual problem through its solver to coefficients and the report of the solve."""

from __future__ import annotations

from math import inf, isfinite, isnan

from libsvmx._core.records import NamedTuple, replace
from libsvmx._core.stopping import Control
from libsvmx._core.threads import thread_count
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.dual import DualProblem, DualSolution, kkt_gap
from libsvmx._solvers.solver import Unfinished
from libsvmx._train.formulation import recover_coefficients
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import Parameter
from libsvmx._train.solve_report import SolveReport
from libsvmx._typing import Buffer
from libsvmx.enums import SolveStatus, SvmType


class Recovered(NamedTuple):
    """The coefficients of the rows, float64, shape (l,), and the report of their solve."""

    coefficients: Buffer
    report: SolveReport


def solve(
    param: Parameter,
    dual: DualProblem,
    kernel: Kernel,
    budget_bytes: float,
    control: Control,
    left: Unfinished | None = None,
) -> DualSolution:
    """Solve ``dual`` by ``param.solver``: a warm start if it has scores, else a cold start.

    Parameters
    ----------
    kernel : Kernel              over the rows numbered by ``dual.row``
    budget_bytes : float         for the row store
    left : Unfinished            by the trial of a queue, which the solver goes on from

    Raises MemoryError, and what a signal handler raises, such as KeyboardInterrupt.
    """
    solver, of_kernel = param.solver, (dual, kernel, budget_bytes, control, thread_count(param.threads))
    solution = solver.go_on(left, *of_kernel) if left else solver.solve(*of_kernel)
    if solver.follows_libsvm:
        from libsvmx._solvers.smo.solver import checked

        solution = checked(solution, dual, kernel, control)
    control.read_out()
    return solution


def recover(
    param: Parameter,
    targets: Buffer,
    dual: DualProblem,
    solution: DualSolution,
    observer: Observer,
    values_computed: int | None = None,
    sample_weight: Buffer | None = None,
    seconds: float = 0.0,
) -> Recovered:
    """Coefficients and report of a solution, of which the observer is told.

    ``values_computed``: kernel values, if other than the solution's count; ``sample_weight``: as of ``build_dual``;
    ``seconds``: wall time of the solve.
    """
    unknown = starts_unknown(dual, solution)
    if unknown:
        r = 1.0 if param.svm_type == SvmType.NU_SVC else 0.0  # coefficients are divided by it
        solution = DualSolution(
            beta=solution.beta, scores=dual.linear, rho=0.0, r=r, objective=0.0, iterations=0, status=solution.status
        )
    coefficients, rho, objective, n_sv, n_bsv, quantity, value = recover_coefficients(
        param, targets, dual, solution, sample_weight
    )
    report = SolveReport(
        iterations=solution.iterations,
        objective=objective,
        rho=rho,
        n_sv=n_sv,
        n_bsv=n_bsv,
        quantity=quantity,
        value=value,
        status=solution.status,
        rows_computed=solution.rows_computed,
        values_computed=solution.values_computed if values_computed is None else values_computed,
        gap=inf if unknown else gap_of(dual, solution),
        subproblems=solution.subproblems,
        fallbacks=solution.fallbacks,
        reach=solution.reach,
        chosen=solution.chosen,
        seconds=seconds,
    )
    if report.status == SolveStatus.ITERATION_LIMIT and param.has_infinite_cost:
        fits = "fits all targets to -p" if param.svm_type.is_regression else "separates the classes"
        observer.remark(Remark.HARD_MARGIN, fits)
    return Recovered(coefficients, announced(report, observer))


def gap_of(dual: DualProblem, solution: DualSolution) -> float:
    """The KKT gap over all variables: as the solver has computed it, or from its scores."""
    if isnan(solution.gap):
        return kkt_gap(solution.beta, solution.scores, dual.lower, dual.upper, dual.group)
    return solution.gap


def starts_unknown(dual: DualProblem, solution: DualSolution) -> bool:
    """Whether a limit ended a warm start from coefficients before its first step: their scores may be incomplete."""
    ended = solution.status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED)
    return ended and solution.iterations == 0 and dual.scores is None and any(dual.beta)


def announced(report: SolveReport, observer: Observer) -> SolveReport:
    """Tell the observer of a solve. Returns its report, with status DEGENERATE if rho or objective is not finite."""
    if report.chosen:
        observer.remark(Remark.SOLVER, report.chosen)
    if report.status != SolveStatus.CONVERGED:
        observer.remark(Remark(report.status))
    if not (isfinite(report.rho) and isfinite(report.objective)):
        report = replace(report, status=SolveStatus.DEGENERATE)
        observer.remark(Remark(report.status))
    observer.solved(report)
    return report

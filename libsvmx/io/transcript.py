"""The output of LIBSVM's programs, character for character, since scripts parse it; and the wording of remarks."""

from __future__ import annotations

from math import copysign, isnan

from libsvmx._train.observer import Observer, Remark
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from libsvmx._solvers.interior_point.predictor_corrector import Iteration
    from libsvmx._train.metrics import Scores
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.updating.transaction import UpdateReport

# of svmx-compress; the bound in full precision: rounded down it would be no bound
COMPRESSED = "Total nSV = {after} of {before}\nno decision value changes by more than {bound!r}\n"

# of the interior-point method; widths as in TrainingReport.iterated
ITERATIONS = "iter        mu       gap      dual    primal      |Q|   step\n"

MARKS = {".": ".", "*": "*", "few free": "\nWARNING: using -h 0 may be faster\n"}

# on standard error, as "warning: …"
REMARKS = {
    Remark.ITERATION_LIMIT: "the iteration limit was reached before the tolerance: the result is feasible, not optimal",
    Remark.TIME_LIMIT: "the time limit was reached before the tolerance: the result is feasible, not optimal",
    Remark.INTERRUPTED: "interrupted before the tolerance was reached: the result is feasible, not optimal",
    Remark.ROUNDING: "rounding hides what is left before the tolerance is reached: the result is feasible, not optimal",
    Remark.DEGENERATE: (
        "a solution degenerates: its coefficients or its rho are not finite, and predictions from it mean nothing"
    ),
    Remark.UNBOUNDED: (
        "C is infinite, or as good as that, but no function of this kernel separates the classes, as far as single "
        "precision tells: there is no optimum, and the result is only feasible; give a finite C"
    ),
    Remark.HARD_MARGIN: (
        "C is infinite, and no optimum was found: if no function of this kernel {detail}, there is none; "
        "give a finite C"
    ),
    Remark.ONE_CLASS: "the training data has only one class, so there is nothing to separate",
    Remark.WEIGHT_WITHOUT_CLASS: "a weight is given for class {detail}, which does not occur in the data",
    Remark.CLASS_DROPPED: "class {detail} has weight 0 and is left out",
    Remark.NOT_SYMMETRIC: "the precomputed kernel is not symmetric: see rows {detail}",
    Remark.OFFSET: (
        "squared distances between rows have large rounding errors, as {detail} for its range: subtract the mean of "
        "such features, or scale them"
    ),
    Remark.FEW_DENSITY_VALUES: (
        "fewer than 5 positive or negative decision values: too few for one-class probability estimates"
    ),
    Remark.FEW_ROWS_FOR_PROBABILITY: "too few rows for reliable probability estimates of class {detail}",
    Remark.CLASS_SMALLER_THAN_FOLDS: "there are fewer rows than folds in class {detail}",
    Remark.MORE_FOLDS_THAN_ROWS: "more folds than rows ({detail}): every row becomes a fold of its own",
    Remark.PROBABILITY_DROPPED: "the model's probability estimates are dropped: they come from cross-validation",
    Remark.PROBABILITY_UNFINISHED: "there are no probability estimates in the model: their folds were not finished",
    Remark.PAIRS_NOT_BEGUN: "{detail} pairs of classes were not begun: what the model says of them means nothing",
    Remark.MUCH_WORK: (
        "solver crsvm has {detail} operations to do: where there are few support vectors, or sparse rows with many "
        "features, smo is fastest; or give a smaller --rank"
    ),
    Remark.COUPLING_LIMIT: "pairwise coupling met its iteration limit for {detail} rows",
}

# written to standard error by LIBSVM even with -q
UNQUIET = (
    Remark.ITERATION_LIMIT,
    Remark.WEIGHT_WITHOUT_CLASS,
    Remark.MORE_FOLDS_THAN_ROWS,
    Remark.FEW_DENSITY_VALUES,
)

# part of the transcript, as in LIBSVM, except for the choice of solver auto
TRANSCRIPT_REMARKS = {
    Remark.LINE_SEARCH: "Line search fails in two-class probability estimates\n",
    Remark.SOLVER: "\nsolver = {detail}",
    Remark.NEWTON_LIMIT: "Reaching maximal iterations in two-class probability estimates\n",
}

LAPLACE = (
    "Prob. model for test data: target value = predicted value + z,\n"
    "z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma={space}{sigma:g}\n"
)


class Remarks(Observer):
    """Remarks(warn, insist): only the remarks of a training.

    ``warn``: callable(str), called with each remark, one line without its end; None drops them. ``insist``: the same
    for remarks that ``-q`` does not silence.
    """

    def __init__(self, warn: Callable[[str], object] | None, insist: Callable[[str], object] | None = None):
        self.warn, self.insist = warn, insist or warn
        self.warned: set[tuple[Remark, str]] = set()

    def remark(self, kind: Remark, detail: str = "") -> None:
        if (
            self.warn and kind in REMARKS and (kind, detail) not in self.warned
        ):  # once, not once for every pair and fold
            self.warned.add((kind, detail))
            (self.insist if kind in UNQUIET and self.insist else self.warn)(REMARKS[kind].format(detail=detail))


class TrainingReport(Remarks):
    """LIBSVM's transcript of a training.

    Parameters
    ----------
    write : callable(str)       takes text for standard output
    warn, insist : callable(str)        as in ``Remarks``
    """

    def __init__(
        self,
        write: Callable[[str], object],
        warn: Callable[[str], object] | None = None,
        insist: Callable[[str], object] | None = None,
    ):
        super().__init__(warn, insist)
        self.write = write
        self.last: Iteration | None = None

    def mark(self, mark: str) -> None:
        self.write(MARKS[mark])

    def solved(self, report: SolveReport) -> None:
        self.write(f"\noptimization finished, #iter = {report.iterations}\n")
        if report.quantity:
            self.write(f"{report.quantity} = {fixed(report.value)}\n")
        self.write(f"obj = {fixed(report.objective)}, rho = {fixed(report.rho)}\n")
        self.write(f"nSV = {report.n_sv}, nBSV = {report.n_bsv}\n")

    def iterated(self, line: Iteration) -> None:
        if line == self.last:  # when a solve continues to a tighter tolerance
            return
        self.last = line
        if line.number == 0:
            self.write(ITERATIONS)
        figures = " ".join(f"{value:9.2e}" for value in (line.mu, line.gap, line.dual, line.primal))
        self.write(f"{line.number:4d} {figures} {line.rows:8d} {line.step:6.3f}\n")

    def factorized(self, rank: int, trace_error: float, trace: float) -> None:
        relative = trace_error / trace if trace > 0 else 0.0
        self.write(f"low-rank kernel: rank = {rank}, relative trace error = {relative:g}\n")

    def total_sv(self, n_sv: int) -> None:
        self.write(f"Total nSV = {n_sv}\n")

    def laplace_scale(self, sigma: float) -> None:
        self.write(LAPLACE.format(space=" ", sigma=sigma))

    def remark(self, kind: Remark, detail: str = "") -> None:
        if kind == Remark.COUPLING_LIMIT:  # in LIBSVM, a line for each row
            self.write("Exceeds max_iter in multiclass_prob\n" * int(detail))
        elif kind in TRANSCRIPT_REMARKS:
            self.write(TRANSCRIPT_REMARKS[kind].format(detail=detail))
        else:
            super().remark(kind, detail)


def fixed(value: float) -> str:
    """%f"""
    return "-nan" if isnan(value) else f"{value:f}"


def general(value: float) -> str:
    """%g; C prints the sign of nan, too."""
    return "-nan" if isnan(value) and copysign(1.0, value) < 0 else f"{value:g}"


def cross_validation(scores: Sequence[Scores], regression: bool) -> str:
    """Result lines of ``-v``; with several repeats also of each, and LIBSVM's lines have the mean."""
    from libsvmx._train.metrics import deviation, mean  # imported on use, which saves time at the start

    figures = REGRESSION_FIGURES if regression else (("Accuracy", "accuracy", "%"),)
    if scores[0].tau is not None:
        figures = (*figures, ("Mean pinball loss", "pinball_loss", ""))
    lines, spread = [], ""
    if len(scores) > 1:
        for at, own in enumerate(scores, 1):
            told = (f"{name} = {general(getattr(own, field))}{unit}" for name, field, unit in figures)
            lines.append(f"Repeat {at}: {', '.join(told)}\n")
    for name, field, unit in figures:
        values = [getattr(own, field) for own in scores]
        if len(scores) > 1:
            spread = f" +/- {general(deviation(values))}{unit} ({len(scores)} repeats)"
        lines.append(f"Cross Validation {name} = {general(mean(values))}{unit}{spread}\n")
    return "".join(lines)


# Name, which is a field of Scores, and unit.
REGRESSION_FIGURES = (
    ("Mean squared error", "mean_squared_error", ""),
    ("Squared correlation coefficient", "squared_correlation", ""),
)


def prediction(scores: Scores, regression: bool) -> str:
    """Result lines of a prediction."""
    if not regression:
        # LIBSVM divides first here
        percent = scores.correct / scores.total * 100 if scores.total else 0.0
        return f"Accuracy = {general(percent)}% ({scores.correct}/{scores.total}) (classification)\n"
    return (
        f"Mean squared error = {general(scores.mean_squared_error)} (regression)\n"
        f"Squared correlation coefficient = {general(scores.squared_correlation)} (regression)\n"
    )


PROBABILITY_UNUSED = "Model supports probability estimates, but disabled in prediction.\n"


def update(done: UpdateReport) -> str:
    """One line on a change of a state."""
    words = [f"{done.breakpoints} breakpoints", f"{done.steps} steps", f"{done.exchanges} exchanges"]
    words += [f"{done.repairs} repairs", f"{done.retrained} trained", f"gap {max(done.gap, 0.0):.2g}"]
    return ", ".join(words)

"""Checks of the data before anything is computed."""

from __future__ import annotations

from itertools import combinations, repeat
from math import floor, isfinite, isqrt

from libsvmx._core.matrix import (
    CsrMatrix,
    first_beyond,
    first_negative,
    first_not_finite,
    largest_serial,
    precomputed_row_length,
    serial_number,
)
from libsvmx._train.folds import check_labels
from libsvmx._train.model import Model
from libsvmx._train.parameter import Parameter
from libsvmx._train.solve_report import SolveReports
from libsvmx._typing import TYPE_CHECKING, Buffer, FloatArray
from libsvmx.enums import KernelType, SolveStatus, SvmType
from libsvmx.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from libsvmx._train.problem import Problem


def check_problem(problem: Problem, param: Parameter) -> None:
    """Raise DataError or ParameterError for data that this training cannot use."""
    check_rows(problem, param)
    check_targets(problem, param)


def check_rows(problem: Problem, param: Parameter) -> None:
    """``check_problem`` for the rows only, whatever their targets."""
    if not len(problem.rows):
        raise DataError("no data: there is not a single row")
    row = first_not_finite(problem.matrix, problem.rows)
    if row >= 0:
        raise DataError("a feature value is not finite", row)
    if param.kernel_type.nonnegative:
        check_signs(problem.matrix, problem.rows, param.kernel_type)
    if param.kernel_type == KernelType.PRECOMPUTED:
        check_precomputed(problem)


def check_signs(matrix: CsrMatrix, rows: Buffer, kernel: KernelType) -> None:
    """Raise DataError for a negative number in one of the rows, if the kernel is not defined for it."""
    found = first_negative(matrix, rows) if kernel.nonnegative else None
    if found is not None:
        row, feature, value = found
        raise DataError(
            f"kernel {kernel.keyword} takes no negative numbers, and feature {feature} is {value:.17g}", row
        )


def check_targets(problem: Problem, param: Parameter) -> None:
    """``check_problem`` for the targets only."""
    check_values(problem, param)
    check_pairs(problem, param)
    if param.svm_type == SvmType.NU_SVC:
        check_nu(problem.targets, problem.sample_weight, param.nu)


# Bytes of a pair of classes with few rows in a training and its model: about 200 measured in a queue, 1,870 otherwise;
# half of the former refuses only what certainly does not fit.
BYTES_OF_PAIR = 100
# The same in a state, which keeps a path for each pair: 17,700 measured.
BYTES_OF_PATH = 6000
# Number of pairs that always fits.
FEW_CLASSES = 1000


def check_pairs(
    problem: Problem,
    param: Parameter,
    n_known: int = 0,
    bytes_of_pair: int = BYTES_OF_PAIR,
    n_fresh: int | None = None,
) -> None:
    """Check the memory for the k (k - 1) / 2 pairs of one against one, of which ``n_known`` exist. Raises
    TooLittleMemory.

    ``n_fresh``: number of rows that may be of classes of other pairs; None: all.
    """
    n = len(problem.rows)
    if n <= FEW_CLASSES or not param.svm_type.is_classification:
        return
    if n_fresh is not None and n_fresh + 1 + isqrt(2 * n_known) <= FEW_CLASSES:  # the classes of ``n_known`` pairs
        return
    k = len(set(problem.targets))
    if k <= FEW_CLASSES:
        return
    from libsvmx._core import memory  # imported only for many classes

    n_pairs, few = k * (k - 1) // 2, k * 2 > n
    advice = "; targets of a regression? they are for epsilon-SVR and nu-SVR" if few else "; fewer classes need less"
    memory.require(bytes_of_pair * max(0, n_pairs - n_known), f"a model of {n_pairs} pairs of {k} classes", advice)


def check_values(problem: Problem, param: Parameter) -> None:
    """Check each target by itself."""
    if param.svm_type.is_classification:
        check_labels(problem.targets)
    elif param.svm_type.is_regression:
        for i, target in enumerate(problem.targets):
            if target - target != 0:
                raise DataError(f"target {target} is not finite", i)


def check_precomputed(problem: Problem) -> None:
    """Check that every row has 0:serial and K(row, s) for s = 1..l, the same l, and 1 <= serial <= l."""
    matrix = problem.matrix
    columns = matrix.max_index
    if matrix.is_table and matrix.n_rows <= columns:  # tables are made so
        return
    for position, row in enumerate(problem.rows):
        length = precomputed_row_length(matrix, row)
        if length < 0:
            raise DataError(PRECOMPUTED_HELP, position)
        if length != columns:
            raise DataError(f"precomputed kernel: the row ends at column {length}, others at {columns}", position)
        serial = serial_number(matrix, row)
        if serial != int(serial) or not 1 <= serial <= columns:
            raise DataError(f"precomputed kernel: serial number {serial:g} is not one of 1..{columns}", position)
        check_largest(matrix, row, position)


LARGEST = (2 - 2**-23) * 2.0**126  # half of the largest float, as for any kernel: 2 K(i, j) is computed in float


def check_largest(matrix: CsrMatrix, row: int, position: int) -> None:
    """Raise DataError, with ``position``, for a kernel value of a row that is too large for a training. Not of tables,
    which their makers check."""
    column = 0 if matrix.is_table else first_beyond(matrix, row, LARGEST)
    if column:
        raise overflow("with itself" if column == serial_number(matrix, row) else f"in column {column}", position)


def overflow(which: str, position: int) -> DataError:
    """The error for a kernel value that is beyond LARGEST."""
    return DataError(f"the kernel value of the row {which} overflows: scale the kernel", position)


def check_precomputed_tests(model: Model, tests: CsrMatrix, rows: Buffer) -> None:
    """Check that test rows have every column up to the largest serial number of a support vector."""
    needed = largest_serial(model.vectors)
    if tests.is_table and tests.max_index >= needed:
        return
    for position, row in enumerate(rows):
        length = precomputed_row_length(tests, row)
        if length < 0:
            raise DataError(PRECOMPUTED_HELP, position)
        if length < needed:
            raise DataError(
                f"precomputed kernel: the row ends at column {length}, but the model needs column {needed}", position
            )


PRECOMPUTED_HELP = "precomputed kernel: a row must be 0:serial 1:K(row,1) 2:K(row,2) … with no column left out"


def check_nu(targets: Buffer, weights: Buffer | None, nu: float) -> None:
    """nu-SVC is feasible for every pair of classes of n1 and n2 rows only if nu (n1 + n2) / 2 <= min(n1, n2).

    With weights n1 and n2 are their sums.
    """
    counts: dict[float, float] = {}
    for label, weight in zip(targets, repeat(1) if weights is None else weights, strict=False):
        if weight > 0:  # a class without weight is left out
            counts[label] = counts.get(label, 0) + weight
    for a, n1 in counts.items():
        for b, n2 in counts.items():
            if a != b and nu * (n1 + n2) / 2 > min(n1, n2):
                limit = floor(2e6 * min(n1, n2) / (n1 + n2)) / 1e6  # rounded down, so that it is feasible
                found = (
                    f"classes {a:g} and {b:g} have {n1} and {n2} rows"
                    if weights is None
                    else f"the weights of classes {a:g} and {b:g} add up to {n1:g} and {n2:g}"
                )
                cause = f"nu = {nu:g} is infeasible: {found}, which allows at most {limit:g}"
                raise ParameterError(cause, (a, b))


def check_weights(weights: FloatArray, what: str = "a weight") -> None:
    """Raise DataError for a weight of rows that is not finite or is negative; ``what``: its name."""
    import numpy as np

    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        row = int(good.argmin())
        raise DataError(f"{what} must be finite and >= 0, not {float(weights[row])}", row)


REMEDIES = {
    SvmType.NU_SVC: "a smaller nu, other kernel parameters",
    SvmType.ONE_CLASS: "another nu, other kernel parameters",
    SvmType.NU_SVR: "another nu, other kernel parameters",
}


OFFSET = 4.0  # a feature is far from 0 from this multiple of its range on


def is_noise(gamma: float, square: float) -> bool:
    """Whether rounding of squared distances between rows, with ``square`` the largest |x|^2, changes RBF kernel values
    by more than 0.1 %, and other kernels of distances about as much. LIBSVM computes them in double."""
    return gamma * square * 2.0**-52 > 1e-3


def check_finite(model: Model) -> None:
    """Raise ParameterError if a function of the model is not finite; names the value and the pair of classes."""
    param, what, where = model.param, "", ""
    classes: tuple[int, ...] = ()
    # SolveReports are of solves that went well
    if not isinstance(model.reports, SolveReports) and SolveStatus.DEGENERATE in model.statuses:
        function = model.statuses.index(SolveStatus.DEGENERATE)
        what = "rho is" if all(map(isfinite, model.coef)) else "coefficients are"
        if isfinite(model.offsets[function]) and what == "rho is":
            what = "objective is"
        if model.class_labels is not None and model.nr_class > 2:
            classes = list(combinations(model.class_labels, 2))[function]
            where = f" for classes {classes[0]} and {classes[1]}"
    elif model.sigmoid_a is not None and not all(map(isfinite, (*model.sigmoid_a, *(model.sigmoid_b or ())))):
        what = "probability estimates are"
    if what:
        remedy = REMEDIES.get(param.svm_type, "other kernel parameters, a smaller C")
        if param.has_infinite_cost:
            remedy = "a finite C, other kernel parameters"
        raise ParameterError(
            f"the solution degenerates{where}: its {what} not finite "
            f"({param.svm_type.name}, {param.kernel_type.name} kernel). Choose {remedy}, or scale the data",
            classes,
        )

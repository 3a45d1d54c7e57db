"""The plan of a training without training: solver, sizes, memory, and warnings about data and parameters.

    plan_of(problem, param) -> TrainingPlan

Uses all rows of weight > 0, except for the median heuristic, which uses the distances of ``SAMPLE`` rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libsvmx._core.matrix import CsrMatrix, count_nonzeros, distinct_features
from libsvmx._core.memory import MEGABYTE
from libsvmx._core.records import replace
from libsvmx._core.threads import thread_count
from libsvmx._solvers.auto import Auto
from libsvmx._solvers.linear_work import are_few
from libsvmx._train.checks import OFFSET, check_problem, is_noise
from libsvmx._train.gamma import default_gamma
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter, flat_fields
from libsvmx._train.problem import Problem
from libsvmx._train.zero_weights import counting_part
from libsvmx._typing import FloatArray, IntArray
from libsvmx.enums import KernelType, SvmType

SAMPLE = 500  # rows of the median heuristic
# Thresholds of warnings: ranges of features as multiples of the median range; rows of the largest class for each of the
# smallest; gamma beyond the quantiles of the heuristic.
WIDE, NARROW, UNEVEN, FAR = 10.0, 0.01, 10.0, 10.0
MANY = 10_000  # rows from which on crsvm is suggested
SHOWN = 5  # of many items, the first are named
KERNEL_BYTES = 4  # of a kernel value
PIECE = 1 << 19  # values sorted at once: a twentieth of a second
EQUAL = 1e-12  # squared distances up to this share of the largest squared norm are rounding


@dataclass(frozen=True, slots=True)
class Advice:
    """A warning.

    Attributes
    ----------
    kind : str        'scale', 'offset', 'imbalance', 'gamma', 'duplicates', 'contradictions', 'constant', 'memory',
                      'linear' or 'steps'
    text : str        the problem
    remedy : str      the remedy
    """

    kind: str
    text: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """Plan of a training.

    Attributes
    ----------
    param : Parameter
        With gamma filled in.
    solver, reason : str
        Solver that would be used, and why.
    problems : int
        Dual problems: one for each pair of classes, else one.
    rows, features, values : int
        Numbers of rows that count, features that occur, and nonzero values.
    largest : int
        Rows of the largest dual problem.
    density : float
        Share of nonzero values in rows * features.
    classes : tuple of (label, rows)
        In classification, by first appearance; else ().
    targets : tuple of two floats or None
        Smallest and largest target, in regression.
    data_bytes : int
        Memory for the rows.
    kernel_bytes : int
        Memory for all kernel rows of the largest problem.
    kept_rows : int
        Number of these rows that fit ``cache_size``.
    median_gamma : float or None
        1 / median of |u - v|^2 over some rows; None for kernels without gamma.
    gamma_range : tuple of two floats or None
        The same with the quantiles 0.9 and 0.1.
    threads : int
        Number of threads.
    warnings : tuple of Advice
        Warnings with remedies.
    """

    param: Parameter
    solver: str
    reason: str
    problems: int
    rows: int
    features: int
    values: int
    largest: int
    density: float
    classes: tuple[tuple[float, int], ...]
    targets: tuple[float, float] | None
    data_bytes: int
    kernel_bytes: int
    kept_rows: int
    median_gamma: float | None
    gamma_range: tuple[float, float] | None
    threads: int
    warnings: tuple[Advice, ...]

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain values, for JSON."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {**found, "param": flat_fields(self.param), "warnings": [asdict(one) for one in self.warnings]}


def plan_of(problem: Problem, param: Parameter) -> TrainingPlan:
    """The plan of a training. Needs NumPy. Raises DataError, ParameterError."""
    check_problem(problem, param)
    param = default_gamma(param, problem.matrix.max_index)
    part = counting_part(problem, param, Observer())
    problem = part.problem if part else problem
    table = Table(problem)
    classes = table.classes() if param.svm_type.is_classification else ()
    sizes = sorted((rows for _, rows in classes), reverse=True)
    n = len(problem)
    largest = sum(sizes[:2]) if classes else n
    row_bytes = KERNEL_BYTES * largest
    kept = min(largest, int(param.cache_bytes / row_bytes)) if row_bytes else 0
    solver, reason, product = solver_of(problem, param, largest)
    distances = table.distances() if "gamma" in param.kernel_type.uses else None
    gammas = None
    if distances is not None and len(distances) and np.quantile(distances, 0.1) > 0:
        gammas = [float(1 / np.quantile(distances, share)) for share in (0.9, 0.5, 0.1)]
    y = np.asarray(problem.targets)
    plan = TrainingPlan(
        param=param,
        solver=solver,
        reason=reason,
        problems=max(1, len(classes) * (len(classes) - 1) // 2),
        rows=n,
        features=len(table.lows),
        values=int(np.count_nonzero(table.values)),
        largest=largest,
        density=np.count_nonzero(table.values) / max(1, n * len(table.lows)),
        classes=classes,
        targets=(float(y.min()), float(y.max())) if param.svm_type.is_regression and n else None,
        data_bytes=12 * len(table.values) + 8 * (n + 1),
        kernel_bytes=row_bytes * largest,
        kept_rows=kept,
        median_gamma=gammas[1] if gammas else None,
        gamma_range=(gammas[0], gammas[2]) if gammas else None,
        threads=thread_count(param.threads),
        warnings=(),
    )
    found = [*of_features(table, param), *of_offsets(table, param), *of_classes(plan)]
    found += [*of_gamma(plan, any(advice.kind == "scale" for advice in found)), *of_rows(table, param)]
    return dataclasses.replace(plan, warnings=(*found, *of_memory(plan), *of_steps(plan, product)))


# ---- the solver ----------------------------------------------------------------------------------


def solver_of(problem: Problem, param: Parameter, largest: int) -> tuple[str, str, float]:
    """Name of the solver, the reason, and the product of the largest bound and the largest kernel value. ``largest``:
    rows of the largest problem."""
    name = param.solver.name
    if param.kernel_type == KernelType.PRECOMPUTED or not len(problem):
        product = inf
    else:
        diagonal = KernelProvider(problem, replace(param, cache_size=1.0)).make_whole().diagonal
        weight = 1.0 if problem.sample_weight is None else max(problem.sample_weight, default=0.0)
        product = max(diagonal, default=0.0) * max(param.costs, default=1.0) * weight
    if name == "smo":
        return name, "LIBSVM's steps and bits, the default; --solver chooses another", product
    if name != "auto":
        return name, "it was asked for", product
    if param.has_infinite_cost:
        return "smo", "auto takes smo for a hard margin", product
    features = count_nonzeros(problem.features)[1] if param.kernel_type == KernelType.LINEAR else 0
    limit = auto_of(param).queued_up_to(param.kernel_type, largest, features, param.svm_type.is_regression)
    if product <= limit:
        return "smo", f"auto takes it where C times the largest kernel value is {limit:g} or less", product
    if features and are_few(features, largest) and not param.svm_type.has_nu:
        return name, "auto begins with smo; crsvm goes on where that is less work, the features are few", product
    return name, "it begins with smo, and looks early whether irwls or chunked is faster", product


def auto_of(param: Parameter) -> Auto:
    """The solver if it is auto, else auto with defaults."""
    return param.solver if isinstance(param.solver, Auto) else Auto()


# ---- warnings ------------------------------------------------------------------------------------


def of_features(table: Table, param: Parameter) -> Iterator[Advice]:
    """Features on very different scales, and constant ones."""
    if param.kernel_type == KernelType.PRECOMPUTED:
        return
    ranges = table.highs - table.lows
    varying = np.flatnonzero(ranges > 0)
    if len(varying) > 1:
        middle = np.sort(ranges[varying])[(len(varying) - 1) // 2]
        odd = varying[(ranges[varying] >= WIDE * middle) | (ranges[varying] <= NARROW * middle)]
        if len(odd):
            named = table.named(odd[np.argsort(-ranges[odd], kind="stable")], "g")
            yield Advice(
                "scale",
                f"features on very different scales: {named}; the range in the middle is {middle:g}",
                "scale all to the same range",
            )
    constant = table.numbers[ranges == 0]
    if len(constant):
        first = ", ".join(map(str, constant[:SHOWN])) + (", …" if len(constant) > SHOWN else "")
        yield Advice(
            "constant",
            f"{counted(len(constant), 'feature')} with a single value: {first}",
            "leave out what tells nothing",
        )


def far_from_0(table: Table, gamma: float) -> NDArray[np.intp]:
    """Features so far from 0, relative to their ranges, that squared distances have large rounding errors, the farthest
    first."""
    size = np.maximum(np.abs(table.lows), np.abs(table.highs))
    with np.errstate(over="ignore"):
        far = np.flatnonzero(size >= OFFSET * (table.highs - table.lows))
        squares = size[far] ** 2
        total = float(squares.sum())
    if not np.isfinite(total) or not is_noise(gamma, total):  # overflow of a kernel value is an error elsewhere
        return far[:0]
    order = np.argsort(-size[far], kind="stable")
    return far[order][len(far) * squares[order] >= squares.max()]


def far_text(table: Table, places: NDArray[np.intp]) -> str:
    """``feature 3 (100000 to 100001) is far from 0``"""
    named = table.named(places, ".10g")
    return f"feature {named} is far from 0" if len(places) == 1 else f"features {named} are far from 0"


def of_offsets(table: Table, param: Parameter) -> Iterator[Advice]:
    """Warn of features so far from 0 that a kernel of distances has large rounding errors."""
    if not param.kernel_type.is_of_distance:
        return
    places = far_from_0(table, param.gamma)
    if len(places):
        yield Advice(
            "offset",
            f"{far_text(table, places)}, many times {'its' if len(places) == 1 else 'their'} range: squared distances "
            "between rows, |x|^2 + |z|^2 - 2 x'z, have large rounding errors",
            "subtract the mean, or scale by svmx-scale",
        )


def of_classes(plan: TrainingPlan) -> Iterator[Advice]:
    """Warn of classes of very different sizes."""
    sizes = [rows for _, rows in plan.classes]
    if plan.param.weights or len(sizes) < 2 or max(sizes) < UNEVEN * min(sizes):
        return
    label, fewest = min(plan.classes, key=lambda one: one[1])
    remedy = "give the rare class more rows"
    if plan.param.svm_type == SvmType.C_SVC:
        factors = " ".join(f"-w{label:.0f} {plan.rows / (len(sizes) * rows):.3g}" for label, rows in plan.classes)
        remedy = f"weigh the classes, for instance {factors}"
    yield Advice("imbalance", f"class {label:.0f} has {fewest} rows, the largest has {max(sizes)}", remedy)


def of_gamma(plan: TrainingPlan, uneven: bool) -> Iterator[Advice]:
    """Warn of a gamma far from all inverse distances; ``uneven``: features are on different scales."""
    gamma = plan.param.gamma
    if (
        plan.param.gammas
        or plan.param.kernel_type != KernelType.RBF
        or plan.gamma_range is None
        or plan.median_gamma is None
    ):
        return
    least, greatest = plan.gamma_range
    if least / FAR <= gamma <= greatest * FAR:
        return
    says = "to the kernel all rows look alike" if gamma < least else "to the kernel each row is unlike all others"
    scaled = "scale the features first, or " if uneven else ""
    yield Advice(
        "gamma",
        f"gamma is {gamma:g}, where the distances of the rows suggest {least:.2g} to {greatest:.2g}: {says}",
        f"{scaled}begin with -g {plan.median_gamma:.2g}, or search by svmx-grid",
    )


def of_rows(table: Table, param: Parameter) -> Iterator[Advice]:
    """Warn of repeated rows, with equal targets or different ones."""
    if param.kernel_type == KernelType.PRECOMPUTED:
        return
    copies, contrary = table.repeated()
    if copies:
        yield Advice(
            "duplicates",
            f"{counted(len(copies), 'row')} {'is' if len(copies) == 1 else 'are'} there before with the same target, "
            f"such as rows {table.number(copies[0][0])} and {table.number(copies[0][1])}",
            "keep one of each, with a weight by -W, if they are copies; folds of -v see them on both sides",
        )
    if contrary and param.svm_type != SvmType.ONE_CLASS:
        yield Advice(
            "contradictions",
            f"{counted(len(contrary), 'row')} {'has' if len(contrary) == 1 else 'have'} the features of a row with "
            f"another target, such as rows {table.number(contrary[0][0])} and {table.number(contrary[0][1])}",
            "look at them: no model is right about both",
        )


def of_memory(plan: TrainingPlan) -> Iterator[Advice]:
    """Warn of kernel rows that do not fit the cache, or that a linear solver does not need."""
    solver = plan.param.solver
    if solver.name in ("smo", "auto") and is_for_crsvm(plan):
        if solver.name == "smo":
            yield Advice(
                "linear",
                f"smo computes kernel rows of {plan.largest} rows; with a linear kernel crsvm works on the "
                f"{counted(plan.features, 'feature')}, and needs none",
                "--solver auto goes on with crsvm where smo would take longer",
            )
    elif plan.kept_rows < plan.largest and not solver.needs_features:
        needed = int(plan.kernel_bytes / MEGABYTE) + 1
        yield Advice(
            "memory",
            f"-m {plan.param.cache_size:g} holds {plan.kept_rows} of {plan.largest} kernel rows; others are computed "
            "again when they are needed",
            f"-m {needed} holds all, if the machine has so much; fewer are often enough",
        )


def is_for_crsvm(plan: TrainingPlan) -> bool:
    """Whether auto would end with crsvm in a long training."""
    param = plan.param
    return (
        param.kernel_type == KernelType.LINEAR
        and not param.svm_type.has_nu
        and not param.has_infinite_cost
        and plan.largest >= MANY
        and are_few(plan.features, plan.largest)
    )


def of_steps(plan: TrainingPlan, product: float) -> Iterator[Advice]:
    """A large C with a solver that takes many small steps then."""
    many = auto_of(plan.param).policy.smo_alone < product < inf
    if plan.param.solver.name == "smo" and many and not plan.param.has_infinite_cost:
        yield Advice(
            "steps",
            f"C times the largest kernel value is {product:.3g}: smo may take very many steps",
            "--solver auto goes on with another solver where smo is slow"
            + ("; scaled features need a smaller C" if plan.param.kernel_type != KernelType.RBF else ""),
        )


def counted(n: int, what: str) -> str:
    """``1 row``, ``2 rows``"""
    return f"{n} {what}{'' if n == 1 else 's'}"


class Table:
    """Table(problem): statistics of its rows by NumPy.

    Attributes
    ----------
    values : ndarray, shape (nnz,)      stored values
    numbers : ndarray, shape (f,)       indices of the features in the data
    lows, highs : ndarray, shape (f,)   their minima and maxima, with unstored zeros
    """

    def __init__(self, problem: Problem) -> None:
        self.rows = problem.rows
        matrix: CsrMatrix = problem.matrix.take(self.rows)
        self.targets: FloatArray = np.asarray(problem.targets)
        self.indptr: IntArray = np.asarray(matrix.indptr)
        self.indices: IntArray = np.asarray(matrix.indices)
        self.values: FloatArray = np.asarray(matrix.values)
        self.numbers = np.asarray(distinct_features(matrix))
        n_columns = len(self.numbers)
        self.column = np.empty(len(self.indices), dtype=np.int32)
        self.lows, self.highs = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
        counts = np.zeros(n_columns, dtype=np.int64)
        for begin in range(0, len(self.indices), PIECE):  # signals are handled between two pieces
            part = slice(begin, begin + PIECE)
            column = self.column[part] = np.searchsorted(self.numbers, self.indices[part])
            order = np.argsort(column, kind="stable")
            there, first = np.unique(column[order], return_index=True)
            ordered = self.values[part][order]
            self.lows[there] = np.minimum(self.lows[there], np.minimum.reduceat(ordered, first))
            self.highs[there] = np.maximum(self.highs[there], np.maximum.reduceat(ordered, first))
            counts += np.bincount(column, minlength=n_columns)
        missing = counts < len(self.targets)
        self.lows = np.where(missing, np.minimum(self.lows, 0), self.lows)
        self.highs = np.where(missing, np.maximum(self.highs, 0), self.highs)

    def number(self, i: int) -> int:
        """Number of the i-th row in the data, from 1."""
        return int(self.rows[i]) + 1

    def named(self, places: NDArray[np.intp], form: str) -> str:
        """``3 (0 to 1), 5 (2 to 9) and 7 more``: features with their ranges."""
        each = (f"{self.numbers[j]} ({self.lows[j]:{form}} to {self.highs[j]:{form}})" for j in places[:SHOWN])
        return ", ".join(each) + (f" and {len(places) - SHOWN} more" if len(places) > SHOWN else "")

    def classes(self) -> tuple[tuple[float, int], ...]:
        """Labels by first appearance, with their numbers of rows."""
        labels, first, counts = np.unique(self.targets, return_index=True, return_counts=True)
        return tuple((float(labels[i]), int(counts[i])) for i in np.argsort(first))

    def distances(self) -> FloatArray:
        """Squared distances between rows drawn with a fixed seed, without zeros."""
        import scipy.sparse as sp

        n = len(self.targets)
        rows = np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False)) if n > SAMPLE else np.arange(n)
        shape = (n, max(1, len(self.numbers)))
        sample = sp.csr_array((self.values, self.column, self.indptr), shape=shape)[rows]
        products = np.asarray((sample @ sample.T).todense())
        squares = np.diag(products)
        found: FloatArray = (squares[:, None] + squares - 2 * products)[np.triu_indices(len(rows), 1)]
        apart: FloatArray = found[found > EQUAL * squares.max(initial=0.0)]
        return apart

    def repeated(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Pairs of rows with equal features, the earlier one first: those with equal targets, and the others."""
        kept = self.values != 0
        ends = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        indices, values = self.indices[kept], self.values[kept]
        seen: dict[bytes, dict[float, int]] = {}
        copies, contrary = [], []
        for i in range(len(self.targets)):
            part = slice(ends[i], ends[i + 1])
            same = seen.setdefault(indices[part].tobytes() + values[part].tobytes(), {})
            target = float(self.targets[i])
            if target in same:
                copies.append((same[target], i))
            elif same:
                contrary.append((next(iter(same.values())), i))
            same.setdefault(target, i)
        return copies, contrary

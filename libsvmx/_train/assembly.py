"""Models from the coefficients of dual problems."""

from __future__ import annotations

from itertools import combinations

from libsvmx._core.arrays import counted_from_one, nonzero, take_float64
from libsvmx._core.buffers import filled
from libsvmx._core.records import record, replace
from libsvmx._train.formulation import support_vectors
from libsvmx._train.model import Model, columns_of, vectors_of
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.solve_report import SolveReport, SolveReports
from libsvmx._typing import TYPE_CHECKING, Buffer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from libsvmx._train.feature_map import FeatureMap
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem

    Reports: TypeAlias = Sequence[SolveReport] | SolveReports

INNER_FOLDS = 5  # LIBSVM's cross-validation behind probability estimates


@record(frozen=True, slots=True)
class Pairs:
    """The solutions of all pairs (0, 1), (0, 2), … of a classifier; no ``sigmoids`` if they are unfinished.

    ``betas``: coefficients of the first pair, with the rows of its first class first, then those of the next pair.
    """

    betas: Buffer
    reports: Reports
    sigmoids: list[tuple[float, float]] | None
    not_begun: int


def solves_of(k: int, probability: bool) -> int:
    """Number of dual problems of a classifier of k classes, with those of its probability estimates."""
    return k * (k - 1) // 2 * (1 + INNER_FOLDS * probability)


def tell_of_classes(labels: list[int], start: list[int], param: Parameter, observer: Observer) -> None:
    """Remarks on very few classes or rows; arguments as of ``folds.group_classes``."""
    if len(labels) == 1:
        observer.remark(Remark.ONE_CLASS)
    if param.probability:
        rare = [str(label) for c, label in enumerate(labels) if start[c + 1] - start[c] < INNER_FOLDS]
        if rare:
            observer.remark(Remark.FEW_ROWS_FOR_PROBABILITY, ", ".join(rare))


def assemble_single(problem: Problem, param: Parameter, beta: Buffer, report: SolveReport) -> Model:
    """The model of one-class or regression from the coefficients of all rows."""
    positions = nonzero(beta)
    return Model(
        param,
        2,
        vectors_of(problem, positions, param),
        take_float64(beta, positions),
        filled("d", [report.rho]),
        row_numbers=counted_from_one(positions),
        columns=columns_of(problem.matrix, param),
        reports=(report,),
    )


def assemble_classifier(
    problem: Problem,
    param: Parameter,
    classes: tuple[list[int], list[int], Buffer],
    betas: Buffer,
    reports: Reports,
    sigmoid_a: Buffer | None = None,
    sigmoid_b: Buffer | None = None,
) -> Model:
    """The model of all pairs (0, 1), (0, 2), …; ``classes`` as of folds.group_classes, ``betas`` as of Pairs."""
    labels, start, order = classes
    rows, coef, sizes, numbers = support_vectors(betas, start, order)
    return Model(
        param,
        len(labels),
        vectors_of(problem, rows, param),
        coef,
        reports.rhos if isinstance(reports, SolveReports) else filled("d", (report.rho for report in reports)),
        tuple(labels),
        sizes,
        sigmoid_a,
        sigmoid_b,
        None,
        numbers,
        columns_of(problem.matrix, param),
        reports,
    )


def classifier_of(
    problem: Problem,
    param: Parameter,
    classes: tuple[list[int], list[int], Buffer],
    pairs: Pairs,
    observer: Observer,
    feature_map: FeatureMap | None = None,
) -> Model:
    """The model of the solved pairs of ``classes`` (``folds.group_classes``)."""
    if pairs.not_begun and len(classes[0]) > 2:
        observer.remark(Remark.PAIRS_NOT_BEGUN, f"{pairs.not_begun} of {len(pairs.reports)}")
    # LIBSVM's model of a single class has them, too, with no pair
    found = (pairs.sigmoids if len(pairs.reports) else []) if param.probability else None
    a, b = (None, None) if found is None else (filled("d", [pair[part] for pair in found]) for part in (0, 1))
    if feature_map and feature_map.predicts:
        model = feature_map.model(problem, classes, pairs.betas, pairs.reports)
        model = replace(model, sigmoid_a=a, sigmoid_b=b)
    else:
        model = assemble_classifier(problem, param, classes, pairs.betas, pairs.reports, a, b)
    observer.total_sv(model.n_sv)
    return without_probability(model, observer) if param.probability and found is None else model


def without_probability(model: Model, observer: Observer) -> Model:
    """The model of a training that was stopped before its probability estimates."""
    observer.remark(Remark.PROBABILITY_UNFINISHED)
    return replace(model, param=replace(model.param, probability=False))


def joined_betas(betas: Sequence[Buffer]) -> Buffer:
    """Join coefficients of pairs, or of runs of pairs, as in Pairs."""
    return betas[0] if len(betas) == 1 else memoryview(b"".join(betas)).cast("d")


def each_beta(betas: Buffer, start: list[int]) -> Iterator[Buffer]:
    """The coefficients of each pair; arguments as of ``support_vectors``."""
    at = 0
    for i, j in combinations(range(len(start) - 1), 2):
        n = start[i + 1] - start[i] + start[j + 1] - start[j]
        yield betas[at : at + n]
        at += n

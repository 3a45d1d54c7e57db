"""Probability estimates of a classifier from the decision values of one cross-validation over all rows.

LIBSVM draws five folds of the rows of each pair of classes (``-b 1``). Here the sigmoids are fitted to the values of
``cross_validate``, so that its score of the model and the probabilities are based on the same folds.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._train.assembly import INNER_FOLDS, without_probability
from libsvmx._train.model import pair_place
from libsvmx._train.observer import Remark
from libsvmx._train.probability import fit_sigmoid
from libsvmx._train.validation.cross_validation import cross_validate
from libsvmx._train.validation.scheme import Seeding
from libsvmx.exceptions import ParameterError, StoppedEarly

if TYPE_CHECKING:
    from libsvmx._train.folds import Rand
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem


def check_calibrated(param: Parameter) -> None:
    """Raise ParameterError for a formulation without classes."""
    if not param.svm_type.is_classification:
        raise ParameterError(
            f"probability='cv' fits sigmoids of classes, which {param.svm_type.name} has not; probability=True is there"
        )


def calibrated(model: Model, problem: Problem, param: Parameter, rand: Rand, observer: Observer) -> Model:
    """``model`` of ``problem`` and ``param``, with the probability estimates of a cross-validation.

    For each pair of classes, Platt's sigmoid as LIBSVM fits it, to the values of rows of weight > 0 that were held out
    of a training with both classes. If the call is stopped early, the model has no estimates. Raises DataError,
    ParameterError (the problem cannot be cross-validated).
    """
    try:
        found = cross_validate(problem, param, INNER_FOLDS, rand, observer, Seeding("none"))
    except StoppedEarly:
        return without_probability(model, observer)
    targets, weights = np.asarray(problem.targets), problem.sample_weight
    counts = np.ones(len(problem), dtype=bool) if weights is None else np.asarray(weights) > 0
    table = np.asarray(found.values).reshape(len(problem), -1)
    sigmoids = []
    for pair in combinations(model.class_labels or (), 2):
        place, sign = pair_place(pair, found.labels)
        values = sign * table[:, place]
        rows = counts & np.isin(targets, pair) & ~np.isnan(values)
        a, b, trouble = fit_sigmoid(values[rows], np.where(targets[rows] == pair[0], 1.0, -1.0))
        if trouble:
            observer.remark(Remark(trouble))
        sigmoids.append((a, b))
    a, b = (filled("d", (sigmoid[part] for sigmoid in sigmoids)) for part in (0, 1))
    return replace(model, param=replace(param, probability=True), sigmoid_a=a, sigmoid_b=b)

"""Training along the very path of scikit-learn's LIBSVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._core.buffers import filled
from libsvmx._train import limits
from libsvmx._train.checks import check_problem
from libsvmx._train.problem import Problem
from libsvmx._train.training import check_finite, train_classifier, train_problem, train_single
from libsvmx.enums import SvmType

if TYPE_CHECKING:
    from libsvmx._core.rand import Rand
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter

# whose sums of alpha are fixed by nu
NU_FORMULATIONS = (SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.NU_SVR)


def train(problem: Problem, param: Parameter, rand: Rand, observer: Observer) -> Model:
    """As ``train_problem``, but the nu formulations add up nu row by row even where all weights are 1.

    LIBSVM multiplies, and the last bits of nu l decide which of two rows is the next one. Raises as ``train_problem``.
    """
    if problem.sample_weight is not None or param.svm_type not in NU_FORMULATIONS:
        return train_problem(problem, param, rand, observer)
    observer = limits.limited(observer, param.time_limit)
    check_problem(problem, param)
    ones = filled("d", [1.0] * len(problem))
    weighted = Problem(problem.matrix, problem.targets, problem.rows, problem.features, ones)
    classify = param.svm_type.is_classification
    model = (train_classifier if classify else train_single)(weighted, param, rand, observer)
    check_finite(model)
    return model

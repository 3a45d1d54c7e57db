"""Training of an estimator: the steps of scikit-learn's LIBSVM, warm starts, refinement to the exact optimum."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._core.stopping import Token
from libsvmx._train import limits
from libsvmx._train.checks import check_finite, check_problem
from libsvmx._train.folds import Rand
from libsvmx._train.model import Model
from libsvmx._train.observer import Forwarding, Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.training import tell_offset, train_classifier, train_problem, train_single
from libsvmx._train.warm_start import WarmStart
from libsvmx._typing import IntArray
from libsvmx.api.kernels import KernelRows
from libsvmx.api.own_kernel import is_called
from libsvmx.enums import SolveStatus, SvmType
from libsvmx.exceptions import ParameterError, StoppedEarly

# nu fixes their sums of alpha
NU_FORMULATIONS = (SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.NU_SVR)


class TrainingData(NamedTuple):
    """Training data of an estimator.

    Attributes
    ----------
    problem : Problem                      rows of positive weight, in training order
    rows : array or sparse                 all validated rows, or kernel values
    chosen : ndarray of int32, or None     indices in ``rows`` of the problem's rows; None: all, in order
    training_rows : KernelRows or None     rows of a callable kernel
    shape : tuple of int                   shape of X
    """

    problem: Problem
    rows: Any
    chosen: IntArray | None
    training_rows: KernelRows | None
    shape: tuple[int, ...]


def train(problem: Problem, param: Parameter, rand: Rand, observer: Observer, warm: WarmStart | None = None) -> Model:
    """``train_problem``, but the nu formulations sum nu row by row, as scikit-learn does, even if all weights are 1.

    LIBSVM computes nu l instead; the last bits decide ties between rows. Raises as ``train_problem``.
    """
    if problem.sample_weight is not None or param.svm_type not in NU_FORMULATIONS:
        return train_problem(problem, param, rand, observer, warm)
    observer = limits.limited(observer, param.time_limit)
    check_problem(problem, param)
    tell_offset(problem, param, observer)
    ones = filled("d", [1.0] * len(problem))
    weighted = Problem(problem.matrix, problem.targets, problem.rows, problem.features, ones)
    classify = param.svm_type.is_classification
    model = (train_classifier if classify else train_single)(weighted, param, rand, observer, warm=warm)
    check_finite(model)
    return model


def train_without_steps(problem: Problem, param: Parameter, rand: Rand, observer: Observer) -> Model:
    """The model before the first step of LIBSVM: scikit-learn's ``max_iter=0``. Raises as ``train_problem``."""
    quick, call = Forwarding(observer), observer.limits
    quick.limits = Token(0.0, observer.should_stop, call.deadline if call else 0.0, steps=False)
    return train(problem, param, rand, quick)


def ended(model: Model, status: SolveStatus, instead: SolveStatus) -> Model:
    """The model, with ``status`` in reports whose status is ``instead``."""
    return replace(model, reports=tuple(replace(r, status=status) if r.status == instead else r for r in model.reports))


# ---- the optimum of the kernel in double ----------------------------------------------------------


def check_exact(param: Parameter, kernel: Any, what: str) -> None:
    """Raise ParameterError, which names ``what``, unless parameters and kernel allow an exact path."""
    check_not_called(kernel, what)
    param.solver.require("has_state")
    param.require_finite_cost(what)


def check_not_called(kernel: Any, what: str) -> None:
    """Raise ParameterError, which names ``what``, for a kernel of the caller's own."""
    if is_called(kernel):
        raise ParameterError(
            f"{what} needs a kernel that libsvmx computes, 'linear', 'poly', 'rbf' or 'sigmoid', or one that is "
            "'precomputed', not a callable one"
        )


def refined(model: Model, problem: Problem, observer: Observer) -> Model:
    """Move a model along the exact path to the optimum of the kernel in double.

    At the time limit the model is returned unchanged but for its status. Iterations are those of the training.
    """
    from libsvmx._train.updating.from_model import state_of_training  # lazy: loads NumPy and the path
    from libsvmx._train.updating.state import State

    near = (SolveStatus.CONVERGED, SolveStatus.ROUNDING)  # refinement removes the effects of rounding
    if any(status not in near for status in model.statuses):
        return model
    try:
        exact = state_of_training(problem, model, observer, State).model
    except StoppedEarly as stop:
        return ended(model, stop.status, SolveStatus.CONVERGED)
    return as_trained(exact, model)


def as_trained(exact: Model, model: Model) -> Model:
    """``exact`` with the iterations and probability estimates of ``model``."""
    pairs = zip(model.reports, exact.reports, strict=True)
    reports = tuple(replace(after, iterations=before.iterations) for before, after in pairs)
    return replace(exact, param=model.param, reports=reports, sigmoid_a=model.sigmoid_a, sigmoid_b=model.sigmoid_b)


# ---- warm starts ----------------------------------------------------------------------------------


def fingerprint(problem: Problem, param: Parameter) -> bytes:
    """Digest of formulation, rows and classes: equal if the dual problems have the same variables."""
    digest, matrix = blake2b(param.svm_type.name.encode(), digest_size=16), problem.matrix
    for part in (matrix.indptr, matrix.indices, matrix.values, problem.rows):
        digest.update(part)
    if param.svm_type.is_classification:
        digest.update(problem.targets)
    return digest.digest()

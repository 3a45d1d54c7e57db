"""A fit as a tree of tasks for scikit-learn's callbacks (``set_callbacks``, from version 1.9).

fit                 Trains.fit, by fitted_apart
  solve             observed: a task for each dual problem; told_of_each: one for each function
  search, refit     told_of_each: a task for each training, fold or gamma; refit_task
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import _fit_context

from libsvmx._core.copy_and_swap import built_apart
from libsvmx._train.observer import Observer
from libsvmx.sklearn.progress import Progress, Watching

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin: ...  # type: ignore[no-redef]

    def with_callbacks(method: Any) -> Any:
        return method


__all__ = ["CallbackSupportMixin", "Trains", "fitted_apart", "observed", "refit_task", "told_of_each"]


def fitted_apart(
    estimator: Any, fit: Callable[[Any], None], X: Any, y: Any, sample_weight: Any, n_subtasks: int = 1
) -> None:
    """``built_apart`` that notifies callbacks of its begin and, with the fitted estimator, of its end."""
    given = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}

    def build(made: Any) -> None:
        if "_skl_callbacks" not in vars(made):
            fit(made)
            return
        context = made._init_callback_context(max_subtasks=n_subtasks)
        context.call_on_fit_task_begin(estimator=made, **given)
        fit(made)
        context.call_on_fit_task_end(estimator=made, reconstruction_attributes={}, **given)

    built_apart(estimator, with_callbacks(build))


class Trains(CallbackSupportMixin):
    """Mixin of all that train one model, or several on the same rows."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Where the estimator has ``kernel``: with ``kernel="precomputed"`` the kernel matrix, shape (n_samples,
            n_samples); a callable kernel, which may be a ``libsvmx.Kernel``, is called with rows of X and with X, in
            predictions with test rows and support vectors.
        y : array of shape (n_samples,)
            Class labels of any type, or targets; of several labels or targets shape (n_samples, n_outputs), where the
            estimator takes several (``OneVsRestSVC``, ``MultiOutputSVR``).
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows: 2 counts a row twice; rows of weight 0 or less are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Invalid data or parameters.
        """
        return self._trained(X, y, sample_weight)

    def _trained(self, X: Any, y: Any, sample_weight: Any, **how: bool) -> Any:
        """``fit`` with validated parameters; ``how``: for ``_be_fitted``. An error leaves the estimator unchanged."""
        fitted_apart(self, lambda made: made._be_fitted(X, y, sample_weight, **how), X, y, sample_weight)
        return self

    def _be_fitted(self, *given: Any, **how: Any) -> None:
        """``fit`` on a copy that no other thread uses."""
        raise NotImplementedError


def _subtask(estimator: Any, name: str, total: int) -> Any:
    """A task of the current fit, with ``total`` subtasks; None without callbacks."""
    context = vars(estimator).get("_callback_fit_ctx")
    return None if context is None else context.subcontext(name, max_subtasks=total)


def told_of_each(estimator: Any, name: str, results: Iterable[Any], total: int) -> Iterator[Any]:
    """Pass ``results`` on, each as a subtask of the task ``name`` of the fit."""
    task = _subtask(estimator, name, total)
    if task is None:
        yield from results
        return
    task.call_on_fit_task_begin(estimator=estimator)
    coming = iter(results)
    for _ in range(total):
        one = task.subcontext("training").call_on_fit_task_begin(estimator=estimator)
        result = next(coming)
        one.call_on_fit_task_end(estimator=estimator)
        yield result
    task.call_on_fit_task_end(estimator=estimator)


@contextmanager
def observed(estimator: Any, observer: Observer, total: int) -> Iterator[Observer]:
    """Observer that reports each of ``total`` dual problems to callbacks, which can end the training."""
    task = _subtask(estimator, "solve", total)
    if task is None:
        yield observer
        return
    task.call_on_fit_task_begin(estimator=estimator)
    told = 0

    def begin() -> Any:
        return task.subcontext("dual problem").call_on_fit_task_begin(estimator=estimator)

    one = begin()

    def tell(progress: Progress) -> bool:
        nonlocal told, one
        ends = False
        while told < min(progress.done, total):
            ends |= one.call_on_fit_task_end(estimator=estimator)
            told += 1
            one = begin() if told < total else None
        return ends

    yield Watching(observer, tell, total)
    if one is not None:  # training ended early
        one.call_on_fit_task_end(estimator=estimator)
    task.call_on_fit_task_end(estimator=estimator)


@contextmanager
def refit_task(estimator: Any, best: Any) -> Iterator[None]:
    """Context in which ``best`` is fitted, as a task of the search."""
    task = _subtask(estimator, "refit", 0)
    if task is None:
        yield
        return
    with task.propagate_callback_context(best):
        task.call_on_fit_task_begin(estimator=estimator)  # callbacks that ``best`` notifies are not notified twice
        yield
    task.call_on_fit_task_end(estimator=estimator)

"""The trained model of an estimator, with what predicts by it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.arrays import ramp
from libsvmx._train import probability
from libsvmx._train.prediction import Predictor
from libsvmx.enums import KernelType
from libsvmx.sklearn.class_order import pairs_sorted

if TYPE_CHECKING:
    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._train.model import Model
    from libsvmx._typing import FloatArray


class FittedModel:
    """FittedModel(model, training_rows=None): pickles without its predictors.

    Attributes
    ----------
    model : Model             labels are codes 0, 1, … of the classes
    training_rows : object    what a callable kernel is given beside test rows
    """

    __slots__ = ("local", "model", "order", "training_rows")

    def __init__(self, model: Model, training_rows: Any = None) -> None:
        self.model: Model = model
        self.training_rows: Any = training_rows
        labels = model.class_labels or ()
        # pairs of the sorted classes, of a model read from a file, whose votes count in the order of the file
        self.order: tuple[Any, Any] | None = None if list(labels) == sorted(labels) else pairs_sorted(labels)
        self.local: threading.local = (
            threading.local()
        )  # a Predictor is of one thread, since its kernels hold the rows they are at

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.training_rows)

    def predictor(self, threads: int) -> Predictor:
        """The predictor of this thread, made at its first call."""
        found: Predictor | None = getattr(self.local, "predictor", None)
        if found is None:
            found = self.local.predictor = Predictor(self.model)
        found.threads = threads
        return found

    @property
    def takes_values(self) -> bool:
        """Whether rows hold kernel values."""
        return self.model.param.kernel_type == KernelType.PRECOMPUTED

    @property
    def is_linear(self) -> bool:
        return self.model.param.kernel_type == KernelType.LINEAR

    def values(self, tests: CsrMatrix, threads: int) -> FloatArray:
        """Decision values, shape (n, number of functions), of pairs of sorted classes."""
        values = self.predictor(threads).values(tests, ramp(tests.n_rows))
        table: FloatArray = np.asarray(values).reshape(tests.n_rows, -1)
        return table if self.order is None else table[:, self.order[0]] * self.order[1]

    def predictions(self, tests: CsrMatrix, threads: int) -> FloatArray:
        """Code of the class, target, or +1 / -1 of one-class, shape (n,)."""
        labels: FloatArray = np.asarray(self.predictor(threads).labels(tests, ramp(tests.n_rows)))
        return labels

    def probabilities(self, tests: CsrMatrix, threads: int) -> FloatArray:
        """Probabilities of the sorted classes, shape (n, number of classes)."""
        model, n = self.model, tests.n_rows
        values = self.predictor(threads).values(tests, ramp(n))
        estimates, _ = probability.class_probabilities(values, n, model.nr_class, model.sigmoid_a, model.sigmoid_b)
        table: FloatArray = np.asarray(estimates).reshape(n, model.nr_class)
        return table if self.order is None else table.take(np.argsort(model.class_labels or ()), axis=1)

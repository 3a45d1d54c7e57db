"""The trained model of an estimator; its predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from libsvmx._core.arrays import ramp
from libsvmx._core.records import fields
from libsvmx._train import probability
from libsvmx._train.model import BUFFERS, Model
from libsvmx._train.parameter import Parameter, changed, flat_fields
from libsvmx._train.prediction import Tests, predictor_of
from libsvmx._train.solve_report import SolveReport
from libsvmx._typing import Buffer, FloatArray
from libsvmx.api.arrays import csr_of_parts, parts_of_csr
from libsvmx.api.kernel_values import chosen_rows
from libsvmx.api.kernels import of_columns
from libsvmx.enums import SolveStatus
from libsvmx.sklearn.class_order import pairs_sorted


def parts_of_model(model: Model) -> dict[str, Any]:
    """A model as arrays, numbers and text, which skops loads without a list of trusted types."""
    parts = {known.name: getattr(model, known.name) for known in fields(Model)}
    arrays = {name: np.asarray(parts[name]) for name in BUFFERS if parts[name] is not None}
    reports = [{known.name: getattr(report, known.name) for known in fields(report)} for report in model.reports]
    param = flat_fields(model.param)
    return {
        **parts,
        **arrays,
        "vectors": parts_of_csr(model.vectors),
        "reports": reports,
        "param": param,
    }


def model_of_parts(parts: dict[str, Any]) -> Model:
    """Inverse of ``parts_of_model``; checks the parts."""
    reports = [SolveReport(**{**report, "status": SolveStatus(report["status"])}) for report in parts["reports"]]
    param = changed(Parameter(), parts["param"])
    buffers = {name: parts[name].data for name in BUFFERS if parts[name] is not None}
    return Model(**{**parts, **buffers, "vectors": csr_of_parts(parts["vectors"]), "reports": reports, "param": param})


class FittedModel:
    """FittedModel(model, training_rows=None, vectors=None)

    ``model`` may also be given as its ``parts_of_model``. With a callable kernel, ``training_rows`` or the support
    ``vectors``, as prepared by the kernel.

    Attributes
    ----------
    model : Model             labels are codes 0, 1, … of the classes
    vectors : object          support vectors for the calls of a callable kernel
    """

    __slots__ = ("_dense", "model", "order", "predicting", "vectors")

    def __init__(self, model: Any, training_rows: Any = None, vectors: Any = None) -> None:
        if isinstance(model, dict):
            model = model_of_parts(model)
        if training_rows is not None:  # pickles of earlier versions keep all rows
            vectors = chosen_rows(training_rows, np.asarray(model.vectors.values).astype(np.intp) - 1)
        self.model: Model = model
        self.predicting = model if vectors is None else of_columns(model)
        self.vectors: Any = vectors
        self._dense: Any = None
        labels = model.class_labels or ()
        # from sorted to stored pairs, for a model read from a file, whose votes count in the file's order
        self.order: tuple[Any, Any] | None = None if list(labels) == sorted(labels) else pairs_sorted(labels)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (parts_of_model(self.model), None, self.vectors)

    @property
    def dense_vectors(self) -> FloatArray:
        """Support vectors, shape (n_sv, n_features), read-only; made at the first use: a fit has no second copy."""
        if self._dense is None:
            model, own = self.model, self.model.vectors
            is_dense = own.regular and not model.param.gammas
            dense = np.asarray(own.values).reshape(own.shape) if is_dense else model.support_vectors.toarray()
            dense.flags.writeable = False
            self._dense = dense
        return self._dense

    def values(self, tests: Tests, threads: int) -> FloatArray:
        """Decision values, shape (n, n_functions), for pairs of sorted classes."""
        values = self._values(tests, threads)
        table: FloatArray = np.asarray(values).reshape(tests.n_rows, len(self.model.offsets))
        return table if self.order is None else table[:, self.order[0]] * self.order[1]

    def predictions(self, tests: Tests, threads: int) -> FloatArray:
        """Class code, target, or one-class's +1 / -1, shape (n,)."""
        with predictor_of(self.predicting, threads=threads) as predictor:
            labels: FloatArray = np.asarray(predictor.labels(tests, ramp(tests.n_rows)))
        return labels

    def probabilities(self, tests: Tests, threads: int) -> FloatArray:
        """Probabilities of the sorted classes, shape (n, n_classes)."""
        model, n = self.model, tests.n_rows
        values = self._values(tests, threads)
        estimates, _ = probability.class_probabilities(values, n, model.nr_class, model.sigmoid_a, model.sigmoid_b)
        table: FloatArray = np.asarray(estimates).reshape(n, model.nr_class)
        return table if self.order is None else table.take(np.argsort(model.class_labels or ()), axis=1)

    def _values(self, tests: Tests, threads: int) -> Buffer:
        """Decision values for the pairs in the order of the model, row by row."""
        with predictor_of(self.predicting, threads=threads) as predictor:
            return predictor.values(tests, ramp(tests.n_rows))

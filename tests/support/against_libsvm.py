"""The same training with LIBSVM and with libsvmx: equal transcript, model file and predictions."""

import pytest

import libsvmx
from libsvmx import Parameter
from libsvmx.io.transcript import TrainingReport

from . import data
from .oracle import Oracle

LETTERS = {
    "s": "svm_type",
    "t": "kernel_type",
    "d": "degree",
    "g": "gamma",
    "r": "coef0",
    "c": "C",
    "n": "nu",
    "p": "p",
    "e": "eps",
    "h": "shrinking",
    "b": "probability",
    "m": "cache_size",
}
WHOLE = ("svm_type", "kernel_type", "degree", "shrinking", "probability")


def parameter(options, **more):
    """A Parameter from an option string, parsed independently of the commands, and keywords."""
    words, values, weights = options.split(), {}, []
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option.startswith("-w"):
            weights.append((int(option[2:]), float(value)))
        else:
            name = LETTERS[option[1]]
            values[name] = int(value) if name in WHOLE else float(value)
    return Parameter(weights=tuple(weights), **values, **more)


def compare(arguments, options, folder):
    """``compare_on`` on a real set."""
    matrix, targets = data.load(*arguments)
    compare_on(data.precomputed(matrix) if "-t 4" in options else matrix, targets, options, folder)


def compare_on(matrix, targets, options, folder, **more):
    """Train both, ours with ``more``; assert equal transcript, model bytes, predictions."""
    oracle, param, parts = Oracle(matrix, targets, options), parameter(options, **more), []
    if oracle.complaint():
        with pytest.raises(ValueError, match="infeasible"):
            libsvmx.train(matrix, targets, param)
        return
    expected = oracle.train().model_bytes(folder)
    if b"nan" in expected or b"inf" in expected:  # nu-SVC with r = 0: LIBSVM writes a model of infinities and nans
        with pytest.raises(ValueError, match="degenerates"):
            libsvmx.train(matrix, targets, param)
        return
    model = libsvmx.train(matrix, targets, param, observer=TrainingReport(parts.append))
    assert "".join(parts) == oracle.transcript
    libsvmx.save_model(folder / "own.model", model)
    assert (folder / "own.model").read_bytes() == expected
    assert model.sv_indices.tolist() == oracle.model.get_sv_indices()
    labels, values = oracle.predict(matrix)
    assert libsvmx.predict(model, matrix).tolist() == labels
    assert libsvmx.decision_values(model, matrix).tolist() == values
    if param.probability and model.has_probability and not param.svm_type.is_regression:
        labels, estimates = oracle.predict_probability(matrix)
        found = libsvmx.predict_probability(model, matrix)
        assert found[0].tolist() == labels
        assert found[1].tolist() == estimates


def compare_folds(matrix, targets, options, n_folds, **more):
    """``compare_on`` for a cross-validation: transcript and predictions."""
    oracle, parts = Oracle(matrix, targets, options), []
    expected, report = oracle.cross_validate(n_folds), TrainingReport(parts.append)
    found = libsvmx.cross_validate(matrix, targets, n_folds, parameter(options, **more), observer=report)
    assert found.predictions.tolist() == expected
    assert "".join(parts) == oracle.transcript

"""Exported models without libsvmx: C with the available compiler, JSON with NumPy."""

import ctypes
import json
import os
import shutil
import subprocess

import numpy as np
import pytest

import libsvmx

from .judge import kernel_values

COMPILER = os.environ.get("CC", "").split() or ["cc"]
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")


class Program:
    """Program(path, model, dtype): the functions of an exported C file over arrays, in this process."""

    def __init__(self, path, model, dtype="float64", name="model", flags=("-O2", "-ffp-contract=off")):
        if not shutil.which(COMPILER[0]):
            pytest.skip("there is no C compiler")
        built = path.with_suffix(".so")
        made = [*COMPILER, *WARNINGS, *flags, "-shared", "-fPIC", "-o", str(built), str(path), "-lm"]
        done = subprocess.run(made, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        self.library, self.dtype, self.name, self.model = ctypes.CDLL(str(built)), np.dtype(dtype), name, model
        self.real = ctypes.c_double if dtype == "float64" else ctypes.c_float

    def call(self, function, x, *out):
        called = getattr(self.library, f"{self.name}_{function}")
        called.restype = self.real if self.model.param.svm_type.is_regression else ctypes.c_int
        return called(*(ctypes.c_void_p(array.ctypes.data) for array in (x, *out)))

    def rows(self, X):
        return np.ascontiguousarray(X, dtype=self.dtype)

    def decision_values(self, X):
        out = np.zeros((len(X), len(self.model.rho)), dtype=self.dtype)
        for x, values in zip(self.rows(X), out, strict=True):
            self.call("decision_values", x, values)
        return out

    def predict(self, X):
        return np.array([self.call("predict", x) for x in self.rows(X)], dtype=float)

    def predict_probability(self, X):
        out = np.zeros((len(X), self.model.nr_class), dtype=self.dtype)
        labels = [self.call("predict_probability", x, p) for x, p in zip(self.rows(X), out, strict=True)]
        return np.array(labels, dtype=float), out


def decision_values_of_json(path, X):
    """JSON, evaluated as in docs/compress.md."""
    model = json.loads(path.read_text())
    first, n = model["first_index"], len(model["support_vectors"])
    Z = np.zeros((n, model["n_features"]))
    for z, pairs in zip(Z, model["support_vectors"], strict=True):
        for index, value in pairs:
            z[index - first] = value
    kernel = dict(model["kernel"])
    K = kernel_values(libsvmx.Parameter(kernel_type=kernel.pop("type"), **kernel), X * model.get("factors", 1), Z)
    coef, sizes = np.array(model["coef"]).reshape(-1, n), model.get("vectors_of_class")
    if sizes is None:
        return K @ coef.T - model["rho"]
    of, values = np.repeat(np.arange(len(sizes)), sizes), []
    for i in range(len(sizes)):
        for j in range(i + 1, len(sizes)):
            values.append(K[:, of == i] @ coef[j - 1, of == i] + K[:, of == j] @ coef[i, of == j])
    return np.array(values).T - model["rho"]


def trained(path, options):
    """A model, and its rows as an array."""
    X, y = libsvmx.read_problem(str(path))
    return libsvmx.train(X, y, **options), X.toarray()

"""LIBSVM itself, through the shared library of libsvm-official; OMP_NUM_THREADS sets the threads.

Problems are built as svm-train builds them, one block of nodes for all rows, explicit zeros included.
"""

import ctypes
import hashlib
import os
import re
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tools.bench.measure import Unavailable
from tools.bench.peers import CONVERGED, Outcome, Solution

if find_spec("libsvm") is None:
    raise Unavailable("libsvm-official is not installed")

from libsvm import svm as binding
from libsvm.svm import libsvm, svm_node, svm_parameter, svm_problem, toPyModel


class Nodes:
    """Rows as arrays of svm_node; ``pointers`` are valid while this object lives."""

    def __init__(self, dataset):
        n = len(dataset.targets)
        starts = dataset.indptr[:-1] + np.arange(n)  # each row before adds one node, its end mark
        self.space = np.empty(len(dataset.values) + n, dtype=np.dtype(svm_node))
        self.space["index"] = -1
        place = np.arange(len(dataset.values)) + np.repeat(np.arange(n), np.diff(dataset.indptr))
        self.space["index"][place] = dataset.indices
        self.space["value"][place] = dataset.values
        self.pointers = (ctypes.POINTER(svm_node) * n)()
        addresses = np.frombuffer(self.pointers, dtype=np.uintp)
        addresses[:] = self.space.ctypes.data + starts * ctypes.sizeof(svm_node)


class Training:
    def __init__(self, dataset, options):
        if int(os.environ["OMP_NUM_THREADS"]) > 1 and not has_openmp():
            raise Unavailable("this libsvm-official is built without OpenMP")
        self.param = svm_parameter(options)
        if self.param.gamma == 0 and len(dataset.indices):
            self.param.gamma = 1.0 / dataset.indices.max()
        self.nodes = Nodes(dataset)
        self.problem = svm_problem.__new__(svm_problem)
        self.problem.l = len(dataset.targets)
        self.problem.y = (ctypes.c_double * self.problem.l)(*dataset.targets)
        self.problem.x = self.nodes.pointers
        self.printed = []
        # the binding keeps no reference to the function, so it lives here
        self.listener = binding.PRINT_STRING_FUN(lambda text: self.printed.append(text.decode()))
        libsvm.svm_set_print_string_function(self.listener)
        ctypes.CDLL(None).srand(1)  # rand() as in a fresh process

    def train(self):
        self.model = toPyModel(libsvm.svm_train(self.problem, self.param))

    def outcome(self):
        model, text = self.model, "".join(self.printed)
        k, n_sv = model.nr_class, model.l
        classify = self.param.svm_type <= 1
        return Outcome(
            Solution(
                np.ctypeslib.as_array(model.sv_indices, (n_sv,)) - 1,
                np.array([np.ctypeslib.as_array(model.sv_coef[i], (n_sv,)) for i in range(k - 1)]),
                np.array(model.label[:k]) if classify else None,
                np.array(model.nSV[:k]) if classify else None,
            ),
            self.iterations(),
            sum(float(found) for found in re.findall(r"obj = ([^,]+),", text)),
            model.rho[: k * (k - 1) // 2],
            hashlib.sha256(model_bytes(model)).hexdigest(),
            status="reached the iteration limit" if "reaching max number" in text else CONVERGED,
        )

    def predictor(self, dataset):
        """A function that predicts these rows with the model, once there is one."""
        nodes = Nodes(dataset)
        return lambda: np.array([libsvm.svm_predict(self.model, row) for row in nodes.pointers])

    def iterations(self):
        """Of every dual problem so far."""
        return sum(int(found) for found in re.findall(r"#iter = (\d+)", "".join(self.printed)))


def model_bytes(model):
    """The file that svm_save_model writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        if libsvm.svm_save_model(str(path).encode(), model) != 0:
            raise OSError("LIBSVM could not save its model")
        return path.read_bytes()


def has_openmp():
    """Whether the loaded library brought an OpenMP runtime."""
    maps = Path("/proc/self/maps")
    return not maps.exists() or re.search(r"lib(gomp|omp|iomp)", maps.read_text()) is not None

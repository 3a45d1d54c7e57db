"""Decision values and labels of every row, by library calls; rows and model are prepared before ``run``."""

from __future__ import annotations

import ctypes

import numpy as np

from tools.bench.datasets import csr_matrix


class Svmx:
    def __init__(self, dataset, model):
        from libsvmx._core.arrays import ramp
        from libsvmx.io.modelfile import load_model

        self.tests, self.model = csr_matrix(dataset), load_model(model)
        self.rows = ramp(self.tests.n_rows)

    def run(self):
        from libsvmx._train.prediction import predict

        self.labels, _ = predict(self.model, self.tests, self.rows)


class Libsvm:
    def __init__(self, dataset, model):
        from tools.bench.peers import libsvm as peer

        self.library, self.nodes = peer.libsvm, peer.Nodes(dataset)
        self.model = peer.toPyModel(self.library.svm_load_model(model.encode()))
        self.n = len(dataset.targets)
        k = self.model.get_nr_class()
        self.values = (ctypes.c_double * max(1, k * (k - 1) // 2))()

    def run(self):
        predict, model, values, rows = self.library.svm_predict_values, self.model, self.values, self.nodes.pointers
        self.labels = np.array([predict(model, rows[i], values) for i in range(self.n)])


PREDICTORS = {"libsvmx": Svmx, "LIBSVM": Libsvm}

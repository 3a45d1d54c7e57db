"""LIBSVM 3.37 through libsvm-official, used exactly like its own svm-train.

Problems are built node by node from the same sparse rows, explicit zeros included (LIBSVM's Python
interface drops them), and rand() is seeded with 1 before each call, as in a fresh process.
"""

import ctypes
from pathlib import Path

from libsvm import svm as libsvm_binding
from libsvm.svm import libsvm, svm_node, svm_parameter, svm_problem, toPyModel

_libc = ctypes.CDLL(None)


def reset_rand(seed=1):
    """Reset rand() to its state at the start of a process."""
    _libc.srand(seed)


class Oracle:
    """LIBSVM on one data set, with one option string; ``transcript``: its output."""

    def __init__(self, matrix, targets, options):
        self.param = svm_parameter(options)
        self.rows = [_nodes(matrix, i) for i in range(matrix.n_rows)]
        self.problem = svm_problem.__new__(svm_problem)
        self.problem.l = matrix.n_rows
        self.problem.y = (ctypes.c_double * matrix.n_rows)(*targets)
        self.problem.x = (ctypes.POINTER(svm_node) * matrix.n_rows)(*self.rows)
        if self.param.gamma == 0 and matrix.max_index > 0:
            self.param.gamma = 1.0 / matrix.max_index
        self.transcript = ""

    def _run(self, call):
        parts = []
        # the binding keeps no reference, so this local must outlive the call
        collect = libsvm_binding.PRINT_STRING_FUN(lambda text: parts.append(text.decode()))
        libsvm.svm_set_print_string_function(collect)
        reset_rand()
        try:
            return call()
        finally:
            libsvm.svm_set_print_string_function(libsvm_binding.ctypes_print_null)
            self.transcript = "".join(parts)

    def complaint(self):
        """The message of svm_check_parameter, or None."""
        return libsvm.svm_check_parameter(self.problem, self.param)

    def train(self):
        self.model = toPyModel(self._run(lambda: libsvm.svm_train(self.problem, self.param)))
        return self

    def model_bytes(self, folder):
        path = Path(folder) / "oracle.model"
        assert libsvm.svm_save_model(str(path).encode(), self.model) == 0
        return path.read_bytes()

    def cross_validate(self, n_folds):
        target = (ctypes.c_double * self.problem.l)()
        self._run(lambda: libsvm.svm_cross_validation(self.problem, self.param, n_folds, target))
        return list(target)

    def cross_validate_repeatedly(self, n_folds, repeats):
        """Predictions of several calls in one process, which share one random sequence."""
        target = (ctypes.c_double * self.problem.l)()

        def calls():
            for _ in range(repeats):
                libsvm.svm_cross_validation(self.problem, self.param, n_folds, target)
                yield list(target)

        return self._run(lambda: list(calls()))

    def predict(self, tests):
        """(labels, decision values) for every row of a matrix."""
        return predict(self.model, tests)

    def predict_probability(self, tests):
        return predict_probability(self.model, tests)


def load(path):
    """A model file read by LIBSVM."""
    return toPyModel(libsvm.svm_load_model(str(path).encode()))


def predict(model, tests):
    k = model.get_nr_class()
    n_functions = k * (k - 1) // 2
    labels, values = [], []
    for i in range(tests.n_rows):
        out = (ctypes.c_double * max(n_functions, 1))()
        labels.append(libsvm.svm_predict_values(model, _nodes(tests, i), out))
        values.append(list(out)[:n_functions])
    return labels, values


def predict_probability(model, tests):
    k = model.get_nr_class()
    labels, estimates = [], []
    for i in range(tests.n_rows):
        out = (ctypes.c_double * k)()
        labels.append(libsvm.svm_predict_probability(model, _nodes(tests, i), out))
        estimates.append(list(out))
    return labels, estimates


def _nodes(matrix, i):
    pairs = matrix.row(i)
    nodes = (svm_node * (len(pairs) + 1))()
    for k, (index, value) in enumerate(pairs):
        nodes[k].index, nodes[k].value = index, value
    nodes[len(pairs)].index = -1
    return nodes

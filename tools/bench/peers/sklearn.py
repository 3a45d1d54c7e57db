"""scikit-learn's SVC, NuSVC, OneClassSVM, SVR and NuSVR, on CSR or dense data."""

from importlib.util import find_spec

import numpy as np

from libsvmx import KernelType, SvmType
from tools.bench.datasets import parameter, scipy_matrix
from tools.bench.measure import Unavailable
from tools.bench.peers import Outcome, Solution

ESTIMATORS = {
    SvmType.C_SVC: "SVC",
    SvmType.NU_SVC: "NuSVC",
    SvmType.ONE_CLASS: "OneClassSVM",
    SvmType.EPSILON_SVR: "SVR",
    SvmType.NU_SVR: "NuSVR",
}
KERNELS = {KernelType.LINEAR: "linear", KernelType.POLY: "poly", KernelType.RBF: "rbf", KernelType.SIGMOID: "sigmoid"}
DENSE_LIMIT_BYTES = 4 << 30


def load_module():
    if find_spec("sklearn") is None:
        raise Unavailable("scikit-learn is not installed")
    from sklearn import svm

    return svm


class Training:
    module = staticmethod(load_module)

    def __init__(self, dataset, options, dense=False):
        sparse = scipy_matrix(dataset)
        self.targets = dataset.targets
        # LIBSVM's default gamma counts the largest index, which is the number of columns here
        param = parameter(options, sparse.shape[1])
        name = ESTIMATORS[param.svm_type]
        estimator = getattr(self.module(), name, None)
        if estimator is None:
            raise Unavailable(f"it has no {name}")
        if param.probability:
            raise Unavailable("its probability estimates are another computation than -b 1")
        if param.kernel_type not in KERNELS:
            raise Unavailable("precomputed kernels are not compared")
        if dense and np.prod(sparse.shape, dtype=float) * 8 > DENSE_LIMIT_BYTES:
            raise Unavailable(f"dense data would take more than {DENSE_LIMIT_BYTES >> 30} GB")
        self.X = sparse.toarray() if dense else sparse
        self.estimator = estimator(**arguments(param))

    def train(self):
        self.estimator.fit(self.X, self.targets)

    def outcome(self):
        e = self.estimator
        coef = e.dual_coef_.toarray() if hasattr(e.dual_coef_, "toarray") else np.asarray(e.dual_coef_)
        coef, rho = np.atleast_2d(coef), -np.atleast_1d(e.intercept_)
        labels = getattr(e, "classes_", None)
        if labels is not None and len(labels) == 2:  # its binary classifiers count for the second class
            coef, rho = -coef, -rho
        return Outcome(
            Solution(np.asarray(e.support_), coef, labels, None if labels is None else np.asarray(e.n_support_)),
            int(np.sum(e.n_iter_)),
            None,
            rho.tolist(),
            note=self.note(),
        )

    def note(self):
        return ""


def arguments(param):
    """Keywords of the estimator of this formulation."""
    given = {"kernel": KERNELS[param.kernel_type], "degree": param.degree, "gamma": param.gamma, "coef0": param.coef0}
    given |= {"tol": param.eps, "cache_size": param.cache_size, "shrinking": param.shrinking}
    if param.svm_type in (SvmType.C_SVC, SvmType.EPSILON_SVR, SvmType.NU_SVR):
        given["C"] = param.C
    if param.svm_type in (SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.NU_SVR):
        given["nu"] = param.nu
    if param.svm_type == SvmType.EPSILON_SVR:
        given["epsilon"] = param.p
    if param.svm_type == SvmType.C_SVC and param.weights:
        given["class_weight"] = dict(param.weights)
    return given

"""scikit-learn's SVC, NuSVC, OneClassSVM, SVR and NuSVR, or those of scikit-learn-intelex (oneDAL)."""

from importlib import import_module

import numpy as np

from tools.bench.datasets import parameter, scipy_matrix
from tools.bench.measure import Unavailable
from tools.bench.peers import FOUR_ROWS, FOUR_TARGETS, Outcome, Solution

PACKAGES = {"sklearn": "scikit-learn", "sklearnex": "scikit-learn-intelex"}
# by formulation: the estimator, and its keywords for the fields of a Parameter
ESTIMATORS = (
    ("SVC", {"C": "C"}),
    ("NuSVC", {"nu": "nu"}),
    ("OneClassSVM", {"nu": "nu"}),
    ("SVR", {"C": "C", "epsilon": "p"}),
    ("NuSVR", {"C": "C", "nu": "nu"}),
)
COMMON = {"degree": "degree", "gamma": "gamma", "coef0": "coef0"}
COMMON |= {"tol": "eps", "cache_size": "cache_size", "shrinking": "shrinking"}
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
DENSE_LIMIT_BYTES = 4 << 30


class Training:
    """Training(dataset, options, dense, library): on CSR or dense data, by a key of PACKAGES."""

    def __init__(self, dataset, options, dense=False, library="sklearn"):
        sparse, self.targets, self.library = scipy_matrix(dataset), dataset.targets, library
        # LIBSVM's default gamma uses the largest index, here the number of columns
        param = parameter(options, sparse.shape[1])
        name, fields = ESTIMATORS[param.svm_type]
        try:
            estimator = getattr(import_module(f"{library}.svm"), name, None)
        except ImportError:
            raise Unavailable(f"{PACKAGES[library]} is not installed") from None
        if estimator is None:
            raise Unavailable(f"it has no {name}")
        if param.probability:
            raise Unavailable("its probability estimates are another computation than -b 1")
        if dense and np.prod(sparse.shape, dtype=float) * 8 > DENSE_LIMIT_BYTES:
            raise Unavailable(f"dense data would take more than {DENSE_LIMIT_BYTES >> 30} GB")
        given = {keyword: getattr(param, field) for keyword, field in (COMMON | fields).items()}
        if name == "SVC" and param.weights:
            given["class_weight"] = dict(param.weights)
        few = np.array(FOUR_ROWS)
        estimator().fit(few if dense else type(sparse)(few), FOUR_TARGETS)
        self.X = sparse.toarray() if dense else sparse
        self.estimator = estimator(kernel=KERNELS[param.kernel_type], **given)

    def train(self):
        self.estimator.fit(self.X, self.targets)

    def outcome(self):
        e = self.estimator
        coef = e.dual_coef_.toarray() if hasattr(e.dual_coef_, "toarray") else np.asarray(e.dual_coef_)
        coef, rho = np.atleast_2d(coef), -np.atleast_1d(e.intercept_)
        labels = getattr(e, "classes_", None)
        if labels is not None and len(labels) == 2:  # binary classifiers are positive for the second class
            coef, rho = -coef, -rho
        counts = None if labels is None else np.asarray(e.n_support_)
        handed_on = self.library == "sklearnex" and not hasattr(e, "_onedal_estimator")
        return Outcome(
            Solution(np.asarray(e.support_), coef, labels, counts),
            int(np.sum(e.n_iter_)),
            rho=rho.tolist(),
            note="handed on to scikit-learn" if handed_on else "",
        )

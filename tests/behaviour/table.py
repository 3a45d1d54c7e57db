"""The supported formulations x kernels x solvers of each public function, and the refusals with their messages.

TASKS      a formulation over rows of a small part of a real data set: rows to train on, others to predict or add
    KERNELS    each with its parameters
    SOLVERS    each with settings that make it work at this size
    REFUSALS   of combinations; the first match counts; a combination without a match is supported

A suite asks for ``each("cross_validate")``, and its test runs on the supported combinations. test_refusals.py runs all
the others.

A new solver, kernel or formulation is one line here.
"""

from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support import examples, policies, selection
from support.judge import kernel_values

import libsvmx
from libsvmx import CRSVM, IRWLS, Chunked, DataError, KernelType, Parameter, ParameterError, SvmType

DATA = Path(__file__).parents[2] / "data"


# For tests in which folds or states lack a class that has a weight.
WEIGHTS_OF_CLASSES_GONE = pytest.mark.filterwarnings("ignore:a weight is given for class")


@dataclass(frozen=True)
class Task:
    """A formulation over a data set.

    Attributes
    ----------
    file : str
    step : int              uses every step-th row, in a fixed random order
    n_train, n_tests : int
    gamma : float           suits the features
    options : dict
    """

    svm_type: SvmType
    file: str
    step: int
    n_train: int
    n_tests: int
    gamma: float
    options: dict = field(default_factory=dict)

    @property
    def is_classification(self):
        return self.svm_type.is_classification

    @property
    def n_classes(self):
        return len(set(data_of(self.file, self.step)[1])) if self.is_classification else 0


# nu l / 2 is not an integer, and sums of class weights are not round: then some coefficient is free, and rho is
# unique.
TASKS = {
    "two classes": Task(SvmType.C_SVC, "heart_scale", 3, 60, 30, 0.1, {"C": 2.0}),
    "binary features": Task(SvmType.C_SVC, "a1a.xz", 17, 60, 30, 0.05, {"C": 0.7, "weights": {1: 1.7}}),
    "three classes": Task(SvmType.C_SVC, "iris.scale", 2, 50, 25, 0.5, {"C": 0.7, "weights": {1: 3.1, 3: 0.43}}),
    "nu-SVC": Task(SvmType.NU_SVC, "heart_scale", 3, 60, 30, 0.1, {"nu": 0.413}),
    "nu-SVC, three classes": Task(SvmType.NU_SVC, "iris.scale", 2, 50, 25, 0.5, {"nu": 0.213}),
    "one-class": Task(SvmType.ONE_CLASS, "heart_scale", 3, 60, 30, 0.1, {"nu": 0.313}),
    "epsilon-SVR": Task(SvmType.EPSILON_SVR, "abalone_scale.xz", 47, 60, 28, 0.3, {"C": 5.0, "p": 0.5}),
    "nu-SVR": Task(SvmType.NU_SVR, "abalone_scale.xz", 47, 60, 28, 0.3, {"C": 5.0, "nu": 0.413}),
    "quantile": Task(SvmType.QUANTILE_SVR, "abalone_scale.xz", 47, 60, 28, 0.3, {"C": 5.0, "tau": 0.713}),
}
IN_LIBSVM = [name for name, task in TASKS.items() if task.svm_type != SvmType.QUANTILE_SVR]
# gamma is the task's, times the factor if there is one
KERNELS = {
    "linear": (KernelType.LINEAR, {}, 0.0),
    "quadratic": (KernelType.POLY, {"degree": 2, "coef0": 1.0}, 1.0),
    "cubic": (KernelType.POLY, {"degree": 3, "coef0": 0.5}, 1.0),
    "rbf": (KernelType.RBF, {}, 1.0),
    "sigmoid": (KernelType.SIGMOID, {"coef0": -0.2}, 0.3),
    "precomputed": (KernelType.PRECOMPUTED, {}, 0.0),  # of an RBF kernel with the task's gamma
    # of the kernels that LIBSVM lacks, one for each way to compute values; tests/test_named_kernels.py has the others
    "laplacian": (KernelType.LAPLACIAN, {}, 1.0),
    "tanimoto": (KernelType.TANIMOTO, {}, 0.0),
    "chi2": (KernelType.CHI2, {}, 1.0),
    "matern32": (KernelType.MATERN32, {}, 1.0),
}
LIBSVMS = [name for name, (kind, *_) in KERNELS.items() if kind.is_libsvms]
NOT_LIBSVMS = [name for name in KERNELS if name not in LIBSVMS]
SOLVERS = {
    "smo": {},
    "auto": {"solver": "auto"},
    "chunked": {"solver": Chunked(working_set=16)},  # several working sets
    "irwls": {"solver": IRWLS(working_set=16)},
    "crsvm": {"solver": CRSVM()},
    "crsvm, low rank": {"solver": CRSVM(rank=25)},
}
# Options of every call that force one way to the result; a test runs with each, as ``mechanism``.
MECHANISMS = {
    "usual": {},
    "in turn": {"policy": policies.IN_TURN},
    "by classes": {"policy": policies.BY_CLASSES},
    "rows shared": {"policy": policies.ALWAYS_SHARED},
    "never shared": {"policy": policies.NEVER_SHARED},
    "by threads": {"policy": policies.KernelPolicy(work_for_threads=0, prediction_work_for_threads=0)},
    "little memory": {"cache_size": 0.01},
}
LIBSVM_LETTERS = {
    "svm_type": "s", "kernel_type": "t", "degree": "d", "gamma": "g", "coef0": "r", "C": "c", "nu": "n", "p": "p",
    "eps": "e", "shrinking": "h", "probability": "b", "cache_size": "m",
}  # fmt: skip


@cache
def data_of(file, step):
    """(X, y) of every step-th row, in a fixed random order; both are read-only."""
    X, y = libsvmx.read_problem(DATA / file)
    X, y = np.asarray(X.toarray())[::step], np.asarray(y)[::step]
    order = np.random.default_rng(7).permutation(len(y))
    X, y = X[order], y[order]
    X.flags.writeable = y.flags.writeable = False
    return X, y


def option_value(value):
    """In the form of an option."""
    if isinstance(value, KernelType):
        return value.option
    return int(value) if isinstance(value, bool | SvmType) else repr(value)


class Case:
    """One combination. Rows are numbers: 0, 1, … are training rows, ``new`` are rows to predict or add."""

    def __init__(self, solver, task, kernel, **options):
        self.names, self.task, self.kernel = (solver, task, kernel), TASKS[task], kernel
        kind, of_kernel, factor = KERNELS[kernel]
        self.features, self.targets = data_of(self.task.file, self.task.step)
        if kind.nonnegative:
            self.features = self.features - self.features.min(axis=0)
            self.features.flags.writeable = False
        n, m = self.task.n_train, self.task.n_tests
        self.rows, self.new = np.arange(n), np.arange(n, n + m)
        self.options = {"svm_type": self.task.svm_type, "kernel_type": kind, **of_kernel, **self.task.options}
        if factor:
            self.options["gamma"] = factor * self.task.gamma
        self.options.update(SOLVERS[solver])
        self.options.update(options)
        as_rbf = {"kernel_type": KernelType.RBF, "gamma": self.task.gamma} if self.is_precomputed else {}
        of_kernel = {k: v for k, v in self.options.items() if k in ("kernel_type", "degree", "gamma", "coef0")}
        self.known = kernel_values(Parameter(**{**of_kernel, **as_rbf}), self.features, self.features)

    @property
    def is_precomputed(self):
        return self.options["kernel_type"] == KernelType.PRECOMPUTED

    @property
    def svm_type(self):
        return self.task.svm_type

    @property
    def is_low_rank(self):
        return self.names[0] == "crsvm, low rank"

    @property
    def follows_libsvm(self):
        return self.names[0] == "smo"

    # ---- rows as arguments of the functions ------------------------------------------------------------

    def X(self, rows=None, trained=None):
        """Rows; for a precomputed kernel, their values with the rows ``trained``, by default themselves."""
        rows = self.rows if rows is None else np.asarray(rows, dtype=int)
        if self.is_precomputed:
            return self.known[np.ix_(rows, rows if trained is None else np.asarray(trained, dtype=int))]
        return self.features[rows]

    def tests(self, rows=None, trained=None):
        """Rows to predict with a model of the rows ``trained``, by default all training rows."""
        return self.X(self.new if rows is None else rows, self.rows if trained is None else trained)

    def y(self, rows=None):
        return self.targets[self.rows if rows is None else np.asarray(rows, dtype=int)]

    def K(self, rows=None, others=None):
        """Kernel values in double, computed by NumPy."""
        rows = self.rows if rows is None else rows
        return self.known[np.ix_(rows, rows if others is None else others)]

    def factor(self, rows=None):
        """The low-rank factor used by the solver, from the public function."""
        of_kernel = ("kernel_type", "degree", "gamma", "coef0", "policy")
        given = {name: value for name, value in self.options.items() if name in of_kernel}
        return libsvmx.low_rank(self.X(rows), rank=SOLVERS["crsvm, low rank"]["solver"].rank, **given).factor

    def K_solved(self, rows=None):
        """Kernel values of the solver's problem: those of the low-rank factor, if it uses one."""
        if not self.is_low_rank:
            return self.K(rows)
        F = self.factor(rows)
        return F @ F.T

    # ---- the same for LIBSVM ---------------------------------------------------------------------------

    def matrix(self, rows=None, trained=None):
        """Sparse rows with LIBSVM's indices; precomputed: 0:serial 1:K(row,1) …"""
        X = self.X(rows, trained)
        if self.is_precomputed:
            X = np.column_stack([np.arange(1.0, len(X) + 1), X])
        at, column = np.nonzero(X)
        indptr = np.searchsorted(at, np.arange(len(X) + 1)).astype(np.int64)
        indices = (column + (not self.is_precomputed)).astype(np.int32)
        return libsvmx.CsrMatrix(indptr, indices, X[at, column])

    def libsvm_options(self, **more):
        """Options of svm-train as a string; of svmx-train for what LIBSVM lacks."""
        options, words = {**self.options, **more}, []
        for label, weight in options.pop("weights", {}).items():
            words.append(f"-w{label} {weight!r}")
        if "tau" in options:
            words.append(f"--tau {options['tau']!r}")
        words += [
            f"-{LIBSVM_LETTERS[name]} {option_value(value)}"
            for name, value in options.items()
            if name in LIBSVM_LETTERS
        ]
        return " ".join(words)

    def rate(self, found):
        """The number of a validation that a search compares."""
        if self.svm_type == SvmType.QUANTILE_SVR:
            return found.pinball_loss
        return found.mean_squared_error if self.svm_type.is_regression else found.accuracy

    # ---- the usual calls -------------------------------------------------------------------------------

    def train(self, rows=None, **options):
        """``libsvmx.train`` on rows, with the options of the case and others."""
        return libsvmx.train(self.X(rows), self.y(rows), **{**self.options, **options})

    def state(self, rows=None, **options):
        return self.train(rows, keep_state=True, **options)


# ---- refusals ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Refusal:
    """Calls of ``functions`` (all, if empty) that are refused if all of ``when`` hold."""

    functions: tuple
    when: dict
    match: str
    error: type = ParameterError

    def fits(self, function, solver, task, kernel):
        names = {"solver": solver, "task": task, "kernel": kernel, "svm_type": TASKS[task].svm_type}
        return (not self.functions or function in self.functions) and all(
            names[axis] in among for axis, among in self.when.items()
        )


C_SVC, NU_SVC, ONE_CLASS, EPSILON_SVR, NU_SVR, QUANTILE_SVR = SvmType
NU = (NU_SVC, ONE_CLASS, NU_SVR)
INTERIOR = ("crsvm", "crsvm, low rank")
OF_STATES = (
    "state",
    "c_path",
    "tau_path",
    "influence",
    "jackknife_plus",
    "full_conformal",
    "conformal_p_values",
    "set_cost",
    "set_nu",
)
IN_STATES = ("usual", "little memory")  # of MECHANISMS; with little memory, paths add one row at a time
OF_CONFORMAL_STATES = ("jackknife_plus", "full_conformal", "conformal_p_values")
NO_PRODUCT = [
    name for name in KERNELS if name not in ("linear", "rbf", "laplacian")
]  # for kernels that are functions of one feature each
NEEDS_FEATURES = "solver crsvm needs explicit features"
CANNOT_START = "solver crsvm cannot start from what is known"

REFUSALS = (
    Refusal((), {"solver": INTERIOR, "svm_type": NU}, "solver crsvm solves C_SVC, EPSILON_SVR and QUANTILE_SVR, not"),
    Refusal(
        (),
        {"solver": ("crsvm, low rank",), "svm_type": (EPSILON_SVR, QUANTILE_SVR)},
        "a regression on a low-rank factor predicts",
    ),
    Refusal(("leave_one_out", "start", "seeded"), {"solver": INTERIOR}, CANNOT_START),
    Refusal(
        ("tau_path",),
        {"svm_type": (C_SVC, NU_SVC, ONE_CLASS, EPSILON_SVR, NU_SVR)},
        "a path along tau is one of quantile regression, not of",
    ),
    Refusal(OF_STATES, {"solver": INTERIOR}, "choose another solver than crsvm"),
    Refusal(
        (), {"solver": ("crsvm",), "kernel": ("cubic", "rbf", "sigmoid", "precomputed", *NOT_LIBSVMS)}, NEEDS_FEATURES
    ),
    Refusal((), {"solver": INTERIOR, "kernel": ("sigmoid",)}, "not positive semidefinite", DataError),
    Refusal(("c_path",), {"svm_type": NU}, "one of C-SVC, epsilon-SVR or quantile"),
    Refusal(("set_cost",), {"svm_type": (NU_SVC, ONE_CLASS)}, "has no C"),
    Refusal(("set_nu",), {"svm_type": (C_SVC, EPSILON_SVR, QUANTILE_SVR)}, "has no nu"),
    Refusal(("influence",), {"svm_type": (NU_SVC, NU_SVR)}, "influence is not available for"),
    Refusal((*OF_CONFORMAL_STATES, "cv_plus"), {"svm_type": (ONE_CLASS,)}, "one-class predicts neither"),
    Refusal(OF_CONFORMAL_STATES, {"svm_type": (NU_SVC, NU_SVR)}, "in nu-SVC and nu-SVR the sums of coefficients"),
    Refusal(
        ("full_conformal", "conformal_p_values"),
        {"kernel": ("precomputed",)},
        "which a state with a precomputed kernel, or with a kernel of your own, does not have",
    ),
    Refusal(("fit_many",), {"svm_type": (ONE_CLASS,)}, "one-class ignores labels"),
    Refusal(("permutation_test",), {"svm_type": (ONE_CLASS,)}, "one-class ignores labels"),
    Refusal(
        ("compress",),
        {"kernel": ("sigmoid", "precomputed", "laplacian", "chi2")},
        "compress takes models with kernel LINEAR, RBF",
    ),
    Refusal(("explain",), {"kernel": NO_PRODUCT}, "explain takes models with kernel RBF, LAPLACIAN or LINEAR, not"),
    Refusal(("export",), {"kernel": ("precomputed",)}, "precomputed"),
    Refusal(("calibrated",), {"svm_type": (ONE_CLASS, EPSILON_SVR, NU_SVR, QUANTILE_SVR)}, "fits sigmoids of classes"),
    Refusal(
        ("predict_probability",), {"svm_type": (EPSILON_SVR, NU_SVR, QUANTILE_SVR)}, "no class probabilities", DataError
    ),
)


def refusal(function, solver, task, kernel):
    """The Refusal of a call, or None if it can be done."""
    return next((one for one in REFUSALS if one.fits(function, solver, task, kernel)), None)


@cache
def possible(function, refused=False):
    """(solver, task, kernel) of all supported or all refused combinations."""
    return [names for names in product(SOLVERS, TASKS, KERNELS) if (refusal(function, *names) is not None) == refused]


def combinations_of(function, refused=False, **among):
    """(solver, task, kernel) of all supported or all refused combinations; ``among`` limits the values of an axis."""
    axes = [among.get(axis) for axis in ("solver", "task", "kernel")]
    return [
        names
        for names in possible(function, refused)
        if all(wanted is None or name in wanted for name, wanted in zip(names, axes, strict=True))
    ]


def name_of(value):
    """The name of an axis value, for the name of a test."""
    if isinstance(value, tuple):
        return " ".join(value)
    if isinstance(value, dict):
        return " ".join(f"{key}={of}" for key, of in value.items()) or "as usual"
    return str(value)


def chosen(found, strength=2, others=None):
    """pytest parameters of combinations.

    Always those that cover each pair of values, with ``strength`` 1 each value. With --exhaustive also ``others``,
    by default all; with strength 1, those that cover each pair.
    """
    values = [tuple(map(id, one)) for one in found]
    always = selection.cover(values, strength)
    if not examples.exhaustive:
        every = always
    elif strength > 1:
        every = always.union(range(len(found)) if others is None else others)
    else:
        every = always | selection.cover(values, strength + 1)
    marks = {True: (), False: pytest.mark.exhaustive}
    return [
        pytest.param(*found[k], id=", ".join(map(name_of, found[k])), marks=marks[k in always]) for k in sorted(every)
    ]


def each(function, strength=2, **axes):
    """Parameters ``solver``, ``task`` and ``kernel``: the function's combinations, with values of other ``axes``.

    All parameters of a test go here; ``mechanism`` varies, too. ``chosen`` explains the choice of combinations.
    """

    def decorated(test):
        own = {name: values for name, values in axes.items() if name not in ("solver", "task", "kernel")}
        among = {name: values for name, values in axes.items() if name not in own}
        found = [(*names, *more) for names in combinations_of(function, **among) for more in product(*own.values())]
        names, others = ["solver", "task", "kernel", *own], None
        if "mechanism" in signature(test).parameters:
            names.append("mechanism")
            ways = IN_STATES if function in OF_STATES else list(MECHANISMS)
            others = [k * len(ways) + k % len(ways) for k in range(len(found))]  # each combination one way, in rotation
            found = [(*one, way) for one in found for way in ways]
        through = [name for name in names if name == "mechanism"]  # the fixture
        return pytest.mark.parametrize(names, chosen(found, strength, others), indirect=through)(test)

    return decorated

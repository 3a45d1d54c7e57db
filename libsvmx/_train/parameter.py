"""Training parameters, LIBSVM's names and defaults, checked once."""

from __future__ import annotations

from _operator import index
from math import isinf

from libsvmx._core.records import field, fields, record, replace
from libsvmx._solvers.smo.solver import SMO
from libsvmx._solvers.solver import NO_BOUND, Solver, converted
from libsvmx._train.gamma import shown_gammas
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.policy import DEFAULT, KernelPolicy, usual
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    Kind = TypeVar("Kind", SvmType, KernelType)

MEDIAN = 0.5  # default of tau


@record(frozen=True, slots=True)
class Parameter:
    """Parameters of a training, those of ``svmx-train``.

    Attributes
    ----------
    svm_type : SvmType
        Formulation (``-s``), or its number or name: 'epsilon_svr'.
    kernel_type : KernelType
        Kernel (``-t``), or its number or name: 'linear'. Case is ignored.
    degree : int
        Polynomial degree (``-d``).
    gamma : float
        Kernel coefficient (``-g``); 0 stands for 1 / (largest feature index), so trailing columns of zeros do not
        count; in Python "auto" is 1 / columns. An array, one for each feature, becomes ``gammas``, with gamma 1.
    coef0 : float
        Constant of the polynomial and the sigmoid kernel (``-r``).
    cache_size : float
        Memory for kernel rows, in MB of 2^20 bytes (``-m``); those of a kernel function may take more.
    eps : float
        Tolerance of the stopping criterion (``-e``).
    C : float
        Cost of C-SVC and all regressions (``-c``); inf is a hard margin (C-SVC and epsilon-SVR with solver 'smo').
    weights : tuple of (label, factor), or mapping
        C of a class is factor * C, in C-SVC (``-wi``).
    nu : float
        nu of nu-SVC, one-class and nu-SVR, 0 < nu <= 1 (``-n``).
    p : float
        Epsilon of the epsilon-SVR loss (``-p``).
    shrinking : bool
        Use the shrinking heuristic (``-h``).
    probability : bool
        Fit probability estimates (``-b``).
    max_iter : int
        Iteration limit of each solve, 0 for LIBSVM's.
    time_limit : float
        Seconds for the whole call; 0 for no limit.
    threads : int
        Number of threads; 0 for OMP_NUM_THREADS, else all processors. Results do not depend on it.
    solver : Solver
        An SMO, Auto, Chunked, IRWLS or CRSVM, or the name of one with default settings: 'smo', LIBSVM's path, bit for
        bit; 'chunked' or 'irwls', the same optimum to eps by working sets; 'crsvm', C-SVC and epsilon-SVR on explicit
        features; 'auto', which starts with smo and switches if that is slow.
    tau : float
        Quantile of quantile regression, 0 < tau < 1 (``--tau``).
    gammas : tuple of float
        Factors of gamma, one for each feature, >= 0; a feature with 0 does not count. () where there is one gamma,
        or none in the kernel.

    Raises
    ------
    ParameterError
        Invalid value, at construction.
    """

    svm_type: SvmType = SvmType.C_SVC
    kernel_type: KernelType = KernelType.RBF
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0
    cache_size: float = 100.0
    eps: float = 0.001
    C: float = 1.0
    weights: tuple[tuple[int, float], ...] = ()
    nu: float = 0.5
    p: float = 0.1
    shrinking: bool = True
    probability: bool = False
    max_iter: int = 0
    time_limit: float = 0.0
    threads: int = field(default=0, compare=False)
    solver: Solver = field(default_factory=SMO)
    tau: float = MEDIAN  # last, for pickles from before it existed
    # for tests, which force a mechanism by it: neither an option nor in files
    policy: KernelPolicy = field(default_factory=usual, compare=False)
    gammas: tuple[float, ...] = ()

    @property
    def _told(self) -> dict[str, Any]:
        """Fields for repr and pickles: the policy only if it is not the default."""
        names = self.told_fields if self.policy == DEFAULT else (*self.told_fields, "policy")
        return {name: getattr(self, name) for name in names}

    @property
    def told_fields(self) -> tuple[str, ...]:
        """Names of the fields in options, files and reports."""
        tau = ("tau",) if self.svm_type == SvmType.QUANTILE_SVR else ()
        return (*FIELDS, *tau, *(("gammas",) if self.gammas else ()))

    def __repr__(self) -> str:
        told = {name: repr(value) for name, value in self._told.items()}
        if len(self.gammas) > MOST_SHOWN:
            told["gammas"] = shown_gammas(self.gammas)
        return f"Parameter({', '.join(f'{name}={value}' for name, value in told.items())})"

    def __getstate__(self) -> list[Any]:
        return list(self._told.values())

    def __setstate__(self, state: list[Any]) -> None:
        others = {type(value): value for value in state[len(FIELDS) :]}
        tau, policy, gammas = others.get(float, MEDIAN), others.get(KernelPolicy, DEFAULT), others.get(tuple, ())
        for known, value in zip(fields(self), [*state[: len(FIELDS)], tau, policy, gammas], strict=True):
            object.__setattr__(self, known.name, value)

    def __post_init__(self) -> None:
        put = object.__setattr__
        if type(self.svm_type) is not SvmType:
            put(self, "svm_type", _member("svm_type", self.svm_type, SvmType))
        if type(self.kernel_type) is not KernelType:
            put(self, "kernel_type", _member("kernel_type", self.kernel_type, KernelType))
        if is_several(self.gamma):
            put(self, "gammas", self.gamma)
            put(self, "gamma", 1.0)
        if type(self.gammas) is not tuple or self.gammas:
            put(self, "gammas", _gammas(self.gammas) if "gamma" in self.kernel_type.uses else ())
        for name, type_ in CONVERTED.items():
            given: Any = getattr(self, name)
            if type(given) is not type_ or not abs(given) < PLAIN:
                put(self, name, converted(name, given, type_, infinite=name == "C"))
        object.__setattr__(self, "weights", _pairs(self.weights))
        if not isinstance(self.solver, Solver):
            object.__setattr__(self, "solver", _solver(self.solver))
        if not isinstance(self.policy, KernelPolicy):
            raise ParameterError(f"policy must be a KernelPolicy, not {self.policy!r}")
        self._check_values()
        self._check_solver()

    def _check_solver(self) -> None:
        solver = self.solver
        if self.svm_type not in solver.formulations:
            *others, last = [kind.name for kind in sorted(solver.formulations)]
            solved = f"{', '.join(others)} and {last}"
            raise ParameterError(f"solver {solver.name} solves {solved}, not {self.svm_type.name}")
        if self.has_infinite_cost:
            solver.require("takes_infinite_cost")

    @property
    def quantile(self) -> float | None:
        """``tau``; None unless quantile regression."""
        return self.tau if self.svm_type == SvmType.QUANTILE_SVR else None

    @property
    def has_infinite_cost(self) -> bool:
        """Whether C, or that of a weighted class, is infinite."""
        return any(map(isinf, self.costs))

    @property
    def is_hard_margin(self) -> bool:
        """Whether C, or that of a class, is infinite or nearly so: the dual may be unbounded."""
        return max(self.costs, default=0.0) >= NO_BOUND

    @property
    def costs(self) -> tuple[float, ...]:
        """C, and that of each weighted class; () for a formulation without C."""
        if self.weights and self.svm_type == SvmType.C_SVC:
            return (self.C, *(self.C * weight for _, weight in self.weights))
        return (self.C,) if self.svm_type.has_cost else ()

    @property
    def cache_bytes(self) -> float:
        """``cache_size`` in bytes."""
        return self.cache_size * 2**20

    @property
    def kernel_function(self) -> tuple[KernelType, int, float, float]:
        """Type, degree, gamma and coef0, the arguments that a Kernel and a CrossKernel take in this order."""
        return self.kernel_type, self.degree, self.gamma, self.coef0

    def require_one_gamma(self, what: str) -> None:
        """Raise ParameterError, which names ``what``, if each feature has its own gamma."""
        if self.gammas:
            raise ParameterError(f"gamma must be one number for {what}, which has no place for one of each feature")

    def require_finite_cost(self, what: str) -> None:
        """Raise ParameterError, which names ``what``, if C is infinite."""
        if self.has_infinite_cost:
            raise ParameterError(f"C must be finite for {what}: a hard margin has no warm start")

    @property
    def lacks_features(self) -> bool:
        """Whether the solver needs explicit features that the kernel does not have."""
        if not self.solver.needs_features or self.solver.makes_features or self.kernel_type == KernelType.LINEAR:
            return False
        return not (self.kernel_type == KernelType.POLY and self.degree == 2 and self.coef0 >= 0)

    def _check_values(self) -> None:
        s, t = self.svm_type, self.kernel_type
        if "gamma" in t.uses and self.gamma < 0:
            raise ParameterError(f"gamma must be >= 0, not {self.gamma}")
        if "degree" in t.uses and not 0 <= self.degree <= MAX_DEGREE:
            raise ParameterError(f"degree must be between 0 and {MAX_DEGREE}, not {self.degree}")
        if self.cache_size <= 0:
            raise ParameterError(f"cache_size must be > 0 MB, not {self.cache_size}")
        if self.eps <= 0:
            raise ParameterError(f"eps must be > 0, not {self.eps}")
        if s.has_cost and self.C <= 0:
            raise ParameterError(f"C must be > 0, not {self.C}")
        if s == SvmType.NU_SVR and isinf(self.C):
            raise ParameterError("C must be finite for nu-SVR, whose sums grow with it")
        if s == SvmType.QUANTILE_SVR and isinf(self.C):
            raise ParameterError(
                "C must be finite for quantile regression, which has no tube that all targets could fit to"
            )
        if s.has_nu and not 0 < self.nu <= 1:
            raise ParameterError(f"nu must be > 0 and <= 1, not {self.nu}")
        if not -(2**31) <= self.degree < 2**31:
            raise ParameterError(f"degree {self.degree} does not fit 32 bits")
        if s == SvmType.QUANTILE_SVR and not 0 < self.tau < 1:
            raise ParameterError(f"tau must be > 0 and < 1, not {self.tau}")
        if s == SvmType.EPSILON_SVR and self.p < 0:
            raise ParameterError(f"p must be >= 0, not {self.p}")
        for label, weight in self.weights:
            if not weight >= 0:
                raise ParameterError(f"the weight of class {label} must be >= 0, not {weight}", (label,))
        if not 0 <= self.max_iter < 2**63:
            raise ParameterError(f"max_iter must be between 0 and 2^63 - 1, not {self.max_iter}")
        check_threads(self.threads)
        if self.time_limit < 0:
            raise ParameterError(f"time_limit must be >= 0, not {self.time_limit}")


# Fields of all formulations.
FIELDS = tuple(known.name for known in fields(Parameter) if known.name not in ("tau", "policy", "gammas"))
MOST_SHOWN = 20  # gammas in repr
PLAIN = 2.0**63  # numbers of the right type below it skip conversion and checks
# Larger powers overflow or vanish unless |x| = 1; also an int32, as the squaring loop needs.
MAX_DEGREE = 1_000_000
MAX_THREADS = 1024


def check_threads(threads: int) -> None:
    """Raise ParameterError for an invalid number of threads; 0 is valid."""
    if not 0 <= threads <= MAX_THREADS:
        raise ParameterError(f"threads must be between 0 and {MAX_THREADS}, not {threads}")


CONVERTED: dict[str, Any] = {
    **dict.fromkeys(("gamma", "coef0", "cache_size", "eps", "C", "nu", "p", "tau", "time_limit"), float),
    **dict.fromkeys(("degree", "max_iter", "threads"), int),
    **dict.fromkeys(("shrinking", "probability"), bool),
}


def _solver(name: Any) -> Solver:
    """A solver by name, with default settings. Raises ParameterError."""
    from libsvmx._solvers.registry import solver_class  # lazy: the default, SMO, does not need it

    return solver_class(name)()


def _member(name: str, given: Any, kind: type[Kind]) -> Kind:
    """A formulation or kernel by number, name, or name in model files. Raises ParameterError."""
    if type(given) is kind:
        return given
    try:
        if isinstance(given, str):
            return by_name(kind)[given.lower().replace("-", "_")]
        return kind(given)
    except (KeyError, ValueError):
        from libsvmx._core.suggestions import unknown

        shown = [f"{k.value} {k.name}" for k in kind]
        raise ParameterError(unknown(name, given, [k.name.lower() for k in kind], shown)) from None


def by_name(kind: type[Kind]) -> dict[str, Kind]:
    """Formulations or kernels by name, in lower case, and by that in model files."""
    return {key.lower(): known for known in kind for key in (known.name, getattr(known, "keyword", known.name))}


def kernel_named(text: str) -> KernelType | None:
    """Kernel by name, or name in model files; None if unknown."""
    return by_name(KernelType).get(text.lower().replace("-", "_"))


def is_several(gamma: Any) -> bool:
    """Whether gamma is an array or a sequence."""
    return hasattr(gamma, "__len__") and not isinstance(gamma, str | bytes) and getattr(gamma, "shape", None) != ()


def _gammas(given: Any) -> tuple[float, ...]:
    """Checked gamma of each feature. Raises ParameterError."""
    from numpy import asarray

    gammas: tuple[float, ...] = ()
    try:
        array = asarray(given)
        values = array.tolist()
        if array.ndim == 1 and array.dtype.kind in "biufO" and not any(isinstance(value, str) for value in values):
            gammas = tuple(map(float, values))
    except (TypeError, ValueError, OverflowError):
        pass
    if not gammas or not all(0 <= gamma < float("inf") for gamma in gammas):
        raise ParameterError("gamma must be a number, or one for each feature, finite and >= 0")
    return gammas


def _pairs(weights: Any) -> tuple[tuple[int, float], ...]:
    """Class weights as pairs, from pairs or a mapping. Raises ParameterError."""
    try:
        items = weights.items() if hasattr(weights, "items") else weights
        if isinstance(items, str):
            raise TypeError
        pairs = tuple(items)
        if any(isinstance(weight, str | bytes | complex) for _, weight in pairs):
            raise TypeError
        return tuple((index(label), float(weight)) for label, weight in pairs)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"weights must be pairs of a class label and a factor, not {weights!r}") from None


def flat_fields(param: Parameter) -> dict[str, Any]:
    """Fields of ``param`` by name, with the solver's name, followed by the settings of the solver."""
    own = {name: getattr(param, name) for name in param.told_fields}
    settings = {known.name: getattr(param.solver, known.name) for known in param.solver.settings()}
    return {**own, "solver": param.solver.name, **settings}


def changed(param: Parameter, given: Mapping[str, Any]) -> Parameter:
    """``param`` with some of its ``flat_fields`` changed.

    Raises
    ------
    ParameterError        also for an unknown name, such as a setting of another solver
    """
    solver = given.get("solver", param.solver)
    if not isinstance(solver, Solver):
        solver = param.solver if solver == param.solver.name else _solver(solver)
    own = {f.name for f in fields(param)}
    settings = {name: value for name, value in given.items() if name not in own}
    general = {name: value for name, value in given.items() if name in own}
    if "gamma" in general:
        general.setdefault("gammas", ())
    taken = [known.name for known in solver.settings()]
    for name in settings:
        if name not in taken:
            if name in ELSEWHERE:
                raise ParameterError(f"{name} is called {ELSEWHERE[name]} here")
            from libsvmx._solvers.registry import names_of, solver_classes

            takers = [other for other in solver_classes() if name in (known.name for known in other.settings())]
            what = f"{name} is of solver {names_of(takers)}" if takers else f"there is no parameter {name}"
            takes = f"takes {', '.join(taken)}" if taken else "has no settings"
            told = f"; solver {solver.name} {takes}"
            known = [*sorted(own - {"policy"}), *taken]
            raise ParameterError(f"{what}{told if takers else _likely(name, known, told)}")
    return replace(param, **{**general, "solver": replace(solver, **settings)})


# scikit-learn's names, where they differ; functions over arrays accept both.
SCIKIT_LEARN = {
    "class_weight": "weights",
    "epsilon": "p",
    "kernel": "kernel_type",
    "max_time": "time_limit",
    "n_jobs": "threads",
    "tol": "eps",
}
# Other names for hints in errors.
ELSEWHERE = {**SCIKIT_LEARN, "cost": "C"}


def _likely(name: str, known: list[str], otherwise: str) -> str:
    """``; did you mean gamma? Known are …`` of an unknown name; ``otherwise`` where none is like it."""
    from libsvmx._core.suggestions import did_you_mean

    return f"{did_you_mean(name, known) or f'{otherwise}.'} Known are {', '.join(known)}"


def class_costs(labels: list[int], param: Parameter, observer: Observer) -> list[float]:
    """C of each class, weighted."""
    costs = [param.C] * len(labels)
    for label, weight in param.weights:
        if label in labels:
            costs[labels.index(label)] *= weight
        else:
            observer.remark(Remark.WEIGHT_WITHOUT_CLASS, str(label))
    return costs

"""Training parameters, LIBSVM's names and defaults, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._kernels.lowrank import Approximation
    from libsvmx._solvers.decomposition.settings import Chunking
    from libsvmx._solvers.interior_point.constraint_reduction import Reduction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parameter:
    """Everything ``svmx-train`` can be told about a training.

    Attributes
    ----------
    svm_type : SvmType            formulation (``-s``)
    kernel_type : KernelType      kernel (``-t``)
    degree : int                  polynomial degree (``-d``)
    gamma : float                 ``-g``; 0 stands for 1 / (largest feature index)
    coef0 : float                 ``-r``
    cache_size : float            kernel row budget in MB of 2^20 bytes (``-m``)
    eps : float                   tolerance of the stopping criterion (``-e``)
    C : float                     cost of C-SVC, epsilon-SVR and nu-SVR (``-c``)
    weights : tuple of (label, factor), or mapping      C of that class is factor * C, C-SVC only (``-wi``)
    nu : float                    of nu-SVC, one-class and nu-SVR, 0 < nu <= 1 (``-n``)
    p : float                     epsilon of the epsilon-SVR loss (``-p``)
    shrinking : bool              ``-h``
    probability : bool            ``-b``
    max_iter : int                iteration limit of each solve, 0 for LIBSVM's
    time_limit : float            seconds for each solve, 0 for none
    threads : int                 0 for what OMP_NUM_THREADS says, else all processors; no result depends on it
    solver : str                  'smo', LIBSVM's path and its bits; 'chunked' or 'irwls', the same optimum to eps by
                                  working sets, see libsvmx._solvers.decomposition.settings, where the next five are
                                  explained; or 'crsvm', for explicit features
    working_set : int             variables of a working set, 0 for the solver's choice
    working_set_rule : str        'random', 'mixed' or 'largest'
    kept_share : float            of a working set that stays for the next, 0 <= kept_share < 1
    solver_seed : int             of the random choice of working sets, of patterns, and of pivots
    precision : str               of the kernel rows that move scores: 'auto', 'float' or 'double'
    reduction : str               of solver 'crsvm', C-SVC by a constraint-reduced interior-point method: 'adaptive',
                                  'fixed' or 'none', see
                                  _solvers.interior_point.constraint_reduction, where the next four are explained
    reduction_rule : str          'omega' or 'distance'
    balanced : bool               patterns of the normal matrix are taken from both classes alike
    most_patterns : int           of the normal matrix, 0 for all
    tolerance : float             of residuals and duality gap, both relative
    low_rank : str                how crsvm approximates the kernel: 'cholesky', 'rpcholesky', 'nystrom' or 'eigen', see
                                  libsvmx._kernels.lowrank; '' for not at all
    rank : int                    of the approximation, 0 for what rank_error needs
    rank_error : float            of the approximation: its trace error, relative; 0 for what rank gives
    predict_with : str            the model of an approximated kernel holds support vectors, for predictions with the
                                  'kernel' itself, or the pivots of the 'factor'

    Raises
    ------
    ParameterError                a value no training can use, at construction
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
    solver: str = "smo"
    working_set: int = 0
    working_set_rule: str = "random"
    kept_share: float = 0.0
    solver_seed: int = 1
    precision: str = "auto"
    reduction: str = "adaptive"
    reduction_rule: str = "omega"
    balanced: bool = True
    most_patterns: int = 0
    tolerance: float = 1e-8
    low_rank: str = ""
    rank: int = 0
    rank_error: float = 0.0
    predict_with: str = "kernel"

    def __post_init__(self) -> None:
        for name, kind in (("svm_type", SvmType), ("kernel_type", KernelType)):
            try:
                object.__setattr__(self, name, kind(getattr(self, name)))
            except ValueError:
                known = ", ".join(f"{k.value} {k.name}" for k in kind)
                raise ParameterError(f"unknown {name} {getattr(self, name)!r}; known are {known}") from None
        for name in (
            "gamma",
            "coef0",
            "cache_size",
            "eps",
            "C",
            "nu",
            "p",
            "time_limit",
            "kept_share",
            "tolerance",
            "rank_error",
        ):
            self._set(name, float)
            if not isfinite(getattr(self, name)):
                raise ParameterError(f"{name} must be finite, not {getattr(self, name)}")
        for name in ("degree", "max_iter", "threads", "working_set", "solver_seed", "most_patterns", "rank"):
            self._set(name, index)
        for name in ("shrinking", "probability", "balanced"):
            if getattr(self, name) not in (0, 1):
                raise ParameterError(f"{name} must be True or False, not {getattr(self, name)!r}")
            self._set(name, bool)
        self._set("weights", _pairs)
        self._check_values()
        if self.solver not in SOLVERS:
            raise ParameterError(f"unknown solver {self.solver!r}: choose one of {', '.join(SOLVERS)}")
        if tuple(getattr(self, name) for name in SOLVER_OPTIONS) != USUAL_OPTIONS:
            self.chunking()
        if self.predict_with not in PREDICT_WITH:
            raise ParameterError(f"unknown predict_with {self.predict_with!r}: choose one of {', '.join(PREDICT_WITH)}")
        if self.solver == "crsvm":
            self._check_interior()

    def _check_interior(self) -> None:
        if self.svm_type != SvmType.C_SVC:
            raise ParameterError(f"solver crsvm solves C-SVC, not {self.svm_type.name}")
        self.interior()
        if self.low_rank:
            self.approximation()
        elif self.rank or self.rank_error or self.predict_with == "factor":
            raise ParameterError("rank, rank_error and predict_with 'factor' need a low_rank approximation")

    @property
    def has_features(self) -> bool:
        """Whether the kernel has explicit features that are written down without its values, as solver crsvm needs."""
        second_order = self.kernel_type == KernelType.POLY and self.degree == 2 and self.coef0 >= 0
        return self.kernel_type == KernelType.LINEAR or second_order

    def chunking(self) -> Chunking:
        """The settings of the chunked solver. Raises ParameterError."""
        from libsvmx._solvers.decomposition.settings import Chunking  # the exact solver starts without it

        return self._settings(Chunking, SOLVER_OPTIONS, engine=SOLVERS[self.solver] or "smo")

    def interior(self) -> Reduction:
        """The settings of the interior-point solver. Raises ParameterError."""
        from libsvmx._solvers.interior_point.constraint_reduction import Reduction

        return self._settings(Reduction, INTERIOR_OPTIONS)

    def approximation(self) -> Approximation:
        """The settings of the low-rank approximation. Raises ParameterError."""
        from libsvmx._kernels.lowrank import Approximation

        return self._settings(Approximation, LOW_RANK_OPTIONS)

    def _settings(self, kind: Callable[..., T], options: dict[str, str], **more: object) -> T:
        """Settings whose names are the values of ``options``; their errors name the keys."""
        try:
            return kind(**{theirs: getattr(self, own) for own, theirs in options.items()}, **more)
        except ParameterError as error:
            text = str(error)
            for own, theirs in options.items():
                if text.startswith((f"{theirs} must ", f"unknown {theirs} ")):
                    text = text.replace(theirs, own, 1)
                    break
            raise ParameterError(text) from None

    def _set(self, name: str, kind: Callable[[Any], object]) -> None:
        """Convert a field, which must be exact."""
        value = getattr(self, name)
        try:
            if isinstance(value, str):
                raise TypeError
            object.__setattr__(self, name, kind(value))
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(f"{name} must be {KINDS[kind]}, not {value!r}") from None

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
        if s in (SvmType.C_SVC, SvmType.EPSILON_SVR, SvmType.NU_SVR) and self.C <= 0:
            raise ParameterError(f"C must be > 0, not {self.C}")
        if s in (SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.NU_SVR) and not 0 < self.nu <= 1:
            raise ParameterError(f"nu must be > 0 and <= 1, not {self.nu}")
        if not -(2**31) <= self.degree < 2**31:
            raise ParameterError(f"degree {self.degree} does not fit 32 bits")
        if s == SvmType.EPSILON_SVR and self.p < 0:
            raise ParameterError(f"p must be >= 0, not {self.p}")
        for label, weight in self.weights:
            if not (isfinite(weight) and weight >= 0):
                raise ParameterError(f"the weight of class {label} must be finite and >= 0, not {weight}")
        if not 0 <= self.max_iter < 2**63:
            raise ParameterError(f"max_iter must be between 0 and 2^63 - 1, not {self.max_iter}")
        if not 0 <= self.threads <= MAX_THREADS:
            raise ParameterError(f"threads must be between 0 and {MAX_THREADS}, not {self.threads}")
        if self.time_limit < 0:
            raise ParameterError(f"time_limit must be >= 0, not {self.time_limit}")


# Powers beyond it overflow or vanish for anything but |x| = 1; it also keeps the squaring loop's input an int32.
MAX_DEGREE = 1_000_000
MAX_THREADS = 1024

# The engine that solves the working sets of each solver; none are there for LIBSVM's.
SOLVERS = {"smo": "smo", "chunked": "smo", "irwls": "irwls", "crsvm": ""}
# What the others can be told, and what the settings of the chunked solver call it.
SOLVER_OPTIONS = {
    "working_set": "working_set",
    "working_set_rule": "rule",
    "kept_share": "kept",
    "solver_seed": "seed",
    "precision": "precision",
}
USUAL_OPTIONS = (0, "random", 0.0, 1, "auto")
INTERIOR_OPTIONS = {
    "reduction": "size",
    "reduction_rule": "rule",
    "balanced": "balanced",
    "most_patterns": "upper",
    "tolerance": "tolerance",
    "solver_seed": "seed",
}
LOW_RANK_OPTIONS = {"low_rank": "method", "rank": "rank", "rank_error": "tolerance", "solver_seed": "seed"}
PREDICT_WITH = ("kernel", "factor")
# All that only says how a problem is solved.
SOLVER_FIELDS_USED: dict[str, tuple[str, ...]] = {
    "smo": (),
    **dict.fromkeys(("chunked", "irwls"), ("solver", *SOLVER_OPTIONS)),
    "crsvm": ("solver", *INTERIOR_OPTIONS, *LOW_RANK_OPTIONS, "predict_with"),
}
SOLVER_FIELDS = tuple(dict.fromkeys(name for names in SOLVER_FIELDS_USED.values() for name in names))


def _pairs(weights: Any) -> tuple[tuple[int, float], ...]:
    """Weights of classes, given as pairs or as a mapping."""
    items = weights.items() if hasattr(weights, "items") else weights
    return tuple((index(label), float(weight)) for label, weight in items)


KINDS: dict[Any, str] = {
    float: "a number",
    index: "a whole number",
    bool: "True or False",
    _pairs: "pairs of a class label and a factor",
}

"""The two axes of LIBSVM's problem space, formulation (``-s``) and kernel (``-t``), and how a solve ends."""

from enum import IntEnum, StrEnum


class SvmType(IntEnum):
    """Formulation; the value is LIBSVM's number for ``-s``."""

    C_SVC = 0
    NU_SVC = 1
    ONE_CLASS = 2
    EPSILON_SVR = 3
    NU_SVR = 4

    @property
    def is_classification(self) -> bool:
        return self in (SvmType.C_SVC, SvmType.NU_SVC)

    @property
    def is_regression(self) -> bool:
        return self in (SvmType.EPSILON_SVR, SvmType.NU_SVR)

    @property
    def has_cost(self) -> bool:
        """Whether C counts."""
        return self not in (SvmType.NU_SVC, SvmType.ONE_CLASS)


class KernelType(IntEnum):
    """Kernel function; the value is LIBSVM's number for ``-t``.

    LINEAR <u,v>, POLY (gamma <u,v> + coef0)^degree, RBF exp(-gamma |u-v|^2),
    SIGMOID tanh(gamma <u,v> + coef0), PRECOMPUTED values given with the data.
    """

    LINEAR = 0
    POLY = 1
    RBF = 2
    SIGMOID = 3
    PRECOMPUTED = 4


class SolveStatus(StrEnum):
    """How a solve ended. All but DEGENERATE leave a feasible point."""

    CONVERGED = "converged"  # optimal to the tolerance
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"  # the observer said so
    ROUNDING = "rounding"  # no step is seen to lead further
    DEGENERATE = "degenerate"  # coefficients are not finite

"""The two axes of LIBSVM's problem space, formulation (``-s``) and kernel (``-t``), and how a solve ends."""

from libsvmx._core.enumerations import IntEnum, StrEnum


class SvmType(IntEnum):
    """Formulation; the value is LIBSVM's number for ``-s``. QUANTILE_SVR is libsvmx's own."""

    C_SVC = 0
    NU_SVC = 1
    ONE_CLASS = 2
    EPSILON_SVR = 3
    NU_SVR = 4
    QUANTILE_SVR = 5

    @property
    def option(self) -> str:
        """What ``-s`` calls it: LIBSVM's number, or a name where LIBSVM has none."""
        return "quantile" if self == SvmType.QUANTILE_SVR else str(self.value)

    @property
    def is_classification(self) -> bool:
        return self in (SvmType.C_SVC, SvmType.NU_SVC)

    @property
    def is_regression(self) -> bool:
        return self in (SvmType.EPSILON_SVR, SvmType.NU_SVR, SvmType.QUANTILE_SVR)

    @property
    def has_cost(self) -> bool:
        """Whether C counts."""
        return self not in (SvmType.NU_SVC, SvmType.ONE_CLASS)

    @property
    def has_nu(self) -> bool:
        """Whether nu counts; where it does, a sum of coefficients depends on the number of rows."""
        return self in (SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.NU_SVR)

    @property
    def groups(self) -> int:
        """How many sums of coefficients are fixed: in nu-SVC one of each class, in nu-SVR of each side of the tube."""
        return 2 if self in (SvmType.NU_SVC, SvmType.NU_SVR) else 1


class KernelType(IntEnum):
    """Kernel function; the value is LIBSVM's number for ``-t``.

    Adding one: its line here, and its function in ``_core/loops/kernel_functions.c``; all else asks these two.

    Attributes
    ----------
    keyword : str               its name in model files
    uses : tuple of str         which of degree, gamma and coef0 it has, in the order of model files
    usage : str                 its name and formula in the usage of the commands
    """

    keyword: str
    uses: tuple[str, ...]
    usage: str

    def __new__(cls, value: int, keyword: str = "", uses: tuple[str, ...] = (), usage: str = "") -> "KernelType":
        kernel = int.__new__(cls, value)
        kernel._value_ = value
        kernel.keyword, kernel.uses, kernel.usage = keyword, uses, usage
        return kernel

    LINEAR = 0, "linear", (), "linear u'v"
    POLY = 1, "polynomial", ("degree", "gamma", "coef0"), "polynomial (gamma u'v + coef0)^degree"
    RBF = 2, "rbf", ("gamma",), "RBF exp(-gamma |u-v|^2)"
    SIGMOID = 3, "sigmoid", ("gamma", "coef0"), "sigmoid tanh(gamma u'v + coef0)"
    PRECOMPUTED = 4, "precomputed", (), "precomputed (rows 0:serial 1:K(row,1) 2:K(row,2) ...)"


class SolveStatus(StrEnum):
    """How a solve ended. All but DEGENERATE leave a feasible point."""

    CONVERGED = "converged"  # optimal to the tolerance
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"  # the observer said so
    ROUNDING = "rounding"  # no step is seen to lead further
    UNBOUNDED = "unbounded"  # there is no optimum: C is infinite, and nothing separates the classes
    DEGENERATE = "degenerate"  # coefficients or rho are not finite

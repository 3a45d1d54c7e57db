"""The two axes of LIBSVM's problem space, formulation (``-s``) and kernel (``-t``), and how a solve ends."""

from libsvmx._core.enumerations import IntEnum, StrEnum


class SvmType(IntEnum):
    """Formulation; the value is LIBSVM's number for ``-s``. QUANTILE_SVR is libsvmx's own.

    Attributes
    ----------
    is_classification, is_regression : bool
    has_cost : bool
        Whether C counts.
    has_nu : bool
        Whether nu counts; where it does, a sum of coefficients depends on the number of rows.
    """

    is_classification: bool
    is_regression: bool
    has_cost: bool
    has_nu: bool

    def __new__(cls, value: int) -> "SvmType":
        kind = int.__new__(cls, value)
        kind._value_ = value
        kind.is_classification, kind.is_regression = value in (0, 1), value in (3, 4, 5)
        kind.has_cost, kind.has_nu = value not in (1, 2), value in (1, 2, 4)
        return kind

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
    def groups(self) -> int:
        """How many sums of coefficients are fixed: in nu-SVC one of each class, in nu-SVR of each side of the tube."""
        return 2 if self in (SvmType.NU_SVC, SvmType.NU_SVR) else 1


class KernelType(IntEnum):
    """Kernel function; the value is LIBSVM's number for ``-t``. Those behind PRECOMPUTED are libsvmx's own.

    Adding one: its line here, and its function in ``_core/loops/kernel_functions.c``; all else asks these two.

    Attributes
    ----------
    keyword : str
        Name in model files.
    uses : tuple of str
        Which of degree, gamma and coef0 it uses, in the order of model files.
    usage : str
        Name and formula in the usage of the commands.
    nonnegative : bool
        Whether it is defined for nonnegative rows only.
    is_of_distance : bool
        Whether it is a function of |u - v|^2, which is |u|^2 + |v|^2 - 2 u'v in rows of it.
    """

    keyword: str
    uses: tuple[str, ...]
    usage: str
    nonnegative: bool
    is_of_distance: bool

    def __new__(
        cls, value: int, keyword: str = "", uses: tuple[str, ...] = (), usage: str = "", nonnegative: bool = False
    ) -> "KernelType":
        kernel = int.__new__(cls, value)
        kernel._value_ = value
        kernel.keyword, kernel.uses, kernel.usage, kernel.nonnegative = keyword, uses, usage, nonnegative
        kernel.is_of_distance = value in (2, 11, 12, 13)
        return kernel

    @property
    def is_libsvms(self) -> bool:
        """Whether LIBSVM has it, and reads model files of it."""
        return self <= KernelType.PRECOMPUTED

    @property
    def option(self) -> str:
        """What ``-t`` calls it: LIBSVM's number, or a name where LIBSVM has none."""
        return str(self.value) if self.is_libsvms else self.keyword

    LINEAR = 0, "linear", (), "linear u'v"
    POLY = 1, "polynomial", ("degree", "gamma", "coef0"), "polynomial (gamma u'v + coef0)^degree"
    RBF = 2, "rbf", ("gamma",), "RBF exp(-gamma |u-v|^2)"
    SIGMOID = 3, "sigmoid", ("gamma", "coef0"), "sigmoid tanh(gamma u'v + coef0)"
    PRECOMPUTED = 4, "precomputed", (), "precomputed (rows 0:serial 1:K(row,1) 2:K(row,2) ...)"
    LAPLACIAN = 5, "laplacian", ("gamma",), "laplacian exp(-gamma |u-v|_1)"
    COSINE = 6, "cosine", (), "cosine u'v / (|u| |v|)"
    TANIMOTO = 7, "tanimoto", (), "tanimoto u'v / (u'u + v'v - u'v)", True
    INTERSECTION = 8, "intersection", (), "intersection sum min(u,v)", True
    CHI2 = 9, "chi2", ("gamma",), "chi2 exp(-gamma sum (u-v)^2/(u+v))", True
    ADDITIVE_CHI2 = 10, "additive_chi2", (), "additive_chi2 -sum (u-v)^2/(u+v)", True
    MATERN32 = 11, "matern32", ("gamma",), "matern32 (1+s) exp(-s) of s = sqrt(6 gamma) |u-v|"
    MATERN52 = 12, "matern52", ("gamma",), "matern52 (1+s+s^2/3) exp(-s) of s = sqrt(10 gamma) |u-v|"
    RATIONAL_QUADRATIC = 13, "rational_quadratic", ("gamma",), "rational_quadratic 1 / (1 + gamma |u-v|^2)"


class SolveStatus(StrEnum):
    """How a solve ended. All but DEGENERATE leave a feasible point."""

    CONVERGED = "converged"  # optimal to the tolerance
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"  # the observer said so
    ROUNDING = "rounding"  # no step is seen to lead further
    UNBOUNDED = "unbounded"  # there is no optimum: C is infinite, and nothing separates the classes
    DEGENERATE = "degenerate"  # coefficients or rho are not finite

"""Training options of LIBSVM's Python module: its enumerations, print functions and svm_parameter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from ctypes import CFUNCTYPE, c_char_p
from enum import IntEnum
from typing import Any, ClassVar, cast

from libsvmx._core.records import replace
from libsvmx._train.parameter import Parameter, kernel_named
from libsvmx.compat.handles import Handle
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import ParameterError


class svm_forms(IntEnum):
    """Formulations, ``-s``."""

    C_SVC = 0
    NU_SVC = 1
    ONE_CLASS = 2
    EPSILON_SVR = 3
    NU_SVR = 4


# LIBSVM's kernels, ``-t``.
kernel_names = IntEnum(  # type: ignore[misc]
    "kernel_names", [(kind.name, kind.value) for kind in KernelType if kind.is_libsvms]
)


def kernel_number(given: Any) -> int:
    """The kernel of ``-t``: one of LIBSVM's numbers, or the name of a kernel."""
    named = kernel_named(given) if isinstance(given, str) else None
    return kernel_names(int(given)) if named is None else int(named)


_PrintFunction: Any = CFUNCTYPE(None, c_char_p)


class PRINT_STRING_FUN(_PrintFunction):  # type: ignore[misc]
    """The print function of the training transcript, with one bytes argument. False without one: standard output.

    A ctypes function, as in LIBSVM; but ``function`` is called directly, so its exceptions are not lost.
    """

    _flags_ = _PrintFunction._flags_
    _restype_ = None
    _argtypes_ = (c_char_p,)
    function: Callable[[bytes], object] | None = None

    def __new__(cls, function: Callable[[bytes], object] | None = None) -> PRINT_STRING_FUN:
        return cast("PRINT_STRING_FUN", super().__new__(cls, *(() if function is None else (function,))))

    def __init__(self, function: Callable[[bytes], object] | None = None):
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        return PRINT_STRING_FUN, (self.function,)


def print_null(s: object) -> None:
    """Prints nothing: the print function of ``-q``."""


ctypes_print_null = PRINT_STRING_FUN(print_null)


class Printing:
    """The print function of ``libsvm.svm_train`` and ``svm_cross_validation``: one for the process, as in LIBSVM."""

    function: Any = PRINT_STRING_FUN()


class svm_parameter(Handle):
    """svm_parameter(options=None)

    Making one sets the print function of trainings for the whole process, as in LIBSVM: nothing is printed with ``-q``.

    Parameters
    ----------
    options : str, list of str and numbers, or None
        As for ``svm-train``: ``'-s 3 -c 10'``.

    Attributes
    ----------
    svm_type, kernel_type, degree, shrinking, probability, nr_weight : int
    gamma, coef0, cache_size, eps, C, nu, p : float
    weight_label, weight : sequence of int, of float
        The first nr_weight entries count.
    cross_validation, nr_fold : int
        ``-v``.
    print_func : PRINT_STRING_FUN
        False for standard output.

    Raises
    ------
    TypeError
        Options of another type.
    ValueError
        An unknown option, an option without a value or with one of the wrong kind.
    """

    _names = (
        "svm_type", "kernel_type", "degree", "gamma", "coef0", "cache_size", "eps", "C", "nr_weight",
        "weight_label", "weight", "nu", "p", "shrinking", "probability",
    )  # fmt: skip
    _options: ClassVar[dict[str, tuple[str, Callable[[Any], Any]]]] = {
        "-s": ("svm_type", lambda value: svm_forms(int(value))),
        "-t": ("kernel_type", kernel_number),
        "-d": ("degree", int),
        "-g": ("gamma", float),
        "-r": ("coef0", float),
        "-c": ("C", float),
        "-n": ("nu", float),
        "-p": ("p", float),
        "-m": ("cache_size", float),
        "-e": ("eps", float),
        "-h": ("shrinking", int),
        "-b": ("probability", int),
    }
    _integers = frozenset({"svm_type", "kernel_type", "degree", "shrinking", "probability", "nr_weight", "nr_fold"})
    _floats = frozenset({"gamma", "coef0", "cache_size", "eps", "C", "nu", "p"})
    _counted = ("nr_weight", "degree", "kernel_type", "probability", "shrinking", "svm_type")
    _real = tuple(sorted(_floats))
    _values: ClassVar[Any] = staticmethod(operator.attrgetter(*_counted, *_real))

    svm_type: int
    kernel_type: int
    degree: int
    gamma: float
    coef0: float
    cache_size: float
    eps: float
    C: float
    nr_weight: int
    weight_label: Sequence[int]
    weight: Sequence[float]
    nu: float
    p: float
    shrinking: int
    probability: int
    cross_validation: int
    nr_fold: int
    print_func: Any

    def __init__(self, options: str | list[Any] | None = None):
        self.parse_options("" if options is None else options)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._integers:
            value = operator.index(value)
        elif name in self._floats:
            value = float(value)
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        restored, (kind, held) = super().__reduce__()
        return restored, (kind, {name: value for name, value in held.items() if name != "_checked"})

    def __str__(self) -> str:
        names = (*self._names, "cross_validation", "nr_fold", "print_func")
        return "\n ".join(f"{name}: {getattr(self, name)}" for name in names)

    def show(self) -> None:
        """Print the attributes, as in LIBSVM up to 3.12."""
        print(f" {self}")

    def set_to_default_values(self) -> None:
        """Reset every attribute to its default."""
        self._take(Parameter())
        self.cross_validation = False
        self.nr_fold = 0
        self.print_func = PRINT_STRING_FUN()

    def _take(self, param: Parameter) -> None:
        for name in self._integers - {"nr_weight", "nr_fold"} | self._floats:
            setattr(self, name, int(getattr(param, name)) if name in self._integers else getattr(param, name))
        self.nr_weight = len(param.weights)
        self.weight_label = [label for label, _ in param.weights]
        self.weight = [factor for _, factor in param.weights]

    def parse_options(self, options: str | list[Any]) -> None:
        """Defaults first, then the options from left to right; errors as for the constructor."""
        if not isinstance(options, (str, list)):
            raise TypeError(f"options are a {type(options).__name__}; they must be a str or a list")
        self.set_to_default_values()
        labels: list[int] = []
        factors: list[float] = []
        argv = iter(options.split() if isinstance(options, str) else options)
        for option in argv:
            if option == "-q":
                self.print_func = ctypes_print_null
            elif option in self._options:
                name, convert = self._options[option]
                setattr(self, name, _convert(option, argv, convert))
            elif option == "-v":
                self.nr_fold = _convert(option, argv, int)
                self.cross_validation = 1
                if self.nr_fold < 2:
                    raise ParameterError(f"-v {self.nr_fold}: cross-validation needs at least 2 folds")
            elif isinstance(option, str) and option.startswith("-w"):
                labels.append(_convert(option, iter([option[2:]]), int))
                factors.append(_convert(option, argv, float))
            else:
                raise ParameterError(f"unknown option {option!r}")
        self.nr_weight, self.weight_label, self.weight = len(labels), labels, factors
        Printing.function = self.print_func

    def to_parameter(self) -> Parameter:
        """A checked Parameter with the same values. ValueError for invalid ones."""
        values = self._values(self)  # one reading: another thread may write meanwhile, and vars() tells nobody
        n = operator.index(values[0])
        labels: tuple[int, ...] = ()
        factors: tuple[float, ...] = ()
        if n:
            labels, factors = tuple(map(int, self.weight_label[:n])), tuple(map(float, self.weight[:n]))
        given = (*values, *labels, *factors)
        known: tuple[tuple[Any, ...], Parameter] | None = self._attributes.get("_checked")
        # the same objects: 0.0 equals -0.0; a NumPy array changed in place is not noticed
        if known is None or len(known[0]) != len(given) or not all(map(operator.is_, known[0], given)):
            self._attributes["_checked"] = known = given, self._as_parameter(values, labels, factors)
        return known[1]

    def _as_parameter(self, values: tuple[Any, ...], labels: tuple[int, ...], factors: tuple[float, ...]) -> Parameter:
        n, degree, kernel_type, probability, shrinking, svm_type = map(operator.index, values[: len(self._counted)])
        for name, value in (("shrinking", shrinking), ("probability", probability)):
            if value not in (0, 1):
                raise ParameterError(f"{name} must be 0 or 1, not {value}")
        if not len(labels) == len(factors) == n:
            raise ParameterError(f"nr_weight is {n}, but weight_label or weight has fewer entries")
        given: dict[str, Any] = dict(zip(self._real, values[len(self._counted) :], strict=True))
        return Parameter(
            svm_type=SvmType(svm_forms(svm_type)),
            kernel_type=KernelType(kernel_type),
            degree=degree,
            weights=tuple(zip(labels, factors, strict=True)),
            shrinking=bool(shrinking),
            probability=bool(probability),
            **given,
        )

    def to_kernel(self, param: Parameter) -> Parameter:
        """``param`` with the formulation and the kernel of this one. ValueError as in ``to_parameter``."""
        names = ("svm_type", "kernel_type", "degree", "gamma", "coef0")
        if all(getattr(self, name) == getattr(param, name) for name in names):
            return param
        return replace(param, **{name: getattr(self, name) for name in names})

    @classmethod
    def from_parameter(cls, param: Parameter) -> svm_parameter:
        """The parameters of a model, as LIBSVM shows them."""
        out = cls.__new__(cls)  # sets no print function
        out.set_to_default_values()
        out._take(param)
        return out


def _convert(option: str, argv: Iterator[Any], convert: Callable[[Any], Any]) -> Any:
    try:
        value = next(argv)
    except StopIteration:
        raise ParameterError(f"option {option} needs a value") from None
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"option {option}: {error}") from None

"""Parameters of estimators, declared as fields of a class: name, type, default, and what is allowed.

    @with_parameters
    class NuSVR(RegressorMixin, BaseSVM):
        nu: float = parameter(default=0.5, allowed=SHARE)

``__init__`` and scikit-learn's ``_parameter_constraints`` are made of the fields of the class and its bases. The class
is no dataclass itself: Dask, for one, takes a dataclass for its fields, without what a fit has found.
"""

from __future__ import annotations

from copy import copy
from dataclasses import Field, field, make_dataclass
from functools import cache
from inspect import get_annotations, signature
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

import sklearn.svm
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

T = TypeVar("T")

# What is allowed, of several estimators.
POSITIVE = [Interval(Real, 0.0, None, closed="neither")]
COST = [Interval(Real, 0.0, None, closed="right")]  # inf is a hard margin
NOT_NEGATIVE = [Interval(Real, 0.0, None, closed="left")]
SHARE = [Interval(Real, 0.0, 1.0, closed="right")]
THREADS = [Integral, None]
SECONDS = [Interval(Real, 0, None, closed="neither"), None]
CALLBACK = [callable, None]


def parameter(*, default: Any, allowed: list[Any], kw_only: bool = True) -> Any:
    """A parameter; ``allowed`` as in ``_parameter_constraints``."""
    return field(default=default, kw_only=kw_only, metadata={"allowed": allowed})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter,))
def with_parameters(kind: type[T]) -> type[T]:
    """Make ``__init__`` and ``_parameter_constraints``.

    Parameters stand in the order of scikit-learn's estimator of this name, and then ours; where there is none, those of
    the class come before those of its bases.
    """
    made: Any = kind
    types = {name: type for base in reversed(kind.__mro__) for name, type in get_annotations(base).items()}
    known = {name: one for base in reversed(kind.__mro__[1:]) for name, one in vars(base).get("_fields", {}).items()}
    made._fields = known | {name: one for name, one in vars(kind).items() if isinstance(one, Field)}
    for name in [name for name in vars(kind) if isinstance(vars(kind)[name], Field)]:
        delattr(kind, name)
    of_fields = [(name, types[name], copy(one)) for name, one in made._fields.items()]
    pattern: Any = make_dataclass(kind.__name__, of_fields, eq=False, repr=False)
    made.__init__ = pattern.__init__
    made.__init__.__qualname__, made.__init__.__module__ = f"{kind.__qualname__}.__init__", kind.__module__
    made._parameter_constraints = {name: one.metadata["allowed"] for name, one in made._fields.items()}
    own = signature(made.__init__)
    theirs = getattr(sklearn.svm, kind.__name__, None)
    ours = [name for base in kind.__mro__ for name in get_annotations(base)]
    order = ["self", *(signature(theirs).parameters if theirs else ours), *own.parameters]
    ordered = sorted(own.parameters.values(), key=lambda one: order.index(one.name))
    made.__init__.__signature__ = own.replace(parameters=ordered)
    return made


@cache
def defaults_of(kind: type) -> dict[str, Any]:
    """Default of each parameter."""
    return {name: each.default for name, each in signature(kind).parameters.items()}


def check_parameters(estimator: Any) -> None:
    """Check all parameters that differ from their defaults. Raises ValueError."""
    kind: Any = type(estimator)
    given = {
        name: value for name, default in defaults_of(kind).items() if (value := getattr(estimator, name)) is not default
    }
    validate_parameter_constraints(estimator._parameter_constraints, given, caller_name=kind.__name__)

"""Pickles of estimators, without objects of scikit-learn: other versions of both packages can read them."""

from __future__ import annotations

from copy import copy, deepcopy
from inspect import Parameter
from typing import Any

from sklearn import config_context

from libsvmx.sklearn.parameters import defaults_of

ROUTING = "_metadata_request"  # attribute of scikit-learn, set by set_fit_request and the like


class Pickled:
    """Mixin of BaseSVM: pickles models as LIBSVM's arrays, parameters unchanged, requested metadata by name."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        request = state.pop(ROUTING, None)
        if request is not None:
            parts = {name: getattr(part, "requests", None) for name, part in vars(request).items()}
            state[ROUTING] = {name: dict(requests) for name, requests in parts.items() if requests}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        requests = state.pop(ROUTING, None) or {}
        for name, default in known_parameters(type(self)).items():  # parameters newer than the pickle
            state.setdefault(name, default)
        self.__dict__.update(state)
        with config_context(enable_metadata_routing=True):
            for method, requested in requests.items():
                getattr(self, f"set_{method}_request")(**requested)

    def __copy__(self) -> Any:
        """A copy that shares arrays, but not the state: rows added to one are not added to the other."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        if "_kept" in self.__dict__:
            copied.__dict__["_kept"] = deepcopy(self.__dict__["_kept"])
        if "estimators_" in self.__dict__:
            copied.__dict__["estimators_"] = [copy(one) for one in self.__dict__["estimators_"]]
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Copies requested metadata as objects, unlike pickling: in scikit-learn 1.8 they refer to their estimator."""
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update(deepcopy(self.__dict__, memo))
        return copied


def known_parameters(kind: type) -> dict[str, Any]:
    """Default of each parameter of a class and its bases."""
    found: dict[str, Any] = {}
    each: Any
    for each in kind.__mro__:
        if "__init__" in vars(each) and issubclass(each, Pickled):
            found = {**defaults_of(each), **found}
    return {name: default for name, default in found.items() if default is not Parameter.empty}

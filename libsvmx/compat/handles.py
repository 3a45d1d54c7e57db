"""Stand-ins for C behind ctypes: structures behind pointers, arrays filled by calls."""

from __future__ import annotations

import ctypes
from collections.abc import MutableSequence, Sequence
from ctypes import POINTER, Array, Structure, addressof, byref, c_double, c_int, cast, py_object, sizeof
from typing import Any, Self, TypeVar

import numpy as np

T = TypeVar("T", bound="Handle")


class Handle(Structure):
    """A ctypes structure that holds the attributes of a Python object, whatever they are.

    ``pointer``, ``byref``, ``POINTER`` and ``.contents`` work on it as on a structure of C. ``.contents`` makes another
    object each time, as ctypes does; all of them have the same attributes.
    """

    _fields_ = [("_attributes", py_object)]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = Structure.__new__(cls)
        Handle._attributes.__set__(made, made.__dict__)
        return made

    def __getattr__(self, name: str) -> Any:
        try:
            return self._attributes[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(type(self), name, None), property):
            super().__setattr__(name, value)  # its setter, or an error
        else:
            self._attributes[name] = value

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), dict(self._attributes))


def _restored(kind: type[T], attributes: dict[str, Any]) -> T:
    made = kind.__new__(kind)
    made.__dict__.update(attributes)
    return made


def contents_of(given: Any, kind: type[T]) -> T:
    """The structure given, or the target of a pointer, a pointer to a pointer, or ``byref``.

    Raises ValueError for a NULL pointer, TypeError for anything else.
    """
    found = given
    while not isinstance(found, kind):
        if isinstance(found, ctypes._Pointer):
            found = found.contents
        elif hasattr(found, "_obj"):  # of byref
            found = found._obj
        else:
            raise TypeError(f"{type(given).__name__} is not an {kind.__name__}, nor a pointer to one")
    return found


def set_to_null(given: Any) -> None:
    """Set the pointer behind a pointer or ``byref`` to NULL; ignore anything else."""
    if isinstance(getattr(given, "_obj", None), ctypes._Pointer) or (
        isinstance(given, ctypes._Pointer) and isinstance(given.contents, ctypes._Pointer)
    ):
        cast(given, POINTER(ctypes.c_void_p))[0] = None


def fill(target: Any, values: Sequence[Any], kind: type[c_double] | type[c_int]) -> None:
    """Write values into an array of the caller.

    Parameters
    ----------
    target : ctypes array or pointer of ``kind``, ``byref`` of an array or of a single value, ndarray, or list
        The length behind a bare pointer is unknown: it must suffice, as in C.

    Raises
    ------
    TypeError          elements of another type, or that would lose digits
    ValueError         too few places, or a NULL pointer
    """
    if isinstance(target, ctypes._Pointer):
        _check_kind(target._type_, kind)
        if values and not target:
            raise ValueError("the array to fill is a NULL pointer")
    elif isinstance(target, kind) or hasattr(target, "_obj"):
        reference: Any = target if hasattr(target, "_obj") else byref(target)
        held = reference._obj
        _check_kind(getattr(held, "_type_", None) if isinstance(held, Array) else type(held), kind)
        target = cast(reference, POINTER(kind))
        if values:
            _check_room((sizeof(held) - (addressof(target.contents) - addressof(held))) // sizeof(kind), values)
    else:
        if isinstance(target, Array):
            _check_kind(target._type_, kind)
        elif isinstance(target, np.ndarray):
            if target.ndim != 1 or not np.can_cast(np.dtype(kind), target.dtype):
                what = f"of {target.dtype}, shape {target.shape}"
                raise TypeError(f"the array to fill is {what}; it must be of one dimension and hold a {kind.__name__}")
        elif isinstance(target, (str, bytes)) or not hasattr(target, "__setitem__"):
            raise TypeError(f"a {type(target).__name__} cannot be filled; give an array of {kind.__name__}")
        _check_room(len(target), values)
    _write(target, values)


def _write(target: MutableSequence[Any] | Any, values: Sequence[Any]) -> None:
    for i, value in enumerate(values):
        target[i] = value


def _check_kind(found: Any, kind: type) -> None:
    if found is not kind:
        raise TypeError(f"the array to fill is of {getattr(found, '__name__', found)}, not of {kind.__name__}")


def _check_room(places: int, values: Sequence[Any]) -> None:
    if places < len(values):
        raise ValueError(f"the array to fill has {places} places, but there are {len(values)} values")

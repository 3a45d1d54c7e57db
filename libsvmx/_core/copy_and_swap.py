"""Copy and swap: changes are made to a copy, which then replaces an object's ``__dict__`` by one assignment.

    built_apart(thing, build)      ``build`` changes a copy; the thing gets all changes, none after an error or Ctrl-C
    at_once(thing)                 a copy to read from, which no other thread changes

So a fit in one thread does not disturb predictions in another one.
"""

from __future__ import annotations

from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Found = TypeVar("Found")


def at_once(thing: Any) -> Any:
    """An object of the same class with a snapshot of the attributes."""
    found = object.__new__(type(thing))
    found.__dict__ = vars(thing).copy()
    return found


def built_apart(thing: Any, build: Callable[[Any], Found]) -> Found:
    """Let ``build`` set or delete attributes of a copy, and apply that to the thing in one assignment; returns the
    result of ``build``. Attributes set by others meanwhile, such as a parameter of an estimator, stay.
    """
    made = at_once(thing)
    before = vars(made).copy()
    found = build(made)
    after = vars(made)
    changed = {name: value for name, value in after.items() if name not in before or before[name] is not value}
    gone = before.keys() - after.keys()
    kept = {name: value for name, value in vars(thing).copy().items() if name not in gone}
    thing.__dict__ = {**kept, **changed}
    return found

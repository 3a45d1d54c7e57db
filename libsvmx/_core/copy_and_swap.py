"""Objects that are changed by one assignment: what a call leaves is built apart, in a copy, and taken whole.

    built_apart(thing, build)      ``build`` works on a copy; then the thing has all of it, or, after an error or
                                   Ctrl-C, nothing
    at_once(thing)                 a copy to read from, which no other thread changes

So a fit in one thread does not disturb another one that predicts. Of objects that keep all in their ``__dict__``.
"""

from __future__ import annotations

from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Found = TypeVar("Found")


def at_once(thing: Any) -> Any:
    """Another object, of the same class, with the attributes that this one has at one moment."""
    found = object.__new__(type(thing))
    found.__dict__ = vars(thing).copy()
    return found


def built_apart(thing: Any, build: Callable[[Any], Found]) -> Found:
    """Let ``build`` set attributes of a copy, or delete some, and do the same to the thing by one assignment; returns
    what ``build`` does.

    What somebody else has set meanwhile, such as a parameter of an estimator, stays.
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

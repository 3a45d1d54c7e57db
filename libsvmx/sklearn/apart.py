"""Estimators that are changed by one assignment: a fit is built apart, and predictions are of what was there at once.

    built_apart(estimator, build)      ``build`` works on a copy; then the estimator has all of it, or, after an error
                                       or Ctrl-C, nothing
    at_once(estimator)                 a copy to read from, which no other thread changes

So a refit in one thread does not disturb another one that predicts, as in scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def at_once(estimator: Any) -> Any:
    """An estimator with the parameters and attributes that this one has at one moment."""
    found = object.__new__(type(estimator))
    found.__dict__ = vars(estimator).copy()
    return found


def built_apart(estimator: Any, build: Callable[[Any], object]) -> None:
    """Let ``build`` set attributes of a copy, or delete some, and do the same to the estimator by one assignment.

    What somebody else has set meanwhile, such as a parameter, stays.
    """
    made = at_once(estimator)
    before = vars(made).copy()
    build(made)
    after = vars(made)
    changed = {name: value for name, value in after.items() if name not in before or before[name] is not value}
    gone = before.keys() - after.keys()
    kept = {name: value for name, value in vars(estimator).copy().items() if name not in gone}
    estimator.__dict__ = {**kept, **changed}

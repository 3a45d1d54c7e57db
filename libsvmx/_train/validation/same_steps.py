"""Points of a grid whose trainings take the same steps at several C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._core.records import replace

if TYPE_CHECKING:
    from libsvmx._train.validation.grid import Key, Outcome

# A bound is beyond another by more than rounding.
ABOVE = 1 + 1e-9


class SameSteps:
    """SameSteps(libsvms): points whose trainings take the same steps as those of a point that is done.

    Where a training from nothing meets C decides where a step is cut, what is shrunk and what is in the gradient that
    is put back; else its steps do not depend on C. So where no alpha has come beyond ``reach`` times C, and ``reach``
    is less than 1, every C' > ``reach`` C leads along the same path to the same model, bit by bit. ``libsvms``: whether
    these are LIBSVM's steps, from nothing; of others nothing is known.
    """

    def __init__(self, libsvms: bool) -> None:
        self.can_be = libsvms
        self.done: dict[float | None, list[tuple[float, Outcome]]] = {}  # by gamma: from which C on

    def as_before(self, key: Key) -> Outcome | None:
        """The outcome of a point, if it is that of another one."""
        c, g = key
        for least, other in self.done.get(g, []):
            if c is not None and 2.0**c > least:
                return replace(other, key=key, point=replace(other.point, log2c=c, seconds=0.0))
        return None

    def add(self, outcome: Outcome) -> None:
        """A point that has been evaluated."""
        c, g = outcome.key
        if self.can_be and c is not None and outcome.reach < 1.0:
            self.done.setdefault(g, []).append((outcome.reach * 2.0**c * ABOVE, outcome))

"""Grid points whose trainings take the same steps at several C, and so need no computing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._core.records import replace

if TYPE_CHECKING:
    from libsvmx._train.validation.grid import Key, Outcome

# A bound must exceed another by more than rounding.
ABOVE = 1 + 1e-9


class SameSteps:
    """SameSteps(libsvms): points whose trainings take the same steps as those of a finished point.

    The steps of a cold start depend on C only where an alpha reaches it: by clipping, shrinking and the reconstructed
    gradient. So if no alpha ever exceeded ``reach`` times C, and ``reach`` < 1, every C' > ``reach`` C gives the same
    steps and the same model, bit by bit. ``libsvms``: whether trainings take LIBSVM's steps; else no point is reused.
    """

    def __init__(self, libsvms: bool) -> None:
        self.can_be = libsvms
        self.done: dict[float | None, list[tuple[float, Outcome]]] = {}  # by gamma: (smallest C, outcome)

    def as_before(self, key: Key) -> Outcome | None:
        """The outcome of a point, if a finished one has the same; else None."""
        c, g = key
        for least, other in self.done.get(g, []):
            if c is not None and 2.0**c > least:
                return replace(other, key=key, point=replace(other.point, log2c=c, seconds=0.0))
        return None

    def add(self, outcome: Outcome) -> None:
        """Add a finished point."""
        c, g = outcome.key
        if self.can_be and c is not None and outcome.reach < 1.0:
            self.done.setdefault(g, []).append((outcome.reach * 2.0**c * ABOVE, outcome))

"""A token that records checks for a stop and the work reported."""

from libsvmx._core.stopping import FLOPS, Stopped, Token
from libsvmx.enums import SolveStatus

# Maximum size of a piece of work, in elements: some tens of milliseconds.
LONGEST = 1 << 27


class Asked(Token):
    """Asked(stop_at=None, error=None): a Token that stops from its ``stop_at``-th check on, or raises ``error``.

    ``told``: the reported amounts of work. ``after``: checks after the first stop; other threads and clean-up may check
    again, but do no more work.
    """

    def __init__(self, stop_at=None, error=None):
        super().__init__()
        self.stop_at, self.error = stop_at, error
        self.told, self.after = [], []

    def ask(self, amount):
        if self.stop_at is not None and len(self.told) >= self.stop_at:
            self.after.append(amount)
            raise Stopped(SolveStatus.INTERRUPTED)
        self.told.append(amount)
        if len(self.told) == self.stop_at:
            raise self.error or Stopped(SolveStatus.INTERRUPTED)

    def note(self, amount):
        self.told.append(amount)

    def abandon(self):
        self.stop_at = 0

    def check(self, flops):
        """All work is reported, ``flops`` in total, in small amounts."""
        assert max(self.told) <= LONGEST
        assert sum(self.told) >= 0.9 * flops / FLOPS

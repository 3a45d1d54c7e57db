"""How work that has no result in part comes to an end early."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libsvmx.enums import SolveStatus


class Stopped(Exception):
    """Raised between two pieces of work that are to come to an end. ``status``: TIME_LIMIT or INTERRUPTED."""

    def __init__(self, status: SolveStatus):
        super().__init__(status)
        self.status = status

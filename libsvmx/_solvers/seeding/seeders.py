"""The seeders by name; those that need SciPy are imported when they are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._solvers.seeding.starts import seed_avg, seed_near, seed_sir, seed_top

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._solvers.seeding.starts import Round
    from libsvmx._typing import Buffer

NAMES = ("sir", "top", "avg", "near", "mir", "ato")


def seeder(name: str) -> Callable[[Round], Buffer]:
    """One of ``NAMES``: a function from a Round to the alpha of its start, to be adjusted."""
    if name == "mir":
        from libsvmx._solvers.seeding.mir import seed_mir

        return seed_mir
    if name == "ato":
        from libsvmx._solvers.seeding.ato import seed_ato

        return seed_ato
    return {"sir": seed_sir, "top": seed_top, "avg": seed_avg, "near": seed_near}[name]

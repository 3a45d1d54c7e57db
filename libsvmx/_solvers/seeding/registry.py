"""The seeders: what each is called, does and is used with. A new one is a file of its own and a line here."""

from __future__ import annotations

from libsvmx._core.records import NamedTuple
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._solvers.seeding.fold_change import FoldChange
    from libsvmx._typing import Buffer


class Seeder(NamedTuple):
    """One seeder: the function ``seed`` of the module ``name`` beside this one.

    Attributes
    ----------
    name : str
    usual_scheme : str     'chain': made to start a fold from the one before; 'star': from the optimum over all rows
    help : str             what becomes of the alpha of a row that leaves
    """

    name: str
    usual_scheme: str
    help: str

    @property
    def seed(self) -> Callable[[FoldChange], Buffer]:
        """From a FoldChange to the beta of a start, float64, to be made feasible by ``adjust``. It is imported when it
        is asked for."""
        from importlib import import_module

        function: Callable[[FoldChange], Buffer] = import_module(f"libsvmx._solvers.seeding.{self.name}").seed
        return function


_ALL = (
    Seeder("sir", "chain", "goes to the most similar row of its class"),
    Seeder("mir", "chain", "is replaced by those of the rows that enter, all at once, by least squares"),
    Seeder("ato", "chain", "falls to 0 along a path on which the rows on the margin stay there"),
    Seeder("avg", "star", "is spread evenly over the rows on the margin"),
    Seeder("top", "star", "goes to the most similar row of any class, what has no room there to the next"),
    Seeder("near", "star", "goes to the most similar rows on the margin"),
)
SEEDERS = {seeder.name: seeder for seeder in _ALL}

"""The table of seeders; their computations are in seeders.pyx."""

from __future__ import annotations

from libsvmx._core.records import NamedTuple


class Seeder(NamedTuple):
    """One seeder.

    Attributes
    ----------
    name : str
    usual_scheme : str     'chain': a fold starts from the one before; 'star': from the optimum over all rows
    help : str             where the alpha of a row that leaves goes
    """

    name: str
    usual_scheme: str
    help: str


_ALL = (
    Seeder("sir", "chain", "goes to the most similar row of its class"),
    Seeder("mir", "chain", "is replaced by those of the rows that enter, all at once, by least squares"),
    Seeder("ato", "chain", "falls to 0 along a path on which the rows on the margin stay there"),
    Seeder("avg", "star", "is spread evenly over the rows on the margin"),
    Seeder("top", "star", "goes to the most similar row of any class, the remainder to the next"),
    Seeder("near", "star", "goes to the most similar rows on the margin"),
)
SEEDERS = {seeder.name: seeder for seeder in _ALL}

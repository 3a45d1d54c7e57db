"""How many examples hypothesis draws for a property: all with ``--exhaustive``, else a share."""

from hypothesis import settings

SHARE = 4
FEWEST = 10
exhaustive = False  # set by conftest before tests are collected


def examples(n, **options):
    """Settings of a property for which ``n`` examples are many; no example has a time limit."""
    if not exhaustive:
        n = max(n // SHARE, min(n, FEWEST))
    return settings(max_examples=n, deadline=None, **options)

"""Checks that worker threads wait for the caller."""

from libsvmx._train import side_by_side
from support.injected import put_around


def let_go_ahead(n, monkeypatch):
    """At most ``n`` solves side by side begin before their results are taken."""
    put_around(monkeypatch, side_by_side, "in_order", lambda known, *given: known(*given[:-1], min(given[-1] or n, n)))

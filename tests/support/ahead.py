"""Checks that worker threads wait for the caller."""

from libsvmx._train.side_by_side import Workers


def let_go_ahead(n, monkeypatch):
    """At most ``n`` solves side by side begin before their results are taken."""
    begin = Workers.__init__
    monkeypatch.setattr(
        Workers,
        "__init__",
        lambda workers, solve, total, observer, ahead: begin(workers, solve, total, observer, min(ahead, n)),
    )

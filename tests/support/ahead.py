"""Checks of threads that must wait for the caller."""

from libsvmx._train.side_by_side import Workers


def let_go_ahead(n, monkeypatch):
    """At most ``n`` solves side by side are begun before their results are taken."""
    begin = Workers.__init__
    monkeypatch.setattr(
        Workers,
        "__init__",
        lambda workers, solve, total, observer, ahead: begin(workers, solve, total, observer, min(ahead, n)),
    )

"""Faults put into the package at a given point: memory that is out, Ctrl-C, an error."""


def put_around(monkeypatch, owner, name, changed):
    """``owner.name`` is ``changed(known, *arguments)`` from now on, where ``known`` is what it was."""
    known = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *arguments, **options: changed(known, *arguments, **options))


def failing_once(monkeypatch, owner, name, error):
    """The first call raises."""
    errors = [error]

    def changed(known, *arguments, **options):
        if errors:
            raise errors.pop()
        return known(*arguments, **options)

    put_around(monkeypatch, owner, name, changed)


def interrupted_after(monkeypatch, owner, name):
    """Ctrl-C comes as a call has done its work."""

    def changed(known, *arguments, **options):
        known(*arguments, **options)
        raise KeyboardInterrupt

    put_around(monkeypatch, owner, name, changed)

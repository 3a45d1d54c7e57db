"""Faults injected at a given point of the package: out of memory, Ctrl-C, an error."""


def put_around(monkeypatch, owner, name, changed):
    """Replace ``owner.name`` by ``changed(known, *arguments)``, where ``known`` is the original."""
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
    """Ctrl-C arrives after a call."""

    def changed(known, *arguments, **options):
        known(*arguments, **options)
        raise KeyboardInterrupt

    put_around(monkeypatch, owner, name, changed)

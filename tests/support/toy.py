"""Sessions of svmx-toy."""

from libsvmx.toy.picture import View
from libsvmx.toy.session import Session

VIEW = View(-1.5, 1.5, -1.0, 1.0, 13, 9)


def begun(rows=(), **settings):
    """A session with rows (x, y, label) and settings."""
    session = Session()
    session.change([{"do": "set", **settings}] if settings else [])
    session.change([{"do": "add", "x": x, "y": y, "label": label} for x, y, label in rows])
    return session

"""A suggestion for a file that does not exist."""

from __future__ import annotations

import os

from libsvmx._core.suggestions import nearest

MOST_NAMES = 10_000  # of the folder, that are compared


def instead_of(path: str) -> str:
    """``; did you mean NAME?`` if the folder has a similar name."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry, _ in zip(entries, range(MOST_NAMES), strict=False)]
    except OSError:
        return ""
    found = nearest(name, names)
    return f"; did you mean {os.path.join(folder, found)}?" if found else ""

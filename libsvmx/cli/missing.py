"""What is there instead of a file that is not."""

from __future__ import annotations

import os

from libsvmx._core.suggestions import nearest

MOST_NAMES = 10_000  # of a folder, among which the file's is looked for


def instead_of(path: str) -> str:
    """``; did you mean NAME?`` where the folder has a name like it."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry, _ in zip(entries, range(MOST_NAMES), strict=False)]
    except OSError:
        return ""
    found = nearest(name, names)
    return f"; did you mean {os.path.join(folder, found)}?" if found else ""

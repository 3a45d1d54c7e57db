"""What tells that outputs which belong together have parted: their process was killed between two renames.

    write_files   ──before the first rename──>   a note beside each output   ──after the last──>   none
    who reads one of them   ──there is a note──>   are some outputs new, while others are still old?

A note has a record for each output: by what the old file and the new one are known, and the path. A file that was
changed or replaced since is neither, so it takes nobody's word for what it is.
"""

from __future__ import annotations

import os

from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = "-"  # what a file that does not exist is known by
END = "whole"  # the last record of a note that is


def leave_note(note: str, renames: Sequence[tuple[str, str]]) -> None:
    """What is about to be done: (file, target) of all renames, in their order. Raises OSError."""
    records = [f"{known_by(target)} {known_by(file)} {target}" for file, target in renames]
    with open(note, "wb") as content:
        content.write(os.fsencode("\0".join([*records, END])))


def remark_of(note: str) -> str | None:
    """What to warn of who reads one of the outputs of a note, where some are new, while others are still old."""
    new, old = [], []
    for record in _records(note):
        before, after, target = record.split(" ", 2)
        now = known_by(target)
        if now == after:
            new.append(target)
        elif now == before:
            old.append(target)
    if not (new and old):
        return None
    return (
        "the command that wrote it was killed before all files were in place, so they do not belong together: "
        f"new {', '.join(new)}; as before {', '.join(old)}. Run it again"
    )


def known_by(path: str) -> str:
    """What a file has that no other one has, renamed or not: number, bytes, time of its last change."""
    try:
        status = os.stat(path)
    except OSError:
        return NOTHING
    return f"{status.st_ino}.{status.st_size}.{status.st_mtime_ns}"


def _records(note: str) -> list[str]:
    """Of a note; none of one that is damaged, or was not written to its end: then nothing was renamed."""
    try:
        with open(note, "rb") as file:
            *records, end = os.fsdecode(file.read()).split("\0")
    except OSError:
        return []
    return records if end == END and all(record.count(" ") >= 2 for record in records) else []

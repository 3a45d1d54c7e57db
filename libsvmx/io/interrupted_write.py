"""Detection of outputs of one command of which only some were replaced, since it was killed between two renames.

    write_files         ──before the first rename──>   a note beside each output   ──after the last──>   removed
    reader of an output ──finds a note──>              are some outputs new, and others still old?

A note has a record for each output: fingerprints of the old file and of the new one, and the path. A file changed or
replaced since then matches neither and is ignored.
"""

from __future__ import annotations

import os

from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = "-"  # fingerprint of a file that does not exist
END = "whole"  # the last record of a complete note


def leave_note(note: str, renames: Sequence[tuple[str, str]]) -> None:
    """Write the note for these renames, (file, target) in order. Raises OSError."""
    records = [f"{fingerprint(target)} {fingerprint(file)} {target}" for file, target in renames]
    with open(note, "wb") as content:
        content.write(os.fsencode("\0".join([*records, END])))


def remark_of(note: str) -> str | None:
    """The warning for readers of an output, if some outputs of the note are new and others old; else None."""
    new, old = [], []
    for record in _records(note):
        before, after, target = record.split(" ", 2)
        now = fingerprint(target)
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


def fingerprint(path: str) -> str:
    """Inode, size and time of modification, which a rename keeps."""
    try:
        status = os.stat(path)
    except OSError:
        return NOTHING
    return f"{status.st_ino}.{status.st_size}.{status.st_mtime_ns}"


def _records(note: str) -> list[str]:
    """The records of a note; none if it is damaged or incomplete: then nothing was renamed."""
    try:
        with open(note, "rb") as file:
            *records, end = os.fsdecode(file.read()).split("\0")
    except OSError:
        return []
    return records if end == END and all(record.count(" ") >= 2 for record in records) else []

"""Numbers of rows in a list or a file, for ``svmx-update --remove``."""

from __future__ import annotations

import re
from collections.abc import Callable

from libsvmx.exceptions import FormatError, SvmxError
from libsvmx.io.files import name_of_input, read_bytes

ROWS = re.compile(r"[0-9]{1,18}(-[0-9]{1,18})?(,[0-9]{1,18}(-[0-9]{1,18})?)*")


def removed_file(remove: str | None) -> str | None:
    """The file with the numbers of rows to remove; None for a list, or without the option."""
    return remove if remove and not ROWS.fullmatch(remove) else None


def rows_to_remove(text: str, ids: list[int], what: str) -> list[int]:
    """The ids of rows given by their numbers, ids + 1, in a list or in a file.

    Raises SvmxError, which names the option, or file and line, for what is no number of a row, or given twice.
    """
    known = set(ids)
    gone: list[int] = []
    taken: set[int] = set()

    def take(first: int, last: int, error: Callable[[str], SvmxError]) -> None:
        if last < first:
            raise error(f"the range {first}-{last} ends before it begins")
        for number in range(first, last + 1):
            if number - 1 not in known:
                raise error(f"there is no row {number} among the {len(known)} {what}")
            if number in taken:
                raise error(f"row {number} is given twice")
            taken.add(number)
            gone.append(number - 1)

    if ROWS.fullmatch(text):
        for part in text.split(","):
            first, _, last = part.partition("-")
            take(int(first), int(last or first), lambda cause: SvmxError(f"--remove: {cause}"))
        return gone
    path = name_of_input(text)
    for line, content in enumerate(read_bytes(text).rstrip().splitlines(), 1):

        def error(cause: str, line: int = line) -> FormatError:
            return FormatError(path, line, 0, cause)

        word = content.strip().decode("ascii", "replace")
        if not (word.isascii() and word.isdigit() and len(word) <= 18):
            raise error(f"not the number of a row: {word[:40]!r}")
        take(int(word), int(word), error)
    return gone

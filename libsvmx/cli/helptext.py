"""Usages as wide as the terminal: the texts are written for 120 columns."""

from __future__ import annotations

import re
from textwrap import TextWrapper

ENTRY = re.compile(r"( +)(\S+(?: \S+)*)  +(\S.*)")  # an option and, after two blanks at least, what it does
LEAST = 40  # no narrower, however small the terminal
UNKNOWN = -2  # column of what an option does that leaves no room beside it: the next line tells
NARROW = 8  # indent of what an option does where its own column would leave too little room


def fitted(text: str, width: int | None) -> str:
    """``text`` with no line longer than ``width``, except for words that are; as it is where it fits."""
    if width is None or all(len(line) <= width for line in text.splitlines()):
        return text
    return "".join(f"{line}\n" for block in blocks(text) for line in fitted_block(block, max(width, LEAST)))


def blocks(text: str) -> list[list[str]]:
    """Lines that belong together: an option with all that it does, a paragraph, or a line of its own."""
    found: list[list[str]] = []
    column = -1  # where lines begin that go on with the last block; -1 where none does
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line and (indent == column or (column == UNKNOWN and indent > 2)):
            found[-1].append(line)
            column = indent
            continue
        found.append([line])
        entry = ENTRY.fullmatch(line)
        if entry is not None:
            column = entry.start(3)
        elif line.startswith("  -"):
            column = UNKNOWN
        else:
            column = -1 if indent or not line or line.startswith("usage:") or line.endswith(":") else 0
    return found


def fitted_block(lines: list[str], width: int) -> list[str]:
    """The lines of a block, no longer than ``width``."""
    entry, rest = ENTRY.fullmatch(lines[0]), [line.strip() for line in lines[1:]]
    indent = len(lines[0]) - len(lines[0].lstrip())
    if entry is not None:
        left, column, words = f"{entry[1]}{entry[2]}", entry.start(3), [entry[3], *rest]
    elif indent and rest:
        left, column, words = lines[0], len(lines[1]) - len(lines[1].lstrip()), rest
    else:
        hanging = len("usage: ") + 4 if lines[0].startswith("usage:") else indent + 4 * bool(indent)
        return wrapped(" ".join([lines[0].strip(), *rest]), width, " " * indent, " " * hanging)
    if column > width // 2:
        column = NARROW
    text = wrapped(" ".join(words), width, " " * column, " " * column)
    if len(left) + 2 > column:
        return [left, *text]
    return [left.ljust(column) + text[0][column:], *text[1:]]


def wrapped(text: str, width: int, first: str, others: str) -> list[str]:
    """Lines of whole words."""
    wrapper = TextWrapper(width, first, others, break_on_hyphens=False, break_long_words=False)
    return wrapper.wrap(text) or [""]

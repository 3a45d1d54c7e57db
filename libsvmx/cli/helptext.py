"""Usages, written for 120 columns, refitted to the width of the terminal."""

from __future__ import annotations

import re
from textwrap import TextWrapper

ENTRY = re.compile(r"( +)(\S+(?: \S+)*)  +(\S.*)")  # an option and, after at least two blanks, its description
LEAST = 40  # minimum width, however small the terminal
UNKNOWN = -2  # column of a description that begins below its option
NARROW = 8  # indent of descriptions whose own column would leave too little room


def fitted(text: str, width: int | None) -> str:
    """``text`` with lines of at most ``width``, except for longer words; unchanged if it fits."""
    if width is None or all(len(line) <= width for line in text.splitlines()):
        return text
    return "".join(f"{line}\n" for block in blocks(text) for line in fitted_block(block, max(width, LEAST)))


def blocks(text: str) -> list[list[str]]:
    """Groups of lines: an option with its description, a paragraph, or a single line."""
    found: list[list[str]] = []
    column = -1  # indent of lines that continue the last block; -1: none does
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
    """The lines of a block, refitted."""
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

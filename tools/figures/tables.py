"""Tables of docs/."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def table(page, *heading):
    """Rows of the first table of a page whose heading begins so, as tuples of str without marks of bold type."""
    lines = iter((DOCS / page).read_text(encoding="utf-8").splitlines())
    for line in lines:
        if cells(line)[: len(heading)] == heading:
            next(lines)
            return [*map(cells, until_blank(lines))]
    raise LookupError(f"docs/{page} has no table whose heading begins with {' | '.join(heading)}")


def until_blank(lines):
    for line in lines:
        if not line.startswith("|"):
            return
        yield line


def cells(line):
    return tuple(cell.strip().replace("**", "") for cell in re.split(r"(?<!\\)\|", line)[1:-1])

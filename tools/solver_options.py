"""The tables of solvers' settings in docs/solvers.md, made from what the solvers declare.

Usage: python tools/solver_options.py [--write]        prints them, or puts them in their places

A table stands in the docs between `<!-- settings of NAME -->` and `<!-- end -->`.
"""

import re
import sys
from pathlib import Path

from libsvmx._solvers.registry import solver_class

DOCS = Path(__file__).resolve().parents[1] / "docs" / "solvers.md"
PLACE = re.compile(r"(<!-- settings of (\w+) -->\n).*?(<!-- end -->)", re.S)


def table(name):
    """The settings of a solver, in Markdown."""
    rows = ["| option | in Python | what it says |", "|---|---|---|"]
    for known in solver_class(name).settings():
        option = known.option if known.kind is bool or not known.option else f"{known.option} {known.metavar}"
        python = f"{known.name}={not known.default}" if known.kind is bool else known.name
        text = known.help if known.kind is bool or known.default == "" else f"{known.help} (default {known.default})"
        for choice in known.choices:
            text = text.replace(f"({choice})", f"(`{choice}`)")
        rows.append(f"| {f'`{option}`' if option else ''} | `{python}` | {text} |")
    return "".join(f"{row}\n" for row in rows)


def filled_in(text):
    """``text`` with every table as it should be."""
    return PLACE.sub(lambda place: f"{place[1]}{table(place[2])}{place[3]}", text)


if __name__ == "__main__":
    text = DOCS.read_text(encoding="utf-8")
    if "--write" in sys.argv[1:]:
        DOCS.write_text(filled_in(text), encoding="utf-8")
    else:
        for place in PLACE.finditer(text):
            print(f"{place[2]}\n\n{table(place[2])}")

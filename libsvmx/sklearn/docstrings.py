"""Docstrings of estimators made whole: what several of them have is described in one, and shown in all.

kernel, degree          kernel : {'linear', …}, default='rbf'
    As in ``SVC``.          Kernel function; …
                   ->   degree : int, default=3
                            Degree of the polynomial kernel.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Any

ELSEWHERE = re.compile(r"^([\w, ]+)\n    As in ``(\w+)``\.$", re.MULTILINE)


def whole(text: str, kinds: dict[str, Any]) -> str:
    """A docstring with the entries of those of ``kinds``, estimators by name, in place of references."""

    def described(found: re.Match[str]) -> str:
        there = whole(kinds[found[2]].__doc__, kinds)
        return "\n".join(entry(there, name) for name in found[1].split(", "))

    return ELSEWHERE.sub(described, cleandoc(text))


def entry(text: str, name: str) -> str:
    """What a docstring says of a parameter or an attribute."""
    found = re.search(rf"^(?:\w+, )*{name}(?:, \w+)*((?: : .*)?(?:\n    .*)+)", text, re.MULTILINE)
    assert found, name
    return name + found[1]

"""Completes docstrings of estimators: a shared parameter is described in one, and copied into the others.

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
    """A docstring whose references to ``kinds``, estimators by name, are replaced by their entries."""

    def described(found: re.Match[str]) -> str:
        there = whole(kinds[found[2]].__doc__, kinds)
        return "\n".join(entry(there, name) for name in found[1].split(", "))

    return ELSEWHERE.sub(described, cleandoc(text))


def entry(text: str, name: str) -> str:
    """The description of a parameter or an attribute in a docstring."""
    found = re.search(rf"^(?:\w+, )*{name}(?:, \w+)*((?: : .*)?(?:\n    .*)+)", text, re.MULTILINE)
    assert found, name
    return name + found[1]

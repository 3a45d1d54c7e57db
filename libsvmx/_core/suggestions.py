"""Suggestions for mistyped names. Loaded only when there is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LEAST_LENGTH = 3  # shorter names resemble too many others


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name most similar to ``word``, if any is."""
    names, lower = {name.lower(): name for name in known}, word.lower()
    if lower in names:
        return names[lower]
    if len(word) < LEAST_LENGTH:
        begun = [names[name] for name in names if len(word) > 1 and name.startswith(lower)]
        return begun[0] if len(begun) == 1 else None
    from difflib import get_close_matches

    found = get_close_matches(lower, list(names), 1)
    return names[found[0]] if found else None


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """``; did you mean NAME?``, or nothing."""
    found = nearest(word, known) if isinstance(word, str) else None
    return f"; did you mean {found}?" if found else ""


def unknown(what: str, given: object, known: Sequence[str], shown: Sequence[str] = ()) -> str:
    """The message for an unknown name; ``shown`` describes the known ones."""
    return f"unknown {what} {given!r}: choose one of {', '.join(shown or known)}{did_you_mean(given, known)}"

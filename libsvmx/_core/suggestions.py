"""What somebody may have meant who has mistyped a name. Loaded when there is such a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LEAST_LENGTH = 3  # shorter names are like too many others
LIKENESS = 0.7  # of difflib, from 0 to 1


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The name that is most like ``word``, if one is."""
    if len(word) < LEAST_LENGTH:
        return None
    from difflib import get_close_matches

    names = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), list(names), 1, LIKENESS)
    return names[found[0]] if found else None


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """``; did you mean NAME?``, or nothing; what is no text is no name."""
    found = nearest(word, known) if isinstance(word, str) else None
    return f"; did you mean {found}?" if found else ""


def unknown(what: str, given: object, known: Sequence[str], shown: Sequence[str] = ()) -> str:
    """What is said of a name that is none of those known; ``shown`` says more of each of these."""
    return f"unknown {what} {given!r}: choose one of {', '.join(shown or known)}{did_you_mean(given, known)}"

"""The kind of a file that is not a model of LIBSVM, by its first bytes."""

from __future__ import annotations

HEAD_BYTES = 4096

BEGINNINGS = (
    (b"SVM-light Version", "a model of SVM-light"),
    (b"solver_type ", "a model of LIBLINEAR"),
    (b"\x80", "a pickle of Python"),
)


def kind_of(content: bytes) -> str:
    """The kind of a file, as a noun with its article; '' if unknown, or a model."""
    head = content[:HEAD_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginning, kind in BEGINNINGS:
        if head.startswith(beginning):
            return kind
    if head.startswith(b"PK") and b"libsvmx-state" in head:
        return "a state of svmx-update"
    if head.startswith((b"%YAML", b"<?xml", b"<opencv", b"{")) and b"opencv" in head:
        return "a file of OpenCV"
    lines = [line for line in map(bytes.split, head.splitlines()) if line and not line[0].startswith(b"#")]
    if lines[:1] in ([[b"x"]], [[b"y"]]) and len(lines) > 1 and len(lines[1]) == 2:
        return "a file of ranges, of svm-scale"
    return "a data file" if lines and is_row(lines[0]) else ""


def is_row(words: list[bytes]) -> bool:
    """Whether the words begin with a label, or labels, and a pair, as a line of data does."""
    label, _, _ = words[0].partition(b",")
    pair = words[1].split(b":") if len(words) > 1 else []
    return is_number(label) and len(pair) == 2 and all(map(is_number, pair))


def is_number(word: str | bytes) -> bool:
    """Whether it converts to a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True

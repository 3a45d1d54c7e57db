"""Enumerations behave like those of ``enum``."""

import copy
import enum
import json
import pickle

import pytest

from libsvmx._core import enumerations
from libsvmx.enums import KernelType, SolveStatus, SvmType


def variants(module):
    """An enumeration of numbers, one of texts, and one whose members have several values."""

    class Number(module.IntEnum):
        """Of two."""

        FIRST = 1
        SECOND = 2

        @property
        def is_first(self):
            return self is type(self).FIRST

    class Text(module.StrEnum):
        ONE = "one text"
        OTHER = "another"

    class More(module.IntEnum):
        def __new__(cls, value, keyword=""):
            made = int.__new__(cls, value)
            made._value_, made.keyword = value, keyword
            return made

        A = 0, "a"
        B = 3, "b"

    return Number, Text, More


OURS, THEIRS = variants(enumerations), variants(enum)


def done(function):
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


ASKED = {
    "members": lambda kind: [(member.name, member.value) for member in kind],
    "reversed": lambda kind: [member.name for member in reversed(kind)],
    "names": lambda kind: list(kind.__members__),
    "length": len,
    "by value": lambda kind: [kind(member.value) is member for member in kind],
    "of itself": lambda kind: [kind(member) is member for member in kind],
    "by name": lambda kind: [kind[member.name] is member for member in kind],
    "unknown value": lambda kind: kind(77),
    "no value": lambda kind: kind([]),
    "unknown name": lambda kind: kind["NONE"],
    "texts": lambda kind: [(repr(member), str(member), f"{member}", f"{member:>9}") for member in kind],
    "equal": lambda kind: [member == member.value for member in kind],
    "order": lambda kind: [member.name for member in sorted(kind)],
    "hash": lambda kind: dict.fromkeys(kind, 1) == {member.value: 1 for member in kind},
    "type": lambda kind: [isinstance(member, kind) for member in kind],
    "contains": lambda kind: [member in kind for member in kind],
    "json": lambda kind: json.dumps(list(kind)),
    "copies": lambda kind: [copy.copy(member) is member is copy.deepcopy(member) for member in kind],
    "reduced": lambda kind: [member.__reduce_ex__(2)[1] for member in kind],
    "set": lambda kind: setattr(kind, next(iter(kind)).name, 5),
    "value set": lambda kind: type(done(lambda: setattr(next(iter(kind)), "value", 5))),
    "doc": lambda kind: kind.__doc__ if kind.__name__ == "Number" else "",
    "first": lambda kind: [getattr(member, "is_first", None) for member in kind],
    "keywords": lambda kind: [getattr(member, "keyword", None) for member in kind],
    "matched": lambda kind: [matched(member, kind) for member in kind],
}


def matched(member, kind):
    match member:
        case 1 | "one text":
            return "first"
        case kind():
            return "another"


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("which", range(len(OURS)))
def test_what_an_enumeration_does_an_enum_does(which, asked):
    ours, theirs = (done(lambda kind=kind: ASKED[asked](kind)) for kind in (OURS[which], THEIRS[which]))
    if asked == "reduced":  # Python 3.11.0 to 3.11.3 reduces its own by name, others by value
        theirs = [(member.value,) for member in THEIRS[which]]
    if asked == "set":  # the message differs between Python versions
        ours, theirs = ours[0], theirs[0]
    assert ours == theirs


@pytest.mark.parametrize("kind", [SvmType, KernelType, SolveStatus])
def test_members_are_pickled_by_value(kind):
    for member in kind:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(member, protocol)) is member


def test_members_stay():
    for change in (lambda: setattr(SvmType, "C_SVC", 3), lambda: delattr(SvmType, "C_SVC")):
        with pytest.raises(AttributeError):
            change()
    assert SvmType.C_SVC == 0

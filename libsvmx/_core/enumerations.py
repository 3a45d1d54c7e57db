"""Enumerations without ``enum``, whose import costs more than a small training.

``IntEnum`` and ``StrEnum`` are the needed parts of those of ``enum``: members from the assignments in a class, equal to
their value, with ``name`` and ``value``; ``Kind(value)``, ``Kind["NAME"]``, iteration, ``in``, ``len``. A ``__new__``
must set ``_value_``. Type checkers see the originals; members are no instances of ``enum.Enum``.
"""

from __future__ import annotations

from libsvmx._typing import TYPE_CHECKING

__all__ = ["IntEnum", "StrEnum"]

if TYPE_CHECKING:
    from enum import IntEnum, StrEnum
else:

    class Kinds(type):
        """The type of an enumeration."""

        def __new__(cls, name, bases, namespace):
            given = {key: what for key, what in namespace.items() if cls.is_member(key, what)}
            left = {key: what for key, what in namespace.items() if key not in given}
            made = super().__new__(cls, name, bases, left)
            members = {}
            for key, what in given.items():
                member = made.__new__(made, *(what if isinstance(what, tuple) else (what,)))
                member._name_ = key
                members[key] = member
                type.__setattr__(made, key, member)
            type.__setattr__(made, "_members", members)
            type.__setattr__(made, "_by_value", {member._value_: member for member in members.values()})
            return made

        @staticmethod
        def is_member(key, what):
            return not key.startswith("_") and not hasattr(what, "__get__")

        def __call__(cls, value):
            try:
                return cls._by_value[value]
            except (KeyError, TypeError):
                raise ValueError(f"{value!r} is not a valid {cls.__qualname__}") from None

        def __getitem__(cls, name):
            return cls._members[name]

        def __iter__(cls):
            return iter(cls._members.values())

        def __reversed__(cls):
            return reversed(cls._members.values())

        def __len__(cls):
            return len(cls._members)

        def __contains__(cls, value):
            return isinstance(value, cls) or value in cls._by_value

        @property
        def __members__(cls):
            return dict(cls._members)

        def __setattr__(cls, name, value):
            if name in cls.__dict__.get("_members", ()):
                raise AttributeError(f"cannot reassign member {name!r}")
            super().__setattr__(name, value)

        def __delattr__(cls, name):
            if name in cls.__dict__.get("_members", ()):
                raise AttributeError(f"{cls.__name__!r} cannot delete member {name!r}.")
            super().__delattr__(name)

    class Member:
        """Base of members."""

        __slots__ = ()

        @property
        def name(self):
            return self._name_

        @property
        def value(self):
            return self._value_

        def __repr__(self):
            return f"<{type(self).__name__}.{self._name_}: {self._value_!r}>"

        def __reduce_ex__(self, protocol):
            return type(self), (self._value_,)

        def __copy__(self):
            return self

        def __deepcopy__(self, memo):
            return self

    class IntEnum(Member, int, metaclass=Kinds):
        def __new__(cls, value):
            member = int.__new__(cls, value)
            member._value_ = value
            return member

        __str__ = int.__repr__
        __format__ = int.__format__

    class StrEnum(Member, str, metaclass=Kinds):
        def __new__(cls, value):
            member = str.__new__(cls, value)
            member._value_ = value
            return member

        __str__ = str.__str__
        __format__ = str.__format__

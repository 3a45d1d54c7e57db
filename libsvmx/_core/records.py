"""Records: classes whose fields are their annotations, as by ``dataclasses``, at a fraction of its price.

``dataclasses`` imports ``inspect``, and that a dozen more, and each class of it compiles half a dozen functions: with
``typing`` a third of the time that a small training takes as a process. So what a command needs at its start is made
here. ``record`` is ``dataclass``; ``field``, ``fields`` and ``replace`` are those of ``dataclasses``, with the parts
that are needed; ``NamedTuple`` is that of ``typing``. Type checkers see the originals.

For others a record is a dataclass, too: ``dataclasses.fields`` and ``dataclasses.replace`` take it, and it raises
``dataclasses.FrozenInstanceError``.
"""

from __future__ import annotations

from libsvmx._typing import TYPE_CHECKING

__all__ = ["NamedTuple", "field", "fields", "record", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import field, fields, replace
    from typing import NamedTuple
else:
    from collections import namedtuple

    class NamedTuple(tuple):
        """As that of ``typing``."""

        __slots__ = ()

        def __init_subclass__(cls):
            names = tuple(cls.__annotations__)
            made = namedtuple(cls.__name__, names, module=cls.__module__)
            for name in (*names, *NAMED_TUPLE_HAS):
                setattr(cls, name, vars(made)[name])

    NAMED_TUPLE_HAS = ("__new__", "__repr__", "__getnewargs__", "__match_args__", "_fields", "_make", "_replace")
    MISSING = object()

    class Field:
        """What is known of a field; attributes as of ``field``, and ``name``."""

        __slots__ = ("annotation", "compare", "default", "default_factory", "kw_only", "metadata", "name")

        def __init__(self, default=MISSING, default_factory=MISSING, compare=True, metadata=None):
            self.default, self.default_factory = default, default_factory
            self.compare, self.metadata = compare, metadata or {}

        @property
        def required(self):
            return self.default is MISSING and self.default_factory is MISSING

    def field(*, default=MISSING, default_factory=MISSING, compare=True, metadata=None):
        """A field that is more than a default."""
        return Field(default, default_factory, compare, metadata)

    def fields(of):
        """The fields of a record or of its class, in their order."""
        return tuple(of.__record_fields__.values())

    def replace(of, **changes):
        """A record, or any dataclass, with other values of some fields."""
        if not hasattr(of, "__record_fields__"):
            import dataclasses

            return dataclasses.replace(of, **changes)
        return type(of)(**{**{name: getattr(of, name) for name in of.__record_fields__}, **changes})

    def record(frozen=False, slots=False, eq=True, kw_only=False):
        """Make a class a record. Its annotations are strings, as ``from __future__ import annotations`` leaves them."""

        def made(cls):
            annotations = vars(cls).get("__annotations__", {})
            own = {name: _field_of(cls, name, kw_only) for name, what in annotations.items() if "ClassVar" not in what}
            methods = _methods(cls, {**getattr(cls, "__record_fields__", {}), **own}, frozen, eq)
            if frozen and slots:
                methods.update(__getstate__=_state, __setstate__=_set_state)
            methods = {name: method for name, method in methods.items() if name not in vars(cls)}
            if slots:  # they are made with a class, so this is another one
                left = {name: value for name, value in vars(cls).items() if name not in own}
                del left["__dict__"], left["__weakref__"]
                left.update(methods, __slots__=tuple(own), __qualname__=cls.__qualname__)
                return type(cls)(cls.__name__, cls.__bases__, left)
            for name, one in own.items():
                if isinstance(vars(cls).get(name), Field):
                    delattr(cls, name)
                    if one.default is not MISSING:
                        setattr(cls, name, one.default)
            for name, value in methods.items():
                setattr(cls, name, value)
            return cls

        return made

    def _field_of(cls, name, kw_only):
        given = cls.__dict__.get(name, MISSING)
        one = given if isinstance(given, Field) else Field(given)
        one.name, one.kw_only, one.annotation = name, kw_only, cls.__annotations__[name]
        return one

    def _methods(cls, known, frozen, eq):
        """What a record has that its class does not define."""
        compared = [one.name for one in known.values() if one.compare]
        methods = {
            "__record_fields__": known,
            "__dataclass_fields__": _AsDataclass("__dataclass_fields__", frozen, eq),
            "__dataclass_params__": _AsDataclass("__dataclass_params__", frozen, eq),
            "__match_args__": tuple(one.name for one in known.values() if not one.kw_only),
            "__init__": _init(cls, known, frozen),
            "__repr__": _repr,
        }
        if eq:

            def values(self):
                return tuple([getattr(self, name) for name in compared])

            def equal(self, other):
                return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

            methods["__eq__"] = equal
            methods["__hash__"] = (lambda self: hash(values(self))) if frozen else None
        if frozen:
            methods["__setattr__"], methods["__delattr__"] = _refuse, _refuse
        return methods

    def _init(cls, known, frozen):
        """``__init__`` with the fields as arguments, compiled from its text so that it has their names and is fast."""
        values = {"_put": object.__setattr__, "_missing": MISSING}
        positional, keyword, body = [], [], []
        for name, one in known.items():
            argument = name
            if not one.required:
                values[f"_default_{name}"] = one.default if one.default_factory is MISSING else MISSING
                argument += f"=_default_{name}"
            (keyword if one.kw_only else positional).append(argument)
            value = name
            if one.default_factory is not MISSING:
                values[f"_make_{name}"] = one.default_factory
                value = f"_make_{name}() if {name} is _missing else {name}"
            body.append(f"_put(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            body.append("self.__post_init__()")
        arguments = ["self", *positional, *(["*", *keyword] if keyword else [])]
        text = f"def __init__({', '.join(arguments)}):\n " + "\n ".join(body or ["pass"])
        exec(text, values, made := {})
        init = made["__init__"]
        init.__annotations__ = {**{name: one.annotation for name, one in known.items()}, "return": None}
        init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
        return init

    def _repr(self):
        return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__record_fields__)})"

    def _refuse(self, name, *value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")

    def _state(self):
        return [getattr(self, name) for name in self.__record_fields__]

    def _set_state(self, state):
        for name, value in zip(self.__record_fields__, state, strict=True):
            object.__setattr__(self, name, value)

    class _AsDataclass:
        """An attribute that a dataclass has, made when somebody asks: the functions of ``dataclasses``, or Dask."""

        def __init__(self, name, frozen, eq):
            self.name, self.frozen, self.eq = name, frozen, eq

        def __get__(self, of, cls):
            import dataclasses

            found = []
            for one in cls.__record_fields__.values():
                default = {} if one.default is MISSING else {"default": one.default}
                if one.default_factory is not MISSING:
                    default = {"default_factory": one.default_factory}
                more = {"compare": one.compare, "metadata": one.metadata, "kw_only": one.kw_only}
                found.append((one.name, one.annotation, dataclasses.field(**default, **more)))
            same = dataclasses.make_dataclass(cls.__name__, found, frozen=self.frozen, eq=self.eq)
            return getattr(same, self.name)

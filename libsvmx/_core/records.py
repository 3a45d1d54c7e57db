"""Records: dataclasses and named tuples that are fast to import.

``dataclasses`` imports ``inspect`` and a dozen other modules, and compiles half a dozen functions per class: with
``typing`` a third of the time of a small training as a process. ``record`` stands for ``dataclass``; ``field``,
``fields`` and ``replace`` are the needed parts of ``dataclasses``, ``NamedTuple`` that of ``typing``. ``__init__`` is
compiled after some calls. Type checkers see the originals, and ``dataclasses.fields``, ``dataclasses.replace`` and
``dataclasses.FrozenInstanceError`` work with records.
"""

from __future__ import annotations

from libsvmx._typing import TYPE_CHECKING

__all__ = ["NamedTuple", "field", "fields", "record", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import field, fields, replace
    from typing import NamedTuple
else:
    from _operator import itemgetter

    from libsvmx._core.arrays import set_fields

    class NamedTuple(tuple):
        """As that of ``typing``."""

        __slots__ = ()
        _fields, _field_defaults = (), {}

        def __init_subclass__(cls):
            cls._fields = cls.__match_args__ = tuple(cls.__annotations__)
            cls._field_defaults = {name: cls.__dict__[name] for name in cls._fields if name in cls.__dict__}
            for at, name in enumerate(cls._fields):
                setattr(cls, name, property(itemgetter(at)))

        def __new__(cls, *given, **named):
            if len(given) == len(cls._fields) and not named:  # faster: folds are made by the dozen
                return tuple.__new__(cls, given)
            rest = cls._fields[len(given) :]
            if named or rest:
                known = {**cls._field_defaults, **named}
                given += tuple([known[name] for name in rest if name in known])
            if len(given) != len(cls._fields) or not named.keys() <= set(rest):
                raise TypeError(f"{cls.__name__} takes {', '.join(cls._fields)}, each once")
            return tuple.__new__(cls, given)

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in zip(self._fields, self, strict=True))})"

        def __getnewargs__(self):
            return tuple(self)

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, **named):
            return type(self)(**{**dict(zip(self._fields, self, strict=True)), **named})

    class Missing:
        """Marks a missing default, and one made by a factory."""

        def __repr__(self):
            return "<factory>"  # as in signatures of dataclasses

    MISSING = Missing()
    PLAIN_CALLS = 8  # of __init__ before it is compiled, which costs as much as a hundred; more than at a start

    class Field:
        """A field; attributes as in ``field``, and ``name``."""

        __slots__ = ("annotation", "compare", "default", "default_factory", "kw_only", "metadata", "name", "repr")

        def __init__(self, default=MISSING, default_factory=MISSING, compare=True, metadata=None, repr=True):
            self.default, self.default_factory = default, default_factory
            self.compare, self.metadata, self.repr = compare, metadata or {}, repr

        @property
        def required(self):
            return self.default is MISSING and self.default_factory is MISSING

    def field(*, default=MISSING, default_factory=MISSING, compare=True, metadata=None, repr=True):
        """A field that is more than a default."""
        return Field(default, default_factory, compare, metadata, repr)

    def fields(of):
        """The fields of a record or of its class, in order."""
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
            given = dict(vars(cls))
            methods = {name: method for name, method in methods.items() if name not in given}
            if slots:  # they are made with a class, so this is another one
                left = {name: value for name, value in given.items() if name not in own}
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
        """Methods and attributes of a record."""
        compared = [one.name for one in known.values() if one.compare]
        methods = {
            "__record_fields__": known,
            "__dataclass_fields__": _AsDataclass("__dataclass_fields__", frozen, eq),
            "__dataclass_params__": _AsDataclass("__dataclass_params__", frozen, eq),
            "__match_args__": tuple(one.name for one in known.values() if not one.kw_only),
            "__init__": _init(cls, known),
            "__signature__": _Signature(),
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

    def _init(cls, known):
        """``__init__`` with the fields as arguments; compiled after PLAIN_CALLS calls, or at a wrong one."""
        positional = [name for name, one in known.items() if not one.kw_only]
        usual = {name: one.default for name, one in known.items() if one.default is not MISSING}
        made = {name: one.default_factory for name, one in known.items() if one.default_factory is not MISSING}
        finish, left = hasattr(cls, "__post_init__"), [PLAIN_CALLS]

        def __init__(self, *args, **given):
            values = usual | given | dict(zip(positional, args, strict=False))
            for name in made:
                if name not in values:
                    values[name] = made[name]()
            left[0] -= 1
            fits = given.keys() <= known.keys() and given.keys().isdisjoint(positional[: len(args)])
            if left[0] < 0 or not fits or len(values) != len(known) or len(args) > len(positional):
                compiled = _compiled_init(cls, known)
                for owner in type(self).__mro__:
                    if owner.__dict__.get("__init__") is __init__:
                        owner.__init__ = compiled
                return compiled(self, *args, **given)
            set_fields(self, tuple(values), tuple(values.values()))
            if finish:
                self.__post_init__()

        return _named(__init__, cls, known)

    def _named(init, cls, known):
        init.__annotations__ = {**{name: one.annotation for name, one in known.items()}, "return": None}
        init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
        return init

    def _compiled_init(cls, known):
        """``__init__`` compiled from its text, so that it has the names of the fields and is fast."""
        values = {"_set_fields": set_fields, "_names": tuple(known), "_missing": MISSING}
        positional, keyword, set_to = [], [], []
        for name, one in known.items():
            argument = name
            if not one.required:
                values[f"_default_{name}"] = one.default if one.default_factory is MISSING else MISSING
                argument += f"=_default_{name}"
            (keyword if one.kw_only else positional).append(argument)
            if one.default_factory is not MISSING:
                values[f"_make_{name}"] = one.default_factory
                name = f"_make_{name}() if {name} is _missing else {name}"
            set_to.append(f"{name},")
        arguments = ["self", *positional, *(["*", *keyword] if keyword else [])]
        text = f"def __init__({', '.join(arguments)}):\n _set_fields(self, _names, ({' '.join(set_to)}))"
        if hasattr(cls, "__post_init__"):
            text += "\n self.__post_init__()"
        exec(text, values, made := {})
        return _named(made["__init__"], cls, known)

    def _repr(self):
        shown = [f"{name}={getattr(self, name)!r}" for name, one in self.__record_fields__.items() if one.repr]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _refuse(self, name, *value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")

    def _state(self):
        return [getattr(self, name) for name in self.__record_fields__]

    def _set_state(self, state):
        for name, value in zip(self.__record_fields__, state, strict=True):
            object.__setattr__(self, name, value)

    class _Signature:
        """``__signature__``, made on demand."""

        def __get__(self, of, cls):
            from inspect import signature

            whole = signature(_compiled_init(cls, cls.__record_fields__))
            return whole.replace(parameters=list(whole.parameters.values())[1:])

    class _AsDataclass:
        """An attribute of a dataclass, made on demand for ``dataclasses`` and Dask."""

        def __init__(self, name, frozen, eq):
            self.name, self.frozen, self.eq = name, frozen, eq

        def __get__(self, of, cls):
            import dataclasses

            found = []
            for one in cls.__record_fields__.values():
                default = {} if one.default is MISSING else {"default": one.default}
                if one.default_factory is not MISSING:
                    default = {"default_factory": one.default_factory}
                more = {name: getattr(one, name) for name in ("compare", "metadata", "kw_only", "repr")}
                found.append((one.name, one.annotation, dataclasses.field(**default, **more)))
            same = dataclasses.make_dataclass(cls.__name__, found, frozen=self.frozen, eq=self.eq)
            return getattr(same, self.name)

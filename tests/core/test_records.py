"""Records behave like dataclasses for everybody else."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import typing
from typing import ClassVar

import pytest

from libsvmx._core.records import NamedTuple, field, fields, record, replace


def variants(decorate, make):
    """A frozen class, a mutable one, and one with keyword-only fields, decorated by ``decorate``."""

    @decorate(frozen=True, slots=True)
    class Frozen:
        """Of two."""

        a: int
        b: str = "b"
        kind: ClassVar[str] = "frozen"
        seconds: float = make(default=0.0, compare=False, repr=False)

        def __post_init__(self):
            object.__setattr__(self, "a", int(self.a))

    @decorate()
    class Changing:
        a: list[int] = make(default_factory=list)
        b: int = 3

    @decorate(frozen=True, slots=True, kw_only=True)
    class Named:
        a: int = 1
        b: int

    @decorate(frozen=True)
    class Base:
        kind: ClassVar[str] = "base"

    @decorate(frozen=True)
    class Derived(Base):
        n: int = make(default=5, metadata={"help": "how many"})

    @decorate(frozen=True, slots=True, eq=False)
    class Same:
        a: int

        def __repr__(self):
            return "own"

    return Frozen, Changing, Named, Base, Derived, Same


OURS, THEIRS = variants(record, field), variants(dataclasses.dataclass, dataclasses.field)
FIRST = ["a", "a", "a", "x", "n", "a"]
ARGUMENTS = [((1,), {}), (("2", "c"), {"seconds": 4.0}), ((), {"b": 2}), ((), {}), ((1, 2, 3, 4), {}), ((), {"x": 1})]


def done(function):
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("which", range(len(OURS)))
@pytest.mark.parametrize("given", ARGUMENTS)
def test_what_a_record_does_a_dataclass_does(which, given):
    results = []
    for cls in (OURS[which], THEIRS[which]):
        of = done(lambda cls=cls: cls(*given[0], **given[1]))
        if isinstance(of, tuple):
            results.append(of)
            continue
        other = cls(*given[0], **given[1])
        results.append(
            (
                repr(of),
                of == other,
                of != other,
                of == 3,
                done(lambda of=of, other=other: hash(of) == hash(other)),
                done(lambda of=of: setattr(of, FIRST[which], 1)),
                done(lambda of=of: delattr(of, FIRST[which])),
                [(f.name, f.type, f.compare, f.repr, dict(f.metadata)) for f in dataclasses.fields(of)],
                dataclasses.is_dataclass(of),
                cls.__match_args__,
                cls.__doc__ if which == 0 else "",
                str(inspect.signature(cls)) if which != 1 else "",
            )
        )
    assert results[0] == results[1]


class Ours(NamedTuple):
    """Of three."""

    a: int
    b: str = "b"
    c: float = 0.5


class Theirs(typing.NamedTuple):
    """Of three."""

    a: int
    b: str = "b"
    c: float = 0.5


@pytest.mark.parametrize("args, named", [((1,), {}), ((1, "x", 2.0), {}), ((), {"b": "y", "a": 2}), ((3,), {"c": 1.0})])
def test_what_a_named_tuple_does_one_of_typing_does(args, named):
    results = []
    for kind in (Ours, Theirs):
        of = kind(*args, **named)
        results.append((tuple(of), of.a, of.b, of.c, repr(of)[len(kind.__name__) :], of == tuple(of), hash(of)))
        results[-1] += (
            tuple(of._replace(b="z")),
            kind._fields,
            kind.__match_args__,
            tuple(kind._make(of)),
            kind.__doc__,
        )
        assert type(of._replace(a=1)) is kind
        assert type(pickle.loads(pickle.dumps(of))) is kind
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "args, named", [((), {}), ((1, 2, 3, 4), {}), ((1,), {"a": 1}), ((1,), {"x": 1}), ((), {"b": 1})]
)
def test_a_named_tuple_refuses(args, named):
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*args, **named)


def test_the_same_with_an_init_that_is_compiled():
    @record(frozen=True)
    class Pair:
        a: int
        b: int = 2

    made = [Pair(1, b=3) for _ in range(20)]
    assert set(made) == {Pair(1, 3)}
    assert Pair.__init__.__code__.co_varnames == ("self", "a", "b")
    assert Pair.__init__.__annotations__ == {"a": "int", "b": "int", "return": None}


def test_fields_that_do_not_count_are_not_compared():
    Frozen = OURS[0]
    assert Frozen(1, seconds=2.0) == Frozen(1, seconds=3.0)
    assert hash(Frozen(1, seconds=2.0)) == hash(Frozen(1, seconds=3.0))


def test_replacing_makes_another():
    for change in (replace, dataclasses.replace):
        one = OURS[0](1, "x")
        assert change(one, a="7") == OURS[0](7, "x")
        assert one.a == 1
        with pytest.raises(TypeError):
            change(one, unknown=1)


def test_a_new_list_for_each():
    assert OURS[1]().a is not OURS[1]().a


def test_a_subclass_has_the_fields_of_its_base():
    (one,) = fields(OURS[4])
    assert (one.name, one.default, one.compare, one.metadata) == ("n", 5, True, {"help": "how many"})
    assert OURS[4]().n == OURS[4].n == 5


@record(frozen=True, slots=True)
class Kept:
    a: int
    b: int = 2


class Pair(NamedTuple):
    """Of two."""

    left: int
    right: str

    @property
    def both(self):
        return f"{self.left}{self.right}"


def test_records_are_pickled():
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)


def test_named_tuples():
    pair = Pair(1, right="r")
    assert pair == (1, "r") == tuple(pair)
    assert repr(pair) == "Pair(left=1, right='r')"
    assert pair.both == "1r"
    assert pair._replace(left=2) == Pair(2, "r")
    assert pickle.loads(pickle.dumps(pair)) == pair
    with pytest.raises(TypeError):
        Pair(1)


def test_dask_takes_a_record_for_a_dataclass():
    tokenize = pytest.importorskip("dask.tokenize").tokenize
    from libsvmx import CRSVM

    assert tokenize(CRSVM(rank=3)) == tokenize(CRSVM(rank=3)) != tokenize(CRSVM(rank=4))

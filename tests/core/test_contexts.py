"""Contexts behave like those of ``contextlib``."""

import contextlib

import pytest

from libsvmx._core import contexts


class Own(Exception):
    pass


def plain(log):
    log.append("in")
    yield 5
    log.append("out")


def with_finally(log):
    try:
        yield
    finally:
        log.append("finally")


def quiet(log):
    try:
        yield
    except Own:
        log.append("quiet")


def another(log):
    try:
        yield
    except Own as error:
        raise KeyError("another") from error


def the_same(log):
    try:
        yield
    except Own as error:
        log.append("seen")
        raise error


def never(log):
    return
    yield


def twice(log):
    yield
    yield


def goes_on(log):
    with contextlib.suppress(Own):
        yield
    yield


def ends_by_stop(log):
    yield
    raise StopIteration("inside")


def nothing():
    return "done"


def raising(error):
    def raise_it():
        raise error

    return raise_it


BODIES = [
    nothing,
    raising(Own("own")),
    raising(ValueError("value")),
    raising(StopIteration("stop")),
    raising(RuntimeError("run")),
    raising(KeyboardInterrupt()),
]


def outcome(module, generator, body):
    """The log of the block, and how it ended."""
    log = []
    try:
        with module.contextmanager(generator)(log) as value:
            log.append(("value", value))
            log.append(body())
    except BaseException as error:
        log.append((type(error), str(error), type(error.__cause__), error.__suppress_context__))
    return log


@pytest.mark.parametrize("body", range(len(BODIES)))
@pytest.mark.parametrize(
    "generator", [plain, with_finally, quiet, another, the_same, never, twice, goes_on, ends_by_stop]
)
def test_what_a_block_does_one_of_contextlib_does(generator, body):
    assert outcome(contexts, generator, BODIES[body]) == outcome(contextlib, generator, BODIES[body])


@pytest.mark.parametrize("kinds", [(), (Own,), (Own, ValueError), (Exception,)])
@pytest.mark.parametrize("body", range(len(BODIES)))
def test_what_is_suppressed(kinds, body):
    found = []
    for module in (contexts, contextlib):
        try:
            with module.suppress(*kinds) as value:
                found.append((value, BODIES[body]()))
            found.append("on")
        except BaseException as error:
            found.append(type(error))
    half = len(found) // 2
    assert found[:half] == found[half:]


def test_a_block_keeps_the_name_of_its_function():
    @contexts.contextmanager
    def named():
        """What it does."""
        yield

    assert (named.__name__, named.__doc__) == ("named", "What it does.")

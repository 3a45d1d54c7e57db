"""The number of threads: asked for, from the environment, from the machine; and jobs in them."""

import threading

import pytest
from support.commands import PATIENCE
from support.faults import few_threads
from support.machine import machine_with

from libsvmx._core.threads import for_each, thread_count


@pytest.mark.parametrize(("environment", "expected"), [("3", 3), ("2,4", 2), (" 5 ", 5)])
def test_environment(monkeypatch, environment, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", environment)
    assert thread_count() == expected


def test_request_comes_first(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert thread_count(7) == 7
    assert thread_count(0) == 3


@pytest.mark.parametrize("environment", ["", "0", "-2", "many", "0,4"])
def test_nonsense_means_the_machine(monkeypatch, environment):
    monkeypatch.setenv("OMP_NUM_THREADS", environment)
    with machine_with(processors=4):
        assert thread_count() == 4


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_item_once(threads):
    seen = []
    for_each(seen.append, range(100), threads)
    assert sorted(seen) == list(range(100))
    for_each(seen.append, [], threads)
    assert len(seen) == 100


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_exception_ends_it(threads):
    begun = []

    def job(item):
        begun.append(item)
        if item == 3:
            raise IndexError("three")

    with pytest.raises(IndexError, match="three"):
        for_each(job, range(10_000), threads)
    assert begun[:4] == [0, 1, 2, 3] or threads > 1
    assert len(begun) < 10_000


def test_items_are_begun_at_the_same_time():
    both = threading.Barrier(2, timeout=PATIENCE)
    for_each(lambda item: both.wait(), range(2), 2)


@pytest.mark.parametrize("given", [0, 1])
def test_without_threads_to_be_had_those_there_are_do_it_all(given):
    seen = []
    with few_threads(given):
        for_each(lambda item: seen.append((item, threading.get_ident())), range(100), 4)
    assert sorted(item for item, _ in seen) == list(range(100))
    assert len({ident for _, ident in seen}) <= given + 1

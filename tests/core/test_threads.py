"""The number of threads: asked for, from the environment, from the machine; and jobs in them."""

import os

import pytest

from libsvmx._core.threads import in_threads, thread_count


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
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 5}, raising=False)
    assert thread_count() == 4


def test_an_error_in_any_thread_is_raised():
    done = []

    def fail():
        raise ZeroDivisionError

    for jobs in ([fail], [fail, lambda: done.append(1)], [lambda: done.append(1), fail]):
        with pytest.raises(ZeroDivisionError):
            in_threads(jobs)
    assert done == [1, 1]

"""The number of threads: requested, from the environment, from the machine; and jobs in them."""

import subprocess
import sys
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


# Imports and choices are done first, so that they take no stack of the small thread.
IN_A_SMALL_THREAD = """\
import sys, threading
import numpy as np
import libsvmx
from libsvmx import KernelType
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
y = np.sign(X[:, 0] + 0.3 * rng.normal(size=300))
X[rng.random(X.shape) < float(sys.argv[1])] = 0
def call():
    for solver in ("smo", "chunked", "irwls", "crsvm"):
        for kernel_type in (KernelType.LINEAR, KernelType.RBF):
            factor = {"rank": 100} if solver == "crsvm" and kernel_type == KernelType.RBF else {}
            model = libsvmx.train(X, y, solver=solver, kernel_type=kernel_type, probability=True, **factor)
            libsvmx.predict(model, X)
    libsvmx.cross_validate(X, y, 5, seeder="auto")
    libsvmx.leave_one_out(X[:50], y[:50])
    libsvmx.train(X, y, keep_state=True).update(add=(X[:5], y[:5]), remove=[3])
call()
threading.stack_size(1 << 16)
thread = threading.Thread(target=call)
thread.start()
thread.join()
print("done")
"""


@pytest.mark.parametrize("sparse", [False, True])
def test_a_thread_with_a_small_stack(sparse):
    program = [sys.executable, "-c", IN_A_SMALL_THREAD, "0.9" if sparse else "0"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")

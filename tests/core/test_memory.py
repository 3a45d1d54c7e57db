"""With too little memory, work is refused before it begins or uses fewer threads; memory is given back."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
from support.faults import objects_from_malloc
from support.machine import machine_with, too_little_memory
from support.recorder import Recorder

import libsvmx
from libsvmx._core import memory
from libsvmx._core.buffers import table
from libsvmx._core.memory import MEGABYTE, TooLittleMemory


def test_where_nothing_is_known_nothing_is_refused():
    with machine_with(free_bytes=None):
        memory.require(1e30, "all", "")


def test_the_message():
    with machine_with(free_bytes=20 * MEGABYTE):
        memory.require(20 * MEGABYTE, "it", "; so")
        with pytest.raises(TooLittleMemory, match=r"^it needs about 30 MB, and 20 MB are left; so$"):
            memory.require(30 * MEGABYTE, "it", "; so")


def test_large_buffers_begin_at_a_cache_line():
    """Loads of whole vectors are slower across two lines; results lie in buffers like those of kernel rows."""
    X = np.random.default_rng(0).normal(size=(1000, 2))
    model = libsvmx.train(X, np.sign(X[:, 0]))
    for n in (64, 65, 1000):
        for found in (libsvmx.decision_values(model, X[:n]), libsvmx.predict(model, X[:n])):
            assert found.ctypes.data % 64 == 0


def test_fewer_threads_where_address_space_is_limited():
    for left, threads in ((None, 8), (0, 1), (300, 1), (900, 2), (10**6, 8)):
        with machine_with(free_addresses=left and left * MEGABYTE):
            assert memory.threads_that_fit(8) == threads


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"solver": "crsvm", "kernel_type": 0}, "with 20 features"),
        ({"solver": "crsvm", "kernel_type": 1, "degree": 2}, "with 210 features.*rank"),
        ({"solver": "crsvm", "rank": 200}, "with 200 features.*rank"),
        ({"solver": "crsvm", "rank": 200, "low_rank": "nystrom"}, "with 200 features"),
        ({"solver": "irwls", "working_set": 400}, "working set of 400 variables.*working-set"),
    ],
)
def test_refused_before_the_work(options, what):
    rng = np.random.default_rng(0)
    X, y, recorder = rng.normal(size=(400, 20)), np.where(np.arange(400) % 2, 1.0, -1.0), Recorder()
    libsvmx.train(X[:4], y[:4], solver="crsvm", rank=1)  # loads SciPy
    with too_little_memory(1000, what):
        libsvmx.train(X, y, observer=recorder, **options)
    assert not recorder.factors and not recorder.lines
    with machine_with(free_bytes=200 * MEGABYTE):
        assert libsvmx.train(X, y, **options).statuses == ("converged",)


# 40 MB freed, below a block still in use: glibc keeps such memory after a larger array was freed.
GIVEN_BACK = """
import os, sys, warnings
import numpy as np
import libsvmx

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

warnings.simplefilter("ignore")
n = int(sys.argv[2])
X, y = np.random.default_rng(1).random((n, 1000)), np.arange(n) % 2
fit = {"train": lambda X, y: libsvmx.train(X, y, max_iter=1), "SVC": lambda X, y: libsvmx.SVC(max_iter=1).fit(X, y)}
fit = fit[sys.argv[1]]
fit(X[:50], y[:50])
block = bytearray(31 << 20)
del block
blocks = [bytearray(b"x") * (1 << 20) for _ in range(41)]
last, before = blocks.pop(), resident()
blocks.clear()
fit(X, y)
print(before - resident())
"""


@objects_from_malloc
@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or "asan" in os.environ.get("LD_PRELOAD", ""), reason="another malloc"
)
@pytest.mark.parametrize("door", ["train", "SVC"])
def test_a_large_training_gives_free_memory_back(door):
    def given_back(n):
        done = subprocess.run([sys.executable, "-c", GIVEN_BACK, door, str(n)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    assert given_back(1100) > 20  # megabytes, with a million values
    assert given_back(60) < 20  # a small amount is not worth the time


@pytest.mark.parametrize(
    ("rows", "columns", "error"), [(1 << 62, 8, MemoryError), (8, 1 << 62, MemoryError), (-1, -8, ValueError)]
)
def test_tables_that_no_memory_holds(rows, columns, error):
    with pytest.raises(error):
        table("f", rows, columns)


def test_tables_may_be_empty():
    assert table("d", 0, 5).shape == (0, 5)

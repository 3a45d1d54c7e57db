"""How much memory is left, and work that is refused before it begins."""

import numpy as np
import pytest
from support.recorder import Recorder

import libsvmx
from libsvmx._core import memory
from libsvmx._core.memory import MEGABYTE, TooLittleMemory

STATM = "/proc/self/statm"
resource = pytest.importorskip("resource", reason="not on Windows")
PAGE = resource.getpagesize()


@pytest.fixture
def system(monkeypatch):
    """What the files of the system say, and the limits of the process."""
    files, limits = {}, {}

    def text_of(path):
        if path not in files:
            raise FileNotFoundError(path)
        return files[path]

    monkeypatch.setattr(memory, "text_of", text_of)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits.get(kind, resource.RLIM_INFINITY), 0))
    return files, limits


def test_nothing_known(system):
    assert memory.free() is None
    memory.require(1e30, "all", "")


def test_limits_of_the_process(system):
    files, limits = system
    files[STATM] = "1000 200 100 1 0 500 0\n"
    assert memory.free_addresses() is None
    limits[resource.RLIMIT_AS] = 3000 * PAGE
    assert memory.free() == 2000 * PAGE
    limits[resource.RLIMIT_DATA] = 600 * PAGE
    assert memory.free() == 100 * PAGE
    limits[resource.RLIMIT_DATA] = 400 * PAGE
    assert memory.free() == 0


def test_the_machine(system):
    files, _ = system
    files["/proc/meminfo"] = "MemTotal: 9 kB\nMemAvailable:   7 kB\nSwapFree: 2 kB\nHugePages_Total: 0\n"
    assert memory.free() == 9 * 1024


def test_control_groups(system):
    files, _ = system
    files["/proc/self/cgroup"] = "0::/a/b\n"
    for folder, most in (("/sys/fs/cgroup/a/b", "max"), ("/sys/fs/cgroup/a", "1000")):
        files[f"{folder}/memory.max"] = f"{most}\n"
        files[f"{folder}/memory.current"] = "600\n"
        files[f"{folder}/memory.stat"] = "anon 500\ninactive_file 50\n"
    assert memory.free() == 450
    files["/sys/fs/cgroup/a/b/memory.max"] = "700\n"
    assert memory.free() == 150


def test_control_groups_of_version_1(system):
    files, _ = system
    files["/proc/self/cgroup"] = "9:cpu,cpuacct:/a\n5:memory:/\n"
    files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "1000\n"
    files["/sys/fs/cgroup/memory/memory.usage_in_bytes"] = "900\n"
    files["/sys/fs/cgroup/memory/memory.stat"] = "cache 5\ntotal_inactive_file 7\n"
    assert memory.free() == 107


def test_the_message():
    with pytest.raises(TooLittleMemory, match=r"^it needs about \d+ MB, and \d+ MB are left; so$"):
        memory.require(1e18, "it", "; so")


def test_fewer_threads_where_address_space_is_limited(monkeypatch):
    for left, threads in ((None, 8), (0, 1), (300, 1), (900, 2), (10**6, 8)):
        monkeypatch.setattr(memory, "free_addresses", lambda left=left: left and left * MEGABYTE)
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
def test_refused_before_the_work(monkeypatch, options, what):
    rng = np.random.default_rng(0)
    X, y, recorder = rng.normal(size=(400, 20)), np.where(np.arange(400) % 2, 1.0, -1.0), Recorder()
    libsvmx.train(X[:4], y[:4], solver="crsvm", rank=1)  # SciPy is loaded
    monkeypatch.setattr(memory, "free", lambda: 1000)
    with pytest.raises(TooLittleMemory, match=what):
        libsvmx.train(X, y, observer=recorder, **options)
    assert not recorder.factors and not recorder.lines
    monkeypatch.setattr(memory, "free", lambda: 200 * MEGABYTE)
    assert libsvmx.train(X, y, **options).statuses == ("converged",)

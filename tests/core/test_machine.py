"""Queries of the machine, by what its system reports."""

import os
import subprocess
import sys

import pytest

from libsvmx._core.machine import Machine, machine

STATM = "/proc/self/statm"


class Told(Machine):
    """A machine whose system reports the contents of ``files`` and ``limits``."""

    def __init__(self):
        self.files, self.limits = {}, {}

    def content(self, path):
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def soft_limit(self, kind):
        import resource

        return self.limits.get(kind, resource.RLIM_INFINITY)

    def peak(self):
        return 3 << 10


@pytest.fixture
def told():
    pytest.importorskip("resource", reason="not on Windows")
    return Told()


# ---- memory --------------------------------------------------------------------------------------


def test_nothing_known(told):
    assert told.free_bytes() is None


def test_limits_of_the_process(told):
    import resource

    page = resource.getpagesize()
    told.files[STATM] = "1000 200 100 1 0 500 0\n"
    assert told.free_addresses() is None
    told.limits[resource.RLIMIT_AS] = 3000 * page
    assert told.free_bytes() == 2000 * page
    told.limits[resource.RLIMIT_DATA] = 600 * page
    assert told.free_bytes() == 100 * page
    told.limits[resource.RLIMIT_DATA] = 400 * page
    assert told.free_bytes() == 0


def test_the_machine(told):
    told.files["/proc/meminfo"] = "MemTotal: 9 kB\nMemAvailable:   7 kB\nSwapFree: 2 kB\nHugePages_Total: 0\n"
    assert told.free_bytes() == 9 * 1024


def test_control_groups(told):
    told.files["/proc/self/cgroup"] = "0::/a/b\n"
    for folder, most in (("/sys/fs/cgroup/a/b", "max"), ("/sys/fs/cgroup/a", "1000")):
        told.files[f"{folder}/memory.max"] = f"{most}\n"
        told.files[f"{folder}/memory.current"] = "600\n"
        told.files[f"{folder}/memory.stat"] = "anon 500\ninactive_file 50\n"
    assert told.free_bytes() == 450
    told.files["/sys/fs/cgroup/a/b/memory.max"] = "700\n"
    assert told.free_bytes() == 150


def test_control_groups_of_version_1(told):
    told.files["/proc/self/cgroup"] = "9:cpu,cpuacct:/a\n5:memory:/\n"
    told.files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "1000\n"
    told.files["/sys/fs/cgroup/memory/memory.usage_in_bytes"] = "900\n"
    told.files["/sys/fs/cgroup/memory/memory.stat"] = "cache 5\ntotal_inactive_file 7\n"
    assert told.free_bytes() == 107


# ---- processors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "quota, most", [("max 100000", 0), ("200000 100000", 2), ("150000 100000", 2), ("5000 50000", 1)]
)
def test_a_quota_of_processors_is_rounded_up(told, quota, most):
    told.files["/proc/self/cgroup"] = "0::/a/b\n"
    told.files["/sys/fs/cgroup/a/cpu.max"] = f"{quota}\n"
    told.files["/sys/fs/cgroup/a/b/cpu.max"] = "max 100000\n"
    assert told.processors_of_groups() == most


@pytest.mark.parametrize("quota, most", [("-1", 0), ("250000", 3)])
def test_a_quota_of_version_1(told, quota, most):
    told.files["/proc/self/cgroup"] = "9:cpu,cpuacct:/a\n5:memory:/\n"
    told.files["/sys/fs/cgroup/cpu/cpu.cfs_quota_us"] = f"{quota}\n"
    told.files["/sys/fs/cgroup/cpu/cpu.cfs_period_us"] = "100000\n"
    assert told.processors_of_groups() == most


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes run on all processors")
def test_the_quota_is_read_once(told):
    assert told.processors() == len(os.sched_getaffinity(0))  # nothing is known
    told.files["/proc/self/cgroup"], told.files["/sys/fs/cgroup/cpu.max"] = "0::/\n", "100000 100000\n"
    assert told.processors() == len(os.sched_getaffinity(0))
    fresh = Told()
    fresh.files = told.files
    assert fresh.processors() == 1


@pytest.mark.parametrize("system, n_bytes", [("linux", 3 << 20), ("darwin", 3 << 10)])
def test_peak_memory_is_in_bytes(told, system, n_bytes):
    """The system counts kilobytes, or bytes."""
    assert told.peak_bytes(system) == n_bytes


# ---- this machine --------------------------------------------------------------------------------

LIMITED = """
import resource
from libsvmx._core.machine import machine
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (256 << 20), resource.RLIM_INFINITY))
print(machine.free_addresses(), machine.free_bytes(), machine.peak_bytes())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address space that are kept")
def test_this_process_has_what_its_limit_leaves():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True)
    addresses, free, peak = map(int, done.stdout.split())
    assert 192 << 20 < addresses <= 256 << 20  # addresses used since then, at most 64 MB
    assert free <= addresses
    assert 1 << 20 < peak < 1 << 30


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes run on all processors")
def test_processors_are_those_that_the_process_may_run_on():
    one = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"
    count = "from libsvmx._core.machine import machine; print(machine.processors(), machine.all_processors())"
    done = subprocess.run([sys.executable, "-c", f"{one}\n{count}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", str(os.cpu_count())]
    assert machine.processors() == len(os.sched_getaffinity(0))


def test_the_time_of_child_processes_is_told_once_they_have_ended():
    before = machine.process_time_of_children()
    subprocess.run([sys.executable, "-c", "sum(range(10**6))"], check=True)
    assert before < machine.process_time_of_children() < before + 60

"""All queries of the machine: free memory, time, number of processors.

Tests replace the answers of ``machine`` (``tests/support/machine.py``).
"""

from __future__ import annotations

import os
import sys
import time

from libsvmx._core.contexts import suppress

# Files of a control group, by version: limit, usage; and the name of the droppable file pages in that usage.
MEMORY_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


class Machine:
    """Times in seconds; memory in bytes, None if unknown."""

    _processors_of_groups: int | None = None  # not read yet

    # ---- time: for limits and reports only, not for results ----------------------------------------

    monotonic = staticmethod(time.monotonic)  # since an arbitrary moment
    perf_counter = staticmethod(time.perf_counter)  # the same, with finer resolution
    time_of_day = staticmethod(time.time)  # since 1970
    process_time = staticmethod(time.process_time)  # of this process, all processors

    def process_time_of_children(self) -> float:
        """Processor time of child processes that have ended and were waited for."""
        times = os.times()
        return times.children_user + times.children_system

    # ---- processors --------------------------------------------------------------------------------

    def processors(self) -> int:
        """Processors available to this process, at least 1: by affinity and control groups."""
        if hasattr(os, "sched_getaffinity"):
            return max(1, min(len(os.sched_getaffinity(0)), self.processors_of_groups() or sys.maxsize))
        return self.all_processors()

    def processors_of_groups(self) -> int:
        """Processors by the quotas of control groups (containers), rounded up; 0: no quota. Read once."""
        if self._processors_of_groups is None:
            quotas = map(self.quota_of, self.control_groups("cpu"))
            self._processors_of_groups = min(filter(None, quotas), default=0)
        return self._processors_of_groups

    def quota_of(self, group: tuple[str, int]) -> int:
        """Of one control group."""
        folder, version = group
        with suppress(OSError, ValueError):
            if version == 2:
                most, period = self.content(f"{folder}/cpu.max").split()
            else:
                most, period = (self.content(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))
            if int(most) > 0:  # no quota: -1 in version 1, "max" in version 2
                return -(-int(most) // int(period))
        return 0

    def all_processors(self) -> int:
        """All processors, at least 1."""
        return os.cpu_count() or 1

    def is_worker(self) -> bool:
        """Whether another process has started this one as a worker: by multiprocessing, joblib or Dask."""
        process = sys.modules.get("multiprocessing.process")
        return process is not None and process.parent_process() is not None

    # ---- memory ------------------------------------------------------------------------------------

    def free_bytes(self) -> int | None:
        """Memory available to this process: by its limits, its control groups (containers), and free memory."""
        known = (self.free_addresses(), self.free_in_groups(), self.free_in_all())
        return min((amount for amount in known if amount is not None), default=None)

    def free_addresses(self) -> int | None:
        """Left by RLIMIT_AS and RLIMIT_DATA (``ulimit -v`` and ``-d``), None: no limit."""
        try:
            import resource

            pages = [int(word) for word in self.content("/proc/self/statm").split()]
            held = {resource.RLIMIT_AS: pages[0], resource.RLIMIT_DATA: pages[5]}
            page = resource.getpagesize()
            limits = {kind: self.soft_limit(kind) for kind in held}
            left = [limits[kind] - held[kind] * page for kind in held if limits[kind] != resource.RLIM_INFINITY]
        except (ImportError, OSError, ValueError, IndexError):
            return None
        return max(0, min(left)) if left else None

    def free_in_all(self) -> int | None:
        """Available memory and swap, by Linux."""
        try:
            text = self.content("/proc/meminfo")
            lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
            return sum(int(lines[name].split()[0]) << 10 for name in ("MemAvailable", "SwapFree"))
        except (OSError, ValueError, KeyError, IndexError):
            return None

    def free_in_groups(self) -> int | None:
        """Left by the control groups, None: no limit. Droppable file pages count as free."""
        left = []
        for folder, version in self.control_groups("memory"):
            limit, used, dropped = MEMORY_FILES[version]
            with suppress(OSError, ValueError, StopIteration):
                most = int(self.content(os.path.join(folder, limit)))
                statistics = (line.split() for line in self.content(os.path.join(folder, "memory.stat")).splitlines())
                cached = next(int(value) for name, value in statistics if name == dropped)
                left.append(most - int(self.content(os.path.join(folder, used))) + cached)
        return max(0, min(left)) if left else None

    def control_groups(self, controller: str) -> list[tuple[str, int]]:
        """(folder, version 1 or 2) of this process's control groups of a controller, and of their parents."""
        found = []
        with suppress(OSError, ValueError):
            for line in self.content("/proc/self/cgroup").splitlines():
                _, controllers, path = line.split(":", 2)
                if controllers == "":
                    root, version = "/sys/fs/cgroup", 2
                elif controller in controllers.split(","):
                    root, version = f"/sys/fs/cgroup/{controller}", 1
                else:
                    continue
                while True:
                    found.append((root + path.rstrip("/"), version))
                    if path in ("/", ""):
                        break
                    path = os.path.dirname(path)
        return found

    def peak_bytes(self, system: str = sys.platform) -> int | None:
        """Peak memory of this process, without children."""
        try:
            peak = self.peak()
        except ImportError:  # Windows
            return None
        return peak if system == "darwin" else 1024 * peak

    # ---- system calls ------------------------------------------------------------------------------

    def content(self, path: str) -> str:
        """Content of a system file. Raises OSError."""
        with open(path, "rb", buffering=0) as file:  # text mode would import an encoding
            return file.read().decode("ascii", "replace")

    def soft_limit(self, kind: int) -> int:
        """Soft limit of this process; ``kind`` of ``resource``."""
        import resource

        return resource.getrlimit(kind)[0]

    def peak(self) -> int:
        """Peak memory in the unit of the system. Raises ImportError."""
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


machine = Machine()

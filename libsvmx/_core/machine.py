"""What the machine is asked, in one place: how much memory is free, what time it is, how many processors there are.

``machine`` is the one that the process runs on. Tests exchange its answers (``tests/support/machine.py``).
"""

from __future__ import annotations

import os
import sys
import time

from libsvmx._core.contexts import suppress

# Of a control group, by its version: the limit, what is used, and the pages of files among that which can be dropped.
MEMORY_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


class Machine:
    """All times are seconds; all amounts of memory are bytes, None where the system does not tell."""

    _processors_of_groups: int | None = None  # not read yet

    # ---- time: ends what has a limit, and is reported. It chooses no result ------------------------

    monotonic = staticmethod(time.monotonic)  # since some moment in the past
    perf_counter = staticmethod(time.perf_counter)  # the same, fine enough for what takes microseconds
    time_of_day = staticmethod(time.time)  # since 1970
    process_time = staticmethod(time.process_time)  # of all processors together, that this process has had

    def process_time_of_children(self) -> float:
        """What child processes have had of all processors, those that have ended and were waited for."""
        times = os.times()
        return times.children_user + times.children_system

    # ---- processors --------------------------------------------------------------------------------

    def processors(self) -> int:
        """Those that this process may keep busy, at least 1: where it may run, and as its control groups allow."""
        if hasattr(os, "sched_getaffinity"):
            return max(1, min(len(os.sched_getaffinity(0)), self.processors_of_groups() or sys.maxsize))
        return self.all_processors()

    def processors_of_groups(self) -> int:
        """How many the quotas of control groups leave, as of containers, rounded up; 0 for no quota. Read once."""
        if self._processors_of_groups is None:
            quotas = map(self.quota_of, self.control_groups("cpu"))
            self._processors_of_groups = min(filter(None, quotas), default=0)
        return self._processors_of_groups

    def quota_of(self, group: tuple[str, int]) -> int:
        """Of one of them."""
        folder, version = group
        with suppress(OSError, ValueError):
            if version == 2:
                most, period = self.content(f"{folder}/cpu.max").split()
            else:
                most, period = (self.content(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))
            if int(most) > 0:  # -1 is none in version 1, and "max" in version 2
                return -(-int(most) // int(period))
        return 0

    def all_processors(self) -> int:
        """Those that there are, at least 1."""
        return os.cpu_count() or 1

    # ---- memory ------------------------------------------------------------------------------------

    def free_bytes(self) -> int | None:
        """What this process may still take: by its own limits, by those of its control groups, as containers have them,
        and by what is left."""
        known = (self.free_addresses(), self.free_in_groups(), self.free_in_all())
        return min((amount for amount in known if amount is not None), default=None)

    def free_addresses(self) -> int | None:
        """What RLIMIT_AS and RLIMIT_DATA (``ulimit -v`` and ``-d``) leave, None for no limit."""
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
        """What Linux believes to be available, with swap."""
        try:
            text = self.content("/proc/meminfo")
            lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
            return sum(int(lines[name].split()[0]) << 10 for name in ("MemAvailable", "SwapFree"))
        except (OSError, ValueError, KeyError, IndexError):
            return None

    def free_in_groups(self) -> int | None:
        """What the control groups leave, None for no limit. Pages of files that can be dropped count as free."""
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
        """Folders of those of a controller that this process is in, and around it, each with its version, 1 or 2."""
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
        """The most that this process has had, child processes left out."""
        try:
            peak = self.peak()
        except ImportError:  # Windows
            return None
        return peak if system == "darwin" else 1024 * peak

    # ---- what the system says ----------------------------------------------------------------------

    def content(self, path: str) -> str:
        """Of a file of the system. Raises OSError."""
        with open(path, "rb", buffering=0) as file:  # as text it would need a module of its encoding
            return file.read().decode("ascii", "replace")

    def soft_limit(self, kind: int) -> int:
        """Of this process, of the kinds that ``resource`` has."""
        import resource

        return resource.getrlimit(kind)[0]

    def peak(self) -> int:
        """The most memory that this process has had, in the unit of the system. Raises ImportError."""
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


machine = Machine()

"""What the machine is asked, in one place: how much memory is free, what time it is, how many processors there are.

``machine`` is the one that the process runs on. Tests exchange its answers (``tests/support/machine.py``).
"""

from __future__ import annotations

import os
import sys
import time

from libsvmx._core.contexts import suppress


class Machine:
    """All times are seconds; all amounts of memory are bytes, None where the system does not tell."""

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
        """Those that this process may run on, at least 1."""
        if hasattr(os, "sched_getaffinity"):
            return max(1, len(os.sched_getaffinity(0)))
        return self.all_processors()

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
        for folder, limit, used, dropped in self.control_groups():
            with suppress(OSError, ValueError, StopIteration):
                most = int(self.content(os.path.join(folder, limit)))
                statistics = (line.split() for line in self.content(os.path.join(folder, "memory.stat")).splitlines())
                cached = next(int(value) for name, value in statistics if name == dropped)
                left.append(most - int(self.content(os.path.join(folder, used))) + cached)
        return max(0, min(left)) if left else None

    def control_groups(self) -> list[tuple[str, str, str, str]]:
        """Folders of those of memory that this process is in, with the names of what is asked for."""
        found = []
        with suppress(OSError, ValueError):
            for line in self.content("/proc/self/cgroup").splitlines():
                _, controllers, path = line.split(":", 2)
                if controllers == "":
                    root, names = "/sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
                elif "memory" in controllers.split(","):
                    root = "/sys/fs/cgroup/memory"
                    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
                else:
                    continue
                while True:
                    found.append((root + path.rstrip("/"), *names))
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
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()

    def soft_limit(self, kind: int) -> int:
        """Of this process, of the kinds that ``resource`` has."""
        import resource

        return resource.getrlimit(kind)[0]

    def peak(self) -> int:
        """The most memory that this process has had, in the unit of the system. Raises ImportError."""
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


machine = Machine()

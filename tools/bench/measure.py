"""One measurement in its own process, so that peak memory and settings belong to one solver.

``measure`` starts a child, which calls the function named by the job; the rest is for these functions.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

from tools.bench import ROOT

SIGALRM = getattr(signal, "SIGALRM", 0)
START_CHILD = "import sys; sys.path.append(sys.argv[1]); from tools.bench.measure import child; child()"


class Unavailable(Exception):
    """A peer that is not installed, a missing set, or a case that cannot be run; the text says which."""


def all_threads():
    """Processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measure(job, threads, timeout):
    """The result of job["call"], a function "module:name" below tools.bench, in a child, or {"cannot": reason}.

    With job["limit"] the function stops itself after that many seconds, see ``limit_seconds``.
    """
    told = command([sys.executable, "-c", START_CHILD, ROOT], threads, timeout, given=json.dumps(job))
    if "cannot" not in told:
        # a library may print while it loads; the result is the last line
        return json.loads(told["output"].splitlines()[-1])
    stopped = told.get("exit_code") == -SIGALRM and job.get("limit")
    return {"cannot": f"not done after {job['limit']:g} s" if stopped else told["cannot"]}


def command(arguments, threads, timeout, *, folder=None, given="", fails=False):
    """A whole command: {seconds, cpu, output, errors}, or {cannot, ...}; one that ``fails`` must fail.

    ``seconds`` are wall time. OpenMP and every BLAS use ``threads`` threads.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    how = {"env": {**os.environ, **dict.fromkeys(names, str(threads))}, "timeout": timeout, "cwd": folder}
    start, cpu = time.perf_counter(), cpu_of_children()
    try:
        done = subprocess.run([*map(os.fspath, arguments)], input=given, capture_output=True, text=True, **how)
    except subprocess.TimeoutExpired:
        return {"cannot": f"not done after {timeout:g} s"}
    except OSError as reason:
        return {"cannot": str(reason)}
    seconds = {"seconds": time.perf_counter() - start, "cpu": cpu_of_children() - cpu}
    if bool(done.returncode) == fails:
        return {**seconds, "output": done.stdout, "errors": done.stderr}
    complaint = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return {"cannot": f"exit code {done.returncode}: {complaint}", "exit_code": done.returncode}


def cpu_of_children():
    """CPU seconds of all finished child processes."""
    now = os.times()
    return now.children_user + now.children_system


# ---- in a child ----------------------------------------------------------------------------------


def child():
    """A job (JSON) from standard input, its result to standard output."""
    job = json.load(sys.stdin)
    module, _, name = job["call"].partition(":")
    try:
        result = getattr(import_module(f"tools.bench.{module}"), name)(job)
    except Unavailable as reason:
        result = {"cannot": str(reason)}
    json.dump(result, sys.stdout)


def timed(work, clock=time.process_time):
    """Seconds of ``work``; CPU time for work on one thread, so that other load does not count."""
    start = clock()
    work()
    return clock() - start


def limit_seconds(seconds):
    """End this process by SIGALRM after that many seconds, where the system has it; None: never.

    In wall time: under a limit of CPU time, Linux counts a process's CPU time by ticks of milliseconds.
    """
    if seconds is not None and SIGALRM:
        signal.setitimer(signal.ITIMER_REAL, seconds)


def reset_peak():
    """Reset the peak: reading and converting the data is not part of the solver."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return  # not Linux: the peak is that of the whole process


def peak_bytes(key="VmHWM"):
    """Peak resident memory. Not ru_maxrss where /proc exists: it starts at the memory of the parent process."""
    status = Path("/proc/self/status")
    found = re.search(rf"^{key}:\s*(\d+)", status.read_text(), re.M) if status.exists() else None
    if found:
        return int(found[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def resident_bytes():
    return peak_bytes("VmRSS")

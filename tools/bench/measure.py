"""Starts children: one process for each measurement, so that peak memory and settings are a solver's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tools.bench import ROOT

START_CHILD = "import sys; sys.path.append(sys.argv[1]); from tools.bench.child import main; main()"


def all_threads() -> int:
    """Processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(threads: int) -> dict[str, str]:
    """OpenMP and every BLAS keep to ``threads``."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(names, str(threads))}


def measure(job: dict[str, Any], threads: int, timeout: float) -> dict[str, Any]:
    """The result of a child, or {"cannot": reason}."""
    # -P: never the source folder's libsvmx, see tools/bench/__init__.py
    command = [sys.executable, "-P", "-c", START_CHILD, str(ROOT)]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(job),
            capture_output=True,
            text=True,
            env=environment(threads),
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return {"cannot": f"not done after {timeout:g} s"}
    if done.returncode:
        complaint = done.stderr.strip().splitlines() or ["no message"]
        return {"cannot": f"exit code {done.returncode}: {complaint[-1]}"}
    # a library may print while it is loaded; the result is the last line
    return json.loads(done.stdout.splitlines()[-1])

"""Runs each command in a child forked from this process, which has imported everything: thousands of them in minutes.

Reads one JSON object per line from standard input, {"words": [...], "folder": ..., "settings": {...}}, with the
settings of shim.c, and answers {"code": ..., "out": ..., "err": ...}. The library must be preloaded.
"""

import ctypes
import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile
import traceback
from contextlib import suppress

import scipy.linalg
import scipy.sparse

from libsvmx._train import policy

COMMANDS = (
    "_core",
    "_kernels",
    "_solvers",
    "_train",
    "io",
    "cli",
)  # the chapters used by commands

# Imported now, not later: CPython 3.11 raises SyntaxError for an allocation that fails while it compiles.
LIBRARIES = (
    "bz2",
    "csv",
    "gzip",
    "hashlib",
    "lzma",
    "numpy.random",
    "scipy.linalg.blas",
    "scipy.linalg.lapack",
    "threadpoolctl",
)


def import_all():
    for chapter in COMMANDS:
        package = importlib.import_module(f"libsvmx.{chapter}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in LIBRARIES:
        importlib.import_module(name)
    with suppress(ImportError):  # svmx-easy draws with it
        importlib.import_module("matplotlib.backends.backend_agg")
    scipy.linalg.cholesky([[2.0, 0.0], [0.0, 2.0]])
    scipy.linalg.eigh([[2.0, 0.0], [0.0, 2.0]])


def child(job, library, outputs):
    """Become the command: returns its ``entry``, after which the process ends like any other."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.chdir(job["folder"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, *outputs)):
        os.dup2(file, number)
    command, *words = job["words"]
    sys.argv = [command, *words]
    module = sys.modules[f"libsvmx.cli.{command.removeprefix('svmx-')}"]
    policy.USUAL = policy.KernelPolicy(min_recompute_seconds=job.get("seconds", 0.0))
    os.environ.update({name: str(value) for name, value in job["settings"].items()})
    library.fault_settings()
    return module.entry


def content(file):
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(file, "rb") as opened:
        return opened.read().decode("utf-8", "replace")


def main():
    import_all()
    library = ctypes.CDLL(None)
    if not hasattr(library, "fault_settings"):
        sys.exit("shim.so is not preloaded")
    answers = os.fdopen(os.dup(1), "w")
    while line := os.read(0, 1 << 20):
        job = json.loads(line)
        outputs = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115
        files = [os.dup(file.fileno()) for file in outputs]
        for file in outputs:
            file.close()
        number = os.fork()
        if number == 0:
            return child(job, library, files)
        _, status = os.waitpid(number, 0)
        out, err = map(content, files)
        answers.write(json.dumps({"code": os.waitstatus_to_exitcode(status), "out": out, "err": err}) + "\n")
        answers.flush()
    return None


if __name__ == "__main__":
    entry = main()
    if entry is not None:
        try:
            entry()
        except Exception:  # printed as by the interpreter, but without this file
            traceback.print_exc()
            sys.exit(1)

"""What the numbers were measured on and with."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

from tools.bench.measure import all_threads

PACKAGES = ("libsvmx", "libsvm-official", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex")


def description() -> dict[str, Any]:
    """Processor, memory, system and versions; a package that is missing has version None."""
    return {
        "processor": processor(),
        "threads": all_threads(),
        "memory_bytes": memory_bytes(),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "python": platform.python_version(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "packages": {name: version(name) for name in PACKAGES},
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.*)", info.read_text()) if info.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

"""The machine, versions and date of a measurement."""

import datetime
import os
import platform
import re
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import libsvmx
from tools.bench.measure import all_threads

# import names of packages
PACKAGES = {"libsvm-official": "libsvm", "numpy": "numpy", "scipy": "scipy", "scikit-learn": "sklearn"}
PACKAGES |= {"scikit-learn-intelex": "sklearnex", "MAPIE": "mapie"}


def description():
    """Processor, memory, system, day, load and versions; a missing package has version None.

    libsvmx reports its own version: the metadata of a development install keep that of the first install.
    """
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.*)", info.read_text()) if info.exists() else None
    names = getattr(os, "sysconf_names", {})
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if "SC_PHYS_PAGES" in names else None
    packages = {name: metadata.version(name) if find_spec(m) else None for name, m in PACKAGES.items()}
    return {
        "processor": found[1] if found else platform.processor() or platform.machine(),
        "threads": all_threads(),
        "processors": os.cpu_count(),
        "memory_bytes": pages,
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "python": platform.python_version(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "packages": {"libsvmx": libsvmx.__version__, **packages},
    }


def lines(machine):
    """As text."""
    versions = ", ".join(f"{name} {version or '(missing)'}" for name, version in machine["packages"].items())
    load = f"; load {machine['load'][0]:.1f}" if machine["load"] else ""
    python = f"Python {machine['python']}"
    return f"{machine['processor']}, {machine['threads']} threads{load}; {machine['system']}; {python}\n{versions}"

"""Build options of the installed package, and the CPU target in use."""

from __future__ import annotations

from libsvmx._core.dispatch import BUILT, CHOSEN, RUNNABLE
from libsvmx._core.process import HAS_THREADS
from libsvmx._core.threads import thread_count
from libsvmx._typing import TYPE_CHECKING
from libsvmx._version import COMPILER, VERSION
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from typing import Any


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Print version, compiler, CPU targets and threads, or return them.

    Parameters
    ----------
    mode : str
        "stdout" prints, "dicts" returns a dictionary.

    Returns
    -------
    dict or None
        ``version``; ``compiler``, name and version; ``cpu_targets`` that the hot loops are compiled for, fastest first;
        ``cpu_targets_runnable``, those that this CPU can run; ``cpu_target``, the one in use, named by LIBSVMX_CPU or
        else the fastest; ``threads``, the default number of threads, 1 in a build without threads.

    Raises
    ------
    ParameterError
        Another mode.

    Examples
    --------
    >>> import libsvmx
    >>> sorted(libsvmx.show_config("dicts"))
    ['compiler', 'cpu_target', 'cpu_targets', 'cpu_targets_runnable', 'threads', 'version']
    """
    if mode not in ("stdout", "dicts"):
        raise ParameterError(f"mode={mode!r}: must be 'stdout' or 'dicts'")
    built = [name for name in BUILT if BUILT[name]]
    found = {
        "version": VERSION,
        "compiler": COMPILER,
        "cpu_targets": built,
        "cpu_targets_runnable": [name for name in built if RUNNABLE[name]],
        "cpu_target": CHOSEN,
        "threads": thread_count() if HAS_THREADS else 1,
    }
    if mode == "dicts":
        return found
    for name, value in found.items():
        print(f"{name}: {' '.join(value) if isinstance(value, list) else value}")
    return None

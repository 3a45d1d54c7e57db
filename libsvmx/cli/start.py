"""The console scripts: ``train`` and so on, a function for each of ``COMMANDS``, which loads it and never returns.

Objects made at the start are needed to the end: freezing them saves garbage collection a twentieth of the time.
"""

from __future__ import annotations

import _collections_abc
import gc
import sys

from libsvmx._typing import TYPE_CHECKING
from libsvmx.exceptions import SvmxError

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal  # as in process.py

COMMANDS = (
    *("train", "predict", "scale", "grid", "easy", "subset", "checkdata", "update"),
    *("export", "compress", "batch", "toy"),
)


def command(name: str) -> None:
    """Run the command and leave with its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback for Ctrl-C while modules are loaded
    gc.disable()
    _load_without_collections()
    try:
        module = __import__(f"libsvmx.cli.{name}", fromlist=["entry"])
    except SvmxError as error:  # LIBSVMX_CPU names no CPU target that can run here
        sys.exit(f"svmx-{name}: error: {error}")
    gc.freeze()
    gc.enable()
    module.entry()


def _load_without_collections() -> None:
    """Load arrays and Cython's helpers, which need ``collections.abc``: Python has it as ``_collections_abc`` already.

    All of ``collections`` would take a fifteenth of a start, so a module with only these stands in for it.
    """
    if "collections" in sys.modules:
        return
    standing_in = type(sys)("collections")
    standing_in.abc = _collections_abc  # type: ignore[attr-defined]
    sys.modules.update({"collections": standing_in, "collections.abc": _collections_abc})
    try:
        for name in ("array", "libsvmx._cyutility"):
            __import__(name)
    finally:
        del sys.modules["collections"], sys.modules["collections.abc"]


def __getattr__(name: str) -> Callable[[], None]:
    """The function of a console script: ``train`` runs svmx-train."""
    if name not in COMMANDS:
        raise AttributeError(name)
    return lambda: command(name)

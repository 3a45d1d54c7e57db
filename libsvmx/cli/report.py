"""--report FILE: arguments, times, status and results of a command, as JSON.

docs/terminal.md has the fields. While ``SCHEMA`` stays the same, names may be added but not changed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from libsvmx._core.machine import machine
from libsvmx.cli import results
from libsvmx.cli.options import REPORT, UsageError, keep_apart
from libsvmx.exceptions import StoppedEarly
from libsvmx.io.files import STANDARD_OUTPUT, is_one_file
from libsvmx.io.outputs import atomic_write, check_target, name_of_output

SCHEMA = 1
OK, INTERRUPTED, TIME_LIMIT, ERROR = "ok", "interrupted", "time limit", "error"
BEGINNING = b'{\n "schema"'  # of a file
FIRST_OF_A_SIGNAL = 129  # exit codes from here on: ended by a signal, as in a shell


class Report:
    """Report(path, command, argv, began, cpu): of a command that began at these values of ``monotonic`` and
    ``process_time``.

    Attributes
    ----------
    path : str
    warnings : list of str        printed ones
    sure : bool                   whether the options are parsed, so that the path is certainly no input file
    """

    sure = False

    def __init__(self, path: str, command: str, argv: list[str], began: float, cpu: float) -> None:
        self.path, self.command, self.argv, self.began = path, command, argv, began
        self.cpu = cpu
        self.started = machine.time_of_day() - (machine.monotonic() - began)
        self.seconds: dict[str, float] = {}
        self.result: dict[str, Any] = {}
        self.top: Mapping[str, Any] = {}
        self.warnings: list[str] = []
        self.status, self.error = OK, ""

    def keep_apart(self, outputs: Iterable[str | None]) -> None:
        """Called with the output files once the options are parsed. Raises UsageError if one is the report."""
        for name in outputs:
            if name is not None and is_one_file(name, self.path):
                raise UsageError(f"two files are to be written to {name_of_output(self.path)}")
        self.sure = True

    def took(self, phase: str, seconds: float) -> None:
        """Add the time of a phase, perhaps one of several of this name."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def add(self, what: str, *facts: Any) -> None:
        """Add the result of a function of ``results``."""
        found = getattr(results, what)(*facts)
        self.status = found.pop("status", self.status)
        self.top = found.pop("top", self.top)
        self.error = found.pop("error", self.error)
        for name, value in found.items():
            self.result[name] = self.result.get(name, []) + value if isinstance(value, list) else value

    def failed(self, message: str, error: Exception | None) -> None:
        """Record the error that ends the command."""
        self.error = message
        self.status = str(error.status) if isinstance(error, StoppedEarly) else ERROR

    def content(self, code: int) -> dict[str, Any]:
        """All fields, in the order of the file."""
        cpu = machine.process_time() - self.cpu + machine.process_time_of_children()  # of workers that have ended
        return {
            "schema": SCHEMA,
            "command": self.command,
            "arguments": self.argv,
            "versions": versions(),
            "started": utc(self.started),
            "seconds": {"wall": machine.monotonic() - self.began, "cpu": cpu, **self.seconds},
            "peak_memory_bytes": machine.peak_bytes(),
            "status": INTERRUPTED if code >= FIRST_OF_A_SIGNAL else self.status,
            "exit_code": code,
            "error": self.error or None,
            "warnings": self.warnings,
            "result": self.result,
            **self.top,
        }

    def write(self, code: int) -> None:
        """Write the file atomically. Raises OSError.

        With wrong options the path may be an input file, so only a report is overwritten.
        """
        if not self.sure and is_something_else(self.path):
            return
        with atomic_write(self.path) as file:
            file.write(json_of(self.content(code)))


def begun(command: str, argv: list[str], began: float, cpu: float) -> Report:
    """The report for the arguments, after checks that it can be written and that no other argument names its file.

    Raises UsageError, OSError.
    """
    path = ""
    others = []
    words = iter(argv)
    for word in words:
        if word.partition("=")[0] == REPORT:
            if path:
                raise UsageError(f"option {REPORT} is given twice")
            path = next(words, "") if word == REPORT else word.partition("=")[2]
        else:
            others.append(word.partition("=")[2] if word.startswith("--") else word)
    if not path:
        raise UsageError(f"option {REPORT} needs a value")
    check_target(path)
    keep_apart(others, path, "report")
    for name in others:
        if path != STANDARD_OUTPUT and is_one_file(name, path):
            raise UsageError(f"two files are to be written to {name}")
    return Report(path, command, argv, began, cpu)


def is_something_else(path: str) -> bool:
    """Whether the file exists, is not empty, and is no report."""
    if path == STANDARD_OUTPUT or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        begins = file.read(len(BEGINNING))
    return begins not in (b"", BEGINNING)


def versions() -> dict[str, str]:
    """Versions of the software behind the result."""
    from importlib.metadata import version

    from libsvmx._core.dispatch import CHOSEN
    from libsvmx._version import VERSION

    return {
        "libsvmx": VERSION,
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "cpu_target": CHOSEN,
    }


def utc(seconds: float) -> str:
    """A time in ISO 8601."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def json_of(content: Any) -> bytes:
    return json.dumps(as_json(content), indent=1, allow_nan=False).encode("ascii") + b"\n"


def as_json(content: Any) -> Any:
    """``content`` with null for nan and inf, and backslash escapes for undecodable bytes of file names, at any
    depth."""
    if isinstance(content, dict):
        return {name: as_json(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [as_json(value) for value in content]
    if isinstance(content, str):
        return content.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return None if isinstance(content, float) and not isfinite(content) else content

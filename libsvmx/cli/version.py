"""``--version``."""

from __future__ import annotations


def version_text(command: str) -> str:
    """One line: command, version, and the LIBSVM whose behaviour it has."""
    from libsvmx._version import VERSION

    return f"{command} {VERSION} (libsvmx; compatible with LIBSVM 3.37)\n"

"""Packages that only an extra of libsvmx installs: an error that says which, where one is missing."""

from __future__ import annotations

from libsvmx.exceptions import SvmxError


def need(module: str, extra: str, what_needs: str) -> None:
    """Raise SvmxError unless a module that is no dependency of libsvmx is there."""
    if not available(module):
        install = f"pip install 'libsvmx[{extra}]', or in a clone of libsvmx pip install '.[{extra}]'"
        raise SvmxError(f"{what_needs} {module}: {install}")


def available(module: str) -> bool:
    """Whether a module can be imported."""
    from importlib.util import find_spec

    return find_spec(module) is not None

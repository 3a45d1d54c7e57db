"""Errors for missing packages that an extra of libsvmx installs."""

from __future__ import annotations

from libsvmx.exceptions import SvmxError


def need(module: str, extra: str, what_needs: str) -> None:
    """Raise SvmxError unless an optional module is installed."""
    if not available(module):
        raise SvmxError(f"{what_needs} {module}: {install_command(extra)}")


def available(module: str) -> bool:
    """Whether a module can be imported."""
    from importlib.util import find_spec

    return find_spec(module) is not None


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra, without compiling libsvmx again."""
    from shlex import join

    return join(["pip", "install", *_requirements(extra)])


def _requirements(extra: str) -> list[str]:
    """Requirements of the extra and of the extras that it includes."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("libsvmx") or []
    except PackageNotFoundError:  # not installed: the name of the extra
        return [f"libsvmx[{extra}]"]
    found = []
    for line in lines:
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        if marker.replace('"', "'") != f"extra == '{extra}'":
            continue
        if requirement.startswith("libsvmx["):
            for included in requirement[len("libsvmx[") : -1].split(","):
                found += _requirements(included)
        else:
            found.append(requirement)
    return found

"""Packages that only an extra of libsvmx installs: an error that says which, where one is missing."""

from __future__ import annotations

from libsvmx.exceptions import SvmxError


def need(module: str, extra: str, what_needs: str) -> None:
    """Raise SvmxError unless a module that is no dependency of libsvmx is there."""
    if not available(module):
        raise SvmxError(f"{what_needs} {module}: {install_command(extra)}")


def available(module: str) -> bool:
    """Whether a module can be imported."""
    from importlib.util import find_spec

    return find_spec(module) is not None


def install_command(extra: str) -> str:
    """The command that installs what an extra adds, by the names of its packages: libsvmx is not compiled again."""
    from shlex import join

    return join(["pip", "install", *_requirements(extra)])


def _requirements(extra: str) -> list[str]:
    """What the extra adds, extras that it includes among it, without libsvmx itself."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("libsvmx") or []
    except PackageNotFoundError:  # run where it lies: the name of the extra has to do
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

"""Compares the installed package, which the tests import, with the source folder."""

from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "libsvmx"
COMPILED = ("*.pyx", "*.pxd", "*.c", "*.h")
OPTIONAL = "clibrary"  # the folder of a build option


def differing(package, source=SOURCE):
    """Source files that differ from the installed ``package``, a folder: Python files and stubs by content, compiled
    sources if they are newer than the compiled modules."""
    package, found = Path(package), []
    if package == source:
        return found  # an editable install, which rebuilds on import
    for path in [*source.rglob("*.py"), *source.rglob("*.pyi")]:
        installed = package / path.relative_to(source)
        if path.parent.name == OPTIONAL and not installed.parent.exists():
            continue
        if not installed.exists() or installed.read_bytes() != path.read_bytes():
            found.append(path)
    built = max((path.stat().st_mtime for path in package.rglob("*.so")), default=0)
    found += [path for pattern in COMPILED for path in source.rglob(pattern) if path.stat().st_mtime > built]
    return sorted(str(path.relative_to(source.parent)) for path in found)

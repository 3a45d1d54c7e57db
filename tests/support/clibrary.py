"""The installed C library, and programs compiled against it or against LIBSVM's own."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "clibrary"
HEADER = {"libsvm.so.4": 337, "libsvm.so.3": 324}  # the version of svm.h for each


def folder():
    """The folder of the C library; skips the tests if it was not built."""
    spec = importlib.util.find_spec("libsvmx.clibrary")
    if spec is None or spec.origin is None:
        pytest.skip("the C library was not built: -Csetup-args=-Dclibrary=enabled", allow_module_level=True)
    return Path(spec.origin).parent


def compiler():
    found = shutil.which("gcc") or shutil.which("cc")
    if found is None:
        pytest.skip("no C compiler")
    return found


def libsvms():
    """LIBSVM's own library, in its Python package."""
    libsvm = pytest.importorskip("libsvm", reason="the oracle, libsvm-official, is not installed")
    return next(Path(libsvm.__file__).parent.glob("clib*.so"))


def compiled(source, library, program, *options):
    """The compiled program; warnings are errors."""
    warnings = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    paths = ["-I", folder(), f"-Wl,-rpath,{Path(library).parent},--disable-new-dtags"]  # before LD_LIBRARY_PATH
    version = f"-DLIBSVM_VERSION={HEADER.get(Path(library).name, 337)}"
    subprocess.run(
        [compiler(), *warnings, version, *paths, *options, source, library, "-lpthread", "-lm", "-o", program],
        check=True,
    )
    return program


def run(*command, cwd=None, **environment):
    """The finished process, with text output. ``environment`` is added to that of the tests."""
    words = [os.fspath(word) if isinstance(word, Path) else str(word) for word in command]
    return subprocess.run(
        words, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=300
    )


def python(script, *arguments, **environment):
    """``run`` for a Python script, given as text."""
    return run(sys.executable, "-c", script, *arguments, **environment)


def write(path, matrix, targets):
    """A data file with all digits."""
    lines = [
        " ".join([repr(float(y)), *(f"{j}:{v!r}" for j, v in matrix.row(i))]) + "\n" for i, y in enumerate(targets)
    ]
    path.write_text("".join(lines), encoding="ascii")
    return path

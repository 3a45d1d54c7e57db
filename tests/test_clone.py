"""In a clone, where Python finds the source folder first, all imports load the installed package."""

import subprocess
import sys
from pathlib import Path

import pytest
from support import documents, installed

import libsvmx

INSTALLED = str(Path(libsvmx.__file__).parent)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return documents.make_clone(tmp_path_factory.mktemp("my clone"))


def python(clone, *arguments, **variables):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=clone,
        env={**documents.environment(), **variables},
        capture_output=True,
        text=True,
        timeout=documents.PATIENCE,
    )
    return done.returncode, done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import libsvmx; print(libsvmx.__file__)",
        "import libsvmx; print(libsvmx.__spec__.origin)",
        "import libsvmx.svmutil, sys; print(sys.modules['libsvmx'].__file__)",
        "from libsvmx.svmutil import *; import inspect; print(inspect.getsourcefile(svm_train))",
        "from libsvmx._core.matrix import CsrMatrix; import libsvmx._core as c; print(c.__file__)",
        "from libsvmx import Model; import sys; print(sys.modules[Model.__module__].__file__)",
        "import libsvmx, importlib as i; i.reload(libsvmx); print(i.import_module('libsvmx').__file__)",
        "import importlib.resources as r; print(r.files('libsvmx') / '__init__.py')",
        "import importlib.util as u; print(u.find_spec('libsvmx.svmutil').origin)",
    ],
)
def test_an_import_is_of_the_installed_package(code, clone):
    returncode, out, err = python(clone, "-c", code)
    assert (returncode, err) == (0, "")
    assert out.startswith(INSTALLED)


SPAWNED = """
import concurrent.futures, multiprocessing, libsvmx
if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        print(pool.submit(libsvmx.Parameter, C=3).result() == libsvmx.Parameter(C=3))
"""


def test_scripts_modules_and_other_processes(clone):
    (clone / "script.py").write_text(SPAWNED)
    assert python(clone, "script.py")[:2] == (0, "True")
    assert python(clone, "-m", "libsvmx.cli.train")[0] == 0


def test_two_clones_on_the_path(clone, tmp_path):
    code = "import libsvmx; print(libsvmx.__file__)"
    other = documents.make_clone(tmp_path)
    assert python(clone, "-c", code, PYTHONPATH=str(other))[1].startswith(INSTALLED)


def test_without_an_installed_package_the_error_helps(clone):
    """-S: no site-packages."""
    for code in ("import libsvmx", "from libsvmx.svmutil import *", "from libsvmx import train"):
        returncode, _, err = python(clone, "-S", "-c", code)
        message = err.splitlines()[-1]
        assert returncode == 1 and message.startswith(f"ImportError: libsvmx is not installed for {sys.executable}")
        assert message.endswith(f"-m pip install '{clone}'")


EDITABLE = """
import importlib.util, sys
class Finder:
    def find_spec(name, path=None, target=None):
        if name == "libsvmx":
            where = ["editable_loader.py/libsvmx"]
            return importlib.util.spec_from_file_location(name, sys.argv[1], submodule_search_locations=where)
sys.meta_path.insert(0, Finder)
import libsvmx
print(libsvmx.__file__)
"""


def test_an_editable_install_is_used_itself(clone):
    """It finds modules in its own folders; __init__.py is then that of the source."""
    source = str(clone / "libsvmx" / "__init__.py")
    assert python(clone, "-c", EDITABLE, source)[:2] == (0, source)


def test_an_old_installed_package_is_noticed(tmp_path):
    source, package = tmp_path / "source", tmp_path / "package"
    for folder in (source, package):
        folder.mkdir()
        (folder / "a.py").write_text("1\n")
        (folder / "b.pyi").write_text("1\n")
    (source / "m.pyx").write_text("old")
    (package / "m.so").write_text("newer")
    assert installed.differing(package, source) == []
    assert installed.differing(source, source) == []
    (source / "a.py").write_text("2\n")
    (source / "c.py").write_text("new\n")
    (package / "m.so").unlink()
    assert installed.differing(package, source) == ["source/a.py", "source/c.py", "source/m.pyx"]


def test_every_file_of_the_package_is_installed():
    """meson.build lists them."""
    source = Path(__file__).parents[1] / "libsvmx"
    files = [path.relative_to(source) for path in source.rglob("*.py") if "clibrary" not in path.parts]
    assert len(files) > 200
    assert [str(path) for path in files if not Path(INSTALLED, path).is_file()] == []

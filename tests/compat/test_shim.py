"""Programs written for LIBSVM run unchanged with ``python -m libsvmx.compat`` or its folder on PYTHONPATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from libsvmx.compat.__main__ import SHIM

HEART = Path(__file__).parents[2] / "data" / "heart_scale"

PACKAGE = """
import sys
import libsvm.svm as svm
import libsvm.svmutil
from libsvm import commonutil
import libsvmx.svm, libsvmx.svmutil, libsvmx.commonutil
assert svm is libsvmx.svm and libsvm.svmutil is libsvmx.svmutil and commonutil is libsvmx.commonutil
from libsvm.svmutil import *
from libsvm.svm import __all__ as svm_all, gen_svm_nodearray
"""
TOP_LEVEL = """
import sys
import svm, svmutil, commonutil
from svmutil import *
from svm import __all__ as svm_all, scipy, sparse
from commonutil import *
assert svm.C_SVC == 0 and svmutil.RBF == 2 and svm.libsvm.svm_predict
assert svm.byref and svm.POINTER(svm.svm_node) and sparse.csr_matrix
"""
TRAINING = """
y, x = svm_read_problem(sys.argv[1])
model = svm_train(y, x, "-c 4")
svm_save_model(sys.argv[2], model)
print(__name__, svm_predict(y, x, model)[1], svm_load_model(sys.argv[2]).l)
"""


def python(*arguments: object, folder: Path, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | environment
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize("imports", [PACKAGE, TOP_LEVEL], ids=["libsvm", "svmutil"])
def test_a_script_runs_unchanged(imports: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(imports + TRAINING)
    arguments = ("script.py", HEART, "model")
    runs = [
        python("-m", "libsvmx.compat", *arguments, folder=tmp_path),
        python("-P", "-m", "libsvmx.compat", *arguments, folder=tmp_path),
        python("-m", "libsvmx.compat", "-m", "script", *arguments[1:], folder=tmp_path),
        python(*arguments, folder=tmp_path, PYTHONPATH=SHIM),
    ]
    assert len({done.stdout for done in runs}) == 1
    assert "optimization finished" in runs[0].stdout
    assert "__main__" in runs[0].stdout


def test_the_folder_is_printed(tmp_path: Path) -> None:
    printed = python("-m", "libsvmx.compat", folder=tmp_path).stdout
    assert printed == SHIM + "\n"
    assert (Path(SHIM) / "libsvm" / "svmutil.py").is_file()


def test_an_installed_libsvm_is_shadowed_only_on_request(tmp_path: Path) -> None:
    pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")
    script = "import libsvmx.svmutil, libsvmx.compat, libsvm.svmutil\nprint(libsvm.svmutil.__name__)\n"
    (tmp_path / "script.py").write_text(script)
    assert python("script.py", folder=tmp_path).stdout == "libsvm.svmutil\n"
    assert python("-m", "libsvmx.compat", "script.py", folder=tmp_path).stdout == "libsvmx.svmutil\n"
    (tmp_path / "script.py").write_text("import libsvmx.svmutil, svmutil\n")
    assert "No module named 'svmutil'" in python("script.py", folder=tmp_path, code=1).stderr


def test_modules_beside_the_script_come_first(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "svm.py").write_text("mine = 3\n")
    (folder / "script.py").write_text("import svm, sys\nfrom svmutil import svm_train\nprint(svm.mine, sys.argv)\n")
    done = python("-m", "libsvmx.compat", folder / "script.py", "-q", folder=tmp_path)
    assert done.stdout == f"3 ['{folder / 'script.py'}', '-q']\n"


def test_exit_codes_and_errors(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import sys\nsys.exit(7)\n")
    python("-m", "libsvmx.compat", "script.py", folder=tmp_path, code=7)
    (tmp_path / "script.py").write_text("1 / 0\n")
    assert "ZeroDivisionError" in python("-m", "libsvmx.compat", "script.py", folder=tmp_path, code=1).stderr
    assert "there is no none.py" in python("-m", "libsvmx.compat", "none.py", folder=tmp_path, code=1).stderr
    assert "needs a module" in python("-m", "libsvmx.compat", "-m", folder=tmp_path, code=1).stderr
    assert "PYTHONPATH" in python("-m", "libsvmx.compat", "--help", folder=tmp_path).stdout

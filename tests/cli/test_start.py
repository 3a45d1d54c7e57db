"""What a command imports at its start: each module costs, and some of Python's cost more than a small training."""

import subprocess
import sys

import pytest

HEAVY = (
    "dataclasses",
    "inspect",
    "typing",
    "threading",
    "ctypes",
    "tempfile",
    "subprocess",
    "textwrap",
    "numpy",
    "scipy",
)
MOST = {"train": 124, "predict": 95, "scale": 90}


def modules_after(code, folder):
    text = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", text], cwd=folder, capture_output=True, text=True, check=True)
    bare = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split()) - set(bare.stdout.split())


@pytest.mark.parametrize(
    "name, arguments",
    [("train", ["-q", "rows", "model"]), ("predict", ["rows", "model", "out"]), ("scale", ["-s", "ranges", "rows"])],
)
def test_a_command_starts_with_few_modules(tmp_path, name, arguments):
    (tmp_path / "rows").write_text("1 1:1 2:0.5\n-1 1:-1 2:-0.5\n")
    train = "from libsvmx.cli import train; train.main(['-q', 'rows', 'model'])\n"
    if name == "predict":
        subprocess.run([sys.executable, "-I", "-c", train], cwd=tmp_path, check=True)
    loaded = modules_after(f"from libsvmx.cli import {name}; {name}.main({arguments!r})", tmp_path)
    assert not loaded.intersection(HEAVY)
    assert len(loaded) <= MOST[name]


def test_the_package_alone_imports_nothing_else(tmp_path):
    loaded = modules_after("import libsvmx", tmp_path)
    assert {name for name in loaded if name.startswith("libsvmx")} == {"libsvmx"}
    assert not loaded.intersection((*HEAVY, "re", "enum"))

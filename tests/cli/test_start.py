"""Imports of a command at its start: each module costs time, and some of Python's cost more than a small training. And
its end: immediate, unless somebody waits for Python's own clean-up."""

import subprocess
import sys

import pytest

HEAVY = (
    "contextlib",
    "ctypes",
    "dataclasses",
    "enum",
    "functools",
    "inspect",
    "numpy",
    "re",
    "scipy",
    "signal",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "typing",
    "zlib",
)
# Each costs 55 to 80 microseconds; signals, slots of rows and their symmetry are separate modules.
MOST = {"train": 76, "predict": 68, "scale": 46, "help": 87, "error": 72}
LINES = "1 1:1 2:0.5\n-1 1:-1 2:-0.5\n"


def run(code, folder):
    return subprocess.run([sys.executable, "-I", "-c", code], cwd=folder, capture_output=True, text=True, check=False)


def modules_after(code, folder):
    done, bare = (
        run(f"{code}\nimport sys\nprint(*sorted(sys.modules))", folder),
        run("import sys; print(*sys.modules)", folder),
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()) - set(bare.stdout.split())


CALLS = {
    "train": "train.main(['-q', 'rows', 'model'])",
    "predict": "predict.main(['rows', 'model', 'out'])",
    "scale": "scale.main(['-s', 'ranges', 'rows'])",
    "help": "process.guarded('svmx-train', train.main, train.usage, ['--help'])",
    "error": "process.guarded('svmx-train', train.main, train.usage, ['-x'])",
}


@pytest.mark.parametrize("what", CALLS)
def test_a_command_starts_with_few_modules(tmp_path, what):
    (tmp_path / "rows").write_text(LINES)
    command = what if what in ("predict", "scale") else "train"
    if command == "predict":
        assert run("from libsvmx.cli import train; train.main(['-q', 'rows', 'model'])", tmp_path).returncode == 0
    loaded = modules_after(f"from libsvmx.cli import {command}, process; {CALLS[what]}", tmp_path)
    assert not loaded.intersection(HEAVY)
    assert len(loaded) <= MOST[what]


def test_an_update_of_few_rows_needs_no_lapack(tmp_path):
    """It would take longer to load than the update; only large margins are factored with it."""
    (tmp_path / "rows").write_text(LINES)
    code = "from libsvmx.cli import train, update; train.main(['-q', 'rows', 'model'])"
    loaded = modules_after(f"{code}; update.main(['--add', 'rows', 'rows', 'model'])", tmp_path)
    assert "libsvmx._solvers.path.following" in loaded
    assert not loaded.intersection(("scipy.linalg", "libsvmx._core.dense"))


def test_the_package_alone_imports_nothing_else(tmp_path):
    loaded = modules_after("import libsvmx", tmp_path)
    assert {name for name in loaded if name.startswith("libsvmx")} == {"libsvmx"}
    assert not loaded.intersection(HEAVY)


TRAIN = "import sys; sys.argv = ['svmx-train', *sys.argv[1:]]; from libsvmx.cli.start import train; train()"


def started(folder, before, *args, command="train"):
    """A finished command, started like its script, after some statements."""
    (folder / "rows").write_text(LINES)
    code = [sys.executable, "-c", f"{before}\n{TRAIN.replace('train', command)}", *args]
    return subprocess.run(code, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "command, args",
    [("train", ["-q", "rows", "model"]), ("predict", ["-q", "rows", "model", "out"]), ("scale", ["-s", "out", "rows"])],
)
def test_a_command_does_without_collections(tmp_path, command, args):
    """Arrays and Cython's helpers need a part of it; a later import gets the whole module."""
    assert started(tmp_path, "", "-q", "rows", "model").returncode == 0
    tell = "print('collections' in sys.modules, __import__('collections').Counter('a'))"
    done = started(tmp_path, f"import os, sys; os._exit = lambda code: {tell}", *args, command=command)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "False Counter({'a': 1})")


@pytest.mark.parametrize("args, code", [(["rows", "model"], 0), (["none", "model"], 1), (["--version"], 0), ([], 1)])
def test_both_ends_are_the_same(tmp_path, args, code):
    ends = [started(tmp_path, before, *args) for before in ("", "import threading")]  # the second ends as Python does
    assert [end.returncode for end in ends] == [code, code]
    assert ends[0].stdout == ends[1].stdout
    assert ends[0].stderr == ends[1].stderr
    assert (tmp_path / "model").exists() == (args == ["rows", "model"])


@pytest.mark.parametrize(
    "waiting",
    [
        "import atexit; atexit.register(print, 'told')",
        "import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('told'))).start()",
    ],
)
def test_who_waits_for_the_end_is_told_of_it(tmp_path, waiting):
    done = started(tmp_path, waiting, "-q", "rows", "model")
    assert (done.returncode, done.stdout) == (0, "told\n")


@pytest.mark.parametrize("watch", ["setprofile", "settrace"])
def test_who_watches_the_calls_sees_the_exit(tmp_path, watch):
    """Such as ``python -m cProfile``, which prints its profile at that point."""
    (tmp_path / "rows").write_text(LINES)
    code = f"import sys\nsys.{watch}(lambda *a: None)\ntry: exec({TRAIN!r})\nexcept SystemExit: print('told')"
    done = subprocess.run(
        [sys.executable, "-c", code, "-q", "rows", "model"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "told\n")


def test_all_that_is_printed_arrives(tmp_path):
    """A pipe has a buffer, which an immediate exit would lose."""
    done = started(tmp_path, "print('before', end='')", "rows", "model")
    assert done.stdout.startswith("before")
    assert done.stdout.endswith("Total nSV = 2\n")

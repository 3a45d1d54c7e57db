"""Solvers that need NumPy and SciPy, in a process with little address space: they work, or say how much they need."""

import os
import re

import pytest
from support import data
from support.commands import process

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc of Linux")
NEEDS = re.compile(rb"svmx-train: error: out of memory: .+ needs about \d+ MB, and \d+ MB are left; [^\n]+\n")
HEART = str(data.DATA / "heart_scale")
SOLVERS = {
    "linear": ["-t", "0", "--solver", "crsvm"],
    "rank": ["--solver", "crsvm", "--rank", "40"],
    "nystrom": ["--solver", "crsvm", "--rank", "40", "--low-rank", "nystrom"],
    "irwls": ["--solver", "irwls", "--working-set", "200"],  # otherwise it may finish before its first working set
}


def limit(megabytes):
    """A statement that limits the process to ``megabytes`` more address space than it uses."""
    return (
        "import resource; held = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize(); "
        f"resource.setrlimit(resource.RLIMIT_AS, (held + ({megabytes} << 20),) * 2)"
    )


@pytest.mark.each_value
@pytest.mark.parametrize("megabytes", [30, 70, 100, 130, 160, 190, 220, 250])
@pytest.mark.parametrize("solver", SOLVERS)
def test_too_little_is_told(folder, solver, megabytes):
    """No hanging process and no traceback; the old model stays."""
    folder.put("model", folder.KEPT)
    done = process("svmx-train", "-q", *SOLVERS[solver], HEART, "model", before=limit(megabytes))
    assert (done.returncode, done.stdout) == (1, b"")
    assert NEEDS.fullmatch(done.stderr), done.stderr
    assert folder.snapshot() == {"model": folder.KEPT}


@pytest.mark.each_value
@pytest.mark.parametrize("megabytes", [310, 350, 600, 1200])
@pytest.mark.parametrize("solver", SOLVERS)
def test_enough_is_enough(folder, solver, megabytes):
    """From the reported size on, for any number of threads: the model equals that of a process with much memory."""
    args = ["-q", "--threads", "8", *SOLVERS[solver], HEART]
    done = process("svmx-train", *args, "model", before=limit(megabytes))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    folder.accepts("svmx-train", *args, "expected")
    assert folder.get("model") == folder.get("expected")


@pytest.mark.each_value
@pytest.mark.parametrize("megabytes", [20, 30, 50, 70, 100])
@pytest.mark.parametrize("window", [[], ["--window", "100"]])
def test_an_update_that_cannot_load_numpy(folder, megabytes, window):
    folder.accepts("svmx-train", "-q", HEART, "m")
    folder.put("model", folder.KEPT)
    before = folder.snapshot()
    args = ["-q", *(window or ["--remove", "1"]), HEART, *([] if window else ["m"]), "model"]
    done = process("svmx-update", *args, before=limit(megabytes))
    assert (done.returncode, done.stdout) == (1, b"")
    assert re.fullmatch(rb"svmx-update: error: out of memory: loading NumPy needs about .+ are left\n", done.stderr)
    assert folder.snapshot() == before


@pytest.mark.parametrize("megabytes", [70, 100, 130, 160])
def test_a_picture_that_cannot_be_drawn_is_left_out(folder, megabytes):
    pytest.importorskip("matplotlib")
    args = ["-log2c", "0,1,1", "-log2g", "-2,-3,-1", "-out", "null", HEART]
    done = process("svmx-grid", *args, before=limit(megabytes))
    assert (done.returncode, done.stdout) == (0, process("svmx-grid", "-png", "null", *args).stdout)
    assert re.fullmatch(rb"warning: no picture: drawing needs about 200 MB, and \d+ MB are left\n", done.stderr)
    assert folder.snapshot() == {}


def test_a_factor_that_does_not_fit(folder):
    rows = "".join(f"{1 - 2 * (i % 2)} 1:{i / 7:.4g} 2:{i % 13}\n" for i in range(9000))
    folder.put("data", rows)
    args = ["-q", "--solver", "crsvm", "--rank", "4000", "data", "model"]
    done = process("svmx-train", *args, before=limit(500))
    assert (done.returncode, done.stdout) == (1, b"")
    assert NEEDS.fullmatch(done.stderr) and b"4000 features" in done.stderr and b"--rank" in done.stderr
    assert list(folder.snapshot()) == ["data"]

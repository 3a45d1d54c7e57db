"""tools/nightly runs the given steps and continues after one that fails; CONTRIBUTING has a line for each step."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# In place of python3, which makes the environment, and of its pip and pytest.
PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*, seed $LIBSVMX_FUZZ_SEED, kills $LIBSVMX_KILLS" >>calls
mkdir -p build/nightly/venv/bin && touch build/nightly/venv/bin/activate
case "$*" in *$FAILS*) echo "this is wrong"; exit 1;; *) echo "this is right";; esac
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a program of bash")


@pytest.fixture
def nightly(tmp_path):
    """A function (arguments of tools/nightly, failing step): exit code, output, error output, calls of programs."""
    (tmp_path / "tools").mkdir()
    for name in ("nightly", "steps.sh"):
        shutil.copy(ROOT / "tools" / name, tmp_path / "tools")
    (tmp_path / "bin").mkdir()
    for name in ("python3", "pip", "pytest"):
        (tmp_path / "bin" / name).write_text(PROGRAM)
        (tmp_path / "bin" / name).chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])

    def run(*words, fails="nothing"):
        env = {**os.environ, "PATH": path, "FAILS": fails, "LIBSVMX_FUZZ_SEED": "7"}
        env.pop("LIBSVMX_KILLS", None)
        done = subprocess.run(
            ["bash", "tools/nightly", *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        calls = tmp_path / "calls"
        return done.returncode, done.stdout, done.stderr, calls.read_text() if calls.exists() else ""

    return run


def test_steps_that_are_named_are_done(nightly):
    code, out, _, calls = nightly("kills", "systems")
    assert code == 0 and "failed" not in out
    kills, systems = calls.splitlines()[-2:]
    assert re.fullmatch(r"pytest .* tests/faults/test_kills\.py, seed 7, kills \d+", kills)
    assert re.fullmatch(r"pytest .* -k other_systems, seed , kills ", systems)


def test_it_goes_on_after_a_step_that_fails(nightly):
    code, out, _, calls = nightly("kills", "remaining", "faults", fails="--remaining")
    assert code == 1 and out.splitlines()[-1] == "failed: remaining"
    assert (out.count("this is wrong"), out.count("this is right")) == (1, 2)
    assert "tests/faults --ignore" in calls.splitlines()[-1]


def test_nothing_is_done_without_an_environment(nightly):
    code, out, _, calls = nightly("kills", fails="-m venv")
    assert code == 1 and "this is wrong" in out and len(calls.splitlines()) == 1


def test_a_step_that_there_is_not_is_refused(nightly):
    code, _, err, calls = nightly("kills", "kill")
    assert (code, calls) == (2, "")
    assert "no step kill, only remaining kills faults" in err


def test_contributing_has_a_line_for_each_step(nightly):
    listed = re.findall(r"^([a-z]+) +(.*)$", nightly("--list")[1], re.M)
    assert len(listed) > 8
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| step |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(.*)` \| (.*) \| .* \|$", table, re.M) == listed

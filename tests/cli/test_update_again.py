"""svmx-update repeated after a failure, and two at the same time."""

import errno
import subprocess

from support import data
from support.commands import arguments
from support.faults import failing

import libsvmx


def split_heart(folder, *ends):
    """Files of consecutive rows of heart_scale, named a, b, ..."""
    lines = (data.DATA / "heart_scale").read_bytes().splitlines(keepends=True)
    for name, begin, end in zip("abc", (0, *ends), (*ends, len(lines)), strict=False):
        folder.put(name, b"".join(lines[begin:end]))


def test_an_update_that_failed_can_be_repeated(folder):
    """The disk gets full just before the end of the model: the rows have not joined the state."""
    split_heart(folder, 200)
    folder.call("svmx-train", "-q", "a", "m")
    assert folder.call("svmx-update", "--save-state", "st", "a", "m")[0] == 0
    kept = folder.get("m"), folder.get("st")
    words = ("svmx-update", "--state", "st", "--save-state", "st", "--add", "b", "m")
    for synced in (0, 1):
        with failing("fsync", errno.ENOSPC, after=synced):
            code, _, errors = folder.call(*words)
        assert (code, "No space left" in errors) == (1, True)
        assert (folder.get("m"), folder.get("st")) == kept
    assert folder.call(*words)[0] == 0
    assert len(libsvmx.State.load(folder.path / "st")) == 270


def test_two_updates_of_one_state_take_turns(folder):
    split_heart(folder, 100, 150)
    folder.call("svmx-train", "-q", "a", "m")
    folder.call("svmx-update", "--save-state", "st", "a", "m", "m2")
    slow = "import time, libsvmx.cli.update as u; w = u.write_all; u.write_all = lambda *a: (time.sleep(0.3), w(*a))"
    words = ("--state", "st", "--save-state", "st", "--add")
    running = [
        subprocess.Popen(
            arguments("svmx-update", *words, name, before=slow), cwd=folder.path, stderr=subprocess.DEVNULL
        )
        for name in "bc"
    ]
    assert [child.wait() for child in running] == [0, 0]
    assert len(libsvmx.State.load(folder.path / "st")) == 270


def test_what_an_update_starts_from_is_replaced_last(folder):
    """The second of two files cannot be replaced: both are the old ones, and the same command succeeds later."""
    split_heart(folder, 200)
    folder.call("svmx-train", "-q", "a", "m")
    old = folder.get("m")
    with failing("replace", errno.EIO, after=1):
        assert folder.call("svmx-update", "--save-state", "st", "--add", "b", "a", "m")[0] == 1
    assert folder.get("m") == old
    assert "st" not in folder.snapshot()
    assert folder.call("svmx-update", "--save-state", "st", "--add", "b", "a", "m")[0] == 0
    assert len(libsvmx.State.load("st")) == 270

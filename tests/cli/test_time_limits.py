"""--time-limit of each command: it covers all of its work, and what is left afterwards, with a simulated clock."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import PATIENCE
from support.gridengine import HEART, SMALL
from support.machine import Clock, machine_with

from libsvmx._core.stopping import Token
from libsvmx._train.validation.grid_pool import End, ending
from libsvmx.enums import SolveStatus

HARD = ["-q", "-c", "1000", "-g", "1"]


@pytest.fixture
def clock():
    """Advances by a second at each reading."""
    clock = Clock()
    with machine_with(monotonic=clock):
        yield clock


def looks(clock, folder, command, *args):
    """Number of clock readings of a command."""
    before = clock.now
    folder.accepts(command, "--time-limit", "1e9", *args)
    return int(clock.now - before)


@pytest.mark.parametrize("options", [["-v", "5"], ["-v", "5", "--seeder", "sir"], ["-v", "5", "-b", "1"], ["--loo"]])
def test_no_rate_of_a_validation_that_was_ended(options, folder, clock):
    args = [*HARD, "--threads", "1", *options, HEART]  # several threads take turns at reading the clock
    total = looks(clock, folder, "svmx-train", *args)
    what = "leave-one-out" if options == ["--loo"] else "the cross-validation"
    of = "270 rows" if options == ["--loo"] else "5 folds"
    late = total - 3  # at the last reading before the last result
    for seconds in (1, total // 3, late):
        err, out = folder.refuses("svmx-train", "--time-limit", str(seconds), *args)
        assert out == ""
        start, end = f"svmx-train: error: time limit: {what} has no result; ", f" of {of} are done\n"
        assert err.splitlines(keepends=True)[-1].startswith(start)
        assert err.endswith(end)
        assert "model" not in err
    assert ("; 269 of" if options == ["--loo"] else "; 4 of") in err
    folder.accepts("svmx-train", "--time-limit", str(late + 1), *args)
    assert folder.snapshot() == {}


def test_the_model_as_it_is(folder, clock):
    total = looks(clock, folder, "svmx-train", *HARD, "-b", "1", HEART, "model")
    err, _ = folder.accepts("svmx-train", "--time-limit", str(total // 2), *HARD[1:], "-b", "1", HEART, "model")
    assert "warning: there are no probability estimates in the model: their folds were not finished\n" in err
    assert b"probA" not in folder.get("model")
    folder.accepts("svmx-predict", HEART, "model", "out")


@pytest.mark.parametrize("out", ["-", "/dev/null", "null"])
def test_a_grid_without_a_file_of_results_has_nothing_to_go_on_from(out, folder, clock):
    code, _, err = folder.call("svmx-grid", *SMALL, "--time-limit", "5", "-out", out, HEART)
    assert code == 1
    assert err.splitlines()[-1].endswith("points are done")


@pytest.mark.parametrize("seeder", ["none", "auto"])
def test_a_grid_goes_on_with_resume(seeder, folder, clock):
    args = ["-log2c", "-1,3,2", "-log2g", "-3,-5,-2", "-v", "3", "--seeder", seeder, "-png", "null"]
    folder.accepts("svmx-grid", *args, "-out", "whole", "--csv", "expected.csv", HEART)
    total = looks(clock, folder, "svmx-grid", *args, "-out", "null", HEART)
    _, whole = folder.accepts("svmx-grid", *args, "-out", "null", HEART)
    code, out, err = folder.call("svmx-grid", *args, "--time-limit", str(total // 5), "-out", "results", HEART)
    assert code == 1
    done = out.count("[local]")
    assert 0 < done < 6
    assert err == (
        f"svmx-grid: error: time limit: the search is not finished; {done} of 6 points are done; "
        "the same command with -resume results goes on\n"
    )
    assert out.splitlines()[-1].startswith("[local]")  # no result that a script would take for that of the search
    for _ in range(4):  # also with other limits
        code, out, err = folder.call(
            "svmx-grid", *args, "--time-limit", str(total), "-resume", "results", "-out", "results", HEART
        )
        if code == 0:
            break
    assert out.splitlines()[-1] == whole.splitlines()[-1]
    rates = [[line.split(b",")[:5] for line in folder.get(name).splitlines()] for name in ("expected.csv",)]
    folder.accepts("svmx-grid", *args, "-resume", "results", "-out", "results", "--csv", "found.csv", HEART)
    assert [line.split(b",")[:5] for line in folder.get("found.csv").splitlines()] == rates[0]


def test_workers_have_the_limit_of_the_search(folder):
    args = [*SMALL, "--workers", "2", "--time-limit", "1e-9", "-out", "results", HEART]
    pytest.importorskip("joblib")
    code, out, err = folder.call("svmx-grid", *args)
    assert (code, out) == (1, "")
    assert "0 of 9 points are done; the same command with -resume results goes on" in err


SLOW = """
import threading, libsvmx
from libsvmx._train.validation import grid_pool
def never(parent):
    import time
    while True:
        time.sleep(1)
grid_pool.follow = never
grid_pool.End.patience = lambda self: 0.2  # of a limit that is far away: the workers have been begun
X, y = libsvmx.read_problem({heart!r})
try:
    libsvmx.grid_search(X, y, (0, 1, 1), (0, 1, 1), 2, workers=2, time_limit=1000)
except libsvmx.StoppedEarly as stop:
    print(stop.status)
"""


def test_workers_that_do_not_start_are_not_waited_for():
    pytest.importorskip("joblib")
    code = SLOW.format(heart=HEART)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "time limit\n"), done.stderr


# With the wall clock, which advances by a second at each reading, the limit ends at the first, second, ... check.
OVER = """
import multiprocessing, sys, libsvmx
from itertools import count
from libsvmx._core.machine import machine
X, y = libsvmx.read_problem({heart!r})
moments = count()
machine.monotonic = lambda: 1e-6 * next(moments)
for question in range(1, 8):
    looks = count(1)
    machine.time_of_day = lambda: float(next(looks))
    try:
        libsvmx.grid_search(X, y, (0, 1, 1), (0, 1, 1), 2, workers=2, time_limit=question - 0.5)
    except libsvmx.StoppedEarly:
        print(next(looks) - 2, "joblib" in sys.modules, len(multiprocessing.active_children()))
"""


def test_no_worker_is_started_once_the_limit_is_over():
    """There is a check before each of three imports, of which joblib is the second, and before each of four files."""
    pytest.importorskip("joblib")
    code = OVER.format(heart=HEART)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)
    expected = [f"{question} {question > 2} 0" for question in range(1, 8)]
    assert (done.returncode, done.stdout.splitlines()) == (0, expected), done.stderr


EARLIER = """
import libsvmx, sys
libsvmx.BEGUN -= 1000
from libsvmx.cli.{command} import entry
sys.argv = {argv!r}
entry()
"""


@pytest.mark.parametrize(
    "words",
    [
        f"svmx-train --time-limit 500 -q -v 5 {HEART}",
        f"svmx-grid --time-limit 500 -v 2 -out null {HEART}",
        f"svmx-update --time-limit 500 -q --window 200 {HEART} model",
    ],
)
def test_the_limit_of_a_command_counts_its_imports(words, tmp_path):
    argv = words.split()
    code = EARLIER.format(command=argv[0].removeprefix("svmx-"), argv=argv)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert "time limit: " in done.stderr


LEAVING = """
import os
from contextlib import suppress
from joblib import Parallel, delayed
from libsvmx.cli.ending import end_workers
workers = set(Parallel(2)(delayed(os.getpid)() for _ in range(8)))
end_workers()
for worker in workers:
    with suppress(ChildProcessError):  # joblib has seen the end of this one
        os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT)  # they were waiting for work
print("ended")
"""


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="no waitid here")
def test_a_command_that_ends_ends_its_workers():
    pytest.importorskip("joblib")
    done = subprocess.run(
        [sys.executable, "-c", LEAVING], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


def test_workers_are_told_of_the_end():
    answers = iter([False, True])
    limits = Token(0.0, lambda: next(answers))
    with ending(limits) as end:
        while end.token().look() is None:  # the checks of the thread
            pass
        assert end.token().look() == SolveStatus.INTERRUPTED
    assert End(1.0, end.flag).token().look() == SolveStatus.TIME_LIMIT  # long past
    assert End(0.0, end.flag).token().look() is None


def test_an_observer_that_fails_ends_a_search_of_workers():
    def fails():
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"), ending(Token(0.0, fails)) as end:
        while end.token().look() is None:
            pass


def test_an_update_writes_all_or_nothing(folder, clock):
    folder.put("stream", b"".join(Path(HEART).read_bytes().splitlines(keepends=True)[:60]))
    args = ["-q", "--window", "40", "--step", "5", "stream", "m", "p"]
    total = looks(clock, folder, "svmx-update", *args)
    before = {name: content for name, content in folder.snapshot().items() if name == "stream"}
    for name in ("m", "p"):
        (folder.path / name).unlink()
    end = total - 7  # the last readings are for the times of its parts, and writing
    err, out = folder.refuses("svmx-update", "--time-limit", str(end), *args)
    assert err.startswith("svmx-update: error: time limit: ")
    assert (out, folder.snapshot()) == ("", before)

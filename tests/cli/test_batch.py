"""svmx-batch: what its commands print, write and return is what they do alone, in the order of the lines."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from support import data
from support.commands import arguments, endless, process

from libsvmx._core.machine import machine

HEART = str(data.DATA / "heart_scale")
MPG = str(data.DATA / "mpg")
COMMANDS = [
    ["svmx-train", "-c", "4", "-v", "5", HEART],
    ["svmx-train", "-b", "1", HEART, "model"],
    ["svmx-train", "-s", "3", "-p", "0.5", "--solver", "irwls", MPG, "regression"],
    ["svmx-predict", "-b", "1", HEART, "model", "out"],
    ["svmx-scale", "-s", "ranges", MPG],
    ["svmx-train", "-q", "nothing here"],
    ["svmx-train", "-v", "5", HEART],
    ["svmx-predict"],
]


@pytest.fixture
def batch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(lines, *options, **given):
        (tmp_path / "commands").write_text(lines)
        return process("svmx-batch", *options, "commands", **given)

    return run


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "commands"}


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_command_does_what_it_does_alone(batch, tmp_path, jobs):
    alone = [process(*command) for command in COMMANDS]
    expected = files(tmp_path)
    for name in expected:
        (tmp_path / name).unlink()
    lines = "".join(" ".join(f'"{word}"' for word in command) + "\n" for command in COMMANDS)
    lines = lines.replace('"svmx-predict" "-b"', 'wait\n"svmx-predict" "-b"')
    done = batch(f"# all\n\n{lines}", "--jobs", jobs)
    assert done.stdout == b"".join(one.stdout for one in alone)
    assert files(tmp_path) == expected
    told = b"".join(one.stderr for one in alone).decode().splitlines()
    failed = [line for line in done.stderr.decode().splitlines() if line.startswith("svmx-batch: ")]
    assert [line for line in done.stderr.decode().splitlines() if line not in failed] == told
    assert failed == [
        "svmx-batch: error: line 9 ended with 1: svmx-train -q 'nothing here'",
        "svmx-batch: error: line 11 ended with 1: svmx-predict",
    ]
    assert done.returncode == 1


def test_names_of_libsvm_mean_the_commands_that_replace_them(batch, tmp_path):
    done = batch(f"/usr/bin/svm-train -q {HEART} m\n./svm-predict {HEART} m o\nsvm-scale --output s {HEART}\n")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"Accuracy = 86.6667% (234/270) (classification)\n"
    assert (tmp_path / "s").read_bytes() == process("svmx-scale", HEART).stdout


def test_commands_may_come_from_standard_input(tmp_path):
    done = process("svmx-batch", "-", input=f"svmx-train -q {HEART} m\n".encode(), cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "line, message",
    [
        ("svmx-train a > b", "commands:2:14: '>' is for a shell, and there is none"),
        ("svmx-train a | cat", "commands:2:14: '|' is for a shell, and there is none"),
        ("svmx-train a; ls", "commands:2:13: ';' is for a shell, and there is none"),
        ("svmx-tran a", "commands:2:1: 'svmx-tran' is no command that can stand here; did you mean svmx-train?"),
        ("svmx-batch a", "commands:2:1: 'svmx-batch' is no command that can stand here"),
        ("rm a", "commands:2:1: 'rm' is no command that can stand here"),
        ("svmx-train 'a", "commands:2: no closing quotation"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_begins(batch, tmp_path, line, message):
    done = batch(f"svmx-train -q {HEART} m\n{line}\n")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(f"svmx-batch: error: {message}")
    assert files(tmp_path) == {}


def test_quoted_operators_are_words(batch):
    done = batch('svmx-train "a;b"\n')
    assert done.stderr.startswith(b"svmx-train: error: a;b: No such file or directory\n")


@pytest.mark.parametrize("jobs", ["0", "x", "-1"])
def test_at_least_one_command_runs_at_a_time(batch, jobs):
    done = batch(f"svmx-train -q {HEART} m\n", "--jobs", jobs)
    assert done.returncode == 1
    assert b"--jobs" in done.stderr


def test_stop_begins_nothing_more(batch, tmp_path):
    lines = f"svmx-train -q {HEART} m\nsvmx-train -q nothing\nsvmx-train -q {HEART} n\n"
    done = batch(lines, "--stop", "--report", "report")
    assert (done.returncode, sorted(files(tmp_path))) == (1, ["m", "report"])
    found = json.loads((tmp_path / "report").read_text())
    commands = found["result"]["commands"]
    assert [(c["line"], c["command"][0], c["exit_code"]) for c in commands] == [
        (1, "svmx-train", 0),
        (2, "svmx-train", 1),
        (3, "svmx-train", None),
    ]
    assert (found["status"], found["exit_code"]) == ("error", 1)


def test_the_exit_code_is_that_of_the_first_line_that_failed(batch):
    """Not of the one that failed first: the third line takes its fork with it."""
    kills = "import os, libsvmx.cli.scale as scale; scale.main = lambda argv: os.kill(os.getpid(), 9)"
    lines = f"svmx-train -q {HEART} m\nsvmx-scale {HEART}\nsvmx-train -q nothing\nsvmx-train -q {HEART} n\n"
    for jobs in (1, 2):
        done = batch(lines, "--jobs", jobs, before=kills)
        assert done.returncode == 137
        assert b"line 2 ended with 137: " in done.stderr and b"line 3 ended with 1: " in done.stderr
        assert os.path.exists("n")
        os.remove("n")


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_no_command_outlives_it(tmp_path, signum, jobs):
    words = " ".join(endless(tmp_path / "endless"))
    (tmp_path / "commands").write_text(f"svmx-train -q {words} m1\nsvmx-train -q {words} m2\n")
    begun = "import libsvmx.cli.train as train, os; own = train.train_problem\n"
    begun += "train.train_problem = lambda *a, **k: (open(f'begun.{os.getpid()}', 'w'), own(*a, **k))[1]"
    call = arguments("svmx-batch", "--jobs", jobs, "commands", before=begun)
    running = subprocess.Popen(call, cwd=tmp_path, start_new_session=True)
    while len(list(tmp_path.glob("begun*"))) < int(jobs) and running.poll() is None:
        time.sleep(0.01)
    os.killpg(running.pid, signum)
    assert running.wait() == -signum
    for path in tmp_path.glob("begun*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name.rpartition(".")[2]), 0)
    assert not list(tmp_path.glob("m*"))


def test_commands_side_by_side_share_the_processors(batch):
    shown = (
        "import libsvmx.cli.train as train, os; train.main = lambda argv: print(os.environ.get('OMP_NUM_THREADS')) or 0"
    )
    env = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    share = max(1, machine.processors() // 2)
    assert batch("svmx-train a\n", "--jobs", "2", before=shown, env=env).stdout.decode() == f"{share}\n"
    assert batch("svmx-train a\n", before=shown, env=env).stdout == b"None\n"
    assert batch("svmx-train a\n", "--jobs", "2", before=shown, env={**env, "OMP_NUM_THREADS": "7"}).stdout == b"7\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_python_is_started_once(batch):
    """Commands do their work in one process, one after the other."""
    shown = "import libsvmx.cli.train as train, os; train.main = lambda argv: print(os.getpid()) or 0"
    assert len(set(batch("svmx-train a\n" * 5, before=shown).stdout.split())) == 1

"""svmx-batch: its commands print, write and return the same as alone, in the order of the lines."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

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
        ("svmx-train a > b", "commands:2:14: '>' needs a shell, and there is none"),
        ("svmx-train a | cat", "commands:2:14: '|' needs a shell, and there is none"),
        ("svmx-train a; ls", "commands:2:13: ';' needs a shell, and there is none"),
        ("svmx-tran a", "commands:2:1: 'svmx-tran' is not a command that is allowed here; did you mean svmx-train?"),
        ("svmx-batch a", "commands:2:1: 'svmx-batch' is not a command that is allowed here"),
        ("rm a", "commands:2:1: 'rm' is not a command that is allowed here"),
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


def test_a_comment_begins_where_a_word_would(batch, tmp_path):
    (tmp_path / "heart#1").write_bytes((data.DATA / "heart_scale").read_bytes())
    lines = "svmx-train -q heart#1 m#1 # > o\n  # 'all\nsvmx-train -q \"heart#1\" '# m'\\#\t#\n"
    done = batch(lines)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert sorted(files(tmp_path)) == ["# m#", "heart#1", "m#1"]
    assert batch("svmx-train a#b|c\n").stderr.startswith(b"svmx-batch: error: commands:1:15: '|' needs a shell")


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
    """Not of the first to fail; line 2 kills its fork."""
    kills = "import os, libsvmx.cli.scale as scale; scale.main = lambda argv: os.kill(os.getpid(), 9)"
    lines = f"svmx-train -q {HEART} m\nsvmx-scale {HEART}\nsvmx-train -q nothing\nsvmx-train -q {HEART} n\n"
    for jobs in (1, 2):
        done = batch(lines, "--jobs", jobs, before=kills)
        assert done.returncode == 137
        assert b"line 2 ended with 137: " in done.stderr and b"line 3 ended with 1: " in done.stderr
        assert os.path.exists("n")
        os.remove("n")


def begun(folder, n, *options):
    """svmx-batch, and the processes of its first n trainings, once they have begun."""
    before = "import libsvmx.cli.train as train, os, tempfile; own = train.train_problem\n"
    before += "train.train_problem = lambda *a, **k: "
    before += "(tempfile.mkstemp(prefix=f'begun.{os.getpid()}.', dir='.'), own(*a, **k))[1]"
    call = arguments("svmx-batch", *options, "commands", before=before)
    running = subprocess.Popen(call, cwd=folder, start_new_session=True)
    while len(list(folder.glob("begun.*"))) < n and running.poll() is None:
        time.sleep(0.01)
    return running, {int(path.name.split(".")[1]) for path in folder.glob("begun.*")}


def is_over(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_no_command_outlives_it(tmp_path, signum, jobs):
    words = " ".join(endless(tmp_path / "endless"))
    (tmp_path / "commands").write_text(f"svmx-train -q {words} m1\nsvmx-train -q {words} m2\n")
    running, forks = begun(tmp_path, int(jobs), "--jobs", jobs)
    os.killpg(running.pid, signum)
    assert running.wait() == -signum
    assert all(is_over(fork) for fork in forks)
    assert not list(tmp_path.glob("m*"))


@pytest.mark.parametrize("more", [(), ("--report", "r")])
def test_an_interrupt_of_it_alone_is_handed_on(tmp_path, more):
    words = " ".join([*more, *endless(tmp_path / "endless")])
    (tmp_path / "commands").write_text(f"svmx-train -q {words} m1\nsvmx-train -q {words} m2\n")
    running, forks = begun(tmp_path, 1)
    running.send_signal(signal.SIGINT)
    assert running.wait() == -signal.SIGINT
    assert all(is_over(fork) for fork in forks)
    assert not list(tmp_path.glob("m*"))
    assert not more or json.loads((tmp_path / "r").read_text())["status"] == "interrupted"


@pytest.mark.parametrize("whom", [os.kill, os.killpg])
def test_what_an_interrupt_saves_is_saved(tmp_path, whom):
    """Whether the signal comes once, from svmx-batch, or twice, first from a terminal."""
    words = " ".join(endless(tmp_path / "endless"))
    (tmp_path / "commands").write_text(f"svmx-train -q --report r --on-interrupt save {words} m1\n")
    running, forks = begun(tmp_path, 1)
    whom(running.pid, signal.SIGINT)
    assert running.wait() == -signal.SIGINT
    assert all(is_over(fork) for fork in forks)
    assert (tmp_path / "m1").exists()
    assert json.loads((tmp_path / "r").read_text())["exit_code"] == 3


def test_a_signal_ends_what_comes_after_a_report(tmp_path):
    """A command ignores signals once its report is written; the next one in the same fork does not."""
    words = " ".join(endless(tmp_path / "endless"))
    (tmp_path / "commands").write_text(f"svmx-train -q --report r {HEART} m1\nsvmx-train -q {words} m2\n")
    running, forks = begun(tmp_path, 2)
    running.send_signal(signal.SIGTERM)
    assert running.wait() == -signal.SIGTERM
    assert all(is_over(fork) for fork in forks)
    assert {path.name for path in tmp_path.iterdir()} >= {"m1", "r"}
    assert not (tmp_path / "m2").exists()


def test_a_command_says_its_own_last_words_alone(tmp_path):
    """Ctrl-C during the second command brings no message from the first, which has finished."""
    words = " ".join(endless(tmp_path / "endless"))
    (tmp_path / "commands").write_text(f"svmx-train -q -s 1 -n 0.9999 {HEART} m1\nsvmx-train -q -v 2 {words}\n")
    before = "import libsvmx.cli.train as train, os\n"
    before += "train.cross_validated = lambda *a: (open('begun', 'w'), os.kill(os.getpid(), 2))"
    done = process("svmx-batch", "commands", before=before, cwd=tmp_path)
    assert done.returncode == 1
    assert b"interrupted" not in done.stderr
    assert b"line 2 ended with 130: " in done.stderr


def test_a_command_that_raises_what_it_should_not_has_failed(batch):
    before = "import libsvmx.cli.train as train\n"
    before += "train.main = lambda argv: 0 if argv == ['a'] else (_ for _ in ()).throw(SystemExit())"
    done = batch("svmx-train a\nsvmx-train b\n", before=before)
    assert done.returncode == 1
    assert b"line 2 ended with 1: svmx-train b\n" in done.stderr


@pytest.mark.skipif(not find_spec("joblib"), reason="needs joblib")
def test_a_fork_ends_as_python_does(batch):
    """With joblib's clean-up at exit; without it, joblib reports leaked files."""
    grid = "svmx-grid --workers 2 -log2c 0,0,1 -log2g 0,0,1 -gnuplot null -out null"
    done = batch(f"{grid} {HEART}\n")
    assert (done.returncode, done.stderr) == (0, b"")
    shown = "import libsvmx.cli.train as train, atexit\ntrain.main = lambda argv: atexit.register(print, 'end') and 0"
    assert batch("svmx-train a\n", before=shown).stdout == b"end\n"


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
    """Commands run in one process, one after the other."""
    shown = "import libsvmx.cli.train as train, os; train.main = lambda argv: print(os.getpid()) or 0"
    assert len(set(batch("svmx-train a\n" * 5, before=shown).stdout.split())) == 1

"""Results files of svmx-grid: killed runs, torn lines, files of grid.py and of other runs, full disks."""

import json
import os
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support import data, gridengine
from support.commands import PATIENCE, arguments, process
from support.gridengine import HEART, SMALL, result_lines, rows
from support.policies import of_commands

from libsvmx._train.validation.grid import Point
from libsvmx._train.validation.scheme import Seeding
from libsvmx.cli import gridfile
from libsvmx.exceptions import DataError, FormatError

IRIS = str(data.DATA / "iris.scale")
WIDE = ["-log2c", "-3,5,1", "-log2g", "-5,-1,1", "-png", "null"]
FULL = "/dev/full"
TESTS = Path(__file__).parents[1]
# in its own process: rates that depend on the start, slow points, starts that are saved or not
SLOW = f"""
import sys; sys.path.insert(0, {str(TESTS)!r})
from support import gridengine; gridengine.install(0.02, min_recompute_seconds=%s)
"""


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    """auto seeds searches over sets as small as these, too."""
    of_commands(monkeypatch, max_cold_start_rows=0)


@pytest.mark.parametrize("seconds", [0.05, *(pytest.param(w, marks=pytest.mark.exhaustive) for w in (0.0, 1e9))])
def test_killed_at_any_moment_and_resumed_gives_the_same_table(folder, seconds):
    before = SLOW % seconds
    done = process("svmx-grid", *WIDE, "-out", "whole", "--csv", "expected", HEART, before=before)
    assert done.returncode == 0, done.stderr
    rng = random.Random(str(seconds))
    kills = 0
    for attempt in range(100):
        args = [*WIDE, "-out", "results", *(["-resume", "results"] if attempt else []), "--csv", "table", HEART]
        child = subprocess.Popen(
            arguments("svmx-grid", *args, before=before), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        # after some points of its own, however long they take, and at any moment of the next
        some = rng.randint(1 if attempt == 0 else 0, 9)  # the first attempt must leave a results file
        while some and (line := child.stdout.readline()):
            some -= line.startswith(b"[local]")
        time.sleep(rng.uniform(0.0, 0.03))
        child.kill()
        child.communicate()
        if child.returncode == 0:
            break
        kills += 1
        # every point is complete, and counted once
        lines = result_lines(folder.get("results"))
        assert len(lines) == len({line.split(" rate=")[0] for line in lines})
        if (folder.path / "table").exists():  # killed after its work
            break
    assert kills >= 2
    assert rows(folder.get("table")) == rows(folder.get("expected"))
    assert sorted(result_lines(folder.get("results"))) == sorted(result_lines(folder.get("whole")))
    process("svmx-grid", *WIDE, "-out", "results", "-resume", "results", HEART, before=before)
    assert not (folder.path / "results.state").exists()


def test_killed_workers_and_resumed(folder):
    """With the real engine, and worker processes that outlive their parent for a while."""
    pytest.importorskip("joblib")
    args = [*SMALL, "--workers", "2", "-out", "results"]
    folder.accepts("svmx-grid", *SMALL, "-out", "null", "--csv", "expected", IRIS)
    child = subprocess.Popen(arguments("svmx-grid", *args, IRIS), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.readline()
    child.kill()
    child.communicate(timeout=PATIENCE)  # its pipes close only when the workers have ended, too
    assert 1 <= len(result_lines(folder.get("results"))) <= 9
    folder.accepts("svmx-grid", *args, "-resume", "results", "--csv", "table", IRIS)
    assert [r["rate"] for r in rows(folder.get("table"))] == [r["rate"] for r in rows(folder.get("expected"))]


def test_torn_at_every_byte(finished, exhaustive):
    whole = finished.get("results")
    starts = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    sizes = [*range(starts[-6], len(whole) + 1), *range(starts[0] + 1)]
    chosen = [
        size for k, size in enumerate(sizes) if exhaustive or k % 8 == 0 or {size, size + 1, size - 1} & {*starts}
    ]
    for size in chosen:
        finished.put("results", whole[:size])
        err, out = finished.accepts("svmx-grid", *SMALL, "-out", "results", "-resume", "results", "--csv", "t", HEART)
        torn = size > 0 and whole[size - 1] != 10
        assert ("its last line is incomplete and is dropped" in err) == torn
        assert rows(finished.get("t")) == rows(finished.get("expected"))
        assert sorted(result_lines(finished.get("results"))) == sorted(result_lines(whole))
        known = out.count("[resumed]")
        assert known == sum(line.startswith("log2c") for line in whole[:size].decode().splitlines(True) if "\n" in line)


def test_points_are_computed_again_only_where_a_start_is_lost(finished):
    lines = finished.get("results").splitlines(True)
    finished.put("results", b"".join(lines[:5]))  # the first two points of the first column
    calls = []

    def counting(problem, param, *rest, **options):
        if rest[3] != Seeding("none"):  # when the best points are determined
            calls.append(param.C)
        return gridengine.chained(problem, param, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        gridengine.use(patch, counting)
        err, out = finished.accepts("svmx-grid", *SMALL, "-out", "results", "-resume", "results", "--csv", "t", HEART)
    assert "incomplete" not in err
    assert calls == [0.5, 2.0, 8.0] * 3
    assert out.count("[resumed]") == 2
    assert out.count("[local]") == 7
    assert rows(finished.get("t")) == rows(finished.get("expected"))


@pytest.mark.parametrize("seconds, calls_after", [(0.0, 5), (1e9, 6)])
def test_kept_starts_save_their_points(folder, monkeypatch, seconds, calls_after):
    """A run that ends after 4 of 9 points: the second column has its first point."""
    calls = []

    def failing(problem, param, *rest, **options):
        if rest[3] != Seeding("none"):
            calls.append((param.C, param.gamma))
            if len(calls) == 5:
                raise DataError("the end")
        return gridengine.chained(problem, param, *rest, **options)

    gridengine.use(monkeypatch, failing)
    of_commands(monkeypatch, max_cold_start_rows=0, min_recompute_seconds=seconds)
    code, _, _ = folder.call("svmx-grid", *SMALL, "-out", "results", HEART)
    assert (code, len(result_lines(folder.get("results")))) == (1, 4)
    assert (folder.path / "results.state").exists() == (seconds == 0)
    folder.accepts("svmx-grid", *SMALL, "-out", "results", "-resume", "results", "--csv", "t", HEART)
    assert len(calls) == 5 + calls_after
    assert not (folder.path / "results.state").exists()
    folder.accepts("svmx-grid", *SMALL, "-out", "whole", "--csv", "expected", HEART)
    assert rows(folder.get("t")) == rows(folder.get("expected"))


@pytest.mark.parametrize(
    "args, cause",
    [
        ([IRIS], "computed from other data"),
        (["-v", "3", HEART], "folds was 5, now 3"),
        (["-e", "0.1", HEART], "eps was 0.001, now 0.1"),
        (["-t", "1", "-s", "1", HEART], "svm_type was 0, now 1, kernel_type was 2, now 1"),
        (["-w1", "2", HEART], "weights was [], now [[1, 2.0]]"),
        (["--seeder", "none", HEART], "seeder was auto, now none"),
        (["-log2c", "null", HEART], "C was searched, now 1.0"),
        (["-log2g", "null", HEART], "gamma was searched, now 0.07"),
    ],
)
def test_results_of_another_run_are_refused(args, cause, finished):
    err, out = finished.refuses("svmx-grid", *SMALL, "-out", "results", "-resume", "results", *args)
    assert "svmx-grid: error: results:1: the points were computed " in err
    assert cause in err
    assert out == ""
    # also if they are only to be appended to
    finished.put("empty", "")
    err, _ = finished.refuses("svmx-grid", *SMALL, "-out", "results", "-resume", "empty", *args)
    assert cause in err


def test_what_results_do_not_depend_on_may_change(finished):
    args = ["-m", "1", "--threads", "2", "-out", "results", "-resume", "results", HEART]
    _, out = finished.accepts("svmx-grid", *SMALL, *args)
    assert out.count("[local]") == 0


def test_other_axes_go_on_from_what_is_there(finished):
    """Earlier points count as given; grid.py, too, considers those off the grid for the best point."""
    best = max(float(r["rate"]) for r in rows(finished.get("expected")))
    args = ["-log2c", "3,5,1", "-log2g", "-5,-1,4", "-png", "null", "-out", "results", "-resume", "results"]
    _, out = finished.accepts("svmx-grid", *args, "--csv", "t", HEART)
    assert out.count("[resumed]") == 9
    assert out.count("[local]") == 4  # log2c 4 and 5
    assert len(rows(finished.get("t"))) == 13
    assert float(out.split()[-1]) == max(best, *(float(r["rate"]) for r in rows(finished.get("t"))))
    again = finished.get("t")
    # and again, from a file of two runs
    _, out = finished.accepts("svmx-grid", *args, "--csv", "t", HEART)
    assert out.count("[local]") == 0
    assert rows(finished.get("t")) == rows(again)
    assert finished.get("results").count(b"# svmx-grid") == 2


# LIBSVM 3.24's grid.py, cut after four points
GRID_PY_OUT = """\
log2c=1.0 log2g=-3.0 rate=80.0
log2c=1.0 log2g=-5.0 rate=83.3333
log2c=-1.0 log2g=-3.0 rate=82.963
log2c=-1.0 log2g=-5.0 rate=83.7037
"""


def test_results_of_grid_py_are_taken_as_they_are(folder):
    folder.put("theirs", GRID_PY_OUT)
    err, out = folder.accepts(
        "svmx-grid", *SMALL, "--seeder", "none", "-resume", "theirs", "-out", "theirs", "--csv", "t", HEART
    )
    assert err == "warning: theirs does not say of which data and options its points are; they are believed\n"
    assert out.splitlines()[:4] == [
        "[resumed] 1.0 -3.0 80.0 (best c=2.0, g=0.125, rate=80.0)",
        "[resumed] 1.0 -5.0 83.3333 (best c=2.0, g=0.03125, rate=83.3333)",
        "[resumed] -1.0 -3.0 82.963 (best c=2.0, g=0.03125, rate=83.3333)",
        "[resumed] -1.0 -5.0 83.7037 (best c=0.5, g=0.03125, rate=83.7037)",
    ]
    assert out.count("[local]") == 5
    assert out.splitlines()[-1] == "0.5 0.03125 83.7037"
    assert folder.get("theirs").startswith(GRID_PY_OUT.encode())
    assert len(result_lines(folder.get("theirs"))) == 9


def test_resume_by_its_default_name_and_into_another_file(folder):
    folder.accepts("svmx-grid", *SMALL, HEART)
    whole = folder.get("heart_scale.out")
    _, out = folder.accepts("svmx-grid", *SMALL, "-resume", HEART)
    assert out.count("[resumed]") == 9
    assert folder.get("heart_scale.out") == whole
    folder.put("part", b"".join(whole.splitlines(True)[:7]))  # three points
    folder.accepts("svmx-grid", *SMALL, "-resume", "part", "-out", "rest", HEART)
    assert len(result_lines(folder.get("part"))) == 3
    assert len(result_lines(folder.get("rest"))) == 6  # as grid.py: resumed points are not written again
    folder.accepts("svmx-grid", *SMALL, "-resume", "-v", "5", HEART)


def test_without_resume_results_begin_anew(folder):
    folder.put("heart_scale.out", folder.KEPT)
    folder.accepts("svmx-grid", *SMALL, HEART)
    assert folder.KEPT not in folder.get("heart_scale.out")


@pytest.mark.parametrize(
    "content, cause",
    [
        ("Cross Validation Accuracy = 80%\n", "results:1: not a line of a results file"),
        ("\n\n1 1:1\n", "results:3: not a line of a results file"),
        ("log2c=1.0 rate=80.0\n", "results:1: the points are of a search over other axes"),
        ("log2g=1.0 rate=80.0\n", "results:1: the points are of a search over other axes"),
        ("rate=80.0\n", "results:1: the points are of a search over other axes"),
        ("# svmx-grid {\n", "results:1: damaged description"),
        ("# svmx-grid 7\n", "results:1: damaged description"),
        (f"# svmx-grid {'[' * 100_000}\n", "results:1: damaged description"),
        ('# svmx-grid {"data": "x"}\n', "results:1: damaged description"),
        ("log2c=1.0 log2g=1.0 rate=800.0\n", "results:1: a rate of 800 is not an accuracy in percent"),
    ],
)
def test_files_that_are_no_results(content, cause, folder):
    folder.put("results", content)
    err, _ = folder.refuses("svmx-grid", *SMALL, "-resume", "results", "-out", "results", HEART)
    assert cause in err


@pytest.mark.parametrize(
    "change, cause",
    [
        (lambda run: {**run, "data": "sha256:0"}, "the points were computed from other data"),
        (lambda run: {**run, "folds": 3}, "the points were computed with other options: folds was 3, now 5"),
        (lambda run: {**run, "parameters": {**run["parameters"], "p": 1}}, "other options: p was 1, now 0.1"),
        (lambda run: {**run, "parameters": 7}, "other options: parameters"),
        (lambda run: [run], "damaged description of a run"),
        (lambda run: {"data": run["data"]}, "damaged description of a run"),
    ],
)
def test_every_header_is_compared(change, cause, finished):
    """A file of two runs, joined by cat: the error names the line of the second, and nothing is changed."""
    lines = finished.get("results").splitlines(True)
    run = json.loads(lines[0].removeprefix(b"# svmx-grid "))
    second = f"# svmx-grid {json.dumps(change(run))}\n".encode()
    finished.put("results", b"".join([*lines[:5], second, *lines[5:]]))
    err, out = finished.refuses("svmx-grid", *SMALL, "-out", "results", "-resume", "results", HEART)
    assert err.startswith("svmx-grid: error: results:6: ")
    assert cause in err
    assert out == ""


def test_what_a_kill_leaves_of_grid_py(folder):
    """If grid.py writes on after a torn line, two points are joined in one line; only svmx-grid notices."""
    joined = "log2c=1.0 log2g=-5.0 ralog2c=-1.0 log2g=-5.0 rate=11\n"
    folder.put("results", GRID_PY_OUT.splitlines(True)[0] + joined)
    err, out = folder.accepts("svmx-grid", *SMALL, "--seeder", "none", "-resume", "results", HEART)
    assert "results:2: 1 line(s) that are no results are skipped" in err
    assert out.count("[resumed]") == 1
    assert out.splitlines()[-1] == "0.5 0.03125 83.7037"


def test_numbers_are_written_as_grid_py_reads_them():
    lines = gridfile.point_lines(Point(1e-05, -3.0, 1.5e-07, 0.25, 0.5, 7))
    assert lines == "# iterations=7 seconds=0.5 scc=0.25\nlog2c=0.00001 log2g=-3.0 rate=0.00000015\n"
    match = gridfile.POINT.fullmatch(lines.splitlines()[1])
    assert [float(text) for text in match.groups()] == [1e-05, -3.0, 1.5e-07]


def test_rates_that_are_no_numbers_come_back(folder):
    path = folder.put("r", gridfile.point_lines(Point(1.0, 1.0, float("nan"), float("nan"), 0.5, 7)))
    description = dict.fromkeys(gridfile.MUST_AGREE)
    (point,) = gridfile.read_results(path, description, (True, True), True).found.values()
    assert point.rate != point.rate
    assert point.scc != point.scc


def test_an_error_below_zero_is_none(folder):
    folder.put("r", b"log2c=1.0 log2g=2.0 rate=-5\n")
    with pytest.raises(FormatError, match="r:1: a rate of -5"):
        gridfile.read_results("r", dict.fromkeys(gridfile.MUST_AGREE), (True, True), True)


def test_two_searches_do_not_write_into_one_file(folder):
    args = [*WIDE, "-out", "results", HEART]
    child = subprocess.Popen(
        arguments("svmx-grid", *args, before=SLOW % 1e9), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdout.readline()
    for resume in ([], ["-resume", "results"]):
        code, _, err = folder.call("svmx-grid", *resume, *args)
        assert code == 1
        assert "results: another search is writing to it" in err or "computed with other options" in err
    child.kill()
    child.communicate()
    folder.accepts("svmx-grid", *args)


@pytest.mark.skipif(not os.path.exists(FULL), reason=f"no {FULL}")
def test_results_to_a_full_disk(folder):
    err, _ = folder.refuses("svmx-grid", *SMALL, "-out", FULL, HEART)
    assert err == "svmx-grid: error: /dev/full: No space left on device\n"
    for option in ("--csv", "--json"):
        folder.put("heart_scale.out", "")
        code, _, err = folder.call("svmx-grid", *SMALL, option, FULL, HEART)
        assert (code, err) == (1, "svmx-grid: error: /dev/full: No space left on device\n")
        assert len(result_lines(folder.get("heart_scale.out"))) == 9  # the points are not lost
        (folder.path / "heart_scale.out").unlink()


def test_a_disk_that_fills_up_leaves_whole_lines(folder):
    folder.accepts("svmx-grid", *SMALL, "--seeder", "none", "-out", "whole", HEART)
    size = len(folder.get("whole"))
    header = folder.get("whole").index(b"\n") + 1
    for limit in (header + 10, (header + size) // 2, size - 5):

        def limited(limit=limit):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = process("svmx-grid", *SMALL, "--seeder", "none", "-out", "results", HEART, preexec_fn=limited)
        assert (done.returncode, done.stderr) == (1, b"svmx-grid: error: results: File too large\n")
        content = folder.get("results")
        assert content.endswith(b"\n")
        assert header <= len(content) <= limit
        assert set(result_lines(content)) < set(result_lines(folder.get("whole")))
        _, out = folder.accepts("svmx-grid", *SMALL, "--seeder", "none", "-out", "results", "-resume", "results", HEART)
        assert out.count("[resumed]") == len(result_lines(content))
        assert sorted(result_lines(folder.get("results"))) == sorted(result_lines(folder.get("whole")))


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_results_that_may_not_be_written(folder):
    folder.put("results", folder.KEPT)
    (folder.path / "results").chmod(0o444)
    err, _ = folder.refuses("svmx-grid", *SMALL, "-out", "results", HEART)
    assert "results: Permission denied" in err


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_interrupted_by_the_keyboard(folder, workers):
    if workers:
        pytest.importorskip("joblib")
    args = ["-log2c", "-3,15,1", "-log2g", "3,-15,-1", "-png", "null", *workers, "-out", "results", HEART]
    child = subprocess.Popen(
        arguments("svmx-grid", *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    for _ in range(3):
        child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == -signal.SIGINT
    assert b"Traceback" not in err
    assert len(result_lines(folder.get("results"))) >= 3
    assert not [name for name in folder.snapshot() if name.endswith(".tmp")]


@pytest.mark.parametrize(
    "line",
    [b"log2c=1.0 log2g=-3.0 rate=-0.45", b"log2c=99999 log2g=-3.0 rate=80", b"log2c=1 log2g=-1e9 rate=80"],
)
def test_points_that_cannot_be_are_refused(finished, line):
    finished.put("r", finished.get("results") + line + b"\n")
    number = finished.get("r").count(b"\n")
    code, _, said = finished.call("svmx-grid", *SMALL, "-out", "r2", "-resume", "r", HEART)
    assert (code, f"r:{number}" in said) == (1, True)

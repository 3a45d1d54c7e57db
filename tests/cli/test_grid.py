"""svmx-grid: grid.py's grammar, lines and results; workers, tables and pictures."""

import csv
import io
import json
import math
import re
import shlex
import struct
import sys

import pytest
from support import data, oracle
from support.commands import process

from libsvmx._train.validation.grid import Grid
from libsvmx.cli import gridtables
from libsvmx.io.svmlight import read_data

HEART = str(data.DATA / "heart_scale")
MPG = str(data.DATA / "mpg")
SMALL = ["-log2c", "-1,3,2", "-log2g", "-5,-1,2", "-png", "null"]

# LIBSVM 3.24: grid.py -svmtrain svm-train -gnuplot null -log2c -1,3,2 -log2g -5,-1,2 heart_scale
GRID_PY = """\
[local] 1.0 -3.0 80.0 (best c=2.0, g=0.125, rate=80.0)
[local] 1.0 -5.0 83.3333 (best c=2.0, g=0.03125, rate=83.3333)
[local] -1.0 -3.0 82.963 (best c=2.0, g=0.03125, rate=83.3333)
[local] -1.0 -5.0 83.7037 (best c=0.5, g=0.03125, rate=83.7037)
[local] 1.0 -1.0 76.2963 (best c=0.5, g=0.03125, rate=83.7037)
[local] -1.0 -1.0 78.8889 (best c=0.5, g=0.03125, rate=83.7037)
[local] 3.0 -3.0 78.1481 (best c=0.5, g=0.03125, rate=83.7037)
[local] 3.0 -5.0 82.5926 (best c=0.5, g=0.03125, rate=83.7037)
[local] 3.0 -1.0 76.6667 (best c=0.5, g=0.03125, rate=83.7037)
0.5 0.03125 83.7037
"""
GRID_PY_OUT = """\
log2c=1.0 log2g=-3.0 rate=80.0
log2c=1.0 log2g=-5.0 rate=83.3333
log2c=-1.0 log2g=-3.0 rate=82.963
log2c=-1.0 log2g=-5.0 rate=83.7037
log2c=1.0 log2g=-1.0 rate=76.2963
log2c=-1.0 log2g=-1.0 rate=78.8889
log2c=3.0 log2g=-3.0 rate=78.1481
log2c=3.0 log2g=-5.0 rate=82.5926
log2c=3.0 log2g=-1.0 rate=76.6667
"""


def points_of(content):
    """The lines of a results file, parsed with grid.py's own expressions."""
    found = {}
    for line in content.decode().splitlines():
        rate = re.findall(r"rate=([0-9.]+)", line)
        if rate:
            c, g = (re.findall(rf"{name}=([0-9.-]+)", line) for name in ("log2c", "log2g"))
            found[float(c[0]) if c else None, float(g[0]) if g else None] = float(rate[0])
    return found


def test_lines_and_results_are_those_of_grid_py(folder):
    err, out = folder.accepts("svmx-grid", *SMALL, "--seeder", "none", HEART)
    lines, expected = out.splitlines(), GRID_PY.splitlines()
    assert err == ""
    assert lines[-1] == expected[-1]

    def point(line):
        return line.split(" (")[0]

    assert sorted(map(point, lines[:-1])) == sorted(map(point, expected[:-1]))
    shape = re.compile(r"\[local\] -?\d+\.\d+ -?\d+\.\d+ \d+\.\d+ \(best c=\d+\.\d+, g=\d+\.\d+, rate=\d+\.\d+\)")
    assert all(shape.fullmatch(line) for line in lines[:-1])
    results = folder.get("heart_scale.out").decode().splitlines()
    assert sorted(line for line in results if not line.startswith("#")) == sorted(GRID_PY_OUT.splitlines())
    assert points_of(folder.get("heart_scale.out")) == points_of(GRID_PY_OUT.encode())
    assert sorted(folder.snapshot()) == ["heart_scale.out"]


def test_lines_of_one_axis(folder):
    _, out = folder.accepts("svmx-grid", "-log2c", "-1,3,2", "-log2g", "null", "-t", "0", "-v", "5", HEART)
    assert out.splitlines() == [
        "[local] -1.0 84.4444 (best c=0.5, rate=84.4444)",
        "[local] 1.0 83.3333 (best c=0.5, rate=84.4444)",
        "[local] 3.0 83.3333 (best c=0.5, rate=84.4444)",
        "0.5 84.4444",
    ]
    assert b"\nlog2c=-1.0 rate=84.4444\n" in folder.get("heart_scale.out")
    _, out = folder.accepts("svmx-grid", "-log2g", "-1,3,2", "-log2c", "null", HEART)
    assert out.splitlines() == [
        "[local] 1.0 70.0 (best g=2.0, rate=70.0)",
        "[local] -1.0 77.037 (best g=0.5, rate=77.037)",
        "[local] 3.0 59.6296 (best g=0.5, rate=77.037)",
        "0.5 77.037",
    ]


@pytest.mark.parametrize(
    "path, options, folds",
    [
        (HEART, "-s 0", 5),
        (HEART, "-s 0 -w1 2 -h 0 -m 1", 3),
        (str(data.DATA / "iris.scale"), "-t 1 -r 1", 5),
        (HEART, "-s 1 -n 0.1", 4),
        (MPG, "-s 3 -p 0.5", 3),
    ],
)
def test_rates_without_seeding_are_svm_trains(path, options, folds, folder):
    axes = ["-log2c", "-1,1,2", "-log2g", "-7,-4,3", "-png", "null", "-v", folds]
    folder.accepts("svmx-grid", *axes, *options.split(), "--seeder", "none", "--csv", "table", path)
    file = read_data(path)
    rows = list(csv.DictReader(io.StringIO(folder.get("table").decode())))
    assert len(rows) == 4
    for row in rows:
        exact = f" -c {2.0 ** float(row['log2c'])!r} -g {2.0 ** float(row['log2g'])!r}"
        predicted = oracle.Oracle(file.matrix, file.targets, options + exact).cross_validate(folds)
        if "mse" in row:
            error = 0.0
            for v, y in zip(predicted, file.targets, strict=True):
                error += (v - y) * (v - y)
            assert float(row["mse"]) == float(f"{error / len(predicted):g}")
        else:
            correct = sum(v == y for v, y in zip(predicted, file.targets, strict=True))
            assert float(row["rate"]) == float(f"{100.0 * correct / len(predicted):g}")


def test_regression_has_the_smallest_error(folder):
    """grid.py takes the largest mean squared error, without its last digit."""
    _, out = folder.accepts("svmx-grid", *SMALL, "-s", "3", "--seeder", "none", "--csv", "t", MPG)
    rows = list(csv.DictReader(io.StringIO(folder.get("t").decode())))
    best = min(rows, key=lambda row: float(row["mse"]))
    assert out.splitlines()[-1] == f"{best['C']} {best['gamma']} {best['mse']}"
    assert points_of(folder.get("mpg.out"))[float(best["log2c"]), float(best["log2g"])] == float(best["mse"])
    assert all(0 <= float(row["scc"]) <= 1 for row in rows)


@pytest.mark.parametrize(
    "args, complaint",
    [
        (["-c", "1", HEART], "-c cannot be combined with -log2c"),
        (["-g", "1", HEART], "-g cannot be combined with -log2g"),
        (["-log2c", "null", "-log2g", "null", HEART], "both axes are null"),
        (["-log2c", "1,2", HEART], "begin,end,step"),
        (["-log2c", "1,2,x", HEART], "needs a number, not 'x'"),
        (["-log2c", "1,2,nan", HEART], "finite"),
        (["-log2c", "3,1,1", HEART], "empty"),
        (["-log2g", "1,2,0", HEART], "never ends"),
        (["-log2c", "2000,2000,1", HEART], "2^2000"),
        (["-v", "1", HEART], "at least 2 folds"),
        (["-v", "x", HEART], "-v"),
        (["-out", HEART], "-out needs a value"),
        (["-log2c", HEART], "-log2c needs a value"),
        (["-x", "1", HEART], "unknown option -x"),
        (["--on-interrupt", "save", HEART], "unknown option --on-interrupt"),
        (["--seeder", "guess", HEART], "'guess'"),
        (["--workers", "0", HEART], "--workers"),
        (["other", HEART], "unexpected argument 'other'"),
        (["-q"], "no data set"),
        (["-s", "9", HEART], "svm_type"),
        (["nowhere"], "nowhere: No such file"),
        (["-resume", "nowhere", HEART], "nowhere: No such file"),
        (["-resume", "-v", "3", HEART], "heart_scale.out: No such file"),
        (["-out", "no/where", HEART], "no: No such file"),
        (["--csv", "no/where", HEART], "no: No such file"),
        (["--csv", "same", "--json", "same", HEART], "two files are to be written to"),
        (["--csv", "x.out", "-out", "x.out", HEART], "two files are to be written to"),
    ],
)
def test_what_it_refuses(args, complaint, folder):
    err, _ = folder.refuses("svmx-grid", *args)
    assert err.startswith("svmx-grid: error: ")
    assert complaint in err


def test_c_and_gamma_where_they_are_not_searched(folder):
    _, linear = folder.accepts("svmx-grid", "-log2g", "null", "-log2c", "0,0,1", "-g", "0.5", HEART)
    _, both = folder.accepts("svmx-grid", "-log2g", "-1,-1,1", "-log2c", "0,0,1", "-png", "null", HEART)
    assert linear.split()[-1] == both.split()[-1]


def test_ignored_options_are_remarked(folder):
    err, _ = folder.accepts("svmx-grid", *SMALL[:4], "-svmtrain", "x", "-gnuplot", "null", HEART)
    assert err == "warning: option -svmtrain is ignored: nothing but this program is run\n"
    assert sorted(folder.snapshot()) == ["heart_scale.out"]  # -gnuplot null: no picture


def test_an_axis_that_changes_nothing_is_remarked(folder):
    err, _ = folder.accepts("svmx-grid", *SMALL, "-t", "0", HEART)
    assert "the linear kernel has no gamma; -log2g null" in err
    err, _ = folder.accepts("svmx-grid", *SMALL, "-s", "1", HEART)
    assert "NU_SVC has no C; -log2c null" in err


def test_remarks_of_trainings_come_once(folder):
    folder.put("rare", "".join(f"{y} 1:{i}\n" for i, y in enumerate([1, -1] * 10 + [2])))
    err, _ = folder.accepts("svmx-grid", *SMALL, "rare")
    assert err == "warning: there are fewer rows than folds in class 2\n"


def test_bad_data_keeps_old_results(folder):
    folder.put("bad", "1 1:1\n2 1:x\n")
    folder.put("labels", "1.5 1:1\n2 1:2\n")
    folder.put("bad.out", folder.KEPT)
    folder.put("labels.out", folder.KEPT)
    assert folder.refuses("svmx-grid", *SMALL, "bad")[0].startswith("svmx-grid: error: bad:2:5: ")
    assert folder.refuses("svmx-grid", *SMALL, "labels")[0].startswith("svmx-grid: error: labels:1: class label 1.5")


def test_outputs_never_replace_inputs(folder):
    folder.put("d", b"1 1:1\n-1 1:2\n")
    for option in ("-out", "--csv", "--json"):
        assert "the output file is the same as d, which" in folder.refuses("svmx-grid", *SMALL, option, "d", "d")[0]
    folder.put("earlier", "log2c=1.0 log2g=1.0 rate=5\n")
    err, _ = folder.refuses("svmx-grid", *SMALL, "-resume", "earlier", "--csv", "earlier", "d")
    assert "the output file is the same as earlier, which would be lost" in err


def rows_without_times(content):
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert rows
    for row in rows:
        assert float(row.pop("seconds")) > 0
    return rows


def test_tables(folder):
    _, out = folder.accepts("svmx-grid", *SMALL, "--csv", "t.csv", "--json", "t.json", HEART)
    rows = list(csv.DictReader(io.StringIO(folder.get("t.csv").decode())))
    assert list(rows[0]) == ["log2c", "log2g", "C", "gamma", "rate", "seconds", "iterations"]
    assert [(float(r["log2c"]), float(r["log2g"])) for r in rows] == Grid((-1, 1, 3), (-5, -3, -1)).order
    assert all(float(r["C"]) == 2 ** float(r["log2c"]) and int(r["iterations"]) > 0 for r in rows)
    content = json.loads(folder.get("t.json"))
    assert [{k: float(v) for k, v in r.items()} for r in rows] == content["points"]
    assert f"{content['best']['C']} {content['best']['gamma']} {content['best']['rate']}" == out.splitlines()[-1]
    assert content["parameters"]["eps"] == 0.001


def test_json_has_null_for_what_is_no_number():
    content = gridtables.json_of({"a": math.nan, "b": (math.inf, 2.5), "c": 1, "d": None})
    assert json.loads(content) == {"a": None, "b": [None, 2.5], "c": 1, "d": None}


def test_a_hard_margin_has_null_for_its_cost(folder):
    args = ["-log2c", "null", "-log2g", "0,1,1", "-c", "inf", "-w1", "inf", "-v", "2"]
    folder.accepts("svmx-grid", *args, "--json", "t.json", HEART)
    content = json.loads(folder.get("t.json"))
    assert [content["parameters"]["C"], content["parameters"]["weights"]] == [None, [[1, None]]]
    assert [point["C"] for point in content["points"]] == [None, None]


def test_workers_give_the_same_table(folder):
    pytest.importorskip("joblib")
    folder.accepts("svmx-grid", *SMALL, "--csv", "one", HEART)
    folder.accepts("svmx-grid", *SMALL, "--csv", "two", "--workers", "2", HEART)
    assert rows_without_times(folder.get("one")) == rows_without_times(folder.get("two"))
    assert len(points_of(folder.get("heart_scale.out"))) == 9


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_a_fault_at_a_point_names_the_line(folder, workers):
    """One of two folds contains a whole class: the other's training has a single class, which is not an error; an
    infeasible nu is one."""
    if workers:
        pytest.importorskip("joblib")
    err, _ = folder.refuses("svmx-grid", *SMALL, *workers, "-s", "1", "-n", "0.95", HEART)
    assert "nu = 0.95 is infeasible" in err


def test_a_dask_cluster_gives_the_same_table(folder, exhaustive):
    distributed = pytest.importorskip("distributed")
    folder.accepts("svmx-grid", *SMALL, "--csv", "one", HEART)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=exhaustive, dashboard_address="127.0.0.1:0"
    ) as cluster:
        _, out = folder.accepts("svmx-grid", *SMALL, "--csv", "two", "--dask", cluster.scheduler_address, HEART)
    assert rows_without_times(folder.get("one")) == rows_without_times(folder.get("two"))
    assert out.startswith("[dask] ")


def test_a_cluster_that_is_not_there(folder, monkeypatch):
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    folder.put("heart_scale.out", folder.KEPT)
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        err, _ = folder.refuses("svmx-grid", *SMALL, "--dask", "tcp://127.0.0.1:1", HEART)
    assert "no Dask scheduler can be reached at tcp://127.0.0.1:1" in err


@pytest.mark.parametrize(
    "module, args, extra",
    [
        ("joblib", ["--workers", "2"], "grid"),
        ("joblib", ["--dask", "tcp://127.0.0.1:1"], "dask"),
        ("distributed", ["--dask", "tcp://127.0.0.1:1"], "dask"),
        ("matplotlib", ["-png", "p.png"], "plot"),
    ],
)
def test_missing_packages_are_named_before_any_work(module, args, extra, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    err, out = folder.refuses("svmx-grid", *SMALL[:4], *args, HEART)
    added = {"grid": ["joblib>="], "dask": ["joblib>=", "dask[array]>=", "distributed>="], "plot": ["matplotlib>="]}
    install = shlex.split(err.strip().partition(f"{module}: ")[2])
    assert install[:2] == ["pip", "install"]  # installable names, with the required versions
    assert [re.sub(r"[\d.]+$", "", name) for name in install[2:]] == added[extra]
    needs = {"grid": "several workers need", "dask": "a Dask cluster needs", "plot": "-png needs"}[extra]
    assert err.startswith(f"svmx-grid: error: {needs} {module}: ")
    assert out == ""
    if module == "matplotlib":  # not requested: no picture
        folder.accepts("svmx-grid", *SMALL[:4], HEART)
        assert sorted(folder.snapshot()) == ["heart_scale.out"]


def png_size(content):
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    return struct.unpack(">II", content[16:24])


@pytest.mark.parametrize(
    "axes",
    [
        ["-log2c", "-1,3,2", "-log2g", "-5,-1,2"],
        ["-log2c", "-1,3,2", "-log2g", "null"],
        ["-log2c", "null", "-log2g", "-5,-1,2"],
        ["-log2c", "-40,-39,1", "-log2g", "-40,-39,1"],  # all rates equal
        pytest.param(["-log2c", "0,0,1", "-log2g", "0,0,1"], marks=pytest.mark.exhaustive),
        pytest.param(["-log2c", "-1,3,2", "-log2g", "-5,-1,2", "-s", "3"], marks=pytest.mark.exhaustive),
    ],
)
def test_pictures(axes, folder):
    pytest.importorskip("matplotlib")
    folder.accepts("svmx-grid", *axes, "-png", "p.png", "-out", "null", HEART)
    width, height = png_size(folder.get("p.png"))
    assert width > 600
    assert height > 400
    assert len(set(folder.get("p.png"))) > 100  # more than an empty page
    assert sorted(folder.snapshot()) == ["p.png"]


def test_default_picture_as_grid_py_names_it(folder):
    pytest.importorskip("matplotlib")
    folder.accepts("svmx-grid", *SMALL[:4], HEART)
    assert sorted(folder.snapshot()) == ["heart_scale.out", "heart_scale.png"]
    (folder.path / "heart_scale.png").unlink()
    folder.accepts("svmx-grid", "-log2c", "-1,3,2", "-log2g", "null", HEART)
    assert sorted(folder.snapshot()) == ["heart_scale.out"]  # a single axis has no picture, as in grid.py


def test_a_picture_that_cannot_be_written_is_known_at_once(folder):
    pytest.importorskip("matplotlib")
    err, out = folder.refuses("svmx-grid", *SMALL[:4], "-png", "no/where.png", HEART)
    assert err.endswith("/no: No such file or directory\n")
    assert out == ""


def test_a_broken_matplotlib(folder, monkeypatch):
    """Requested, it is an error before any work; by default a remark after it."""
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    err, out = folder.refuses("svmx-grid", *SMALL[:4], "-png", "p.png", HEART)
    assert "matplotlib cannot be used: " in err
    assert out == ""
    err, out = folder.accepts("svmx-grid", *SMALL[:4], HEART)
    assert err.startswith("warning: no picture: matplotlib cannot be used: ")
    assert len(out.splitlines()) == 10


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_rows_without_features(workers, folder):
    if workers:
        pytest.importorskip("joblib")
    folder.put("bare", "1\n-1\n" * 10)
    _, out = folder.accepts("svmx-grid", *SMALL, *workers, "bare")
    assert len(out.splitlines()) == 10


def test_standard_input_and_compressed_data(folder):
    folder.accepts("svmx-grid", *SMALL, str(data.DATA / "breast-cancer.xz"))
    assert sorted(folder.snapshot()) == ["breast-cancer.xz.out"]
    (folder.path / "breast-cancer.xz.out").unlink()
    with open(HEART, "rb") as file:
        done = process("svmx-grid", *SMALL, "--seeder", "none", "-", stdin=file)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.splitlines()[-1] == b"0.5 0.03125 83.7037"
    assert sorted(folder.snapshot()) == ["stdin.out"]


def test_easy_reads_the_last_line_from_a_pipe(folder):
    done = process("svmx-grid", *SMALL, HEART)
    assert done.stderr == b""  # no progress: standard error is not a terminal
    c, g, rate = map(float, done.stdout.splitlines()[-1].split())
    assert points_of(folder.get("heart_scale.out"))[math.log2(c), math.log2(g)] == rate


def test_states_travel_between_processes(folder):
    """A point takes other steps when started from the one below it than from a cold start; workers do the same."""
    pytest.importorskip("joblib")
    args = [*SMALL, "--seeder", "sir"]
    folder.accepts("svmx-grid", *args, "--csv", "one", HEART)
    first = rows_without_times(folder.get("one"))
    folder.accepts("svmx-grid", *args, "--csv", "two", "--workers", "2", HEART)
    assert rows_without_times(folder.get("two")) == first
    folder.accepts("svmx-grid", *args, "-log2c", "3,3,1", "--csv", "alone", HEART)
    steps = [
        {(row["log2c"], row["log2g"]): row["iterations"] for row in rows_without_times(folder.get(name))}
        for name in ("one", "alone")
    ]
    assert all(steps[0][key] != alone for key, alone in steps[1].items())

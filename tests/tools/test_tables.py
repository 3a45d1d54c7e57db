"""Measured tables and numbers of the pages come from their JSON, and no others are on the pages."""

import json
import re

import pytest

from tools import tables

# a speed, a time or an amount of memory in words, and a table cell with a measured number
TIMES = "\N{MULTIPLICATION SIGN}"
TOLD = re.compile(
    rf"\d[\d.,]*[ ~]?(?:times|{TIMES}(?= faster| as)|x(?= faster)|(?:CPU )?(?:[nµm]?s|seconds?)|min|minutes?|hours?"
    r"|days?|[kMGT]i?B(?:/s)?)(?![\w/(])"
)
CELL = re.compile(r"^\|.*\|[ ~*>]*(\d[\d,]*\.\d+)[ *]*[,/(|]", re.M)
# limits, counts and definitions
NOT_MEASURED = {
    "docs/cluster.md": ("45 kB",),  # of a message
    "docs/compress.md": ("2 GB",),  # a limit of ONNX
    "docs/crossvalidation.md": ("32 MB", "128 MB", "30 times"),  # limits of seeders
    "docs/ownkernels.md": ("8 MB",),  # a limit of copied rows
    "docs/papers.md": ("6 times", "30 times", "1.5 times"),  # factors and limits of algorithms
    "docs/path.md": ("100 MB",),  # the usual cache
    "docs/performance.md": ("1,000 MB",),  # the cache of a protocol
    "docs/terminal.md": ("10 times",),  # when a warning is given
    "docs/toy.md": ("4 MB",),  # a limit of a request
}
MACHINE = {"processor": "P", "threads": 2, "processors": 4, "python": "3.11", "load": [0.25], "date": "2026-01-02"}
MACHINE |= {"packages": {"libsvmx": "1", "libsvm-official": "3", "scikit-learn": "1.9", "MAPIE": None}}


@pytest.mark.parametrize("name", tables.PAGES)
def test_pages_show_what_was_measured(name):
    text = (tables.ROOT / name).read_text(encoding="utf-8")
    assert tables.rendered(text) == text, "python tools/tables.py --write"


def numbers_in(text):
    """Measured numbers of a page outside its blocks and code."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", tables.BLOCK.sub("", text), flags=re.S)
    return TOLD.findall(prose) + CELL.findall(prose)


@pytest.mark.parametrize("name", tables.PAGES)
def test_no_number_is_told_that_no_measurement_holds(name):
    found = numbers_in((tables.ROOT / name).read_text(encoding="utf-8"))
    assert set(found) == set(NOT_MEASURED.get(name, ()))


def test_a_number_in_prose_is_found():
    found = numbers_in(
        f"1.35 {TIMES} faster, 4 to 120 times, 0.3 ms and 12 s, of 33 sets, 3 {TIMES} 5, 1.5x faster, 7 MB, 9 minutes, "
        "12 seconds, 1 hour, 3 days, 2 TB, 5 GiB, 2.3 CPU s, `6 s`\n\n"
        "| set | s |\n| a | 2.50 |\n| 1.5 of b | **0.25** (3) |\n| 700 | 2 |\n"
        "<!-- measured: x -->8 s<!-- end -->"
    )
    in_prose = [f"1.35 {TIMES}", "120 times", "0.3 ms", "12 s", "1.5x", "7 MB", "9 minutes"]
    in_prose += ["12 seconds", "1 hour", "3 days", "2 TB", "5 GiB", "2.3 CPU s"]
    assert found == [*in_prose, "2.50", "0.25"]


def test_every_block_is_shown():
    shown = {name for page in tables.PAGES for _, name, _, _ in tables.BLOCK.findall((tables.ROOT / page).read_text())}
    assert shown == set(tables.BLOCKS)


def test_models_and_predictions_are_right():
    """No measurement has an error by its own job."""
    files = [json.loads(path.read_text(encoding="utf-8")) for path in tables.FOLDER.glob("*.json")]
    assert files
    assert [(file["job"], one["wrong"]) for file in files for one in file["results"] if one["wrong"]] == []


@pytest.fixture
def measurements(tmp_path, monkeypatch):
    """Writes files of measurements: the cases and seconds of a job on a day."""
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    tables.results.cache_clear()

    def write(name, day, **seconds):
        runs = {case: [{"name": "libsvmx", "results": [{"seconds": s}] if s else []}] for case, s in seconds.items()}
        raw = [{"case": {"name": case, "part": "", "folds": 0}, "told": {}, "runs": one} for case, one in runs.items()]
        file = {"job": "training", "machine": {**MACHINE, "date": day}, "results": raw}
        (tmp_path / name).write_text(json.dumps(file))

    yield write
    tables.results.cache_clear()


def test_files_of_a_job_add_up_and_the_later_counts(measurements):
    measurements("1.json", "2026-03-01", a=3.0, b=1.0)
    measurements("2.json", "2026-02-01", a=5.0, c=100.0, d=None)
    found = tables.results("training")
    assert {one.name: one.median("libsvmx") for one in found} == {"a": 3.0, "b": 1.0, "c": 100.0}
    shown = tables.table(
        "training",
        found,
        {"case": lambda one: one.name, "s": lambda one: tables.digits(one.median("libsvmx")), "none": lambda one: ""},
    )
    assert "| case | s |\n|---|---|\n| a | 3.00 |" in shown
    assert "| c | 100 |" in shown
    assert "P, 2 of 4 processors, libsvmx 1, 2026-03-01, load 0.2" in shown
    assert "2026-02-01" in shown


def test_of_the_same_day_the_file_with_more_runs_counts(measurements, tmp_path):
    for name, ways in (("1.json", ("1", "2")), ("2.json", ("1",))):
        measurements(name, "2026-03-01", a=1.0)
        file = json.loads((tmp_path / name).read_text())
        file["results"][0]["runs"] = [{"name": way, "results": [{"seconds": 1.0}]} for way in ways]
        (tmp_path / name).write_text(json.dumps(file))
    (found,) = tables.results("training")
    assert found.ways == ["1", "2"]


def result(**hashes):
    runs = [{"name": way, "results": [{"model_hash": one}]} for way, one in hashes.items()]
    return tables.Result({"runs": runs}, MACHINE)


def test_models_are_equal_only_if_all_are_known():
    given = [("x", "x", "x"), ("x", "y", "x"), ("x", "x", "y"), ("x", "y", None), ("x", "x", None), (None, None, None)]
    found = [tables.equality(result(libsvmx=a, **{"libsvmx-all": b}, libsvm=c)) for a, b, c in given]
    assert found == ["equal", "**differ**", "**differ**", "**differ**", "", ""]
    assert tables.equality(result(libsvmx="x", libsvm="x")) == "equal"
    assert tables.equality(result(libsvmx="x")) == ""


def test_versions_are_of_what_took_part():
    def told(*ways):
        return re.findall(
            "libsvmx 1|LIBSVM 3|scikit-learn 1.9|MAPIE", tables.measured_on("x", [result(**dict.fromkeys(ways))])
        )

    assert told("1", "svm-predict, 1") == ["libsvmx 1"]
    assert told("libsvmx", "libsvmx-all") == ["libsvmx 1"]
    assert told("libsvmx", "libsvm") == ["libsvmx 1", "LIBSVM 3"]
    assert told("by name, libsvmx", "by name, sklearn") == ["libsvmx 1", "scikit-learn 1.9"]
    assert told("libsvmx", "MAPIE") == ["libsvmx 1", "scikit-learn 1.9"]
    of_refits = tables.Result({"runs": [{"name": "refits", "results": [{"seconds": 1.0, "sklearn": "1.9"}]}]}, MACHINE)
    assert "scikit-learn" not in tables.measured_on("x", [of_refits])
    here = {**MACHINE, "packages": {**MACHINE["packages"], "MAPIE": "1.4"}}
    assert "scikit-learn 1.9, MAPIE 1.4" in tables.measured_on("x", [tables.Result(result(MAPIE="").raw, here)])


def test_digits_are_those_of_the_rounded_number():
    given = [(99.94, 3), (99.96, 3), (1234.5, 3), (9.94, 2), (9.996, 2), (0.9996, 3), (0.0, 3), (None, 3)]
    assert [tables.digits(*one) for one in given] == ["99.9", "100", "1,234", "9.9", "10", "1.00", "0.00", ""]


def test_of_a_file_what_is_long_is_left_out(measurements, tmp_path):
    measurements("small.json", "2026-03-01", a=3.0)
    file = json.loads((tmp_path / "small.json").read_text())
    file["machine"]["system"] = "Linux 6.1.0-of-somebody, x86_64"
    run = file["results"][0]["runs"][0]["results"][0]
    run |= {"folds": list(range(100)), "output": "x" * 1000, "best": [1.0, 2.0], "said": "x" * 64}
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "new.json").write_text(json.dumps(file))
    tables.take(other / "new.json")
    kept = json.loads((tmp_path / "new.json").read_text())
    assert kept["results"][0]["runs"][0]["results"] == [{"seconds": 3.0, "best": [1.0, 2.0], "said": "x" * 64}]
    assert (kept["job"], kept["machine"]) == (file["job"], {**file["machine"], "system": "Linux, x86_64"})


def test_the_command_names_pages_and_writes_them(tmp_path, monkeypatch, capsys):
    (tmp_path / "page.md").write_text("Up to <!-- measured: most -->3<!-- end --> times.")
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    monkeypatch.setattr(tables, "PAGES", ("page.md",))
    monkeypatch.setattr(tables, "BLOCKS", {"most": lambda: "4"})
    monkeypatch.setattr("sys.argv", ["tables.py"])
    assert tables.main() == 1
    monkeypatch.setattr("sys.argv", ["tables.py", "--write"])
    assert tables.main() == 0
    assert (tmp_path / "page.md").read_text() == "Up to <!-- measured: most -->4<!-- end --> times."
    monkeypatch.setattr("sys.argv", ["tables.py"])
    assert tables.main() == 0
    assert "page.md: written" in capsys.readouterr().out

"""Starts of the columns of a grid, saved between two runs: damaged, of other sizes, or code."""

import json
import os
import pickle
import random
import shutil
from hashlib import sha256
from math import isfinite

import numpy as np
import pytest
from support import gridengine
from support.gridengine import HEART, SMALL, result_lines, rows
from support.policies import of_commands

from libsvmx._train.validation import grid_search
from libsvmx.cli.gridfile import read_start, start_bytes
from libsvmx.exceptions import DataError


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """auto seeds searches over sets as small as these, too, and all starts are saved."""
    of_commands(monkeypatch, max_cold_start_rows=0, min_recompute_seconds=0.0)


@pytest.fixture
def interrupted(folder):
    """A search that has reached its fifth point, with the starts of its columns; and the whole table."""
    folder.accepts("svmx-grid", *SMALL, "-out", "null", "--csv", "expected", HEART)
    engine, left = grid_search.cross_validate, iter(range(4))

    def stopping(*arguments, **options):
        if next(left, None) is None:
            raise DataError("stopped")
        return engine(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        gridengine.use(patch, stopping)
        assert folder.call("svmx-grid", *SMALL, "-out", "results", HEART)[0] == 1
    folder.put("r", folder.get("results"))
    shutil.copytree(folder.path / "results.state", folder.path / "starts")
    return folder


def resumed(folder):
    """The rates of the resumed search, and its messages."""
    folder.put("results", folder.get("r"))
    shutil.copytree(folder.path / "starts", folder.path / "results.state", dirs_exist_ok=True)
    _, _, said = folder.call("svmx-grid", *SMALL, "-out", "results", "-resume", "results", "--csv", "t", HEART)
    return rates(folder, "t"), said


def points_of(content):
    return len(result_lines(content))


def rates(folder, name):
    return sorted((row["log2c"], row["log2g"], row["rate"]) for row in rows(folder.get(name)))


def test_a_start_with_any_byte_changed_is_computed_again(interrupted, exhaustive):
    expected = rates(interrupted, "expected")
    path = max((interrupted.path / "starts").iterdir(), key=lambda one: one.stat().st_mtime)
    content = path.read_bytes()
    found, said = resumed(interrupted)
    assert found == expected
    assert "computed again" not in said
    assert points_of(interrupted.get("results")) == points_of(interrupted.get("r")) + 5
    path.write_bytes(content)
    keys = random.Random(1).sample(range(len(content)), 8 if exhaustive else 2)
    for at in (0, 20, len(content) - 1, *keys):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        found, said = resumed(interrupted)
        assert found == expected
        assert "the column is computed again" in said
    for size in (0, 10, len(content) // 2, len(content) - 8):
        path.write_bytes(content[:size])
        assert resumed(interrupted)[0] == expected


def test_a_start_of_other_sizes_under_a_right_checksum_is_not_believed(interrupted):
    expected = rates(interrupted, "expected")
    path = max((interrupted.path / "starts").iterdir(), key=lambda one: one.stat().st_mtime)
    run = json.loads(path.read_bytes().split(b"\n")[1])["run"]
    key, folds = read_start(path.read_bytes(), run)
    beta = folds[0].optima[0, 1].beta
    for change in (
        {"beta": beta[:0]},
        {"K_beta": np.zeros(1)},
        {"beta": beta[:-3]},
        {"beta": beta[:-3], "K_beta": beta[:-3]},
    ):
        path.write_bytes(start_bytes(run, key, changed(folds, change)))
        assert resumed(interrupted)[0] == expected
    path.write_bytes(start_bytes(run, key, folds[:-2]))
    assert resumed(interrupted)[0] == expected


def changed(folds, change):
    """All optima with changed arrays."""
    return [
        fold._replace(optima={pair: known._replace(**change) for pair, known in fold.optima.items()}) for fold in folds
    ]


@pytest.mark.parametrize("part", [0, 1, 2, "C"])
@pytest.mark.parametrize("value", [float("inf"), float("nan"), None, "x", [], 2**70, -8], ids=str)
def test_a_start_that_is_described_by_no_numbers(interrupted, part, value):
    """With a correct checksum: refused by a ValueError, which the search expects, or read unchanged."""
    path = max((interrupted.path / "starts").iterdir(), key=lambda one: one.stat().st_mtime)
    first, text, arrays = path.read_bytes()[:-32].split(b"\n", 2)
    described = json.loads(text)
    (described if part == "C" else described["folds"][0][0])[part] = value
    text = json.dumps(described).encode()
    content = b"%s %d\n%s\n%s" % (first.rsplit(b" ", 1)[0], len(text) + 1, text, arrays)
    content += sha256(content).digest()
    path.write_bytes(content)
    try:
        assert read_start(content, described["run"])
    except ValueError:
        found, said = resumed(interrupted)
        assert found == rates(interrupted, "expected")
        assert "the column is computed again" in said


class Trap:
    def __reduce__(self):
        return os.mkdir, ("trapped",)


# subprocess.Popen(["mkdir", "trapped"]), found through a module of libsvmx
DOTTED = b"\x80\x04\x8c\x0blibsvmx.api\x8c\x18np.f2py.subprocess.Popen\x93](\x8c\x05mkdir\x8c\x07trappede\x85R."


@pytest.mark.parametrize("code", [pickle.dumps(Trap()), DOTTED], ids=["function", "class"])
def test_a_start_that_is_code_is_not_run(finished, code):
    description_line = finished.get("results").splitlines()[0]
    (finished.path / "results.state").mkdir()
    for name in ("-3.0.start", "-5.0.start", "-1.0.start"):
        (finished.path / "results.state" / name).write_bytes(code)
    finished.put("results", description_line + b"\n")
    args = [*SMALL, "-out", "results", "-resume", "results", "--csv", "t", HEART]
    err, _ = finished.accepts("svmx-grid", *args)
    assert err.count("the column is computed again") == 3
    assert not (finished.path / "trapped").exists()
    assert rows(finished.get("t")) == rows(finished.get("expected"))


def test_kept_starts_are_removed_and_nothing_else(finished):
    folder = finished.path / "results.state"
    folder.mkdir()
    (folder / "mine").write_text("not ours")
    finished.accepts("svmx-grid", *SMALL, "-out", "results", HEART)
    assert [path.name for path in folder.iterdir()] == ["mine"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e308, 1e30])
def test_a_start_that_no_solve_has_found(interrupted, value):
    """With a correct checksum, which is no signature: rejected if it is not finite, or not within its box.

    Wrong scores cannot be detected: the column's rates may be wrong, but the search completes."""
    path = max((interrupted.path / "starts").iterdir(), key=lambda one: one.stat().st_mtime)
    run = json.loads(path.read_bytes().split(b"\n")[1])["run"]
    key, folds = read_start(path.read_bytes(), run)
    gamma = str(float(key[1]))
    for field in ("beta", "K_beta"):
        wrong = np.full(len(folds[0].optima[0, 1].beta), value)
        path.write_bytes(start_bytes(run, key, changed(folds, {field: wrong})))
        found, said = resumed(interrupted)
        expected = rates(interrupted, "expected")
        assert ("the column is computed again" in said) is not isfinite(value)
        if field == "beta" or not isfinite(value):
            assert found == expected
        assert [row[:2] for row in found] == [row[:2] for row in expected]
        assert [row for row in found if row[1] != gamma] == [row for row in expected if row[1] != gamma]

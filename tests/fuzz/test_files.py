"""Commands on wild files: a result, or a one-line reason; never anything else.

A case is identified by its seed: LIBSVMX_FUZZ_SEED and LIBSVMX_FUZZ_CASES replace the seeds of these files, for runs of
hours. At least half of the cases are valid, or have one error, so that they get past the parser.
"""

import bz2
import errno
import gzip
import lzma
import shutil
from pathlib import Path

import numpy as np
import pytest
from support import oracle
from support.faults import failing, system_call
from support.gridengine import result_lines
from support.libsvm_child import NOT_FINITE, decisions, of_libsvm
from support.policies import of_commands
from support.wildfiles import near_data, near_model, near_ranges, near_results, near_start, right_data

from libsvmx.io.svmlight import read_data

SOLVES = ("--solver", "--seeder", "--precision", "--reduction", "--low-rank", "--rank", "--working-set")


def data_of(wild, place):
    """Mostly valid or nearly so."""
    r = wild.random
    if r.random() < 0.7:
        return near_data(wild)
    return wild.data() if r.random() < 0.5 else wild.mutated(b"".join(r.sample(place.lines, 12)))


def test_training_and_predicting(place, cases):
    """Models are finite and can be applied to their data."""
    for wild in cases.each(40):
        place.put("d", data_of(wild, place))
        options = wild.options()
        Path("m").unlink(missing_ok=True)
        code, _ = place.call("svmx-train", *options, "d", "m")
        if not cases.count(code == 0) or not Path("m").exists():
            continue
        assert not NOT_FINITE.search(place.get("m"))
        assert place.call("svmx-predict", "-q", "--lenient", "d", "m", "o")[0] == 0
        assert not NOT_FINITE.search(place.get("o"))
    cases.check(0.15)


def test_models(place, cases):
    """An accepted model predicts finite values, or those of LIBSVM: kernels overflow at numbers of 1e308."""
    for wild in cases.each(60):
        r = wild.random
        if r.random() < 0.6:
            place.put("m", near_model(wild))
            place.put("d", right_data(wild) if r.random() < 0.7 else near_data(wild))
        else:
            model, rows = place.models[r.choice(list(place.models))]
            place.put("m", wild.mutated(model, r.choice([1, 1, 0])))
            place.put("d", rows if r.random() < 0.8 else wild.mutated(rows))
        code, _ = place.call("svmx-predict", *r.choice([[], ["-b", "1"]]), "d", "m", "o")
        if cases.count(code == 0) and NOT_FINITE.search(place.get("o")):
            theirs = of_libsvm(lambda: decisions(oracle.load("m"), read_data("d").matrix))
            assert theirs is not None
            assert not np.isfinite(np.frombuffer(theirs)).all()
    cases.check(0.1)


def test_ranges_and_scaling(place, cases):
    for wild in cases.each(60):
        r = wild.random
        place.put("r", wild.mutated(place.ranges) if r.random() < 0.3 else near_ranges(wild, place.ranges))
        place.put("d", near_data(wild) if r.random() < 0.7 else wild.data())
        limits = ("-l", wild.number(), "-u", wild.number())
        words = r.choice([("-r", "r"), ("-r", "r"), ("-y", "0", "1"), ("-s", "s"), limits])
        if "\0" not in "".join(words):
            code, out = place.call("svmx-scale", *words, "d")
            cases.count(code == 0)
            assert code or not NOT_FINITE.search(out)
    cases.check(0.15)


def test_archives(place, cases):
    """A damaged archive is refused: no row is ever dropped."""
    for wild in cases.each(40):
        content, whole = wild.archive(b"".join(place.lines[:30]))
        place.put("d.z", content)
        code, _ = place.call("svmx-train", "-q", "d.z", "m")
        assert not (whole and code)
        if cases.count(code == 0) and content[:3] in (b"\x1f\x8b\x08", b"BZh", b"\xfd7z"):
            assert read_data("d.z").matrix.n_rows == 30
    cases.check(0.2)


@pytest.mark.parametrize("pack", (gzip.compress, bz2.compress, lzma.compress), ids=("gz", "bz2", "xz"))
def test_ranges_models_and_states_are_read_from_no_damaged_archive(place, cases, pack):
    """One function decompresses data, models and states: it returns the whole content, or raises."""
    for wild in cases.each(10):
        r = wild.random
        name, content = r.choice([("m", place.models["-b 1"][0]), ("s", place.state)])
        packed = pack(content)
        found = wild.mutated(packed, 1) if r.random() < 0.7 else packed
        place.put(name, found)
        if name == "m":
            place.put("d", place.models["-b 1"][1])
            code, _ = place.call("svmx-predict", "-q", "d", "m", "o")
            place.put("m", content)
            assert place.call("svmx-predict", "-q", "d", "m", "p")[0] == 0
            assert code or place.get("o") == place.get("p")
        else:
            code, _ = place.call("svmx-update", "-q", "--state", "s", "m2")
        assert cases.count(code == 0) or found != packed
    cases.check(0.1)


def test_precomputed_kernels(place, cases):
    for wild in cases.each(30):
        place.put("d", wild.mutated(wild.precomputed(), 1) if wild.random.random() < 0.5 else wild.precomputed())
        options = wild.options(without=(*SOLVES, "--loo", "-t"))
        code, _ = place.call("svmx-train", *options, "-t", "4", "d", "m")
        if cases.count(code == 0) and Path("m").exists():
            place.put("d", wild.mutated(wild.precomputed(), 1) if wild.random.random() < 0.5 else wild.precomputed())
            place.call("svmx-predict", "d", "m", "o")
    cases.check(0.2)


def test_states(place, cases):
    """An accepted state leads to a finite model and to a readable state."""
    for wild in cases.each(40):
        r = wild.random
        place.put("s", wild.state(place.state) if r.random() < 0.7 else place.state)
        place.put("a", b"".join(r.sample(place.lines, 3)) if r.random() < 0.6 else near_data(wild))
        changes = [[], ["--add", "a"], ["--remove", "1,3"], ["-c", "2"], ["--add", "a", "--remove", "5-9"]]
        words = ["--state", "s", "--save-state", "s2", *r.choice(changes), "m"]
        if cases.count(place.call("svmx-update", "-q", *words)[0] == 0):
            assert not NOT_FINITE.search(place.get("m"))
            assert place.call("svmx-update", "-q", "--state", "s2", "m2")[0] == 0
    cases.check(0.12)


GRID = ("-log2c", "0,2,1", "-log2g", "0,-1,-1", "-v", "3", "-q", "-png", "null")


def rates(content):
    return sorted(set(result_lines(content)))


def test_results_of_a_grid(place, cases):
    """Torn, incomplete or unordered lines lead to the same rates."""
    place.put("d", b"".join(place.lines[:30]))
    place.call("svmx-grid", *GRID, "-out", "first", "d")
    first = place.get("first")
    for wild in cases.each(15):
        content, same = near_results(wild, first)
        place.put("g", content)
        code, _ = place.call("svmx-grid", *GRID, "-out", "second", "-resume", "g", "d")
        if cases.count(code == 0) and same:
            assert rates(place.get("second")) >= rates(first[: first.index(b"\n") + 1])
            shutil.copy("g", "third")
            assert place.call("svmx-grid", *GRID, "-out", "third", "-resume", "third", "d")[0] == 0
            assert rates(place.get("third")) == rates(first)
    cases.check(0.3)


def test_starts_of_columns(place, cases, monkeypatch):
    """A damaged start is not used: the rates are those of an uninterrupted search."""
    of_commands(monkeypatch, min_recompute_seconds=0.0, max_cold_start_rows=0)  # auto seeds with few rows, too
    place.put("d", b"".join(place.lines[:30]))
    written = []
    with system_call("fsync", lambda fsync, handle: written.append(handle)):
        place.call("svmx-grid", *GRID, "-out", "first", "d")
    first = place.get("first")
    with failing("fsync", errno.ENOSPC, after=len(written) - 1):  # the last point cannot be written
        assert place.call("svmx-grid", *GRID, "-out", "torn", "d")[0] == 1
    start = "torn.state/0.0.start"  # of the unfinished column
    for wild in cases.each(15):
        shutil.rmtree("out.state", ignore_errors=True)
        shutil.copytree("torn.state", "out.state")
        shutil.copy("torn", "out")
        content, must = near_start(wild, place.get(start))
        place.put("out.state/0.0.start", content)
        code, _ = place.call("svmx-grid", *GRID, "-out", "out", "-resume", "out", "d")
        assert cases.count(code == 0)
        if must:
            assert rates(place.get("out")) == rates(first)
    cases.check(0.9)

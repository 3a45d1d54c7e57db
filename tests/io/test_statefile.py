"""State files: updates continue as if nothing had happened, and damaged files are refused, whatever the damage."""

import errno
import io
import json
import random
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from support import data
from support.faults import failing
from support.statefiles import archived, closed, members_of, moved, opened, signed

import libsvmx
from libsvmx import FormatError, State
from libsvmx.io.statefile import AT_NAME, DESCRIPTION, DIGEST, is_state, load_state, state_bytes

CASES = [
    ("heart_scale", {"C": 10}),
    ("heart_scale", {"kernel_type": 0, "weights": {1: 0.5}}),
    ("glass.scale", {"C": 100, "gamma": 0.5}),
    ("mpg", {"svm_type": 3, "C": 20, "p": 1, "gamma": 1e-4}),
    ("heart_scale", {"svm_type": 2, "nu": 0.3, "kernel_type": 1, "coef0": 1}),
]


@pytest.mark.parametrize("name, options", CASES)
def test_updates_after_a_reload_are_those_of_the_state_that_was_saved(name, options, tmp_path):
    state, matrix, targets = moved(name, options)
    path = str(tmp_path / "state")
    state.save(path)
    other = State.load(path)
    assert type(other) is State
    assert other.param == state.param
    assert np.array_equal(other.ids, state.ids)
    assert np.array_equal(other.targets, state.targets)
    scale = np.abs(state.decision_values(matrix)).max()
    assert np.abs(other.decision_values(matrix) - state.decision_values(matrix)).max() < 1e-11 * scale
    for each in (state, other):
        rows = memoryview(np.arange(20, 30, dtype=np.int32))
        assert each.update(add=(matrix.take(rows), targets[20:30]), remove=each.ids[3::9])[0] == len(targets) + 5
        if each.param.svm_type != 2:
            each.set_cost(each.param.C * 1.5)
    assert np.abs(other.decision_values(matrix) - state.decision_values(matrix)).max() < 1e-10 * scale
    assert other.gap < 1e-8
    assert state.report.breakpoints == other.report.breakpoints


def test_a_saved_state_is_the_same_bytes_again(tmp_path):
    state, _, _ = moved("heart_scale", {"C": 10})
    path = str(tmp_path / "state")
    state.save(path)
    assert State.load(path).save(path) is None
    again = State.load(path)
    assert state_bytes(again) == (tmp_path / "state").read_bytes()


def test_after_its_cost_has_moved_and_a_class_has_gone(tmp_path):
    matrix, targets = data.load("iris.scale")
    state = libsvmx.train(matrix, targets, C=3, keep_state=True)
    state.set_cost(1.0)
    state.remove([i for i, y in enumerate(targets) if y == 2])
    path = str(tmp_path / "state")
    state.save(path)
    assert State.load(path).model.class_labels == (1, 3)
    state.remove([i for i, y in enumerate(targets) if y == 3])  # one class: no dual problem
    state.save(path)
    assert len(State.load(path)) == 50
    state.save(path)
    back = State.load(path)
    back.add(matrix, targets)
    assert len(back.binaries) == 3


@pytest.mark.parametrize("svm_type", [libsvmx.SvmType.C_SVC, libsvmx.SvmType.EPSILON_SVR])
@pytest.mark.parametrize("cost", [1e-7, 1e-9, 1e-11])
def test_after_its_cost_has_become_next_to_nothing(svm_type, cost, tmp_path):
    """Then drift that is negligible beside the targets is large beside K beta; this was once taken for other rows."""
    X, y = data.load("heart_scale", 60)
    state = libsvmx.train(X, y, svm_type=svm_type, C=10.0, keep_state=True)
    state.set_cost(cost)
    state.save(tmp_path / "state")
    again = State.load(tmp_path / "state")
    assert again.gap <= 1e-10
    np.testing.assert_allclose(again.model.sv_coef, state.model.sv_coef, rtol=1e-9)


def test_a_reload_is_a_check(tmp_path):
    """K beta is recomputed, so the rounding of many changes is gone: a lot of it, where nu-SVC divides by a tiny r."""
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(24, 3)), np.arange(24) % 2
    state = libsvmx.train(X, y, svm_type=1, nu=0.3, gamma=1.5, keep_state=True)
    differed = False
    for k in range(6):
        state.update(add=(rng.normal(size=(2, 3)), [0, 1]), remove=state.ids[:2])
        state.save(tmp_path / f"{k}")
        again, checked = State.load(tmp_path / f"{k}"), state.copy()
        checked.check()
        assert np.array_equal(again.decision_values(X), checked.decision_values(X))
        differed |= not np.array_equal(again.decision_values(X), state.decision_values(X))
    assert differed


def test_ids_are_never_given_twice(tmp_path):
    state, matrix, targets = moved("heart_scale", {"C": 10})
    state.remove(state.ids[-5:])
    state.save(str(tmp_path / "state"))
    row = matrix.take(memoryview(np.arange(1, dtype=np.int32)))
    assert State.load(str(tmp_path / "state")).add(row, targets[:1])[0] == len(targets) + 5


def test_classes_whose_order_has_changed(tmp_path):
    """The first row now has another class, so pairs are reversed, and with them the costs of the classes."""
    matrix, targets = data.load("glass.scale")
    state = libsvmx.train(matrix, targets, C=10, weights={1: 0.1, 2: 3}, keep_state=True)
    labels = state.model.class_labels
    state.remove([i for i, y in enumerate(targets) if y == labels[0]][:-1])
    row = matrix.take(memoryview(np.arange(1, dtype=np.int32)))
    state.update(add=(row, targets[:1]), remove=[i for i in state.ids if state.targets[state.ids == i][0] == labels[0]])
    assert state.model.class_labels == (*labels[1:], labels[0])
    state.save(str(tmp_path / "state"))
    other = State.load(str(tmp_path / "state"))
    assert other.gap < 1e-9
    assert np.abs(other.decision_values(matrix) - state.decision_values(matrix)).max() < 1e-9


def test_parameters_that_do_not_change_the_optimum(tmp_path):
    state, _, _ = moved("heart_scale", {"C": 10})
    state.save(str(tmp_path / "state"))
    assert load_state(str(tmp_path / "state"), State, cache_size=7.0).param.cache_size == 7


def test_a_state_that_cannot_be_written_leaves_the_old_one(tmp_path):
    state, _, _ = moved("heart_scale", {"C": 10})
    path = tmp_path / "state"
    path.write_bytes(b"old")
    with failing("fsync", errno.ENOSPC), pytest.raises(OSError, match="No space"):
        state.save(str(path))
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


# ---------------------------------------------------------------- defects


@pytest.fixture(scope="module")
def saved():
    """The bytes of a small state of three classes."""
    matrix, targets = data.load("iris.scale", n=30)
    return state_bytes(libsvmx.train(matrix, targets, keep_state=True))


@pytest.fixture
def refused(tmp_path):
    def check(content, message):
        path = tmp_path / "state"
        path.write_bytes(content)
        with pytest.raises(FormatError, match=message) as caught:
            State.load(str(path))
        assert str(caught.value).startswith(f"{path}: ")
        return str(caught.value)

    return check


def test_numpy_reads_it(tmp_path):
    """Without libsvmx: rows, labels, coefficients."""
    matrix, targets = data.load("heart_scale")
    state = libsvmx.train(matrix, targets, keep_state=True, sample_weight=np.linspace(0.5, 2, len(targets)))
    state.save(str(tmp_path / "state"))
    with np.load(tmp_path / "state", allow_pickle=False) as file:
        description = json.loads(file["libsvmx-state.json"])
        assert description["version"] == 1 and description["param"]["C"] == 1
        for name, values in (("indptr", matrix.indptr), ("indices", matrix.indices), ("values", matrix.values)):
            assert np.array_equal(file[name], values)
        assert np.array_equal(file["targets"], targets) and np.array_equal(file["ids"], np.arange(len(targets)))
        assert np.array_equal(file["sample_weight"], np.linspace(0.5, 2, len(targets)))
        assert description["binaries"][0]["rows"] == len(file["path_ids"]) == len(file["beta"]) == len(file["K_beta"])
    with zipfile.ZipFile(tmp_path / "state") as archive:
        assert archive.testzip() is None


def test_the_tools_of_these_tests_change_nothing(saved):
    assert closed(*opened(saved)) == archived(members_of(saved)) == saved


def test_every_truncation(saved, refused):
    for length in [*range(0, 200), *range(200, len(saved), 97), len(saved) - 1]:
        refused(saved[:length], "damaged|not a state file")
    refused(saved + b"\n", "damaged: the checksum does not fit")


def test_every_flipped_byte(saved, refused):
    draw = random.Random(1)
    places = [*range(200), *(draw.randrange(len(saved)) for _ in range(300)), *range(len(saved) - 200, len(saved))]
    for place in places:
        content = bytearray(saved)
        content[place] ^= 1 << draw.randrange(8)
        refused(bytes(content), "damaged|not a state file")


def test_files_of_other_kinds(refused):
    draw = random.Random(2)
    begin = closed({}, {})[: AT_NAME + len(DESCRIPTION)]
    other = io.BytesIO()
    np.savez(other, a=np.arange(3))
    for content in (b"", b"svm_type c_svc\n", draw.randbytes(5000), other.getvalue()):
        refused(content, "not a state file")
    for content in (begin, begin + draw.randbytes(5000)):
        refused(content, "damaged")
        refused(signed(content + bytes(DIGEST)), "not an archive")


def test_a_later_version_is_named(saved, refused):
    description, arrays = opened(saved)
    refused(closed({**description, "version": 12, "more": 1}, {}), "version 12; this libsvmx knows versions up to 2")
    for version in (0, -1, "1", 1.5, None):
        refused(closed({**description, "version": version}, arrays), "lacks a key")


# ---- archives with false sizes ----


def test_what_is_compressed(saved, refused):
    """Gigabytes of zeros compress to a megabyte."""
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refused(archived(members_of(saved), compression), "archive is compressed")


def test_lengths_that_no_memory_holds(saved, refused):
    """Only the actual content is allocated, wherever a length is given."""
    members = members_of(saved)
    directory = [place for place in range(len(saved)) if saved[place : place + 4] == b"PK\x01\x02"]
    assert len(directory) == len(members)
    for k, (name, bytes_) in enumerate(members):
        for size in (len(saved), 2**31, 2**32 - 2):
            content = bytearray(saved)
            content[directory[k] + 20 : directory[k] + 28] = struct.pack("<II", size, size)
            refused(signed(bytes(content)), f"the member '{name}' is longer than the file|not JSON")
        if k:
            length = b"(%d,)" % (len(bytes_[128:]) // (4 if name == "indices.npy" else 8))
            for claimed in (b"(99999999999999999,)", b"(-1,)", b"(True,)", b"()", length + b" "):
                head = bytes_[:128].replace(length, claimed).rstrip(b"\n ").ljust(127) + b"\n"
                others = [*members[:k], (name, head + bytes_[128:]), *members[k + 1 :]]
                refused(archived(others), f"'{name[:-4]}' is described wrongly")


def test_heads_of_arrays_are_not_evaluated(saved, refused):
    members = members_of(saved)
    for k in range(1, len(members)):
        name, bytes_ = members[k]
        for head in (b"\x93NUMPY\x01\x00v\x00" + b"(" * 118, b"", bytes_[:127], bytes_[:7] + b"\x01" + bytes_[8:128]):
            others = [*members[:k], (name, head + bytes_[128:]), *members[k + 1 :]]
            refused(archived(others), f"'{name[:-4]}' is described wrongly")


def test_objects_are_refused(saved, refused):
    """NumPy would unpickle them."""
    description, arrays = opened(saved)
    for name in arrays:
        members = members_of(closed(description, arrays))
        file = io.BytesIO()
        np.save(file, np.array([{}, print], dtype=object), allow_pickle=True)
        members = [(member, file.getvalue() if member == f"{name}.npy" else bytes_) for member, bytes_ in members]
        refused(archived(members), f"'{name}' is described wrongly")


def test_members_of_the_same_bytes(saved, refused):
    """All members of an archive at one place, as in zip bombs without nesting."""
    directory = [place for place in range(len(saved)) if saved[place : place + 4] == b"PK\x01\x02"]
    content = bytearray(saved)
    for place in directory[1:]:
        content[place + 42 : place + 46] = bytes(4)
    refused(signed(bytes(content)), "described wrongly|not an archive|longer than the file")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_other_members(saved, refused):
    members = members_of(saved)
    for wrong in (
        members[:-1],
        [*members, ("more.npy", members[-1][1])],
        [*members, ("sample_weight.npy", members[4][1]), ("more", b"")],
        [*members, members[-1]],
        [members[0], *members[:0:-1]],
    ):
        refused(archived(wrong), "list of arrays")
    content = archived(members)
    end = content.rindex(b"PK\x05\x06")
    refused(signed(content[: end + 8] + bytes(12) + content[end + 20 :]), "the description|not an archive")


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("svm_type", [0, 3])
def test_sums_beyond_the_largest_double(svm_type, tmp_path):
    """The same point with both labels: every alpha moves to C."""
    state = libsvmx.train([[1.0]] * 4, [1, -1, 1, -1], svm_type=svm_type, C=1e308, max_iter=100, keep_state=True)
    path = str(tmp_path / "state")
    state.save(path)
    restored = State.load(path).model.coef
    assert np.isfinite(restored).all()
    assert np.abs(restored).max() > 1e307


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
def test_what_rounding_leaves_of_an_optimum_between_bounds_of_1e21(seed, tmp_path):
    """Equal rows of both classes go to their bounds, and scores are accurate to 1e5 only."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(30, 13)), np.zeros((20, 13))])
    X[33:, 0] = rng.normal(size=17)
    y = np.hstack([np.ones(30), [1, 0, 0], rng.integers(0, 2, 17)])
    state = libsvmx.train(X, y, keep_state=True, C=2.0**70, gamma=1 / 13, max_iter=1000)
    state.save(tmp_path / "state")
    for each in (state, State.load(tmp_path / "state")):
        assert 1.0 < each.gap <= 1e-12 * state.param.C * len(y)


def test_scores_that_cancel_to_rounding(tmp_path):
    """The same rows in both classes: every score is 0 up to rounding, which differs between machines."""
    rows = [[0.1 * k for k in range(1, 14)], [0.3 * k for k in range(1, 14)]]
    state = libsvmx.train(rows + rows, [1, 1, 2, 2], C=1.0, gamma=1 / 13, keep_state=True)
    description, arrays = opened(state_bytes(state))
    arrays["K_beta"] += [1e-16, -1e-16, 2e-16, 0.0]
    (tmp_path / "state").write_bytes(closed(description, arrays))
    assert len(State.load(str(tmp_path / "state")).ids) == 4


DESCRIPTIONS = [
    (lambda d: d.pop("binaries"), "lacks a key"),
    (lambda d: d.update(more=1), "lacks a key"),
    (lambda d: d.update(next_id=-1), "the next id"),
    (lambda d: d.update(next_id=1.5), "the next id"),
    (lambda d: d.update(next_id=29), "the next id, 29, has been given already"),
    (lambda d: d.update(binaries={}), "list of dual problems"),
    (lambda d: d["binaries"].pop(), "too many or too few rows"),
    (lambda d: d["binaries"][0].update(pair=[1, 7]), "no dual problem of classes 1 and 7"),
    (lambda d: d["binaries"][0].update(pair=[1, "2"]), "two whole numbers"),
    (lambda d: d["binaries"][0].update(pair=None), "no dual problem of the rows"),
    (lambda d: d["binaries"][0].update(pair=d["binaries"][1]["pair"]), "not those of the data|or another one"),
    (lambda d: d["binaries"][1].update(pair=d["binaries"][0]["pair"][::-1]), "or another one"),
    (lambda d: d["binaries"][0].update(total="x"), "not a finite number"),
    (lambda d: d["binaries"][0].update(total=1), "are to add up to 0, not 1"),
    (lambda d: d["param"].pop("C"), "^[^:]*: the parameters are wrong: they lack one$"),
    (lambda d: d["param"].update(solver="chunked"), "^[^:]*: the parameters are wrong: they lack one$"),
    (lambda d: d["param"].update(C=-1), "C must be > 0"),
    (lambda d: d["param"].update(gamma="x"), "gamma must be a number"),
    (lambda d: d["param"].update(weights=3), "the parameters are wrong"),
    (lambda d: d["param"].update(svm_type=[]), "the parameters are wrong"),
    (lambda d: d["param"].update(svm_type=1), "the coefficients of classes 1 and 2 have 2 sums, not 1"),
    (lambda d: d.update(version=2), "there are not 2 sums of coefficients"),
    (lambda d: d["param"].update(kernel_type=4), "a row must be 0:serial"),
    (lambda d: d["param"].update(C=1e-3), "is not between 0 and 0.001"),
    (lambda d: d["param"].update(gamma=3.0), "scores of .* are not those of the data"),
    (lambda d: d.pop("columns"), "lacks a key"),
    (lambda d: d.update(columns=[4]), "number of columns"),
    (lambda d: d.update(columns=[3, 1]), "number of columns"),
    (lambda d: d.update(columns=[2**31, 1]), "number of columns"),
    (lambda d: d["binaries"][0].update(rows=-1), "too many or too few rows"),
    (lambda d: d["binaries"][0].update(rows=True), "too many or too few rows"),
    (lambda d: d["binaries"][0].update(rows=10**400), "too many or too few rows"),
    (lambda d: (d["binaries"][0].update(rows=10**6), d["binaries"][1].update(rows=-(10**6))), "too few rows"),
]


@pytest.mark.parametrize("k", range(len(DESCRIPTIONS)))
def test_a_wrong_description(k, saved, refused):
    change, message = DESCRIPTIONS[k]
    description, arrays = opened(saved)
    change(description)
    refused(closed(description, arrays), message)


def put(name, k, value):
    return lambda arrays: arrays[name].__setitem__(k, value)


def cut(*names):
    return lambda arrays: arrays.update({name: arrays[name][:-1] for name in names})


ARRAYS = [
    (put("indptr", 1, 10**9), "rows are wrong"),
    (put("indptr", 1, -4), "rows are wrong"),
    (put("indices", 0, -1), "rows are wrong"),
    (put("indices", 1, 1), "rows are wrong"),
    (put("values", 3, float("nan")), "not finite"),
    (put("targets", 0, float("inf")), "class label inf"),
    (put("targets", 0, 1.5), "class label 1.5"),
    (put("targets", 0, 3.0), "are not those of the data"),
    (cut("targets"), "rows are wrong"),
    (cut("values"), "rows are wrong"),
    (cut("ids"), "ids of the rows"),
    (put("ids", 3, 2), "do not ascend"),
    (put("ids", 0, -5), "do not ascend"),
    (put("path_ids", 0, 1), "are not those of the data"),
    (put("path_ids", 0, 10**6), "are not those of the data"),
    (cut("path_ids"), "too many or too few"),
    (cut("beta"), "too many or too few"),
    (cut("K_beta"), "too many or too few"),
    (put("beta", 0, float("nan")), "not finite"),
    (put("beta", 0, 1.5), "coefficient 1.5 of classes 1 and 2 is not between 0 and 1"),
    (put("beta", 0, -0.5), "coefficient -0.5 of classes 1 and 2 is not between 0 and 1"),
    (put("beta", 0, 0.123), "add up to"),
    (put("K_beta", 0, float("inf")), "a score of classes 1 and 2 is not finite"),
    (put("K_beta", 0, 77.0), "scores of classes 1 and 2 are not those of the data"),
]


@pytest.mark.parametrize("k", range(len(ARRAYS)))
def test_wrong_arrays(k, saved, refused):
    change, message = ARRAYS[k]
    description, arrays = opened(saved)
    change(arrays)
    refused(closed(description, arrays), message)


def test_a_dual_problem_is_missing(saved, refused):
    description, arrays = opened(saved)
    rows = description["binaries"].pop()["rows"]
    for name in ("path_ids", "beta", "K_beta"):
        arrays[name] = arrays[name][:-rows]
    refused(closed(description, arrays), "3 dual problems are needed, 2 given")


def test_a_description_that_is_not_json(saved, refused):
    for text in (b"{", b"[" * 100_000, b"\xff", b"[]", b"null", b"NaN", b""):
        refused(archived([(DESCRIPTION, text), *members_of(saved)[1:]]), "the description")


def test_mutations_with_a_right_checksum(saved, tmp_path):
    """Any file with a correct checksum gives a format error or a state."""
    draw = random.Random(3)
    directory = saved.index(b"PK\x01\x02")  # of the archive, after the members
    n_loaded = 0
    for _ in range(400):
        body = bytearray(saved)
        for _ in range(draw.choice([1, 1, 3])):
            place = draw.choice([draw.randrange(500), draw.randrange(directory), draw.randrange(directory, len(saved))])
            body[place] = draw.choice([draw.randrange(256), 48, 57, 0])
        (tmp_path / "state").write_bytes(signed(bytes(body)))
        try:
            state = State.load(str(tmp_path / "state"))
        except FormatError:
            continue
        n_loaded += 1
        assert np.isfinite(state.decision_values(np.eye(4))).all()
    assert 0 < n_loaded < 300


def test_what_is_a_state(saved, tmp_path):
    (tmp_path / "state").write_bytes(saved)
    (tmp_path / "model").write_text("svm_type c_svc\n")
    found = [is_state(str(tmp_path / name)) for name in ("state", "model", "nothing", ".")]
    assert found == [True, False, False, False]


# Python's audit event of a compilation: text, not modules, which were compiled before.
COMPILED = """
import dataclasses, sys, libsvmx
seen = []
def told(event, arguments):
    if event == "compile" or event == "exec" and arguments[0].co_filename == "<string>":
        seen.append(event)
libsvmx.State.load("state").save("again")
sys.addaudithook(told)
libsvmx.State.load("again").save("state")
before = len(seen)
dataclasses.make_dataclass("Some", ["x"])
print(before, len(seen) > 0)
"""


def test_nothing_is_compiled_to_read_a_state(tmp_path):
    """CPython 3.11 raises SyntaxError for an allocation that fails while it compiles."""
    moved("heart_scale", {"C": 10})[0].save(str(tmp_path / "state"))
    done = subprocess.run([sys.executable, "-c", COMPILED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0 True\n", "")

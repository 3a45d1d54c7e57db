"""State files: updates go on as if nothing had happened, and damaged files are refused, whatever the damage."""

import hashlib
import json
import os
import random

import numpy as np
import pytest
from support import data

import libsvmx
from libsvmx import FormatError, State
from libsvmx.io.statefile import DIGEST_BYTES, MAGIC, _first_line, is_state, load_state, state_bytes

CASES = [
    ("heart_scale", {"C": 10}),
    ("heart_scale", {"kernel_type": 0, "weights": {1: 0.5}}),
    ("glass.scale", {"C": 100, "gamma": 0.5}),
    ("mpg", {"svm_type": 3, "C": 20, "p": 1, "gamma": 1e-4}),
    ("heart_scale", {"svm_type": 2, "nu": 0.3, "kernel_type": 1, "coef0": 1}),
]


def moved(name, options):
    """A state with a history: ids with gaps, positions out of order."""
    matrix, targets = data.load(name)
    state = libsvmx.train(matrix, targets, keep_state=True, **options)
    rows = memoryview(np.arange(5, dtype=np.int32))
    state.update(add=(matrix.take(rows), targets[:5]), remove=range(0, len(targets), 5))
    return state, matrix, targets


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


def test_ids_are_never_given_twice(tmp_path):
    state, matrix, targets = moved("heart_scale", {"C": 10})
    state.remove(state.ids[-5:])
    state.save(str(tmp_path / "state"))
    row = matrix.take(memoryview(np.arange(1, dtype=np.int32)))
    assert State.load(str(tmp_path / "state")).add(row, targets[:1])[0] == len(targets) + 5


def test_classes_whose_order_has_changed(tmp_path):
    """The first row is of another class now, so pairs are turned, and with them what each class costs."""
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


def test_a_state_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    state, _, _ = moved("heart_scale", {"C": 10})
    path = tmp_path / "state"
    path.write_bytes(b"old")

    def fail(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
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


def opened(content):
    """Description and arrays of a state file."""
    line, _, rest = content.partition(b"\n")
    text, data_ = rest[: int(line.split()[3])], rest[int(line.split()[3]) : -DIGEST_BYTES]
    description = json.loads(text)
    arrays = {
        name: np.frombuffer(data_, kind, length, offset).copy() for name, kind, length, offset in description["arrays"]
    }
    return description, arrays


def closed(description, arrays=None, raw=None):
    """A state file with a right checksum, whatever it holds."""
    if arrays is not None:
        table, offset = [], 0
        for name, values in arrays.items():
            table.append([name, values.dtype.str, len(values), offset])
            offset += values.nbytes
        description = {**description, "arrays": table}
        raw = b"".join(values.tobytes() for values in arrays.values())
    text = json.dumps(description).encode() + b"\n"
    content = _first_line(len(text), len(raw)) + text + raw
    return content + hashlib.sha256(content).digest()


def test_the_tools_of_these_tests_change_nothing(saved):
    assert closed(*opened(saved)) == saved


def test_every_truncation(saved, refused):
    for length in [*range(0, 200), *range(200, len(saved), 97), len(saved) - 1]:
        refused(saved[:length], "damaged|not a state file")
    refused(saved + b"\n", "damaged: .* bytes where there should be")


def test_every_flipped_byte(saved, refused):
    draw = random.Random(1)
    places = [*range(len(MAGIC) + 30), *(draw.randrange(len(saved)) for _ in range(300)), len(saved) - 1]
    for place in places:
        content = bytearray(saved)
        content[place] ^= 1 << draw.randrange(8)
        refused(bytes(content), "damaged|not a state file|version")


def test_files_of_other_kinds(refused):
    draw = random.Random(2)
    for content in (b"", b"svm_type c_svc\n", draw.randbytes(5000), MAGIC, MAGIC + draw.randbytes(5000)):
        refused(content, "damaged|not a state file")


def test_a_later_version_is_named(saved, refused):
    refused(saved.replace(MAGIC + b"1 ", MAGIC + b"12 "), "version 12; this libsvmx knows versions up to 2")
    refused(saved.replace(MAGIC + b"1 ", MAGIC + b"0 "), "damaged")


def test_lengths_that_no_memory_holds(saved, refused):
    """Only what the file has is allocated."""
    rest = saved.partition(b"\n")[2]
    refused(MAGIC + b"1 99999999999999999 99999999999999999\n" + rest, "damaged")
    refused(MAGIC + b"1 99999999999999999 %d\n" % len(saved) + rest, "damaged")
    description, arrays = opened(saved)
    raw = b"".join(values.tobytes() for values in arrays.values())
    for k in range(len(description["arrays"])):
        broken = json.loads(json.dumps(description))
        broken["arrays"][k][2] = 10**15
        refused(closed(broken, raw=raw), "longer than the file")
    broken["arrays"][0][2] = 10**400
    refused(closed(broken, raw=raw), "longer than the file")


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
    """Rows of both classes that are equal go to their bounds, and scores are right to 1e5 only."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(30, 13)), np.zeros((20, 13))])
    X[33:, 0] = rng.normal(size=17)
    y = np.hstack([np.ones(30), [1, 0, 0], rng.integers(0, 2, 17)])
    state = libsvmx.train(X, y, keep_state=True, C=2.0**70, gamma=1 / 13, max_iter=1000)
    state.save(tmp_path / "state")
    for each in (state, State.load(tmp_path / "state")):
        assert 1.0 < each.gap <= 1e-12 * state.param.C * len(y)


def test_scores_that_cancel_to_rounding(tmp_path):
    """The same rows in both classes: every score is 0 but for rounding, which another machine does otherwise."""
    rows = [[0.1 * k for k in range(1, 14)], [0.3 * k for k in range(1, 14)]]
    state = libsvmx.train(rows + rows, [1, 1, 2, 2], C=1.0, gamma=1 / 13, keep_state=True)
    description, arrays = opened(state_bytes(state))
    arrays["K_beta 0"] += [1e-16, -1e-16, 2e-16, 0.0]
    (tmp_path / "state").write_bytes(closed(description, arrays))
    assert len(State.load(str(tmp_path / "state")).ids) == 4


DESCRIPTIONS = [
    (lambda d: d.pop("binaries"), "lacks a key"),
    (lambda d: d.update(more=1), "lacks a key"),
    (lambda d: d.update(next_id=-1), "the next id"),
    (lambda d: d.update(next_id=1.5), "the next id"),
    (lambda d: d.update(next_id=29), "the next id, 29, has been given already"),
    (lambda d: d.update(binaries={}), "list of dual problems"),
    (lambda d: d["binaries"].pop(), "list of arrays"),
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
    (lambda d: d["param"].update(svm_type=1), "a state is kept of C-SVC"),
    (lambda d: d["param"].update(kernel_type=4), "not a precomputed one"),
    (lambda d: d["param"].update(C=1e-3), "is not between 0 and 0.001"),
    (lambda d: d["param"].update(gamma=3.0), "scores of .* are not those of the data"),
    (lambda d: d.update(arrays=7), "list of arrays"),
    (lambda d: d["arrays"].reverse(), "list of arrays"),
    (lambda d: d["arrays"][0].pop(), "'indptr' is described wrongly"),
    (lambda d: d["arrays"][0].__setitem__(1, "<f8"), "'indptr' is described wrongly"),
    (lambda d: d["arrays"][1].__setitem__(3, 0), "'indices' is described wrongly"),
    (lambda d: d["arrays"][-1].__setitem__(2, 1), "bytes behind the last array"),
    (lambda d: d["arrays"][0].__setitem__(2, -1), "described wrongly"),
    (lambda d: d["arrays"][0].__setitem__(2, True), "described wrongly"),
]


@pytest.mark.parametrize("k", range(len(DESCRIPTIONS)))
def test_a_wrong_description(k, saved, refused):
    change, message = DESCRIPTIONS[k]
    description, arrays = opened(saved)
    change(description)
    refused(closed(description, raw=b"".join(values.tobytes() for values in arrays.values())), message)


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
    (put("ids 0", 0, 1), "are not those of the data"),
    (put("ids 0", 0, 10**6), "are not those of the data"),
    (cut("ids 0"), "are not those of the data"),
    (cut("beta 1"), "too many or too few"),
    (cut("K_beta 1"), "too many or too few"),
    (put("beta 0", 0, float("nan")), "not finite"),
    (put("beta 0", 0, 1.5), "coefficient 1.5 of classes 1 and 2 is not between 0 and 1"),
    (put("beta 0", 0, -0.5), "coefficient -0.5 of classes 1 and 2 is not between 0 and 1"),
    (put("beta 0", 0, 0.123), "add up to"),
    (put("K_beta 0", 0, float("inf")), "a score of classes 1 and 2 is not finite"),
    (put("K_beta 0", 0, 77.0), "scores of classes 1 and 2 are not those of the data"),
]


@pytest.mark.parametrize("k", range(len(ARRAYS)))
def test_wrong_arrays(k, saved, refused):
    change, message = ARRAYS[k]
    description, arrays = opened(saved)
    change(arrays)
    refused(closed(description, arrays), message)


def test_a_dual_problem_is_missing(saved, refused):
    description, arrays = opened(saved)
    description["binaries"].pop()
    for name in ("ids", "beta", "K_beta"):
        del arrays[f"{name} 2"]
    refused(closed(description, arrays), "3 dual problems are needed, 2 given")


def test_a_description_that_is_not_json(refused):
    for text in (b"{", b"[" * 100_000, b"\xff", b"[]", b"null", b"NaN"):
        content = _first_line(len(text), 0) + text
        refused(content + hashlib.sha256(content).digest(), "the description")


def test_mutations_with_a_right_checksum(saved, tmp_path):
    """Whatever a file with a right checksum says: an error of the format, or a state."""
    draw = random.Random(3)
    line, _, rest = saved.partition(b"\n")
    length = int(line.split()[3])
    n_loaded = 0
    for _ in range(200):
        body = bytearray(rest[:-DIGEST_BYTES])
        for _ in range(draw.choice([1, 1, 3])):
            body[draw.randrange(draw.choice([length, len(body)]))] = draw.choice([draw.randrange(256), 48, 57, 0])
        content = line + b"\n" + bytes(body)
        (tmp_path / "state").write_bytes(content + hashlib.sha256(content).digest())
        try:
            state = State.load(str(tmp_path / "state"))
        except FormatError:
            continue
        n_loaded += 1
        assert np.isfinite(state.decision_values(np.eye(4))).all()
    assert n_loaded < 150


def test_what_is_a_state(saved, tmp_path):
    (tmp_path / "state").write_bytes(saved)
    (tmp_path / "model").write_text("svm_type c_svc\n")
    found = [is_state(str(tmp_path / name)) for name in ("state", "model", "nothing", ".")]
    assert found == [True, False, False, False]


def test_nothing_is_compiled_to_read_a_state(tmp_path, monkeypatch):
    """CPython 3.11 answers an allocation that fails while it compiles with SyntaxError."""

    def never(*_, **__):
        raise AssertionError("a class is made")

    path = str(tmp_path / "state")
    moved("heart_scale", {"C": 10})[0].save(path)
    monkeypatch.setattr("dataclasses.make_dataclass", never)
    State.load(path).save(path)

"""States of a precomputed kernel equal those of the computed kernel, with any rows joining and leaving."""

import gc
import hashlib
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact import blobs, unchanged
from support.examples import examples
from support.statefiles import closed, opened

import libsvmx
from libsvmx import CsrMatrix, DataError, FormatError, KernelType, StoppedEarly, SvmType
from libsvmx._train.observer import Observer
from libsvmx._train.updating.left_out import values_left_out

GIVEN, SVR, ONE_CLASS = KernelType.PRECOMPUTED, SvmType.EPSILON_SVR, SvmType.ONE_CLASS
GAMMA = 0.4


def rbf(A, B):
    return np.exp(-GAMMA * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def rows_of(K, serials, lengths=None):
    """Rows 0:serial 1:K(row, 1) …, row k with its first ``lengths[k]`` columns."""
    lengths = [K.shape[1]] * len(K) if lengths is None else lengths
    indptr = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64) + 1)])
    indices = np.concatenate([np.arange(length + 1, dtype=np.int32) for length in lengths])
    values = np.concatenate([[s, *row[:length]] for s, row, length in zip(serials, K, lengths, strict=True)])
    return CsrMatrix(indptr, indices, values)


class Pair:
    """A state of kernel values beside one that computes them, and the rows that each should have."""

    def __init__(self, X, y, n, columns=None, **options):
        self.X, self.y, self.options, self.ever = X, y, options, n
        self.K = rbf(X, X)
        self.given = libsvmx.train(self.K[:n, : columns or n], y[:n], kernel_type=GIVEN, keep_state=True, **options)
        self.own = libsvmx.train(X[:n], y[:n], gamma=GAMMA, keep_state=True, **options)

    def update(self, m, remove=()):
        """The next m rows join."""
        begin, end = self.ever, self.ever + m
        ids = self.given.update((self.K[begin:end, :end], self.y[begin:end]), remove)
        assert ids.tolist() == self.own.update((self.X[begin:end], self.y[begin:end]), remove).tolist()
        self.ever = end

    def set_cost(self, C):
        for state in (self.given, self.own):
            state.set_cost(C)
        self.options["C"] = C

    def check(self):
        """The decision values of the other state, and of a new training on these rows; the model equals LIBSVM's."""
        ids = self.own.ids
        assert self.given.ids.tolist() == ids.tolist()
        assert self.given.targets.tolist() == self.own.targets.tolist()
        expected = self.own.decision_values(self.X)
        allowed = 1e-9 * max(1.0, np.abs(expected).max(initial=0.0))
        assert np.abs(self.given.decision_values(self.K[:, : self.ever]) - expected).max(initial=0.0) <= allowed
        fresh = libsvmx.train(self.K[np.ix_(ids, ids)], self.y[ids], kernel_type=GIVEN, keep_state=True, **self.options)
        assert np.abs(fresh.decision_values(self.K[:, ids]) - expected).max(initial=0.0) <= allowed
        model = self.given.model
        assert model.n_features == self.ever
        assert np.asarray(model.vectors.values).tolist() == (ids[np.asarray(model.sv_indices) - 1] + 1).tolist()


# ---- any sequence of changes -------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from([SvmType.C_SVC, SvmType.C_SVC, SVR, ONE_CLASS]),
    k=st.sampled_from([2, 3]),
    n=st.integers(1, 40),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    sizes=st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1), st.sampled_from([0.1, 3.0, None])), max_size=4),
)
@examples(100)
def test_any_changes(seed, kind, k, n, C, sizes):
    X, y = blobs(seed, 161, k)
    if kind == SVR:
        y = X[:, 0].round(1)
    pair = Pair(X, y, n, svm_type=kind, C=C, nu=0.3)
    pair.check()
    rng = np.random.default_rng(seed)
    for m, share, cost in sizes:
        ids = pair.own.ids
        pair.update(m, rng.choice(ids, int(share * (len(ids) - (m == 0))), replace=False))
        if cost and kind != ONE_CLASS:
            pair.set_cost(cost)
        pair.check()


def test_a_window_takes_the_memory_of_its_rows():
    """Slots of removed rows are reused, however many rows have joined."""
    X, y = blobs(8, 400)
    pair = Pair(X, y, 40, C=3.0)
    pair.update(4, range(4))
    tables = set()
    for begin in range(4, 360, 4):
        pair.update(4, range(begin, begin + 4))
        tables.add(id(pair.given._version.table))
    pair.check()
    assert len(tables) == 1
    assert len(pair.given._version.table.values) <= 64


def test_a_table_follows_the_number_of_rows():
    X, y = blobs(8, 600)
    pair = Pair(X, y, 10, C=3.0)
    sizes = []
    for _ in range(59):
        pair.update(10)
        sizes.append(len(pair.given._version.table.values))
    assert len(set(sizes)) < 30
    assert sizes[-1] <= 600 + 600 // 16 + 16
    pair.update(0, range(500))
    pair.update(0, [500])
    pair.check()
    assert len(pair.given._version.table.values) < 200


def test_a_matrix_is_not_copied_for_a_state():
    """Except if it is not exactly symmetric, or rows join."""
    X, y = blobs(8, 50)
    K = rows_of(rbf(X, X), range(1, 51))
    state = libsvmx.train(K, y, kernel_type=GIVEN, keep_state=True)
    assert np.shares_memory(state._version.table.values, np.asarray(K.values))
    before = bytes(K.values)
    state.remove(range(10))
    state.add(np.hstack([rbf(X[:2], X), rbf(X[:2], X[:2])]), y[:2])
    assert not np.shares_memory(state._version.table.values, np.asarray(K.values))
    assert bytes(K.values) == before


def test_an_abandoned_table_is_freed():
    """No pair of classes keeps it alive: neither one of the training, nor one that rows have joined before."""
    X, y = blobs(8, 60, 3)
    last = [np.flatnonzero(y == label)[-2:] for label in sorted(set(y))]
    start = np.setdiff1d(np.arange(60), np.concatenate(last))
    order = np.concatenate([start, *last])
    K, y = rbf(X[order], X[order]), y[order]
    state = libsvmx.train(K[:54], y[:54], kernel_type=GIVEN, keep_state=True)
    for begin in (54, 56, 58):  # of one class each, which is in two of three pairs
        before = weakref.ref(state._version.table.values)
        state._version.table.shared = True  # so that it moves
        state.add(K[begin : begin + 2], y[begin : begin + 2])
        gc.collect()
        assert before() is None
    assert len(state.binaries) == 3


# ---- known values of rows ------------------------------------------------------------------------


def test_columns_of_rows_to_come():
    """A matrix may be wider from the start, and stay so."""
    X, y = blobs(3, 60)
    pair = Pair(X, y, 30, columns=50, C=2.0)
    assert pair.given.model.n_features == 50
    pair.given.add(pair.K[30:40, :50], y[30:40])
    pair.own.add(X[30:40], y[30:40])
    assert pair.given.decision_values(pair.K[:, :50]) == pytest.approx(pair.own.decision_values(X), abs=1e-9)
    pair.given.add(pair.K[40:, :60], y[40:])
    pair.own.add(X[40:], y[40:])
    pair.ever = 60
    pair.check()


def test_a_value_is_taken_from_the_row_that_has_it():
    """Rows in order, with the columns up to their own; any serial numbers."""
    X, y = blobs(3, 40)
    K = rbf(X, X)
    own = libsvmx.train(X[:25], y[:25], gamma=GAMMA, C=2.0, keep_state=True)
    state = libsvmx.train(
        rows_of(K[:25], range(1, 26), range(1, 26)), y[:25], kernel_type=GIVEN, C=2.0, keep_state=True
    )
    for each, rows in ((own, X), (state, rows_of(K, range(1, 41), range(1, 41)))):
        each.update((rows[np.arange(25, 40)], y[25:]), range(5))
    assert state.decision_values(K) == pytest.approx(own.decision_values(X), abs=1e-9)
    order = np.random.default_rng(1).permutation(40)
    shuffled = libsvmx.train(rows_of(K[order[:25]], order[:25] + 1), y[order[:25]], kernel_type=GIVEN, keep_state=True)
    shuffled.update((rows_of(K[order[25:]], order[25:] + 1), y[order[25:]]), range(5))
    fresh = libsvmx.train(X[order[5:]], y[order[5:]], gamma=GAMMA, keep_state=True)
    assert shuffled.decision_values(K) == pytest.approx(fresh.decision_values(X), abs=1e-9)
    assert set(shuffled.model.vectors.values) <= set(order[5:] + 1)
    shuffled.add(rows_of(K[order[:1]], order[:1] + 1), y[order[:1]])  # it may return
    assert len(shuffled) == 36


def test_a_matrix_that_is_symmetric_but_for_rounding():
    X, y = blobs(3, 700)
    K = rbf(X, X) * (1 + 1e-9 * np.random.default_rng(2).normal(size=(700, 700)))
    state = libsvmx.train(K, y, kernel_type=GIVEN, keep_state=True)
    lower = np.tril(K) + np.tril(K, -1).T
    assert (state._version.table.values[:, 1:] == lower).all()
    assert state.decision_values(lower) == pytest.approx(
        libsvmx.train(lower, y, kernel_type=GIVEN, keep_state=True).decision_values(lower), abs=1e-12
    )
    sums = np.full((2, 2), 1e-14)
    np.fill_diagonal(sums, 3.0)
    sums[0, 1] = -1e-14  # a sum that cancels
    assert len(libsvmx.train(sums, [1, -1], kernel_type=GIVEN, keep_state=True)) == 2


def test_a_matrix_that_is_not_positive_semidefinite():
    """As elsewhere: no path, so SMO in double."""
    X, y = blobs(3, 60)
    K = np.tanh(X @ X.T - 1.0)
    state = libsvmx.train(K[:40, :40], y[:40], kernel_type=GIVEN, C=5.0, keep_state=True)
    state.update((K[40:], y[40:]), range(10))
    assert state.check() < 1e-2


# ---- files, copies, reports of rows --------------------------------------------------------------


@pytest.mark.parametrize("kind", [SvmType.C_SVC, SVR, ONE_CLASS])
def test_state_files(kind, tmp_path):
    X, y = blobs(5, 80, 3)
    pair = Pair(X, y, 40, svm_type=kind, C=2.0, nu=0.3)
    pair.update(20, range(0, 30, 2))
    pair.given.save(tmp_path / "a.state")
    loaded = libsvmx.State.load(tmp_path / "a.state")
    loaded.save(tmp_path / "b.state")
    assert loaded.certificate()["sha256"] == pair.given.certificate()["sha256"]
    with np.load(tmp_path / "a.state") as first, np.load(tmp_path / "b.state") as second:
        assert len(first["values"]) == 45 * 48 // 2  # each value once
        for name in ("indptr", "indices", "values", "targets", "ids", "path_ids"):
            assert first[name].tobytes() == second[name].tobytes()
    pair.given = loaded
    pair.update(20, [1])
    pair.check()


@pytest.mark.parametrize(
    ("at", "columns", "value", "cause"),
    [
        (0, [0], 2.0, "already a row with serial number 2"),
        (7, [2], np.nan, "not finite"),
        (7, [2], 7.0, "scores"),
        (8, [9], 1.0, "lacks column 3, its value with itself"),
        (7, [3, 4], 1.0, "the value of serial numbers 3 and 2 is in neither"),
    ],
)
def test_a_state_file_with_values_that_no_matrix_has(tmp_path, at, columns, value, cause):
    X, y = blobs(5, 20)
    file = tmp_path / "bad.state"
    libsvmx.train(rbf(X, X), y, kernel_type=GIVEN, keep_state=True).save(file)
    description, arrays = opened(file.read_bytes())
    arrays["values"][at], arrays["indices"][at : at + len(columns)] = value, columns
    file.write_bytes(closed(description, arrays))
    with pytest.raises(FormatError, match=cause):
        libsvmx.State.load(file)


def test_a_model_file_predicts_the_same_as_the_state(tmp_path):
    X, y = blobs(5, 60)
    pair = Pair(X, y, 40, C=2.0)
    pair.update(20, range(10))
    libsvmx.save_model(tmp_path / "m", pair.given.model)
    model = libsvmx.load_model(tmp_path / "m")
    assert libsvmx.decision_values(model, pair.K) == pytest.approx(pair.given.decision_values(pair.K), abs=1e-12)


def test_from_a_model():
    X, y = blobs(5, 60)
    K = rbf(X, X)
    order = np.random.default_rng(1).permutation(60)
    rows = rows_of(K[order], order + 1)
    model = libsvmx.train(rows, y[order], kernel_type=GIVEN, C=2.0)
    state = libsvmx.State.from_model(rows, y[order], model)
    expected = libsvmx.train(X, y, gamma=GAMMA, C=2.0, keep_state=True)
    assert state.decision_values(K) == pytest.approx(
        expected.decision_values(X) * (1 if state.model.labels[0] == expected.model.labels[0] else -1), abs=1e-9
    )
    array = libsvmx.State.from_model(K, y, libsvmx.train(K, y, kernel_type=GIVEN, C=2.0))
    assert array.decision_values(K) == pytest.approx(expected.decision_values(X), abs=1e-9)


def test_copies_are_independent():
    """They share a table until one of them gets rows; then the same free slots hold different rows."""
    X, y = blobs(5, 60)
    K = rbf(X, X)
    pair = Pair(X, y, 40, C=2.0)
    pair.update(5, range(8))
    other = pair.given.copy()
    assert other._version.table is pair.given._version.table
    other.add(K[50:55][:, [*range(45), *range(50, 55)]], y[50:55])  # under the ids given to others below
    assert other._version.table is not pair.given._version.table
    pair.update(5)
    pair.check()
    other.remove([9])
    other.set_cost(7.0)
    rows = [8, *range(10, 45), *range(50, 55)]
    rest = libsvmx.train(X[rows], y[rows], gamma=GAMMA, C=7.0, keep_state=True)
    columns = K[:, [*range(45), *range(50, 55)]]
    assert other.decision_values(columns) == pytest.approx(rest.decision_values(X), abs=1e-9)
    pair.update(10, [9])
    pair.check()


def test_certificates_cover_the_present_rows():
    X, y = blobs(5, 30)
    K = rbf(X, X)
    K[3, 7] = K[7, 3] = 0.0
    state = libsvmx.train(K[:20, :20], y[:20], kernel_type=GIVEN, keep_state=True)
    state.update((K[20:], y[20:]), range(3))
    ids = np.arange(3, 30)
    entries = [[(0, i + 1.0), *((j + 1, K[i, j]) for j in ids if K[i, j])] for i in ids]
    digest = hashlib.sha256(ids.astype("<i8"))
    digest.update(np.cumsum([0, *map(len, entries)]).astype("<i8"))
    digest.update(np.array([index for row in entries for index, _ in row]).astype("<i4"))
    digest.update(np.array([value for row in entries for _, value in row]).astype("<f8"))
    digest.update(y[ids].astype("<f8"))
    digest.update(np.ones(27))
    assert state.certificate()["sha256"] == digest.hexdigest()


def test_values_left_out():
    X, y = blobs(5, 70)
    pair = Pair(X, y, 40, C=2.0)
    pair.update(10, range(7))
    ours, theirs = values_left_out(pair.given, Observer()), values_left_out(pair.own, Observer())
    for key, (ids, values) in theirs.items():
        own_ids, own = ours[key]
        assert own[np.argsort(own_ids)] == pytest.approx(values[np.argsort(ids)], abs=1e-9)


def test_threads_that_use_one_state():
    """Columns of added rows belong to the ids that they get."""
    state = libsvmx.train(np.eye(4), [1, -1, 1, -1], kernel_type=GIVEN, keep_state=True)

    def work():
        for _ in range(10):
            with lock:  # a caller must know the number of rows before
                n = state.ids[-1] + 1
                state.add(np.eye(1, n + 1, n), [1])
                state.decision_values(np.eye(1, n + 1))

    lock = threading.Lock()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(state) == 34
    assert state.ids.tolist() == list(range(34))


# ---- wrong calls ---------------------------------------------------------------------------------


def put(K, i, j, value):
    K = K.copy()
    K[i, j] = value
    return K


X, Y = blobs(6, 40)
K = rbf(X, X)
MISTAKES = {
    "columns of the rows that are there alone": (
        lambda s: s.add(K[30:32, :31], Y[:2]),
        "need 32 kernel values each, not 31",
    ),
    "no columns of their own": (lambda s: s.add(K[30:32, :30], Y[:2]), "need 32 kernel values each, not 30"),
    "too many": (lambda s: s.add(K[30:32, :33], Y[:2]), "need 32 kernel values each, not 33"),
    "no matrix": (lambda s: s.add(K[30, :31], Y[:1]), "must have rows and columns"),
    "nan": (lambda s: s.add(put(K, 31, 3, np.nan)[30:32, :32], Y[:2]), "row 1: .*column 3 is not finite"),
    "nan for a row that has left": (
        lambda s: s.add(put(K, 31, 5, np.nan)[30:32, :32], Y[:2]),
        "column 5 is not finite",
    ),
    "infinity": (lambda s: s.add(put(K, 30, 31, np.inf)[30:32, :32], Y[:2]), "row 0: .*column 31 is not finite"),
    "not symmetric": (
        lambda s: s.add(put(K, 31, 30, K[31, 30] + 1e-4)[30:32, :32], Y[:2]),
        r"row 1: the kernel is not symmetric: K\(32, 31\)",
    ),
    "too large": (lambda s: s.add(put(K, 31, 31, 1e39)[30:32, :32], Y[:2]), "row 1: .*with itself overflows"),
    "a number twice": (
        lambda s: s.add(rows_of(K[30:32], [31, 31]), Y[:2]),
        "row 1: .*already a row with serial number 31",
    ),
    "a number that is there": (
        lambda s: s.add(rows_of(K[30:32], [31, 8]), Y[:2]),
        "row 1: .*already a row with serial number 8",
    ),
    "number 0": (lambda s: s.add(rows_of(K[30:31], [0]), Y[:1]), "serial number 0 is not"),
    "a number with a fraction": (lambda s: s.add(rows_of(K[30:31], [31.5]), Y[:1]), "serial number 31.5 is not"),
    "a large number": (lambda s: s.add(rows_of(K[30:31], [2.0**31]), Y[:1]), "serial number 2.14748e.09 is not"),
    "no value with itself": (
        lambda s: s.add(rows_of(K[30:31], [31], [30]), Y[:1]),
        "row 0: .*lacks column 31, its value with itself",
    ),
    "no value with a row that joins": (
        lambda s: s.add(rows_of(K[30:32][:, [*range(30), 31, 31]], [36, 31], [31, 31]), Y[:2]),
        "row 0: .*lacks column 36, its value with itself",
    ),
    "no value with a row that is there": (
        lambda s: s.add(rows_of(K[30:31], [6], [20]), Y[:1]),
        "row 0: .*lacks column 21, its value with a row that is there",
    ),
    "a column left out": (
        lambda s: s.add(CsrMatrix(np.array([0, 2]), np.array([0, 2], dtype=np.int32), np.array([31.0, 1.0])), Y[:1]),
        "with no column left out",
    ),
    "rows of features": (
        lambda s: s.add(CsrMatrix(np.array([0, 1]), np.array([1], dtype=np.int32), np.array([1.0])), Y[:1]),
        "a row must be 0:serial",
    ),
    "a label that is no integer": (lambda s: s.add(K[30:32, :32], [1.0, 1.5]), "1.5"),
    "an unknown id": (lambda s: s.update((K[30:32, :32], Y[:2]), [99]), "no row with id 99"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    call, message = MISTAKES[name]
    pair = Pair(X, Y, 30, C=2.0)
    pair.update(0, [5])
    unchanged(pair.given, DataError, lambda: call(pair.given), message)
    pair.update(4, [1, 2])
    pair.check()
    pair.update(2)  # into free slots
    unchanged(pair.given, DataError, lambda: pair.given.add(put(K, 37, 3, np.nan)[36:38, :38], Y[:2]), "not finite")
    pair.check()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (K[:, :30], "row 30: .*lacks column 31"),
        (K[:, :10], "40 rows have 400 values, too few"),
        (put(K, 3, 30, 0.5), r"row 30: the kernel is not symmetric: K\(31, 4\)"),
        (put(K, 3, 3, np.nan), "not finite"),
        (rows_of(K, [*range(1, 40), 7]), "row 39: .*already a row with serial number 7"),
        (rows_of(K, range(1, 41), [40] * 39 + [39]), "row 39: .*lacks column 40"),
    ],
)
def test_matrices_that_allow_no_state(matrix, message):
    with pytest.raises(DataError, match=message):
        libsvmx.train(matrix, Y, kernel_type=GIVEN, keep_state=True)


def test_a_stopped_change():
    class Stopping(Observer):
        def should_stop(self):
            return True

    pair = Pair(X, Y, 30, C=2.0)
    unchanged(pair.given, StoppedEarly, lambda: pair.given.add(K[30:, :], Y[30:], observer=Stopping()))
    pair.update(10)
    pair.check()

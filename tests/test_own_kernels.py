"""The caller's kernels in the functions over arrays: rows of any kind, and only required values are computed."""

import pickle
import signal
import time
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.machine import machine_with
from support.memory import traced_peak
from support.policies import IN_TURN

import libsvmx
from libsvmx import CsrMatrix, DataError, ParameterError, StoppedEarly
from libsvmx._core.machine import machine
from libsvmx._train.policy import KernelPolicy
from libsvmx.api.arrays import as_matrix
from libsvmx.api.kernel_values import all_rows
from libsvmx.api.kernels import KernelRows

N, M = 120, 25
rng = np.random.default_rng(3)
Y = np.arange(N) % 2
TARGETS = rng.normal(size=N)
LETTERS = np.array(list("ACGT"))


def drawn(label):
    return "".join(rng.choice(LETTERS, 12, p=[0.5, 0.2, 0.2, 0.1] if label else [0.15, 0.25, 0.25, 0.35]))


WORDS = [drawn(label) for label in Y]
NEW = [drawn(label) for label in range(M)]
PAIRS = [a + b for a in LETTERS for b in LETTERS]


class Shared(libsvmx.Kernel):
    """Pairs of letters shared by two words, with their counts: integers over 64, so that no sum is rounded."""

    def __init__(self):
        self.calls, self.prepared = [], 0

    def prepare(self, X):
        self.prepared += len(X)
        return [np.array([sum(word[i : i + 2] == pair for i in range(len(word) - 1)) for pair in PAIRS]) for word in X]

    def __call__(self, A, B):
        self.calls.append((len(A), len(B)))
        return np.array(A) @ np.array(B).T / 64

    @property
    def values(self):
        return sum(a * b for a, b in self.calls)


def plain(A, B):
    """The same as a function of words."""
    kernel = Shared()
    return kernel(kernel.prepare(A), kernel.prepare(B))


K, K_NEW = plain(WORDS, WORDS), plain(NEW, WORDS)
GIVEN = {"kernel_type": "precomputed"}
SVR = {"svm_type": "epsilon_svr", "p": 0.1}


def folds(X, new, own, **more):
    found = libsvmx.cross_validate(X, Y, 4, **own, **more)
    return np.concatenate([found.predictions.ravel(), found.decision_values.ravel()])


def permuted(X, new, own):
    return libsvmx.permutation_test(X, Y, 10, 3, random_state=2, **own).scores


def many(X, new, own):
    models = libsvmx.fit_many(X, np.column_stack([Y, Y[::-1], np.arange(N) % 3]), **own)
    return np.column_stack([libsvmx.decision_values(model, new) for model in models])


def path(X, new, own):
    found = libsvmx.c_path(X, Y, 0.01, 5.0, 3, **own)
    return np.concatenate([found.decision_values(new, 0.3).ravel(), found.cv_error(np.geomspace(0.01, 5, 9)), found.C])


def ends(intervals):
    return np.concatenate([intervals.lower, intervals.upper])


# Results of each function of (rows, new rows, options): bit for bit those from kernel values.
DOORS = {
    "train": lambda X, new, own: libsvmx.train(X, Y, **own).decision_function(new),
    "probability": lambda X, new, own: libsvmx.train(X, Y, probability=True, **own).predict_proba(new),
    "by folds": lambda X, new, own: libsvmx.train(X, Y, probability="cv", **own).predict_proba(new),
    "chunked": lambda X, new, own: libsvmx.train(X, Y, solver="chunked", **own).decision_function(new),
    "classes": lambda X, new, own: libsvmx.train(X, np.arange(N) % 4, **own).predict(new),
    "one-class": lambda X, new, own: libsvmx.train(X, Y, svm_type="one_class", nu=0.3, **own).decision_function(new),
    "nu-SVR": lambda X, new, own: libsvmx.train(X, TARGETS, svm_type="nu_svr", **own).predict(new),
    "weights": lambda X, new, own: libsvmx.train(X, Y, sample_weight=np.arange(N) % 3, **own).decision_function(new),
    "cross_validate": folds,
    "seeded": lambda X, new, own: folds(X, new, own, seeder="auto", repeats=2),
    "along paths": lambda X, new, own: folds(X, new, own, seeder="path"),
    "leave_one_out": lambda X, new, own: libsvmx.leave_one_out(X, TARGETS, **SVR, **own).predictions,
    "exact": lambda X, new, own: libsvmx.leave_one_out(X, Y, seeder="path", **own).decision_values,
    "permutation_test": permuted,
    "fit_many": many,
    "grid_search": lambda X, new, own: libsvmx.grid_search(X, Y, (-3, 3, 2), **({"log2g": None} | own)).rate,
    "cv_plus": lambda X, new, own: ends(libsvmx.cv_plus(X, TARGETS, new, 4, **SVR, **own)),
    "quantile_intervals": lambda X, new, own: ends(libsvmx.quantile_intervals(X, TARGETS, new, 4, **own)),
    "state": lambda X, new, own: libsvmx.train(X, Y, keep_state=True, **own).decision_values(new),
    "jackknife_plus": lambda X, new, own: ends(libsvmx.jackknife_plus(X, TARGETS, new, **SVR, **own)),
    "influence": lambda X, new, own: (
        libsvmx.influence(libsvmx.train(X, Y, keep_state=True, **own), new, np.arange(M) % 2).loss
    ),
    "c_path": path,
}


@pytest.mark.parametrize("door", DOORS)
def test_every_function_finds_what_it_finds_of_kernel_values(door):
    find = DOORS[door]
    expected = find(K, K_NEW, GIVEN | {"policy": IN_TURN})  # a function has no queue, either
    np.testing.assert_array_equal(find(WORDS, NEW, {"kernel": Shared()}), expected)


@pytest.mark.parametrize("rows", [list, tuple, np.array, lambda words: np.array(words, dtype=object)])
@pytest.mark.parametrize("kernel", [plain, Shared()])
def test_rows_of_any_kind_and_plain_functions(rows, kernel):
    model = libsvmx.train(rows(WORDS), Y, kernel=kernel)
    np.testing.assert_array_equal(
        model.decision_function(rows(NEW)), libsvmx.train(K, Y, **GIVEN).decision_function(K_NEW)
    )


@pytest.mark.parametrize(
    "shape",
    [np.float32, np.int64, np.ndarray.tolist, csr_array, np.asfortranarray],
    ids=["float32", "integers", "lists", "sparse", "columns"],
)
def test_values_of_any_kind(shape):
    def kernel(A, B):
        return shape(64 * plain(A, B))

    expected = libsvmx.train(64 * K, Y, C=0.01, **GIVEN).decision_function(64 * K_NEW)
    np.testing.assert_array_equal(libsvmx.train(WORDS, Y, C=0.01, kernel=kernel).decision_function(NEW), expected)


def test_sparse_rows():
    rows = csr_array(np.rint(2 * rng.normal(size=(N, 9))))
    model = libsvmx.train(rows, Y, kernel=lambda A, B: A @ B.T, C=0.01)
    expected = libsvmx.train(rows, Y, kernel_type="linear", C=0.01)
    np.testing.assert_array_equal(model.predict(rows), expected.predict(rows))


# ---- required values -------------------------------------------------------------------------------


GROUP = 32  # rows of a call for the diagonal
ASKING = ["train", "cross_validate", "seeded", "leave_one_out", "permutation_test", "fit_many", "grid_search"]


@pytest.mark.parametrize("door", ASKING)
def test_each_row_is_asked_for_once_whatever_it_is_for(door):
    kernel = Shared()
    DOORS[door](WORDS, NEW[:0], {"kernel": kernel})
    rows = [a for a, b in kernel.calls if b > GROUP]
    assert 0 < sum(rows) <= N
    assert kernel.values <= 0.8 * N * N + GROUP * N


def test_of_two_rows_the_second_asks_only_for_values_that_the_first_has_not():
    """Nearly all rows are needed: little more than half of their values."""
    values = []
    train_on_noise(lambda A, B: values.append(len(A) * len(B)) or A @ B.T)
    asked = (sum(values) - GROUP * NOISY) / NOISY**2
    assert 0.5 < asked < 0.63


@pytest.mark.parametrize("cache_size", [0.25, 100.0], ids=["in float", "in double"])
def test_values_of_the_other_row_give_the_model_of_all_values(cache_size):
    rows = np.rint(4 * np.random.default_rng(5).normal(size=(NOISY, 4))) / 8  # no product is rounded
    y = rows[:, 0] * rows[:, 1]
    found = libsvmx.train(rows, y, kernel=lambda A, B: A @ B.T, **SVR, cache_size=cache_size)
    given = libsvmx.train(rows @ rows.T, y, **SVR, **GIVEN)
    np.testing.assert_array_equal(found.coef, given.coef)


@pytest.mark.parametrize(("features", "bound"), [(2500, 1.45), (3000, 0.6)], ids=["copied", "too large to copy"])
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["array", "sparse"])
def test_large_rows_are_not_copied_to_ask_for_less(features, bound, form):
    """Smaller ones once at a time."""
    dense, peaks = form is np.asarray, [0]
    rows = form(np.random.default_rng(5).normal(size=(NOISY, features if dense else features // 2)))

    def kernel(A, B):
        peaks.append(tracemalloc.get_traced_memory()[1])  # before the model copies support vectors
        products = A[:, :4] @ B[:, :4].T
        return products if dense else products.toarray()

    def train():
        libsvmx.train(rows, np.arange(NOISY) % 2, kernel=kernel, C=0.001, eps=0.5)

    train()  # loads modules
    tracemalloc.start()
    try:
        train()
    finally:
        tracemalloc.stop()
    assert max(peaks) < bound * (rows.nbytes if dense else 1.5 * rows.data.nbytes)


# cache_size is all the room there is for rows.
NO_MORE = {"policy": KernelPolicy(share_of_free=0.0)}


@pytest.mark.parametrize("door", ["chunked", "classes", "nu-SVR", "cross_validate", "exact"])
def test_rows_that_do_not_fit_are_asked_for_again(door):
    kernel = Shared()
    found = DOORS[door](WORDS, NEW, {"kernel": kernel, "cache_size": 1e-3, **NO_MORE})
    np.testing.assert_allclose(found, DOORS[door](K, K_NEW, GIVEN), rtol=0, atol=0.01)
    assert sum(a for a, b in kernel.calls if b == N) > 2 * N


@pytest.mark.parametrize("cache_size", [0.7, 0.5, 0.3])
@pytest.mark.parametrize("options", [{"svm_type": "nu_svr", "nu": 0.3}, {"svm_type": "epsilon_svr"}, {"nu": 0.3}])
def test_with_room_for_some_rows_the_model_is_that_of_all_values(options, cache_size):
    n = 420
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)

    def kernel(A, B):
        return np.exp(-0.4 * ((A[:, None] - B[None]) ** 2).sum(axis=-1))

    options = {"C": 10.0, **({"svm_type": "nu_svc"} if "svm_type" not in options else {}), **options}
    if options["svm_type"] == "nu_svc":
        y = np.where(y > 0, 1, -1)
    found = libsvmx.train(X, y, kernel=kernel, cache_size=cache_size, **options, **NO_MORE)
    exact = libsvmx.train(kernel(X, X), y, kernel="precomputed", **options)
    np.testing.assert_array_equal(found.coef, exact.coef)


def test_rows_that_are_asked_for_again_have_the_values_of_the_first_time():
    """Of a kernel that is symmetric but for rounding: how many rows are kept is not seen."""
    X = np.random.default_rng(0).normal(size=(NOISY, 4))

    def kernel(A, B):
        return np.exp(-0.4 * ((A[:, None] - B[None]) ** 2).sum(axis=-1)) * (1 + 1e-6 * (A[:, :1] > B[:, 0]))

    found = []
    for free in (2**19, 2**18, None):
        with machine_with(free_bytes=free):
            model = libsvmx.train(X, X[:, 0] * X[:, 1], kernel=kernel, **SVR, cache_size=0.1)
        found.append(model.coef)
    np.testing.assert_array_equal(found[1:], [found[0]] * 2)


def test_memory_for_rows_is_bounded():
    def peak(cache_size):
        tracemalloc.start()
        try:
            train_on_noise(lambda A, B: A @ B.T, cache_size=cache_size, **NO_MORE)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    roomy = peak(100.0)  # first, as it loads modules
    assert peak(0.25) < 0.5 * 8 * NOISY**2 < roomy


NOISY = 400


def train_on_noise(kernel, **options):
    """A training in which nearly all rows become support vectors."""
    rows = np.random.default_rng(5).normal(size=(NOISY, 4))
    return libsvmx.train(rows, np.arange(NOISY) % 2, kernel=kernel, C=0.001, eps=0.5, **options)


def calls_on_noise(**options):
    """Shapes of the values that such a training asks for, without the diagonal."""
    calls = []

    def kernel(A, B):
        calls.append((len(A), len(B)))
        return A @ B.T

    train_on_noise(kernel, **options)
    return [a for a, b in calls if b > GROUP]


@pytest.mark.parametrize(("free", "again"), [(2**30, False), (2**18, True), (None, True)])
def test_rows_beyond_cache_size_take_free_memory(free, again):
    with machine_with(free_bytes=free):
        assert (sum(calls_on_noise(cache_size=0.25)) > NOISY) == again


@pytest.mark.parametrize(
    ("worker", "threads", "most", "again"),
    [
        (False, "1", "", False),
        (True, "1", "", True),
        (True, "2", "", False),
        (True, "1", "1", False),
        (True, "1", "4", True),
    ],
)
def test_worker_processes_divide_free_memory(worker, threads, most, again, monkeypatch):
    """Two processors: a worker that may use one of them counts on another worker, unless joblib has one for all."""
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", most)
    with machine_with(free_bytes=1.5 * 2**20, is_worker=worker, processors=2):
        assert (sum(calls_on_noise(cache_size=0.25)) > NOISY) == again


def test_a_worker_of_joblib_knows_that_it_is_one():
    joblib = pytest.importorskip("joblib")
    (found,) = joblib.Parallel(n_jobs=2)([joblib.delayed(machine.is_worker)()])
    assert found and not machine.is_worker()


def test_a_large_prediction_is_made_by_several_calls():
    calls = []
    model = train_on_noise(lambda A, B: calls.append(len(A) * len(B)) or A @ B.T)
    calls.clear()
    rows = np.random.default_rng(6).normal(size=(6000, 4))
    found = model.decision_function(rows)
    assert len(calls) > 1
    assert (max(calls) <= 2**20, sum(calls)) == (True, 6000 * model.n_sv)
    np.testing.assert_allclose(found[:9], model.decision_function(rows[:9]), rtol=1e-9, atol=1e-9)


def test_a_prediction_holds_the_kernel_values_of_some_rows_at_a_time():
    labels = np.random.default_rng(5).normal(size=1000)
    rows = np.random.default_rng(6).normal(size=(20000, 4))
    model = libsvmx.train(rows[:1000], labels > 0, kernel=lambda A, B: A @ B.T, probability=True, C=0.01)
    for predict in (model.predict, model.decision_function, model.predict_proba):
        assert traced_peak(predict, rows) < 0.25 * 8 * len(rows) * model.n_sv


def test_a_training_asks_for_few_rows_and_a_prediction_for_support_vectors():
    kernel = Shared()
    words = ["ACGT"[k % 2 :: 2] * 5 + "ACGT"[k % 4] for k in range(500)]  # far apart
    model = libsvmx.train(words, np.arange(500) % 2, kernel=kernel)
    assert kernel.prepared == 500
    assert model.n_sv < 100
    assert kernel.values < 0.5 * 500**2
    kernel.calls.clear()
    model.predict(NEW)
    assert kernel.calls == [(M, model.n_sv)]


def test_the_diagonal_of_a_normalized_kernel_is_not_asked_for():
    class Normalized(Shared):
        normalized = True

        def __call__(self, A, B):
            norms = [np.sqrt(np.sum(np.array(rows) ** 2, axis=1)) for rows in (A, B)]
            return super().__call__(A, B) * 64 / np.outer(*norms)

    kernel = Normalized()
    libsvmx.train(WORDS, Y, kernel=kernel)
    assert all(a < b for a, b in kernel.calls)


def test_a_kernel_may_have_its_own_ways():
    class Own(Shared):
        def rows(self, some, X):
            return super().__call__(some, X)

        cross = rows

        def diagonal(self, X):
            return [x @ x / 64 for x in X]

        def __call__(self, A, B):
            raise AssertionError("not to be called")

    model = libsvmx.train(WORDS, Y, kernel=Own())
    np.testing.assert_array_equal(model.decision_function(NEW), libsvmx.train(K, Y, **GIVEN).decision_function(K_NEW))


def test_a_kernel_that_is_not_symmetric_is_asked_for_everything_once():
    class Tilted(Shared):
        symmetric = False

        def __call__(self, A, B):
            return super().__call__(A, B) + 0.01 * np.array([[a[0] - b[1] for b in B] for a in A])

    kernel = Tilted()
    values = kernel(kernel.prepare(WORDS), kernel.prepare(WORDS))
    kernel.calls.clear()
    found = libsvmx.cross_validate(WORDS, Y, 4, kernel=kernel)
    assert kernel.calls == [(N, N)]
    np.testing.assert_array_equal(found.decision_values, libsvmx.cross_validate(values, Y, 4, **GIVEN).decision_values)


# ---- brute force -----------------------------------------------------------------------------------


def test_leave_one_out_and_jackknife_are_those_of_refits():
    found = libsvmx.leave_one_out(WORDS, TARGETS, kernel=Shared(), seeder="path", eps=1e-10, **SVR)
    own, new = np.zeros(N), np.zeros((N, M))
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        state = libsvmx.train(K[np.ix_(rest, rest)], TARGETS[rest], keep_state=True, **SVR, **GIVEN)
        own[i] = state.predict(K[i : i + 1, rest])[0]
        new[i] = state.predict(K_NEW[:, rest])
    np.testing.assert_allclose(found.predictions, own, rtol=0, atol=1e-8)
    intervals = libsvmx.jackknife_plus(WORDS, TARGETS, NEW, 0.2, kernel=Shared(), **SVR)
    residuals, k = np.abs(TARGETS - own)[:, None], int(0.2 * (N + 1))
    np.testing.assert_allclose(intervals.lower, np.sort(new - residuals, axis=0)[k - 1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(intervals.upper, np.sort(new + residuals, axis=0)[N - k], rtol=0, atol=1e-8)


def test_a_path_is_that_of_refits():
    found = libsvmx.c_path(WORDS, Y, 0.01, 5.0, kernel=Shared())
    for C in (0.01, 0.2, 1.0, 5.0):
        state = libsvmx.train(K, Y, C=C, keep_state=True, **GIVEN)
        np.testing.assert_allclose(found.decision_values(NEW, C), state.decision_values(K_NEW), rtol=0, atol=1e-8)


def test_a_permutation_test_is_that_of_cross_validations():
    found = libsvmx.permutation_test(WORDS, Y, 5, 3, kernel=Shared())
    assert found.score == libsvmx.cross_validate(K, Y, 3, **GIVEN).accuracy
    assert found.p_value == libsvmx.permutation_test(K, Y, 5, 3, **GIVEN).p_value


# ---- states and models -----------------------------------------------------------------------------


def test_rows_join_and_leave_a_state():
    kernel = Shared()
    state = libsvmx.train(WORDS[:80], Y[:80], kernel=kernel, keep_state=True)
    kernel.calls.clear()
    ids = state.update(add=(WORDS[80:100], Y[80:100]), remove=[0, 5, 6])
    assert sum(a * b for a, b in kernel.calls) == 20 * 80 + 20 * 20
    assert ids.tolist() == list(range(80, 100))
    other = state.copy()
    state.remove([90, 1])
    state.add(WORDS[100:], Y[100:])
    for one, end, gone in ((state, N, [0, 1, 5, 6, 90]), (other, 100, [0, 5, 6])):
        rows = np.delete(np.arange(end), gone)
        fresh = libsvmx.train(K[np.ix_(rows, rows)], Y[rows], keep_state=True, **GIVEN)
        for model in (one, one.model):
            expected = fresh.decision_values(K_NEW[:, rows])
            np.testing.assert_allclose(
                libsvmx.decision_values(getattr(model, "model", model), NEW), expected, atol=1e-8
            )
    kernel.calls.clear()
    state.predict(NEW)
    assert kernel.calls == [(M, state.model.n_sv)]


@pytest.mark.parametrize("n", [50, N])
def test_a_kernel_in_float_is_symmetric_but_for_rounding(n):
    rows = rng.normal(size=(n, 20)).astype(np.float32)
    noise = {}

    def kernel(A, B):  # about 0, where rounding exceeds the value
        values = np.array([[a @ b * noise.setdefault((*a, *b), 1 + 1e-6 * rng.random()) for b in B] for a in A])
        return (values - 0.5).astype(np.float32)

    state = libsvmx.train(rows, Y[:n], kernel=kernel, keep_state=True, C=0.01)
    assert state.gap < 1e-9
    path = libsvmx.c_path(rows, Y[:n], 0.005, 0.02, kernel=kernel)
    np.testing.assert_allclose(path.decision_values(rows, 0.01), state.decision_values(rows), atol=1e-5)
    state.add(rng.normal(size=(5, 20)).astype(np.float32), Y[:5])
    assert state.gap < 1e-9


def test_a_change_that_fails_leaves_the_state_as_it_was():
    kernel = Shared()
    state = libsvmx.train(WORDS[:80], Y[:80], kernel=kernel, keep_state=True)
    before = state.decision_values(NEW)
    with pytest.raises(DataError, match="no row with id 500"):
        state.update(add=(WORDS[80:90], Y[80:90]), remove=[500])
    np.testing.assert_array_equal(state.decision_values(NEW), before)
    assert state.add(WORDS[90:], Y[90:])[0] == 80
    rows = np.delete(np.arange(N), range(80, 90))
    fresh = libsvmx.train(K[np.ix_(rows, rows)], Y[rows], keep_state=True, **GIVEN)
    np.testing.assert_allclose(state.decision_values(NEW), fresh.decision_values(K_NEW[:, rows]), atol=1e-8)


def test_a_state_of_a_model():
    model = libsvmx.train(WORDS, Y, kernel=Shared())
    state = libsvmx.State.from_model(WORDS, Y, model)
    expected = libsvmx.train(K, Y, keep_state=True, **GIVEN).decision_values(K_NEW)
    np.testing.assert_allclose(state.decision_values(NEW), expected, atol=1e-8)


def test_files_have_precomputed_kernels(tmp_path):
    model = libsvmx.train(WORDS, Y, kernel=Shared())
    with pytest.warns(UserWarning, match="the file has no kernel"):
        libsvmx.save_model(tmp_path / "model", model)
    np.testing.assert_allclose(libsvmx.load_model(tmp_path / "model").predict(K_NEW), model.predict(NEW))
    state = libsvmx.train(WORDS, Y, kernel=Shared(), keep_state=True)
    state.save(tmp_path / "state")
    np.testing.assert_array_equal(libsvmx.State.load(tmp_path / "state").predict(K_NEW), state.predict(NEW))


def test_a_pickled_model_has_its_kernel():
    model = libsvmx.train(WORDS, Y, kernel=Shared())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))
    assert "own kernel" in repr(again)


def test_nothing_that_is_kept_is_the_callers_array():
    rows, kernel = rng.normal(size=(N, 3)), {"kernel": lambda A, B: A @ B.T}
    tests, labels = rows[:9].copy(), rows[:, 0] > 0
    model = libsvmx.train(rows, labels, **kernel)
    state = libsvmx.train(rows, labels, keep_state=True, **kernel)
    path = libsvmx.c_path(rows, labels, 0.1, 1.0, **kernel)
    finds = [
        lambda: model.decision_function(tests),
        lambda: state.decision_values(tests),
        lambda: path.decision_values(tests, 0.5),
    ]
    before = [find() for find in finds]
    rows[:] = 0.0
    for find, values in zip(finds, before, strict=True):
        np.testing.assert_array_equal(find(), values)


def test_the_methods_of_a_model_are_the_functions():
    features = np.rint(2 * rng.normal(size=(N, 4)))
    model = libsvmx.train(features, np.arange(N) % 3, probability=True, gamma=0.1)
    dicts = [dict(enumerate(row, 1)) for row in features.tolist()]
    for rows in (features, csr_array(features), features.tolist(), dicts):
        np.testing.assert_array_equal(model.predict(rows), libsvmx.predict(model, rows))
        np.testing.assert_array_equal(model.decision_function(rows), libsvmx.decision_values(model, rows))
        np.testing.assert_array_equal(model.predict_proba(rows), libsvmx.predict_probability(model, rows)[1])
    with pytest.raises(DataError, match="X has 2 columns"):
        model.predict(features[:, :2])
    with pytest.raises(DataError, match="no class probabilities"):
        libsvmx.train(features, Y).predict_proba(features)
    with pytest.raises(ParameterError, match="threads"):
        model.predict(features, threads=-1)


# ---- values beyond the range of a float ------------------------------------------------------------


def read_from(values):
    """A kernel of row numbers that reads them."""
    return lambda A, B: values[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]


TRAININGS = {
    "train": lambda X, y, kernel: libsvmx.train(X, y, kernel_type=kernel),
    "state": lambda X, y, kernel: libsvmx.train(X, y, kernel_type=kernel, keep_state=True),
    "SVC": lambda X, y, kernel: libsvmx.SVC(kernel=kernel).fit(X, y),
    "folds": lambda X, y, kernel: libsvmx.cross_validate(X, y, 4, kernel_type=kernel),
}


# all values from one call; rows on demand
@pytest.mark.parametrize("n", [60, N])
@pytest.mark.parametrize(("a", "b", "said"), [(5, 5, "row 5: .* with itself"), (5, 7, "row [57]: .* in column [57]")])
@pytest.mark.parametrize("door", TRAININGS)
def test_values_beyond_a_float_are_refused(door, a, b, said, n):
    """As those of kernel matrices."""
    values = K.copy()
    values[a, b] = values[b, a] = 1e39
    with pytest.raises(DataError, match=f"^{said} overflows"):
        TRAININGS[door](np.arange(n)[:, None], Y[:n], read_from(values))


def test_predictions_take_values_beyond_a_float():
    """As from kernel matrices: sums are in double."""
    values, rows = np.block([[K, 1e39 * K_NEW.T], [1e39 * K_NEW, np.zeros((M, M))]]), np.arange(N + M)[:, None]
    for train in TRAININGS.values():
        own, given = train(rows[:N], Y, read_from(values)), train(K, Y, "precomputed")
        if hasattr(own, "predict"):
            np.testing.assert_array_equal(own.predict(rows[N:]), given.predict(1e39 * K_NEW))
    for kernel, X, new in ((read_from(values), rows[:N], rows[N:]), ("precomputed", K, 1e39 * K_NEW)):
        found = libsvmx.cv_plus(X, TARGETS, new, 4, kernel_type=kernel, **SVR)
        assert np.isfinite(ends(found)).all()


# ---- errors ----------------------------------------------------------------------------------------


class Failing(Shared):
    """``what`` changes the values of all calls after the first ``after``, or raises."""

    def __init__(self, what, after):
        super().__init__()
        self.what, self.after = what, after

    def __call__(self, A, B):
        values = super().__call__(A, B)
        return values if len(self.calls) <= self.after else self.what(values)


def raised(values):
    raise LookupError("no such molecule")


def nan(values):
    values[0, 0] = np.nan
    return values


def interrupted(values):
    signal.raise_signal(signal.SIGINT)
    return values


def changed(values):
    return values + 1


FAULTS = {
    "raises": (raised, LookupError, "no such molecule"),
    "nan": (nan, DataError, "must return finite values"),
    "shape": (lambda values: values[:, :-1], DataError, "must return an array of shape"),
    "complex": (lambda values: values * 1j, DataError, "the kernel must hold real numbers"),
    "changes": (changed, DataError, "the kernel contradicts itself"),
    "interrupts": (interrupted, KeyboardInterrupt, None),
}
DIAGONAL = -(-N // GROUP)  # calls


# at the first call there is nothing yet to contradict
@pytest.mark.parametrize(
    ("fault", "after"),
    [(fault, after) for fault in FAULTS for after in (0, DIAGONAL + 1) if (fault, after) != ("changes", 0)],
)
@pytest.mark.parametrize("door", [*ASKING, "cv_plus", "state", "c_path"])
def test_what_a_kernel_raises_ends_the_call(door, fault, after):
    what, kind, says = FAULTS[fault]
    kernel = Failing(what, after)
    with pytest.raises(kind, match=says):
        DOORS[door](WORDS, NEW[:0], {"kernel": kernel})
    assert len(kernel.calls) <= after + 2  # and it is not called again


def test_a_state_stays_as_it_was_when_the_kernel_fails():
    kernel = Failing(raised, 10**9)
    state = libsvmx.train(WORDS[:80], Y[:80], kernel=kernel, keep_state=True)
    before = state.decision_values(NEW)
    kernel.after = len(kernel.calls)
    with pytest.raises(LookupError):
        state.add(WORDS[80:], Y[80:])
    kernel.after = 10**9
    np.testing.assert_array_equal(state.decision_values(NEW), before)
    assert len(state) == 80


def test_a_kernel_that_is_not_symmetric_is_refused():
    class Tilted(Shared):
        def __call__(self, A, B):
            return super().__call__(A, B) + np.array([[a[0] - b[0] for b in B] for a in A])

    with pytest.raises(DataError, match=r"the kernel contradicts itself.*symmetric = False"):
        libsvmx.train(WORDS, Y, kernel=Tilted())
    with pytest.raises(DataError, match=r"the kernel contradicts itself.*symmetric = False"):
        libsvmx.train(WORDS * 3, np.tile(Y, 3), kernel=Tilted(), keep_state=True)


def test_a_state_asks_for_one_of_both_values_of_two_rows():
    kernel, words, labels = Shared(), WORDS * 4, np.tile(Y, 4)
    state = libsvmx.train(words, labels, kernel=kernel, keep_state=True)
    assert kernel.values < 0.8 * len(words) ** 2  # some rows are asked for whole, and compared with others
    given = libsvmx.train(plain(words, words), labels, keep_state=True, **GIVEN)
    assert np.array_equal(state.decision_values(NEW), given.decision_values(plain(NEW, words)))


def test_a_kernel_may_call_libsvmx():
    class Training(Shared):
        def __call__(self, A, B):
            libsvmx.train(K[:50, :50], Y[:50], **GIVEN)
            return super().__call__(A, B)

    found = libsvmx.cross_validate(WORDS, Y, 4, kernel=Training())
    np.testing.assert_array_equal(found.decision_values, libsvmx.cross_validate(K, Y, 4, **GIVEN).decision_values)


def test_a_time_limit_is_heard_between_calls():
    class Slow(Shared):
        def __call__(self, A, B):
            time.sleep(0.2 if len(B) > GROUP else 0.0)
            return super().__call__(A, B)

    kernel = Slow()
    with pytest.raises(StoppedEarly):
        libsvmx.cross_validate(WORDS, Y, 4, kernel=kernel, time_limit=0.1)
    complete = Shared()
    libsvmx.cross_validate(WORDS, Y, 4, kernel=complete)
    assert len(kernel.calls) < len(complete.calls)


class Grows(libsvmx.Kernel):
    def prepare(self, X):
        return [*X, ""]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: libsvmx.train(WORDS, Y, kernel=Shared), ParameterError, r"give Shared\(\), not the class"),
        (lambda: libsvmx.train(WORDS, Y, kernel=plain, gamma="scale"), ParameterError, "gamma is for kernels that"),
        (lambda: libsvmx.train(WORDS, Y, kernel=plain, kernel_type="rbf"), ParameterError, "give one of them"),
        (lambda: libsvmx.train(WORDS, Y, kernel=plain, solver="crsvm"), ParameterError, "explicit features"),
        (lambda: libsvmx.train("ACGT", [1, 1, 2, 2], kernel=plain), DataError, "rows must be an array"),
        (lambda: libsvmx.train(iter(WORDS), Y, kernel=plain), DataError, "rows must be an array"),
        (lambda: libsvmx.train(WORDS, Y[:-1], kernel=plain), DataError, "X has 120 rows, but y has shape"),
        (lambda: libsvmx.train(WORDS, Y, kernel=Grows()), DataError, "was to prepare 120 rows, but has returned 121"),
        (lambda: libsvmx.train([], [], kernel=plain), DataError, "no data"),
        (lambda: libsvmx.low_rank(WORDS, kernel=plain, rank=5), ParameterError, "not a kernel of your own"),
        (lambda: libsvmx.grid_search(WORDS, Y, kernel=plain, workers=2), ParameterError, "called in this process"),
        (lambda: libsvmx.grid_search(WORDS, Y, log2g=(1, 2, 1), kernel=plain), ParameterError, "has no gamma"),
    ],
)
def test_refusals(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_a_plan():
    assert libsvmx.explain_training(WORDS, Y, kernel=Shared()).rows == N


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_kernel_that_is_0_of_a_row_with_itself(dtype):
    """Minus the square of a distance, whose sums cancel there: rounding is not a contradiction."""
    X = np.random.default_rng(4).normal(size=(100, 5)).astype(dtype)

    def kernel(A, B):
        squares = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * A @ B.T
        return np.where((A[:, None] == B).all(axis=2), squares, -np.abs(squares))

    y = Y[:100]
    assert libsvmx.train(X, y, kernel=kernel).n_sv
    assert len(libsvmx.train(X, y, kernel=kernel, keep_state=True)) == 100
    with pytest.raises(DataError, match="contradicts itself"):
        libsvmx.train(X, y, kernel=lambda A, B: kernel(A, B) + 1e-3 * (A[:, :1] - B[:, 0]))


class Boxed:
    """Rows as in another package: a shape, row selection by an array of numbers, not a list."""

    def __init__(self, values):
        self.values, self.shape = values, values.shape

    def __len__(self):
        return len(self.values)

    def __getitem__(self, numbers):
        return Boxed(self.values[numbers])


def test_arrays_of_other_packages_keep_their_type():
    X = np.random.default_rng(4).normal(size=(100, 5))
    kernel = lambda A, B: A.values @ B.values.T  # noqa: E731
    model = libsvmx.train(Boxed(X), Y[:100], kernel=kernel)
    plain_model = libsvmx.train(X, Y[:100], kernel=lambda A, B: A @ B.T)
    found = libsvmx.decision_values(model, Boxed(X[:9]))
    np.testing.assert_allclose(found, libsvmx.decision_values(plain_model, X[:9]), rtol=1e-9, atol=1e-9)


def test_a_matrix_with_an_index_0_is_rows_like_any_other():
    """As LIBSVM's loader builds it from a file with a feature 0: the kernel gets that column, too."""
    kernel = lambda A, B: (A @ B.T).toarray()  # noqa: E731
    dicts = [{0: a, 3: b} for a, b in np.random.default_rng(4).normal(size=(100, 2))]
    X = as_matrix(dicts)
    assert X.first_index == 0
    y = Y[:100]
    state = libsvmx.train(X, y, kernel=kernel, keep_state=True, C=0.1)
    values = X.toarray()
    plain_state = libsvmx.train(values, y, kernel="linear", keep_state=True, C=0.1)
    new, table = as_matrix(dicts[:7]), values[:7]
    for found, expected in (
        (state.decision_values(new), plain_state.decision_values(table)),
        (libsvmx.predict(state.model, new), libsvmx.predict(plain_state.model, table)),
        (libsvmx.influence(state, new, y[:7]).loss, libsvmx.influence(plain_state, table, y[:7]).loss),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_join_a_state(package):
    frames = pytest.importorskip(package)
    table = np.random.default_rng(4).normal(size=(100, 3))
    X = frames.DataFrame({name: table[:, f] for f, name in enumerate("abc")})
    kernel = lambda A, B: np.asarray(A[["a", "b", "c"]]) @ np.asarray(B[["a", "b", "c"]]).T  # noqa: E731
    state = libsvmx.train(X[:80], Y[:80], kernel=kernel, keep_state=True, C=0.1)
    state.add(X[80:], Y[80:100])
    expected = libsvmx.train(table, Y[:100], kernel="linear", keep_state=True, C=0.1)
    np.testing.assert_allclose(state.decision_values(X[:9]), expected.decision_values(table[:9]), atol=1e-6)


def test_rows_of_two_kinds_do_not_join():
    words = [Boxed(np.ones(3))] * 3
    with pytest.raises(DataError, match="these are in a list, those in a Boxed"):
        all_rows(Boxed(np.ones((2, 3))), words)


def test_rows_on_demand_are_those_of_one_matrix():
    matrix = KernelRows.of(Shared(), WORDS).matrix()
    with pytest.raises(ValueError, match="of one matrix"):
        CsrMatrix(matrix.indptr, matrix.stored_indices, matrix.source, copy=False, regular=True)

"""The result of read_problem, used like data: indexed, split, iterated, compared, converted."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import libsvmx
from libsvmx import CsrMatrix

HEART = Path(__file__).parents[2] / "data" / "heart_scale"


@pytest.fixture(scope="module")
def heart() -> tuple[CsrMatrix, np.ndarray]:
    return libsvmx.read_problem(str(HEART))


def matrix(rows: list[dict[int, float]], **more: int) -> CsrMatrix:
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    indices = np.array([j for row in rows for j in sorted(row)], dtype=np.int32)
    values = np.array([row[j] for row in rows for j in sorted(row)])
    return CsrMatrix(indptr, indices, values, **more)


def test_shape_and_dense_form(heart: tuple[CsrMatrix, np.ndarray]) -> None:
    X, y = heart
    assert (len(X), X.shape, X.ndim, X.dtype) == (270, (270, 13), 2, np.float64)
    dense = X.toarray()
    assert dense.shape == X.shape
    assert dense.dtype == np.float64
    assert [(j + 1, v) for j, v in enumerate(dense[7].tolist()) if v] == X.row(7)
    assert np.array_equal(np.asarray(X), dense)
    assert np.array(X, dtype=np.float32).dtype == np.float32
    assert X.nnz == np.count_nonzero(dense)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # earlier versions always copy
        with pytest.raises(ValueError, match=r"np\.asarray"):
            np.array(X, copy=False)
    assert np.mean(X) == dense.mean()
    assert libsvmx.train(dense, y).n_sv == libsvmx.train(X, y).n_sv


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.coo_matrix, lambda X: X.tocsr()])
def test_scipy(make, heart: tuple[CsrMatrix, np.ndarray]) -> None:  # type: ignore[no-untyped-def]
    X, y = heart
    found = make(X)
    assert found.shape == X.shape
    assert found.nnz == X.nnz
    assert np.array_equal(found.toarray(), X.toarray())
    again = libsvmx.train(found, y)
    assert again.vectors == libsvmx.train(X, y).vectors


def test_scipy_has_memory_of_its_own(heart: tuple[CsrMatrix, np.ndarray]) -> None:
    X, _ = heart
    before = X.toarray()
    other = X.tocsr()
    other.data[:] = 9
    other.sum_duplicates()
    X.toarray()[:] = 9
    assert np.array_equal(X.toarray(), before)


MASK = np.arange(270) % 3 == 0
KEYS = [
    slice(200), slice(None), slice(250, 10, -7), slice(5, 5), slice(-3, None), [3, 1, -1, 3], np.array([5, 269, -270]),
    np.array([7], dtype=np.uint8), MASK, MASK.tolist(), np.zeros(270, dtype=bool), [], np.array([], dtype=np.intp),
    range(4), ..., (slice(9),), ([3, 4], ...), (MASK, slice(None)),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=[str(n) for n in range(len(KEYS))])
def test_rows_are_chosen_as_numpy_chooses_them(key, heart: tuple[CsrMatrix, np.ndarray]) -> None:  # type: ignore[no-untyped-def]
    X, _ = heart
    chosen = X[key]
    expected = X.toarray()[[] if isinstance(key, list) and not key else key]
    if isinstance(key, list) and not key:
        expected = expected.reshape(0, 13)
    assert isinstance(chosen, CsrMatrix)
    assert chosen.shape == expected.shape
    assert np.array_equal(chosen.toarray(), expected)


@pytest.mark.parametrize("i", [0, 269, -1, -270, np.int64(3), np.array(4)])
def test_one_row_is_a_matrix(i, heart: tuple[CsrMatrix, np.ndarray]) -> None:  # type: ignore[no-untyped-def]
    X, _ = heart
    assert X[i].shape == (1, 13)
    assert X[i].row(0) == X.row(int(i) % 270)
    assert np.array_equal(X[i].toarray(), X.toarray()[[int(i)]])


@pytest.mark.parametrize(
    "key",
    [
        270, -271, [0, 270], np.array([-271]), "a", 1.0, [1.0], None, True, [[0, 1]], MASK[:-1], (0, 1),
        (slice(None), [0]), {1: 2}, 2**70, [2**40], np.array([[True]]), (0, None),
    ],
)  # fmt: skip
def test_other_indices_are_refused(key, heart: tuple[CsrMatrix, np.ndarray]) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(IndexError):
        heart[0][key]


def test_iteration_equality_and_hash(heart: tuple[CsrMatrix, np.ndarray]) -> None:
    X, _ = heart
    rows = list(X)
    assert len(rows) == 270
    assert all(row.shape == (1, 13) for row in rows)
    assert [row.row(0) for row in rows[:9]] == [X.row(i) for i in range(9)]
    assert X[:] == X
    assert hash(X) == hash(X[:])
    assert X[:-1] != X
    assert X[:5] != X[1:6]
    assert X != 3
    assert matrix([{1: 2.0}]) != matrix([{1: 2.0}], n_columns=2)
    assert matrix([{1: 2.0}]) != matrix([{0: 2.0}])
    assert (X.toarray() == X).all()
    with pytest.raises(TypeError):
        X[0] = X[1]  # type: ignore[index]
    assert libsvmx.predict(libsvmx.train(X, heart[1]), X[3]).shape == (1,)


def test_columns_stay_where_rows_do_not_use_them() -> None:
    X = matrix([{1: 1.0}, {5: 2.0}, {}])
    assert X.shape == (3, 5)
    for part in (X[:1], X[[2]], X[[]], copy.copy(X[:1]), pickle.loads(pickle.dumps(X[:1])), next(iter(X))):
        assert part.shape[1] == 5
        assert part.tocsr().shape == part.shape
    assert X[:1].max_index == 1
    assert matrix([{}, {}]).shape == (2, 0)
    assert matrix([]).shape == (0, 0)
    assert not len(matrix([]))
    wide = libsvmx.train(np.array([[1.0, 0, 0], [0, 1, 0]]), [1, -1]).vectors
    assert wide.shape == (2, 3)


def test_feature_0_is_column_0() -> None:
    X = matrix([{0: 7.0, 2: 1.0}, {1: 3.0}])
    assert X.toarray().tolist() == [[7, 0, 1], [0, 3, 0]]
    assert X[1:].toarray().tolist() == [[0, 3, 0]]
    assert pickle.loads(pickle.dumps(X[1:])) == X[1:]
    assert np.array_equal(X.tocsr().toarray(), X.toarray())


def test_too_large_to_be_dense() -> None:
    X = matrix([{2**31 - 1: 1.0}] * 40)
    assert X.shape == (40, 2**31 - 1)
    assert X.tocsr()[0, 2**31 - 2] == 1
    huge = CsrMatrix(np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0), n_columns=2**62)
    with pytest.raises(MemoryError, match="tocsr"):
        huge.toarray()


def test_svmutil_takes_it(heart: tuple[CsrMatrix, np.ndarray]) -> None:
    from libsvmx.svmutil import svm_predict, svm_read_problem, svm_train

    X, y = heart
    model = svm_train(y, X, "-q")
    targets, rows = svm_read_problem(HEART)
    assert model.get_SV() == svm_train(targets, rows, "-q").get_SV()
    assert svm_predict(y[:200], X[:200], model, "-q") == svm_predict(targets[:200], rows[:200], model, "-q")


def test_numpy_is_imported_only_when_it_is_needed() -> None:
    program = """
import sys
from libsvmx.io.svmlight import read_data
X = read_data(sys.argv[1]).matrix
assert len(X) == 270 and X.shape == (270, 13) and X.ndim == 2
assert X[:200].row(3) == X[3].row(0) and len(list(X)) == 270 and X[...] == X[:]
assert "numpy" not in sys.modules
X[[1, 2]]
assert "numpy" in sys.modules and "scipy" not in sys.modules
"""
    subprocess.run([sys.executable, "-P", "-c", program, str(HEART)], check=True)


def test_splitters_and_estimators_of_scikit_learn(heart: tuple[CsrMatrix, np.ndarray]) -> None:
    pytest.importorskip("sklearn")
    from sklearn.model_selection import KFold, StratifiedShuffleSplit, cross_val_score, train_test_split
    from sklearn.preprocessing import MaxAbsScaler
    from sklearn.svm import SVC
    from sklearn.utils import _safe_indexing, shuffle

    X, y = heart
    parts = train_test_split(X, y, random_state=0, stratify=y)
    expected = train_test_split(X.toarray(), y, random_state=0, stratify=y)
    assert isinstance(parts[0], CsrMatrix)
    assert all(np.array_equal(a, b) for a, b in zip(parts, expected, strict=True))
    for splitter in (KFold(5, shuffle=True, random_state=1), StratifiedShuffleSplit(3, random_state=2)):
        for train, test in splitter.split(X, y):
            assert libsvmx.train(X[train], y[train]).n_sv
            assert len(X[test]) == len(test)
    assert _safe_indexing(X, MASK) == X[MASK]
    assert _safe_indexing(X, [1, 2]) == X[1:3]
    assert sorted(map(hash, shuffle(X, random_state=0))) == sorted(map(hash, X))
    for estimator in (SVC(), SVC(kernel="linear")):
        assert np.array_equal(cross_val_score(estimator, X, y), cross_val_score(estimator, X.toarray(), y))
    assert MaxAbsScaler().fit_transform(X).shape == X.shape


@pytest.mark.parametrize("kind", ["sparse", "regular", "regular with zeros", "float"])
def test_rows_that_follow_and_rows_that_are_taken(kind: str) -> None:
    dense = np.arange(1.0, 13.0).reshape(4, 3)
    if kind == "regular with zeros":
        dense[1, 1] = 0.0
    values = dense.astype(np.float32) if kind == "float" else dense
    indices, indptr = np.arange(1, 4, dtype=np.int32), np.arange(0, 13, 3, dtype=np.int64)
    own = CsrMatrix(indptr, indices, values.ravel(), copy=False, regular=True)
    if kind == "sparse":
        own = CsrMatrix(indptr, np.tile(indices, 4), values.ravel())
    for rows in ([0, 1, 2, 3], [1, 2], [3, 0, 0], []):
        taken = own.take(np.array(rows, dtype=np.int32).data)
        assert taken.stored_values.format == own.stored_values.format
        assert np.array_equal(taken.toarray(), dense[rows])
        assert len(taken.values) == taken.nnz
        assert np.array_equal(pickle.loads(pickle.dumps(taken)).toarray(), dense[rows])
    for more in (matrix([{1: 1.0, 2: 2.0, 3: 3.0}]), matrix([{2: 5.0}, {}, {7: 1.0}]), matrix([])):
        wide = max(3, more.n_columns)
        both = np.zeros((4 + len(more), wide))
        both[:4, :3], both[4:, : more.n_columns] = dense, more.toarray()
        joined = own.followed_by(more)
        assert np.array_equal(joined.toarray(), both)
        assert joined.max_index == wide
        for rows in ([0, 1, 2, 3], [1, 2], [3, 0, 0], list(range(4, 4 + len(more))), []):
            taken = joined.take(np.array(rows, dtype=np.int32).data)
            assert np.array_equal(taken.toarray(), both[rows])
            assert np.array_equal(taken.followed_by(own).toarray()[len(rows) :, :3], dense)
            assert (taken.indptr, taken.indices, taken.values) == (again := rebuilt(taken))[:3]
            assert taken.max_index == again[3]


def rebuilt(taken: CsrMatrix) -> tuple[object, ...]:
    """Its buffers, and the largest index, of a matrix that checks them."""
    checked = CsrMatrix(taken.indptr, taken.indices, taken.values, n_columns=taken.n_columns)
    return checked.indptr, checked.indices, checked.values, checked.max_index

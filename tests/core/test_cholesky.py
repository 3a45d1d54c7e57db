"""A factor with rows added and removed, against NumPy's solve of the matrix that should be left."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsvmx._core.cholesky import Cholesky
from support.examples import examples

from libsvmx._core.buffers import filled

ULP = 2.0**-52


class Twin:
    """A factor beside the numbers of the rows of A that it should have."""

    def __init__(self, A, room=0):
        self.A, self.factor, self.rows = A, Cholesky(room), []

    def add(self, i):
        """The Schur complement."""
        pivot = self.factor.add(filled("d", self.A[i, self.rows]), self.A[i, i])
        if pivot > 0:
            self.rows.append(i)
        return pivot

    def drop(self, k):
        self.factor.drop(k)
        del self.rows[k]

    @property
    def matrix(self):
        return self.A[np.ix_(self.rows, self.rows)]

    def check(self, right):
        """The size, and a solve whose residual is rounding error."""
        assert self.factor.size == len(self.rows)
        x = np.asarray(self.factor.solve(filled("d", right[: len(self.rows)])))
        A = self.matrix
        allowed = 64 * ULP * (len(self.rows) + 4) * (np.abs(A) @ np.abs(x) + np.abs(right[: len(self.rows)]))
        # a backward error may come from any row
        assert np.all(np.abs(A @ x - right[: len(self.rows)]) <= 4 * allowed.max(initial=0.0))


def definite(n, condition, seed):
    """A matrix with eigenvalues from 1 down to 1/condition."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = Q @ np.diag(np.geomspace(1, 1 / condition, n)) @ Q.T
    return (A + A.T) / 2


@given(
    n=st.integers(1, 40),
    condition=st.sampled_from([1.0, 1e3, 1e8]),
    seed=st.integers(0, 2**32 - 1),
    moves=st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), min_size=1, max_size=120),
    room=st.sampled_from([0, 3, 64]),
)
@examples(120)
def test_rows_come_and_go(n, condition, seed, moves, room):
    twin = Twin(definite(n, condition, seed), room)
    right = np.random.default_rng(seed + 1).normal(size=n)
    for joins, which in moves:
        outside = sorted(set(range(n)) - set(twin.rows))
        if (joins or not twin.rows) and outside:
            i = outside[which % len(outside)]
            A, a = twin.matrix, twin.A[i, twin.rows]
            complement = twin.A[i, i] - a @ np.linalg.solve(A, a) if twin.rows else twin.A[i, i]
            pivot = twin.add(i)
            assert pivot == pytest.approx(complement, abs=1e3 * ULP * n * np.sqrt(condition))
            assert twin.rows[-1] == i
        else:
            twin.drop(which % len(twin.rows))
        twin.check(right)


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 33])
def test_each_row_can_leave(size):
    """First, last and any between; an empty factor can be extended again."""
    A = definite(size, 100.0, size)
    right = np.linspace(1, 2, size)
    for k in range(size):
        twin = Twin(A)
        for i in range(size):
            twin.add(i)
        twin.drop(k)
        twin.check(right)
        while twin.rows:
            twin.drop(0)
        twin.add(k)
        twin.check(right)


def test_a_thousand_changes_leave_no_drift():
    n = 60
    twin = Twin(definite(n, 1e4, 1))
    rng = np.random.default_rng(3)
    for i in range(n // 2):
        twin.add(i)
    for _ in range(1000):
        twin.drop(rng.integers(len(twin.rows)))
        twin.add(rng.choice(sorted(set(range(n)) - set(twin.rows))))
    right = rng.normal(size=n)
    x = np.asarray(twin.factor.solve(filled("d", right[: n // 2])))
    assert np.linalg.norm(twin.matrix @ x - right[: n // 2]) <= 1e-11 * np.linalg.norm(x)


@given(
    n=st.integers(1, 25),
    seed=st.integers(0, 2**32 - 1),
    nudge=st.sampled_from([0.0, 1e-13, 1e-11, 1e-8]),
    scale=st.sampled_from([1.0, 1e6]),
)
@examples(80)
def test_the_pivot_tells_of_dependent_rows(n, seed, nudge, scale):
    """The same point again, moved by ``nudge``: the pivot is its squared distance, within rounding of K."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n + 2))
    X = np.vstack([X, X[rng.integers(n)] + nudge * rng.normal(size=n + 2)]) * np.sqrt(scale)
    A = X @ X.T
    twin = Twin(A)
    for i in range(n):
        assert twin.add(i) > 0
    basis, _ = np.linalg.qr(X[:n].T)
    rest = X[n] - basis @ (basis.T @ X[n])
    pivot = twin.add(n)
    assert abs(pivot - rest @ rest) <= 64 * ULP * n * A.max() * np.linalg.cond(A[:n, :n])
    assert twin.factor.size == n + (pivot > 0)
    twin.check(rng.normal(size=n + 1))


def test_what_is_not_positive_is_refused():
    """And leaves the factor unchanged."""
    factor = Cholesky()
    assert factor.add(filled("d", []), 4.0) == 4.0
    assert factor.add(filled("d", [4.0]), 4.0) == 0.0
    assert factor.add(filled("d", [6.0]), 4.0) == -5.0
    assert factor.size == 1
    assert list(factor.solve(filled("d", [2.0]))) == [0.5]
    assert factor.add(filled("d", [2.0]), 5.0) == 4.0
    assert factor.size == 2


@pytest.mark.parametrize("k", [-1, 0, 1])
def test_a_row_that_is_not_there(k):
    factor = Cholesky()
    if k:
        factor.add(filled("d", []), 1.0)
    with pytest.raises(IndexError, match=f"row {k} of"):
        factor.drop(k)

"""alignment_weights: no other weights >= 0 align a sum of kernels better with labels, by NumPy on whole matrices."""

import numpy as np
import pytest

import libsvmx
from libsvmx import DataError, Kernel, ParameterError

N = 300  # more rows than are computed at a time
rng = np.random.default_rng(8)
X = rng.normal(size=(N, 4))
LABELS = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, 3, 7)
CLASSES = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.5])
TARGETS = X[:, 0] ** 2 + 0.1 * X[:, 3]
NAMES = (("linear", {}), ("rbf", {"gamma": 0.5}), ("poly", {"gamma": 1.0, "degree": 2}), ("laplacian", {"gamma": 0.3}))
KERNELS = [Kernel.named(name, **options) for name, options in NAMES]


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()


MATRICES = [centred(np.asarray(kernel(kernel.prepare(X), kernel.prepare(X)))) for kernel in KERNELS]


def ideal(y, regression):
    return centred(np.outer(y, y) if regression else (y[:, None] == y).astype(float))


def alignment(weights, wanted):
    K = sum(weight * matrix for weight, matrix in zip(weights, MATRICES, strict=True))
    return np.vdot(K, wanted) / np.linalg.norm(K) / np.linalg.norm(wanted)


@pytest.mark.parametrize(("y", "regression"), [(LABELS, False), (CLASSES, False), (TARGETS, True)])
def test_no_other_weights_align_better(y, regression):
    found = libsvmx.alignment_weights(KERNELS, X, y, regression=regression)
    wanted = ideal(y, regression)
    assert np.all(found >= 0)
    assert np.linalg.norm(found) == pytest.approx(1)
    best = alignment(found, wanted)
    assert best > max(alignment(single, wanted) for single in np.eye(len(KERNELS))) - 1e-12
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(20):
            assert alignment(np.abs(found + size * rng.normal(size=len(found))), wanted) <= best + 1e-12


def test_the_formula_without_bounds():
    kernels, matrices = KERNELS[1:3], MATRICES[1:3]
    M = np.array([[np.vdot(K, L) for L in matrices] for K in matrices])
    v = np.linalg.solve(M, [np.vdot(K, ideal(LABELS, False)) for K in matrices])
    assert np.all(v > 0)
    np.testing.assert_allclose(libsvmx.alignment_weights(kernels, X, LABELS), v / np.linalg.norm(v), rtol=1e-9)


def test_rows_far_from_0_have_the_weights_of_those_near_it():
    kernels = [KERNELS[0], KERNELS[1]]
    expected = libsvmx.alignment_weights(kernels, X, X[:, 0], regression=True)
    assert expected.min() > 0.05
    found = libsvmx.alignment_weights(kernels, X + 1e4, X[:, 0], regression=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200])
def test_kernels_of_very_different_size(size):
    expected = libsvmx.alignment_weights([KERNELS[1]], X, LABELS)
    np.testing.assert_allclose(libsvmx.alignment_weights([size * KERNELS[1]], X, LABELS), expected)
    small, large = sorted((size * KERNELS[1], 1.0 * KERNELS[2]), key=lambda kernel: kernel.weights[0])
    found = libsvmx.alignment_weights([small, large], X, LABELS)
    np.testing.assert_allclose(found, [1, 0], atol=1e-190)


def test_a_repeated_kernel_and_an_uninformative_one():
    found = libsvmx.alignment_weights([KERNELS[1], KERNELS[1], lambda A, B: np.ones((len(A), len(B)))], X, LABELS)
    assert found[:2].sum() >= 1
    assert found[2] == 0


def test_each_kernel_is_asked_for_all_values_once():
    asked = []

    def linear(A, B):
        asked.append(len(A) * len(B))
        return A @ B.T

    libsvmx.alignment_weights([linear], X, TARGETS, regression=True)
    assert sum(asked) == N * N


class Tilted(Kernel):
    symmetric = False


@pytest.mark.parametrize(
    ("kernels", "y", "kind", "says"),
    [
        ([], LABELS, ParameterError, "at least one kernel"),
        ([Tilted()], LABELS, ParameterError, "symmetric"),
        (KERNELS, LABELS[:5], DataError, "300 rows, but y has 5"),
        (KERNELS, np.ones(N), DataError, "not all equal"),
        (KERNELS, np.where(LABELS == 3, np.nan, 1.0), DataError, "labels must be .* none may be missing"),
        (KERNELS, [None] * N, DataError, "labels must be .* none may be missing"),
        (KERNELS[0], LABELS, ParameterError, "kernels must be a list of kernels, not Kernel.named"),
        ([lambda A, B: np.ones((len(A), len(B)))], LABELS, DataError, "no kernel is aligned"),
        ([lambda A, B: np.full((len(A), len(B)), np.nan)], LABELS, DataError, "finite"),
        ([lambda A, B: A @ A.T], LABELS, DataError, "must return an array of shape"),
    ],
)
def test_refusals(kernels, y, kind, says):
    with pytest.raises(kind, match=says):
        libsvmx.alignment_weights(kernels, X, y)


def test_targets_are_called_so():
    with pytest.raises(DataError, match="targets must be finite, and not all equal"):
        libsvmx.alignment_weights(KERNELS, X, np.ones(N), regression=True)

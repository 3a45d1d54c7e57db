"""The pair moved by a step, against a plain second-order selection (Fan, Chen & Lin 2005, WSS 2)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import data
from support.examples import examples
from support.labels import labelled

from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Control
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.smo import smo

TAU = 1e-12
LINEAR, RBF = 0, 2


def plain_pair(V, y, x, kind):
    """The pair of the first step from alpha = 0, the last position among ties; empty if there is none."""
    up = [k for k in range(len(V)) if y[k] > 0]
    low = [k for k in range(len(V)) if y[k] < 0]
    i = max(up, key=lambda k: (V[k], k))
    best, j = -1.0, None
    for k in low:
        gap = V[i] - V[k]
        if gap > 0:
            if kind == LINEAR:
                curvature = x[i] * x[i] + x[k] * x[k] - 2.0 * float(np.float32(x[i] * x[k]))
            else:
                d = x[i] * x[i] + x[k] * x[k] - 2.0 * (x[i] * x[k])
                curvature = 2.0 - 2.0 * float(np.float32(np.exp(-d)))
            gain = gap * gap / (curvature if curvature > 0 else TAU)
            if gain >= best:
                best, j = gain, k
    return set() if j is None else {i, j}


def moved_pair(V, y, x, kind):
    """The two variables that are no longer 0 after one step."""
    n = len(V)
    kernel = Kernel(data.from_rows([[(1, v)] if v else [] for v in x]), filled("i", range(n)), kind, 0, 1.0, 0.0)
    dual = labelled(y, V, [1e300] * n, [0.0] * n, range(n))
    beta = np.asarray(smo.solve(dual, kernel, 1e6, Control(5e-324, True, max_iter=1)).beta)
    return set(np.flatnonzero(beta).tolist())


def check(V, y, x, kind=LINEAR):
    assert moved_pair(V, y, x, kind) == plain_pair(V, y, x, kind)


def labels(rng, n):
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    return y.tolist()


NUMBERS = st.one_of(st.integers(2, 130), st.integers(480, 560), st.integers(1990, 2110), st.just(3000))
# powers of ten: of scores, and of features, whose squares must fit in a float
SCORES = st.sampled_from([-150, -40, -30, -25, -23, -20, -19, -10, 0, 10, 18, 19, 20, 25, 40, 100])
FEATURES = st.sampled_from([-36, -25, -22, -20, -16, -10, -7, -3, 0, 3, 8, 15, 18])


@given(
    st.integers(0, 2**32 - 1),
    NUMBERS,
    st.lists(SCORES, min_size=1, max_size=3),
    st.lists(FEATURES, min_size=1, max_size=3),
)
@examples(150)
def test_orders_of_magnitude(seed, n, scores, features):
    """Scores and features of one magnitude, or of up to three each, in any combination."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=n) * 10.0 ** rng.choice(scores, n)
    x = rng.uniform(-1, 1, n) * 10.0 ** rng.choice(features, n)
    check(V.tolist(), labels(rng, n), x.tolist())


@given(st.integers(0, 2**32 - 1), NUMBERS, st.integers(1, 6), st.integers(1, 6), st.sampled_from([LINEAR, RBF]))
@examples(100)
def test_ties(seed, n, different_scores, different_features, kind):
    rng = np.random.default_rng(seed)
    V = rng.normal(size=different_scores)[rng.integers(0, different_scores, n)]
    V[1] = V.min() - 1.0  # so that there is a pair
    x = rng.integers(1, different_features + 1, n) / 4.0
    check(V.tolist(), labels(rng, n), x.tolist(), kind)


@pytest.mark.parametrize("n", [90, 97, 600, 2048, 2200, 4000])
def test_gains_that_differ_by_an_ulp(n):
    """Only the exact gains show which is the largest."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        V = -1.0 - np.spacing(1.0) * rng.integers(0, 4, n)
        y = np.full(n, -1)
        y[rng.integers(0, n)] = 1
        V[y > 0] = 1.0
        x = np.where(y > 0, 0.5, -0.5)
        check(V.tolist(), y.tolist(), x.tolist())


@pytest.mark.parametrize("n", [97, 1000, 2048, 3000])
def test_gains_that_differ_by_less_than_a_float_tells(n):
    """With different gaps and curvatures, so that floats would order them at random."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 0.3, n)
        y = np.full(n, -1)
        i = int(rng.integers(0, n))
        y[i], x[i] = 1, 0.5
        curvature = 0.25 + x * x - 2.0 * (0.5 * x).astype(np.float32).astype(float)
        V = -np.sqrt(curvature * rng.uniform(1, 1 + 1e-8, n))
        V[i] = 0.0
        check(V.tolist(), y.tolist(), x.tolist())


@pytest.mark.parametrize("n", [150, 2500])
@pytest.mark.parametrize("scores", [1e-18, 1e-19, 1e-20, 1e-22, 1e-30, 1e-100])
def test_gaps_too_small_to_be_squared_as_floats(scores, n):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0.45, 0.55, n)
        V = rng.uniform(-1, 0, n) * scores
        y = np.full(n, -1)
        i = int(rng.integers(0, n))
        y[i], x[i], V[i] = 1, -0.5, 0.0
        check(V.tolist(), y.tolist(), x.tolist())


@pytest.mark.parametrize("n", [150, 2500])
def test_curvatures_too_small_to_be_surveyed(n):
    """Pairs of tiny curvature, with tiny gaps as well, are not the best."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0.5, 1, n)
        V = rng.uniform(-1, 0, n)
        y = np.full(n, -1)
        tiny = rng.choice(n, 3, replace=False)
        y[tiny[0]], V[tiny], x[tiny] = 1, [0.0, -1e-10, -2e-10], [1e-8, 2e-8, 3e-8]
        check(V.tolist(), y.tolist(), x.tolist())


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("n", [150, 2500])
@pytest.mark.parametrize("scores", [1e-3, 1.0, 1e10, 1e17, 1e19, 1e20, 1e30])
def test_curvatures_beyond_floats(scores, sign, n):
    """K_ii + K_jj - 2 K_ij up to twice the largest float, each K_ij a float; a few such pairs gain most."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = sign * rng.uniform(-1e18, 1e18, n)
        V = rng.uniform(-0.3, -0.2, n) * scores
        y = np.full(n, -1)
        i, *few = rng.choice(n, 4, replace=False)
        y[i], V[i], x[i] = 1, 0.0, sign * 1.28e19
        V[few], x[few] = -scores * rng.uniform(0.9, 1, 3), -sign * rng.uniform(1.2e19, 1.28e19, 3)
        check(V.tolist(), y.tolist(), x.tolist())


@pytest.mark.parametrize("n", [150, 2500])
@pytest.mark.parametrize("scores", [1e-19, 1e-21, 1e-23, 1e-30, 1e-46])
def test_gaps_whose_squares_underflow(scores, n):
    """Tiny gaps over tinier curvatures gain more than ordinary gaps over large ones."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.uniform(1e4, 1e5, n)
        V = rng.uniform(-1e-3, -1e-4, n)
        y = np.full(n, -1)
        tiny = rng.choice(n, 4, replace=False)
        y[tiny[0]] = 1
        V[tiny], x[tiny] = -scores * np.arange(4), scores * 1e6 * np.arange(1, 5)
        check(V.tolist(), y.tolist(), x.tolist())

"""One iteration of the interior-point method against dense algebra: np.linalg.solve on the whole KKT system.

dw - X'Y da = -r_w      y'da = -r_alpha      -da - du = -r_u      Y(X dw - e drho) + dxi - ds = -r_s
s da + a ds = -r_sv     u dxi + xi du = -r_xiu                                unknowns (dw, drho, da, du, dxi, ds)
"""

import numpy as np
import pytest
from libsvmx._kernels.feature_products import SparseRows
from libsvmx._solvers.interior_point.block_steps import RowBlock, at_point
from libsvmx._solvers.interior_point.normal_equations import NormalEquations, point_of

from libsvmx._core.stopping import NOBODY, Leeway
from libsvmx._kernels.featurerows import DenseRows
from libsvmx._solvers.interior_point import block_steps
from libsvmx._solvers.interior_point.predictor_corrector import PredictorCorrector, length_of
from libsvmx._solvers.interior_point.replies import added
from libsvmx._solvers.interior_point.solver import CRSVM

M, N = 13, 4


def sparse(X):
    at, columns = np.nonzero(X)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=len(X)))])
    return SparseRows(indptr, columns.astype(np.int32), X[at, columns], X.shape[1])


def frozen(array):
    array.flags.writeable = False
    return array


VECTORS = ("alpha", "u", "xi", "s", "z", "r_s", "r_u", "inverse", "keys", "correction", "direction")


class FrozenRowBlocks:
    """Blocks in order, as LocalRowBlocks, but all arrays are read-only, and states must not change."""

    def __init__(self, X, y, upper, bounds=(), make=DenseRows):
        self.n = X.shape[1]
        pieces = (np.split(values.copy(), bounds) for values in (X, y, upper))
        self.blocks = [
            RowBlock(make(frozen(x)), frozen(y), frozen(upper), y) for x, y, upper in zip(*pieces, strict=True)
        ]
        self.bounds = list(bounds)
        self.states = [None] * len(self.blocks)
        self.asking = Leeway(NOBODY, None)

    def put(self, values):
        """``values``: alpha, u, xi, s, z over all rows."""
        pieces = zip(*(np.split(np.array(v, dtype=float), self.bounds) for v in values), strict=True)
        self.states = [at_point(*piece) for piece in pieces]

    def run(self, step, *common, each=(), merge=None):
        for value in common:
            if isinstance(value, np.ndarray):
                frozen(value)
        before = [copies_of(state) for state in self.states]
        done = [
            step(block, state, *common, *(each[k] if each else ()))
            for k, (block, state) in enumerate(zip(self.blocks, self.states, strict=True))
        ]
        for state, values in zip(self.states, before, strict=True):
            for now, then in zip(copies_of(state), values, strict=True):
                np.testing.assert_array_equal(now, then)
        self.states = [state for state, _ in done]
        replies = [reply for _, reply in done]
        return [merge(replies)] if merge else replies

    def over_rows(self, name):
        return np.concatenate([getattr(state, name) for state in self.states], axis=-1)


def copies_of(state):
    """All vectors of an iterate."""
    vectors = [] if state is None else [getattr(state, name) for name in VECTORS]
    return [np.array(value) for value in vectors if value is not None]


class Point:
    """A random point of a random problem, and the KKT system there."""

    def __init__(self, seed, is_feasible, bounds=(), make=DenseRows, size="none", m=M, n=N, draw=1, **settings):
        rng = self.rng = np.random.default_rng(seed)
        self.m, self.n = m, n
        self.X = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7)
        self.y = np.where(rng.random(m) < 0.4, 1.0, -1.0)
        self.y[:2] = 1, -1
        self.upper = rng.uniform(0.5, 3, size=m)
        self.alpha, self.u, self.xi, self.s = rng.uniform(0.1, 2, size=(4, m))
        self.w, self.rho = rng.normal(size=n), float(rng.normal())
        if is_feasible:
            self.alpha = 0.3 * self.upper
            ratio = self.alpha[self.y > 0].sum() / self.alpha[self.y < 0].sum()
            self.alpha[self.y < 0] *= ratio
            self.alpha *= min(1.0, 0.9 * (self.upper / self.alpha).min())
            self.u = self.upper - self.alpha
            self.w = self.X.T @ (self.y * self.alpha)
            margin = self.y * (self.X @ self.w - self.rho) - 1
            self.xi = np.maximum(0, -margin) + rng.uniform(0.1, 1, size=m)
            self.s = margin + self.xi
        self.blocks = FrozenRowBlocks(self.X, self.y, self.upper, bounds, make)
        self.method = PredictorCorrector(
            self.blocks, CRSVM(size, random_state=draw, **settings), lambda line: None, 100
        )
        self.blocks.put((self.alpha, self.u, self.xi, self.s, self.X @ self.w))
        self.measured(self.blocks.run(block_steps.measure, self.rho))

    def measured(self, replies):
        """Puts the method at (w, rho)."""
        self.method.point = point_of(self.method.data, self.w, self.rho, replies)

    def equations(self, refines=True):
        """The normal equations at this point, over the rows that the method chooses."""
        found = NormalEquations(self.blocks, self.method.point, self.m, refines)
        assert found.factorize(self.method.thresholds())
        return found

    def residuals(self):
        YX = self.y[:, None] * self.X
        return (
            self.w - YX.T @ self.alpha,
            self.y @ self.alpha,
            self.upper - self.alpha - self.u,
            YX @ self.w - self.rho * self.y + self.xi - 1 - self.s,
        )

    def newton(self, r_sv, r_xiu):
        """dw, drho, d_alpha, d_u, d_xi, d_s from one large solve."""
        m, n = self.m, self.n
        at = np.cumsum([0, n, 1, m, m, m, m])
        w, g, a, u, xi, s = (slice(at[k], at[k + 1]) for k in range(6))
        of_w, of_g, of_u, of_s, of_sv, of_xiu = w, g, a, u, xi, s  # equations, as many as unknowns
        YX, one = self.y[:, None] * self.X, np.eye(m)
        K, right = np.zeros((at[-1], at[-1])), np.zeros(at[-1])
        K[of_w, w], K[of_w, a] = np.eye(n), -YX.T
        K[of_g, a] = self.y
        K[of_u, a], K[of_u, u] = -one, -one
        K[of_s, w], K[of_s, g], K[of_s, xi], K[of_s, s] = YX, -self.y[:, None], one, -one
        K[of_sv, a], K[of_sv, s] = np.diag(self.s), np.diag(self.alpha)
        K[of_xiu, xi], K[of_xiu, u] = np.diag(self.u), np.diag(self.xi)
        right[of_w], right[of_g], right[of_u], right[of_s] = (-r for r in self.residuals())
        right[of_sv], right[of_xiu] = -r_sv, -r_xiu
        solved = np.linalg.solve(K, right)
        return solved[w], float(solved[g][0]), solved[a], solved[u], solved[xi], solved[s]

    def direction(self, right):
        """The same from the code under test, and its reply."""
        dw, drho = self.equations().solve(right)
        reached = self.blocks.run(block_steps.direct, dw, drho)
        *rest, d_z = self.blocks.over_rows("direction")
        np.testing.assert_allclose(d_z, self.X @ dw, atol=1e-12)
        return (dw, drho, *rest), reached

    def compare(self, found, expected):
        for ours, theirs, name in zip(found, expected, ("w", "rho", "alpha", "u", "xi", "s"), strict=True):
            scale = max(1.0, np.abs(theirs).max())
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * scale, err_msg=name)


POINTS = pytest.mark.parametrize(
    ("is_feasible", "bounds", "make"),
    [
        (True, (), DenseRows),
        (False, (), DenseRows),
        (True, (5,), sparse),
        (False, (1, 6), sparse),
        (False, (12,), DenseRows),
    ],
)
SEEDS = pytest.mark.parametrize("seed", range(4))


@SEEDS
@POINTS
def test_measure(seed, is_feasible, bounds, make):
    point = Point(seed, is_feasible, bounds, make)
    data, found = point.method.data, point.method.point
    r_w, r_alpha, r_u, r_s = point.residuals()
    np.testing.assert_allclose(found.r_w, r_w, atol=1e-12)
    assert found.r_alpha == pytest.approx(r_alpha, abs=1e-12)
    assert found.r_u == pytest.approx(abs(r_u).max(), abs=1e-12)
    assert found.r_s == pytest.approx(abs(r_s).max(), abs=1e-12)
    if is_feasible:
        assert max(abs(r_w).max(), abs(r_alpha), abs(r_u).max(), abs(r_s).max()) < 1e-12
    else:
        assert min(abs(r_w).max(), abs(r_u).max(), abs(r_s).max()) > 0.1
    products = point.s @ point.alpha + point.xi @ point.u
    assert found.mu == pytest.approx(products / (2 * point.m))
    hinge = point.upper @ np.maximum(0, 1 - point.y * (point.X @ point.w - point.rho))
    assert found.objective == pytest.approx(point.w @ point.w / 2 + hinge)
    assert found.gap == pytest.approx(products / (point.w @ point.w / 2 + point.upper @ point.xi))
    omega = point.s / point.alpha + point.xi / point.u
    assert found.inverse == pytest.approx((1 / omega).sum())
    np.testing.assert_allclose(found.ybar, point.X.T @ (1 / omega), atol=1e-12)
    r_omega = r_s + point.s - point.xi / point.u * (r_u + point.u)
    assert found.predictor.r_omega == pytest.approx((point.y * r_omega / omega).sum(), abs=1e-12)
    np.testing.assert_allclose(found.predictor.vector, point.X.T @ (point.y * r_omega / omega), atol=1e-12)
    assert (data.positive, data.negative) == (np.count_nonzero(point.y > 0), np.count_nonzero(point.y < 0))
    assert data.mean_square == pytest.approx((point.X**2).sum() / point.m)
    assert data.upper == pytest.approx(point.upper.sum())


@SEEDS
@POINTS
def test_predictor(seed, is_feasible, bounds, make):
    point = Point(seed, is_feasible, bounds, make)
    expected = point.newton(point.s * point.alpha, point.xi * point.u)
    found, reached = point.direction(point.method.point.predictor)
    point.compare(found, expected)
    _, _, da, du, dxi, ds = expected
    pairs = [(point.alpha, da), (point.u, du), (point.xi, dxi), (point.s, ds)]
    step = min(1.0, 1 / max((-d / v).max() for v, d in pairs))
    assert length_of(reached) == pytest.approx(step)
    # mu after any step, from the sums
    for length in (step, 0.3):
        moved = (point.s + length * ds) @ (point.alpha + length * da) + (point.xi + length * dxi) @ (
            point.u + length * du
        )
        before = 2 * point.m * point.method.point.mu
        linear, quadratic = (sum(getattr(r, name) for r in reached) for name in ("linear", "quadratic"))
        assert before + length * linear + length**2 * quadratic == pytest.approx(moved, rel=1e-9, abs=1e-9)
    after = ((point.s + step * ds) @ (point.alpha + step * da) + (point.xi + step * dxi) @ (point.u + step * du)) / (
        2 * point.m
    )
    sigma_mu = max(after / point.method.point.mu, 0) ** 3 * point.method.point.mu
    assert point.method.centring(reached, 1e-12) == pytest.approx(sigma_mu, rel=1e-6)
    least = 0.1 * 0.9 * point.method.point.objective / (2 * point.m)
    assert point.method.centring(reached, 0.9) == pytest.approx(max(sigma_mu, least), rel=1e-6)


@SEEDS
@POINTS
def test_corrector_and_a_step(seed, is_feasible, bounds, make):
    point, centre = Point(seed, is_feasible, bounds, make), 0.037
    _, _, da, du, dxi, ds = point.newton(point.s * point.alpha, point.xi * point.u)
    point.direction(point.method.point.predictor)
    right = added(point.blocks.run(block_steps.correct, centre))
    found, reached = point.direction(right)
    r_sv, r_xiu = point.s * point.alpha - centre + ds * da, point.xi * point.u - centre + dxi * du
    expected = point.newton(r_sv, r_xiu)
    point.compare(found, expected)
    # a step along it, and the measurements there
    step, (dw, drho, da, du, dxi, ds) = 0.5 * length_of(reached), expected
    before = point.residuals()
    for name, change in (("alpha", da), ("u", du), ("xi", dxi), ("s", ds), ("w", dw), ("rho", drho)):
        setattr(point, name, getattr(point, name) + step * change)
    point.measured(point.blocks.run(block_steps.move, step, point.rho))
    moved = point.method.point
    for ours, theirs in zip((moved.r_w, moved.r_alpha, moved.r_u, moved.r_s), before, strict=True):
        size = theirs if np.ndim(theirs) == 0 or len(theirs) == point.n else abs(theirs).max()
        np.testing.assert_allclose(ours, (1 - step) * size, atol=1e-9)
    for name in ("alpha", "u", "xi", "s"):
        np.testing.assert_allclose(point.blocks.over_rows(name), getattr(point, name), atol=1e-9)
    np.testing.assert_allclose(point.blocks.over_rows("z"), point.X @ point.w, atol=1e-9)


@SEEDS
def test_blocks_add_up(seed):
    """The same sums over one block and over three, in any kind of storage."""
    one = Point(seed, False, ())
    for make in (DenseRows, sparse):
        several = Point(seed, False, (4, 9), make)
        ours, theirs = several.method.point, one.method.point
        for name in ("r_w", "ybar", "r_alpha", "inverse", "mu", "gap", "objective", "r_u", "r_s"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12)
        for name in ("r_omega", "vector"):
            np.testing.assert_allclose(getattr(ours.predictor, name), getattr(theirs.predictor, name), atol=1e-12)
        ours, _ = several.direction(ours.predictor)
        theirs, _ = one.direction(theirs.predictor)
        one.blocks.put((one.alpha, one.u, one.xi, one.s, one.X @ one.w))
        one.measured(one.blocks.run(block_steps.measure, one.rho))
        several.compare(ours, theirs)


def test_the_start():
    point = Point(0, False, (5,))
    begun = point.blocks.run(block_steps.begin)
    np.testing.assert_array_equal(point.blocks.over_rows("alpha"), point.upper / 2)
    np.testing.assert_array_equal(point.blocks.over_rows("u"), point.upper / 2)
    for name in ("xi", "s"):
        np.testing.assert_array_equal(point.blocks.over_rows(name), np.full(M, 2.0))
    assert sum(reply.entries for reply in begun) == point.X.size
    assert sum(reply.squares for reply in begun) == pytest.approx((point.X**2).sum())
    assert sum(reply.positive for reply in begun) == (point.y > 0).sum()
    assert sum(reply.negative for reply in begun) == (point.y < 0).sum()


# ---- choice of the rows -------------------------------------------------------------------------


def chosen(point):
    """The rows of the next normal matrix, recovered from its sums: M - I, and |Q|."""
    equations = point.equations()
    inverse = np.stack([equations.solved(column) for column in np.eye(point.n)])
    return np.linalg.inv(inverse) - np.eye(point.n), equations.rows


@pytest.mark.parametrize("bounds", [(), (20, 33)])
@pytest.mark.parametrize("rule", ["omega", "distance"])
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("upper", [1, 2, 7, 30, 0])
@SEEDS
def test_the_normal_matrix_of_chosen_rows(seed, upper, balanced, rule, bounds):
    point = Point(seed, False, bounds, size="fixed", reduction_rule=rule, balanced=balanced, most_rows=upper, m=60)
    point.method.number = 1
    inverse = 1 / (point.s / point.alpha + point.xi / point.u)
    keys = -inverse if rule == "omega" else point.y * (point.X @ point.w - point.rho) + point.xi - 1
    order = np.argsort(keys)
    wanted = upper or point.m
    if balanced:
        half = -(-wanted // 2)
        of_class = [order[point.y[order] == sign] for sign in (1, -1)]
        assert min(map(len, of_class)) >= half or wanted == point.m or upper == 30
        counts = [min(half, len(rows)) for rows in of_class]
        for own, other in ((0, 1), (1, 0)):
            if sum(counts) < wanted and counts[own] == len(of_class[own]):
                counts[other] = min(len(of_class[other]), wanted - counts[own])
        Q = np.concatenate([rows[:count] for rows, count in zip(of_class, counts, strict=True)])
    else:
        Q = order[:wanted]
    total = point.X[Q].T @ inverse[Q]
    expected = (point.X[Q].T * inverse[Q]) @ point.X[Q] - np.outer(total, total) / inverse[Q].sum()
    matrix, rows = chosen(point)
    assert rows == len(Q)
    np.testing.assert_allclose(matrix, expected, atol=1e-9)


@pytest.mark.parametrize("rule", ["omega", "distance"])
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("theta", [1e-3, 0.3, 100.0])
def test_an_adaptive_size(theta, balanced, rule):
    point = Point(5, False, (20,), size="adaptive", reduction_rule=rule, balanced=balanced, theta=theta, m=60, beta=2.0)
    inverse = 1 / (point.s / point.alpha + point.xi / point.u)
    length = np.sqrt((point.X**2).sum() / point.m)
    mu = point.method.point.mu
    root_mu = np.sqrt(mu) / length
    needed = inverse >= theta * root_mu
    if rule == "distance":
        needed = (point.alpha / point.s >= theta * root_mu) | (point.s <= root_mu)
    least = [np.count_nonzero(needed & (point.y == sign)) for sign in (1, -1)]
    wanted = max(sum(least), int(np.ceil(np.sqrt(min(1, 4 * mu / point.upper.mean())) * point.m)))
    members = [np.count_nonzero(point.y == sign) for sign in (1, -1)]
    if balanced:
        half = -(-wanted // 2)
        counts = [max(least[c], min(half, members[c])) for c in (0, 1)]
        for own, other in ((0, 1), (1, 0)):
            if sum(counts) < wanted and counts[own] == members[own]:
                counts[other] = min(members[other], wanted - counts[own])
        wanted = sum(counts)
    assert chosen(point)[1] == min(wanted, 60)


@SEEDS
@pytest.mark.parametrize("upper", [10, 30, 55])
def test_refined_directions(seed, upper):
    """With few rows: conjugate gradients leave at most 0.2 of M dw = side, or the direction is reported poor."""
    point = Point(seed, False, (20, 33), size="fixed", most_rows=upper, m=60)
    point.method.number = 1
    inverse = 1 / (point.s / point.alpha + point.xi / point.u)
    ybar = point.X.T @ inverse
    M = np.eye(point.n) + (point.X.T * inverse) @ point.X - np.outer(ybar, ybar) / inverse.sum()
    v = point.rng.normal(size=point.n)
    np.testing.assert_allclose(point.equations().times(v), M @ v, atol=1e-10)
    matrix, rows = chosen(point)
    assert rows < 60
    reduced = matrix + np.eye(point.n)
    here = point.method.point
    r_omega, vector = here.predictor
    side = -(here.r_w + vector) - (here.r_alpha - r_omega) / here.inverse * here.ybar
    left, of_refining = {}, {}
    for refines in (False, True):
        equations = of_refining[refines] = point.equations(refines)
        dw, drho = equations.solve(here.predictor)
        residual = side - M @ dw
        left[refines] = np.sqrt(residual @ np.linalg.solve(reduced, residual))
        assert drho == pytest.approx((ybar @ dw - (here.r_alpha - r_omega)) / inverse.sum(), abs=1e-9)
    size = np.sqrt(side @ np.linalg.solve(reduced, side))
    assert of_refining[False].gradients == 0
    assert left[True] <= 0.2 * size + 1e-12 or of_refining[True].poor
    assert (of_refining[True].gradients == 0) == (left[False] <= 0.2 * size)
    assert of_refining[False].is_too_rough(side - M @ of_refining[False].solve(here.predictor)[0]) == (
        left[False] > 0.2 * size
    )


def test_rows_at_random_first():
    """With q_U, the first matrix uses random rows by seed; without, all."""
    found = []
    for draw in (1, 2, 1):
        point = Point(3, False, (), size="fixed", most_rows=10, draw=draw, m=60)
        found.append(chosen(point))
        assert found[-1][1] == 10
    assert not np.allclose(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][0], found[2][0])


def test_counts_and_keys_of_rank_rows():
    point = Point(2, False)
    block, state = point.blocks.blocks[0], point.blocks.states[0]
    new, reply = block_steps.rank_rows(block, state, "omega", 0.5, 1.0, None)
    inverse = 1 / (point.s / point.alpha + point.xi / point.u)
    np.testing.assert_allclose(new.keys, -inverse)
    assert [own.sketch[0][-1] for own in reply] == [np.count_nonzero(point.y > 0), np.count_nonzero(point.y < 0)]
    assert [own.q_lower for own in reply] == [
        np.count_nonzero((inverse >= 0.5) & (point.y == sign)) for sign in (1, -1)
    ]
    new, _ = block_steps.rank_rows(block, state, "distance", 0.5, 1.0, None)
    np.testing.assert_allclose(new.keys, point.y * (point.X @ point.w - point.rho) + point.xi - 1, atol=1e-12)


def test_an_indefinite_matrix_is_given_up():
    """For xi below 0, all omega are."""
    for make in (DenseRows, sparse):
        point = Point(2, False, (), make)
        point.blocks.put((point.alpha, point.u, -1e-9 * point.u, 1e-12 * point.alpha, point.X @ point.w))
        point.measured(point.blocks.run(block_steps.measure, point.rho))
        assert not NormalEquations(point.blocks, point.method.point, point.m, True).factorize(None)

"""Solver crsvm on random and degenerate problems, checked by NumPy: feasible, optimal, with an honest status."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.crsvm import Case, clouds, sparse
from support.examples import examples

from libsvmx._core.records import replace
from libsvmx._kernels.featurerows import DenseRows
from libsvmx._solvers.interior_point.row_blocks import LocalRowBlocks
from libsvmx._solvers.interior_point.solver import CRSVM, InteriorPolicy

VARIANTS = [
    CRSVM(size, rule, balanced, upper)
    for size in ("adaptive", "fixed")
    for rule in ("omega", "distance")
    for balanced in (True, False)
    for upper in (0, 25)
] + [CRSVM("none")]


# ---- variants and costs ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [DenseRows, sparse])
@pytest.mark.parametrize("C", [1e-5, 1e-2, 1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("reduction", VARIANTS, ids=str)
def test_variants(reduction, C, make):
    case = Case(*clouds(1), C, make=make)
    solution = case.solve(reduction)
    case.check(solution)
    assert solution.iterations <= 60


@pytest.mark.parametrize("weights", [(1.0, 1e-3), (1e3, 1.0), (1e-6, 1.0), (1e4, 1e-4), (0.3, 0.7)])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_class_weights(C, weights):
    for seed in range(4):
        case = Case(*clouds(seed, 80), C, weights)
        case.check(case.solve())


@pytest.mark.parametrize("reduction", [CRSVM(), CRSVM(balanced=False), CRSVM("fixed", most_rows=10)], ids=str)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_one_row_against_many(C, reduction):
    X, y = clouds(2, 200, share=0.0)
    y[:] = -1
    y[17] = 1
    for sign in (1, -1):
        case = Case(X, sign * y, C)
        case.check(case.solve(reduction))


@pytest.mark.parametrize("reduction", [CRSVM(), CRSVM("none"), CRSVM("fixed", most_rows=60)], ids=str)
def test_iterations_of_ordinary_problems(reduction):
    """A few dozen, for any C; and not many more with fewer rows."""
    reduction = replace(reduction, policy=InteriorPolicy(choosing=-np.inf))  # choose rows however short they are
    for C in (1e-3, 1.0, 1e3, 1e6):
        case = Case(*clouds(5, 400, 6), C)
        assert case.solve(reduction).iterations <= 35
        sizes = [line.rows for line in case.lines]
        if reduction.reduction == "adaptive":
            assert min(sizes[1:]) < 200
        elif reduction.reduction == "none":
            assert set(sizes[1:]) == {400}


@pytest.mark.parametrize("make", [DenseRows, sparse])
@pytest.mark.parametrize("upper", [200, 50, 20])
def test_few_rows_take_as_many_iterations(upper, make):
    """Conjugate gradients correct a direction from few rows; without them, it takes far more iterations."""
    taken = {"none": [], "fixed": [], "adaptive": []}
    for seed in range(6):
        case = Case(*clouds(seed, 400, 15), 1.0, make=make)
        for size, own in taken.items():
            solution = case.solve(CRSVM(size, most_rows=0 if size == "none" else upper))
            assert solution.status == "converged"
            own.append(solution.iterations)
    assert sum(taken["adaptive"]) <= 1.3 * sum(taken["none"]), taken
    assert sum(taken["fixed"]) <= 1.3 * sum(taken["none"]), taken


class Multiplied(DenseRows):
    """Rows that record each product with M in ``products``."""

    def part(self, begin, end):
        found = Multiplied(self.X[begin:end])
        found.products = self.products
        return found

    def curvature(self, weights, v):
        self.products.append(1)
        return super().curvature(weights, v)


def test_directions_are_refined_only_where_they_must_be():
    case = Case(*clouds(3, 400, 5), 1.0, make=Multiplied)
    products = case.rows.products = []
    case.solve(CRSVM("none"))
    assert not products
    iterations = case.solve(CRSVM()).iterations
    assert len(products) < iterations
    products.clear()
    case.solve(CRSVM("fixed", most_rows=30))
    assert len(products) > iterations


def test_the_log_of_iterations():
    case = Case(*clouds(5, 400, 6))
    solution = case.solve()
    first, last = case.lines[0], case.lines[-1]
    assert [line.number for line in case.lines] == sorted(line.number for line in case.lines)
    assert last.number == solution.iterations
    assert (first.number, first.rows, first.step) == (0, 0, 0.0)
    assert first.mu == pytest.approx(1.0)  # upper/2 = 1/2 times 2
    assert first.primal == pytest.approx(1.0)
    assert max(last.gap, last.primal) <= 1e-8
    # gap is 2 m mu over the primal objective
    assert last.gap == pytest.approx(2 * 400 * last.mu / -solution.objective, rel=1e-3)
    assert all(0 < line.step <= 1 for line in case.lines[1:])


def test_the_scale_of_C_and_of_X_does_not_matter():
    """C X'X is the same, and so are the iterations."""
    X, y = clouds(7, 300, 5)
    for factor in (1e-6, 1e-2, 1e3, 2.0**20):
        one, other = Case(X, y, 1.0), Case(X * factor, y, 1.0 / factor**2)
        ours, theirs = one.solve(), other.solve()
        assert abs(ours.iterations - theirs.iterations) <= 1
        np.testing.assert_allclose(np.asarray(theirs.beta) * factor**2, np.asarray(ours.beta), atol=1e-9)
        np.testing.assert_allclose([a.rows for a in one.lines[:4]], [b.rows for b in other.lines[:4]], atol=2)


# ---- degenerate geometries ---------------------------------------------------------------------------


def duplicates(rng, m, n):
    X, y = clouds(int(rng.integers(1000)), m, n)
    at = rng.integers(0, m // 3, size=m)
    return X[at], y[at]


def opposites(rng, m, n):
    """Each row in both classes: w = 0, every alpha at its bound."""
    X = rng.normal(size=(m // 2, n))
    return np.concatenate([X, X]), np.repeat([1.0, -1.0], m // 2)


def some_opposites(rng, m, n):
    X, y = clouds(int(rng.integers(1000)), m, n)
    X[-m // 3 :], y[-m // 3 :] = X[: m // 3 + (m % 3 > 0)][-len(X[-m // 3 :]) :], -y[: m // 3 + (m % 3 > 0)]
    return X, y


def constant(rng, m, n):
    X, y = clouds(int(rng.integers(1000)), m, n)
    X[:, ::2] = 3.0
    return X, y


def empty_rows(rng, m, n):
    X, y = clouds(int(rng.integers(1000)), m, n)
    X[rng.random(m) < 0.5] = 0
    return X, y


def nothing(rng, m, n):
    return np.zeros((m, n)), np.where(np.arange(m) % 3 == 0, 1.0, -1.0)


def one_row(rng, m, n):
    return np.ones((m, n)) * rng.normal(size=n), np.where(np.arange(m) % 3 == 0, 1.0, -1.0)


def deficient(rng, m, n):
    X, y = clouds(int(rng.integers(1000)), m, 2)
    return X @ rng.normal(size=(2, n)), y


def integers(rng, m, n):
    return rng.integers(-1, 2, size=(m, n)), np.where(rng.random(m) < 0.5, 1.0, -1.0)


def separable(rng, m, n):
    y = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(m, n)) + 10 * y[:, None] * np.eye(n)[0], y


def wide(rng, m, n):
    X, y = clouds(int(rng.integers(1000)), m // 4, m)
    return X, y


def one_feature(rng, m, n):
    return clouds(int(rng.integers(1000)), m, 1)


def one_of_each(rng, m, n):
    return rng.normal(size=(2, n)), np.array([1.0, -1.0])


def doubled_columns(rng, m, n):
    X, y = clouds(int(rng.integers(1000)), m, n)
    return np.concatenate([X, X, X[:, :1]], axis=1), y


GEOMETRIES = [
    duplicates,
    opposites,
    some_opposites,
    constant,
    empty_rows,
    nothing,
    one_row,
    deficient,
    integers,
    separable,
    wide,
    one_feature,
    one_of_each,
    doubled_columns,
]


@pytest.mark.parametrize("reduction", [CRSVM(), CRSVM("none"), CRSVM("fixed", "distance", False, 12)], ids=str)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_degenerate_geometries(geometry, C, reduction):
    rng = np.random.default_rng(11)
    for weights in ((1.0, 1.0), (1.0, 0.2)):
        case = Case(*geometry(rng, 60, 5), C, weights)
        case.check(case.solve(reduction))


@pytest.mark.parametrize("C", [1e4, 1e8])
def test_a_hard_margin(C):
    """Separable: alpha does not depend on C."""
    for seed in range(5):
        X, y = separable(np.random.default_rng(seed), 80, 6)
        case = Case(X, y, C)
        alpha = case.check(case.solve())
        other = Case(X, y, 1e2)
        np.testing.assert_allclose(other.check(other.solve()), alpha, atol=1e-8)
        V, _ = case.scores(alpha)
        assert np.all(y * (np.asarray(V, dtype=float) + case.solve().rho) <= 1e-8)  # margins of at least 1


@pytest.mark.parametrize("factor", [1e-8, 1e-4, 1e3])
def test_data_out_of_scale(factor):
    """As accurate as rounding allows, with an honest status."""
    X, y = clouds(3, 100, 5)
    for C in (1e-2, 1.0, 1e2):
        case = Case(X * factor, y, C)
        solution = case.solve()
        case.check_feasible(solution)
        if factor <= 1:
            case.check(solution)
        elif solution.status == "converged":
            assert case.gap(case.y * np.asarray(solution.beta)) <= 1e-3


@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("factor", [1e6, 1e40, 1e150])
def test_data_far_out_of_scale(factor, C):
    """A feasible model, no warning from any thread, and no false 'converged'."""
    X, y = clouds(3, 100, 5)
    case = Case(X * factor, y, C)
    solution = case.solve(CRSVM(policy=InteriorPolicy(block_rows=40)), threads=2)
    alpha = case.y * np.asarray(solution.beta)
    assert np.isfinite(alpha).all()
    assert np.all((alpha >= 0) & (alpha <= case.upper))
    assert abs(y @ alpha) <= 1e-12 * alpha.sum()
    if solution.status == "converged":
        V = np.asarray(solution.scores)
        up, low = np.where(y > 0, alpha < C, alpha > 0), np.where(y > 0, alpha > 0, alpha < C)
        assert V[up].max() - V[low].min() <= 1e-3


@examples(300)
@given(st.data())
def test_any_small_problem(drawn):
    m, n = drawn.draw(st.integers(2, 14), label="m"), drawn.draw(st.integers(1, 5), label="n")
    kind = drawn.draw(st.sampled_from(["integers", "ties", "floats"]), label="kind")
    values = {
        "integers": st.integers(-3, 3).map(float),
        "ties": st.sampled_from([0.0, 1.0]),
        "floats": st.floats(-4, 4, allow_subnormal=False).map(lambda v: round(v, 3)),
    }[kind]
    X = np.array(drawn.draw(st.lists(st.lists(values, min_size=n, max_size=n), min_size=m, max_size=m), label="X"))
    y = np.array(drawn.draw(st.lists(st.sampled_from([1.0, -1.0]), min_size=m, max_size=m), label="y"))
    y[:2] = 1, -1
    if drawn.draw(st.booleans(), label="doubled"):
        X = np.concatenate([X, X], axis=1)
    C = 10.0 ** drawn.draw(st.integers(-4, 5), label="log C")
    weights = 1.0, 10.0 ** drawn.draw(st.integers(-3, 3), label="log weight")
    reduction = drawn.draw(st.sampled_from(VARIANTS), label="reduction")
    case = Case(X, y, C, weights, drawn.draw(st.sampled_from([DenseRows, sparse]), label="make"))
    case.check(case.solve(reduction), gap=1e-6)


def test_a_step_that_would_end_at_a_bound():
    """Up to rounding, a whole step leads an alpha to 0, which would be divided by."""
    X = np.array([[0, 1], [0, 0], [0, 1], [0, 0], [0, 0], [1, 0], [0, 0]])
    y = np.array([1.0, -1, -1, -1, -1, -1, -1])
    for reduction in VARIANTS:
        case = Case(np.concatenate([X, X], axis=1), y, 1e5, (1.0, 1e3))
        case.check(case.solve(reduction), gap=1e-6)


# ---- the same bits -----------------------------------------------------------------------------------


def test_the_bits_do_not_depend_on_threads():
    many = CRSVM(policy=InteriorPolicy(block_rows=37))
    X, y = clouds(9, 300, 5)
    for make in (DenseRows, sparse):
        case = Case(X, y, 3.0, make=make)
        found = [bytes(memoryview(np.asarray(case.solve(many, threads=t).beta))) for t in (1, 2, 5, 1)]
        assert len(set(found)) == 1
        lines = list(case.lines)
        np.testing.assert_allclose(np.frombuffer(found[0]), np.asarray(case.solve().beta), atol=1e-9)
        assert lines != case.lines  # sums over other blocks


def test_row_blocks_of_a_problem():
    X, y = clouds(9, 100, 5)
    assert len(LocalRowBlocks(DenseRows(X), y, np.ones(100), y, InteriorPolicy(), 2).blocks) == 1
    assert InteriorPolicy.block_elements >= 1 << 20


def blocks_of(m, most, threads):
    """Blocks of ``m`` rows of ones."""
    return LocalRowBlocks(DenseRows(np.ones((m, 2))), *[np.ones(m)] * 3, InteriorPolicy(block_rows=most), threads)


def test_an_error_in_a_step_is_raised():
    def fails(block, state):
        raise MemoryError

    with pytest.raises(MemoryError):
        blocks_of(100, 37, 2).run(fails)


def test_an_error_between_two_replies_ends_what_threads_have_begun():
    """Before it leaves the blocks, which may be the caller's rows: the traceback keeps the wait for others alive."""
    begun, ended = [], []

    def step(block, state):
        begun.append(block)
        time.sleep(0.01)
        ended.append(block)
        return state, 0

    def merge(replies):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as kept:
        blocks_of(400, 10, 3).run(step, merge=merge)
    assert len(begun) == len(ended) < 40 and kept.tb
    time.sleep(0.05)
    assert len(begun) == len(ended) < 40


# ---- ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", range(1, 16))
def test_an_iteration_limit(limit):
    case = Case(*clouds(4, 150, 5), 10.0)
    solution = case.solve(max_iter=limit)
    case.check_feasible(solution)
    assert solution.iterations <= limit
    enough = case.solve().iterations
    if solution.status == "converged":  # a vertex may be optimal before the iterations converge
        case.check(solution)
    else:
        assert (solution.status, solution.iterations) == ("iteration limit", limit)
        assert limit < enough


@pytest.mark.parametrize("stop_at", [1, 2, 5, 9])
def test_should_stop(stop_at):
    case = Case(*clouds(4, 150, 5), 10.0)
    asked = []

    def should_stop():
        asked.append(1)
        return len(asked) >= stop_at

    solution = case.solve(should_stop=should_stop)
    case.check_feasible(solution)
    assert solution.iterations == stop_at - 1
    if solution.status == "converged":  # a vertex may be optimal before the iterations converge
        case.check(solution)
    else:
        assert solution.status == "interrupted"
        assert stop_at < 9


def test_a_time_limit():
    case = Case(*clouds(4, 150, 5), 10.0)
    solution = case.solve(time_limit=1e-9)
    case.check_feasible(solution)
    assert (solution.status, solution.iterations) == ("time limit", 0)


def test_an_interrupt_is_raised():
    case = Case(*clouds(4, 150, 5), 10.0)

    def should_stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        case.solve(should_stop=should_stop)


def test_a_tolerance_that_cannot_be_reached():
    """The vertex is the optimum all the same."""
    case = Case(*clouds(4, 150, 5), 10.0)
    case.check(case.solve(CRSVM(tolerance=1e-14)))


def test_a_loose_tolerance_is_made_a_vertex():
    case = Case(*clouds(4, 150, 5), 10.0)
    loose, tight = case.solve(CRSVM(tolerance=1e-3)), case.solve()
    assert loose.iterations <= tight.iterations
    case.check(loose)


def test_no_converged_with_a_gap_beyond_eps():
    """Without crossover the result is an interior point: its rows are near their bounds, not at them."""
    case = Case(*clouds(4, 150, 5), 10.0)
    solution = case.solve(CRSVM(policy=InteriorPolicy(crossover_elements=-1)))
    alpha, _ = case.check_feasible(solution)
    assert case.gap(alpha) > 1e-3
    assert solution.status == "rounding"
    short, dual = case.shortfall(alpha)
    assert short <= 1e-6 * abs(dual)


def test_too_many_free_rows_for_a_crossover():
    case = Case(*clouds(4, 150, 5), 10.0)
    solution = case.solve(CRSVM(policy=InteriorPolicy(crossover_elements=1)))
    alpha, _ = case.check_feasible(solution)
    assert (solution.status == "converged") == (case.gap(alpha) <= 1e-3)
    short, dual = case.shortfall(alpha)
    assert short <= 1e-6 * abs(dual)

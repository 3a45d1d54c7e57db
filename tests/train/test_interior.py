"""Trainings with solver crsvm: LIBSVM's optimum, the path's exact one, and models like those of the other solvers."""

import contextlib
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from support import data, exact
from support.judge import Factor, Judge
from support.oracle import Oracle
from support.policies import KernelPolicy
from support.recorder import Recorder
from support.selection import quick_first

import libsvmx
from libsvmx import KernelType, Observer, ParameterError
from libsvmx._core.buffers import filled
from libsvmx._core.matrix import CsrMatrix
from libsvmx._kernels.approximation import FactorPolicy
from libsvmx._solvers.interior_point.solver import CRSVM, InteriorPolicy
from libsvmx._train.observer import Remark
from libsvmx._train.parameter import Parameter, changed
from libsvmx.io.modelfile import model_text

SETS = {
    "heart_scale": (270, None),
    "splice.xz": (500, None),
    "a1a.xz": (800, None),
    "mushrooms.xz": (600, None),
    "breast-cancer.xz": (683, None),
    "ionosphere_scale.xz": (351, None),
    "wine.scale": (178, 2.0),
    "glass.scale": (214, 1.0),
}


def two_classes(name):
    """(matrix, targets) with labels +1 and -1."""
    n, positive = SETS[name]
    matrix, targets = data.load(name, n)
    targets = np.array(targets)
    if name == "breast-cancer.xz":  # its first feature is an 8-digit number
        X = matrix.toarray()
        X /= X.max(axis=0)
        matrix = data.from_rows([[(j + 1, v) for j, v in enumerate(row) if v] for row in X.tolist()])
    positive = targets.max() if positive is None else positive
    return matrix, np.where(targets == positive, 1.0, -1.0)


def train(X, y, **options):
    recorder = Recorder()
    model = libsvmx.train(X, y, observer=recorder, **{"solver": "crsvm", "kernel_type": 0, "threads": 1, **options})
    return model, recorder


def certified(model, X, y, C, weights=(1.0, 1.0), K=None):
    """For two classes over dense X: objective and KKT gap from the data; fails if infeasible."""
    beta = np.zeros(len(y))
    beta[np.asarray(model.sv_indices) - 1] = np.asarray(model.sv_coef).ravel()
    sign, upper = np.where(y == model.labels[0], 1.0, -1.0), C * np.where(y > 0, *weights)
    judge = Judge(Factor(X) if K is None else K, sign, np.minimum(sign, 0) * upper, np.maximum(sign, 0) * upper)
    assert np.all((beta >= judge.lower) & (beta <= judge.upper))
    assert abs(beta.sum()) <= 1e-12 * abs(beta).sum()
    return judge.objective(beta), judge.gap(beta)


@pytest.mark.parametrize("C", quick_first([1e-3, 0.1, 1.0, 10.0], 3))
@pytest.mark.parametrize("name", SETS)
def test_the_optimum_of_libsvm(name, C):
    """Objective and decision values; LIBSVM's kernel is in float, and its tolerance is 1e-7."""
    matrix, targets = two_classes(name)
    model, recorder = train(matrix, targets, C=C)
    oracle = Oracle(matrix, targets.tolist(), f"-t 0 -c {C} -e 1e-7").train()
    (report,) = recorder.reports
    assert report.status == "converged"
    assert recorder.remarks == []
    X = matrix.toarray()
    objective, gap = certified(model, X, targets, C)
    assert gap <= 1e-7
    assert report.gap == pytest.approx(gap, abs=1e-10)
    assert report.objective == pytest.approx(objective, rel=1e-10)
    theirs = float(oracle.transcript.split("obj = ")[1].split(",")[0])
    assert objective == pytest.approx(theirs, rel=5e-6, abs=1e-6)
    assert objective <= theirs + 1e-6 * abs(theirs) + 1e-6  # six decimals of it are printed
    _, values = oracle.predict(matrix)
    ours = libsvmx.decision_values(model, matrix)
    assert tuple(model.labels) == tuple(oracle.model.get_labels())
    scale = max(1.0, np.abs(values).max())
    np.testing.assert_allclose(np.ravel(ours), np.ravel(values), atol=1e-4 * scale)


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("C", [1e-5, 1.0, 1e4])
@pytest.mark.parametrize("name", ["heart_scale", "splice.xz", "breast-cancer.xz", "wine.scale"])
def test_the_optimum_of_the_exact_path(name, C, exhaustive):
    """The path's kernel is in double."""
    matrix, targets = two_classes(name)
    step = 3 if len(targets) > 300 or not exhaustive else 1
    X, y = matrix.toarray()[::step], targets[::step]
    model, _ = train(X, y, C=C)
    objective, gap = certified(model, X, y, C)
    assert gap <= 1e-7
    state = libsvmx.train(X, y, kernel_type=0, C=C, keep_state=True)
    assert objective == pytest.approx(state.objective, rel=1e-10)
    ours, theirs = (libsvmx.decision_values(m, X) for m in (model, state.model))
    scale = max(1.0, np.abs(theirs).max())
    if gap > -1e-9:  # rho is unique
        np.testing.assert_allclose(ours, theirs, atol=1e-6 * scale)


def blobs(seed, m=150, n=4, k=2):
    return exact.blobs(seed, m, k, n)


# Rows are chosen however few and short they are.
CHOSEN = CRSVM(policy=InteriorPolicy(choosing=-np.inf))


def test_no_reduction_where_it_would_not_pay():
    """Few or short rows all enter the normal matrix, as in the unreduced method; long ones do not."""
    X, y = blobs(1)
    _, recorder = train(X, y, C=2.0)
    _, plain = train(X, y, C=2.0, reduction="none")
    assert {line.rows for line in recorder.lines[1:]} == {150}
    assert recorder.lines == plain.lines
    X, y = blobs(1, m=400, n=200)
    _, recorder = train(X, y, C=2.0)
    assert min(line.rows for line in recorder.lines[1:]) < 400
    sparse = csr_array(np.where(abs(X) > np.quantile(abs(X), 0.8), X, 0))
    _, recorder = train(sparse, y, C=2.0)
    assert {line.rows for line in recorder.lines[1:]} == {400}  # 40 nonzeros are too few
    _, recorder = train(sparse, y, C=2.0, solver=CRSVM(policy=InteriorPolicy(sparse_speed=0.1)))
    assert min(line.rows for line in recorder.lines[1:]) < 400
    _, recorder = train(X, y, C=2.0, solver=CRSVM(policy=InteriorPolicy(choosing=np.inf)), most_rows=50)
    assert min(line.rows for line in recorder.lines[1:]) < 400


@pytest.mark.parametrize("options", [{"kernel_type": "linear"}, {"kernel_type": "rbf", "gamma": 0.1, "rank": 20}])
def test_threads_change_no_byte_of_a_model(options):
    """With several row blocks: a set this small would be one."""
    solver = CRSVM(policy=InteriorPolicy(block_rows=100, factor=FactorPolicy(row_block=70)))
    matrix, y = data.load("heart_scale")
    models = [libsvmx.train(matrix, y, solver=solver, threads=threads, **options) for threads in (1, 3, 1)]
    assert len({model_text(model) for model in models}) == 1


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("rule", ["omega", "distance"])
@pytest.mark.parametrize("reduction", ["adaptive", "fixed", "none"])
@pytest.mark.parametrize("most_rows", [0, 60])
def test_reductions(reduction, rule, balanced, most_rows):
    X, y = blobs(1)
    options = {"reduction": reduction, "reduction_rule": rule, "balanced": balanced, "most_rows": most_rows}
    model, recorder = train(X, y, C=2.0, solver=CHOSEN, **options)
    plain, _ = train(X, y, C=2.0, solver=CHOSEN)
    assert certified(model, X, y, 2.0)[1] <= 1e-7
    np.testing.assert_allclose(libsvmx.decision_values(model, X), libsvmx.decision_values(plain, X), atol=1e-8)
    sizes = [line.rows for line in recorder.lines[1:]]
    if reduction == "none":
        assert set(sizes) == {150}
    elif reduction == "fixed" and most_rows:
        assert sizes[0] == 60
    else:
        assert min(sizes) < 150 or reduction == "fixed"


@pytest.mark.parametrize("weights", [{1: 5.0}, {-1: 1e-3}, {1: 1e3, -1: 0.1}])
def test_class_weights(weights):
    X, y = blobs(2)
    model, _ = train(X, y, C=0.5, weights=weights)
    pair = weights.get(1, 1.0), weights.get(-1, 1.0)
    objective, gap = certified(model, X, y, 0.5, pair)
    assert gap <= 1e-7
    state = libsvmx.train(X, y, kernel_type=0, C=0.5, weights=weights, keep_state=True)
    assert objective == pytest.approx(state.objective, rel=1e-9)


def test_a_class_of_weight_0_is_left_out():
    X, y = blobs(3, k=3)
    model, recorder = train(X, y, C=1.0, weights={2: 0.0})
    assert sorted(model.labels) == [1, 3]
    assert recorder.remarks == ["class dropped"]


@pytest.mark.parametrize("coef0", [0.0, 1.0])
@pytest.mark.parametrize("name", ["heart_scale", "splice.xz"])
def test_the_polynomial_of_degree_2(name, coef0):
    """Dense features, and sparse ones."""
    matrix, targets = data.load(name, 120)
    targets = np.array(targets)
    if name == "splice.xz":  # every fifth feature, most of them missing
        X = matrix.toarray()[:, ::5]
        X[np.random.default_rng(0).random(X.shape) < 0.7] = 0
    else:
        X = matrix.toarray()
    options = {"kernel_type": 1, "degree": 2, "gamma": 0.1, "coef0": coef0, "C": 0.5}
    model, _ = train(X, targets, **options)
    K = (0.1 * X @ X.T + coef0) ** 2
    objective, gap = certified(model, X, targets, 0.5, K=K)
    assert gap <= 1e-7
    state = libsvmx.train(X, targets, **options, keep_state=True)
    assert objective == pytest.approx(state.objective, rel=1e-9)
    np.testing.assert_allclose(libsvmx.decision_values(model, X), libsvmx.decision_values(state.model, X), atol=1e-6)


def test_more_features_than_rows():
    """With the full factor of K."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 300)), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    for C in (1e-3, 1.0, 1e4):
        model, recorder = train(X, y, C=C)
        objective, gap = certified(model, X, y, C)
        assert gap <= 1e-7
        assert recorder.factors == []  # no factor was requested
        state = libsvmx.train(X, y, kernel_type=0, C=C, keep_state=True)
        assert objective == pytest.approx(state.objective, rel=1e-9)


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("options", [{"max_iter": 3}, {"time_limit": 1e-9}])
def test_limits(options):
    matrix, targets = two_classes("splice.xz")
    model, recorder = train(matrix, targets, **options)
    status = {"max_iter": "iteration limit", "time_limit": "time limit"}[next(iter(options))]
    assert (recorder.reports[0].status, recorder.remarks) == (status, [status])
    _, gap = certified(model, matrix.toarray(), targets, 1.0)
    assert recorder.reports[0].gap == pytest.approx(gap, rel=1e-9)


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
def test_an_observer_that_stops():
    class Stops(Recorder):
        def should_stop(self):
            return len(self.lines) >= 3

    stops, (X, y) = Stops(), blobs(1)
    model = libsvmx.train(X, y, solver="crsvm", kernel_type=0, observer=stops)
    assert stops.reports[0].status == "interrupted"
    assert stops.reports[0].iterations == 2
    certified(model, X, y, 1.0)

    class Raises(Recorder):
        def iterated(self, line):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        libsvmx.train(X, y, solver="crsvm", kernel_type=0, observer=Raises())


def test_one_row_of_each_class_and_no_features():
    X, y = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([1.0, -1.0])
    model, _ = train(X, y, C=100.0)
    assert certified(model, X, y, 100.0)[1] <= 1e-9
    model, recorder = train(np.zeros((4, 2)), np.array([1.0, -1.0, 1.0, 1.0]))
    assert recorder.reports[0].status == "converged"
    assert recorder.reports[0].objective == pytest.approx(-2.0, rel=1e-12)


# ---- low rank ------------------------------------------------------------------------------------------


def factor_of(X, options):
    from libsvmx._kernels.block_kernel import KernelSpec
    from libsvmx._kernels.lowrank import factorize

    rows = data.from_rows([[(j + 1, v) for j, v in enumerate(row) if v] for row in X.tolist()])
    param = changed(Parameter(), {"solver": "crsvm", **options})
    numbers = filled("i", range(len(X)))
    spec = KernelSpec(*param.kernel_function)
    return rows, factorize(rows, numbers, spec, param.solver.approximation(), 1e8)


@pytest.mark.parametrize("method", ["cholesky", "rpcholesky", "nystrom", "eigen"])
def test_the_svm_of_a_factor(method):
    """It equals smo with the matrix F F', and the factor's model predicts with that kernel."""
    from libsvmx._kernels.block_kernel import KernelSpec
    from libsvmx._kernels.lowrank import features_of

    X, y = blobs(7, 120)
    options = {"kernel_type": KernelType.RBF, "gamma": 0.4, "C": 2.0, "low_rank": method, "rank": 25}
    rows, low_rank = factor_of(X, options)
    F = low_rank.factor
    K = F @ F.T
    model, recorder = train(X, y, **options)
    objective, gap = certified(model, X, y, 2.0, K=K)
    assert gap <= 1e-7
    assert recorder.factors[0][0] == F.shape[1] <= 25
    assert recorder.factors[0][1] == pytest.approx(120 - (F**2).sum(), rel=1e-6)
    given = libsvmx.train(K, y, kernel_type=KernelType.PRECOMPUTED, C=2.0, eps=1e-7)
    beta = np.zeros(120)
    beta[np.asarray(given.sv_indices) - 1] = np.asarray(given.sv_coef).ravel()
    assert objective == pytest.approx(beta @ K @ beta / 2 - np.abs(beta).sum(), rel=1e-6)

    by_factor, _ = train(X, y, **options, predict_with="factor")
    tests = np.concatenate([X[:20], X[:20] + 0.3])
    test_rows = data.from_rows([[(j + 1, v) for j, v in enumerate(row) if v] for row in tests.tolist()])
    pivots = rows.take(np.asarray(low_rank.pivots).astype(np.int32))
    spec = KernelSpec(KernelType.RBF, gamma=0.4)
    features = features_of(pivots, low_rank.transform, test_rows, filled("i", range(40)), spec)
    beta = np.zeros(120)
    beta[np.asarray(model.sv_indices) - 1] = np.asarray(model.sv_coef).ravel()
    expected = features @ (F.T @ beta) - np.asarray(model.rho)[0]
    ours = libsvmx.decision_values(by_factor, tests)
    # coefficients of pivots may be large and cancel
    allowed = 1e-7 * max(1.0, np.abs(np.asarray(by_factor.sv_coef)).max())
    np.testing.assert_allclose(np.ravel(ours), expected, atol=allowed)


def test_the_factor_predicts_several_classes():
    X, y = blobs(8, 120, k=3)
    options = {"kernel_type": KernelType.RBF, "gamma": 0.4, "C": 2.0, "low_rank": "cholesky", "rank_error": 1e-12}
    by_factor, _ = train(X, y, **options, predict_with="factor")
    by_kernel, _ = train(X, y, **options)
    np.testing.assert_allclose(libsvmx.decision_values(by_factor, X), libsvmx.decision_values(by_kernel, X), atol=1e-4)
    np.testing.assert_array_equal(libsvmx.predict(by_factor, X), libsvmx.predict(by_kernel, X))


@pytest.mark.parametrize("kernel", [KernelType.RBF, KernelType.POLY])
def test_a_full_factor_is_the_kernel(kernel):
    X, y = blobs(9, 90)
    options = {"kernel_type": kernel, "gamma": 0.3, "degree": 3, "coef0": 1.0, "C": 1.0}
    model, _ = train(X, y, **options, low_rank="cholesky", rank_error=1e-13)
    state = libsvmx.train(X, y, **options, keep_state=True)
    np.testing.assert_allclose(libsvmx.decision_values(model, X), libsvmx.decision_values(state.model, X), atol=1e-4)


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("size", [1.0, 1e9])
def test_a_gap_hidden_by_rounding_is_not_called_converged(size):
    """Scores are sums of alpha x'x: with values of 1e9 and C = 1, their rounding is far above eps."""
    random = np.random.default_rng(5)
    X = random.standard_normal((200, 5)) * size
    y = np.where(X[:, 0] + 0.5 * size * random.standard_normal(200) > 0, 1.0, -1.0)
    model = libsvmx.train(X, y, solver="crsvm", kernel_type=0)
    assert model.statuses == ("converged" if size == 1 else "rounding",)


def test_few_rows_of_many_products_have_the_full_factor():
    """The second-order map may have more features than the solver takes, if rows are fewer."""
    policy = KernelPolicy(most_features=100)
    random = np.random.default_rng(3)
    X = random.standard_normal((80, 20))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    options = {"kernel_type": KernelType.POLY, "degree": 2, "coef0": 1.0, "gamma": 0.1}
    model = libsvmx.train(X, y, solver="crsvm", policy=policy, **options)
    other = libsvmx.train(X, y, eps=1e-7, **options)
    values, others = libsvmx.decision_values(model, X), libsvmx.decision_values(other, X)
    np.testing.assert_allclose(values, others, atol=1e-5 * abs(others).max())
    options["policy"] = policy
    libsvmx.train(X, y, solver="crsvm", low_rank="cholesky", rank=1000, **options)  # limited by the number of rows
    for refused in ({"low_rank": "cholesky", "rank": 101}, {}):
        with pytest.raises(ParameterError, match="too many"):
            libsvmx.train(np.tile(X, (2, 1)), np.tile(y, 2), solver="crsvm", **options, **refused)


def test_the_rule_distance_does_not_depend_on_the_scale():
    matrix, targets = data.load("heart_scale")
    rows = []
    for scale in (1.0, 1e-3):
        lines = []
        observer = Observer()
        observer.iterated = lines.append
        scaled = CsrMatrix(matrix.indptr, matrix.indices, np.asarray(matrix.values) * scale)
        options = {"kernel_type": KernelType.LINEAR, "reduction_rule": "distance", "C": 1 / scale**2}
        libsvmx.train(scaled, targets, solver=CHOSEN, observer=observer, **options)
        rows.append([line.rows for line in lines])
    assert rows[0] == rows[1]
    assert min(rows[0][1:]) < 270


class Stopped(Recorder):
    """Ends the call at its first check, before any work."""

    def should_stop(self):
        return True


@pytest.mark.parametrize(("n_rows", "told"), [(2200, True), (400, False)])
def test_much_work_is_announced(n_rows, told):
    """More features than rows: a factor of the whole kernel matrix in every iteration."""
    X = random_array((n_rows, 2500), density=0.01, rng=np.random.default_rng(0), format="csr")
    y = np.where(np.arange(n_rows) % 2, 1.0, -1.0)
    heard = Stopped()
    with warnings.catch_warnings(), contextlib.suppress(libsvmx.StoppedEarly):
        warnings.simplefilter("ignore", libsvmx.ConvergenceWarning)
        libsvmx.train(X, y, solver="crsvm", kernel_type="linear", observer=heard)
    assert (Remark.MUCH_WORK in heard.remarks) == told

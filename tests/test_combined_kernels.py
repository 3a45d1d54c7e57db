"""Sums and products of kernels give the results of the summed, or multiplied, kernel values."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.judge import kernel_values

import libsvmx
from libsvmx import DataError, Kernel, Parameter, ParameterError, Product, Sum, SvmType, svmutil

N, M = 130, 20
rng = np.random.default_rng(5)
X = np.abs(rng.normal(size=(N + M, 6)))
Y = np.where(X[:, 0] * X[:, 1] > 0.4, 1, 2)
TARGETS = X[:, 0] + np.sin(3 * X[:, 1])
OPTIONS = {
    SvmType.C_SVC: {"C": 2.0},
    SvmType.NU_SVC: {"nu": 0.3},
    SvmType.ONE_CLASS: {"nu": 0.3},
    SvmType.EPSILON_SVR: {"C": 2.0, "p": 0.1},
    SvmType.NU_SVR: {"C": 2.0, "nu": 0.4},
    SvmType.QUANTILE_SVR: {"C": 2.0, "tau": 0.3},
}
GIVEN = {"kernel_type": "precomputed"}


class Squares(Kernel):
    """(u'v / 8)^2, which counts its values."""

    def __init__(self):
        self.calls = []

    def prepare(self, X):
        return [row / np.sqrt(8) for row in X]

    def __call__(self, A, B):
        self.calls.append((len(A), len(B)))
        return (np.array(A) @ np.array(B).T) ** 2


def minima(A, B):
    return np.minimum(A[:, None], B[None]).sum(axis=2) / 8


def known(name, **options):
    return kernel_values(Parameter(kernel_type=name, **options), X, X)


RBF, LAPLACIAN = known("rbf", gamma=0.3), known("laplacian", gamma=0.2)
SQUARES, MINIMA = (X @ X.T / 8) ** 2, minima(X, X)
# A kernel of each kind, newly created for each test, and its values.
KERNELS = {
    "named": (lambda: Kernel.named("rbf", gamma=0.3), RBF),
    "polynomial": (
        lambda: Kernel.named("poly", gamma=0.1, degree=2, coef0=1.0),
        known("poly", gamma=0.1, degree=2, coef0=1.0),
    ),
    "sum": (
        lambda: Sum(0.25 * Kernel.named("rbf", gamma=0.3), Squares() * np.float64(0.5), minima),
        0.25 * RBF + 0.5 * SQUARES + MINIMA,
    ),
    "product": (lambda: Product(Kernel.named("laplacian", gamma=0.2), minima), LAPLACIAN * MINIMA),
    "both": (lambda: 2 * (Squares() * minima + 0.5 * Kernel.named("chi2", gamma=0.2)) + Squares(),
             2 * SQUARES * MINIMA + known("chi2", gamma=0.2) + SQUARES),
}  # fmt: skip


def close(found, expected):
    """From floats that may be rounded to their neighbours."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("svm_type", SvmType)
@pytest.mark.parametrize("name", KERNELS)
def test_a_training_is_that_of_the_values(name, svm_type):
    made, values = KERNELS[name]
    y = TARGETS if svm_type.is_regression else Y
    options = {"svm_type": svm_type, "eps": 1e-5, **OPTIONS[svm_type]}
    model = libsvmx.train(X[:N], y[:N], kernel=made(), **options)
    given = libsvmx.train(values[:N, :N], y[:N], **options, **GIVEN)
    close(model.decision_function(X[N:]), given.decision_function(values[N:, :N]))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("rows", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_a_state_that_rows_join_and_leave(name, rows):
    made, values = KERNELS[name]
    if rows is csr_array and name != "named":
        made, values = (lambda: Kernel.named("rbf", gamma=0.3) * Kernel.named("laplacian", gamma=0.2), RBF * LAPLACIAN)
    state = libsvmx.train(rows(X[:100]), Y[:100], kernel=made(), keep_state=True)
    state.update(add=(rows(X[100:N]), Y[100:N]), remove=[3, 50])
    left = np.delete(np.arange(N), [3, 50])
    given = libsvmx.train(values[np.ix_(left, left)], Y[left], keep_state=True, **GIVEN)
    close(state.decision_values(rows(X[N:])), given.decision_values(values[N:][:, left]))


@pytest.mark.parametrize("name", KERNELS)
def test_folds_leave_one_out_and_paths(name):
    made, values = KERNELS[name]
    rows, table, y = X[:N], values[:N, :N], Y[:N]
    for find in (
        lambda data, **how: libsvmx.cross_validate(data, y, 4, eps=1e-5, **how).decision_values,
        lambda data, **how: libsvmx.cross_validate(data, y, 4, eps=1e-5, seeder="auto", **how).decision_values,
        lambda data, **how: libsvmx.leave_one_out(data, y, seeder="path", **how).decision_values,
        lambda data, **how: libsvmx.c_path(data, y, 0.1, 1.0, 3, **how).cv_error([0.1, 0.3, 1.0]),
    ):
        close(find(rows, kernel=made()), find(table, **GIVEN))


def test_parts_are_asked_for_no_more_than_alone():
    alone, part, spared = Squares(), Squares(), Squares()
    libsvmx.train(X, Y, kernel=alone)
    model = libsvmx.train(X, Y, kernel=part + 0 * spared)
    assert part.calls == alone.calls
    assert not spared.calls
    part.calls.clear()
    model.predict(X[:7])
    assert part.calls == [(7, model.n_sv)]


def test_terms_of_sums_are_those_of_their_parts():
    a, b = Squares(), Squares()
    kernel = 2 * (0.5 * a + b) + Sum(minima)
    assert kernel.parts[:2] == (a, b)
    assert kernel.weights.tolist() == [1.0, 2.0, 1.0]


def test_operands_of_a_sum():
    a, b = Squares(), Squares()
    kernel = minima + a
    assert isinstance(kernel, Sum)
    assert kernel.parts[1] is a
    assert sum([a, 3 * b, a]).weights.tolist() == [1.0, 3.0, 1.0]
    assert sum([a]) is a
    with pytest.raises(TypeError, match="unsupported operand"):
        1 + a


def test_two_kernels_may_be_asked_about_the_same_rows():
    a, b = Kernel.named("rbf", gamma=0.1), Kernel.named("rbf", gamma=2.0)
    rows = a.prepare(X)
    for kernel in (a, b, a):
        np.testing.assert_allclose(kernel.rows(rows[:3], rows), kernel(rows[:3], rows), rtol=1e-12)


def test_what_a_search_shows_of_a_kernel():
    shown = 0.5 * Kernel.named("rbf", gamma=0.3) + Kernel.named("poly", gamma=[1.0, 2.0]) * minima
    assert repr(shown) == (
        "Sum(0.5 * Kernel.named('rbf', gamma=0.3), 1.0 * Product("
        f"Kernel.named('polynomial', degree=3, gamma=[1, 2], coef0=0.0), {minima!r}))"
    )
    assert repr(Kernel.named("laplacian", gamma=np.arange(99.0))) == (
        "Kernel.named('laplacian', gamma=[0, 1, 2, ..., 96, 97, 98])"
    )
    assert repr(Kernel.named("rbf", gamma=0.1234567)) == "Kernel.named('rbf', gamma=0.1234567)"


def test_a_part_that_is_not_symmetric():
    class Tilted(Squares):
        symmetric = False

        def __call__(self, A, B):
            return super().__call__(A, B) + 0.01 * np.array([[a[0] - b[1] for b in B] for a in A])

    part = Tilted()
    libsvmx.train(X, Y, kernel=Sum(part, minima))
    assert part.calls == [(len(X), len(X))]


def test_estimators_and_pickles():
    kernel = 0.5 * Kernel.named("rbf", gamma=0.3) * Kernel.named("cosine") + Kernel.named("intersection")
    expected = libsvmx.train(X[:N], Y[:N], kernel=kernel).predict(X[N:])
    pytest.importorskip("sklearn")
    for found in (libsvmx.SVC(kernel=kernel).fit(X[:N], Y[:N]), libsvmx.train(X[:N], Y[:N], kernel=kernel)):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).predict(X[N:]), expected)


GAMMAS = np.array([0.5, 0.0, 0.02, 0.3, 1.0, 0.1])
SCALED = X * np.sqrt(GAMMAS)
OF_SCALED = {  # the formula of each with a gamma for each feature
    "rbf": kernel_values(Parameter(kernel_type="rbf", gamma=1.0), SCALED, SCALED),
    "poly": (X * GAMMAS @ X.T) ** 3,
    "laplacian": np.exp(-(np.abs(X[:, None] - X) * GAMMAS).sum(axis=2)),
    "chi2": np.exp(-((X[:, None] - X) ** 2 / (X[:, None] + X) * GAMMAS).sum(axis=2)),
    "rational_quadratic": 1 / (1 + ((X[:, None] - X) ** 2 * GAMMAS).sum(axis=2)),
}


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", OF_SCALED)
def test_a_gamma_for_each_feature(name, form):
    kernel, values = Kernel.named(name, gamma=GAMMAS), OF_SCALED[name]
    rows = kernel.prepare(form(X))
    np.testing.assert_allclose(kernel(rows, rows), values, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel.rows(rows[[3, 1]], rows), values[[3, 1]], rtol=1e-12, atol=1e-12)
    model = libsvmx.train(form(X[:N]), Y[:N], kernel=kernel)
    given = libsvmx.train(values[:N, :N], Y[:N], **GIVEN)
    close(model.decision_function(form(X[N:])), given.decision_function(values[N:, :N]))
    with pytest.raises(DataError, match="6 gammas, but rows with 5 columns"):
        kernel.prepare(form(X[:, :5]))
    with pytest.raises(DataError, match="trained on 6"):
        model.predict(form(X[:, :5]))


WITH_ZEROS = np.where(np.arange(len(X) * 6).reshape(-1, 6) % 5 == 0, 0.0, X)  # the first row has a zero, too
ROWS = [{j + 1: value for j, value in enumerate(row)} for row in X]


def states(X, **options):
    state = libsvmx.train(X[:N], Y[:N], keep_state=True, **options)
    state.remove([3])
    state.add(X[N:], Y[N:])
    return state.predict(X), libsvmx.influence(state, X[:9], Y[:9]).loss


def kept_rows(X, **options):
    fitted = libsvmx.SVC(keep_rows=True, refine=True, **options).fit(X[:N], Y[:N]).partial_fit(X[N:], Y[N:])
    return fitted.decision_function(X), fitted.support_


def searched(X, **options):
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(libsvmx.SVC(**options), {"C": [0.5, 2.0]}, cv=3).fit(X, Y).cv_results_["mean_test_score"]


CALLS = {
    "train": lambda X, **o: libsvmx.train(X[:N], Y[:N], **o).decision_function(X),
    "probabilities": lambda X, **o: libsvmx.train(X, Y, probability=True, **o).predict_proba(X),
    "regression": lambda X, **o: libsvmx.train(X, TARGETS, svm_type="epsilon_svr", **o).predict(X),
    "one_class": lambda X, **o: libsvmx.OneClassSVM(**o).fit(X).decision_function(X),
    "folds": lambda X, **o: libsvmx.cross_validate(X, Y, 5, seeder="sir", **o).predictions,
    "leave_one_out": lambda X, **o: libsvmx.leave_one_out(X, Y, **o).predictions,
    "states": states,
    "fit_many": lambda X, **o: libsvmx.fit_many(X, Y[:, None], **o)[0].decision_function(X),
    "path": lambda X, **o: libsvmx.c_path(X, Y, 0.1, 2.0, 3, **o).best_error,
    "grid": lambda X, **o: libsvmx.grid_search(X, Y, log2c=(0, 1, 1), log2g=(-1, 1, 1), **o).rate,
    "intervals": lambda X, **o: libsvmx.jackknife_plus(X, TARGETS, X[:5], svm_type="epsilon_svr", **o).lower,
    "explain": lambda X, **o: libsvmx.explain(libsvmx.train(X, Y, **o), X[:5], X[:20]).values,
    "low_rank": lambda X, **o: libsvmx.low_rank(X, rank=20, **o).features_of(X),
    "features": lambda X, **o: libsvmx.train(X, Y, solver="crsvm", rank=20, **o).decision_function(X),
    "SVC": lambda X, **o: libsvmx.SVC(**o).fit(X, Y).decision_function(X),
    "kept_rows": kept_rows,
    "search": searched,
}


@pytest.mark.parametrize("call", CALLS)
def test_gammas_are_those_of_scaled_rows(call):
    """Each call with an array as gamma does the same as with rows scaled by the caller."""
    found, wanted = CALLS[call](WITH_ZEROS, gamma=GAMMAS), CALLS[call](WITH_ZEROS * np.sqrt(GAMMAS), gamma=1.0)
    for own, other in zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]:
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("estimator", [False, True])
def test_a_kernel_by_name_is_trained_by_its_name(estimator):
    kernel = Kernel.named("rbf", gamma=GAMMAS)
    if estimator:
        found, wanted = libsvmx.SVC(kernel=kernel).fit(X, Y).to_model(), libsvmx.SVC(gamma=GAMMAS).fit(X, Y).to_model()
    else:
        found, wanted = libsvmx.train(X, Y, kernel=kernel), libsvmx.train(X, Y, gamma=GAMMAS)
    assert found.own_kernel is None and found.param == wanted.param and found.param.gammas == tuple(GAMMAS)
    np.testing.assert_array_equal(found.decision_function(X), wanted.decision_function(X))
    assert "times 6 gammas" in repr(found)


@pytest.mark.parametrize("gamma", [0.3, GAMMAS])
def test_functions_that_need_a_kernel_of_libsvmx_take_one_by_name(gamma):
    kernel = Kernel.named("rbf", gamma=gamma)
    found, wanted = (libsvmx.low_rank(X, rank=5, **option) for option in ({"kernel": kernel}, {"gamma": gamma}))
    np.testing.assert_array_equal(found.factor, wanted.factor)
    found, wanted = (
        libsvmx.quantile_intervals(X, Y, X, 3, 0.2, **option) for option in ({"kernel": kernel}, {"gamma": gamma})
    )
    np.testing.assert_array_equal(found.lower, wanted.lower)
    model = libsvmx.train(X, Y, kernel=kernel)
    assert libsvmx.State.from_model(X, Y, model, kernel=kernel).model.param == model.param
    axes = {"log2c": (-1, 1, 1), "log2g": (-1, 1, 1)}
    found, wanted = (libsvmx.grid_search(X, Y, **axes, **option) for option in ({"kernel": kernel}, {"gamma": gamma}))
    np.testing.assert_array_equal(found.rate, wanted.rate)
    assert np.isnan(libsvmx.grid_search(X, Y, axes["log2c"], kernel=kernel).log2g).all()


@pytest.mark.parametrize("gamma", [0.3, GAMMAS])
def test_estimators_follow_a_kernel_by_name(gamma):
    kernel, kept = Kernel.named("rbf", gamma=gamma), {"refine": True, "keep_rows": True}
    wanted = libsvmx.SVC(gamma=gamma, **kept).fit(X, Y).decision_function(X)
    for fitted in (
        libsvmx.SVC(kernel=kernel, refine=True).fit(X, Y),
        libsvmx.SVC(kernel=kernel, **kept).fit(X[:N], Y[:N]).partial_fit(X[N:], Y[N:]),
    ):
        np.testing.assert_allclose(fitted.decision_function(X), wanted, rtol=0, atol=1e-11)
    search = libsvmx.SVCCV(kernel=kernel, Cs=[1, 10]).fit(X, Y)
    assert search.n_features_in_ == 6 and search.best_estimator_.to_model().own_kernel is None
    with pytest.raises(ValueError, match="5 features"):
        search.predict(X[:, :5])


def test_rows_with_an_index_may_lack_features():
    model = libsvmx.train(ROWS, Y, gamma=GAMMAS)
    np.testing.assert_array_equal(model.decision_function(ROWS), libsvmx.train(X, Y, gamma=GAMMAS).decision_function(X))
    np.testing.assert_array_equal(model.decision_function([{}]), model.decision_function(np.zeros((1, 6))))
    with pytest.raises(DataError, match="6 gammas, but rows with 7 columns"):
        model.decision_function([{7: 1.0}])
    for rows in (X[:, :5], csr_array(X[:, :5])):
        with pytest.raises(DataError, match="6 gammas, but rows with 5 columns"):
            libsvmx.train(rows, Y, gamma=GAMMAS)


def test_a_feature_with_gamma_0_does_not_count():
    other = X.copy()
    other[:, 2] = rng.normal(size=N + M)
    gammas = np.where(np.arange(6) == 2, 0.0, GAMMAS)
    model = libsvmx.train(X, Y, gamma=gammas)
    np.testing.assert_array_equal(model.decision_function(X), model.decision_function(other))


def test_models_with_gammas_are_kept(tmp_path):
    model, fitted = libsvmx.train(X, Y, gamma=GAMMAS), libsvmx.SVC(gamma=GAMMAS).fit(X, Y)
    for kept in (model, fitted, libsvmx.SVC.from_model(model)):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(kept)).decision_function(X), kept.decision_function(X))
    np.testing.assert_allclose(libsvmx.SVC.from_model(model).gamma, GAMMAS)
    state = libsvmx.train(X, Y, gamma=GAMMAS, keep_state=True)
    state.save(tmp_path / "state")
    np.testing.assert_array_equal(libsvmx.State.load(tmp_path / "state").predict(X), state.predict(X))
    again = libsvmx.State.from_model(X, Y, model)
    assert again.model.param.gammas == tuple(GAMMAS)
    assert libsvmx.train(X, Y, Parameter(gamma=GAMMAS), gamma=0.3).param.gammas == ()


def test_libsvms_interface_needs_one_gamma(tmp_path):
    with pytest.raises(ParameterError, match="gamma must be one number for LIBSVM's interface"):
        svmutil.svm_save_model(str(tmp_path / "gammas.model"), libsvmx.train(X, Y, gamma=GAMMAS))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gamma": [[1.0], [1.0, 2.0]]}, "gamma must be a number, or one for each feature"),
        ({"gamma": [1.0] * 5 + [-1.0]}, "finite and >= 0"),
        ({"gamma": set(GAMMAS)}, "gamma must be a number, or one for each feature"),
        ({"gamma": dict(enumerate(GAMMAS))}, "gamma must be a number, or one for each feature"),
        ({"gamma": GAMMAS.astype(str)}, "gamma must be a number, or one for each feature"),
    ],
)
def test_invalid_gammas(options, says):
    with pytest.raises(ParameterError, match=says):
        libsvmx.train(X, Y, **options)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: -1 * Squares(), "must be finite and >= 0, not -1"),
        (lambda: Squares() * np.inf, "must be finite and >= 0, not inf"),
        (lambda: float("nan") * Squares(), "must be finite and >= 0, not nan"),
        (lambda: Kernel.named("rbf", gamma=[]), "gamma must be a number, or one for each feature"),
        (lambda: Kernel.named("rbf", gamma=[[1.0], [1.0, 2.0]]), "gamma must be a number, or one for each feature"),
        (Sum, "Sum needs at least one kernel"),
        (Product, "Product needs at least one kernel"),
        (lambda: Sum(Squares), "give Squares()"),
        (lambda: Kernel.named("rbf"), "kernel rbf needs gamma > 0"),
        (lambda: Kernel.named("gaussian", gamma=1.0), "gaussian"),
        (lambda: Kernel.named("precomputed"), "a precomputed kernel has values, not rows"),
        (lambda: Kernel.named("rbf", gamma=-1.0), "gamma"),
        (lambda: Kernel.named("rbf", gamma=[1.0, -1.0]), "finite and >= 0"),
        (lambda: Kernel.named("rbf", gamma=[1.0, np.nan]), "finite and >= 0"),
        (lambda: Kernel.named("rbf", gamma=[[1.0, 2.0]]), "one for each feature"),
        (lambda: Kernel.named("cosine", gamma=[1.0, 2.0]), "kernel cosine has no gamma"),
    ],
)
def test_invalid_kernels(make, says):
    with pytest.raises(ParameterError) as error:
        make()
    assert says in str(error.value)


def test_objects_that_are_not_kernels():
    for wrong in (lambda: Squares() + 1, lambda: Squares() * "2", lambda: np.ones(3) * Squares()):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ParameterError, match="a kernel must be a function"):
        Sum(Squares(), 2.0)


def test_rows_that_do_not_fit():
    kernel = Kernel.named("rbf", gamma=0.3) + Squares()
    model = libsvmx.train(X, Y, kernel=kernel)
    with pytest.raises(DataError, match="rows with 5 columns and rows with 6"):
        model.predict(X[:, :5])
    with pytest.raises(DataError, match="takes no negative numbers"):
        libsvmx.train(-X, Y, kernel=Kernel.named("chi2", gamma=0.3))

    def short(A, B):
        return np.ones((len(A), len(B) - 1))

    with pytest.raises(DataError, match="must return an array of shape"):
        libsvmx.train(X, Y, kernel=Sum(Squares(), short))


@pytest.mark.parametrize("n", [40, N])  # all values from one call; rows on demand
@pytest.mark.parametrize(
    "make",
    [
        lambda: 1e-50 * Kernel.named("linear"),
        lambda: Product(Kernel.named("linear"), lambda A, B: np.full((len(A), len(B)), 1e-50)),
    ],
    ids=["sum", "product"],
)
def test_parts_may_have_values_beyond_a_float(make, n):
    for train in (
        lambda X, kernel: libsvmx.train(X, Y[:n], kernel_type=kernel),
        lambda X, kernel: libsvmx.train(X, Y[:n], kernel_type=kernel, keep_state=True).model,
        lambda X, kernel: libsvmx.SVC(kernel=kernel).fit(X, Y[:n]),
    ):
        own, plain = train(1e25 * X[:n], make()), train(X[:n], "linear")
        found, expected = own.decision_function(1e25 * X[N:]), plain.decision_function(X[N:])
        np.testing.assert_allclose(found, expected, atol=1e-2)

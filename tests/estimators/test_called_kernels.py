"""Kernels that are Python functions: called for rows requested by the solver, and for support vectors alone."""

import pickle
import signal
import time

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.memory import traced_peak
from support.optional import optional

import libsvmx

svm = optional("sklearn.svm")
exceptions = optional("sklearn.exceptions")
fitted = optional("libsvmx.sklearn.fitted")

N = 300
GROUP = 32  # rows of a call for the diagonal
rng = np.random.default_rng(2)
X = rng.normal(size=(N, 4))
Y = (X[:, 0] + 0.2 * rng.normal(size=N) > 0).astype(int)
TARGETS = {"SVC": Y, "NuSVC": Y, "OneClassSVM": Y, "SVR": X[:, 1], "NuSVR": X[:, 1]}


def rbf(A, B):
    """Pair by pair, so that no value depends on the others computed with it."""
    return np.exp(-0.1 * ((np.asarray(A)[:, None] - np.asarray(B)[None]) ** 2).sum(2))


class Counting:
    """A kernel that records how many rows it was called with."""

    def __init__(self, kernel=rbf):
        self.kernel, self.calls = kernel, []

    def __call__(self, A, B):
        self.calls.append((len(A), len(B)))
        return self.kernel(A, B)

    @property
    def values(self):
        return sum(a * b for a, b in self.calls)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("options", [{}, {"tol": 1e-6, "shrinking": False}, {"cache_size": 1e-3}, {"n_jobs": 2}])
def test_the_model_is_scikit_learns(name, options):
    ours = getattr(libsvmx, name)(kernel=rbf, **options).fit(X, TARGETS[name])
    theirs = getattr(svm, name)(kernel=rbf, **{k: v for k, v in options.items() if k != "n_jobs"})
    theirs.fit(X, TARGETS[name])
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-10)
    np.testing.assert_allclose(ours.predict(X[:20]), theirs.predict(X[:20]), atol=1e-10)


@pytest.mark.parametrize("solver", ["auto", "chunked", "irwls"])
@pytest.mark.parametrize("name", ["SVC", "SVR"])
def test_every_solver_takes_one(solver, name):
    made, given = (getattr(libsvmx, name)(kernel=kernel, solver=solver) for kernel in (rbf, "precomputed"))
    made.fit(X, TARGETS[name])
    given.fit(rbf(X, X), TARGETS[name])
    np.testing.assert_allclose(made.decision_function(X) if name == "SVC" else made.predict(X),
                               given.decision_function(rbf(X, X)) if name == "SVC" else given.predict(rbf(X, X)),
                               atol=1e-8)  # fmt: skip


@pytest.mark.parametrize("probability", [True, "cv"])
def test_estimates_and_several_classes(probability):
    labels = np.digitize(X[:, 0], [-0.6, 0.5])
    made, given = (
        libsvmx.SVC(kernel=kernel, probability=probability, random_state=0) for kernel in (rbf, "precomputed")
    )
    made.fit(X, labels)
    given.fit(rbf(X, X), labels)
    np.testing.assert_array_equal(made.dual_coef_, given.dual_coef_)
    np.testing.assert_array_equal(made.predict_proba(X[:30]), given.predict_proba(rbf(X[:30], X)))


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM"])
def test_a_row_is_computed_once_and_only_if_it_is_asked_for(name):
    kernel = Counting()
    made = getattr(libsvmx, name)(kernel=kernel).fit(X, TARGETS[name])
    rows = [calls for calls in kernel.calls if calls[1] > GROUP]
    assert sum(a for a, _ in rows) <= N
    if name == "SVC":  # few support vectors
        assert kernel.values < 0.75 * N * N
    kernel.calls.clear()
    made.predict(X[:50])
    assert kernel.calls == [(50, len(made.support_))]


@pytest.mark.parametrize("name", ["SVCCV", "SVRCV"])
def test_a_search_asks_for_all_values_once_and_for_those_of_the_last_fit(name):
    kernel = Counting()
    search = getattr(libsvmx, name)(kernel=kernel, Cs=[0.1, 1.0, 10.0], cv=4)
    search.fit(X, Y)
    assert kernel.calls[0] == (N, N)
    assert kernel.values <= 2 * N * N + 16 * N
    plain = getattr(libsvmx, name)(kernel="precomputed", Cs=[0.1, 1.0, 10.0], cv=4).fit(rbf(X, X), Y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    np.testing.assert_allclose(search.predict(X), plain.predict(rbf(X, X)), atol=1e-9)


def test_a_scorer_that_looks_at_rows_is_given_them():
    seen = []

    def scorer(estimator, rows, labels):
        seen.append(rows.shape[1])
        return estimator.score(rows, labels)

    libsvmx.SVCCV(kernel=rbf, Cs=[1.0], cv=3, scoring=scorer).fit(X, Y)
    assert seen == [X.shape[1]] * 3


def test_weights_and_rows_that_do_not_count():
    weights = np.where(np.arange(N) % 5 == 0, 0.0, 1.0 + np.arange(N) % 3)
    made = libsvmx.SVC(kernel=rbf).fit(X, Y, weights)
    counts = weights > 0
    given = libsvmx.SVC(kernel="precomputed").fit(rbf(X[counts], X[counts]), Y[counts], weights[counts])
    np.testing.assert_array_equal(made.support_, np.flatnonzero(counts)[given.support_])
    np.testing.assert_array_equal(made.decision_function(X), given.decision_function(rbf(X, X[counts])))


# ---- rows of any kind ------------------------------------------------------------------------------


def spectrum(A, B, k=2):
    """Shared substrings of length k, weighted by count, normalized to 1: the spectrum kernel of strings."""

    def count(text):
        found = {}
        for i in range(len(text) - k + 1):
            found[text[i : i + k]] = found.get(text[i : i + k], 0) + 1
        return found

    of_a, of_b = [count(text) for text in A], [count(text) for text in B]
    return np.array([[cosine(a, b) for b in of_b] for a in of_a])


def cosine(a, b):
    def dot(u, v):
        return sum(value * v.get(key, 0) for key, value in u.items())

    return dot(a, b) / np.sqrt(dot(a, a) * dot(b, b))


@pytest.mark.parametrize("form", [list, lambda words: np.array(words, dtype=object), np.array])
def test_rows_may_be_strings(form):
    letters = np.array(list("ACGT"))
    words = ["".join(rng.choice(letters, 12, p=[0.4, 0.2, 0.2, 0.2] if c else [0.1, 0.3, 0.3, 0.3])) for c in Y[:90]]
    made = libsvmx.SVC(kernel=spectrum).fit(form(words), Y[:90])
    given = libsvmx.SVC(kernel="precomputed").fit(spectrum(words, words), Y[:90])
    np.testing.assert_array_equal(made.support_, given.support_)
    np.testing.assert_allclose(made.decision_function(form(words)), given.decision_function(spectrum(words, words)))


class Words(libsvmx.Kernel):
    """The spectrum kernel as an object, which counts each string once."""

    normalized = True

    def __init__(self):
        self.prepared = []

    def prepare(self, X):
        self.prepared.append(len(X))
        return [(text, len(text)) for text in X]

    def __call__(self, A, B):
        return spectrum([text for text, _ in A], [text for text, _ in B])


def test_kernels_as_objects():
    words = ["".join(rng.choice(list("ACGT"), 9)) for _ in range(90)]
    kernel = Words()
    made = libsvmx.SVC(kernel=kernel).fit(words, Y[:90])
    plain = libsvmx.SVC(kernel=spectrum).fit(words, Y[:90])
    np.testing.assert_array_equal(made.dual_coef_, plain.dual_coef_)
    np.testing.assert_array_equal(made.decision_function(words[:9]), plain.decision_function(words[:9]))
    assert kernel.prepared == [90, 9]
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.predict(words[:9]), made.predict(words[:9]))


@pytest.mark.parametrize("kernel", [spectrum, Words()])
def test_a_model_of_one_has_its_kernel(kernel):
    words = ["".join(rng.choice(list("ACGT"), 9)) for _ in range(90)]
    made = libsvmx.SVC(kernel=kernel, probability=True).fit(words, Y[:90])
    model = made.to_model()
    np.testing.assert_array_equal(-model.decision_function(words)[:, 0], made.decision_function(words))
    np.testing.assert_array_equal(libsvmx.predict(made, words), made.predict(words))
    again = libsvmx.SVC.from_model(model)
    assert again.kernel is kernel
    np.testing.assert_array_equal(again.predict_proba(words), made.predict_proba(words))
    made.kernel = "rbf"  # later changes do not affect the model
    assert made.to_model().own_kernel is None


def test_rows_may_be_sparse():
    def kernel(A, B):
        return A @ B.T

    made = libsvmx.SVC(kernel=kernel).fit(csr_array(np.rint(4 * X)), Y)
    dense = libsvmx.SVC(kernel=kernel).fit(np.rint(4 * X), Y)
    np.testing.assert_array_equal(made.dual_coef_, dense.dual_coef_)
    np.testing.assert_array_equal(made.predict(csr_array(np.rint(4 * X))), dense.predict(np.rint(4 * X)))


# ---- errors ----------------------------------------------------------------------------------------


class Failing(Counting):
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


FAULTS = {
    "raises": (raised, LookupError, "no such molecule"),
    "nan": (nan, ValueError, "must return finite values"),
    "rows": (lambda values: values[:-1], ValueError, "must return an array of shape"),
    "columns": (lambda values: values[:, :-1], ValueError, "must return an array of shape"),
    "a vector": (lambda values: values[0], ValueError, "must return an array of shape"),
    "nothing": (lambda values: None, ValueError, "must return an array of shape"),
    "complex numbers": (lambda values: values * 1j, ValueError, "the kernel must hold real numbers"),
    "text": (lambda values: values.astype(str).astype(object) + "x", ValueError, "the kernel must hold real numbers"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("after", [0, 5, 15])
@pytest.mark.parametrize("options", [{}, {"n_jobs": 2, "probability": True}, {"solver": "chunked"}])
def test_a_kernel_that_fails_leaves_the_estimator_as_it_was(fault, after, options):
    what, kind, says = FAULTS[fault]
    kernel = Failing(what, after)
    made = libsvmx.SVC(kernel=rbf, **options).fit(X, Y)
    before = made.dual_coef_.copy()
    made.kernel = kernel
    with pytest.raises(kind, match=says):
        made.fit(X, Y)
    assert len(kernel.calls) == after + 1  # and is not called again
    made.kernel = rbf
    np.testing.assert_array_equal(made.dual_coef_, before)
    assert made.predict(X).shape == (N,)


def test_a_kernel_that_contradicts_itself_is_refused():
    def kernel(A, B):
        return rbf(A, B) + 0.1 * (np.asarray(A)[:, :1] - np.asarray(B)[:, 0])

    with pytest.raises(ValueError, match=r"the kernel contradicts itself.*symmetric = False"):
        libsvmx.SVC(kernel=kernel).fit(X, Y)


def test_interrupts_come_through_the_kernel():
    def interrupting(values):
        signal.raise_signal(signal.SIGINT)
        return values

    made = libsvmx.SVC(kernel=Failing(interrupting, 14))
    with pytest.raises(KeyboardInterrupt):
        made.fit(X, Y)
    assert not hasattr(made, "support_")


def test_a_time_limit_is_asked_between_calls():
    def slowly(values):
        time.sleep(0.2)
        return values

    kernel = Failing(slowly, 15)
    with pytest.warns(exceptions.ConvergenceWarning):
        made = libsvmx.SVC(kernel=kernel, max_time=0.1).fit(X, Y)
    assert made.fit_status_ == 1
    complete = Counting()
    libsvmx.SVC(kernel=complete).fit(X, Y)
    assert len(kernel.calls) < len(complete.calls)


def test_a_kernel_may_train_itself():
    def kernel(A, B):
        libsvmx.SVC(kernel=rbf).fit(X[:80], Y[:80])
        return rbf(A, B)

    made = libsvmx.SVC(kernel=kernel).fit(X, Y)
    np.testing.assert_array_equal(made.dual_coef_, libsvmx.SVC(kernel=rbf).fit(X, Y).dual_coef_)


def test_threads_change_nothing():
    """Rows requested together must not depend on other threads: BLAS rounds by their number."""
    rows = np.random.default_rng(5).normal(size=(600, 20)).astype(np.float32)
    labels = np.arange(600) % 4
    found = []
    for threads in (1, 3, 3):
        kernel = Counting(lambda A, B: (0.05 * (A @ B.T) + 1.0) ** 3)
        found.append(libsvmx.SVC(kernel=kernel, n_jobs=threads).fit(rows, labels).dual_coef_.tobytes())
        asked = [a for a, b in kernel.calls if b > GROUP]
        assert sum(asked) <= 600
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", ["SVC", "NuSVR", "OneClassSVM"])
def test_a_prediction_holds_the_kernel_values_of_some_rows_at_a_time(kind):
    rows = np.random.default_rng(6).normal(size=(20000, 4))
    made = getattr(libsvmx, kind)(kernel=lambda A, B: A @ B.T).fit(rows[:1000], rows[:1000, 0] * rows[:1000, 1] > 0)
    for predict in (made.predict, getattr(made, "decision_function", made.predict)):
        assert traced_peak(predict, rows) < 0.25 * 8 * len(rows) * len(made.support_)


def test_no_rows_have_no_predictions():
    made = libsvmx.SVC(kernel=rbf).fit(X, np.arange(N) % 3)
    assert (made.predict(X[:0]).shape, made.decision_function(X[:0]).shape) == ((0,), (0, 3))


def test_pickles_of_all_training_rows_are_read():
    """Pickles of earlier versions."""
    made = libsvmx.SVC(kernel=rbf, C=0.1).fit(X, Y)
    predicted = made.decision_function(X)
    made._fitted = fitted.FittedModel(made._fitted.model, X)
    np.testing.assert_array_equal(made.decision_function(X), predicted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).decision_function(X), predicted)
    assert len(made.support_) < len(X)


def test_nothing_of_the_training_rows_is_kept_but_support_vectors():
    rows = X.copy()
    made = libsvmx.SVC(kernel=rbf).fit(rows, Y)
    predicted = made.decision_function(X)
    rows[:] = 0.0
    np.testing.assert_array_equal(made.decision_function(X), predicted)

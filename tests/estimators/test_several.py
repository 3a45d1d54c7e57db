"""OneVsRestSVC and MultiOutputSVR: the results of scikit-learn's wrappers of SVC and SVR, to the bit."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.data import dense_rows
from support.optional import optional
from support.policies import KernelPolicy

import libsvmx
from libsvmx import SVC, SVR, MultiOutputSVR, NuSVC, OneVsRestSVC

base = optional("sklearn.base")
datasets = optional("sklearn.datasets")
exceptions = optional("sklearn.exceptions")
multiclass = optional("sklearn.multiclass")
multioutput = optional("sklearn.multioutput")
model_selection = optional("sklearn.model_selection")
svm = optional("sklearn.svm")

X, Y = dense_rows("vowel.scale.xz", 200)
Y = Y.astype(int)
RNG = np.random.default_rng(5)
MARKS = (X @ RNG.normal(size=(X.shape[1], 4)) + 0.3 * RNG.normal(size=(len(X), 4)) > 0.3).astype(int)
TARGETS = X @ RNG.normal(size=(X.shape[1], 3)) + 0.1 * RNG.normal(size=(len(X), 3))
WEIGHTS = RNG.integers(0, 3, len(X)).astype(float)
OPTIONS = [
    {},
    {"kernel": "linear", "C": 0.5},
    {"solver": "chunked"},
    {"solver": "crsvm", "kernel": "linear"},
    {"cache_size": 0.01},
    {"n_jobs": 3},
    {"max_iter": 0},
    {"class_weight": "balanced"},
    {"shrinking": False, "tol": 1e-6},
]


def assert_equal_fits(found, expected):
    for one, other in zip(found, expected, strict=True):
        for name in ("support_", "dual_coef_", "intercept_", "n_iter_", "support_vectors_"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.filterwarnings("ignore:Solver terminated early")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_each_class_is_a_fit_of_its_own(options, weights, form):
    found = OneVsRestSVC(**options).fit(form(X), Y, weights)
    alone = [SVC(**options).fit(form(X), (label == Y).astype(int), weights) for label in found.classes_]
    if form is np.asarray:
        assert_equal_fits(found.estimators_, alone)
    values = np.column_stack([one.decision_function(form(X)) for one in alone])
    np.testing.assert_array_equal(found.decision_function(form(X)), values)
    if weights is None:
        wrapped = multiclass.OneVsRestClassifier(SVC(**options)).fit(form(X), Y)
        np.testing.assert_array_equal(found.decision_function(form(X)), wrapped.decision_function(form(X)))
        first_two = np.sort(values, axis=1)[:, -2:]
        told = first_two[:, 0] < first_two[:, 1]  # among equal values scikit-learn 1.7 takes the last, 1.9 the first
        np.testing.assert_array_equal(found.predict(form(X))[told], wrapped.predict(form(X))[told])


@pytest.mark.parametrize("options", [{}, {"C": 10, "gamma": 0.02}, {"kernel": "linear", "C": 0.1}], ids=str)
def test_properties_of_digits(options):
    """Real rows, each with several labels: even, prime, at least 5, with a loop."""
    rows, digits = datasets.load_digits(return_X_y=True)
    features, digits = rows[:300] / 16, digits[:300]
    labels = np.column_stack(
        [digits % 2 == 0, np.isin(digits, (2, 3, 5, 7)), digits >= 5, np.isin(digits, (0, 6, 8, 9))]
    )
    labels = labels.astype(int)
    found = OneVsRestSVC(**options).fit(features, labels)
    for wrapped in (multiclass.OneVsRestClassifier(SVC(**options)), multioutput.MultiOutputClassifier(SVC(**options))):
        assert_equal_fits(found.estimators_, wrapped.fit(features, labels).estimators_)
        np.testing.assert_array_equal(found.predict(features), wrapped.predict(features))
    theirs = multioutput.MultiOutputClassifier(svm.SVC(**options)).fit(features, labels)
    np.testing.assert_array_equal(found.predict(features), theirs.predict(features))


@pytest.mark.parametrize("y", [Y, MARKS], ids=["classes", "labels"])
@pytest.mark.parametrize("options", [{}, {"solver": "chunked"}, {"cache_size": 0.01}], ids=str)
def test_each_class_by_its_own_nu(y, options):
    found = OneVsRestSVC(nu=0.15, tol=1e-4, probability=True, **options).fit(X, y)
    wrapped = multiclass.OneVsRestClassifier(NuSVC(nu=0.15, tol=1e-4, **options)).fit(X, y)
    np.testing.assert_allclose(found.decision_function(X), wrapped.decision_function(X), atol=1e-2)
    assert all(type(one) is NuSVC for one in found.estimators_)
    assert found.predict_proba(X).shape == found.decision_function(X).shape


def test_nu_that_a_class_is_too_small_for():
    smallest = np.unique(Y)[np.argmin(np.unique(Y, return_counts=True)[1])]
    few = np.where(smallest == Y, "few", "many").astype(object)
    few[Y[smallest != Y][0] == Y] = "other"
    with pytest.raises(ValueError, match=r"class few: nu = 0\.5 is infeasible: .* allows at most 0\.\d+"):
        OneVsRestSVC(nu=0.5).fit(X, few)
    with pytest.raises(ValueError, match=r"label 2: nu = 0\.9 is infeasible"):
        OneVsRestSVC(nu=0.9).fit(X, np.column_stack([np.arange(200) % 2, np.arange(200) % 2, np.arange(200) % 9 == 0]))
    with pytest.raises(ValueError, match="class_weight is a factor of C, which training with nu does not have"):
        OneVsRestSVC(nu=0.1, class_weight="balanced").fit(X, Y)


@pytest.mark.parametrize("kernel", ["precomputed", lambda A, B: A @ B.T])
def test_kernels_that_are_given(kernel):
    K = X @ X.T if kernel == "precomputed" else X
    found = OneVsRestSVC(kernel=kernel).fit(K, Y)
    wrapped = multiclass.OneVsRestClassifier(SVC(kernel=kernel)).fit(K, Y)
    np.testing.assert_array_equal(found.decision_function(K), wrapped.decision_function(K))


def test_two_classes_have_one_function():
    names = np.where(Y < 5, "low", "some")
    found, wrapped = OneVsRestSVC().fit(X, names), multiclass.OneVsRestClassifier(SVC()).fit(X, names)
    assert found.decision_function(X).shape == (200,)
    np.testing.assert_array_equal(found.decision_function(X), SVC().fit(X, names).decision_function(X))
    np.testing.assert_array_equal(found.predict(X), wrapped.predict(X))
    assert len(found.estimators_) == 1


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_several_labels(form):
    found = OneVsRestSVC(C=3.0).fit(X, form(MARKS))
    wrapped = multiclass.OneVsRestClassifier(SVC(C=3.0)).fit(X, MARKS)
    assert found.multilabel_
    np.testing.assert_array_equal(found.decision_function(X), wrapped.decision_function(X))
    predicted = found.predict(X)
    assert isinstance(predicted, csr_array) == (form is csr_array)
    np.testing.assert_array_equal(predicted.toarray() if form is csr_array else predicted, wrapped.predict(X))
    several = multioutput.MultiOutputClassifier(SVC(C=3.0)).fit(X, MARKS)
    np.testing.assert_array_equal(wrapped.predict(X), several.predict(X))


def test_decision_values_of_0_are_predicted_as_by_svc():
    rows, labels = np.array([[-1.0], [1.0]]), np.array([0, 1])
    found, alone = OneVsRestSVC(kernel="linear").fit(rows, labels), SVC(kernel="linear").fit(rows, labels)
    several = OneVsRestSVC(kernel="linear").fit(rows, np.column_stack([labels, 1 - labels]))
    assert found.decision_function([[0.0]]) == alone.decision_function([[0.0]]) == 0
    assert found.predict([[0.0]]) == alone.predict([[0.0]])
    opposite = SVC(kernel="linear").fit(rows, 1 - labels)
    assert several.predict([[0.0]]).tolist() == [[alone.predict([[0.0]])[0], opposite.predict([[0.0]])[0]]]


def test_labels_of_all_rows_and_of_none():
    marks = np.column_stack([MARKS[:, 0], np.ones(200, int), np.zeros(200, int)])
    with pytest.warns(UserWarning, match="label . is of (all rows|no row)") as told:
        found = OneVsRestSVC(probability=True).fit(X, marks)
    assert len(told) == 2
    np.testing.assert_array_equal(found.predict(X)[:, 1:], marks[:, 1:])
    np.testing.assert_array_equal(found.predict_proba(X)[:, 1:], marks[:, 1:])
    with pytest.warns(UserWarning, match="label"), pytest.raises(ValueError, match="number of classes"):
        OneVsRestSVC().fit(X, marks[:, 1:])
    # only rows with weight
    with pytest.warns(UserWarning, match="label 0 is of all rows"):
        found = OneVsRestSVC().fit(X, MARKS, MARKS[:, 0])
    assert found.predict(X)[:, 0].all()


@pytest.mark.parametrize("probability", [True, "cv"])
def test_probabilities(probability):
    options = {"probability": probability, "random_state": 3}
    found = OneVsRestSVC(**options).fit(X, Y).predict_proba(X)
    alone = [SVC(**options).fit(X, (label == Y).astype(int)).predict_proba(X)[:, 1] for label in np.unique(Y)]
    columns = np.column_stack(alone)
    np.testing.assert_array_equal(found, columns / columns.sum(axis=1, keepdims=True))
    several = OneVsRestSVC(**options).fit(X, MARKS).predict_proba(X)
    alone = [SVC(**options).fit(X, column).predict_proba(X)[:, 1] for column in MARKS.T]
    np.testing.assert_array_equal(several, np.column_stack(alone))
    assert not hasattr(OneVsRestSVC(), "predict_proba")


def test_weights_of_classes():
    """With a dict each row has the weight of its class, whatever the other class."""
    of_class = {1: 2.0, 3: 0.5}
    found = OneVsRestSVC(class_weight=of_class).fit(X, Y, WEIGHTS)
    expected = OneVsRestSVC().fit(X, Y, WEIGHTS * np.array([of_class.get(label, 1.0) for label in Y.tolist()]))
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    several = OneVsRestSVC(class_weight={0: 1.0, 1: 3.0}).fit(X, MARKS)
    alone = [SVC(class_weight={0: 1.0, 1: 3.0}).fit(X, column).decision_function(X) for column in MARKS.T]
    np.testing.assert_array_equal(several.decision_function(X), np.column_stack(alone))


@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": "linear", "epsilon": 0.0}, {"solver": "auto"}, {"n_jobs": 2}, {"cache_size": 0.01}],
    ids=str,
)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_each_target_is_a_fit_of_its_own(options, weights):
    found = MultiOutputSVR(**options).fit(X, TARGETS, weights)
    wrapped = multioutput.MultiOutputRegressor(SVR(**options)).fit(X, TARGETS, weights)
    assert_equal_fits(found.estimators_, wrapped.estimators_)
    np.testing.assert_array_equal(found.predict(X), wrapped.predict(X))
    single = MultiOutputSVR(**options).fit(X, TARGETS[:, 0], weights)
    np.testing.assert_array_equal(single.predict(X), found.predict(X)[:, 0])


def test_the_kernel_is_shared():
    """A counting kernel: the second target finds its values computed for the first."""
    asked = [0]

    def counting(A, B):
        asked[0] += len(A) * len(B)
        return A @ B.T

    MultiOutputSVR(kernel=counting).fit(X, TARGETS[:, :1])
    once, asked[0] = asked[0], 0
    MultiOutputSVR(kernel=counting).fit(X, np.repeat(TARGETS[:, :1], 5, axis=1))
    assert asked[0] == once


def test_pickles_clones_and_searches():
    fitted = OneVsRestSVC(C=2.0).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert base.clone(fitted).C == 2.0
    search = model_selection.GridSearchCV(OneVsRestSVC(), {"C": [0.1, 10.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"C": 10.0}
    assert 0.5 < model_selection.cross_val_score(MultiOutputSVR(kernel="linear"), X, TARGETS, cv=3).mean() <= 1


def test_a_fit_that_ends_early_says_so():
    for model, y in ((OneVsRestSVC(max_time=1e-9), Y), (MultiOutputSVR(max_time=1e-9), TARGETS)):
        with pytest.warns(exceptions.ConvergenceWarning, match="terminated early"):
            model.fit(X, y)
        assert model.fit_status_ == 1
        assert np.isfinite(model.predict(X)).all()
    told = []
    OneVsRestSVC(callback=told.append).fit(X, Y)
    assert (told[-1].done, told[-1].total) == (11, 11)


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (OneVsRestSVC(), np.ones(200), "number of classes"),
        (OneVsRestSVC(), MARKS + np.arange(200)[:, None], "multiclass-multioutput|shape"),
        (OneVsRestSVC(), TARGETS[:, 0], "continuous"),
        (OneVsRestSVC(), Y[:-1], "inconsistent"),
        (OneVsRestSVC(C=-1), Y, "'C' parameter"),
        (OneVsRestSVC(), 2 * MARKS - 1, "labels has to be of 0 and 1, not of .-1, 1"),
        (OneVsRestSVC(), csr_array(2 * MARKS), "labels has to be of 0 and 1, not of .0, 2"),
        (OneVsRestSVC(class_weight={2: 0.0}), Y, "class weights must be > 0"),
        (MultiOutputSVR(), TARGETS[:-1], "inconsistent"),
        (MultiOutputSVR(), np.where(TARGETS > 1, np.nan, TARGETS), "NaN"),
        (MultiOutputSVR(), np.zeros((200, 2, 2)), "dim 3"),
        (MultiOutputSVR(epsilon=-1), TARGETS, "'epsilon' parameter"),
    ],
)
@pytest.mark.filterwarnings("ignore:The number of unique classes")  # warned by scikit-learn 1.7 before the error
def test_refusals(model, y, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)
    assert not hasattr(model, "estimators_")


@pytest.mark.parametrize(
    "policy", [KernelPolicy(queue=False), KernelPolicy(rows_in_queue=500), KernelPolicy()], ids=str
)
def test_many_trainings_have_weights_of_their_own(policy):
    """A column of weights for each training, with 0 for the others."""
    drawn = RNG.multinomial(200, np.full(200, 1 / 200), size=5).T
    expected = [libsvmx.train(X, Y, sample_weight=column) for column in drawn.T]
    for y in (Y, np.repeat(Y[:, None], 5, axis=1)):
        found = libsvmx.fit_many(X, y, sample_weight=drawn, policy=policy)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one.sv_coef, other.sv_coef)
            np.testing.assert_array_equal(one.rho, other.rho)
            np.testing.assert_array_equal(one.row_numbers, other.row_numbers)

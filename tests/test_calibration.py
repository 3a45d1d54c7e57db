"""train(probability="cv"): sigmoids fitted to the decision values of cross_validate."""

import numpy as np
import pytest
from libsvmx._train.probability import fit_sigmoid
from support.data import load

import libsvmx

HEART, LABELS = load("heart_scale")
IRIS, SPECIES = load("iris.scale")
HEART, IRIS, LABELS, SPECIES = HEART.toarray(), IRIS.toarray(), np.asarray(LABELS), np.asarray(SPECIES)
OPTIONS = {"C": 2, "gamma": 0.2}


def expected(X, y, labels, options, random_state=None, rows=slice(None)):
    """(A, B) of each pair of ``labels``."""
    cv = libsvmx.cross_validate(X, y, 5, random_state=random_state, **options)
    found = []
    for i, first in enumerate(labels):
        for second in labels[i + 1 :]:
            a, b = cv.labels.index(first), cv.labels.index(second)
            at = [(p, q) for p in range(len(cv.labels)) for q in range(p + 1, len(cv.labels))]
            values = cv.decision_values[:, at.index((min(a, b), max(a, b)))] * (1 if a < b else -1)
            own = np.isin(y, (first, second)) & ~np.isnan(values)
            found.append(fit_sigmoid(values[own], np.where(y[own] == first, 1.0, -1.0))[:2])
    return np.array(found).T


def test_the_model_file_is_libsvms(tmp_path):
    model = libsvmx.train(IRIS, SPECIES, probability="cv", **OPTIONS)
    libsvmx.save_model(str(tmp_path / "model"), model)
    text = (tmp_path / "model").read_text()
    assert "probA " in text
    assert "probB " in text
    loaded = libsvmx.load_model(str(tmp_path / "model"))
    np.testing.assert_allclose(
        libsvmx.predict_probability(loaded, IRIS)[1], libsvmx.predict_probability(model, IRIS)[1], rtol=1e-12
    )


def test_rows_and_classes_that_do_not_count():
    """Rows of weight 0 are held out, but do not affect the sigmoid; a class of weight 0 has none."""
    w = np.ones(len(LABELS))
    w[::3] = 0.0
    y = np.where(LABELS > 0, 2.0, 5.0)  # with labels +1 and -1 LIBSVM always has +1 first
    model = libsvmx.train(HEART, y, sample_weight=w, probability="cv", **OPTIONS)
    cv = libsvmx.cross_validate(HEART, y, 5, sample_weight=w, **OPTIONS)
    assert cv.labels == tuple(model.labels[::-1])
    values, own = -cv.decision_values[w > 0, 0], np.where(y[w > 0] == model.labels[0], 1.0, -1.0)
    assert (model.sigmoid_a[0], model.sigmoid_b[0]) == fit_sigmoid(values.copy(), own)[:2]
    model = libsvmx.train(IRIS, SPECIES, weights={2: 0.0}, probability="cv", **OPTIONS)
    assert model.labels.tolist() == [1, 3]
    assert len(model.sigmoid_a) == 1
    assert libsvmx.predict_probability(model, IRIS)[1].shape == (150, 2)


def test_a_class_that_folds_lack():
    X, y = IRIS[:101], np.r_[SPECIES[:100], 3.0]
    model = libsvmx.train(X, y, probability="cv", **OPTIONS)
    estimates = libsvmx.predict_probability(model, X)[1]
    assert np.isfinite(estimates).all()
    a, b = expected(X, y, model.labels.tolist(), OPTIONS)  # the rows held out elsewhere
    np.testing.assert_array_equal([model.sigmoid_a, model.sigmoid_b], [a, b])
    assert b[1] < 0  # these are all of class 1


def test_start_and_limits():
    model = libsvmx.train(HEART, LABELS, probability="cv", eps=1e-6, **OPTIONS)
    again = libsvmx.train(HEART, LABELS, probability="cv", eps=1e-6, start=model, **OPTIONS)
    np.testing.assert_array_equal(np.asarray(again.sigmoid_a), np.asarray(model.sigmoid_a))
    with pytest.warns(libsvmx.ConvergenceWarning):
        ended = libsvmx.train(HEART, LABELS, probability="cv", time_limit=1e-9, **OPTIONS)
    assert not ended.has_probability
    assert not ended.param.probability


def test_probabilities_are_honest():
    """Of held-out rows with predicted probability p, about a fraction p belongs to the class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 2))
    p = 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))
    y = np.where(rng.random(2400) < p, 1.0, -1.0)
    model = libsvmx.train(X[:400], y[:400], probability="cv", C=1, gamma=0.1)
    _, estimates = libsvmx.predict_probability(model, X[400:])
    found = estimates[:, model.labels.tolist().index(1)]
    assert np.abs(found - p[400:]).mean() < 0.06
    for low, high in ((0, 0.2), (0.4, 0.6), (0.8, 1)):
        own = (low <= found) & (found <= high)
        assert abs((y[400:] == 1)[own].mean() - found[own].mean()) < 0.06


def test_estimators():
    pytest.importorskip("sklearn")
    found = libsvmx.SVC(probability="cv", random_state=0, gamma=0.1).fit(HEART, LABELS)
    usual = libsvmx.SVC(probability=True, random_state=0, gamma=0.1).fit(HEART, LABELS)
    assert not np.array_equal(found.predict_proba(HEART), usual.predict_proba(HEART))
    np.testing.assert_array_equal(found.decision_function(HEART), usual.decision_function(HEART))
    assert np.abs(found.predict_proba(HEART) - usual.predict_proba(HEART)).max() < 0.1
    order = np.argsort(LABELS, kind="stable")  # as in an estimator, which trains with classes 0, 1, …
    seed = np.random.RandomState(0).randint(np.iinfo("i").max)
    codes = (LABELS[order] > 0).astype(float)
    a, b = expected(HEART[order], codes, [0, 1], {"gamma": 0.1}, seed)
    np.testing.assert_array_equal(found.probA_, a)
    np.testing.assert_array_equal(found.probB_, b)
    refined = libsvmx.SVC(probability="cv", random_state=0, gamma=0.1, refine=True).fit(HEART, LABELS)
    np.testing.assert_array_equal(refined.probA_, a)
    assert libsvmx.NuSVC(probability="cv").fit(IRIS, SPECIES).predict_proba(IRIS).shape == (150, 3)
    a, b = (
        libsvmx.SVCCV(Cs=[1.0], gammas=[0.1], probability=how, random_state=0).fit(HEART, LABELS).best_estimator_.probA_
        for how in ("cv", True)
    )
    assert a != b
    assert not hasattr(libsvmx.SVC(), "predict_proba")
    with pytest.raises(ValueError, match="probability"):
        libsvmx.SVC(probability="isotonic").fit(HEART, LABELS)

"""Pickles of estimators contain nothing of scikit-learn's, so that newer versions can read them."""

import pickle
import pickletools

import numpy as np
import pytest
from support.data import sparse_rows
from support.optional import optional

import libsvmx

sklearn = optional("sklearn")

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


X, Y = sparse_rows("heart_scale", 100)
WEIGHTS = np.arange(X.shape[0]) % 3 + 1.0


def modules_in(raw):
    """The modules referenced by a pickle of protocol 2."""
    return {argument.split()[0] for code, argument, _ in pickletools.genops(raw) if code.name == "GLOBAL"}


def made(name):
    """An estimator of each kind, with all attributes that a fit can leave."""
    kind = getattr(libsvmx, name)
    yield kind(gamma=0.1).fit(X, Y)
    yield kind(gamma=0.1, warm_start=True, keep_rows=True).fit(X.toarray(), Y)
    if name in ("SVC", "SVR", "OneClassSVM"):
        yield kind(gamma=0.1).partial_fit(X, Y)
    with sklearn.config_context(enable_metadata_routing=True):
        yield kind(gamma=0.1).set_fit_request(sample_weight="weight").fit(X, Y)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_scikit_learns_is_inside(name):
    for model in made(name):
        raw = pickle.dumps(model, protocol=2)
        found = modules_in(raw)
        assert not {module for module in found if module.split(".")[0] == "sklearn"}, found
        assert f"libsvmx.sklearn.{type(model).__module__.split('.')[-1]}" in found
        again = pickle.loads(raw)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.get_params() == model.get_params()


def trusted_of(kind):
    own = f"{kind.__module__}.{kind.__name__}"
    return [own] if "Linear" in own else [own, "libsvmx.sklearn.fitted.FittedModel"]


@pytest.mark.parametrize("name", [*NAMES, "QuantileSVR", "LinearSVC", "LinearSVR"])
def test_skops_needs_two_classes_of_ours(name):
    io = pytest.importorskip("skops.io")
    kind = getattr(libsvmx, name)
    model = kind().fit(X.toarray(), Y)
    raw = io.dumps(model)
    classes = trusted_of(kind)
    assert sorted(io.get_untrusted_types(data=raw)) == sorted(classes)
    again = io.loads(raw, trusted=classes)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    if "Linear" not in name:
        assert again.to_model().reports == model.to_model().reports
        assert again.to_model().param == model.to_model().param


@pytest.mark.parametrize("options", [{"probability": True}, {"solver": "irwls"}, {"kernel": "linear"}, {"C": 1e-9}])
@pytest.mark.parametrize("name", ["SVC", "SVR"])
def test_skops_keeps_all_of_a_model(name, options):
    io = pytest.importorskip("skops.io")
    if name == "SVR":
        options = {"epsilon": 9.0, **options}  # no support vector
        options.pop("probability", None)
    model = getattr(libsvmx, name)(**options).fit(X, Y)
    raw = io.dumps(model)
    again = io.loads(raw, trusted=io.get_untrusted_types(data=raw))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.to_model().reports == model.to_model().reports


@pytest.mark.parametrize("name", NAMES)
def test_skops_keeps_rows_and_starts(name):
    io = pytest.importorskip("skops.io")
    kind = getattr(libsvmx, name)
    model = kind(gamma=0.1, warm_start=True, keep_rows=True).fit(X.toarray(), Y, WEIGHTS)
    if name != "NuSVR":
        kept = kind(gamma=0.1).partial_fit(X.toarray(), Y)
        again = io.loads(io.dumps(kept), trusted=["libsvmx.sklearn.kept.KeptRows", *trusted_of(kind)])
        values, expected = (
            getattr(one.unlearn([3]), "predict" if name == "SVR" else "decision_function")(X) for one in (again, kept)
        )
        np.testing.assert_allclose(values, expected, atol=1e-9)
    again = io.loads(io.dumps(model), trusted=["libsvmx.sklearn.kept.KeptRows", *trusted_of(kind)])
    np.testing.assert_array_equal(again.loo_decision_function(), model.loo_decision_function())
    assert np.max(again.fit(X.toarray(), Y, WEIGHTS).n_iter_) == 0


@pytest.mark.parametrize("gamma", [0.1, np.linspace(0.0, 0.2, X.shape[1])], ids=["one", "each"])
def test_skops_keeps_a_named_kernel(gamma):
    io = pytest.importorskip("skops.io")
    model = libsvmx.SVC(kernel=libsvmx.Kernel.named("rbf", gamma=gamma)).fit(X, Y)
    raw = io.dumps(model)
    again = io.loads(raw, trusted=io.get_untrusted_types(data=raw))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_requested_metadata_survive():
    with sklearn.config_context(enable_metadata_routing=True):
        model = libsvmx.SVC().set_fit_request(sample_weight="weight").set_score_request(sample_weight=True)
        again = pickle.loads(pickle.dumps(model))
        for method in ("fit", "score", "partial_fit"):
            found, expected = (getattr(m.get_metadata_routing(), method).requests for m in (again, model))
            assert found == expected
    assert pickle.loads(pickle.dumps(libsvmx.SVC())).__dict__ == libsvmx.SVC().__dict__


def test_parameters_that_are_newer_than_a_pickle():
    class Mine(libsvmx.SVC):
        def __init__(self, C=2.0):
            super().__init__(C=C)

    for kind in (libsvmx.SVC, Mine):
        state = kind().fit(X, Y).__getstate__()
        for name in ("warm_start", "callback", "max_time"):
            del state[name]
        old = kind.__new__(kind)
        old.__setstate__(state)
        assert old.warm_start is False
        assert old.callback is None
        np.testing.assert_array_equal(old.fit(X, Y).predict(X), kind().fit(X, Y).predict(X))

"""Row weights in states: rows that join and leave count by their weight."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.recorder import Recorder
from support.statefiles import closed, opened
from support.weighted import KINDS, options_of, random_rows, targets_of

import libsvmx
from libsvmx import State, decision_values, train
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, FormatError, ParameterError
from libsvmx.io.modelfile import model_text
from libsvmx.io.statefile import state_bytes

NEAR = 1e-6


def without_rho(model, X):
    """Decision values without rho, which may lie anywhere in an interval if no row is within its bounds."""
    return decision_values(model, X) + np.asarray(model.offsets)


def same_optimum(state, X, y, w, tests, **options):
    """The state's model equals a training on these rows, with the kernel in double as in all states."""
    expected = train(X, y, sample_weight=w, keep_state=True, **options).model
    assert state.model.class_labels == expected.class_labels
    np.testing.assert_allclose(without_rho(state.model, tests), without_rho(expected, tests), rtol=0, atol=NEAR)
    assert state.gap < 1e-6
    support = np.asarray(state.model.row_numbers) - 1
    np.testing.assert_array_equal(state.sample_weight, w)
    assert (w[support] > 0).all()


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(KINDS), st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=5)
)
def test_any_changes_end_where_a_training_does(seed, kind, changes):
    kind, classes = kind
    X, labels, values, w = random_rows(seed, 70, classes)
    w[:classes] = 1.0
    # feasible for any rows
    y, options = targets_of(kind, labels, values), options_of(kind, **({"nu": 0.02} if kind == SvmType.NU_SVC else {}))
    state = train(X[:30], y[:30], sample_weight=w[:30], keep_state=True, **options)
    rng, end = np.random.default_rng(seed), 30
    for joining, leaving in changes:
        gone = rng.choice(state.ids[classes:], leaving, replace=False)
        rows = slice(end, end + joining)
        state.update(add=(X[rows], y[rows]), remove=gone, sample_weight=w[rows])
        end += joining
    rows = state.ids
    expected = train(X[rows], y[rows], sample_weight=w[rows], keep_state=True, **options).model
    assert state.model.class_labels == expected.class_labels
    np.testing.assert_allclose(without_rho(state.model, X), without_rho(expected, X), rtol=0, atol=NEAR)


def test_rows_of_weight_0_are_there_but_do_not_count():
    X, y, _, _ = random_rows(34, 60)
    state = train(X, y, keep_state=True, eps=1e-8)
    before = model_text(state.model)
    ids = state.add(X[:10], -y[:10], sample_weight=np.zeros(10))  # with new labels
    assert model_text(state.model) == before
    assert len(state) == 70 and len(state.model.labels) == 2
    state.remove(ids[:5])
    assert model_text(state.model) == before
    assert len(state) == 65


def test_a_class_without_weight_is_gone_until_a_row_of_weight_joins():
    X, y, _, _ = random_rows(35, 60, 3)
    w = np.where(y == 4, 0.0, 1.0)
    state = train(X, y, sample_weight=w, keep_state=True, eps=1e-8)
    assert sorted(state.model.labels) == [3, 5]
    ids = state.add(X[y == 4], y[y == 4], sample_weight=np.full((y == 4).sum(), 2.0))
    assert sorted(state.model.labels) == [3, 4, 5]
    state.remove(ids)
    assert sorted(state.model.labels) == [3, 5]
    with pytest.raises(DataError, match=r"^every row has weight 0$"):
        state.remove(state.ids[w > 0])
    assert len(state) == 60


def test_a_file_holds_weights_if_rows_have_any():
    X, y, _, w = random_rows(37)
    plain, ones, weighted = (
        state_bytes(train(X, y, sample_weight=given, keep_state=True)) for given in (None, np.ones(60), w)
    )
    assert ones == plain
    assert "sample_weight" not in opened(plain)[1]
    assert np.array_equal(opened(weighted)[1]["sample_weight"], w)


def test_weights_that_no_state_has_are_refused(tmp_path):
    X, y, _, w = random_rows(38)
    description, arrays = opened(state_bytes(train(X, y, sample_weight=w + 7.5, keep_state=True)))
    for value in (-1.0, np.nan):
        arrays["sample_weight"][4] = value
        path = tmp_path / "state"
        path.write_bytes(closed(description, arrays))
        with pytest.raises(FormatError, match=r"a weight is not finite and >= 0"):
            State.load(str(path))


@pytest.mark.parametrize(("kind", "classes"), KINDS)
def test_a_state_of_a_model_and_its_weights(tmp_path, kind, classes):
    X, labels, values, w = random_rows(39, 90, classes)
    X[1::9], w[1::9] = X[0::9], 0.0  # rows of weight 0 with the features of others
    y, options = targets_of(kind, labels, values), options_of(kind)
    y[1::9] = y[0::9]
    path = str(tmp_path / "model")
    libsvmx.save_model(path, train(X, y, sample_weight=w, **options))
    options.pop("solver")
    state = State.from_model(X, y, libsvmx.load_model(path), sample_weight=w, **options)
    same_optimum(state, X, y, w, X, **options)
    if kind == SvmType.NU_SVC:  # half of all weights is half of all coefficients, and of r
        half = State.from_model(X, y, libsvmx.load_model(path), sample_weight=w / 2, **options)
        np.testing.assert_allclose(half.decision_values(X), state.decision_values(X), rtol=0, atol=NEAR)
        w, options = 2 * w, options | {"nu": 1.1 * options["nu"]}
    with pytest.raises(DataError, match=r"exceeds C|add up|is a class of|is not among|do not allow nu"):
        State.from_model(X, y, libsvmx.load_model(path), sample_weight=w / 2, **options)


@pytest.mark.parametrize(("C", "weight", "cause"), [(1e200, 1e200, "not finite"), (1e-10, 1e-320, "less than any")])
def test_a_bound_that_is_not_a_positive_double_is_refused(C, weight, cause):
    X, y, _, _ = random_rows(41)
    state = train(X[:, :1], np.sign(X[:, 0]), C=C, kernel_type=0, keep_state=True)  # separable: the path to any C ends
    content = state_bytes(state)
    with pytest.raises(ParameterError, match=f"^C times a weight is {cause}"):
        state.add(X[:1, :1], y[:1], sample_weight=[weight])
    assert state_bytes(state) == content
    state = train(X, y, sample_weight=np.full(60, weight), keep_state=True)
    content = state_bytes(state)
    with pytest.raises(ParameterError, match=f"^C times a weight is {cause}"):
        state.set_cost(C)
    assert state_bytes(state) == content


def test_a_class_of_weight_0_is_there_but_does_not_count(tmp_path):
    X, y, _, w = random_rows(37, 120, 3)
    options, counts = options_of(SvmType.C_SVC), np.where(y == 4, 0.0, w)
    dropping = options | {"weights": {4: 0.0, 5: 2.0}}
    seen = Recorder()
    for weights in (None, w):
        part = counts if weights is not None else (y != 4).astype(float)
        first = None if weights is None else w[:80]
        state = train(X[:80], y[:80], keep_state=True, observer=seen, sample_weight=first, **dropping)
        state.add(X[80:], y[80:], sample_weight=None if weights is None else w[80:])
        state.remove(range(10, 40))
        state.set_cost(5.0)
        state.save(tmp_path / "state")
        state = State.load(tmp_path / "state")
        rows = state.ids
        assert len(state) == 90 and len(state.model.labels) == 2
        expected = train(
            X[rows], y[rows], keep_state=True, sample_weight=part[rows], **options | {"weights": {5: 2.0}, "C": 5.0}
        )
        np.testing.assert_allclose(without_rho(state.model, X), without_rho(expected.model, X), rtol=0, atol=NEAR)
        kept = None if weights is None else w[rows]
        again = State.from_model(X[rows], y[rows], state.model, sample_weight=kept, C=5.0, weights=dropping["weights"])
        np.testing.assert_allclose(without_rho(again.model, X), without_rho(expected.model, X), rtol=0, atol=NEAR)
    assert seen.remarks.count("class dropped") == 2
    assert "weight without class" not in seen.remarks
    with pytest.raises(DataError, match="every class has weight 0"):
        train(X, y, keep_state=True, **options | {"weights": dict.fromkeys(set(y.astype(int)), 0.0)})

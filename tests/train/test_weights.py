"""Row weights: weight 2 equals the row twice, weight 0 the row left out, in every formulation and with every solver.

The reference is the same training over rows repeated or left out.
"""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from support.recorder import Recorder
from support.weighted import KINDS, options_of, random_rows, repeated, targets_of

from libsvmx import decision_values, train
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError
from libsvmx.io.modelfile import model_text

SOLVERS = ("smo", "chunked", "irwls", "crsvm", "auto")
NEAR = 1e-6  # of decision values, where eps is 1e-8


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(8, 40), st.sampled_from([0.3, 5.0]))
def test_a_weight_is_how_often_a_row_is_there_for_random_problems(seed, kind, n, C):
    kind, classes = kind
    X, labels, values, w = random_rows(seed, n, classes)
    w[:classes] = 1  # some row counts, and the classes keep their order
    y, options = targets_of(kind, labels, values), options_of(kind, C=C, nu=0.15)
    once, often = Recorder(), Recorder()
    try:
        expected = train(*repeated(w, X, y), observer=often, **options)
    except (ParameterError, DataError) as error:  # nu is infeasible, or the solution degenerates
        with pytest.raises(type(error)):
            train(X, y, sample_weight=w, **options)
        return
    found = train(X, y, sample_weight=w, observer=once, **options)
    # without rho, which may lie anywhere in an interval if no row is within its bounds, and without the scale, which
    # depends on rho
    for pair in range(len(once.reports)):
        sums = [
            (decision_values(model, X)[:, pair] + model.offsets[pair]) / (report.value if kind == SvmType.NU_SVC else 1)
            for model, report in ((found, once.reports[pair]), (expected, often.reports[pair]))
        ]
        np.testing.assert_allclose(*sums, rtol=0, atol=NEAR)


@pytest.mark.parametrize("kind", [SvmType.C_SVC, SvmType.EPSILON_SVR, SvmType.NU_SVR])
def test_a_weight_of_all_rows_is_a_factor_of_C(kind):
    X, labels, values, _ = random_rows(5)
    y, options = targets_of(kind, labels, values), options_of(kind, eps=1e-3)
    doubled = train(X, y, sample_weight=np.full(len(y), 2.0), **options)
    assert model_text(doubled) == model_text(train(X, y, **options | {"C": 2 * options["C"]}))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_class_with_all_weights_0_is_absent(classes):
    X, y, _, _ = random_rows(6, 80, 3)
    w = (y != 4).astype(float) if classes == 2 else np.where(y == 4, 2.0, 1.0)
    seen = Recorder()
    model = train(X, y, sample_weight=w, weights={4: 3.0}, observer=seen)
    assert len(model.labels) == classes
    assert ("class dropped" in seen.remarks) == (classes == 2)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_bound_too_small_for_a_double_is_weight_0(solver):
    X, y, _, _ = random_rows(7)
    w = np.where(np.arange(len(y)) % 5, 1.0, 1e-320)
    options = options_of(SvmType.C_SVC, solver, C=1e-10, eps=1e-3)
    left = train(X[w == 1], y[w == 1], **options)
    assert model_text(train(X, y, sample_weight=w, **options)) == model_text(left)


def test_reports_of_solves_use_the_bound_of_each_row():
    X, labels, values, w = random_rows(8)
    for kind in SvmType:
        y, weighted, repeats = targets_of(kind, labels, values), Recorder(), Recorder()
        options = options_of(kind)
        model = train(X, y, sample_weight=w, observer=weighted, **options)
        train(*repeated(w, X, y), observer=repeats, **options)
        one, other = weighted.reports[0], repeats.reports[0]
        assert one.quantity == other.quantity
        assert one.value == pytest.approx(other.value, abs=NEAR)
        assert one.objective == pytest.approx(other.objective, rel=NEAR)
        bounds = w[np.asarray(model.row_numbers) - 1] * (one.value if kind == SvmType.NU_SVC else 1.0)
        if kind.has_cost:
            bounds = bounds * options["C"]
        if kind == SvmType.QUANTILE_SVR:
            bounds = bounds / 2  # of either side, as tau is 0.5
        assert one.n_bsv == np.count_nonzero(np.abs(model.sv_coef[0]) >= bounds * (1 - 1e-12))
        assert 0 < one.n_bsv < one.n_sv


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0] * 59, r"^X has 60 rows, but sample_weight has shape \(59,\)$"),
        ([[1.0]] * 60, r"^X has 60 rows, but sample_weight has shape \(60, 1\)$"),
        (1.0, r"^X has 60 rows, but sample_weight has shape \(\)$"),
        ([1.0] * 7 + [-0.5] + [1.0] * 52, r"^row 7: sample_weight must be finite and >= 0, not -0.5$"),
        ([1.0] * 7 + [np.nan] + [1.0] * 52, r"^row 7: sample_weight must be finite and >= 0, not nan$"),
        ([1.0] * 7 + [np.inf] + [1.0] * 52, r"^row 7: sample_weight must be finite and >= 0, not inf$"),
        ([1j] * 60, "^sample_weight must hold real numbers, not complex128$"),
        (["1"] * 60, "^sample_weight must hold real numbers, not <U1$"),
        ([None] * 60, "^row 0: sample_weight must be finite and >= 0, not nan$"),
        ([[1.0, 2.0], [3.0]], "^sample_weight cannot be read as numbers"),
        ([0.0] * 60, "^every row has weight 0$"),
        ([1e300] * 60, "^C times a weight is not finite$"),
    ],
)
def test_bad_weights_are_refused(given, message):
    X, y, _, _ = random_rows(10)
    with pytest.raises((DataError, ParameterError), match=message):
        train(X, y, sample_weight=given, C=1e20)


def test_nu_is_infeasible_by_weights_not_by_rows():
    X, y, _, _ = random_rows(11)
    w = np.where(y == y[0], 1.0, 1000.0)
    train(X, y, svm_type=SvmType.NU_SVC, nu=0.5)
    with pytest.raises(
        ParameterError, match=r"nu = 0\.5 is infeasible: the weights of classes .* add up to .*000, which"
    ):
        train(X, y, svm_type=SvmType.NU_SVC, nu=0.5, sample_weight=w)


def test_weights_come_in_every_form_and_are_not_kept():
    X, y, _, w = random_rows(12)
    expected = model_text(train(X, y, sample_weight=w))
    frozen = w.copy()
    frozen.flags.writeable = False
    strided = np.repeat(w, 2)[::2]
    for form in (w.tolist(), w.astype(np.float32), w.astype(int), frozen, strided, np.array(w, dtype=object)):
        assert model_text(train(scipy.sparse.csr_array(X), y, sample_weight=form)) == expected
    assert np.array_equal(frozen, w)

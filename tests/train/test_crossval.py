"""Cross-validation with seeded folds: LIBSVM's folds, predictions and optima."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import data
from support.against_libsvm import parameter
from support.examples import examples
from support.policies import IN_TURN

import libsvmx

# the path begins at the optimum over all rows, so it is a star
SEEDINGS = [("path", "star"), *((n, s) for n in ("auto", *libsvmx.SEEDERS) for s in ("chain", "star"))]


@pytest.mark.parametrize(
    ("name", "n_folds", "options", "seeder"),
    [("iris.scale", 5, {"C": 8, "gamma": 0.5}, "auto"), ("heart_scale", 2, {"C": 4}, "none")],
)
def test_auto_is_none_where_that_is_faster(name, n_folds, options, seeder):
    """With few folds, unless there are too many rows for a queue."""
    X, y = data.load(name)
    found, plain = (libsvmx.cross_validate(X, y, n_folds, seeder=how, **options) for how in ("auto", "none"))
    assert (found.seeder, found.scheme) == (seeder, "")
    assert {fold.seeder for fold in found.folds} == {"none"}
    np.testing.assert_allclose(found.decision_values, plain.decision_values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("n_folds", "scheme"), [(4, "chain"), (9, "chain"), (10, "star")])
def test_auto_without_a_queue(n_folds, scheme):
    found = libsvmx.cross_validate(*data.load("heart_scale"), n_folds, seeder="auto", policy=IN_TURN)
    assert (found.seeder, found.scheme) == ("auto", scheme)


# ---- any problem -------------------------------------------------------------------------------


KERNELS = ["-t 0", "-t 1 -d 2 -g 0.5 -r 1", "-t 2 -g 0.6", "-t 3 -g 0.05 -r 0.1", "-t 4"]
# Weights and nu for which no sum of coefficients at bounds is exact: one is free, and rho unique.
FORMULATIONS = ["-s 0 -w1 0.8137 -w3 1.2713", "-s 1 -n 0.4137", "-s 2 -n 0.4137", "-s 3 -p 0.0937", "-s 4 -n 0.4137"]


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning", "ignore:a weight is given for class")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(12, 30),
    n_classes=st.integers(2, 3),
    C=st.sampled_from([0.1137, 1.137, 3.137]),
    n_folds=st.integers(2, 4),
    seeding=st.sampled_from(SEEDINGS),
)
@examples(12, derandomize=True)
def test_any_problem(formulation, kernel, seed, n, n_classes, C, n_folds, seeding):
    rng = np.random.default_rng(seed)
    X = (4 * rng.normal(size=(n, 8))).round() / 4  # products are exact in single precision, so K has no rounding error
    regression = formulation[:4] in ("-s 3", "-s 4")
    y = X[:, 0] + 0.3 * rng.normal(size=n) if regression else np.arange(n) % n_classes + 1.0
    if not regression:
        X[:, 0] += 3 * y
    param = parameter(f"{formulation} {kernel} -c {C} -e 1e-8", max_iter=200_000)
    given = X @ X.T if kernel == "-t 4" else X, y, n_folds, param
    plain = libsvmx.cross_validate(*given)
    assume(all(report.status == "converged" for report in plain.folds))
    found = libsvmx.cross_validate(*given, seeder=seeding[0], scheme=seeding[1])
    assert np.array_equal(found.fold_of, plain.fold_of)
    assert all(report.status == "converged" and report.gap <= 1.1e-8 for report in found.folds)
    if kernel.startswith("-t 3"):
        return  # not an inner product: there may be several optima
    for report, reference in zip(found.folds, plain.folds, strict=True):
        assert report.objective == pytest.approx(reference.objective, rel=1e-5, abs=1e-5)
    values, expected = found.decision_values, plain.decision_values
    if formulation.startswith("-s 3"):
        # with all coefficients at bounds rho is free; the sum it is subtracted from is unique
        rho, reference = (np.array([r.rho for r in one.folds])[one.fold_of] for one in (found, plain))
        values, expected = values + rho[:, None], expected + reference[:, None]
    near = 1e-4 * (1 + np.abs(expected).max())
    np.testing.assert_allclose(values, expected, rtol=0, atol=near)
    if not regression:
        other = found.predictions != plain.predictions
        assert not np.any(other & (np.abs(expected).min(axis=1) > near))


@pytest.mark.parametrize(("seeder", "iterations"), [("none", 6988), ("sir", 769), ("mir", 734)])
def test_the_heart_of_the_paper(seeder, iterations):
    """Wen et al. 2017, table 1: LIBSVM takes 6,988 iterations in ten folds, to 55.56 %. Seeders: ours, in a chain."""
    matrix, y = data.load("heart.xz")
    found = libsvmx.cross_validate(matrix, y, 10, C=2182.0, gamma=0.2, seeder=seeder, threads=1)
    assert sum(fold.iterations for fold in found.folds) == iterations
    assert found.accuracy == pytest.approx(55.56, abs=0.005)

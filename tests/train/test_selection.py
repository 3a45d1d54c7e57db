"""Delicate choices of working sets: ties, numbers of variables at which the scan changes, gains beyond the range of
float, and paths with many shrinkings. Always LIBSVM's model."""

import numpy as np
import pytest
from support import data
from support.against_libsvm import compare_on
from support.selection import quick_first


def rows_of(X):
    return data.from_rows([[(j + 1, float(v)) for j, v in enumerate(row) if v] for row in X])


def cloud(n, width=3, seed=0):
    """Points of two overlapping classes, and regression targets on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)).round(2)
    value = X[:, 0] + 0.3 * rng.normal(size=n)
    return X, np.where(value > 0, 1.0, -1.0), value


# one variable per row in classification, two in regression
@pytest.mark.each_value
@pytest.mark.parametrize("n", [31, 32, 33, 95, 96, 97, 128, 129, 1023, 1024, 1900, 2047, 2048, 2049, 2112, 2200])
@pytest.mark.parametrize("options", ["-c 5", "-t 0 -c 0.1 -h 0", "-s 1 -n 0.3", "-s 2 -n 0.2 -e 1e-5"])
def test_numbers_of_variables(n, options, tmp_path):
    X, labels, _ = cloud(n)
    compare_on(rows_of(X), list(labels), options, tmp_path)


@pytest.mark.each_value
@pytest.mark.parametrize("n", [47, 48, 49, 511, 513, 1000, 1023, 1024, 1025, 1100])
@pytest.mark.parametrize("options", ["-s 3 -c 3 -p 0.1", "-s 3 -t 0 -p 0.3 -h 0", "-s 4 -n 0.3 -c 2"])
def test_numbers_of_variables_of_a_regression(n, options, tmp_path):
    X, _, values = cloud(n)
    compare_on(rows_of(X), list(values), options, tmp_path)


@pytest.mark.parametrize("n", [90, 300, 2300])
@pytest.mark.parametrize("options", ["-c 1", "-t 0 -c 1", "-s 1 -n 0.4", "-s 2 -n 0.5", "-s 3 -p 0.1", "-s 4 -t 0"])
@pytest.mark.parametrize("distinct", [1, 2, 30])
def test_ties(distinct, options, n, tmp_path):
    """Few different rows and targets: most variables have ties, the last of which is taken."""
    rng = np.random.default_rng(distinct)
    X = rng.integers(-1, 2, (distinct, 4))[rng.integers(0, distinct, n)]
    targets = rng.integers(0, 2, n) * 2.0 - 1.0
    compare_on(rows_of(X), list(targets), options, tmp_path)


@pytest.mark.each_value
@pytest.mark.parametrize("n", [80, 1100, 2200])
@pytest.mark.parametrize("C", ["1e-25", "1e-10", "1e25"])
def test_boxes_of_any_size(C, n, tmp_path):
    """Separable, so that a large C can be solved."""
    X, labels, _ = cloud(n)
    X[:, 0] += 3 * labels
    compare_on(rows_of(X), list(labels), f"-c {C} -g 0.5", tmp_path)


# gains are squares of the targets over the curvature: below 1e-38 and above 1e38 they exceed a float's range
@pytest.mark.parametrize("kernel", ["-t 0", "-t 2"])
@pytest.mark.parametrize("factor", [1e-150, 1e-25, 1e-19, 1e-12, 1e12, 1e16, 1e19, 1e25, 1e150])
def test_targets_of_any_size(factor, kernel, tmp_path):
    X, _, values = cloud(1060)
    options = f"-s 3 {kernel} -c {0.3 * factor!r} -p {0.1 * factor!r} -e {1e-2 * factor!r}"
    compare_on(rows_of(X), list(values * factor), options, tmp_path)


@pytest.mark.parametrize("factor", [1e-20, 1e-16, 1e-8, 1e-6, 1e6, 1e9, 1e15])
def test_features_of_any_size(factor, tmp_path):
    """C keeps the products of multipliers and kernel values unchanged."""
    X, labels, _ = cloud(2100)
    compare_on(rows_of(X * factor), list(labels), f"-t 0 -c {0.1 / factor**2!r}", tmp_path)


@pytest.mark.parametrize("seed", range(3))
def test_features_of_very_different_size(seed, tmp_path):
    """Gains of all orders of magnitude, those of the largest rows first."""
    X, labels, _ = cloud(2100, seed=seed)
    X *= 10.0 ** np.random.default_rng(seed).integers(-9, 4, (2100, 1))
    compare_on(rows_of(X), list(labels), "-t 0 -c 1e-6", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        pytest.param(("a1a.xz",), "-c 1000 -g 0.05", marks=pytest.mark.exhaustive),
        pytest.param(("a1a.xz",), "-c 1000 -g 0.05 -m 0.001", marks=pytest.mark.exhaustive),
        (("a1a.xz",), "-s 1 -n 0.1 -g 0.05 -m 0.1"),
        pytest.param(("a1a.xz",), "-s 3 -c 30 -g 0.05 -p 0.2 -m 0.05", marks=pytest.mark.exhaustive),
        pytest.param(("splice.xz",), "-c 50 -g 0.05 -m 0.3", marks=pytest.mark.exhaustive),
        pytest.param(("splice.xz",), "-s 4 -c 5 -n 0.3 -g 0.02 -m 0.2", marks=pytest.mark.exhaustive),
        pytest.param(("splice.xz",), "-s 3 -t 1 -d 2 -g 0.02 -r 1 -c 3 -p 0.05 -m 1", marks=pytest.mark.exhaustive),
        (("abalone_scale.xz", 400), "-s 3 -c 200 -p 0.3 -g 1 -m 0.1"),
        pytest.param(("abalone_scale.xz", 1200), "-s 3 -c 200 -p 0.3 -g 1 -m 0.1", marks=pytest.mark.exhaustive),
        pytest.param(("abalone_scale.xz", 1200), "-s 4 -c 50 -n 0.3 -g 1 -m 0.1", marks=pytest.mark.exhaustive),
        pytest.param(("mushrooms.xz", 2500), "-c 0.5 -g 0.01 -m 2", marks=pytest.mark.exhaustive),
        (("vowel.scale.xz",), "-s 2 -n 0.4 -g 1 -m 0.05 -e 1e-6"),
        (("ionosphere_scale.xz",), "-c 1e4 -g 0.01 -m 0.01"),
    ],
)
def test_many_shrinkings(arguments, options, tmp_path):
    matrix, targets = data.load(*arguments)
    compare_on(matrix, targets, options, tmp_path)


@pytest.mark.parametrize("options", ["-s 0 -c 3", "-s 1 -n 0.3", "-s 3 -c 3 -p 0.1", "-s 4 -c 2 -n 0.4"])
@pytest.mark.parametrize("megabytes", [0.001, 100])
def test_given_kernel_that_is_not_symmetric(options, megabytes, tmp_path):
    """It then shows whether shrunk variables are brought back by K(shrunk, free) or K(free, shrunk)."""
    X, labels, values = cloud(300, 4)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    K += 1e-3 * np.random.default_rng(1).normal(size=K.shape)
    rows = [[(0, i + 1.0), *((j + 1, float(v)) for j, v in enumerate(row))] for i, row in enumerate(K)]
    targets = labels if options[3] in "01" else values
    compare_on(data.from_rows(rows), list(targets), f"{options} -t 4 -m {megabytes}", tmp_path)


@pytest.mark.parametrize(
    "options", quick_first(["-t 0 -c 10 -m 0.001", "-s 3 -c 100 -p 0.01 -m 0.2", "-c 100", "-s 4 -c 50 -n 0.5"], 2)
)
def test_wide_dense_rows(options, tmp_path):
    """Expensive rows: computed in blocks, and kept whole if they fit."""
    X, labels, values = cloud(250, 600)
    compare_on(rows_of(X), list(values if options[:4] in ("-s 3", "-s 4") else labels), options, tmp_path)

"""Equal bytes on sets beyond those of the suites: many classes, rows without features, text, longer paths."""

import numpy as np
import pytest
from support import data
from support.against_libsvm import compare, compare_folds, compare_on
from support.selection import quick_first

from libsvmx.api.arrays import precomputed

# name -> (arguments of support.data.load, class labels for -w)
CLASSIFICATION = {
    "heart_scale, 0 and 1": (("heart_scale", 100, ((1.0, 1.0), (-1.0, 0.0))), (0, 1)),
    "a1a, rows without features": (("a1a.xz", 120, None, 70), (1, -1)),
    "breast-cancer, 2 and 4": (("breast-cancer.xz", 120, None, 1, 0.1), (2, 4)),  # without column 1, the sample number
    "ionosphere": (("ionosphere_scale.xz", 110), (1, -1)),
    "splice": (("splice.xz", 120), (1, -1)),
    "mushrooms, 1 and 2": (("mushrooms.xz", 130), (1, 2)),
    "wine, 3 classes": (("wine.scale", 90), (2, 3)),
    "glass, 6 classes": (("glass.scale", 100), (1, 7)),
    "vowel, 11 classes": (("vowel.scale.xz", 132), (0, 5)),
    "text": (("text",), (1, -1)),
}
REGRESSION = {
    "pyrim": ("pyrim",),
    "iris labels as targets": ("iris.scale", 80),
    "heart": ("heart_scale", 90),
}
KERNELS = {
    "linear": "-t 0",
    "polynomial": "-t 1 -g 0.3 -r 0.5 -d 3",
    "rbf": "-t 2",
    "sigmoid": "-t 3 -g 0.05 -r -0.2",
    "precomputed": "-t 4",
}
FORMULATIONS = {"c-svc": "-s 0 -c 2", "nu-svc": "-s 1 -n 0.2", "one-class": "-s 2 -n 0.3"}
REGRESSIONS = {"epsilon-svr": "-s 3 -c 2 -p 0.05", "nu-svr": "-s 4 -c 2 -n 0.4"}


@pytest.mark.filterwarnings("ignore:a weight is given for class:UserWarning")
@pytest.mark.filterwarnings("ignore:a solution degenerates:UserWarning")  # inner folds of nu-SVC with r = 0: glass
@pytest.mark.parametrize("probability", [0, 1])
@pytest.mark.parametrize("shrinking", [0, 1])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_classification(name, formulation, kernel, shrinking, probability, tmp_path):
    arguments, (a, b) = CLASSIFICATION[name]
    options = f"{FORMULATIONS[formulation]} {KERNELS[kernel]} -h {shrinking} -b {probability}"
    compare(arguments, options, tmp_path)
    if formulation == "c-svc":
        compare(arguments, f"{options} -w{a} 3 -w{b} 0.4", tmp_path)


@pytest.mark.parametrize("probability", [0, 1])
@pytest.mark.parametrize("shrinking", [0, 1])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("formulation", REGRESSIONS)
@pytest.mark.parametrize("name", REGRESSION)
def test_regression(name, formulation, kernel, shrinking, probability, tmp_path):
    compare(REGRESSION[name], f"{REGRESSIONS[formulation]} {KERNELS[kernel]} -h {shrinking} -b {probability}", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("splice.xz",), "-c 1000 -g 0.01"),
        (("a1a.xz",), "-c 100 -g 0.5 -m 0.05"),  # three rows of cache, thousands of iterations, shrinking
        (("a1a.xz",), "-c 1 -g 0.05 -e 1e-6"),
        (("mpg",), "-s 3 -c 100 -g 2 -p 0.01 -m 0.01"),  # the same for a regression, whose variables share rows
        (("mpg",), "-s 4 -c 100 -g 2 -n 0.4 -m 0.05"),
        (("mushrooms.xz", 1500), "-c 10 -g 0.05 -m 1"),
        pytest.param(("mushrooms.xz",), "-c 10 -g 0.05 -m 1", marks=pytest.mark.exhaustive),
        (("vowel.scale.xz",), "-c 16 -g 2"),
        (("abalone_scale.xz", 1500), "-s 4 -c 10 -n 0.6 -g 0.5"),
        (("abalone_scale.xz", 1500), "-s 3 -c 100 -p 0.5 -g 0.3"),
        (("abalone_scale.xz", 1500), "-s 3 -c 100 -p 0.5 -g 0.3 -m 1"),  # later rows are stored by position
        (("a1a.xz",), "-s 1 -n 0.4 -g 0.03"),
        (("a1a.xz",), "-s 2 -n 0.5 -g 0.03"),
        (("vowel.scale.xz",), "-g 1e6"),  # kernel of zeros and ones: rho is 0, and its sign is written
        (("mpg",), "-s 3 -g 0.0001 -c 10"),
        (("heart_scale",), "-t 1 -d 0 -g 1 -r 1"),
        (("iris.scale",), "-s 1 -n 0.2 -w1 0 -w2 5"),  # nu-SVC has no C to weight
        (("iris.scale",), "-t 1 -d 7 -g 0.5 -r 1"),
    ],
)
def test_longer_paths(arguments, options, tmp_path):
    compare(arguments, options, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "options", "n_folds"),
    [
        (("heart_scale",), "-c 3", 5),
        (("heart_scale", 60), "", 60),
        (("heart_scale", 60), "", 100),
        (("glass.scale",), "-c 8 -g 0.5", 4),
        (("vowel.scale.xz", 200), "-s 1 -n 0.1", 7),
        (("iris.scale",), "-b 1", 5),
        (("abalone_scale.xz", 300), "-s 3", 5),
        (("abalone_scale.xz", 300), "-s 4", 3),
        (("heart_scale",), "-s 2 -n 0.4", 5),
        (("pyrim",), "-s 3 -b 1", 4),
        (("text",), "-t 0", 5),
    ],
)
def test_cross_validation(arguments, options, n_folds):
    compare_folds(*data.load(*arguments), options, n_folds)


@pytest.mark.parametrize(
    "options", quick_first(["-s 0 -c 3 -g 0.002", "-s 1 -n 0.4 -t 0", "-s 2 -g 0.01", "-s 3 -p 0.5 -g 0.002"])
)
def test_rows_of_many_features(options, tmp_path):
    """Kernel values so expensive that rows are computed in blocks, and copied from each other."""
    random = np.random.default_rng(7)
    X, targets = random.normal(size=(400, 500)).round(4), random.choice([1.0, -1.0], 400)
    rows = [[(j + 1, float(value)) for j, value in enumerate(row)] for row in X + 0.05 * targets[:, None]]
    compare_on(data.from_rows(rows), targets.tolist(), options, tmp_path)


@pytest.mark.parametrize("options", ["-s 0 -c 1", "-s 0 -c 0.01", "-s 1 -n 0.3", "-s 3 -p 0.01"])
@pytest.mark.parametrize("seed", range(3))
def test_near_ties_of_negative_kernel_values(seed, options, tmp_path):
    """Cosines of two directions, nearly opposite."""
    rng = np.random.default_rng(seed)
    targets = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    angles = np.where(targets > 0, 0.0, 2.5) + rng.normal(0, 1e-6, 200)
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    cosines = points @ points.T
    np.fill_diagonal(cosines, 1.0)
    compare_on(precomputed(cosines), targets, f"{options} -t 4", tmp_path)
